"""The total cost of several releases of the same rows, in exact arithmetic.

Every event is μ-GDP up to a total variation η. A budget (ε, δ) is split once: μ² of all events together stays within
that of ``analytic_mu``, η within ``grid_delta_share``, and δ_μ(ε) + (1 + e^ε) η ≤ δ follows, even when later releases
are chosen after seeing earlier ones. Sums are fractions: no order of addition, no database and no tiny charge can lose
a part of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from graphveil.exceptions import InvalidParameter
from graphveil.privacy.calibration import (
    LARGEST_ETA,
    allowed_collisions,
    analytic_mu,
    grid_delta_share,
    grid_eta_budget,
)
from graphveil.spec.budget import SMALLEST_EPSILON, Budget
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.gdp import epsilon_from_mu
from graphveil.spec.rounding import float_round_up, format_exact, format_round_down, format_round_up, sqrt_round_up

__all__ = [
    "ALL_ROWS",
    "ALL_ROWS_ADDED",
    "Balance",
    "PrivacySpend",
    "check_room_for_releases",
    "compute_remaining",
    "compute_spent",
    "largest_epsilon",
    "person_in",
]

# What one person is in a release, as a number: k for up to k rows that are replaced, -k for k rows that are added or
# removed. However many rows there are, where a column told whose they are:
ALL_ROWS, ALL_ROWS_ADDED = 0, -(2**21)
_LEAST_RELEASES = 100  # that the lattice's share of a total budget must have room for


@dataclass(frozen=True)
class PrivacySpend:
    """An amount of privacy: μ of Gaussian differential privacy, and the ε it corresponds to at a given δ.

    Parameters
    ----------
    mu, epsilon, delta : float
        Zero where nothing is spent or left, infinite after a seeded release.
    seeded : bool
        A seeded release was made of these rows: nothing of them is private any more.
    is_left : bool
        It is what is left, and written rounded down, so that it can be asked for; what is spent is rounded up.
    """

    mu: float
    epsilon: float
    delta: float
    seeded: bool = False
    is_left: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        mark = "; a seeded release was made of these rows: not private" if self.seeded else ""
        round_format = format_round_down if self.is_left else format_round_up
        epsilon, mu = round_format(self.epsilon, 6), round_format(self.mu, 6)
        return f"epsilon = {epsilon} at delta = {format_exact(self.delta)} (mu = {mu}){mark}"


@dataclass(frozen=True)
class Balance:
    """Exact sums over events: Σμ² and Ση for everything that one person was in them, and how many were seeded.

    Guarantee
    ---------
    Proof: ``privacy/proofs/ledger.md``.
    """

    sums: Mapping[int, tuple[Fraction, Fraction]] = field(default_factory=dict)
    seeded: int = 0

    def plus(self, event: ReleaseEvent) -> "Balance":
        """The balance after ``event``."""
        if event.seeded:
            return Balance(self.sums, self.seeded + 1)
        return self.plus_amount(event.mu, event.eta, person_in(event))

    def plus_amount(self, mu: float, eta: float, person: int) -> "Balance":
        """The balance after an unseeded event of this cost; ``person`` is what :func:`person_in` says of it."""
        mu_square, eta_sum = self.sums.get(person, (Fraction(0), Fraction(0)))
        changed = {person: (mu_square + Fraction(mu) ** 2, eta_sum + Fraction(eta))}
        return Balance({**self.sums, **changed}, self.seeded)

    @property
    def person(self) -> int:
        """With the most rows that any release allowed a person: those are the people whom the balance speaks of."""
        return max(self.sums, key=abs, default=1)

    @property
    def mu_square(self) -> Fraction:
        """Σμ² of everything together; a release for people with k rows costs one with K rows ⌈K/k⌉ times its μ."""
        most = self.person
        return sum((mu_square * _times(most, k) ** 2 for k, (mu_square, _) in self.sums.items()), Fraction(0))

    @property
    def adds_up(self) -> bool:
        """False where some releases protect people with all their rows, and others so many rows of them.

        False too where people are replaced in some, and added or removed in others.
        """
        some = ALL_ROWS in self.sums or ALL_ROWS_ADDED in self.sums
        return len(self.sums) <= 1 or (not some and len({person > 0 for person in self.sums}) == 1)

    @property
    def eta(self) -> Fraction:
        """Ση of everything together."""
        return sum((eta for _, eta in self.sums.values()), Fraction(0))

    def keeps(self, budget: Budget) -> bool:
        """Whether everything together stays within the two parts of a budget."""
        enough_mu = self.mu_square <= Fraction(analytic_mu(budget)) ** 2
        return not self.seeded and enough_mu and self.keeps_eta(budget)

    def keeps_eta(self, budget: Budget) -> bool:
        """Whether the lattice terms do."""
        return self.eta <= Fraction(grid_delta_share(budget))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; fractions as text, exactly."""
        sums = {str(k): [str(part) for part in self.sums[k]] for k in sorted(self.sums)}
        return {"seeded": self.seeded, "sums": sums}

    @classmethod
    def from_dict(cls, content: Any) -> "Balance":
        """Undo :meth:`to_dict`."""
        sums = {int(k): (Fraction(mu_square), Fraction(eta)) for k, (mu_square, eta) in content["sums"].items()}
        return cls(sums, int(content["seeded"]))


def person_in(event: ReleaseEvent) -> int:
    """What one person is in an event.

    Guarantee
    ---------
    Proof: ``privacy/proofs/ledger.md``.
    """
    if event.by_person:
        return ALL_ROWS_ADDED if event.hides_count else ALL_ROWS
    return -event.rows_per_person if event.hides_count else event.rows_per_person


def _times(most: int, rows: int) -> int:
    return 1 if most == rows else -(-most // rows)


def check_room_for_releases(budget: Budget) -> None:
    """Refuse a total whose δ is too small, or ε too large, for the lattice terms of a hundred releases."""
    if grid_delta_share(budget) < _LEAST_RELEASES * LARGEST_ETA:
        raise InvalidParameter(
            f"A total of epsilon = {format_exact(budget.epsilon)} at delta = {format_exact(budget.delta)} cannot be "
            "divided among releases: the lattice terms of their noise, times e^epsilon, would exceed delta. Choose a "
            "smaller epsilon or a larger delta for the data set."
        )


def compute_spent(balance: Balance, budget: Budget) -> PrivacySpend:
    """What was spent, with ε at the budget's δ, rounded up."""
    if balance.seeded:
        return PrivacySpend(math.inf, math.inf, budget.delta, seeded=True)
    mu, eta = sqrt_round_up(balance.mu_square), float_round_up(balance.eta)
    return PrivacySpend(mu, epsilon_from_mu(mu, budget.delta, eta) if mu > 0.0 else 0.0, budget.delta)


def compute_remaining(balance: Balance, budget: Budget) -> PrivacySpend:
    """The largest release that still fits, at the budget's δ."""
    epsilon = largest_epsilon(balance, budget, balance.person)
    mu = analytic_mu(Budget(epsilon, budget.delta)) if epsilon > 0.0 else 0.0
    return PrivacySpend(mu, epsilon, budget.delta, balance.seeded > 0, is_left=True)


def largest_epsilon(balance: Balance, budget: Budget, person: int, n_people: int = 0) -> float:
    """Largest ε for which a release at the budget's δ still fits, rounded down; zero when none does.

    ``n_people`` is how many there are, where their number is public. Up to a million of them it makes no difference:
    the chance that two ids are taken for one is then within what any release is charged.
    """

    def fits(epsilon: float) -> bool:
        mu = analytic_mu(Budget(epsilon, budget.delta))
        return balance.plus_amount(mu, 0.0, person).keeps(budget)

    high = epsilon = budget.epsilon
    while not fits(epsilon):
        high, epsilon = epsilon, epsilon / 2.0
        if epsilon < SMALLEST_EPSILON or balance.seeded:
            return 0.0
    while (middle := 0.5 * (epsilon + high)) not in (epsilon, high):
        epsilon, high = (middle, high) if fits(middle) else (epsilon, middle)
    # A smaller ε allows more η, and is charged no less: where this one does not fit, none does.
    asked, collisions = Budget(epsilon, budget.delta), 0.0
    if person in (ALL_ROWS, ALL_ROWS_ADDED):
        collisions = allowed_collisions(asked, n_people if person == ALL_ROWS else None)
    eta = grid_eta_budget(asked, collisions)
    return epsilon if balance.plus_amount(analytic_mu(asked), eta, person).keeps(budget) else 0.0
