"""The noise that a budget requires, and the lattice on which it is drawn. All rounding is conservative."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from graphveil.exceptions import GuaranteeError
from graphveil.protocol.schedule import Schedule
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, NoiseGroup, ReleaseEvent, collision_probability
from graphveil.spec.gdp import mu_from_epsilon_delta
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.rounding import float_round_up

__all__ = [
    "LARGEST_ETA",
    "allowed_collisions",
    "analytic_mu",
    "calibrate_sd",
    "calibrate_step",
    "classical_sd",
    "grid_delta_share",
    "grid_eta_budget",
    "inflate_sensitivity",
    "whole_release",
]

# Share of δ that is kept for the lattice. The rest pays for the Gaussian; 1/1024 of δ changes σ by less than 0.02%.
_LATTICE_SHARE = 2.0**-10
# However generous δ is, a release charges no more than this, so that it composes with others at any sensible total ε.
LARGEST_ETA = 2.0**-70
_SECRET_COLLISIONS = 2.0**-52  # of 2³⁰ people
_LEAST_RELEASES = 2**9  # of people whose number is secret, for whose collisions there is room in one budget
_COARSEST, _FINEST = 40, 57  # log2 of sd/lattice: at least 40 bits, and no int64 ever overflows
_ROUNDING = 2.0**-30  # relative reserve of the sensitivity for rounding large integers down to the lattice


@lru_cache(maxsize=64)  # a bisection over floats takes as long as a small release
def analytic_mu(budget: Budget) -> float:
    """The μ that a release may use: all of the budget but the lattice's share.

    Guarantee
    ---------
    δ_μ(ε) ≤ (1 - 2⁻¹⁰) δ. Proof: ``privacy/proofs/calibration.md`` (theorem 3).
    """
    return mu_from_epsilon_delta(budget.epsilon, budget.delta * (1.0 - _LATTICE_SHARE))


def grid_delta_share(budget: Budget) -> float:
    """The η that a budget leaves room for: (1 + e^ε) η is less than 2⁻¹⁰ δ.

    Guarantee
    ---------
    Proof: ``privacy/proofs/lattice.md`` (theorem 4).
    """
    # 1 - 2⁻¹⁰ leaves room for the rounding of every sum in which η takes part.
    return _LATTICE_SHARE * (1.0 - 2.0**-10) * budget.delta / (1.0 + math.exp(min(budget.epsilon, 700.0)))


def allowed_collisions(budget: Budget, n_people: int | None) -> float:
    """The part of η for people who are taken for one: what so many may cost, or a public part where that is secret.

    Guarantee
    ---------
    Proofs: ``privacy/proofs/people.md`` (theorem 13), ``privacy/proofs/add_remove.md`` (theorem 14).
    """
    if n_people is None:
        return min(_SECRET_COLLISIONS, grid_delta_share(budget) / _LEAST_RELEASES)
    return collision_probability(n_people)


def grid_eta_budget(budget: Budget, collisions: float = 0.0) -> float:
    """The η that a whole release may charge; half of it at most is for collisions of ids.

    Guarantee
    ---------
    Proof: ``privacy/proofs/lattice.md`` (theorem 4).
    """
    return min(grid_delta_share(budget), max(LARGEST_ETA, 4.0 * collisions))


def whole_release(
    options: ReleaseOptions,
    domain: Domain,
    *,
    n_samples: int | None,
    allowance: Callable[[float], tuple[float, float]],
    first: GaussianStep,
    seeded: bool,
) -> ReleaseEvent:
    """What a release is charged: all that it may use where there are several rounds, else what its one step costs.

    Guarantee
    ---------
    Proof: ``privacy/proofs/composition.md``.
    """
    budget, by_person = options.budget, domain.person is not None
    collisions = allowed_collisions(budget, n_samples) if by_person else 0.0
    if options.adaptive or Schedule.of(domain).stages:
        mu, eta = allowance(collisions)
    else:
        mu, eta = first.mu, float_round_up(Fraction(first.eta) + Fraction(collisions))
    return ReleaseEvent(
        budget=budget,
        mu=mu,
        eta=eta,
        mechanism=options.mechanism,
        rounds="adaptive" if options.adaptive else "one",
        n_samples=n_samples,
        rows_per_person=domain.rows_per_person,
        neighbours=domain.neighbours,
        seeded=seeded,
        by_person=by_person,
    )


def inflate_sensitivity(sensitivity: float) -> float:
    """The sensitivity of what is really released, integers rounded down to a lattice, rounded up.

    Guarantee
    ---------
    Proof: ``privacy/proofs/lattice.md`` (theorem 4).
    """
    return sensitivity * (1.0 + _ROUNDING)


def calibrate_sd(sensitivity: float, mu: float) -> float:
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


def calibrate_step(sensitivity: float, groups: tuple[NoiseGroup, ...], mu: float, allowed_eta: float) -> GaussianStep:
    """Choose the lattice of a noisy vector, fine enough that η ≤ ``allowed_eta``, and describe the step.

    A coordinate with noise of standard deviation s on the lattice gℤ, g = 2^e, costs a total variation of at most
    (g/s)²/16 against the Gaussian rounded to gℤ. The data are integers: for e ≤ 0 they are on the lattice; for e > 0
    they are rounded down to it, which moves d coordinates by less than g√(2d) in the norm of the sensitivity. That
    is kept below 2⁻³⁰ of the sensitivity, the reserve that :func:`inflate_sensitivity` adds.
    The sampler takes whole scales: every s is rounded up to a multiple of g, by less than 2⁻⁴⁰ of itself.

    Guarantee
    ---------
    Proof: ``privacy/proofs/lattice.md`` (theorem 4).
    """
    smallest, largest = min(group.sd for group in groups), max(group.sd for group in groups)
    count = sum(group.count for group in groups)
    exponent = math.floor(math.log2(smallest)) - _COARSEST
    while largest <= math.ldexp(2.0**_FINEST, exponent):
        spacing = math.ldexp(1.0, exponent)
        eta = sum(group.count * (spacing / group.sd) ** 2 for group in groups) / 16.0 * (1.0 + 2.0**-40)
        rounding = spacing * math.sqrt(2.0 * count) if exponent > 0 else 0.0
        if eta <= allowed_eta and rounding <= 0.5 * _ROUNDING * sensitivity:
            return GaussianStep(sensitivity, _on_whole_scales(groups, spacing), exponent, mu, eta)
        exponent -= 1
    raise GuaranteeError(
        f"This budget cannot be kept in exact arithmetic with {count} noisy numbers: epsilon is too large, or "
        f"epsilon or delta too small, for any noise grid. Choose a less extreme budget."
    )


def _on_whole_scales(groups: tuple[NoiseGroup, ...], spacing: float) -> tuple[NoiseGroup, ...]:
    """Round standard deviations up to multiples of the lattice, the others no less than the first.

    Guarantee
    ---------
    No quotient (first sd)/(own sd) grows, so the norm in which the sensitivity is measured does not either. Proof:
    ``privacy/proofs/lattice.md`` (theorem 4).
    """
    first = Fraction(groups[0].sd)
    factor = math.ceil(first / Fraction(spacing)) / (first / Fraction(spacing))
    steps = [math.ceil(Fraction(group.sd) * factor / Fraction(spacing)) for group in groups]
    return tuple(replace(group, sd=count * spacing) for group, count in zip(groups, steps, strict=True))
