"""How far each answer can move when one person's rows are replaced, or when one person is added.

Rows are integers here (``spec/quantization.py``), and so are the parameters of the queries: these are statements
about integers, computed in Python integers and rounded up once.
"""

import math
from collections.abc import Sequence

from graphveil.spec.quantization import CELL_LEVELS
from graphveil.spec.rounding import sqrt_round_up

__all__ = [
    "added_cell_sensitivity",
    "added_count_sensitivity",
    "added_mean_sensitivity",
    "added_moment_sensitivity",
    "added_square_sensitivity",
    "cell_sensitivity",
    "histogram_sensitivity",
    "mean_sensitivity",
    "moment_sensitivity",
    "sign_sensitivity",
    "square_sensitivity",
    "weight_sensitivity",
]


def moment_sensitivity(total_square: int, rows_per_person: int) -> float:
    """L2 sensitivity of (svec M, tr M) for M = Σ kkᵀ over rows with ‖k‖² ≤ ``total_square``, rounded up.

    svec M is the diagonal and √2 times the entries above it, an isometry for the Frobenius norm. Replacing a row x by
    y moves M by D = xxᵀ - yyᵀ, and with a = ‖x‖², b = ‖y‖²

        ‖D‖²_F + (tr D)² = 2(a² + b² − ab) − 2(x·y)² ≤ 2 max(a, b)².

    So the bound is √2·``total_square``, with the trace or without, and k rows move it by at most k times as much.

    Guarantee
    ---------
    Proofs: ``privacy/proofs/sensitivity.md`` (theorems 1 and 2), ``privacy/proofs/augmentation.md`` (theorem 8).
    """
    return sqrt_round_up(2 * (rows_per_person * total_square) ** 2)


def mean_sensitivity(widths: Sequence[int], weights: Sequence[int], row_square: int, rows_per_person: int) -> float:
    """L2 sensitivity of Σ weight·clip(k): the smaller of the weighted window's diagonal and the ball's diameter.

    Guarantee
    ---------
    Proof: ``privacy/proofs/columns.md`` (theorem 10).
    """
    window = sum((weight * width) ** 2 for weight, width in zip(weights, widths, strict=True))
    return sqrt_round_up(rows_per_person**2 * min(window, 4 * max(weights) ** 2 * row_square))


def square_sensitivity(
    reaches: Sequence[int], weights: Sequence[int], centre: Sequence[int], row_square: int, rows_per_person: int
) -> float:
    """L2 sensitivity of Σ weight (clip(k) - centre)², where |clip(k) - centre| ≤ reach column by column.

    Guarantee
    ---------
    Proof: ``privacy/proofs/columns.md`` (theorem 10).
    """
    window = sum((weight * reach**2) ** 2 for weight, reach in zip(weights, reaches, strict=True))
    ball = (math.isqrt(row_square) + 1 + math.isqrt(sum(c * c for c in centre)) + 1) ** 2
    return sqrt_round_up(rows_per_person**2 * min(window, 2 * (max(weights) * ball) ** 2))


def histogram_sensitivity(rows_per_person: int) -> float:
    """L2 sensitivity of counts into which every row enters exactly once.

    Guarantee
    ---------
    Proof: ``privacy/proofs/columns.md`` (theorem 10).
    """
    return sqrt_round_up(2 * rows_per_person**2)


def cell_sensitivity(n_columns: int, rows_per_person: int) -> float:
    """L2 sensitivity of counts into which every row enters once per column and level.

    Guarantee
    ---------
    Proof: ``privacy/proofs/columns.md`` (theorem 10).
    """
    return sqrt_round_up(2 * n_columns * len(CELL_LEVELS) * rows_per_person**2)


def sign_sensitivity(n_columns: int, rows_per_person: int) -> float:
    """L2 sensitivity of Σ s_i and Σ s_i s_j, i < j, for vectors s of ``n_columns`` signs.

    Guarantee
    ---------
    Proof: ``privacy/proofs/columns.md`` (theorem 10).
    """
    return sqrt_round_up(4 * rows_per_person**2 * ((n_columns + 1) ** 2 // 4))


def weight_sensitivity(rows_per_person: int) -> float:
    """L2 sensitivity of (Σ t, 3 Σ t(1 - t)) for weights t from 0 to 1: (t, 3t(1 - t)) lies below a parabola.

    Guarantee
    ---------
    Proof: ``privacy/proofs/weights.md`` (theorem 18).
    """
    return float(rows_per_person)


# ------------------------------------------------------------------ one person more, or less
def added_moment_sensitivity(total_square: int, rows_per_person: int) -> float:
    """L2 norm of svec kkᵀ for ‖k‖² ≤ ``total_square``, without the trace, which would cost as much again.

    Guarantee
    ---------
    Proof: ``privacy/proofs/add_remove.md`` (theorem 14).
    """
    return sqrt_round_up((rows_per_person * total_square) ** 2)


def added_mean_sensitivity(
    reaches: Sequence[int], weights: Sequence[int], middle: Sequence[int], row_square: int, rows_per_person: int
) -> float:
    """L2 norm of weight·(clip(k) - middle), where |clip(k) - middle| ≤ reach column by column.

    Guarantee
    ---------
    Proof: ``privacy/proofs/add_remove.md`` (theorem 14).
    """
    window = sum((weight * reach) ** 2 for weight, reach in zip(weights, reaches, strict=True))
    ball = _distance_in_ball(row_square, middle)
    return sqrt_round_up(rows_per_person**2 * min(window, (max(weights) * ball) ** 2))


def added_square_sensitivity(
    reaches: Sequence[int], weights: Sequence[int], centre: Sequence[int], row_square: int, rows_per_person: int
) -> float:
    """L2 norm of weight·(clip(k) - centre)².

    Guarantee
    ---------
    Proof: ``privacy/proofs/add_remove.md`` (theorem 14).
    """
    window = sum((weight * reach**2) ** 2 for weight, reach in zip(weights, reaches, strict=True))
    ball = _distance_in_ball(row_square, centre) ** 2
    return sqrt_round_up(rows_per_person**2 * min(window, (max(weights) * ball) ** 2))


def added_count_sensitivity(rows_per_person: int) -> float:
    """Of counts into which every row enters once, and of the number of rows itself.

    Guarantee
    ---------
    Proof: ``privacy/proofs/add_remove.md`` (theorem 14).
    """
    return float(rows_per_person)


def added_cell_sensitivity(n_columns: int, rows_per_person: int) -> float:
    """L2 norm of what one row adds to counts once per column and level.

    Guarantee
    ---------
    Proof: ``privacy/proofs/add_remove.md`` (theorem 14).
    """
    return sqrt_round_up(n_columns * len(CELL_LEVELS) * rows_per_person**2)


def _distance_in_ball(row_square: int, point: Sequence[int]) -> int:
    """How far a row can be from a point, at most; both roots rounded up."""
    return math.isqrt(row_square) + 1 + math.isqrt(sum(c * c for c in point)) + 1
