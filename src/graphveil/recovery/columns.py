"""First questions: the mean and the variance of every column, and narrower bounds where the public ones drown it.

All numbers are in scaled units: the public box is [-1, 1] for every column.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphveil.recovery.denoise import cautious
from graphveil.spec.lattice import CELL_LEVELS, RowLattice
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, Query
from graphveil.spec.rounds import Round

__all__ = ["Columns", "Setting", "column_rounds"]

Vector = NDArray[np.float64]
Asked = list[tuple[Query, float]]

_MEAN, _SQUARES, _WEIGHTED = 0.02, 0.08, 0.10  # shares of μ²
_CELLS, _ZOOM = 0.04, 0.04  # only where a column needs narrower bounds and can get them
_ZOOM_MEAN = 0.2  # of the zoom
_DROWNED = 2.5  # a variance below this many of its standard deviations asks for narrower bounds
_INTERVAL = 0.5  # half-width, in standard deviations, of the interval onto which later rounds are projected
_GONE = (0.7, 0.4)  # shares of a variance: a round that has less of it is doubted, and not believed at all
_VAGUE = 0.3  # relative noise of most columns' variances from which on that says nothing
_ENOUGH = 10  # columns that must agree before a loss is thought to be even,
_WORTH = 0.05  # and the least loss for which that matters;
_UNSEEN = 0.1  # of the variance of their noise: differences of that size stay hidden in it
_EVEN = (0.3, 0.6)  # share of the loss that is feared to be uneven: at least, and from where on all of it is
_MOST_LOST = 0.2  # narrower bounds are looked for only if the counts can place them to within this share of the rows
_LEAST_LOST = 0.03
_WIDEST_WINDOW = 0.3  # half-width; wider is hardly narrower than the public bounds
_LARGEST_WEIGHT = 2.0**20


@dataclass(frozen=True)
class Setting:
    """Public facts that the questions start from.

    Attributes
    ----------
    n_features, n_samples : int
    lattice : RowLattice
        Of the rows, without anything appended.
    radius : float
        Bound of a row's norm, in scaled units.
    mu : float
        The budget of the whole release.
    rows_per_person : int
        By which all sensitivities are multiplied.
    centred : bool
        Rows are taken to have mean zero.
    """

    n_features: int
    n_samples: int
    lattice: RowLattice
    radius: float
    mu: float
    rows_per_person: int
    centred: bool

    def noise(self, share: float) -> float:
        """Standard deviation of a sum of sensitivity √2 that gets ``share`` of μ², as a share of the rows."""
        return float(np.sqrt(2.0) * self.rows_per_person / (self.mu * np.sqrt(share) * self.n_samples))

    @property
    def boxed(self) -> bool:
        """Whether there are bounds for every column, and no norm."""
        return self.lattice.levels > 0


@dataclass(frozen=True)
class Columns:
    """What is known of every column.

    Attributes
    ----------
    location : (p,) array
        A first mean.
    variance, sd : (p,) arrays
        Private variances and the standard deviations of their noise; infinite sd where nothing was asked.
    lowest, highest : (p,) arrays
        The interval in which a variance is taken to lie.
    low, high : (p,) arrays of integers
        Windows on the lattice.
    rebounded : (p,) array of bool
        Columns that were given narrower bounds.
    """

    location: Vector
    variance: Vector
    sd: Vector
    lowest: Vector
    highest: Vector
    low: Vector
    high: Vector
    rebounded: NDArray[np.bool_]

    def common_factor(self, variance: Vector, sd: Vector) -> float:
        """What share of the variances known beforehand a round has, one for all columns; 1 unless clearly less."""
        weight = self.variance / np.hypot(self.sd, sd) ** 2
        gone = 1.0 - float(variance @ weight / (self.variance @ weight))
        if not 0.0 < gone < 1.0:  # where noise has made variances negative it may be anything
            return 1.0
        # Shrunk towards nothing (James and Stein): what is gone may be noise.
        return 1.0 - gone * max(1.0 - 1.0 / (gone**2 * float(self.variance @ weight)), 0.0)

    def unevenness(self, variance: Vector, sd: Vector, lost: float) -> float:
        """What share of a round's loss may be missing from some columns more than from others; 1 is all of it.

        Heavy tails of the whole row are cut alike in all columns, which changes no correlation; a skewed column loses
        alone. The round's variances are compared with those known beforehand up to one factor: how far they are apart,
        beyond their noise, is how uneven the loss can have been.
        """
        if variance.size < _ENOUGH or not np.isfinite(self.sd).all():
            return 1.0
        common = self.common_factor(variance, sd)
        lost = max(lost, 1.0 - common)
        if lost < _WORTH:
            return 1.0
        noise = np.hypot(common * self.sd, sd)
        apart = float(np.mean(((variance - common * self.variance) / noise) ** 2))
        shown = max(apart - 1.0 + np.sqrt(2.0 / variance.size), _UNSEEN)
        relative = float(np.median(noise / np.maximum(variance, sd)))
        least, most = _EVEN
        share = relative * np.sqrt(shown) / lost
        return max(share, least) if share < most else 1.0

    def weighed_against(self, variance: Vector, sd: Vector, bias: float) -> Vector:
        """Best of the variances known beforehand and those of a round, which has noise ``sd`` and a relative ``bias``.

        Those known beforehand are unbiased but noisy. A round's are sharp, but clipping cuts rare large rows, and
        what it cuts may belong to one column, which then comes out too small by all of it: √p times ``bias``. That is
        thought possible from half a standard deviation of disagreement on, and certain beyond two; but no larger than
        all columns together show, in units of their noise. A share of the variance is cut, and one that noise has made
        small beforehand must not make the bias look small: half a standard deviation is added to it.

        Where most of a variance is gone, what was known beforehand is taken, however noisy: an inverse suffers without
        bound from a variance that is too small, and little from one that is too large. Not so where all columns are
        known so badly that a round will have less than was thought of many.
        """
        square, apart, noise = self.sd**2, variance - self.variance, np.hypot(self.sd, sd)
        plausible = np.maximum(self.variance, 0.0) + 0.5 * self.sd
        doubt = np.clip(-apart / noise - 0.5, 0.0, 1.0)
        size = np.maximum(doubt * min(bias * np.sqrt(variance.size), 1.0), bias)
        shown = max(float(np.mean((apart / noise) ** 2)) - 1.0, 0.0) + np.sqrt(2.0 / variance.size)
        known, (begins, ends) = cautious(self.variance, self.sd), _GONE
        with np.errstate(invalid="ignore"):  # where nothing was asked beforehand
            feared = np.minimum((size * plausible) ** 2, shown * noise**2)
            # Clipping takes away: a round that has more than was known is not the one in doubt.
            bias_square = np.maximum(feared, np.where(apart < 0.0, apart**2 - 4.0 * noise**2, 0.0))
            there = np.clip((variance / known - ends) / (begins - ends), 0.0, 1.0)
            if np.median(self.sd / known) > _VAGUE:
                there = np.ones(variance.size)
            trust = np.where(np.isinf(square), 1.0, there * square / (square + sd**2 + bias_square))
            unsure = (1.0 - trust) ** 2 * square + trust**2 * (sd**2 + bias_square)
        best = np.maximum(self.variance + trust * apart, 0.02 * variance)
        return cautious(best, np.sqrt(np.where(np.isinf(square), 0.0, unsure)))


def column_rounds(setting: Setting) -> Generator[Asked, list[Round], tuple[Columns, float]]:
    """Ask about columns; return what is known, and the share of μ² that is left."""
    p, lattice = setting.n_features, setting.lattice
    columns = _unknown(p, lattice.edge, setting.radius)
    spent = 0.0
    if not setting.centred:
        columns, mean_sd = yield from _means(columns, lattice, _MEAN, np.arange(p))
        spent += _MEAN
    else:
        mean_sd = np.zeros(p)
    if not setting.boxed:
        return columns, 1.0 - spent
    columns = yield from _squares(columns, lattice, mean_sd, _SQUARES, np.arange(p), np.ones(p))
    spent += _SQUARES
    if not setting.centred:
        columns, mean_sd, zoomed = yield from _narrower_bounds(columns, setting, mean_sd)
        spent += zoomed
    before = columns
    weights = 1.0 / np.maximum(columns.variance, columns.sd)  # the same relative noise on every variance
    again = yield from _squares(columns, lattice, mean_sd, _WEIGHTED, np.arange(p), weights)
    spent += _WEIGHTED
    precision, precision_again = before.sd**-2.0, again.sd**-2.0
    variance = (before.variance * precision + again.variance * precision_again) / (precision + precision_again)
    sd = (precision + precision_again) ** -0.5
    public = ~columns.rebounded
    variance[public], sd[public] = _empirical_bayes(variance[public], sd[public])
    lowest = np.maximum(variance - _INTERVAL * sd, sd)
    highest = np.maximum(variance + _INTERVAL * sd, 2.0 * lowest)
    columns = replace(columns, variance=variance, sd=sd, lowest=lowest, highest=highest)
    return columns, 1.0 - spent


def _unknown(p: int, edge: float, radius: float) -> Columns:
    """Before any question: every column may hold its part of the squared norm."""
    return Columns(
        location=np.zeros(p),
        variance=np.full(p, radius**2 / p),
        sd=np.full(p, np.inf),
        lowest=np.zeros(p),
        highest=np.full(p, np.inf),
        low=np.full(p, -edge),
        high=np.full(p, edge),
        rebounded=np.zeros(p, dtype=bool),
    )


def _means(
    columns: Columns, lattice: RowLattice, share: float, which: NDArray[np.intp]
) -> Generator[Asked, list[Round], tuple[Columns, Vector]]:
    """Means of some columns, each with noise in proportion to its window."""
    widths = (columns.high - columns.low)[which]
    weights = _whole_weights(1.0 / widths)
    query = ColumnMeans(columns.low, columns.high, weights, which.astype(float))
    (answer,) = yield [(query, share)]
    location, sd = columns.location.copy(), np.zeros(columns.location.size)
    steps = np.rint(answer.values["means"] / weights / lattice.unit)
    location[which] = np.clip(steps, columns.low[which], columns.high[which]) * lattice.unit
    sd[which] = answer.sd("means") / weights
    return replace(columns, location=location), sd


def _squares(
    columns: Columns, lattice: RowLattice, mean_sd: Vector, share: float, which: NDArray[np.intp], wish: Vector
) -> Generator[Asked, list[Round], Columns]:
    """Variances of some columns about the current location."""
    centre = np.rint(columns.location / lattice.unit)
    weights = _whole_weights(wish)
    (answer,) = yield [(ColumnSquares(columns.low, columns.high, centre, weights, which.astype(float)), share)]
    variance, sd = columns.variance.copy(), columns.sd.copy()
    noise = mean_sd[which]
    # E(x - m)² = variance + E(m - mean)²: subtract what the noise of the mean adds.
    variance[which] = answer.values["squares"] / weights - noise**2
    sd[which] = np.hypot(answer.sd("squares") / weights, np.sqrt(2.0) * noise**2)
    return replace(columns, variance=variance, sd=sd)


def _narrower_bounds(
    columns: Columns, setting: Setting, mean_sd: Vector
) -> Generator[Asked, list[Round], tuple[Columns, Vector, float]]:
    """Give drowned columns the window that holds nearly all of their rows, if counts can find one."""
    bad = np.flatnonzero(columns.variance < _DROWNED * columns.sd)
    n, lattice = setting.n_samples, setting.lattice
    # Noise of the sum of two neighbouring counts, three standard deviations, as a share of the rows.
    lost = 3.0 * np.sqrt(2.0 * bad.size * len(CELL_LEVELS)) * setting.noise(_CELLS)
    if not bad.size or lost > _MOST_LOST:
        return columns, mean_sd, 0.0
    (answer,) = yield [(CellCounts(bad.astype(float)), _CELLS)]
    counts = answer.values["cells"].reshape(bad.size, -1)
    low, high = columns.low.copy(), columns.high.copy()
    for column, cells in zip(bad, counts, strict=True):
        window = _window(cells, n, max(_LEAST_LOST, lost))
        if window is None:
            continue
        half = (window[1] - window[0]) / 2.0
        if half <= _WIDEST_WINDOW and half**2 < 16.0 * columns.sd[column]:
            low[column], high[column] = np.ceil(window[0] / lattice.unit), np.floor(window[1] / lattice.unit)
    found = np.flatnonzero((low > columns.low) | (high < columns.high))
    if not found.size:
        return columns, mean_sd, _CELLS
    narrow = replace(columns, low=low, high=high)
    narrow, sd_inside = yield from _means(narrow, lattice, _ZOOM * _ZOOM_MEAN, found)
    wish = ((high - low)[found] / 2.0) ** -2.0
    narrow = yield from _squares(narrow, lattice, sd_inside, _ZOOM * (1.0 - _ZOOM_MEAN), found, wish)
    kept = np.zeros(low.size, dtype=bool)
    kept[found] = narrow.variance[found] > narrow.sd[found]
    merged = {
        name: np.where(kept, getattr(narrow, name), getattr(columns, name))
        for name in ("location", "variance", "sd", "low", "high")
    }
    return replace(columns, **merged, rebounded=kept), np.where(kept, sd_inside, mean_sd), _CELLS + _ZOOM


def _window(cells: Vector, n: int, lost: float) -> tuple[float, float] | None:
    """The narrowest two neighbouring cells with all but ``lost`` of the rows, and half a cell on either side."""
    start = 0
    for level in CELL_LEVELS:
        counts = cells[start : start + 2**level]
        start += 2**level
        if level == CELL_LEVELS[0] and counts.max() > 0.5 * n:
            return None  # half of the rows in one point: a rare event, not careless bounds
        pairs = counts[:-1] + counts[1:]
        best = int(np.argmax(pairs))
        if pairs[best] > (1.0 - lost) * n:
            width = 2.0 / 2**level
            middle = -1.0 + (best + 1) * width
            return max(middle - 1.5 * width, -1.0), min(middle + 1.5 * width, 1.0)
    return None


def _empirical_bayes(variance: Vector, sd: Vector) -> tuple[Vector, Vector]:
    """Shrink noisy variances to their common mean; hardly at all when they differ by more than their noise."""
    if variance.size < 4:
        return variance, sd
    weight = sd**-2.0
    mean_sd = float(weight.sum() ** -0.5)
    mean = float(cautious(float((weight * variance).sum() / weight.sum()), mean_sd))
    between = max(float(np.mean((variance - mean) ** 2 - sd**2)), 0.05 * mean**2)
    keep = between / (between + sd**2)
    return mean + keep * (variance - mean), np.sqrt(keep * sd**2 + ((1.0 - keep) * mean_sd) ** 2)


def _whole_weights(wish: Vector) -> Vector:
    """Integer weights from 1 to 2²⁰ in proportion to a wish."""
    return np.asarray(np.maximum(np.rint(wish / wish.max() * _LARGEST_WEIGHT), 1.0))
