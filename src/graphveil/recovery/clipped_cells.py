r"""What clipping took of categories that nearly determine each other, restored from the shares of their cells.

The last round shortens a row x to c + s(x − c), with s = min(1, R/‖W'(x − c)‖) and W the whitening so far. A record in
a rare cell of two categories, such as a psychiatric ward without a psychiatric diagnosis, is far out in a direction in
which hardly any variance is left, and is shortened; records in large cells are not. Columns lose little by that, and
the direction between them up to two thirds, so that their partial correlation comes out too large. What columns lose
does not tell, but the release does: covariances and means of indicators are the shares q of the cells, and a cell says
where in that direction its records lie.

**Moments.** In a cell with indicators x, the squared norm ‖W'(x − c)‖² has the mean and the variance that it has if the
other columns are Gaussian about their regression on the indicators: a multiple of a χ² with these (Wilson and Hilferty
1931), over whose quantiles E s and E s² are averaged. With other columns or without, the indicators of whole and of
shortened rows then have the covariances

    S = Σ q xx' − mm',    K = Σ q E s² (x − c)(x − c)' − kk',    m = Σ q x,    k = Σ q E s (x − c).

The round's answer Y has the expectation K. The restored answer is TYT', where T is the map with TKT' = S that is
symmetric in coordinates where rows are white. The shares are those of TYT' and of the means, which clipping moved by m
− c − k, as the nearest table with these margins and without negative cells: a fixed point, found by repetition. Other
columns follow by their regression on the indicators and keep their variances. Nothing is drawn at random.

**Law.** The noise E of the answer becomes TET', so the law is led through T. But T depends on the shares, which have
the noise of TYT': at the fixed point an error e = TET' grows to δ = e + (dS − T dK T')(Pδ), where P leads from an error
of the covariance to one of the shares of cells that are not zero. This is linear and solved for δ. What it adds to the
variance of an entry is counted as an error of this entry alone (``single``), times one factor for all: such errors
cancel in partial correlations, and with the factor these have, on average, the variance that follows from δ.

A map for each pair of categories would restore a category twice. So there is one map for all of them, from the tables
of all pairs.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix, Vector
from graphveil.recovery.noise_model import NoisyCovariance

__all__ = ["ClippedRound", "restorable", "restore_cells"]

_REPETITIONS = 8  # 20 change no figure of the intervals
_QUANTILES = 32
_PROJECTIONS, _NOTHING = 400, 1e-6  # at most, and a share of the records that is none
_LEAST = 0.01  # of the denoised variance in any direction, added to K and S: neither is inverted where it is zero
_RAREST = 1e-4  # a share of a level; a category of which nothing is known would have negative ones
_MOST_CELLS = 500  # of two categories: with more, the law of their shares would take longer than everything else


@dataclass(frozen=True, eq=False)
class ClippedRound:
    """The last round as it was answered: moments of whitened rows, shortened to a radius.

    Attributes
    ----------
    noisy, denoised : (p, p) arrays
        The moments about the mean in whitened coordinates.
    root : (p, p) array
        Their noise is this, times a symmetric Gaussian matrix, times its transpose.
    back, forth : (p, p) arrays
        From whitened coordinates to columns, and rows to whitened rows.
    centre : (p,) array
        c.
    radius : float
        R.
    single : (p, p) array
        Variances of the errors of single entries that clipping did not make.
    """

    noisy: Matrix
    denoised: Matrix
    root: Matrix
    back: Matrix
    forth: Matrix
    centre: Vector
    radius: float
    single: Matrix

    def in_units(self, middle: Vector, half: Vector) -> "ClippedRound":
        """The same round of columns that are ``middle`` + ``half`` times these."""
        return replace(
            self,
            back=half[:, None] * self.back,
            forth=self.forth / half[:, None],
            centre=middle + half * self.centre,
            single=self.single * np.outer(half, half) ** 2,
        )


def restorable(categories: list[range]) -> list[range]:
    """Those of some categories of which no two have too many cells: without the largest, as long as any two have."""
    sizes = sorted(len(place) + 1 for place in categories)
    while len(sizes) > 1 and sizes[-1] * sizes[-2] > _MOST_CELLS:
        sizes.pop()
    return [place for place in categories if len(place) < max(sizes, default=0)]


def restore_cells(
    noisy: NoisyCovariance, mean: Vector, clipped: ClippedRound, categories: list[range]
) -> NoisyCovariance:
    """A covariance with what clipping took of the cells of any two of these categories, and its law.

    Parameters
    ----------
    noisy : NoisyCovariance
        What the round gave, with what each column lost.
    mean : (p,) array
    clipped : ClippedRound
    categories : list of ranges
        The columns of the categories: an indicator for every level but the first.
    """
    levels = np.concatenate([np.array(place) for place in categories])
    square, back = np.ix_(levels, levels), clipped.back[levels]
    answer, smooth = (back @ moments @ back.T for moments in (clipped.noisy, clipped.denoised))
    start, restored, covariance, found = noisy.denoised, noisy.matrix, noisy.denoised, mean
    for _ in range(_REPETITIONS):
        pairs = [_Pair.of(restored, covariance, found, clipped, a, b) for a, b in combinations(categories, 2)]
        whole, shortened, moved = _moments(pairs, len(mean))
        ridge = _LEAST * start[square]
        through = _transport(shortened[square] + ridge, whole[square] + ridge, start[square])
        lift = _regressing(start, levels, _transport(start[square], through @ smooth @ through.T, start[square]))
        covariance, restored, found = lift @ start @ lift.T, noisy.matrix.copy(), mean + moved
        restored[square] = through @ answer @ through.T
    matrix, law = lift @ noisy.matrix @ lift.T, lift @ noisy.privacy[0][0]
    matrix[square], law[levels] = restored[square], through @ back @ clipped.root
    single = np.array(np.broadcast_to(noisy.single, matrix.shape))
    single[square] = clipped.single[square]
    result = replace(noisy, matrix=matrix, denoised=covariance, privacy=((law, noisy.privacy[0][1]),), single=single)
    wide = np.zeros_like(matrix)
    wide[square] = through
    for pair in pairs:
        single += _errors_of_shares(pair, wide, result)
    return result


@dataclass(frozen=True, eq=False)
class _Pair:
    """The cells of two categories.

    Attributes
    ----------
    a, b : ranges
        Their columns.
    shares : (|a| + 1, |b| + 1) array
        q.
    rows : (cells, |a| + |b|) array
        The indicators of each cell.
    away : (cells, |a| + |b|) array
        The same from the centre of the round.
    squares, lengths : (cells,) arrays
        E s² and E s.
    """

    a: range
    b: range
    shares: Matrix
    rows: Matrix
    away: Matrix
    squares: Vector
    lengths: Vector

    @classmethod
    def of(
        cls, restored: Matrix, covariance: Matrix, mean: Vector, clipped: ClippedRound, a: range, b: range
    ) -> "_Pair":
        """From a covariance, which the shares are read from, and a denoised one, which the other columns follow."""
        shares = _shares(restored[np.ix_(a, b)], mean[a], mean[b])
        numbers = np.indices(shares.shape).reshape(2, -1)
        both, rows = [*a, *b], np.hstack([np.eye(k)[one, 1:] for k, one in zip(shares.shape, numbers, strict=True)])
        slopes = np.linalg.solve(covariance[np.ix_(both, both)], covariance[both])
        left = clipped.forth.T @ (covariance - covariance[:, both] @ slopes) @ clipped.forth
        white = (mean + (rows - mean[both]) @ slopes - clipped.centre) @ clipped.forth
        typical = np.sum(white**2, axis=1) + np.trace(left)
        variance = 2.0 * np.sum(left**2) + 4.0 * np.sum((white @ left) * white, axis=1)
        shortening = np.minimum(1.0, clipped.radius / np.sqrt(_quantiles(typical, variance)))
        squares, lengths = np.mean(shortening**2, axis=1), np.mean(shortening, axis=1)
        return cls(a, b, shares, rows, rows - clipped.centre[both], squares, lengths)

    @property
    def both(self) -> list[int]:
        """The columns of both."""
        return [*self.a, *self.b]

    @property
    def mean(self) -> Vector:
        """k: where the mean of shortened rows is, from the centre of the round."""
        return np.asarray((self.shares.ravel() * self.lengths) @ self.away)

    def shortened(self, shares: Matrix) -> Matrix:
        """K for these shares; for a change of shares, its change."""
        squares = (self.away.T * (shares.ravel() * self.squares)) @ self.away
        product = np.outer((shares.ravel() * self.lengths) @ self.away, self.mean)
        return np.asarray(squares - (product if shares is self.shares else product + product.T))


def _moments(pairs: list[_Pair], p: int) -> tuple[Matrix, Matrix, Vector]:
    """S and K of the columns of all pairs, and how far clipping moved their means.

    What several pairs say of a category is averaged.
    """
    whole, shortened, moved = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    times, counted = np.zeros((p, p)), np.zeros(p)
    for pair in pairs:
        square, share = np.ix_(pair.both, pair.both), pair.shares.ravel()
        mean = share @ pair.rows
        whole[square] += (pair.rows.T * share) @ pair.rows - np.outer(mean, mean)
        shortened[square] += pair.shortened(pair.shares)
        moved[pair.both] += share @ pair.away - pair.mean
        times[square] += 1.0
        counted[pair.both] += 1.0
    times, counted = np.maximum(times, 1.0), np.maximum(counted, 1.0)
    return whole / times, shortened / times, moved / counted


def _shares(covariance: Matrix, first: Vector, second: Vector) -> Matrix:
    """The table nearest to what a covariance says that has these margins and no negative cell (Dykstra 1983)."""
    first, second = (np.clip(share, _RAREST, 1.0) for share in (first, second))
    first, second = (share / max(share.sum() + _RAREST, 1.0) for share in (first, second))
    inner = covariance + np.outer(first, second)
    table = np.block([[np.zeros((1, 1)), second - inner.sum(axis=0)], [(first - inner.sum(axis=1))[:, None], inner]])
    table[0, 0] = 1.0 - table.sum()
    rows, columns = np.r_[1.0 - first.sum(), first], np.r_[1.0 - second.sum(), second]
    negative = np.zeros_like(table)
    for _ in range(_PROJECTIONS):
        positive = np.maximum(table - negative, 0.0)
        negative += positive - table
        over, beside = rows - positive.sum(axis=1), columns - positive.sum(axis=0)
        table = positive + over[:, None] / columns.size + beside / rows.size - over.sum() / table.size
        if table.min() > -_NOTHING:
            break
    return np.asarray(positive / positive.sum())


def _quantiles(mean: Vector, variance: Vector) -> Vector:
    """Of multiples of χ² with these means and variances, one row for each."""
    from scipy.special import ndtri

    normal = ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    spread = np.maximum(variance / (9.0 * mean**2), 0.0)[:, None]  # 2/9 over the degrees of freedom
    return np.asarray(mean[:, None] * np.maximum(1.0 - spread + np.sqrt(spread) * normal, 1e-3) ** 3)


def _transport(of: Matrix, to: Matrix, white: Matrix) -> Matrix:
    """T, for which T ``of`` T' = ``to``, symmetric in coordinates in which ``white`` is the identity."""
    root = np.linalg.cholesky(white)
    back = np.linalg.inv(root)
    half = _power(back @ of @ back.T, 0.5)
    inverse = np.linalg.inv(half)
    return np.asarray(root @ inverse @ _power(half @ (back @ to @ back.T) @ half, 0.5) @ inverse @ back)


def _power(matrix: Matrix, power: float) -> Matrix:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 1e-9 * values[-1]) ** power) @ vectors.T)


def _regressing(covariance: Matrix, columns: NDArray[np.intp], change: Matrix) -> Matrix:
    """The map that makes this change to some columns, while others keep their regressions on them, and variances."""
    lift, others = np.eye(len(covariance)), np.setdiff1d(np.arange(len(covariance)), columns)
    square = np.ix_(columns, columns)
    lift[square] = change
    slopes = np.linalg.solve(covariance[square], covariance[np.ix_(columns, others)]).T
    lift[np.ix_(others, columns)] = slopes @ (change - np.eye(len(columns)))
    grown = np.sum((lift @ covariance) * lift, axis=1)[others] / np.diag(covariance)[others]
    lift[others] /= np.sqrt(grown)[:, None]
    return lift


def _errors_of_shares(pair: _Pair, through: Matrix, noisy: NoisyCovariance) -> Matrix:
    """Variances that entries of a pair have because its shares are estimates, as errors of single entries."""
    a, b, shape = len(pair.a), len(pair.b), pair.shares.shape
    both, count = np.ix_(pair.both, pair.both), a * b
    inner = np.zeros((count, *shape))  # a change of one entry of the covariance: of a cell, and of three beside it
    inner[np.arange(count), np.repeat(np.arange(1, a + 1), b), np.tile(np.arange(1, b + 1), a)] = 1.0
    inner[:, 1:, 0], inner[:, 0, 1:] = -inner[:, 1:, 1:].sum(axis=2), -inner[:, 1:, 1:].sum(axis=1)
    inner[:, 0, 0] = inner[:, 1:, 1:].sum(axis=(1, 2))
    sums = [np.kron(np.eye(shape[0]), np.ones(shape[1])), np.kron(np.ones(shape[0]), np.eye(shape[1]))]
    fixed = np.vstack([*sums, np.eye(pair.shares.size)[pair.shares.ravel() == 0.0]])
    kept = inner.reshape(count, -1)
    kept = (kept - kept @ (np.linalg.pinv(fixed) @ fixed)).reshape(inner.shape)  # P
    # dS − T dK T' of these changes.
    left = through[both]
    change = -np.array([left @ pair.shortened(shares) @ left.T for shares in kept])
    change[:, :a, a:] += kept[:, 1:, 1:]
    change[:, a:, :a] = change[:, :a, a:].transpose(0, 2, 1)
    grown = np.linalg.inv(np.eye(count) - change[:, :a, a:].reshape(count, count))
    change = np.tensordot(grown, change, 1)
    precision = np.linalg.inv(noisy.denoised)[both]
    moved = (precision @ change @ precision)[:, :a, a:].reshape(count, count)
    entry = change[:, :a, a:].reshape(count, count)
    gram = noisy.privacy_grams[0][0][both]
    plain, of_precision, mixed = (
        _covariance(one @ gram @ other.T, a)
        for one, other in ((np.eye(a + b),) * 2, (precision,) * 2, (np.eye(a + b), precision))
    )
    size = noisy.privacy_grams[0][1]
    own = size * np.diag(plain @ entry + entry.T @ plain + entry.T @ plain @ entry).reshape(a, b)
    wanted = size * np.diag(moved.T @ mixed + mixed.T @ moved + moved.T @ plain @ moved) / np.diag(of_precision)
    single = np.zeros_like(noisy.matrix)
    single[np.ix_(pair.a, pair.b)] = np.maximum(own, 0.0)
    single += single.T
    alone = (precision**2 @ single[both] @ precision**2)[:a, a:].ravel() / np.diag(of_precision)
    return np.asarray(single * np.clip(wanted.sum() / max(alone.sum(), 1e-300), 0.0, 1.0))


def _covariance(gram: Matrix, a: int) -> Matrix:
    """Covariances of the entries between two categories of PEP' and QEQ', from PGQ'."""
    cross = np.einsum("ik,jl->ijkl", gram[:a, :a], gram[a:, a:]) + np.einsum("il,jk->ijkl", gram[:a, a:], gram[a:, :a])
    return np.asarray(cross.reshape(cross.shape[0] * cross.shape[1], -1))
