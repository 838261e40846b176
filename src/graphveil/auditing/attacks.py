"""Ways to guess from a release whether the record was there. Each is fixed before the runs on which it is tested.

The first knows the declared distribution and needs no training. The others learn from the first half of the runs and
find unexpected leaks. A score above a threshold means "the record was there".
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix, Vector
from graphveil.auditing.confidence import mu_lower_bound

__all__ = ["ATTACKS", "AttackObservations", "strength"]

_THRESHOLDS = 400


@dataclass(frozen=True, eq=False)
class AttackObservations:
    """What the attacker saw in the runs of one data set.

    Attributes
    ----------
    ratios : (runs,) array
        Log-likelihood ratios by the declared law, all rounds together.
    numbers : (runs, d) array
        The noisy numbers of the first round, in units of the integer sums.
    """

    ratios: Vector
    numbers: Matrix

    def __getitem__(self, part: slice) -> "AttackObservations":
        return AttackObservations(self.ratios[part], self.numbers[part])

    def __len__(self) -> int:
        return len(self.ratios)


Score = Callable[[AttackObservations], Vector]
Learner = Callable[[AttackObservations, AttackObservations], Score]


def strength(attack: str, without: AttackObservations, within: AttackObservations, alpha: float) -> float:
    """The μ that an attack proves, wrongly with probability at most ``alpha``."""
    learn = ATTACKS[attack]
    if learn is None:
        # By the declared law both errors are equally likely at a ratio of one.
        low, high, threshold = without.ratios, within.ratios, 0.0
    else:
        half = len(without) // 2
        score = learn(without[:half], within[:half])
        threshold = _best_threshold(score(without[:half]), score(within[:half]), alpha)
        low, high = score(without[half:]), score(within[half:])
    return float(mu_lower_bound((high > threshold).sum(), (low > threshold).sum(), len(high), alpha))


def _best_threshold(low: Vector, high: Vector, alpha: float) -> float:
    """The threshold at which the training runs would prove the largest bound."""
    both = np.sort(np.concatenate([low, high]))
    candidates = np.unique(both[:: max(1, len(both) // _THRESHOLDS)])
    hits = len(high) - np.searchsorted(np.sort(high), candidates, side="right")
    alarms = len(low) - np.searchsorted(np.sort(low), candidates, side="right")
    return float(candidates[np.argmax(mu_lower_bound(hits, alarms, len(high), alpha))])


def _direction(without: AttackObservations, within: AttackObservations) -> Score:
    """The direction in which the runs differ most for their scatter (Fisher): finds noise too small or dependent."""
    scale = np.vstack([without.numbers, within.numbers]).std(axis=0)
    scale[scale == 0.0] = 1.0  # a number that never changes carries no information
    low, high = without.numbers / scale, within.numbers / scale
    spread = np.atleast_2d(np.cov(low.T) + np.cov(high.T)) / 2.0
    # A tiny ridge: where noise vanishes in a direction the weight becomes huge, not infinite.
    weights = np.linalg.solve(spread + 1e-12 * np.eye(len(spread)), high.mean(axis=0) - low.mean(axis=0))
    return lambda seen: np.asarray(seen.numbers / scale @ weights)


def _low_bits(without: AttackObservations, within: AttackObservations) -> Score:
    """How fine the last binary digit of each number is: finds noise that was added in floating point."""
    low, high = _last_bits(without.numbers), _last_bits(within.numbers)
    columns = range(low.shape[1])
    least = min(low.min(), high.min())
    size = max(low.max(), high.max()) - least + 2
    counts = [[np.bincount(bits[:, j] - least, minlength=size) + 1.0 for j in columns] for bits in (low, high)]
    odds = np.log(counts[1]) - np.log(counts[0])

    def score(seen: AttackObservations) -> Vector:
        bits = np.clip(_last_bits(seen.numbers) - least, 0, size - 1)
        return np.asarray(sum(odds[j][bits[:, j]] for j in columns))

    return score


def _last_bits(numbers: Vector) -> NDArray[np.int64]:
    """The exponent of the last set bit of each float."""
    fraction, exponent = np.frexp(numbers)
    digits = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    last = np.log2((digits & -digits).astype(np.float64), where=digits > 0, out=np.zeros(digits.shape))
    return np.asarray(exponent + last.astype(np.int64), dtype=np.int64)


def _seen_before(without: AttackObservations, within: AttackObservations) -> Score:
    """Whether exactly these numbers came out before: finds noise that repeats."""
    low, high = ({row.tobytes() for row in seen.numbers} for seen in (without, within))
    return lambda seen: np.array([float((b := row.tobytes()) in high) - float(b in low) for row in seen.numbers])


# name -> how to learn a score from runs of both data sets, or None: the ratio, at equal odds
ATTACKS: dict[str, Learner | None] = {
    "likelihood ratio": None,
    "learned direction": _direction,
    "low bits": _low_bits,
    "seen before": _seen_before,
}
