"""The distribution of the noise on the answer to each query, from public facts alone, and the noise itself.

``default``: N(0, σ²) on svec and on the trace, which costs nothing more. In entries of the matrix that is σ on the
diagonal, σ/√2 above it, σ on the trace. Means, squares and counts get the same noise on every coordinate.

Where the number of people is secret, one person more moves answers less than one person replaced, but the trace is not
free: it is left out, and the rest has noise that is smaller by √2 (``privacy/proofs/add_remove.md``, theorem 14).

``paper``: Algorithm 1 of Su, Guo and Zhang, β on every entry of the triangle, classical calibration, no trace.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import GuaranteeError
from graphveil.privacy import calibration, sensitivity
from graphveil.privacy.noise import NoiseSource
from graphveil.spec.budget import Budget
from graphveil.spec.events import GaussianStep, NoiseGroup
from graphveil.spec.quantization import CELLS, PERSON_WEIGHT
from graphveil.spec.queries import (
    CellCounts,
    ClippedTail,
    ColumnMeans,
    ColumnSquares,
    Moments,
    NormCounts,
    ObservedPairs,
    Query,
    RowCount,
    TotalWeight,
)
from graphveil.spec.row_space import RowSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_room", "draw_noise", "on_lattice", "paper_step", "step_for"]


def step_for(query: Query, space: RowSpace, rows_per_person: int, mu: float, allowed_eta: float) -> GaussianStep:
    """Law of the noise that makes the answer to ``query`` μ-GDP up to a total variation of ``allowed_eta``.

    Parameters
    ----------
    query : Query
    space : RowSpace
        Of the rows that it is asked of.
    rows_per_person : int
    mu, allowed_eta : float

    Guarantee
    ---------
    Proofs: ``privacy/proofs/sensitivity.md``, ``privacy/proofs/columns.md``, ``privacy/proofs/add_remove.md``.
    """
    if space.hides_count and type(query) not in _ADDED:
        raise GuaranteeError(f"{type(query).__name__} has no proof for people who are added or removed.")
    return _STEPS[type(query)](query, space, rows_per_person, mu, allowed_eta)


def _moment_law(
    query: Moments | ClippedTail, space: RowSpace, rows_per_person: int, mu: float, allowed_eta: float
) -> GaussianStep:
    lattice, layout = query.geometry(space)
    bound = sensitivity.added_moment_sensitivity if space.hides_count else sensitivity.moment_sensitivity
    delta = calibration.inflate_sensitivity(bound(lattice.total_square, rows_per_person))
    sd = calibration.calibrate_sd(delta, mu)
    above = sd / math.sqrt(2.0) * (1.0 + 2.0**-50)  # rounded up: √2 times it is at least sd
    groups = (
        NoiseGroup("diagonal", layout.n_diagonal, sd),
        NoiseGroup("off_diagonal", layout.n_off_diagonal, above),
        *([] if space.hides_count else [NoiseGroup("trace", 1, sd)]),
    )
    return calibration.calibrate_step(delta, groups, mu, allowed_eta)


def _equal_law(name: str, count: int, delta: float, mu: float, allowed_eta: float) -> GaussianStep:
    """The same noise on every coordinate."""
    delta = calibration.inflate_sensitivity(delta)
    return calibration.calibrate_step(
        delta, (NoiseGroup(name, count, calibration.calibrate_sd(delta, mu)),), mu, allowed_eta
    )


def _count_law(query: RowCount, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    return _equal_law("count", 1, sensitivity.added_count_sensitivity(rows_per_person), *budget)


def _weight_law(query: TotalWeight, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    return _equal_law("totals", 2, PERSON_WEIGHT**2 * sensitivity.weight_sensitivity(rows_per_person), *budget)


def _norm_law(query: NormCounts, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    bound = sensitivity.added_count_sensitivity if space.hides_count else sensitivity.histogram_sensitivity
    delta = space.weight_unit * bound(rows_per_person)
    return _equal_law("counts", query.edges.size + 1, delta, *budget)


def _cell_law(query: CellCounts, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    if space.known_lattice.levels == 0:
        raise GuaranteeError("Cells are counted between bounds: rows that have a norm instead could lie beyond them.")
    count = query.columns.size * CELLS
    bound = sensitivity.added_cell_sensitivity if space.hides_count else sensitivity.cell_sensitivity
    delta = space.weight_unit * bound(query.columns.size, rows_per_person)
    return _equal_law("cells", count, delta, *budget)


def _mean_law(query: ColumnMeans, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    which = query.columns.astype(int)
    row_square, weights = space.known_lattice.row_square, _integers(query.weights)
    if space.hides_count:
        reaches, middle = _integers((query.high - query.middle)[which]), _integers(query.middle)
        delta = sensitivity.added_mean_sensitivity(reaches, weights, middle, row_square, rows_per_person)
    else:
        widths = _integers((query.high - query.low)[which])
        delta = sensitivity.mean_sensitivity(widths, weights, row_square, rows_per_person)
    return _equal_law("means", which.size, space.weight_unit * delta, *budget)


def _square_law(query: ColumnSquares, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    which = query.columns.astype(int)
    farthest = np.maximum(query.high - query.centre, query.centre - query.low)
    reaches, weights, centre = (_integers(v) for v in (farthest[which], query.weights, query.centre))
    bound = sensitivity.added_square_sensitivity if space.hides_count else sensitivity.square_sensitivity
    delta = bound(reaches, weights, centre, space.known_lattice.row_square, rows_per_person)
    return _equal_law("squares", which.size, space.weight_unit * delta, *budget)


def _sign_law(query: ObservedPairs, space: RowSpace, rows_per_person: int, *budget: float) -> GaussianStep:
    m = query.columns.size
    delta = space.weight_unit * sensitivity.sign_sensitivity(m, rows_per_person)
    return _equal_law("signs", m * (m + 1) // 2, delta, *budget)


# What each query costs.
_STEPS: dict[type[Query], Callable[..., GaussianStep]] = {
    RowCount: _count_law,
    TotalWeight: _weight_law,
    ColumnMeans: _mean_law,
    ColumnSquares: _square_law,
    CellCounts: _cell_law,
    NormCounts: _norm_law,
    ObservedPairs: _sign_law,
    Moments: _moment_law,
    ClippedTail: _moment_law,
}


# Of these, theorem 14 says how far one person more moves them.
_ADDED = (RowCount, ColumnMeans, ColumnSquares, CellCounts, NormCounts, Moments, ClippedTail)


def check_room(numbers: int, move: float, mu: float, allowed_eta: float) -> None:
    """Refuse a budget in which so many noisy numbers may not fit: after the charge it would be lost.

    Earlier answers may decide how far one person can move a later one, and so where its noise lies between two powers
    of two. The worst place is just above one, with noise of two standard deviations as moments have it; and integers
    that may move by any ``move`` may all have to be rounded down to the lattice.

    Guarantee
    ---------
    None: a step that does not fit is refused by :func:`step_for` too. Argument: ``privacy/proofs/spending.md``
    (theorem 11).
    """
    # Noise of less than 2⁵⁵ has room for its lattice among the integers themselves.
    sd = math.nextafter(1.0 if move / mu < 2.0**55 else 2.0**100, math.inf)
    groups = (NoiseGroup("largest", 1, sd), NoiseGroup("smallest", numbers, sd / math.sqrt(2.0)))
    calibration.calibrate_step(sd * mu, groups, mu, allowed_eta)


def paper_step(
    query: Moments, space: RowSpace, rows_per_person: int, budget: Budget, *, allow_unproven: bool
) -> GaussianStep:
    """The distribution of the noise of the paper's Algorithm 1; its μ states its actual guarantee.

    Guarantee
    ---------
    Proof: ``privacy/proofs/paper_mechanism.md``.
    """
    lattice, layout = query.geometry(space)
    delta = calibration.inflate_sensitivity(sensitivity.moment_sensitivity(lattice.total_square, rows_per_person))
    sd = calibration.classical_sd(delta, budget, allow_unproven=allow_unproven)
    mu = math.nextafter(delta / sd, math.inf)
    groups = (NoiseGroup("diagonal", layout.n_diagonal, sd), NoiseGroup("off_diagonal", layout.n_off_diagonal, sd))
    return calibration.calibrate_step(delta, groups, mu, calibration.grid_eta_budget(budget))


def draw_noise(step: GaussianStep, source: NoiseSource) -> "dict[str, NDArray[np.int64]]":
    """Noise for every group of a step, in multiples of 2^``step.lattice``."""
    return {g.name: source.discrete_gaussian(math.ldexp(g.sd, -step.lattice), g.count) for g in step.groups}


def on_lattice(integers: "NDArray[Any]", step: GaussianStep) -> "NDArray[Any]":
    """Integers in the unit of a step's noise, 2^``step.lattice``, rounded down where they are not multiples of it."""
    return integers << -step.lattice if step.lattice <= 0 else integers >> step.lattice


def _integers(values: "NDArray[np.float64]") -> list[int]:
    return [int(value) for value in values]
