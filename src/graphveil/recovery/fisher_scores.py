"""Fisher's z of partial correlations, and the distribution of its errors to first order.

With T the corrected precision, r_ij = -T_ij/√(T_ii T_jj), and an error of T moves r_ij by

    -dU_ij - r_ij (dU_ii + dU_jj)/2,    U = D^-½ T D^-½,    D = diag(T).

Errors with cov(T_ij, T_kl) = size (G_ik G_jl + G_il G_jk) give those of U the same form with K = D^-½ G D^-½, and
Fisher's z, the inverse hyperbolic tangent of r, moves by 1/(1 - r²) times as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphveil._typing import Matrix
from graphveil.recovery.associations import PrecisionNoise

__all__ = ["LARGEST", "FisherScores"]

LARGEST = 0.999  # a partial correlation beyond this counts as ±1


@dataclass(frozen=True, eq=False)
class FisherScores:
    """Of a corrected precision matrix.

    Attributes
    ----------
    corrected : (p, p) array
        T.
    noise : PrecisionNoise
        The law of its errors.
    """

    corrected: Matrix
    noise: PrecisionNoise

    @cached_property
    def z(self) -> Matrix:
        """Fisher's z; 0 on the diagonal."""
        return np.asarray(np.arctanh(self._correlations))

    @cached_property
    def sd(self) -> Matrix:
        """Its standard deviation."""
        r = self._correlations
        square, variance = r**2, np.zeros_like(r)
        for gram, size in self.noise.grams:
            # The covariance of an entry and itself: nine terms, which are these four.
            K = gram * self._scale
            own = K.diagonal()
            both = own[:, None] + own
            alone, joint = np.outer(own, own) * (1.0 - square), K**2 * (1.0 + square)
            variance += size * (alone + joint + 2.0 * r * K * both + square * both**2 / 2.0)
        for more in self.noise.single:  # independent errors of single entries, to first order in T_ij alone
            variance += more * self._scale**2
        return np.asarray(np.sqrt((variance + variance.T) / 2.0) / (1.0 - square))

    def block_covariance(self, a: Sequence[int], b: Sequence[int]) -> Matrix:
        """Covariance of Fisher's z of all pairs of a column of ``a`` and one of ``b``, row by row."""
        square = np.ix_(a, b)
        r, count = self._correlations[square], len(a) * len(b)
        found = np.diag(np.sum([more[square] * self._scale[square] ** 2 for more in self.noise.single], axis=0).ravel())
        for gram, size in self.noise.grams:
            K = gram * self._scale
            A, B, C = K[np.ix_(a, a)], K[np.ix_(b, b)], K[square]
            entries = np.einsum("ik,jl->ijkl", A, B) + np.einsum("il,kj->ijkl", C, C)
            # Entry ij with T_kk and T_ll, and with T_ii and T_jj the entry kl; then these among themselves.
            crossed = np.einsum("kl,ik,kj->ijkl", r, A, C, optimize=True) + np.einsum("kl,il,jl->ijkl", r, C, B)
            own = (A**2)[:, None, :, None] + (B**2)[None, :, None, :]
            own = own + (C**2)[:, None, None, :] + (C.T**2)[None, :, :, None]
            four = entries + crossed + crossed.transpose(2, 3, 0, 1) + np.einsum("ij,kl->ijkl", r, r) * own / 2.0
            found += size * four.reshape(count, count)
        slope = 1.0 / (1.0 - r.ravel() ** 2)
        return np.asarray(found * np.outer(slope, slope))

    @cached_property
    def _correlations(self) -> Matrix:
        r = np.clip(-self.corrected * self._scale, -LARGEST, LARGEST)
        np.fill_diagonal(r, 0.0)
        return r

    @cached_property
    def _scale(self) -> Matrix:
        diagonal = np.maximum(self.corrected.diagonal(), 0.1 * self.noise.precision.diagonal())
        return np.asarray(1.0 / np.sqrt(np.outer(diagonal, diagonal)))
