"""The result of an audit."""

import math
from dataclasses import dataclass

from graphveil.spec.budget import Budget
from graphveil.spec.rounding import format_exact, format_round_down, format_round_up

__all__ = ["Audit"]


@dataclass(frozen=True, repr=False)
class Audit:
    """The outcome of :func:`graphveil.audit`.

    Attributes
    ----------
    pair : str
        The neighbouring data sets that were attacked.
    budget : Budget
        The requested guarantee.
    claimed_mu : float
        What the release says it costs: it is μ-GDP with this μ.
    mu_low : float
        A lower bound on its cost, proved by the attack.
    largest_mu : float
        The bound that perfect guesses in this many runs would have proved. If it is below ``claimed_mu``, the audit
        could not fail.
    confidence : float
        ``mu_low`` is below the truth with at least this probability.
    attack : str
        The attack that proved the largest bound.
    runs : int
        Releases of each of the two data sets.
    """

    pair: str
    budget: Budget
    claimed_mu: float
    mu_low: float
    largest_mu: float
    confidence: float
    attack: str
    runs: int

    @property
    def broken(self) -> bool:
        """Whether the attack does better than the claim allows."""
        return self.mu_low > self.claimed_mu

    @property
    def verdict(self) -> str:
        """The outcome in words. An audit can find a fault; it cannot prove that there is none."""
        if self.broken:
            return "BROKEN: neighbours can be distinguished better than claimed"
        if self.largest_mu <= self.claimed_mu:
            most = format_round_up(self.largest_mu, 3)
            return f"inconclusive: so few runs cannot show more than μ = {most}, whatever the attack finds"
        return f"not broken; the attack reaches {math.floor(100 * self.mu_low / self.claimed_mu)}% of the claim"

    def __repr__(self) -> str:
        asked = f"({format_exact(self.budget.epsilon)}, {format_exact(self.budget.delta)})"
        claimed, shown = format_round_up(self.claimed_mu, 4), format_round_down(self.mu_low, 4)
        return (
            f"<Audit of {self.pair!r} at {asked}: claimed μ = {claimed}, shown μ ≥ {shown} by "
            f"{self.attack}, {100 * self.confidence:g}% sure, {self.runs} runs a side; {self.verdict}>"
        )
