"""What a budget buys, before it is spent: by a formula in milliseconds, or rehearsed on simulated records in seconds.

Nothing here has seen a record.
"""
