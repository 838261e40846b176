"""How much noise a budget asks for, and on which lattice it is drawn. Everything rounds to the private side."""

import math

from graphveil.exceptions import GuaranteeError
from graphveil.spec.budget import Budget
from graphveil.spec.events import GaussianStep, NoiseGroup
from graphveil.spec.gdp import mu_of

__all__ = ["analytic_mu", "classical_sd", "lattice_step", "sd_for"]

# Share of δ that is kept for the lattice. The rest pays for the Gaussian; 1/1024 of δ changes σ by less than 0.02%.
_LATTICE_SHARE = 2.0**-10
_COARSEST, _FINEST = 40, 57  # log2 of (smallest sd / lattice): at least 40 bits, and no int64 ever overflows


def analytic_mu(budget: Budget) -> float:
    """The μ that a release may use: all of the budget but the lattice's share.

    Guarantee
    ---------
    δ_μ(ε) ≤ (1 - 2⁻¹⁰) δ. Proof: ``privacy/proofs/calibration.md`` (theorem 3).
    """
    return mu_of(budget.epsilon, budget.delta * (1.0 - _LATTICE_SHARE))


def sd_for(sensitivity: float, mu: float) -> float:
    """Least standard deviation with sensitivity/sd ≤ μ, rounded up.

    Guarantee
    ---------
    The quotient, in exact arithmetic, is at most μ. Proof: ``privacy/proofs/calibration.md`` (theorem 3).
    """
    return math.nextafter(sensitivity / mu, math.inf)


def classical_sd(sensitivity: float, budget: Budget, *, allow_unproven: bool) -> float:
    """The paper's β = Δ √(2 log(1.25/δ)) / ε, whose proof needs ε ≤ 1 (Dwork and Roth 2014, theorem A.1).

    Guarantee
    ---------
    None beyond what δ_μ(ε) says for μ = Δ/β, which is what is charged. Proof: ``privacy/proofs/paper_mechanism.md``.
    """
    if budget.epsilon > 1.0 and not allow_unproven:
        raise GuaranteeError(
            f'mechanism="paper" uses the classical Gaussian calibration, which is proved for epsilon ≤ 1 only, got '
            f"epsilon={budget.epsilon!r}. Use the default mechanism, which needs less noise and is proved for every "
            "epsilon; or, to reproduce the paper, allow_unproven=True (the exact guarantee is computed and charged)."
        )
    return math.nextafter(
        sensitivity * math.sqrt(2.0 * math.log(1.25 / budget.delta)) / budget.epsilon * (1.0 + 2.0**-50), math.inf
    )


def lattice_step(
    query: str, sensitivity: float, groups: tuple[NoiseGroup, ...], mu: float, budget: Budget
) -> GaussianStep:
    r"""Choose the lattice of a noisy vector, fine enough that (1 + e^ε) η ≤ 2⁻¹⁰ δ, and describe the step.

    A coordinate with noise of standard deviation s on the lattice gℤ costs a total variation of at most (g/s)²/16
    against the Gaussian rounded to gℤ. The data are integers, so g is 2^e with e ≤ 0: it divides them.

    Guarantee
    ---------
    Proof: ``privacy/proofs/lattice.md`` (theorem 4).
    """
    smallest, largest = min(group.sd for group in groups), max(group.sd for group in groups)
    # 1 - 2⁻¹⁰ leaves room for the rounding of every sum in which η takes part.
    allowed = _LATTICE_SHARE * (1.0 - 2.0**-10) * budget.delta / (1.0 + math.exp(min(budget.epsilon, 700.0)))
    exponent = min(0, math.floor(math.log2(smallest)) - _COARSEST)
    while True:
        eta = sum(group.count * (2.0**exponent / group.sd) ** 2 for group in groups) / 16.0 * (1.0 + 2.0**-40)
        if largest / 2.0**exponent > 2.0**_FINEST:
            raise GuaranteeError(
                f"epsilon={budget.epsilon!r} and delta={budget.delta!r} cannot be kept in exact arithmetic with "
                f"{sum(group.count for group in groups)} noisy numbers: no lattice is fine enough for so large an "
                "epsilon or so small a delta, or the noise is too large. Choose a more usual budget."
            )
        if eta <= allowed:
            return GaussianStep(query, sensitivity, groups, exponent, mu, eta)
        exponent -= 1
