"""The number of people, if membership in the table is secret: one noisy count, the first query.

Everything after it, including the choice of queries, uses the released number (``privacy/proofs/add_remove.md``,
theorem 14).
"""

import numpy as np

from graphveil.recovery.protocol import PlannedStep, QueryBatch
from graphveil.spec.queries import RowCount

__all__ = ["COUNT_ROUNDS", "count_query", "count_steps", "mu_after_count", "mu_of_count"]

COUNT_ROUNDS = 1
# Of μ². At ε = 1 and δ = 1e-6 the count has a standard deviation of 30: 0.6% of 5,000 people, which moves variances by
# as much and correlations not at all. The rest has 1% more noise for it.
_SHARE = 0.02


def count_query() -> QueryBatch:
    """The first query."""
    return [(RowCount(), _SHARE)]


def count_steps() -> list[PlannedStep]:
    """What is known of it in advance."""
    return [PlannedStep(1, _SHARE)]


def mu_of_count(mu: float) -> float:
    """The μ of the count itself."""
    return float(mu * np.sqrt(_SHARE))


def mu_after_count(mu: float) -> float:
    """The remaining μ."""
    return float(mu * np.sqrt(1.0 - _SHARE) * (1.0 - 2.0**-40))
