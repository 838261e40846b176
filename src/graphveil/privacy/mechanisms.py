r"""The noisy moments: which law on which coordinate, and the noise itself.

``default``: N(0, σ²) on svec and on the trace, which costs nothing more. In entries of the matrix that is σ on the
diagonal, σ/√2 above it, σ on the trace.

``paper``: Algorithm 1 of Su, Guo and Zhang, β on every entry of the triangle, classical calibration, no trace.
"""

import math
from typing import TYPE_CHECKING

from graphveil.privacy import calibration
from graphveil.privacy.randomness import NoiseSource
from graphveil.privacy.sensitivity import moment_sensitivity
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, NoiseGroup
from graphveil.spec.lattice import MomentLayout, RowLattice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["draw_noise", "moment_step"]


def moment_step(
    lattice: RowLattice,
    layout: MomentLayout,
    domain: Domain,
    budget: Budget,
    mechanism: str,
    *,
    allow_unproven: bool,
) -> GaussianStep:
    """Law of the noise on the moments of all rows, from public facts alone.

    Guarantee
    ---------
    With ``default`` the step keeps the budget, lattice included; with ``paper`` its μ says what it keeps. Proofs:
    ``privacy/proofs/sensitivity.md``, ``privacy/proofs/paper_mechanism.md``.
    """
    sensitivity = moment_sensitivity(lattice.total_square, domain.rows_per_person)
    if mechanism == "paper":
        sd = calibration.classical_sd(sensitivity, budget, allow_unproven=allow_unproven)
        mu = math.nextafter(sensitivity / sd, math.inf)
        groups = [NoiseGroup("diagonal", layout.n_diagonal, sd), NoiseGroup("off_diagonal", layout.n_off_diagonal, sd)]
    else:
        mu = calibration.analytic_mu(budget)
        sd = calibration.sd_for(sensitivity, mu)
        above = sd / math.sqrt(2.0) * (1.0 + 2.0**-50)  # rounded up: √2 times it is at least sd
        groups = [
            NoiseGroup("diagonal", layout.n_diagonal, sd),
            NoiseGroup("off_diagonal", layout.n_off_diagonal, above),
            NoiseGroup("trace", 1, sd),
        ]
    return calibration.lattice_step("moments", sensitivity, tuple(groups), mu, budget)


def draw_noise(step: GaussianStep, source: NoiseSource) -> "dict[str, NDArray[np.int64]]":
    """Noise for every group of a step, in multiples of 2^``step.lattice``."""
    return {g.name: source.discrete_gaussian(math.ldexp(g.sd, -step.lattice), g.count) for g in step.groups}
