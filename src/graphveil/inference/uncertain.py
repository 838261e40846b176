"""A number with its standard error in two parts: sampling and privacy."""

from dataclasses import dataclass

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.recovery.interval_width import half_width

__all__ = ["Spread", "Uncertain", "known"]


@dataclass(frozen=True, eq=False)
class Spread:
    """A covariance matrix in two parts.

    Attributes
    ----------
    sampling : (k, k) array
        From the records being a sample.
    privacy : (k, k) array
        From noise, and from what clipping may have taken.
    """

    sampling: Matrix
    privacy: Matrix

    @property
    def total(self) -> Matrix:
        """Both together: they are independent."""
        return self.sampling + self.privacy

    def through(self, jacobian: Matrix) -> "Spread":
        """Of a linear function of what this is the covariance of."""
        return Spread(jacobian @ self.sampling @ jacobian.T, jacobian @ self.privacy @ jacobian.T)

    def beside(self, other: "Spread") -> "Spread":
        """Of both, where their errors are independent."""
        from scipy.linalg import block_diag

        return Spread(block_diag(self.sampling, other.sampling), block_diag(self.privacy, other.privacy))

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(self.sampling + other.sampling, self.privacy + other.privacy)


@dataclass(frozen=True, eq=False)
class Uncertain:
    """Numbers with their standard errors.

    Attributes
    ----------
    value : (k,) array
    sampling, privacy : (k,) arrays
        Standard errors from sampling and from privacy; NaN where there is a reason to give none.
    level : float
        Level of the intervals, for each number separately.
    """

    value: Vector
    sampling: Vector
    privacy: Vector
    level: float

    @classmethod
    def of(cls, value: Vector, spread: Spread, level: float) -> "Uncertain":
        """Numbers and the covariance of their errors."""
        return cls(value, np.sqrt(np.diag(spread.sampling)), np.sqrt(np.diag(spread.privacy)), level)

    @classmethod
    def of_linear(cls, rows: Matrix, value: Vector, spread: Spread, level: float) -> "Uncertain":
        """Linear functions of numbers with errors, one for each row."""
        variances = [np.maximum(np.sum(rows @ part * rows, axis=1), 0.0) for part in (spread.sampling, spread.privacy)]
        return cls(rows @ value, np.sqrt(variances[0]), np.sqrt(variances[1]), level)

    def __getitem__(self, chosen: slice) -> "Uncertain":
        return Uncertain(self.value[chosen], self.sampling[chosen], self.privacy[chosen], self.level)

    @property
    def std_err(self) -> Vector:
        """Standard errors: both parts together."""
        return np.asarray(np.hypot(self.sampling, self.privacy))

    @property
    def z(self) -> Vector:
        """Values in standard errors."""
        return np.asarray(self.value / self.std_err)

    @property
    def p_value(self) -> Vector:
        """Probability that errors alone would make a value at least this large, in either direction."""
        from scipy.stats import norm

        return np.asarray(2.0 * norm.sf(np.abs(self.z)))

    @property
    def lower(self) -> Vector:
        """Lower ends of the intervals."""
        return np.asarray(self.value - self._half)

    @property
    def upper(self) -> Vector:
        """Upper ends of the intervals."""
        return np.asarray(self.value + self._half)

    @property
    def _half(self) -> Vector:
        return np.asarray(half_width(self.level) * self.std_err)


def known(number: float) -> float | None:
    """A number as JSON can say it: None for one that is not known."""
    return None if np.isnan(number) else float(number)
