"""The variance of every column: one posterior from all answers about it.

Two things are unknown of a column: its variance v, and how far from its mean that variance sits. A dense column has it
near its standard deviation; a rare event or a long tail has it in few rows, about a distance D. A whitened row there
has the squared norm r² = D²/b + (that of an ordinary row), where b is the variance by which the column was divided, and
clipping it to R leaves R²/r² of its square. So, given v and D, every answer has a known distribution:

* the column's own squares, asked before the rounds: N(v, s²), unbiased, but noisy where bounds are wide;
* the moments of a round: N((1 - ℓ)v, τ²), sharp, but clipping took the share ℓ(D²/b, R);
* the excess of the last round: N(ℓ'v, ξ²), where ℓ' is what clipping took within its reach.

Rounds differ in b and R. A dense column loses about the same in all of them and a rare one does not, which tells a
column whose bounds are too wide from one whose tail was cut: both show less than was known before. Three numbers are
common to the columns and are learned from all of them together: the size of variances, how many columns have their
variance far out, and how much of the loss beyond that of Gaussian rows is common to all columns, as it is if whole rows
are long.

The posterior is a sum over a grid. Everything else follows from it: the scale of the next round, the variance that is
published, its standard deviation, and which columns are undetermined.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Vector
from graphveil.protocol.parameters import PROTOCOL

__all__ = ["TOLERATED", "Prior", "RoundView", "VariancePosterior", "settle_variances", "variance_prior"]

TOLERATED = 1.2  # times a standard deviation: an error that a reader of a regression table would not forgive

# The grid. Finer ones give the same numbers to within a tenth of their standard deviations.
_LEFT = np.linspace(-3.0, 3.0, 9)  # what a round left of a variance, in standard deviations of its noise
_EVEN = (0.0, 0.33, 0.67, 1.0, 1.5)  # part of the loss beyond Gaussian rows' that is common; more than 1: unseen tails
_FAR = (0.01, 0.05, 0.2, 0.5)  # shares of columns that have their variance far out
_MOST_OCTAVES = 14  # of D²/b, from 2 on; as far as the bounds reach
# Squares about D² and the parts of the variance there: all at one distance, or a tail over three octaves.
_SHAPES = (((0.7, 0.5), (1.4, 0.5)), ((0.2, 0.25), (1.0, 0.4), (5.0, 0.35)))
Shape = tuple[tuple[float, float], ...]

_NORMAL = ((-1.4, -0.98), (0.0, 0.0), (1.4, -0.98))  # three points of a standard normal law, and its log density
_ORDINARY = 2.0  # D² beyond the other columns' that a dense column has: E z⁴ - 1 of a normal one

_LEAST_LEFT = 0.05  # if less of a variance is left, only other answers give information about it

_SPREADS = (0.3, 1.0, 2.5)  # standard deviations that log v may have among columns: alike, similar, anything
_OTHERS = 0.2  # of the columns may be unlike the rest

Prior = tuple[Vector, Vector]  # a grid of log v and the log density on it


@dataclass(frozen=True)
class RoundView:
    """What a round says of the columns.

    Attributes
    ----------
    variance, sd : (p,) arrays
        Of rows as shortened, and the standard deviations of their noise; sd is infinite where it says nothing.
    scale : (p,) array
        b, the variances by which columns were divided.
    radius, typical : float
        R, and the norm of an ordinary row.
    gaussian, lost : float
        Shares of the second moment that Gaussian rows would lose and that these lost, by their norms.
    outer, within : float
        How far out the excess was asked for, and the share that was lost up to there.
    excess, excess_sd : (p,) arrays or None
        What clipping took of the variances up to there.
    """

    variance: Vector
    sd: Vector
    scale: Vector
    radius: float
    typical: float
    gaussian: float
    lost: float
    outer: float = 0.0
    within: float = 0.0
    excess: Vector | None = None
    excess_sd: Vector | None = None

    def common_loss(self, part: float) -> float:
        """Share that all columns lost, if they shared that part of what was lost beyond Gaussian rows."""
        known = min(self.gaussian, self.lost)
        return min(known + part * (self.lost - known), 0.95)

    def left(self, squares: Vector, shape: Shape) -> Vector:
        """Share that clipping leaves of a variance at D²/b = ``squares``, relative to that of a dense column."""
        ordinary = min(1.0, self.radius**2 / (self.typical**2 + _ORDINARY))
        parts = [
            share * np.minimum(1.0, self.radius**2 / (factor * squares + self.typical**2)) for factor, share in shape
        ]
        return np.asarray(np.minimum(np.sum(parts, axis=0) / ordinary, 1.0))

    def taken(self, squares: Vector, shape: Shape) -> Vector:
        """Share that clipping took within reach of the excess, beyond that of a dense column."""
        parts = [share * self._cut(factor * squares + self.typical**2) for factor, share in shape]
        dense = self._cut(np.array(self.typical**2 + _ORDINARY))
        return np.asarray(np.maximum(np.sum(parts, axis=0) - dense, 0.0))

    def _cut(self, square: Vector) -> Vector:
        return np.asarray(np.maximum(np.minimum(square, self.outer**2) - self.radius**2, 0.0) / square)


@dataclass(frozen=True)
class VariancePosterior:
    """The posterior of the columns' variances.

    Attributes
    ----------
    variance : (p,) array
        E v²/E v, the number c for which E(v/c - 1)² is least: the expected squared relative error of a precision.
    scale : (p,) array
        One standard deviation of log v above its mean, for the next round: a column that is scaled by too little is
        clipped and takes the room of the others, one that is scaled by too much only gets more noise.
    relative_sd : (p,) array
        Standard deviation of log v.
    doubtful : (p,) array
        Probability that √v is off by more than a factor of 1.2.
    fourth : (p,) array
        E D²/v, the fourth moment over the squared second one; 3 for a dense column.
    left : (p,) array
        Shares that clipping left of the variances in the last round, relative to that of a dense column.
    far : (p,) array
        Probabilities that the variances lie in few rows, and not near one standard deviation.
    common : float
        Share that all columns lost alike in the last round.
    part : float
        The part of the loss beyond Gaussian rows' that is common.
    even : float
        Probability that at least two thirds of it are.
    """

    variance: Vector
    scale: Vector
    relative_sd: Vector
    doubtful: Vector
    fourth: Vector
    left: Vector
    far: Vector
    common: float
    part: float
    even: float


def variance_prior(variance: Vector, sd: Vector) -> Prior:
    """What the columns' own squares say of each other's size.

    Most columns have log v ~ N(m, t²), with every m and t of a grid weighed by how well it fits; others have any.
    """
    if not np.isfinite(sd).all():
        return np.array([0.0]), np.array([0.0])  # no answer: any size is equally good
    top = max(float((variance + 4.0 * sd).max()), float(sd.max()))
    grid = np.linspace(np.log(0.01 * np.median(sd)), np.log(top), 120)
    fits = _log_fit(variance[:, None], np.exp(grid), sd[:, None])
    densities = np.array([_density(grid, middle, spread) for spread in _SPREADS for middle in grid[::2]])
    densities /= densities.sum(axis=1, keepdims=True)
    scores = np.log(np.maximum(np.exp(fits) @ densities.T, 1e-300)).sum(axis=0)
    return grid, np.log(np.exp(scores - scores.max()) @ densities)


def _density(log_variance: Vector, middle: float, spread: float) -> Vector:
    alike = np.exp(-0.5 * ((log_variance - middle) / spread) ** 2) / spread
    other = np.exp(-0.5 * ((log_variance - middle) / _SPREADS[-1]) ** 2) / _SPREADS[-1]
    return np.asarray((1.0 - _OTHERS) * alike + _OTHERS * other)


def settle_variances(
    variance: Vector, sd: Vector, prior: Prior, reach: Vector, views: list[RoundView]
) -> VariancePosterior:
    """The posterior from the columns' own squares and the rounds' views of them.

    Parameters
    ----------
    variance, sd : (p,) arrays
        Own squares; infinite sd where they were not asked for. Then nothing is known of D either, and columns are taken
        to be dense.
    prior : Prior
    reach : (p,) array
        Squared distance from the mean to the farther bound.
    views : list of RoundView
        In their order.
    """
    if not views:
        log_v = np.log(np.maximum(variance, 0.0) + 5.0 * sd)[:, None] + np.linspace(np.log(1e-3), 0.0, 200)
        log_weight = np.interp(log_v, *prior) + _log_fit(variance[:, None], np.exp(log_v), sd[:, None])
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        grid, dense = [(log_v[:, None, None], weight[:, None, None])], np.zeros((variance.size, 1))
        return _summary(grid, dense, np.full(variance.size, np.inf), weight.sum(axis=1), 0.0, np.zeros(len(_EVEN)))
    last = views[-1]
    farthest = float(np.max(reach / last.scale, where=np.isfinite(sd), initial=1.0))
    octaves = 2.0 ** np.arange(1, 1 + int(np.clip(np.ceil(np.log2(2.0 * farthest)), 1, _MOST_OCTAVES)))
    # Of D²/b in the last round: 0 stands for dense, then any octave, and in the end the farther bound.
    squares = np.zeros((variance.size, octaves.size + 2))
    squares[:, 1:-1] = octaves
    squares[:, -1] = np.where(np.isfinite(sd), reach / last.scale, 0.0)
    cells = [_cells(variance, sd, prior, reach, views, squares, part) for part in _EVEN]
    # The prior of D is the same for all of a cell's v: sum over these once, then weigh D by every share of far columns.
    sums = [_exp_and_sum(log_weight) for _, log_weight, _ in cells]
    chances = [[_chances(possible, rate) for rate in _FAR] for _, _, possible in cells]
    evidence = np.array(
        [
            [(np.log((by_distance * chance).sum(axis=1)) + top).sum() for chance in of_part]
            for (_, top, by_distance), of_part in zip(sums, chances, strict=True)
        ]
    )
    common = np.exp(evidence - evidence.max())
    common /= common.sum()
    seen, near = np.zeros((2, variance.size))
    for part, (weight, _, by_distance), of_part, share in zip(_EVEN, sums, chances, common, strict=True):
        mixed = sum(
            of_rate * chance / (by_distance * chance).sum(axis=1, keepdims=True)
            for of_rate, chance in zip(share, of_part, strict=True)
            if of_rate > 1e-4
        )
        np.multiply(weight, np.broadcast_to(mixed, by_distance.shape)[:, None, :, None], out=weight)
        near += weight[:, :, 0].sum(axis=(1, 2))
        seen += (weight.sum(axis=(2, 3)) * _left(last)[0]).sum(axis=1) / (1.0 - last.common_loss(part))
    grid = [(log_v, weight) for (log_v, _, _), (weight, _, _) in zip(cells, sums, strict=True)]
    by_part = common.sum(axis=1)
    lost = float(by_part @ [last.common_loss(part) for part in _EVEN])
    return _summary(grid, squares * last.scale[:, None], seen, near, lost, by_part)


def _cells(
    variance: Vector, sd: Vector, prior: Prior, reach: Vector, views: list[RoundView], squares: Vector, part: float
) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Values of log v, log weights without the prior of D, and which D are possible: columns × left × D × rest."""
    last = views[-1]
    left, left_log = _left(last)
    distance = squares * last.scale[:, None]
    common = last.common_loss(part)
    crude, crude_log = np.array(_NORMAL).T
    is_dense = np.arange(squares.shape[1]) == 0
    within = is_dense | (np.isfinite(sd)[:, None] & (distance <= 2.0 * reach[:, None]))
    least = np.where(is_dense, np.inf, distance)[:, None, :, None]  # no column has a larger variance than D²
    values, logs = [], []
    for shape in _SHAPES:
        share = _at_bound(last.left, squares, shape)
        # Where hardly anything is left, a law of losses is not off by more than a factor of e.
        factor = np.exp(PROTOCOL.crudeness * np.minimum(1.0 / share - 1.0, 6.0)[..., None] * crude) / share[..., None]
        v = left[:, :, None, None] / (1.0 - common) * factor[:, None]
        log_v = np.log(v)
        log_weight = np.interp(log_v, *prior)
        log_weight += left_log[:, :, None, None]
        log_weight += crude_log
        log_weight += _log_seen(variance, sd, v, np.ones_like(squares), np.zeros_like(squares))
        for view in views[:-1]:
            lost = view.common_loss(part)
            seen = (1.0 - lost) * _at_bound(view.left, distance / view.scale[:, None], shape)
            off = PROTOCOL.crudeness * (1.0 - seen) + PROTOCOL.earlier_crudeness * lost * seen
            log_weight += _log_seen(view.variance, view.sd, v, seen, off)
        if last.excess is not None and last.excess_sd is not None:
            alike = common * last.within / max(last.lost, 1e-9)
            taken = alike + (1.0 - common) * _at_bound(last.taken, squares, shape)
            log_weight += _log_seen(last.excess, last.excess_sd, v, taken, 2.0 * PROTOCOL.crudeness * taken)
        np.copyto(log_weight, -np.inf, where=~within[:, None, :, None] | (v > least))
        logs.append(log_weight)
        values.append(log_v)
    log_weight = np.concatenate(logs, axis=3)
    return np.concatenate(values, axis=3), log_weight, np.isfinite(log_weight).any(axis=(1, 3))


def _at_bound(share: Callable[[Vector, Shape], Vector], squares: Vector, shape: Shape) -> Vector:
    """What clipping does at each distance; the last one is that of the bound, where variances have another shape."""
    found = share(squares, shape)
    found[:, -1] = share(squares[:, -1], PROTOCOL.at_bound_parts)
    return found


def _left(view: RoundView) -> tuple[Vector, Vector]:
    """What a round may have left of each variance, and the log likelihood; a little where nothing can be seen of it."""
    tau = view.sd[:, None]
    left = np.where(view.variance[:, None] < -2.0 * tau, 0.0, view.variance[:, None]) + tau * _LEFT
    fits = np.where(left > 0.02 * tau, -0.5 * _LEFT**2, -np.inf)
    left = np.maximum(left, 0.02 * tau)
    return left, fits - np.log(left)  # log v has the prior


def _chances(possible: NDArray[np.bool_], rate: float) -> Vector:
    """Prior of D: dense, or with chance ``rate`` any octave that is possible, or the farther bound."""
    count = np.maximum(possible[:, 1:-1].sum(axis=1), 1)
    chance = np.repeat((rate / count)[:, None], possible.shape[1], axis=1)
    chance[:, 0] = 1.0 - rate * (1.0 + PROTOCOL.at_bound)
    chance[:, -1] = rate * PROTOCOL.at_bound
    return np.asarray(chance)


def _exp_and_sum(log_weight: Vector) -> tuple[Vector, Vector, Vector]:
    """Weights relative to the largest of a column, its logarithm, and their sums over all but columns and D.

    The weights take the place of their logarithms: for hundreds of columns these arrays are the largest of all.
    """
    top = log_weight.max(axis=(1, 2, 3), keepdims=True)
    log_weight -= top
    weight = np.exp(log_weight, out=log_weight)
    return weight, top[:, 0, 0, 0], weight.sum(axis=(1, 3))


def _log_seen(seen: Vector, sd: Vector, v: Vector, share: Vector, off: Vector) -> Vector:
    """Log density of views of a ``share`` of v that is itself off by ``off`` times v; 0 where one says nothing.

    Here ``v`` is columns × left × D × rest, and ``share`` and ``off`` are columns × D.
    """
    noise = v * off[:, None, :, None]
    noise *= noise
    noise += np.where(np.isinf(sd), 1.0, sd**2)[:, None, None, None]
    score = v * share[:, None, :, None]
    score -= seen[:, None, None, None]
    score *= score
    score /= noise
    log_density = _log_normal(np.sqrt(score, out=score))
    log_density -= 0.5 * np.log(noise, out=noise)
    log_density[np.isinf(sd)] = 0.0
    return log_density


def _log_fit(seen: Vector, mean: Vector, sd: Vector) -> Vector:
    """Log likelihood of a mean; 0 where sd is infinite."""
    with np.errstate(invalid="ignore"):
        return _log_normal(np.abs(np.where(np.isinf(sd), 0.0, (seen - mean) / sd)))


def _log_normal(score: Vector) -> Vector:
    """Log density of a normal law up to four standard deviations, and no steeper from there on."""
    near = np.minimum(score, 4.0)
    return np.asarray(near * (0.5 * near - score))


def _summary(
    grid: list[tuple[Vector, Vector]], distance: Vector, seen: Vector, near: Vector, common: float, by_part: Vector
) -> VariancePosterior:
    """Of log v and its weights (columns × left × D × rest), and the squared distances D² (columns × D).

    ``seen`` and ``near`` are sums of the weights times what the last round has, and of those of dense columns.
    """
    by_v, by_square, by_log, fourth, total = np.zeros((5, near.size))
    for log_v, weight in grid:
        v = np.exp(log_v)
        weighed = weight * v
        total += weight.sum(axis=(1, 2, 3))
        by_v += weighed.sum(axis=(1, 2, 3))
        by_square += np.einsum("ijkl,ijkl->i", weighed, v)
        by_log += np.einsum("ijkl,ijkl->i", weight, log_v)
        np.divide(distance[:, None, :, None], v, out=v)
        np.maximum(v, 3.0, out=v)
        fourth += np.einsum("ijkl,ijkl->i", weight, v)
    best, mean = by_square / by_v, by_log / total
    spread, doubtful = np.zeros((2, near.size))
    for log_v, weight in grid:
        away = log_v - mean[:, None, None, None]
        off = np.abs(away + (mean - np.log(best))[:, None, None, None]) > 2.0 * np.log(TOLERATED)
        doubtful += np.sum(weight, axis=(1, 2, 3), where=off)
        away *= away
        spread += np.einsum("ijkl,ijkl->i", away, weight)
    spread = np.sqrt(spread / total)
    return VariancePosterior(
        variance=best,
        scale=np.exp(mean + spread),
        relative_sd=np.hypot(spread, 2.0 * PROTOCOL.crudeness * common),
        doubtful=doubtful / total,
        fourth=fourth / total,
        left=np.clip(seen / by_v, _LEAST_LEFT, 1.0),
        far=np.clip(1.0 - near / total, 0.0, 1.0),
        common=common,
        part=float(by_part @ _EVEN),
        even=float(by_part[np.array(_EVEN) > 0.66].sum()),
    )
