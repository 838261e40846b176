"""Post-processing: from a release to an estimate. Sees noisy numbers and the distribution of their noise, never a row.

Everything here is free: it costs no budget, may be repeated, and cannot weaken the guarantee.
"""
