"""Public facts: what is assumed of the rows, what may be spent, what was done, what came out.

Everything here is frozen, survives a round trip through a file, and may be printed.
"""
