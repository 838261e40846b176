r"""Rows of two groups that do not differ, as their releases describe them: to rehearse a comparison.

What both groups say together is their common distribution. Categories, and numbers that have only two values, are drawn
from the joint shares of their levels, which the means and covariances of indicators are: along the tree of pairs that
tell most about each other (Chow and Liu 1968). So two categories have all their joint shares, and of more, those that
nearly determine each other have. The other numbers are Gaussian given these. Each group keeps its own number of records
and share of missing values.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.gate import release
from graphveil.inference.comparison import Side
from graphveil.inference.synthetic import cells_of, kinds_of
from graphveil.released.merged import MergedRelease
from graphveil.released.release import Release
from graphveil.spec.budget import Budget
from graphveil.spec.gdp import delta_from_mu
from graphveil.spec.kinds import Category, Kind, Number

__all__ = ["NullRows", "require_rehearsable"]

_TWO_VALUES = 0.9  # of the largest variance that a mean allows: a number with more has its two ends alone
_LEAST_SHARE = 1e-4
_FITS = 100  # of a table of joint shares to its margins


def require_rehearsable(given: Release) -> None:
    """Refuse a release whose rows or queries cannot be drawn again from what it says."""
    ranked = any(isinstance(kind, Number) and kind.scale == "rank" for _, kind in kinds_of(given))
    for wrong, what in (
        (isinstance(given, MergedRelease), "merged releases"),
        (given.domain.weight is not None, "survey weights"),
        (given.domain.variation != "total", f'variation="{given.domain.variation}"'),
        (given.norm_is_private, "a private norm"),
        (ranked, "columns of ranks"),
    ):
        if wrong:
            raise InvalidParameter(f'method="bootstrap" does not know {what}: use method="score".')


@dataclass(frozen=True)
class _Discrete:
    """A variable with levels.

    Attributes
    ----------
    place : list of int
        Its columns.
    cells : array
        What a table holds for each level.
    shares : array
        How many records have it.
    ends : pair of floats
        The values of a column in other levels, and in its own.
    """

    place: list[int]
    cells: NDArray[Any]
    shares: Vector
    ends: tuple[float, float] = (0.0, 1.0)

    @property
    def values(self) -> Matrix:
        """The values of its columns, one row for each level."""
        low, high = self.ends
        return np.asarray(low + (high - low) * np.eye(len(self.cells))[:, 1:])


@dataclass(frozen=True, eq=False)
class NullRows:
    """One of the groups.

    Attributes
    ----------
    release : Release
    location : (p,) array
    covariance : (p, p) array
        Of the common distribution.
    discrete : dict of str to _Discrete
        Its variables with levels.
    """

    release: Release
    location: Vector
    covariance: Matrix
    discrete: dict[str, _Discrete]

    @classmethod
    def of(cls, a: Side, b: Side) -> tuple["NullRows", "NullRows"]:
        """Of both groups."""
        found, weight = (a.estimate, b.estimate), np.array([a.estimate.n_eff, b.estimate.n_eff])
        weight /= weight.sum()
        together = sum(w * one.correlation for w, one in zip(weight, found, strict=True))
        mean = sum(w * one.location for w, one in zip(weight, found, strict=True))
        variance = sum(w * np.diag(one.covariance) for w, one in zip(weight, found, strict=True))
        sd = np.sqrt(variance)
        discrete = _find_discrete(a.release, mean, variance)
        first, second = (cls(side.release, mean, together * np.outer(sd, sd), discrete) for side in (a, b))
        return first, second

    def draw(self, generator: np.random.Generator) -> Release:
        """A release of as many drawn records, in the same way."""
        event, domain = self.release.event, self.release.domain
        epsilon = event.mu**2 / 2.0  # where δ is moderate, so that the sampler's lattice has room
        if domain.person is not None:  # a person's rows count as one
            domain = replace(domain, person=None, rows_per_person=1)
        columns, names = self._columns(generator), [name for name, _ in kinds_of(self.release)]
        rows: Any = np.column_stack([columns[name] for name in names])
        if domain.codebook is not None:
            import pyarrow as pa

            rows = pa.table(columns)
        return release(
            rows,
            domain=domain,
            budget=Budget(epsilon, delta_from_mu(event.mu, epsilon)),
            assume_centered=self.release.augment is None,
            adaptive=event.rounds == "adaptive",
            random_state=int(generator.integers(2**31)),
        )

    def _columns(self, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Cells of every variable."""
        n, C, m = self.release.n_samples, self.covariance, self.location
        drawn, rows = self._draw_levels(generator, n), np.zeros((n, len(m)))
        for name, one in self.discrete.items():
            rows[:, one.place] = one.values[drawn[name]]
        both = [k for one in self.discrete.values() for k in one.place]
        rest = [k for k in range(len(m)) if k not in set(both)]
        if rest:
            slopes = np.linalg.solve(C[np.ix_(both, both)], C[np.ix_(both, rest)])
            left = C[np.ix_(rest, rest)] - C[np.ix_(rest, both)] @ slopes
            free = generator.standard_normal((n, len(rest))) @ np.linalg.cholesky((left + left.T) / 2.0).T
            rows[:, rest] = m[rest] + (rows[:, both] - rows[:, both].mean(axis=0)) @ slopes + free
        there = np.diag(self.release.observed) if self.release.domain.gaps else np.ones(len(m))
        columns, spread = {}, np.sqrt(np.diag(C))
        for name, kind, place in _places(self.release):
            if name in self.discrete:
                cells = self.discrete[name].cells[drawn[name]]
            else:
                cells = cells_of(kind, rows[:, place], m[place], spread[place])
            gone = generator.random(n) >= there[place[0]]
            if gone.any():
                cells = cells.astype(object)
                cells[gone] = None
            columns[name] = cells
        return columns

    def _draw_levels(self, generator: np.random.Generator, n: int) -> dict[str, NDArray[np.intp]]:
        """The level of every record, along the tree: next comes the variable that one of those before tells most of."""
        left, drawn = dict(self.discrete), dict[str, NDArray[np.intp]]()
        if left:
            name, one = left.popitem()
            drawn[name] = _draw(generator, np.tile(one.shares, (n, 1)))
        while left:
            joint = {(i, j): _joint_shares(self.discrete[i], left[j], self.covariance) for i in drawn for j in left}
            i, j = max(joint, key=lambda pair: _information(joint[pair]))
            given = joint[i, j] / joint[i, j].sum(axis=1, keepdims=True)
            drawn[j] = _draw(generator, given[drawn[i]])
            del left[j]
        return drawn


def _places(given: Release) -> list[tuple[str, Kind | None, list[int]]]:
    """Every variable and its columns."""
    found, start = [], 0
    for name, kind in kinds_of(given):
        width = 1 if kind is None else len(kind.column_names(name))
        found.append((name, kind, [*range(start, start + width)]))
        start += width
    return found


def _find_discrete(given: Release, mean: Vector, variance: Vector) -> dict[str, _Discrete]:
    """Categories, and numbers at two ends."""
    found = {}
    for name, kind, place in _places(given):
        cells: list[Any] = []
        ends = (0.0, 1.0)
        if isinstance(kind, Category):
            cells = [*kind.levels, *[None] * kind.missing_is_level]
        elif isinstance(kind, Number):
            (ends,) = kind.ends()
            far = (mean[place[0]] - ends[0]) * (ends[1] - mean[place[0]])
            cells = [kind.low, kind.high] if variance[place[0]] > _TWO_VALUES * max(far, 0.0) else []
        if cells:
            own = (mean[place] - ends[0]) / (ends[1] - ends[0])
            shares = np.maximum(np.r_[1.0 - own.sum(), own], _LEAST_SHARE)
            found[name] = _Discrete(place, np.array(cells, dtype=object), shares / shares.sum(), ends)
    return found


def _joint_shares(a: _Discrete, b: _Discrete, covariance: Matrix) -> Matrix:
    """Shares of pairs of levels: those of the covariance without negative ones, fitted to the margins."""
    scale = (a.ends[1] - a.ends[0]) * (b.ends[1] - b.ends[0])
    found = np.outer(a.shares, b.shares)
    inner = covariance[np.ix_(a.place, b.place)] / scale
    found[1:, 1:] += inner
    found[1:, 0] -= inner.sum(axis=1)
    found[0, 1:] -= inner.sum(axis=0)
    found[0, 0] += inner.sum()
    found = np.maximum(found, 1e-3 * np.outer(a.shares, b.shares))
    for _ in range(_FITS):
        found *= (a.shares / found.sum(axis=1))[:, None]
        found *= b.shares / found.sum(axis=0)
    return found


def _information(joint: Matrix) -> float:
    """What two variables tell about each other, in nats."""
    return float(np.sum(joint * np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))))


def _draw(generator: np.random.Generator, shares: Matrix) -> NDArray[np.intp]:
    """A level for every row of shares."""
    ends = np.cumsum(shares, axis=1)
    return np.asarray((generator.random((len(shares), 1)) * ends[:, -1:] > ends).sum(axis=1))
