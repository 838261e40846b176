"""Worst-case neighbours: two data sets that differ in one person and move what is released as far as the proofs allow.

Each pair is where the inequality of a proof is an equality, or nearly. Values lie far outside of the bounds wherever
the proof does not need them inside, so that clipping that is skipped on any path is detected.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import InvalidParameter
from graphveil.gate import release
from graphveil.released.release import Release
from graphveil.rows.streaming import StreamedMoments
from graphveil.spec.augmentation import Augment, Constant, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.weight import Weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PAIRS", "KnownRows", "Pair", "pair_named"]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """A data set that the attacker knows in full."""

    rows: "NDArray[np.float64]"
    codes: "NDArray[np.intp] | None" = None
    people: "NDArray[np.int64] | None" = None
    weights: "NDArray[np.float64] | None" = None


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring data sets and how they are released.

    Attributes
    ----------
    without, within : KnownRows
        The data set with somebody else's record, and with the record that the attacker looks for.
    domain, augment : Domain, Augment
    options : dict
        More arguments of :func:`graphveil.release`.
    source_factory : callable
        Makes a source of a data set: the same rows as an array, a frame, batches or collected sums.
    """

    without: KnownRows
    within: KnownRows
    domain: Domain
    augment: Augment = None
    options: dict[str, Any] = field(default_factory=dict)
    source_factory: Callable[["Pair", KnownRows], Any] = lambda pair, known: pair.rows_of(known)

    def rows_of(self, known: KnownRows) -> Any:
        """The same records in memory, for the attacker."""
        return known.rows if known.codes is None else (known.rows, known.codes)

    def release(self, known: KnownRows, budget: Budget) -> Release:
        """One release through the public interface, with noise from the operating system."""
        source = self.source_factory(self, known)
        labels = self.augment if isinstance(self.augment, Labels) else None
        options = {"adaptive": False, "assume_centered": self.augment is None, "labels": labels} | self.options
        options |= {"person": known.people, "weight": known.weights}
        return release(source, domain=self.domain, budget=budget, **options)


def pair_named(name: Any) -> Pair:
    """Find a pair."""
    if not isinstance(name, str) or name not in PAIRS:
        raise InvalidParameter.of("pair", "one of " + ", ".join(map(repr, PAIRS)), name)
    return PAIRS[name]


def _as_frame(pair: Pair, known: KnownRows) -> Any:
    import pyarrow as pa

    return pa.table(dict(zip("xy", known.rows.T, strict=True)))


def _as_batches(pair: Pair, known: KnownRows) -> Any:
    return [known.rows[:1], known.rows[1:]]


def _as_collection(pair: Pair, known: KnownRows) -> Any:
    collection = StreamedMoments(pair.domain, pair.augment)
    for batch in _as_batches(pair, known):
        collection.add(batch)
    return collection


def _stack(row: list[float], others: "NDArray[np.float64] | None" = None) -> KnownRows:
    """A row, and others that are in both data sets."""
    return KnownRows(np.vstack([[row], np.zeros((1, len(row))) if others is None else others]))


def _spread(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Rows of these lengths in all directions, for rounds that whiten, count norms and shorten."""
    angle = math.sqrt(5.0) * math.pi * np.arange(lengths.size)
    return np.asarray(lengths[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def _person(row: list[float], m: int, others: int = 1, *, present: bool = True) -> KnownRows:
    """A person with m identical rows and others with one row of zeros each; or the others alone."""
    rows = np.vstack([np.tile(row, (m if present else 0, 1)), np.zeros((others, len(row)))])
    return KnownRows(rows, people=np.append(np.zeros(m if present else 0, np.int64), np.arange(1, others + 1)))


def _without_first(known: KnownRows) -> KnownRows:
    return KnownRows(known.rows[1:])


_BOX, _BALL = Domain(bounds=(-1.0, 1.0)), Domain(data_norm=1.0)
_CORNER, _OTHER_CORNER, _NOTHING = _stack([3.0, 3.0]), _stack([3.0, -3.0]), [0.0, 0.0]
_NAN, _HUGE = math.nan, 1e300
_ONES, _ZEROS = np.ones((2047, 2)), np.zeros((2047, 2))
_RING = _spread(np.full(1023, 0.3))  # none but the row in question is shortened
_TAILED = _spread(0.1 / np.sqrt(np.linspace(1e-3, 1.0, 1023)))  # many are, and the excess is asked for
_ADAPTIVE = {"adaptive": True}
_ADDED, _ADDED_BALL = (replace(domain, neighbours="add-remove") for domain in (_BOX, _BALL))

PAIRS = {
    # Theorem 1 is an equality for orthogonal rows of full length; theorem 2 also where a row vanishes.
    "orthogonal": Pair(_CORNER, _OTHER_CORNER, _BOX),
    "vanishing": Pair(_CORNER, _stack(_NOTHING), _BOX),
    "missing": Pair(_CORNER, _stack([_NAN, _NAN]), _BOX),
    "one column": Pair(_stack([0.0]), _stack([3.0]), _BOX),  # sums are powers of two: the place to look at low bits
    "long rows": Pair(_stack([5.0, 0.0]), _stack([0.0, 5.0]), _BALL),
    "huge rows": Pair(_stack([_HUGE, _HUGE]), _stack([-_HUGE, _HUGE]), _BALL),
    "two rows a person": Pair(
        KnownRows(np.full((2, 2), 3.0)),
        KnownRows(np.array([[3.0, -3.0]] * 2)),
        Domain(bounds=(-1.0, 1.0), rows_per_person=2),
    ),
    # Theorem 13: somebody with five rows moves moments as far as one row does; nobody else moves with them.
    "people": Pair(_person([3.0, 3.0], 5), _person([3.0, -3.0], 2), _BOX),
    "adaptive people": Pair(_person([3.0, 3.0], 5, 400), _person(_NOTHING, 3, 400), _BOX, Constant(), _ADAPTIVE),
    # Theorem 18: somebody whose rows weigh nothing, or more than is allowed; the total moves too.
    "weights": Pair(
        replace(_person([3.0, 3.0], 3), weights=np.array([0.0, 0.0, 0.0, 1.0])),
        replace(_person([3.0, 3.0], 2), weights=np.array([_HUGE, _HUGE, 1.0])),
        replace(_BOX, weight=Weight("w", 2.0)),
    ),
    # Theorem 14: a row of full length that is there or not; the count moves too.
    "added": Pair(_without_first(_CORNER), _CORNER, _ADDED),
    "added mean": Pair(_without_first(_stack([5.0, 0.0])), _stack([5.0, 0.0]), _ADDED_BALL, Constant()),
    "added people": Pair(_person(_NOTHING, 5, present=False), _person([3.0, 3.0], 5), _ADDED),
    "adaptive added": Pair(
        _without_first(_stack([3.0, 3.0], _RING)), _stack([3.0, 3.0], _RING), _ADDED, Constant(), _ADAPTIVE
    ),
    # Theorem 8: (k, c) and (l, c) are orthogonal when k·l = -c², here -1/2.
    "mean": Pair(_stack([5.0, 0.0]), _stack([-2.5, 2.5 * math.sqrt(3.0)]), _BALL, Constant()),
    "labels": Pair(
        KnownRows(_CORNER.rows, np.array([0, 0])),
        KnownRows(_OTHER_CORNER.rows, np.array([1, 0])),
        _BOX,
        Labels((0, 1)),
    ),
    "frame": Pair(_CORNER, _OTHER_CORNER, _BOX, source_factory=_as_frame),
    "batches": Pair(_CORNER, _OTHER_CORNER, _BOX, source_factory=_as_batches),
    "collected": Pair(_CORNER, _OTHER_CORNER, _BOX, source_factory=_as_collection),
    "paper": Pair(_stack([5.0, 0.0]), _stack([0.0, 5.0]), _BALL, options={"mechanism": "paper"}),
    # Theorem 9: a count moves in two bins of either histogram, and then the row vanishes from the moments.
    "private norm": Pair(_stack([1e6, 0.0], _ONES), _stack(_NOTHING, _ONES), Domain(data_norm="private")),
    # Theorems 6 and 10: squares, norms, whitened moments and excess; with means; with cells; from a norm alone. A row
    # that vanishes moves each of these as far as it can be moved, in all rounds of one transcript.
    "adaptive": Pair(_stack([3.0, 3.0], _RING), _stack(_NOTHING, _RING), _BOX, options=_ADAPTIVE),
    "adaptive mean": Pair(_stack([3.0, 3.0], _RING), _stack(_NOTHING, _RING), _BOX, Constant(), _ADAPTIVE),
    "adaptive cells": Pair(_stack([3.0, 3.0], _ZEROS), _stack(_NOTHING, _ZEROS), _BOX, Constant(), _ADAPTIVE),
    "adaptive long rows": Pair(_stack([5.0, 0.0], _TAILED), _stack(_NOTHING, _TAILED), _BALL, options=_ADAPTIVE),
}
