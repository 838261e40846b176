r"""Differences of the partial correlations of two groups, by one step from a start that both groups share.

Let K be the correlation matrix that both groups together suggest, weighted by their effective records, and Θ its
inverse. With Y the noisy covariance of a group, divided by its standard deviations, one Newton step has the error
-Θ(Y - K)Θ. So with θ the diagonal of Θ and E = Θ(Y - K)Θ divided by √(θ_i θ_j), a partial correlation is

    r_ij + E_ij + r_ij (E_ii + E_jj)/2,    r_ij = -Θ_ij/√(θ_i θ_j).

This is linear in Y: noise is not inverted, and the law of a difference is that of the noise. With steps from a start of
its own, each group has an error of second order, which in categories that nearly determine each other is many times the
standard deviation. From one start these errors are alike and cancel. K may be estimated, because what both groups say
together is independent of what they differ by. Standard deviations of columns cancel, too.

Errors that clipping makes are biases, not noise, and groups that are clipped alike have the same: what is left is their
difference. A column whose covariances were all given back too much is like one with too small a variance. So if u_m and
v_m are the standard deviations of that factor in both groups, differences of partial correlations have another error,
2(u_m - v_m) times what a variance of column m moves them by, which is E = Θ_·m Θ_m·.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.inference.differences import add_covariances, addition
from graphveil.recovery.associations import PrecisionNoise
from graphveil.recovery.estimate import Estimate
from graphveil.recovery.fisher_scores import FisherScores
from graphveil.recovery.noise_model import NoisyCovariance

__all__ = ["SharedStart"]


@dataclass(frozen=True, eq=False)
class SharedStart:
    """Two groups, and what they say together.

    Attributes
    ----------
    precision : (p, p) array
        Θ.
    groups : pair of NoisyCovariance
        Of columns divided by their standard deviations, with the errors that both groups do not share.
    clipped_apart : (p,) array
        u - v.
    overlap : bool
        Whether people may be in both groups.
    """

    precision: Matrix
    groups: tuple[NoisyCovariance, NoisyCovariance]
    clipped_apart: Vector
    overlap: bool

    @classmethod
    def of(cls, a: Estimate, b: Estimate, *, overlap: bool) -> "SharedStart":
        """What two groups say together."""
        groups = _standardise(a), _standardise(b)
        together = (a.n_eff * groups[0].denoised + b.n_eff * groups[1].denoised) / (a.n_eff + b.n_eff)
        return cls(
            np.asarray(np.linalg.inv(together), dtype=np.float64), groups, a.given_back_sd - b.given_back_sd, overlap
        )

    @cached_property
    def correlations(self) -> tuple[Matrix, Matrix]:
        """Partial correlations of both groups."""
        first, second = (self._step(group.matrix) for group in self.groups)
        return first, second

    @cached_property
    def sd(self) -> Matrix:
        """Standard deviations of their differences."""
        first, second = (scores.sd for scores in self._laws)
        apart = [2.0 * u * self._slopes(m) for m, u in enumerate(self.clipped_apart) if u]
        own = addition(self.overlap)(first, second) / self._fisher_slope
        return np.asarray(np.sqrt(own**2 + sum(moved**2 for moved in apart)))

    def covariance(self, a: Sequence[int], b: Sequence[int]) -> Matrix:
        """Covariance of the differences of all pairs of a column of ``a`` and one of ``b``, row by row."""
        slope = self._fisher_slope[np.ix_(a, b)].ravel()
        first, second = (scores.block_covariance(a, b) / np.outer(slope, slope) for scores in self._laws)
        apart = [2.0 * u * self._slopes(m)[np.ix_(a, b)].ravel() for m, u in enumerate(self.clipped_apart) if u]
        return add_covariances(first, second, overlap=self.overlap) + sum(np.outer(moved, moved) for moved in apart)

    @cached_property
    def _laws(self) -> tuple[FisherScores, FisherScores]:
        first, second = (FisherScores(self.precision, PrecisionNoise(self.precision, group)) for group in self.groups)
        return first, second

    @property
    def _fisher_slope(self) -> Matrix:
        """By how much more Fisher's z moves than a partial correlation."""
        return np.asarray(1.0 / (1.0 - np.tanh(self._laws[0].z) ** 2))

    @property
    def _start(self) -> Matrix:
        """r, with -1 on the diagonal."""
        scale = np.sqrt(self.precision.diagonal())
        return np.asarray(-self.precision / np.outer(scale, scale))

    def _step(self, matrix: Matrix) -> Matrix:
        moved = self.precision @ matrix @ self.precision - self.precision
        return self._start + self._move(moved)

    def _slopes(self, column: int) -> Matrix:
        """What a variance of this column moves partial correlations by."""
        return self._move(np.outer(self.precision[column], self.precision[column]))

    def _move(self, moved: Matrix) -> Matrix:
        """What partial correlations move by along a ΘΔΘ."""
        scale = np.sqrt(self.precision.diagonal())
        E = moved / np.outer(scale, scale)
        own = E.diagonal()
        return np.asarray(E + self._start * (own[:, None] + own) / 2.0)


def _standardise(found: Estimate) -> NoisyCovariance:
    """The covariance of columns divided by their standard deviations."""
    return found.comparable.scaled(1.0 / np.sqrt(found.comparable.denoised.diagonal()))
