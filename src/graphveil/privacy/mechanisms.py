"""The distribution of the noise on the answer to each query, from public facts alone, and the noise itself.

``default``: N(0, σ²) on svec and on the trace, which costs nothing more. In entries of the matrix that is σ on the
diagonal, σ/√2 above it, σ on the trace. Means, squares and counts get the same noise on every coordinate.

Where the number of people is secret, one person more moves answers less than one person replaced, but the trace is not
free: it is left out, and the rest has noise that is smaller by √2 (``privacy/proofs/add_remove.md``, theorem 14).

``paper``: Algorithm 1 of Su, Guo and Zhang, β on every entry of the triangle, classical calibration, no trace.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.privacy import calibration
from graphveil.privacy.noise import NoiseSource
from graphveil.spec.budget import Budget
from graphveil.spec.events import GaussianStep, NoiseGroup
from graphveil.spec.queries import Moments, Query
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
    delta = calibration.inflate_sensitivity(query.sensitivity(space, rows_per_person))
    sd = calibration.calibrate_sd(delta, mu)
    above = sd / math.sqrt(2.0) * (1.0 + 2.0**-50)  # rounded up: √2 times it is at least sd
    groups = tuple(
        NoiseGroup(name, count, above if name == "off_diagonal" else sd) for name, count in query.sizes(space).items()
    )
    return calibration.calibrate_step(delta, groups, mu, allowed_eta)


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
    _, layout = query.geometry(space)
    delta = calibration.inflate_sensitivity(query.sensitivity(space, rows_per_person))
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
