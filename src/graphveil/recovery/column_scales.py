"""First questions: the mean and the variance of every column; and narrower bounds where the public ones drown it.

All numbers are in scaled units: the public box is [-1, 1] for every column.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphveil.recovery.protocol import ProtocolInputs, QueryBatch
from graphveil.released.answers import Answer
from graphveil.spec.quantization import CELL_LEVELS, RowGrid
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares

__all__ = ["Columns", "column_rounds", "narrower_bounds"]

Vector = NDArray[np.float64]

_MEAN, _SQUARES, _WEIGHTED = 0.02, 0.08, 0.10  # shares of μ²
_CELLS, _ZOOM = 0.04, 0.04  # only where nothing was seen of a column in a round, and narrower bounds can be found
_ZOOM_MEAN = 0.2  # of the zoom
_MOST_LOST = 0.2  # narrower bounds are looked for only if the counts can place them to within this share of the rows
_LEAST_LOST = 0.03
_ROOM = 32.0  # times as wide as what holds nearly all rows: the tail that carries a variance reaches no farther
_GAIN = 4.0  # times narrower than the public bounds, or it is not worth describing another variable
_LARGEST_WEIGHT = 2.0**20


@dataclass(frozen=True)
class Columns:
    """What is known of every column.

    Attributes
    ----------
    location : (p,) array
        A first mean.
    variance, sd : (p,) arrays
        Private variances and the standard deviations of their noise; infinite sd where nothing was asked.
    low, high : (p,) arrays of integers
        Windows on the lattice.
    rebounded : (p,) array of bool
        Columns that were given narrower bounds.
    """

    location: Vector
    variance: Vector
    sd: Vector
    low: Vector
    high: Vector
    rebounded: NDArray[np.bool_]

    def reach(self, unit: float) -> Vector:
        """Squared distance from the mean to the farther end of the window; ``unit`` is a lattice step."""
        return np.asarray(np.maximum(self.high * unit - self.location, self.location - self.low * unit) ** 2)


def column_rounds(inputs: ProtocolInputs) -> Generator[QueryBatch, list[Answer], tuple[Columns, float]]:
    """Ask about columns; return what is known, and the share of μ² that is left."""
    p, lattice = inputs.n_features, inputs.lattice
    columns, mean_sd, spent = _columns_before_answers(p, lattice.edge, inputs.radius), np.zeros(p), 0.0
    if not inputs.centred:
        columns, mean_sd = yield from _means(columns, lattice, _MEAN, np.arange(p))
        spent += _MEAN
    if not inputs.has_bounds:
        return columns, 1.0 - spent
    first = yield from _squares(columns, lattice, mean_sd, _SQUARES, np.arange(p), np.ones(p))
    weights = 1.0 / np.maximum(first.variance, first.sd)  # the same relative noise on every variance
    again = yield from _squares(first, lattice, mean_sd, _WEIGHTED, np.arange(p), weights)
    precision, precision_again = first.sd**-2.0, again.sd**-2.0
    variance = (first.variance * precision + again.variance * precision_again) / (precision + precision_again)
    columns = replace(columns, variance=variance, sd=(precision + precision_again) ** -0.5)
    return columns, 1.0 - spent - _SQUARES - _WEIGHTED


def _columns_before_answers(p: int, edge: float, radius: float) -> Columns:
    """Before any question: every column may hold its part of the squared norm."""
    return Columns(
        location=np.zeros(p),
        variance=np.full(p, radius**2 / p),
        sd=np.full(p, np.inf),
        low=np.full(p, -edge),
        high=np.full(p, edge),
        rebounded=np.zeros(p, dtype=bool),
    )


def _means(
    columns: Columns, lattice: RowGrid, share: float, which: NDArray[np.intp]
) -> Generator[QueryBatch, list[Answer], tuple[Columns, Vector]]:
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
    columns: Columns, lattice: RowGrid, mean_sd: Vector, share: float, which: NDArray[np.intp], wish: Vector
) -> Generator[QueryBatch, list[Answer], Columns]:
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


def narrower_bounds(
    columns: Columns, inputs: ProtocolInputs, unseen: NDArray[np.bool_]
) -> Generator[QueryBatch, list[Answer], tuple[Columns, float]]:
    """Give columns of which nothing was seen a window with room for nearly all of their rows, if counts can find one.

    Returns what is known then, and the share of μ² that it took. From there on the column is estimated as cut to the
    window.
    """
    unseen_columns = np.flatnonzero(unseen)
    n, lattice = inputs.n_samples, inputs.lattice
    # Noise of the sum of two neighbouring counts, three standard deviations, as a share of the rows.
    lost = 3.0 * np.sqrt(2.0 * unseen_columns.size * len(CELL_LEVELS)) * inputs.noise(_CELLS)
    if not unseen_columns.size or lost > _MOST_LOST:
        return columns, 0.0
    (answer,) = yield [(CellCounts(unseen_columns.astype(float)), _CELLS)]
    counts = answer.values["cells"].reshape(unseen_columns.size, -1)
    low, high = columns.low.copy(), columns.high.copy()
    for column, cells in zip(unseen_columns, counts, strict=True):
        window = _window(cells, n, max(_LEAST_LOST, lost))
        if window is not None:
            low[column], high[column] = np.ceil(window[0] / lattice.unit), np.floor(window[1] / lattice.unit)
    found = np.flatnonzero((low > columns.low) | (high < columns.high))
    if not found.size:
        return columns, _CELLS
    narrow = replace(columns, low=low, high=high)
    narrow, mean_sd = yield from _means(narrow, lattice, _ZOOM * _ZOOM_MEAN, found)
    wish = ((high - low)[found] / 2.0) ** -2.0
    narrow = yield from _squares(narrow, lattice, mean_sd, _ZOOM * (1.0 - _ZOOM_MEAN), found, wish)
    rebounded = np.zeros(low.size, dtype=bool)
    rebounded[found] = True
    return replace(narrow, rebounded=rebounded), _CELLS + _ZOOM


def _window(cells: Vector, n: int, lost: float) -> tuple[float, float] | None:
    """Room about the narrowest two neighbouring cells with all but ``lost`` of the rows; None if that gains little."""
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
            middle, half = -1.0 + (best + 1) * width, _ROOM * width
            return (max(middle - half, -1.0), min(middle + half, 1.0)) if half < 1.0 / _GAIN else None
    return None


def _whole_weights(wish: Vector) -> Vector:
    """Integer weights from 1 to 2²⁰ in proportion to a wish."""
    return np.asarray(np.maximum(np.rint(wish / wish.max() * _LARGEST_WEIGHT), 1.0))
