r"""How far the released vector can move when one person's rows are replaced.

Rows are integers here (``spec/lattice.py``), so these are statements about integers, not about floats.
"""

import math

__all__ = ["moment_sensitivity"]


def moment_sensitivity(total_square: int, rows_per_person: int) -> float:
    r"""L2 sensitivity of (svec M, tr M) for M = Σ kkᵀ over rows with ‖k‖² ≤ ``total_square``, rounded up.

    svec M is the diagonal and √2 times the entries above it, an isometry for the Frobenius norm. Replacing a row x by
    y moves M by D = xxᵀ - yyᵀ, and with a = ‖x‖², b = ‖y‖²

    .. math:: ‖D‖_F² + (\mathrm{tr}\,D)² = 2(a² + b² - ab) - 2(x·y)² ≤ 2\,\max(a, b)².

    So the bound is √2·``total_square``, with the trace or without, and k rows move it by at most k times as much.

    Guarantee
    ---------
    Proofs: ``privacy/proofs/sensitivity.md`` (theorems 1 and 2), ``privacy/proofs/augmentation.md`` (theorem 8).
    """
    exact_square = 2 * (rows_per_person * total_square) ** 2
    root = math.isqrt(exact_square)
    return _float_above(root if root * root == exact_square else root + 1)


def _float_above(value: int) -> float:
    """The least float that is at least ``value``."""
    result = float(value)
    return result if int(result) >= value else math.nextafter(result, math.inf)
