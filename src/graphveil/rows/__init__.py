"""The private side: the only code that sees records.

Objects that hold rows or sums show nothing, and none can be pickled but ``PartitionSum``, which engines carry between
machines. Nothing computed here may reach an error, a log, a warning or a repr; it leaves through ``gate.py``, after
noise.
"""
