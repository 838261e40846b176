"""Synthetic rows from a release: for writing code, teaching and forms, not for conclusions.

Rows are Gaussian with the released mean and covariance, mapped back to the cells that the codebook allows: numbers
are clamped to their bounds (and rounded, where they are whole), a logarithm is undone, an ordered scale takes its
nearest level. A category takes the level whose latent indicator is largest, after shifts that give every level its
released share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil._packages import import_package
from graphveil._random import generator_for
from graphveil._typing import Vector
from graphveil.exceptions import InvalidParameter
from graphveil.recovery.estimate import recover_moments
from graphveil.released.grouped import require_release
from graphveil.released.release import Release
from graphveil.simulate.samplers import gaussian_rows
from graphveil.spec.kinds import Category, Kind, Number, Ordinal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WARNING", "SyntheticRows", "cells_of", "kinds_of", "sample"]

WARNING = (
    "Synthetic rows, drawn from a private release. They follow its means and covariances and nothing else: analyse the "
    "release itself, whose intervals account for sampling and privacy noise; those of synthetic rows do not."
)
_BACK: dict[str, Callable[[Vector], Vector]] = {"linear": np.asarray, "log": np.exp, "sqrt": np.square}
_STEPS = 200  # of the shifts of a category's levels; shares are right to a tenth of a percent long before
_LEAST_SHARE = 1e-3  # a noisy share may be negative


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticRows:
    """A table of synthetic rows; made by :func:`graphveil.sample`.

    Attributes
    ----------
    columns : dict of str to array
        Cells of each variable, as the codebook declares them.
    guarantee : str
        The guarantee of the release that they were drawn from, which covers them too.
    """

    columns: dict[str, NDArray[Any]]
    guarantee: str

    @property
    def mark(self) -> str:
        """The name of the column that marks every row as synthetic."""
        name = "synthetic"
        while name in self.columns:
            name += "_"
        return name

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def to_frame(self) -> "pd.DataFrame":
        """A data frame; its first column marks every row as synthetic. Needs pandas."""
        pd = import_package("pandas", "to_frame")

        return pd.DataFrame({self.mark: np.full(self.n_rows, "yes", dtype=object), **self.columns})

    def __repr__(self) -> str:
        return f"<SyntheticRows: {self.n_rows} rows of {len(self.columns)} variables, not of any person>"


def sample(release: Release, n_rows: int, *, random_state: int | None = None) -> SyntheticRows:
    """Draw synthetic rows from a release. Free.

    They are for writing and testing code, for teaching and for forms. Do not draw conclusions from them: they reproduce
    only means, covariances and bounds of the release, and standard errors computed from them ignore the privacy noise.

    Parameters
    ----------
    release : Release
    n_rows : int
    random_state : int, optional
        Default: a seed that belongs to the release, so that the same release always gives the same rows. Nothing
        private depends on it.

    Returns
    -------
    SyntheticRows

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=3), 5000, random_state=0)
    >>> out = gv.release(rows, domain=gv.Domain(bounds=(-6, 6)), budget=gv.Budget(1.0, 1e-6), random_state=0)
    >>> sample(out, 100)
    <SyntheticRows: 100 rows of 3 variables, not of any person>
    """
    require_release("release", release)
    n_rows = _validation.integer("n_rows", n_rows, 1)
    if release.domain.variation == "within":
        raise InvalidParameter(
            'a release with variation="within" describes deviations, not rows that people could have.'
        )
    found = recover_moments(release)
    seed: Any = generator_for(release.stream, "synthetic") if random_state is None else random_state
    rows = found.location + gaussian_rows(found.precision, n_rows, random_state=seed)
    spread = np.sqrt(found.covariance.diagonal())
    columns, start = {}, 0
    for name, kind in kinds_of(release):
        part = slice(start, start + (1 if kind is None else len(kind.column_names(name))))
        columns[name] = cells_of(kind, rows[:, part], found.location[part], spread[part])
        start = part.stop
    return SyntheticRows(columns, release.guarantee)


def kinds_of(release: Release) -> Sequence[tuple[str, Kind | None]]:
    """The variables of a release; numbers between their bounds, where there is no codebook, or without any."""
    domain = release.domain
    if domain.codebook is not None:
        return list(zip(domain.codebook.names, domain.codebook.kinds, strict=True))
    names = release.column_names
    if domain.bounds is None:
        return [(name, None) for name in names]
    lows, highs = (np.broadcast_to(end, len(names)) for end in domain.bounds)
    return [(name, Number(float(a), float(b))) for name, a, b in zip(names, lows, highs, strict=True)]


def cells_of(kind: Kind | None, rows: NDArray[np.float64], location: Vector, spread: Vector) -> NDArray[Any]:
    """The cells of one variable."""
    if isinstance(kind, Category):
        return _levels_of(kind, rows, location, spread)
    values = rows[:, 0]
    if isinstance(kind, Ordinal):
        nearest = np.abs(values[:, None] - np.array(kind.scores)).argmin(axis=1)
        return np.asarray(np.array(kind.levels, dtype=object)[nearest])
    if isinstance(kind, Number):
        (ends,) = kind.ends()
        values = np.clip(_back(kind, np.clip(values, *ends)), kind.low, kind.high)
        if kind.integer:
            return np.asarray(np.clip(np.rint(values), np.ceil(kind.low), np.floor(kind.high)).astype(np.int64))
    return np.asarray(values)


def _back(kind: Number, values: Vector) -> Vector:
    """From the scale of a release to the column's own."""
    if kind.normal_scores is None:
        return _BACK[kind.scale](values)
    corners, scores = zip(*kind.normal_scores, strict=True)
    counted = np.interp(values, scores, corners)
    return _BACK["log" if kind.counts_logarithms else "linear"](counted)


def _levels_of(kind: Category, rows: NDArray[np.float64], location: Vector, spread: Vector) -> NDArray[Any]:
    """The level with the largest score, shifted until every level has its share."""
    shares = np.maximum(np.r_[1.0 - location.sum(), location], _LEAST_SHARE)
    shares /= shares.sum()
    first = -(rows - location).sum(axis=1, keepdims=True)
    scores = np.c_[first / max(first.std(), 1e-12), (rows - location) / spread]
    shifts = np.zeros(len(shares))
    for _ in range(_STEPS):
        found = np.bincount((scores + shifts).argmax(axis=1), minlength=len(shares)) / len(rows)
        shifts += 0.3 * np.log(shares / np.maximum(found, 0.3 / len(rows)))
    levels = [*kind.levels, *[None] * kind.missing_is_level]
    return np.asarray(np.array(levels, dtype=object)[(scores + shifts).argmax(axis=1)])
