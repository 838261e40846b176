"""The total of survey weights and how much they differ: the first query.

Everything after it is divided by the released total (``privacy/proofs/weights.md``, theorem 18).
"""

import numpy as np

from graphveil.recovery.protocol import PlannedStep, QueryBatch
from graphveil.spec.queries import TotalWeight

__all__ = ["TOTAL_ROUNDS", "mu_after_total", "total_query", "total_steps"]

TOTAL_ROUNDS = 1
# Of μ². At ε = 1 and δ = 1e-6 the total, in largest weights, has a standard deviation of 30. That moves variances by as
# large a part of themselves and correlations not at all; the noise of a variance is several times as large.
_SHARE = 0.02


def total_query() -> QueryBatch:
    """The first query."""
    return [(TotalWeight(), _SHARE)]


def total_steps() -> list[PlannedStep]:
    """What is known of it in advance."""
    return [PlannedStep(2, _SHARE, counts=False)]


def mu_after_total(mu: float) -> float:
    """The remaining μ."""
    return float(mu * np.sqrt(1.0 - _SHARE) * (1.0 - 2.0**-40))
