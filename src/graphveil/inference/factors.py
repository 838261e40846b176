"""Categories among the columns of a regression: all levels of a category are tested together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter, shorten
from graphveil.spec.codebook import Codebook
from graphveil.spec.kinds import Category

__all__ = ["Factor", "JointTest", "factors_of", "wald_test", "wald_tests"]


@dataclass(frozen=True)
class Factor:
    """A category, some or all of whose levels are columns.

    Attributes
    ----------
    name : str
    indicators : mapping of levels to str
        The column that is 1 for each level; None for the first level, with which others are compared.
    """

    name: str
    indicators: Mapping[Any, str | None]

    def numbers_in(self, columns: tuple[str, ...]) -> list[int]:
        """Which of some columns are its own."""
        return [k for k, column in enumerate(columns) if column in self.indicators.values()]

    def columns_at(self, level: Any) -> dict[str, float]:
        """The values of all its columns where the category has this level."""
        if level not in self.indicators:
            known = shorten(", ".join(repr(one) for one in self.indicators))
            raise InvalidParameter(f"values must have one of the levels of {self.name}: {known}.")
        return {column: float(column == self.indicators[level]) for column in self.indicators.values() if column}


@dataclass(frozen=True)
class JointTest:
    """Whether a category explains anything, given the other columns: all its levels at once.

    Attributes
    ----------
    name : str
    columns : tuple of str
        The columns that are tested.
    chi2 : float
        Wald's statistic: their coefficients in units of the covariance of their errors, sampling and privacy together.
        NaN where one of them has no interval.
    df : int
        How many there are.
    p_value : float
        Probability that noise and sampling alone would make the statistic at least this large.
    """

    name: str
    columns: tuple[str, ...]
    chi2: float
    df: int
    p_value: float

    def __str__(self) -> str:
        return f"{self.name}: chi2({self.df})" + ("" if np.isnan(self.chi2) else f" = {self.chi2:.2f}")


def factors_of(codebook: Codebook | None) -> Iterator[Factor]:
    """The categories of a codebook."""
    if codebook is None:
        return
    for name, kind in zip(codebook.names, codebook.kinds, strict=True):
        if isinstance(kind, Category):
            levels = [*kind.levels, *["missing"] * kind.missing_is_level]
            yield Factor(name, dict(zip(levels, (None, *kind.column_names(name)), strict=True)))


def wald_tests(
    factors: Iterable[Factor], columns: tuple[str, ...], coef: Vector, covariance: Matrix
) -> Iterator[JointTest]:
    """A test of every category that has several of these columns."""
    for factor in factors:
        own = factor.numbers_in(columns)
        if len(own) > 1:
            statistic, p_value = wald_test(coef[own], covariance[np.ix_(own, own)])
            yield JointTest(factor.name, tuple(columns[k] for k in own), statistic, len(own), p_value)


def wald_test(values: Vector, covariance: Matrix) -> tuple[float, float]:
    """Wald's statistic for the hypothesis that these numbers are zero, and its p-value; NaN if errors are unknown."""
    from scipy.stats import chi2

    if not np.isfinite(covariance).all():
        return np.nan, np.nan
    statistic = float(values @ np.linalg.solve(covariance, values))
    return statistic, float(chi2.sf(statistic, values.size))
