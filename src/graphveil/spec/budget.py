"""A privacy budget: one (ε, δ) guarantee."""

from dataclasses import dataclass
from functools import cached_property

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.gdp import mu_from_epsilon_delta
from graphveil.spec.serialization import Record

__all__ = ["SMALLEST_EPSILON", "Budget", "allows_a_record"]

# Beyond these nothing is left of the data, or nothing is a guarantee.
SMALLEST_EPSILON, _LARGEST_EPSILON = 1e-9, 1000.0
_SMALLEST_DELTA = 1e-300  # below it floating point loses digits


@dataclass(frozen=True)
class Budget(Record):
    """An (ε, δ) guarantee.

    Parameters
    ----------
    epsilon : float
        Logarithm of the factor by which replacing one person may change the probability of any output. Greater than 0;
        values around 1 are common.
    delta : float
        Probability with which that bound may fail. Between 0 and 1; at most a tenth of one over the number of records.

    Guarantee
    ---------
    ``mu`` is rounded down: a μ-GDP release with this μ satisfies (ε, δ), never more.

    Examples
    --------
    >>> budget = Budget(epsilon=1.0, delta=1e-6)
    >>> round(budget.mu, 6)
    0.236704
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = _validation.number(
            "epsilon", self.epsilon, "a number greater than 0 (from 1e-9 to 1000)", SMALLEST_EPSILON, _LARGEST_EPSILON
        )
        delta = _validation.number("delta", self.delta, "a number strictly between 0 and 1", 0.0, 1.0, open_ends=True)
        if delta < _SMALLEST_DELTA:
            raise InvalidParameter.of("delta", f"at least {_SMALLEST_DELTA}", self.delta)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)

    @cached_property
    def mu(self) -> float:
        """The largest μ of Gaussian differential privacy within this budget."""
        return mu_from_epsilon_delta(self.epsilon, self.delta)


def allows_a_record(delta: float, n_samples: float) -> bool:
    """Whether δ is so large that a mechanism which publishes one of n records at random would satisfy it."""
    return delta >= 1.0 / n_samples
