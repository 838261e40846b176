"""Normal scores of ranks, from a distribution function estimated within the budget.

Counts of cells show how the records of a column are distributed. Their noisy shares
make a monotone curve from values to normal scores, Φ⁻¹ of the distribution function, which is public from then on: rows
are encoded through it like through a logarithm (``privacy/proofs/ranks.md``, theorem 19).

The curve need not be exact. The release describes the columns that the curve produces; and a distribution function that
is off by a few percent changes scores too little to affect correlations visibly.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Vector
from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.stage import NoisyAnswer, PlannedStep, QueryBatch, Stage
from graphveil.spec.domain import Domain
from graphveil.spec.kinds import Kind, Number, Ordinal
from graphveil.spec.quantization import CELL_LEVELS, CELLS, RowGrid
from graphveil.spec.queries import CellCounts, Moments, Query

__all__ = ["Ranks", "with_normal_scores"]

# A cell is divided while it holds more than this share of the records, and more than these standard deviations of its
# noise: with finer steps the curve follows the noise.
_STEP, _SEEN = 1.0 / 64.0, 4.0


@dataclass(frozen=True)
class Ranks(Stage):
    """Counts of cells of the columns that are released as normal scores of their ranks."""

    columns: tuple[int, ...]
    share = PROTOCOL.ranks_share
    asked = (CellCounts,)

    @classmethod
    def for_domain(cls, domain: Domain) -> Self | None:
        """Asked of the columns whose scores are still to be found."""
        return cls(domain.codebook.unscored) if domain.codebook is not None and domain.codebook.unscored else None

    @classmethod
    def recorded(cls, domain: Domain, queries: Sequence[Query]) -> Self | None:
        """Asked where cells were counted before any moments; later they locate columns."""
        before = takewhile(lambda query: not isinstance(query, Moments), queries)
        counts = next((query for query in before if isinstance(query, CellCounts)), None)
        return None if counts is None else cls(tuple(counts.columns.astype(int).tolist()))

    def planned(self) -> list[PlannedStep]:
        """All cells of the columns."""
        return [PlannedStep(len(self.columns) * CELLS, self.share)]

    def ask(self, domain: Domain) -> Generator[QueryBatch, list[Any], Domain]:
        """Ask for the cells; the domain gets the scores that they show."""
        (answer,) = yield [(CellCounts(np.array(self.columns, dtype=np.float64)), self.share)]
        return with_normal_scores(domain, answer)


def with_normal_scores(domain: Domain, answer: NoisyAnswer) -> Domain:
    """The domain whose ranked columns have become normal scores; others stay."""
    codebook = domain.codebook
    assert codebook is not None
    if not codebook.unscored:
        return domain
    counted = iter(answer.values["cells"].reshape(len(codebook.unscored), -1))
    sd, steps = answer.sd("cells"), RowGrid.of(domain, None).levels
    kinds = tuple(_score_kind(kind, counted, sd, steps) for kind in codebook.kinds)
    found = replace(codebook, kinds=kinds)
    return replace(domain, codebook=found, columns=None, bounds=None)


def _score_kind(kind: Kind, counted: Iterator[Vector], sd: float, steps: int) -> Kind:
    if isinstance(kind, Number) and kind.wants_scores:
        low, high = kind.counted_ends
        edges, scores = _curve(_by_level(next(counted)), sd)
        values = low + (high - low) * edges
        values[-1] = high
        return replace(kind, normal_scores=tuple(zip(values.tolist(), scores.tolist(), strict=True)))
    if isinstance(kind, Ordinal) and kind.wants_scores:
        scores = _level_scores(_by_level(next(counted)), sd, _cells_of_levels(len(kind.levels), steps))
        return replace(kind, normal_scores=tuple(scores.tolist()))
    return kind


def _by_level(cells: Vector) -> list[Vector]:
    """Counts of 2³, 2⁴, …, 2¹² cells."""
    ends = np.cumsum([2**level for level in CELL_LEVELS])[:-1]
    return np.split(cells, ends)[::-1]


def _cells_of_levels(n_levels: int, steps: int) -> NDArray[np.int64]:
    """In which of the finest cells the levels of an ordered scale lie, spread evenly over the lattice."""
    middle = (n_levels - 1) / 2.0
    places = np.rint((np.arange(n_levels) - middle) * (1.0 / middle) * steps).astype(np.int64)
    return np.asarray(((places + steps) << CELL_LEVELS[0]) // (2 * steps + 1))


def _level_scores(counts: list[Vector], sd: float, cells: NDArray[np.int64]) -> Vector:
    """Mean normal scores of the levels of an ordered scale; every count of a cell that holds one level tells of it."""
    seen = []
    for level, counted in zip(reversed(CELL_LEVELS), counts, strict=True):
        own = cells >> (CELL_LEVELS[0] - level)
        if (np.diff(own) > 0).all():
            seen.append(counted[own])
    return _mean_scores(np.maximum(np.mean(seen, axis=0), sd / np.sqrt(len(seen))))


def _mean_scores(counts: Vector) -> Vector:
    """Mean of the part of a standard normal variable that each share of it holds."""
    shares = counts / counts.sum()
    density = _density(np.cumsum(shares)[:-1])
    return np.asarray(-np.diff(density) / np.where(shares > 0.0, shares, 1.0))


def _density(probability: Vector) -> Vector:
    """Of a standard normal variable at its quantiles, with the ends, where it is zero."""
    from scipy.special import ndtri  # slow to import, and rarely needed

    return np.concatenate([[0.0], np.exp(-(ndtri(probability) ** 2) / 2.0) / np.sqrt(2.0 * np.pi), [0.0]])


def _curve(counts: list[Vector], sd: float) -> tuple[Vector, Vector]:
    """Corners of a rising curve from [0, 1] to normal scores: at the edges of cells that hold a small share each."""
    counts, sd = _reconcile(counts), sd / np.sqrt(2.0)
    coarse = np.where(counts[0] > 2.0 * sd, counts[0], 0.0)  # most cells of wide bounds are empty
    if not coarse.any():
        coarse = np.ones(coarse.size)
    least = max(_STEP * coarse.sum(), _SEEN * sd)
    widths, held = list[float](), list[float]()
    for place, mass in enumerate(coarse):
        for level, part in _divide(counts, 0, place, float(mass), least):
            widths.append(1.0 / counts[level].size)
            held.append(part)
    return _corners(np.cumsum([0.0, *widths]), np.array(held))


def _reconcile(counts: list[Vector]) -> list[Vector]:
    """Counts by least squares, given that a cell holds what its halves hold; their variance is about half as large."""
    upward = [counts[-1]]
    for depth, cells in enumerate(reversed(counts[:-1]), start=2):
        own = 2.0 ** (depth - 1) / (2.0**depth - 1.0)  # weight of a count against the sum of its halves
        upward.append(own * cells + (1.0 - own) * upward[-1].reshape(-1, 2).sum(axis=1))
    found = [upward[-1]]
    for cells in reversed(upward[:-1]):
        halves = cells.reshape(-1, 2)
        found.append((halves + (found[-1] - halves.sum(axis=1))[:, None] / 2.0).ravel())
    return found


def _divide(counts: list[Vector], level: int, place: int, mass: float, least: float) -> Iterator[tuple[int, float]]:
    """The parts of a cell that are not divided further, each with the level that it is a cell of and what it holds."""
    if level == len(counts) - 1 or mass <= least:
        yield level, mass
        return
    left, right = counts[level + 1][2 * place : 2 * place + 2]
    first = min(max((mass + left - right) / 2.0, 0.0), mass)
    yield from _divide(counts, level + 1, 2 * place, first, least)
    yield from _divide(counts, level + 1, 2 * place + 1, mass - first, least)


def _corners(edges: Vector, held: Vector) -> tuple[Vector, Vector]:
    """Scores at the edges: quantiles inside, and at both ends what makes the mean of the last part its mean score."""
    from scipy.special import ndtri

    below = np.cumsum(held / held.sum())
    first, last = (int(place) for place in np.flatnonzero(held)[[0, -1]])
    scores = np.zeros(edges.size)
    if first == last:  # everything in one cell: nothing is known but its ends
        return edges[[0, -1]], np.array([-1.0, 1.0])
    scores[first + 1 : last + 1] = ndtri(below[first:last])
    ends = _mean_scores(np.array([held[first], held[first + 1 : last].sum(), held[last]]))
    scores[: first + 1] = 2.0 * ends[0] - scores[first + 1]
    scores[last + 1 :] = 2.0 * ends[-1] - scores[last]
    kept = _is_needed(scores)
    return edges[kept], scores[kept]


def _is_needed(scores: Vector) -> NDArray[np.bool_]:
    """Corners that are not inside of a level part of the curve."""
    level = np.diff(scores) == 0.0
    return ~np.concatenate([[False], level[:-1] & level[1:], [False]])
