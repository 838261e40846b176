"""The radius to which whitened rows are shortened, from a noisy histogram of their norms.

Shortening to R keeps the share c(R) = E min(r, R)²/E r² of the second moment and costs noise that grows with R². The
best R minimises b²p + p(p + 1)/2 (σ(R)/c)², the squared bias plus the variance of the rescaled matrix. Gaussian rows
lose the same in all directions, and dividing by c gives it back: what looks like their loss counts little in the bias
b, as long as nothing else is seen and the noise of the histogram can hide little. So does the loss of rows with other
norms of which an earlier round has shown that it is even (``feared``).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Edges", "Radius", "choose_radius", "norm_edges"]

Vector = NDArray[np.float64]

_GRID = 1.1 ** np.arange(-20, 45)  # in units of √p, the typical norm of a whitened row
_FINE_GRID = np.unique(np.concatenate([_GRID, 1.1 ** np.arange(-4.0, 5.0, 0.2)]).round(12))
_FINE_NOISE = 0.01
_TAIL = 4.0  # a tail counts while its sum exceeds this many standard deviations,
_FAR = 4.0  # and one more for every doubling beyond this many √p: a false alarm there would upset the whole scale
_TOLL = 5.0  # squared standard deviations that a bin must hold to speak for rows, rather than against;
_PATIENCE = 10.0  # so much may speak against them before the tail is taken to have ended
_AMPLE = 0.25  # of the moments' noise, times p: below it the tail is followed
_KURTOSIS = (0.5, 10.0)  # beyond these it is noise
_EVEN = 0.3  # of what Gaussian rows would lose too: norms alone do not prove that rows are Gaussian
_MOSTLY = 0.2  # of the loss may be of another kind, or hidden by noise, before all of it counts
_DEEPEST = 0.7  # share that rows must keep: of rows that all have one length nothing is told by their norms
_SMALLEST = 4  # no radius below the fifth edge: everything would be cut off


@dataclass(frozen=True)
class Edges:
    """Edges of the histogram: ``inner`` between bins, ``top`` where the last bin is taken to end."""

    inner: Vector
    top: float

    @property
    def upper(self) -> Vector:
        """Upper end of every bin."""
        return np.append(self.inner, self.top)


@dataclass(frozen=True)
class Radius:
    """``value`` to shorten to, share ``kept`` of the second moment, and the ``tail`` beyond which nothing is seen.

    ``kurtosis`` is E r⁴/(E r²)² over what it is for Gaussian rows: 1 for those, more for heavy tails. ``uneven`` is
    the share lost beyond what Gaussian rows would lose. They lose the same in all directions, which changes no
    correlation; from which directions the rest is missing cannot be known. ``bias`` is the share that is feared to be
    missing from some of them: all of it, unless the loss is known to be even. ``is_followed``: the tail was followed
    as far as it can be seen.
    """

    value: float
    kept: float
    tail: float
    kurtosis: float
    uneven: float
    bias: float
    is_followed: bool = False

    @property
    def loses_evenly(self) -> bool:
        """Whether what is lost is known to be missing from all directions alike."""
        return self.bias < 1.0 - self.kept


def norm_edges(p: int, cap: float, noise: float) -> Edges:
    """Edges on a public grid below a bound of the norm; finer about √p if ``noise``, a share of the rows, allows."""
    grid = _FINE_GRID if noise * np.sqrt(_FINE_GRID.size) < _FINE_NOISE else _GRID
    inner = np.sqrt(p) * grid
    inner = inner[inner < cap] if (inner < cap).any() else np.array([cap / 2.0])
    return Edges(inner, float(max(min(cap, 1.1 * inner[-1]), 1.0001 * inner[-1])))


def choose_radius(counts: Vector, sd: float, edges: Edges, p: int, noise: float, feared: float = 1.0) -> Radius:
    """Balance bias and noise; ``noise``·R² is the standard deviation of the moments' noise at radius R.

    ``feared`` is the share of what is cut off that may be missing from some directions more than from others.
    Where there is little noise, what is cut off is the larger error, and the tail is looked for more closely.
    """
    last = _end_of_tail(counts, sd, edges, p)
    close = _balanced(counts, sd, edges, p, noise, feared, _followed(counts, sd, edges, p, last))
    if noise * close.value**2 * p < _AMPLE:
        return replace(close, is_followed=True)
    return _balanced(counts, sd, edges, p, noise, feared, last)


def _end_of_tail(counts: Vector, sd: float, edges: Edges, p: int) -> int:
    """The last bin from which on there are certainly rows."""
    tails = np.cumsum(counts[::-1])[::-1]
    lengths = np.arange(counts.size, 0, -1)
    needed = _TAIL + _doubts(edges, p)
    seen = np.flatnonzero(tails > needed * sd * np.sqrt(lengths))
    return int(seen[-1]) if seen.size else counts.size - 1


def _followed(counts: Vector, sd: float, edges: Edges, p: int, last: int) -> int:
    """Follow the tail from there bin by bin, as long as bins hold more than noise would."""
    gains = np.sign(counts) * (counts / sd) ** 2 - _TOLL - 2.0 * _doubts(edges, p)
    gained = most = 0.0
    for bin_ in range(last + 1, counts.size):
        gained += gains[bin_]
        if gained > most:
            most, last = gained, bin_
        if gained < most - _PATIENCE:
            break
    return last


def _doubts(edges: Edges, p: int) -> Vector:
    return np.asarray(np.log2(np.maximum(edges.upper / (_FAR * np.sqrt(p)), 1.0)))


def _balanced(counts: Vector, sd: float, edges: Edges, p: int, noise: float, feared: float, last: int) -> Radius:
    """The best radius if there is nothing beyond the bin ``last``."""
    upper = edges.upper
    counts = np.where(np.arange(counts.size) <= last, counts, 0.0)
    squares = np.maximum(np.append(0.0, upper[:-1]), upper / 1.1) * upper
    squares[0] = upper[0] ** 2 / 3.0  # below the grid: anywhere in a ball, so to speak
    total = max(float((counts * squares).sum()), 1e-9)
    radii = upper[min(_SMALLEST, upper.size - 1) :]
    kept = np.array([(counts * np.minimum(squares, radius**2)).sum() / total for radius in radii])
    kept = np.clip(kept, 0.005, 1.0)
    rows = max(float(counts.sum()), 1.0)
    gaussian = _kept_of_gaussian(p, p * rows / total * radii**2)
    uneven = np.maximum(gaussian - kept, 0.0)
    other = uneven + sd * np.sqrt(counts.size) / rows
    is_even = (gaussian > _DEEPEST) & (other < _MOSTLY * (1.0 - kept))
    share = np.where(kept > _DEEPEST, feared, 1.0)
    bias = np.where(is_even, other + _EVEN * (1.0 - kept), share * (1.0 - kept))
    cost = bias**2 * p + p * (p + 1) / 2.0 * (noise * radii**2 / kept) ** 2
    best = int(np.argmin(cost))
    fourth = float((counts * squares**2).sum()) * rows / total**2 * p / (p + 2.0)
    return Radius(
        value=float(radii[best]),
        kept=float(kept[best]),
        tail=float(upper[last]),
        kurtosis=float(np.clip(fourth, *_KURTOSIS)),
        uneven=float(share[best] * uneven[best]),
        bias=float(bias[best]),
    )


def _kept_of_gaussian(p: int, square: Vector) -> Vector:
    """E min(χ², R²)/p, the share that standard Gaussian rows of p columns keep when shortened to R."""
    from scipy.stats import chi2

    return np.asarray(chi2.cdf(square, p + 2) + square / p * chi2.sf(square, p))
