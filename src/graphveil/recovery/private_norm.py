"""A bound of the rows' norm, for users who have no public one: two noisy histograms of norms.

The first has wide bins over 77 decades and only finds where rows are; the second has narrow bins from there upwards and
finds where they end. Every row falls into exactly one bin of each, so both are ordinary steps of the gate
(``privacy/proofs/norm.md``, theorem 9).

Everything published afterwards describes rows clipped to that norm.
"""

from collections.abc import Generator

import numpy as np

from graphveil.exceptions import InvalidParameter
from graphveil.recovery.parameters import PROTOCOL
from graphveil.recovery.protocol import PlannedStep
from graphveil.released.answers import Answer
from graphveil.spec.queries import NormCounts, Query

__all__ = ["NORM_ROUNDS", "check_enough_rows", "mu_after_norm", "norm_rounds", "norm_steps"]

NORM_ROUNDS = 2
_COARSE_EDGES = np.ldexp(1.0, np.arange(-128, 129, 2))
# From the lower end of two coarse bins to a factor of 13 above their upper end.
_FINE_FACTORS = np.power(1.25, np.arange(25.0))


def norm_steps() -> list[PlannedStep]:
    """What is known of both questions in advance."""
    share = PROTOCOL.norm.share / NORM_ROUNDS
    return [PlannedStep(edges.size + 1, share) for edges in (_COARSE_EDGES, _FINE_FACTORS)]


def mu_after_norm(mu: float) -> float:
    """The remaining μ."""
    return float(mu * np.sqrt(1.0 - PROTOCOL.norm.share) * (1.0 - 2.0**-40))


def check_enough_rows(n_samples: int, mu: float, rows_per_person: int) -> None:
    """Refuse, from public numbers and before anything is spent, where the norm could come out far too small."""
    least = int(np.ceil(PROTOCOL.norm.least_rows * _count_sd(mu, rows_per_person)))
    if n_samples < least:
        raise InvalidParameter(
            f'data_norm="private" needs at least {least} records at this budget, and there are {n_samples}: the norm '
            "could come out far too small. Give bounds or a norm from public knowledge, or a larger epsilon."
        )


def norm_rounds() -> Generator[list[tuple[Query, float]], list[Answer], float]:
    """Ask for two histograms; return the norm."""
    (wide,) = yield [(NormCounts(_COARSE_EDGES), PROTOCOL.norm.share / NORM_ROUNDS)]
    counts, sd = wide.values["counts"], wide.sd("counts")
    pairs = counts[1:-2] + counts[2:-1]  # without what lies beyond the grid on either side
    visible = np.flatnonzero(pairs > PROTOCOL.norm.seen * np.sqrt(2.0) * sd)
    start = _COARSE_EDGES[visible[-1] if visible.size else int(np.argmax(pairs))]
    edges = start * _FINE_FACTORS
    (narrow,) = yield [(NormCounts(edges), PROTOCOL.norm.share / NORM_ROUNDS)]
    tails = np.cumsum(narrow.values["counts"][::-1])[::-1]
    noise = narrow.sd("counts") * np.sqrt(np.arange(tails.size, 0, -1))
    seen = np.flatnonzero(tails > PROTOCOL.norm.seen * noise)
    last = min(int(seen[-1]) if seen.size else 0, edges.size - 1)
    return float(PROTOCOL.norm.slack * edges[last])


def _count_sd(mu: float, rows_per_person: int) -> float:
    return float(np.sqrt(2.0) * rows_per_person / (mu * np.sqrt(PROTOCOL.norm.share / NORM_ROUNDS)))
