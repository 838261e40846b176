"""The radius to which whitened rows are clipped, from a noisy histogram of their norms.

Clipping to R keeps the share c(R) = E min(r, R)²/E r² of the second moment and costs noise that grows with R². The
best R minimises b²p + p(p + 1)/2 (σ(R)/c)², the squared bias plus the variance of the rescaled matrix. Gaussian rows
lose the same in all directions, and dividing by c gives it back: what looks like their loss counts little in the bias
b, as long as nothing else is seen and the noise of the histogram can hide little. So does the loss of rows with other
norms of which an earlier round has shown that it is even (``feared``).
"""

from dataclasses import dataclass

import numpy as np

from graphveil._typing import Vector
from graphveil.protocol.parameters import PROTOCOL

__all__ = [
    "MOST_BINS",
    "Edges",
    "Radius",
    "bulk_norm",
    "choose_radius",
    "coarse_edges",
    "hidden_rows",
    "kept_of_gaussian",
    "norm_edges",
]

# In units of √p, the typical norm of a whitened row: fine where the radius will be, coarse where few rows are, whose
# number would be lost in the noise of many bins.
_GRID = np.concatenate([0.3 * 1.3 ** np.arange(-13.0, 0.0), 0.3 * 1.1 ** np.arange(20.0), 2.0 * 1.3 ** np.arange(14.0)])
_FINE_GRID = np.unique(np.concatenate([_GRID, 1.1 ** np.arange(-4.0, 5.0, 0.2)]).round(12))
MOST_BINS = _FINE_GRID.size + 1  # of a histogram of norms

# Of bins as coarse as this, two neighbours hold most rows: they stand out even where noise is a tenth of the rows.
_COARSE = 1.5
_COARSE_BINS = 13


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
    """What the norms say.

    Attributes
    ----------
    value : float
        The radius.
    kept : float
        Share of the second moment that rows keep.
    gaussian : float
        Share that Gaussian rows would lose.
    typical : float
        The median norm.
    kurtosis : float
        E r⁴/(E r²)² over what it is for Gaussian rows: 1 for those, more for heavy tails.
    reach, reached : arrays
        Radii up to where rows are seen, and the share of the second moment that rows cut there would keep.
    """

    value: float
    kept: float
    gaussian: float
    typical: float
    kurtosis: float
    reach: Vector
    reached: Vector

    @property
    def lost(self) -> float:
        """Share of the second moment that is cut off."""
        return 1.0 - self.kept

    def within(self, outer: float) -> float:
        """Share that is cut off but lies within ``outer``."""
        return float(np.interp(outer, self.reach, self.reached)) - self.kept

    def reach_of_excess(self, p: int, noise: float) -> float | None:
        """How far out to ask for what was cut off; None where noise, ``noise``·r², would be more than that.

        What is cut off farther out may all be one column's; the noise is that of a column which loses, and of one that
        does not.
        """
        outer = self.reach[self.reach > 1.01 * self.value]
        unseen = 1.0 - self.reached[self.reach > 1.01 * self.value]
        cost = (p * unseen) ** 2 + 2.0 * (noise * (outer**2 - self.value**2)) ** 2
        best = int(np.argmin(cost)) if cost.size else 0
        return float(outer[best]) if cost.size and cost[best] < (p * self.lost) ** 2 else None


def norm_edges(p: int, cap: float, noise: float) -> Edges:
    """Edges on a public grid below a bound of the norm; finer about √p if ``noise``, a share of the rows, allows."""
    grid = _FINE_GRID if noise * np.sqrt(_FINE_GRID.size) < PROTOCOL.radius.fine_noise else _GRID
    inner = np.sqrt(p) * grid
    inner = inner[inner < cap] if (inner < cap).any() else np.array([cap / 2.0])
    return Edges(inner, float(max(min(cap, 1.1 * inner[-1]), 1.0001 * inner[-1])))


def coarse_edges(cap: float) -> Edges:
    """A few edges below a bound of the norm, for counts that are too noisy for more."""
    return Edges(cap / _COARSE ** np.arange(_COARSE_BINS, 0.0, -1.0), cap)


def bulk_norm(counts: Vector, edges: Edges) -> float:
    """A typical norm: between the middles of the two neighbouring bins that hold most rows, by their parts."""
    pairs = counts[:-1] + counts[1:]
    best = int(np.argmax(pairs))
    part = float(np.clip(counts[best + 1] / max(pairs[best], 1.0), 0.0, 1.0))
    return float(edges.upper[best] * _COARSE ** (part - 0.5))


def hidden_rows(noise: float) -> float:
    """Share of the rows that a tail may hold before a histogram shows it; ``noise`` is a count's, as such a share."""
    return float(PROTOCOL.radius.tail * noise * np.sqrt(np.sum(_GRID >= 2.0)))


def choose_radius(counts: Vector, sd: float, edges: Edges, p: int, noise: float, feared: float = 1.0) -> Radius:
    """Balance bias and noise; ``noise``·R² is the standard deviation of the moments' noise at radius R.

    ``feared`` is the share of what is cut off that may be missing from some directions more than from others.
    """
    last = _follow_tail(counts, sd, edges, p, _end_of_tail(counts, sd, edges, p))
    upper = edges.upper
    counts = np.where(np.arange(counts.size) <= last, counts, 0.0)
    squares = np.append(0.0, upper[:-1]) * upper
    squares[0] = upper[0] ** 2 / 3.0  # below the grid: anywhere in a ball, so to speak
    total, rows = max(float((counts * squares).sum()), 1e-9), max(float(counts.sum()), 1.0)
    kept = np.clip((counts * np.minimum(squares, upper[:, None] ** 2)).sum(axis=1) / total, 0.005, 1.0)
    gaussian = kept_of_gaussian(p, p * rows / total * upper**2)
    other = np.maximum(gaussian - kept, 0.0) + sd * np.sqrt(counts.size) / rows
    is_even = (gaussian > PROTOCOL.radius.deepest) & (other < PROTOCOL.radius.otherwise * (1.0 - kept))
    share = np.where(kept > PROTOCOL.radius.deepest, feared, 1.0)
    bias = np.where(is_even, other + PROTOCOL.radius.gaussian_feared * (1.0 - kept), share * (1.0 - kept))
    cost = bias**2 * p + p * (p + 1) / 2.0 * (noise * upper**2 / kept) ** 2
    best = int(np.argmin(np.where(kept >= min(PROTOCOL.radius.least_kept, float(kept.max())), cost, np.inf)))
    median = min(int(np.searchsorted(np.cumsum(counts), 0.5 * rows)), last)
    fourth = float((counts * squares**2).sum()) * rows / total**2 * p / (p + 2.0)
    return Radius(
        value=float(upper[best]),
        kept=float(kept[best]),
        gaussian=float(1.0 - gaussian[best]),
        typical=float(np.sqrt(squares[median])),
        kurtosis=float(np.clip(fourth, *PROTOCOL.radius.kurtosis)),
        reach=upper[: last + 1],
        reached=kept[: last + 1],
    )


def _end_of_tail(counts: Vector, sd: float, edges: Edges, p: int) -> int:
    """The last bin from which on there are certainly rows."""
    tails = np.cumsum(counts[::-1])[::-1]
    lengths = np.arange(counts.size, 0, -1)
    needed = PROTOCOL.radius.tail + _doubts(edges, p)
    seen = np.flatnonzero(tails > needed * sd * np.sqrt(lengths))
    return int(seen[-1]) if seen.size else counts.size - 1


def _follow_tail(counts: Vector, sd: float, edges: Edges, p: int, last: int) -> int:
    """Follow the tail from there bin by bin, as long as bins hold more than noise would."""
    gains = np.sign(counts) * (counts / sd) ** 2 - PROTOCOL.radius.toll - 2.0 * _doubts(edges, p)
    gained = most = 0.0
    for bin_ in range(last + 1, counts.size):
        gained += gains[bin_]
        if gained > most:
            most, last = gained, bin_
        if gained < most - PROTOCOL.radius.patience:
            break
    return last


def _doubts(edges: Edges, p: int) -> Vector:
    return np.asarray(np.log2(np.maximum(edges.upper / (PROTOCOL.radius.far * np.sqrt(p)), 1.0)))


def kept_of_gaussian(p: int, square: Vector) -> Vector:
    """E min(χ², R²)/p, the share that standard Gaussian rows of p columns keep when shortened to R."""
    from scipy.special import chdtr, chdtrc

    return np.asarray(chdtr(p + 2, square) + square / p * chdtrc(p, square))
