"""Forecasts for a budget: by a formula in milliseconds, or rehearsed on simulated records in seconds.

Nothing here has seen a record.
"""
