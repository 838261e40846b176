"""Public facts: assumptions about the rows, budgets, events and forecasts.

Everything here is frozen, survives a round trip through a file, and may be printed.
"""
