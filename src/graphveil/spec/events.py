"""Events as frozen facts: no noise and no rows, only distributions.

A :class:`GaussianStep` says: a vector v of the data, which moves by at most ``sensitivity`` in the norm that weights
coordinate i by 1/sd_i (relative to the first group's sd), was published as v + N with independent discrete Gaussians
N_i of standard deviation sd_i on a lattice. A :class:`ReleaseEvent` says what one call of the gate was charged.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.budget import Budget
from graphveil.spec.gdp import delta_from_mu, epsilon_from_mu
from graphveil.spec.rounding import format_exact, format_round_up
from graphveil.spec.serialization import LATER, Record

__all__ = ["GaussianStep", "NoiseGroup", "PrivacyCost", "ReleaseEvent", "collision_probability"]

_POSITIVE = "a positive, finite number"


def _positive(name: str, value: float) -> float:
    return _validation.number(name, value, _POSITIVE, 0.0, math.inf, open_ends=True)


@dataclass(frozen=True)
class NoiseGroup(Record):
    """``count`` coordinates that share one standard deviation ``sd``, in units of the integer moments."""

    name: str
    count: int
    sd: float

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str):
            raise InvalidParameter.of("name", "text", name)
        _validation.integer("count", self.count, 0)
        _positive("sd", self.sd)


@dataclass(frozen=True)
class GaussianStep(Record):
    """One noisy vector.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity in units of the integer moments, coordinates weighted by (sd of the first group)/(own sd).
    groups : tuple of NoiseGroup
        The law of the noise.
    lattice : int
        The noise lies on multiples of 2^lattice.
    mu : float
        The step is μ-GDP up to the lattice term.
    eta : float
        Total variation between the noise and the Gaussian rounded to the lattice.
    """

    sensitivity: float
    groups: tuple[NoiseGroup, ...]
    lattice: int
    mu: float
    eta: float

    def __post_init__(self) -> None:
        _positive("sensitivity", self.sensitivity)
        _positive("mu", self.mu)
        _validation.number("eta", self.eta, "a number in [0, 1]", 0.0, 1.0)
        _validation.integer("lattice", self.lattice, -1000, 1000)
        groups: Any = self.groups
        if not isinstance(groups, tuple) or not groups or not all(isinstance(group, NoiseGroup) for group in groups):
            raise InvalidParameter.of("groups", "a tuple of NoiseGroup records", groups)

    def sd(self, name: str) -> float | None:
        """Standard deviation of the group ``name``, or None when there is no such group."""
        return next((group.sd for group in self.groups if group.name == name), None)


def collision_probability(n_people: float) -> float:
    """How likely two of ``n_people`` ids are taken for one, at most: n²/2 pairs, each with less than 2⁻¹¹¹.

    Guarantee
    ---------
    Proof: ``privacy/proofs/people.md`` (theorem 13).
    """
    return float(n_people) ** 2 * 2.0**-112


class PrivacyCost:
    """What follows from μ, η, the budget and the seed, for one release and for several."""

    if TYPE_CHECKING:

        @property
        def budget(self) -> Budget: ...  # noqa: D102 - a declaration
        @property
        def mu(self) -> float: ...  # noqa: D102 - a declaration
        @property
        def eta(self) -> float: ...  # noqa: D102 - a declaration
        @property
        def seeded(self) -> bool: ...  # noqa: D102 - a declaration
        @property
        def by_person(self) -> bool: ...  # noqa: D102 - a declaration

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of a table that were released by themselves: who belongs to them is as public as the count is."""
        return ()

    @property
    def counted(self) -> str:
        """What ``n_samples`` counts."""
        return "people" if self.by_person else "records"

    @property
    def charged_mu(self) -> float:
        """What a ledger must count: ∞ for a seeded release."""
        return math.inf if self.seeded else self.mu

    def delta(self, epsilon: float) -> float:
        """The δ that really holds at ε, lattice included."""
        return 1.0 if self.seeded else delta_from_mu(self.mu, epsilon, self.eta)

    def epsilon(self, delta: float) -> float:
        """The ε that really holds at δ, lattice included."""
        return epsilon_from_mu(self.charged_mu, delta, self.eta)

    @property
    def keeps_budget(self) -> bool:
        """Whether the (ε, δ) that was asked for, the largest of several, really holds."""
        return not self.seeded and self.delta(self.budget.epsilon) <= self.budget.delta

    @property
    def proven_epsilon(self) -> float:
        """The ε that was asked for where it holds, and otherwise the one that does, at the δ that was asked for."""
        return self.budget.epsilon if self.keeps_budget else self.epsilon(self.budget.delta)

    @staticmethod
    def _one_person(*rows: int) -> str:
        """Whose records are replaced; several numbers are those of several sites."""
        if set(rows) == {1}:
            return "one record"
        if len(set(rows)) == 1:
            return f"one person (up to {rows[0]} records)"
        return f"one person (up to {', '.join(map(str, rows[:-1]))} or {rows[-1]} records, depending on the site)"

    def _sentence(self, whom: str, public: str) -> str:
        """Against what this protects, and what is public."""
        if self.seeded:
            return "Seeded: not private. The noise came from a known seed; this is a simulation."
        epsilon = format_exact(self.budget.epsilon) if self.keeps_budget else format_round_up(self.proven_epsilon)
        delta = format_exact(self.budget.delta)
        return f"({epsilon}, {delta})-differentially private against {whom}; {public}"


@dataclass(frozen=True)
class ReleaseEvent(PrivacyCost, Record):
    """The charge of one release, all rounds together.

    Parameters
    ----------
    budget : Budget
        The requested guarantee.
    mu, eta : float
        What is charged: the release is μ-GDP up to a total variation η.
    mechanism : {"default", "paper"}
        Analytic Gaussian noise on the isometric half-vectorisation and the trace, or the paper's Algorithm 1.
    rounds : {"one", "adaptive"}
        One noisy second moment, or several rounds in which later queries depend on earlier answers.
    n_samples : int or None
        Number of rows; public. None where it is not: a charge is made before noise hides it.
    rows_per_person : int
    neighbours : str
    seeded : bool
        The noise came from a known seed: nothing is private, and the charge is μ = ∞.
    by_person : bool
        A column identified the person: ``n_samples`` counts people, each with all their rows.
    """

    budget: Budget
    mu: float
    eta: float
    mechanism: str
    rounds: str
    n_samples: int | None
    rows_per_person: int
    neighbours: str
    seeded: bool
    by_person: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise InvalidParameter.of("budget", "a Budget", self.budget)
        _positive("mu", self.mu)
        _validation.number("eta", self.eta, "a number in [0, 1]", 0.0, 1.0)
        _validation.choice("mechanism", self.mechanism, ["default", "paper"])
        _validation.choice("rounds", self.rounds, ["one", "adaptive"])
        _validation.choice("neighbours", self.neighbours, ["replace", "add-remove"])
        if self.hides_count != (self.n_samples is None):
            raise InvalidParameter('an event knows the number of records unless neighbours="add-remove" hides it.')
        if self.n_samples is not None:
            _validation.integer("n_samples", self.n_samples, 1, 2**62)
        _validation.integer("rows_per_person", self.rows_per_person, 1)
        _validation.flag("seeded", self.seeded)
        _validation.flag("by_person", self.by_person)

    def covers(self, steps: Iterable[GaussianStep]) -> bool:
        """Whether these steps together, Σμ² and Ση, stay within what is charged, in exact arithmetic."""
        mu_square, eta = Fraction(0), Fraction(self.id_collisions)
        for step in steps:
            mu_square, eta = mu_square + Fraction(step.mu) ** 2, eta + Fraction(step.eta)
        return mu_square <= Fraction(self.mu) ** 2 and eta <= Fraction(self.eta)

    @property
    def change(self) -> str:
        """The change of the table that the noise protects."""
        whom = "one person with all their records" if self.by_person else self._one_person(self.rows_per_person)
        return f"{'adding or removing' if self.hides_count else 'replacing'} {whom}"

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        known = "is secret too" if self.n_samples is None else f"{self.n_samples}, is public"
        comma = "" if self.n_samples is None else ","
        return self._sentence(self.change, f"the number of {self.counted}{comma} {known}.")

    @property
    def hides_count(self) -> bool:
        """Whether the number of records is secret."""
        return self.neighbours == "add-remove"

    @property
    def id_collisions(self) -> float:
        """How likely two people were taken for one, at most; part of η. Half of it where their number is secret."""
        if not self.by_person:
            return 0.0
        return self.eta / 2.0 if self.n_samples is None else collision_probability(self.n_samples)
