"""A released covariance before denoising and the distribution of its noise, on which all tests of edges are based.

The released matrix is Y = Σ + B E B' + Z. E is the privacy noise of the last round, a symmetric Gaussian matrix with
standard deviation s on the diagonal and s/√2 off it, transformed back by B from the coordinates in which it was added;
a merged release has such a term for every site. Z is what other rows of the same population would have changed: C^½ H
C^½' with H of the same form and standard deviation √(2v), where v is 1/n for Gaussian rows and more for heavier tails.
Both are known once Σ is estimated, by the denoised C. Single entries may have additional errors, independent of each
other. If values are missing, Z has more variance (:mod:`graphveil.recovery.gap_noise`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphveil._typing import Matrix
from graphveil.recovery.gap_noise import draw_gap_noise, gap_noise_of_entries

__all__ = ["NoisyCovariance"]


@dataclass(frozen=True, eq=False)
class NoisyCovariance:
    """Y and its law.

    Attributes
    ----------
    matrix : (p, p) array
        Y; unbiased but for clipping, maybe indefinite.
    privacy : tuple of pairs ((p, p) array, float)
        B and s, of every site.
    denoised : (p, p) array
        C, positive definite.
    sampling : float
        v.
    single : (p, p) array
        Variances of the errors of single entries; 0 for none.
    gaps : (p,) array or None
        One over the share of records in which a column is there, less one; None where no value is missing.
    """

    matrix: Matrix
    privacy: tuple[tuple[Matrix, float], ...]
    denoised: Matrix
    sampling: float
    single: Matrix | float = 0.0
    gaps: Matrix | None = None

    @cached_property
    def entry_sd(self) -> Matrix:
        """Standard deviation of the noise of each entry."""
        variance = sum(size * (np.outer(gram.diagonal(), gram.diagonal()) + gram**2) for gram, size in self._grams)
        return np.asarray(np.sqrt(variance + self.single + self._gap_noise))

    @property
    def correlation_sd(self) -> Matrix:
        """Standard deviation of the noise of each correlation, to first order."""
        sd = np.sqrt(self.denoised.diagonal())
        scale = 1.0 / np.outer(sd, sd)
        r = self.denoised * scale
        variance = np.broadcast_to(self.single + self._gap_noise, r.shape) * scale**2
        for gram, size in self._grams:
            # r moves with the entry ij by 1/√(C_ii C_jj) and with ii by -r/(2 C_ii); entries ij and kl have covariance
            # size (G_ik G_jl + G_il G_jk).
            K = gram * scale
            own = K.diagonal()
            both, squares = own[:, None] + own, own[:, None] ** 2 + own**2
            variance = variance + size * (
                np.outer(own, own) + K**2 - 2.0 * r * K * both + r**2 * (squares / 2.0 + K**2)
            )
        np.fill_diagonal(variance, 0.0)
        return np.sqrt(np.maximum(variance, 0.0))

    @property
    def _gap_noise(self) -> Matrix | float:
        """Variances that gaps add to entries."""
        return 0.0 if self.gaps is None else self.sampling * gap_noise_of_entries(self.gaps, self.denoised)

    @property
    def privacy_grams(self) -> list[tuple[Matrix, float]]:
        """Pairs (G, size) for privacy: entries ij and kl of its noise have covariance size·(G_ik G_jl + G_il G_jk)."""
        return [(back @ back.T, sd**2 / 2.0) for back, sd in self.privacy]

    @property
    def _grams(self) -> list[tuple[Matrix, float]]:
        """The same for privacy and for sampling."""
        return [*self.privacy_grams, (self.denoised, self.sampling)]

    def select(self, columns: list[int]) -> "NoisyCovariance":
        """The same of some columns, in this order."""
        square = np.ix_(columns, columns)
        return NoisyCovariance(
            self.matrix[square],
            tuple((_square_root(back[columns]), sd) for back, sd in self.privacy),
            self.denoised[square],
            self.sampling,
            np.broadcast_to(self.single, self.matrix.shape)[square],
            None if self.gaps is None else self.gaps[columns],
        )

    def scaled(self, factors: Matrix) -> "NoisyCovariance":
        """The same in other units: every column times its factor."""
        outer = np.outer(factors, factors)
        return NoisyCovariance(
            self.matrix * outer,
            tuple((factors[:, None] * back, sd) for back, sd in self.privacy),
            self.denoised * outer,
            self.sampling,
            self.single * outer**2,
            self.gaps,
        )

    def precision_noise(self, precision: Matrix) -> list[tuple[Matrix, float]]:
        """The noise of Θ(Y - Σ)Θ, to first order that of an inverse of Y.

        Pairs (G, size), for privacy and for sampling: entries ij and kl have covariance
        size·(G_ik G_jl + G_il G_jk).
        """
        through = [(precision @ back, sd) for back, sd in self.privacy]
        privacy = [(moved @ moved.T, sd**2 / 2.0) for moved, sd in through]
        return [*privacy, (precision @ self.denoised @ precision, self.sampling)]

    def draw(self, generator: np.random.Generator) -> Matrix:
        """Noise like that of Y, independent of it."""
        privacy = self.draw_privacy(generator)
        size = np.sqrt(2.0 * self.sampling)
        sampling = self._root @ _gaussian_matrix(generator, len(self.matrix), size) @ self._root.T
        single = np.triu(np.sqrt(self.single) * generator.standard_normal(self.matrix.shape), 1)
        noise = privacy + (sampling + sampling.T) / 2.0 + single + single.T
        if self.gaps is not None:
            gaps = draw_gap_noise(generator, self.gaps, self.denoised, self._root)
            noise = noise + np.sqrt(self.sampling) * gaps
        return np.asarray(noise)

    def draw_privacy(self, generator: np.random.Generator) -> Matrix:
        """Noise like that which privacy has added to Y, independent of it."""
        p = len(self.matrix)
        noise = np.sum([back @ _gaussian_matrix(generator, p, sd) @ back.T for back, sd in self.privacy], axis=0)
        return np.asarray((noise + noise.T) / 2.0)

    @cached_property
    def _root(self) -> Matrix:
        return _cholesky(self.denoised)


def _cholesky(matrix: Matrix) -> Matrix:
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def _square_root(back: Matrix) -> Matrix:
    """The lower triangular L of LL' = BB', also where rounding would leave BB' indefinite."""
    root = np.asarray(np.linalg.qr(back.T, mode="r")).T
    return np.asarray(root * np.where(root.diagonal() < 0.0, -1.0, 1.0))


def _gaussian_matrix(generator: np.random.Generator, p: int, sd: float) -> Matrix:
    """Symmetric Gaussian matrix, ``sd`` on the diagonal and ``sd``/√2 off it."""
    half = generator.standard_normal((p, p)) * (sd / 2.0)
    return np.asarray(half + half.T)
