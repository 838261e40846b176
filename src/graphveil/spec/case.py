"""A planned release: public numbers, and the same with another ε or another number of records."""

from dataclasses import dataclass, replace

from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.forecast import LARGEST_EPSILON

__all__ = ["SMALLEST_EPSILON", "Case"]

SMALLEST_EPSILON = 1e-6  # below it, a forecast would only report that nothing can be detected


@dataclass(frozen=True)
class Case:
    """What a release would be made of."""

    n: int
    p: int
    budget: Budget
    rows_per_person: int = 1
    bounds_in_sd: float = 4.0
    neighbours: str = "replace"

    @property
    def domain(self) -> Domain:
        """The domain of such a release."""
        bounds = (-self.bounds_in_sd, self.bounds_in_sd)
        return Domain(bounds=bounds, rows_per_person=self.rows_per_person, neighbours=self.neighbours)

    @property
    def hides_count(self) -> bool:
        """Whether being among the records is a secret, and their number is released with noise."""
        return self.neighbours == "add-remove"

    def at_epsilon(self, epsilon: float) -> "Case":
        """The same records, with another ε."""
        return replace(self, budget=Budget(min(max(epsilon, SMALLEST_EPSILON), LARGEST_EPSILON), self.budget.delta))

    def at_records(self, n: float) -> "Case":
        """The same budget, with another number of records."""
        return replace(self, n=max(1, round(n)))
