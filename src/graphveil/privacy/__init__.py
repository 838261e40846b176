"""The guarantee: sensitivities, the noise that hides them, and the source of the noise.

Nothing here sees a row. Each function that the guarantee rests on has a proof in ``proofs/``, stamped with the hash of
the function's source; a test fails when the code has changed under its proof.
"""
