r"""The association of two variables with several columns each, such as categories: one strength, one test.

Let A and B be the columns of two variables, and Θ the precision matrix. Given all other variables they are unrelated if
and only if the block Θ_AB is zero. Its estimate T_AB is tested as a whole, by Wald's statistic

    t'V⁻¹t,    t = vec(T_AB),    V_{ij,kl} = Σ size (G_ik G_jl + G_il G_jk),

with the covariance of its entries under the noise model of the release (:mod:`graphveil.recovery.noise_model`). The
singular values of Θ_AA^-½ Θ_AB Θ_BB^-½ are the partial canonical correlations of A and B. The strength of the
association is

    √(Q/m),    Q = tr(Θ_AA⁻¹ Θ_AB Θ_BB⁻¹ Θ_BA),    m = min(|A|, |B|),

the root of the mean of their squares. It lies between 0 and 1, does not depend on the reference level, and is familiar
to users in each case: the absolute partial correlation of two columns, √(partial R²) of a number and a category, and
the partial form of Cramér's V of two categories. Noise adds tr(VK), K = Θ_AA⁻¹ ⊗ Θ_BB⁻¹, to an estimate of Q on
average, which is subtracted. An interval takes Q for a multiple of a noncentral χ² with the mean and the variance that
it has to first order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from graphveil._linalg import is_positive_definite
from graphveil._typing import Matrix, Vector
from graphveil.metrics import partial_correlations
from graphveil.recovery.gap_noise import gap_noise_of_precision
from graphveil.recovery.noise_model import NoisyCovariance

__all__ = [
    "Places",
    "PrecisionNoise",
    "association_strengths",
    "blocks_of",
    "mean_square_correlation",
    "strength_intervals",
    "wald_scores",
]

Places = tuple[Sequence[int], ...]  # the columns of each variable

_LARGE = 1000  # entries of a block beyond which the covariance of them all would take longer than everything else
_SMALLEST_P = 1e-300  # the smallest p-value with a finite normal score
_HALVINGS = 60  # of an interval that holds the end of another


@dataclass(frozen=True, eq=False)
class PrecisionNoise:
    """The law of ΘΔΘ for the error Δ of a released covariance: to first order, that of the corrected estimate.

    Attributes
    ----------
    precision : (p, p) array
    noisy : NoisyCovariance
    """

    precision: Matrix
    noisy: NoisyCovariance

    @cached_property
    def grams(self) -> list[tuple[Matrix, float]]:
        """Pairs (G, size), for privacy and sampling: entries ij and kl have covariance size·(G_ik G_jl + G_il G_jk)."""
        return self.noisy.precision_noise(self.precision)

    @cached_property
    def single(self) -> list[Matrix]:
        """Further variances of single entries, which are taken to be independent: of gaps, and of clipping."""
        square, found = self.precision**2, []
        if self.noisy.gaps is not None:
            more = gap_noise_of_precision(self.precision, self.noisy.gaps, self.noisy.denoised)
            found.append(self.noisy.sampling * more)
        return [*found, square @ np.broadcast_to(self.noisy.single, square.shape) @ square]

    def block_covariance(self, a: Sequence[int], b: Sequence[int]) -> Matrix:
        """V, the covariance of the entries of a block, row by row."""
        count = len(a) * len(b)
        found = np.diag(np.sum(self.single, axis=0)[np.ix_(a, b)].ravel())
        for gram, size in self.grams:
            own_a, own_b, cross = gram[np.ix_(a, a)], gram[np.ix_(b, b)], gram[np.ix_(a, b)]
            four = np.einsum("ik,jl->ijkl", own_a, own_b) + np.einsum("il,kj->ijkl", cross, cross)
            found += size * four.reshape(count, count)
        return found

    def mean_square(self, a: Sequence[int], b: Sequence[int], inverse_a: Matrix, inverse_b: Matrix) -> float:
        """tr(VK): what noise adds to Q on average."""
        found = float(np.diag(inverse_a) @ np.sum(self.single, axis=0)[np.ix_(a, b)] @ np.diag(inverse_b))
        for gram, size in self.grams:
            cross = gram[np.ix_(a, b)]
            own = np.sum(inverse_a * gram[np.ix_(a, a)]) * np.sum(inverse_b * gram[np.ix_(b, b)])
            found += size * float(own + np.sum((inverse_a @ cross) * (cross @ inverse_b)))
        return found


def blocks_of(places: Places) -> list[tuple[int, int]]:
    """Pairs of variables of which one has several columns."""
    return [(i, j) for i, j in combinations(range(len(places)), 2) if len(places[i]) * len(places[j]) > 1]


def association_strengths(precision: Matrix, places: Places) -> Matrix:
    """Partial correlations between variables: strengths, without a sign, where one has several columns."""
    first = [place[0] for place in places]
    found = partial_correlations(precision)[np.ix_(first, first)]
    for i, j in blocks_of(places):
        block = precision[np.ix_(places[i], places[j])]
        found[i, j] = found[j, i] = np.sqrt(mean_square_correlation(precision, places[i], places[j], block))
    return found


def mean_square_correlation(precision: Matrix, a: Sequence[int], b: Sequence[int], block: Matrix) -> Matrix:
    """Q/m, the mean square of the partial canonical correlations, if Θ_AB were this block, or each of several."""
    square = _square(block, _inverse_of_own(precision, a), _inverse_of_own(precision, b))
    return np.asarray(square / min(len(a), len(b)))


def wald_scores(errors: Matrix, noise: PrecisionNoise, places: Places) -> Vector:
    """Wald's statistic of every block of a matrix, as the absolute value of a Gaussian that is as unlikely."""
    from scipy.stats import chi2, norm

    pairs = [(places[i], places[j]) for i, j in blocks_of(places)]
    statistic = [_wald(errors[np.ix_(a, b)], noise, a, b) for a, b in pairs]
    df = [len(a) * len(b) for a, b in pairs]
    return np.asarray(norm.isf(np.maximum(chi2.sf(statistic, df), _SMALLEST_P) / 2.0))


def strength_intervals(
    corrected: Matrix, noise: PrecisionNoise, places: Places, reach: float, factor: float
) -> tuple[Vector, Vector, Vector]:
    """Strength of every block, and the ends of its interval.

    ``reach`` is the quantile of a Gaussian to which intervals go, ``factor`` what standard deviations are to be
    multiplied by.
    """
    pairs = [(places[i], places[j]) for i, j in blocks_of(places)]
    least = np.array([min(len(a), len(b)) for a, b in pairs], dtype=np.float64)
    square, mean, variance = np.array([_moments(corrected, noise, a, b) for a, b in pairs]).reshape(-1, 3).T
    above = np.maximum(square, mean)  # an estimate below what noise is on average is no surer than one at zero
    scale = factor**2 * variance / (4.0 * (above - mean) + 2.0 * mean)
    lower, upper = (scale * _noncentrality(above / scale, mean / scale, far) for far in (reach, -reach))
    return _root(above - mean, least), _root(lower, least), _root(upper, least)


def _root(square: Vector, least: Vector) -> Vector:
    """The strength that belongs to Q."""
    return np.asarray(np.sqrt(np.minimum(square / least, 1.0)))


def _wald(block: Matrix, noise: PrecisionNoise, a: Sequence[int], b: Sequence[int]) -> float:
    entries = block.ravel()
    if entries.size <= _LARGE:
        return float(entries @ np.linalg.solve(noise.block_covariance(a, b), entries))
    # In coordinates in which Q is a sum of squares, noise is about the same in all directions: as in a whitened round.
    inverses = _inverse_of_own(noise.precision, a), _inverse_of_own(noise.precision, b)
    return float(entries.size * _square(block, *inverses) / noise.mean_square(a, b, *inverses))


def _moments(
    corrected: Matrix, noise: PrecisionNoise, a: Sequence[int], b: Sequence[int]
) -> tuple[float, float, float]:
    """Q of an estimate, what noise adds to it on average, and its variance."""
    block = corrected[np.ix_(a, b)]
    inverse_a, inverse_b = (_inverse_of_corrected(corrected, noise.precision, place) for place in (a, b))
    square, mean = float(_square(block, inverse_a, inverse_b)), noise.mean_square(a, b, inverse_a, inverse_b)
    # Q moves with T_AB by 2P, with T_AA by -PT_BA Θ_AA⁻¹ and with T_BB likewise; P = Θ_AA⁻¹ T_AB Θ_BB⁻¹.
    P = inverse_a @ block @ inverse_b
    gradient = np.block([[-P @ block.T @ inverse_a, P], [P.T, -inverse_b @ block.T @ P]])
    both = [*a, *b]
    along = [gradient @ gram[np.ix_(both, both)] for gram, _ in noise.grams]
    moved = sum(2.0 * size * float(np.sum(w * w.T)) for w, (_, size) in zip(along, noise.grams, strict=True))
    moved += 4.0 * float(np.sum(P**2 * np.sum(noise.single, axis=0)[np.ix_(a, b)]))
    # Of the estimate a part is noise, along which it does not move; noise alone has the variance 2 tr(VKVK).
    signal = max(square - mean, 0.0) / max(square, np.finfo(np.float64).tiny)
    if block.size <= _LARGE:
        whitened = noise.block_covariance(a, b) @ np.kron(inverse_a, inverse_b)
        alone = float(np.sum(whitened * whitened.T))
    else:
        alone = mean**2 / block.size
    return square, mean, signal * moved + 2.0 * alone


def _square(block: Matrix, inverse_a: Matrix, inverse_b: Matrix) -> Matrix:
    """Q, of one block or of each of several."""
    return np.asarray(np.sum((inverse_a @ block) * (block @ inverse_b), axis=(-2, -1)))


def _inverse_of_own(precision: Matrix, place: Sequence[int]) -> Matrix:
    """Θ_AA⁻¹."""
    return np.asarray(np.linalg.inv(precision[np.ix_(place, place)]), dtype=np.float64)


def _inverse_of_corrected(corrected: Matrix, precision: Matrix, place: Sequence[int]) -> Matrix:
    """Θ_AA⁻¹ of the corrected estimate, unless noise has taken most of it in some direction."""
    left = (corrected - 0.1 * precision)[np.ix_(place, place)]
    return _inverse_of_own(corrected if is_positive_definite(left) else precision, place)


def _noncentrality(x: Vector, df: Vector, reach: float) -> Vector:
    """The noncentrality with which a χ² is this far above its mean, in Gaussian standard deviations; 0 if none is.

    By Abdel-Aty's cube root (1954), found by halving.
    """

    def score(noncentrality: Vector) -> Vector:
        mean = df + noncentrality
        spread = 2.0 * (mean + noncentrality) / (9.0 * mean**2)
        return np.asarray((np.cbrt(x / mean) - 1.0 + spread) / np.sqrt(spread))

    low, high = np.zeros_like(x), x + df + (4.0 + 2.0 * abs(reach)) ** 2 + 8.0 * abs(reach) * np.sqrt(x + df)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = score(middle) > reach  # a larger noncentrality makes x less surprising
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(score(np.zeros_like(x)) > reach, low, 0.0)
