"""The guarantee: how far a vector can move, how much noise hides that, where the noise comes from.

Nothing here sees a row. Each function that the guarantee rests on has a proof in ``proofs/``, stamped with the hash of
the function's source; a test fails when the code has changed under its proof.
"""
