"""The law of the noise on the answer to each question, from public facts alone, and the noise itself.

``default``: N(0, σ²) on svec and on the trace, which costs nothing more. In entries of the matrix that is σ on the
diagonal, σ/√2 above it, σ on the trace. Means, squares and counts get the same noise on every coordinate.

``paper``: Algorithm 1 of Su, Guo and Zhang, β on every entry of the triangle, classical calibration, no trace.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from graphveil.privacy import calibration, sensitivity
from graphveil.privacy.randomness import NoiseSource
from graphveil.spec.budget import Budget
from graphveil.spec.events import GaussianStep, NoiseGroup
from graphveil.spec.lattice import CELL_LEVELS, MomentLayout, RowLattice
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, Excess, Moments, NormCounts, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["draw_noise", "paper_step", "step_for"]


def step_for(
    query: Query,
    lattice: RowLattice | None,
    layout: MomentLayout,
    base: RowLattice | None,
    rows_per_person: int,
    mu: float,
    allowed_eta: float,
) -> GaussianStep:
    """Law of the noise that makes the answer to ``query`` μ-GDP up to a total variation of ``allowed_eta``.

    Parameters
    ----------
    query : Query
    lattice, layout : RowLattice, MomentLayout
        Of the rows whose moments are asked for; ignored by the other questions.
    base : RowLattice
        Of the rows of the domain. Counts of norms need no lattice: both may be None for them.
    rows_per_person : int
    mu, allowed_eta : float

    Guarantee
    ---------
    Proofs: ``privacy/proofs/sensitivity.md``, ``privacy/proofs/columns.md``.
    """
    if isinstance(query, NormCounts):
        delta = sensitivity.histogram_sensitivity(rows_per_person)
        name, count = "counts", query.edges.size + 1
    elif isinstance(query, CellCounts):
        delta = sensitivity.cell_sensitivity(query.columns.size, rows_per_person)
        name, count = "cells", query.columns.size * sum(2**level for level in CELL_LEVELS)
    elif lattice is None or base is None:
        raise TypeError(f"a {type(query).__name__} needs rows on a lattice")
    elif isinstance(query, Moments | Excess):
        return _moment_step(lattice, layout, rows_per_person, mu, allowed_eta)
    elif isinstance(query, ColumnMeans):
        which = query.columns.astype(int)
        widths, weights = _integers((query.high - query.low)[which]), _integers(query.weights)
        delta = sensitivity.mean_sensitivity(widths, weights, base.row_square, rows_per_person)
        name, count = "means", which.size
    elif isinstance(query, ColumnSquares):
        which = query.columns.astype(int)
        farthest = np.maximum(query.high - query.centre, query.centre - query.low)
        reaches, weights, centre = (_integers(v) for v in (farthest[which], query.weights, query.centre))
        delta = sensitivity.square_sensitivity(reaches, weights, centre, base.row_square, rows_per_person)
        name, count = "squares", which.size
    else:
        raise TypeError(f"no mechanism for a {type(query).__name__}")
    delta = calibration.with_reserve(delta)
    group = NoiseGroup(name, count, calibration.sd_for(delta, mu))
    return calibration.lattice_step(delta, (group,), mu, allowed_eta)


def _moment_step(
    lattice: RowLattice, layout: MomentLayout, rows_per_person: int, mu: float, allowed_eta: float
) -> GaussianStep:
    delta = calibration.with_reserve(sensitivity.moment_sensitivity(lattice.total_square, rows_per_person))
    sd = calibration.sd_for(delta, mu)
    above = sd / math.sqrt(2.0) * (1.0 + 2.0**-50)  # rounded up: √2 times it is at least sd
    groups = (
        NoiseGroup("diagonal", layout.n_diagonal, sd),
        NoiseGroup("off_diagonal", layout.n_off_diagonal, above),
        NoiseGroup("trace", 1, sd),
    )
    return calibration.lattice_step(delta, groups, mu, allowed_eta)


def paper_step(
    lattice: RowLattice, layout: MomentLayout, rows_per_person: int, budget: Budget, *, allow_unproven: bool
) -> GaussianStep:
    """Law of the noise of the paper's Algorithm 1; its μ says what it keeps.

    Guarantee
    ---------
    Proof: ``privacy/proofs/paper_mechanism.md``.
    """
    delta = calibration.with_reserve(sensitivity.moment_sensitivity(lattice.total_square, rows_per_person))
    sd = calibration.classical_sd(delta, budget, allow_unproven=allow_unproven)
    mu = math.nextafter(delta / sd, math.inf)
    groups = (NoiseGroup("diagonal", layout.n_diagonal, sd), NoiseGroup("off_diagonal", layout.n_off_diagonal, sd))
    return calibration.lattice_step(delta, groups, mu, calibration.lattice_allowance(budget))


def draw_noise(step: GaussianStep, source: NoiseSource) -> "dict[str, NDArray[np.int64]]":
    """Noise for every group of a step, in multiples of 2^``step.lattice``."""
    return {g.name: source.discrete_gaussian(math.ldexp(g.sd, -step.lattice), g.count) for g in step.groups}


def _integers(values: "NDArray[np.float64]") -> list[int]:
    return [int(value) for value in values]
