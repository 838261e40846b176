"""The private side: the only code that sees records. Its objects have blind reprs and do not pickle.

Nothing computed here may reach an error, a log, a warning or a repr; it leaves through ``gate.py``, after noise.
"""
