"""First queries: the mean and the variance of every column, and the range of its rows if public bounds are too wide.

All numbers are in scaled units: the public box is [-1, 1] for every column.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Vector
from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.stage import PlannedStep, QueryBatch
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.released.answers import Answer
from graphveil.released.observed import observed_shares
from graphveil.spec.quantization import CELL_LEVELS, CELLS, RowGrid
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, ObservedPairs

__all__ = ["Bulk", "Columns", "column_rounds", "column_steps", "count_bulk", "has_few_records", "has_hardly_a_scale"]

_LARGEST_WEIGHT = 2.0**20  # weights are integers


@dataclass(frozen=True)
class Columns:
    """Estimates of every column.

    Attributes
    ----------
    location, location_sd : (p,) arrays
        A first mean, and the standard deviations of its noise.
    variance, sd : (p,) arrays
        Private variances and the standard deviations of their errors; infinite sd where nothing was asked.
    squares_sd : (p,) array
        The part of these that is not due to the first mean, about which squares were taken.
    low, high : (p,) arrays of integers
        Bounds on the grid of rows.
    there : (p,) array
        Shares of the records in which the columns are not missing. Variances are those of columns whose missing values
        stand at the mean.
    """

    location: Vector
    location_sd: Vector
    variance: Vector
    sd: Vector
    squares_sd: Vector
    low: Vector
    high: Vector
    there: Vector

    def reach(self, unit: float) -> Vector:
        """Squared distance from the mean to the farther end of the window; ``unit`` is a lattice step."""
        return np.asarray(np.maximum(self.high * unit - self.location, self.location - self.low * unit) ** 2)

    def largest_variance(self, unit: float) -> Vector:
        """That of a column with half of its values at either end of the window."""
        return np.asarray(((self.high - self.low) * unit / 2.0) ** 2 * self.there)

    def recentred(self, offset: Vector, offset_sd: Vector) -> "Columns":
        """The same once it is known how far the mean is from the first one: squares about that had its square, too."""
        variance = self.variance + self.there * (self.location_sd**2 - offset**2)
        sd = np.hypot(self.squares_sd, 2.0 * self.there * offset * offset_sd)
        return replace(self, variance=variance, sd=sd)


def has_few_records(inputs: ProtocolInputs) -> bool:
    """Whether histograms of norms in three rounds would say nothing; from public numbers."""
    rounds, histogram = PROTOCOL.noisy_rounds
    return inputs.noise(histogram * rounds[0] * _left_for_rounds(inputs)) >= PROTOCOL.largest_count_noise


def has_hardly_a_scale(inputs: ProtocolInputs) -> bool:
    """Whether one round is worth fewer than two records a column; from public numbers.

    Then little more than the scale of the rows can be learnt, and what helps to find that is worth its share.
    """
    sd = inputs.noise(_left_for_rounds(inputs)) * PROTOCOL.blind_radius**2 * inputs.n_features
    n_eff = 1.0 / (1.0 / inputs.n_samples + sd**2 / 2.0)
    return inputs.has_bounds and has_few_records(inputs) and n_eff < PROTOCOL.few_records * inputs.n_features


def _left_for_rounds(inputs: ProtocolInputs) -> float:
    spent = PROTOCOL.gaps_share * bool(inputs.gaps) + PROTOCOL.mean_share * (not inputs.centred)
    return 1.0 - spent - (PROTOCOL.squares_share + PROTOCOL.weighted_squares_share) * inputs.has_bounds


def column_rounds(inputs: ProtocolInputs) -> Generator[QueryBatch, list[Answer], tuple[Columns, float]]:
    """Query the columns; return the estimates and the remaining share of μ²."""
    p, lattice = inputs.n_features, inputs.lattice
    columns, spent = _columns_before_answers(inputs), 0.0
    if inputs.gaps:
        asked = ObservedPairs(np.array([float(place.start) for place in inputs.gaps]))
        (answer,) = yield [(asked, PROTOCOL.gaps_share)]
        shares = observed_shares(answer, inputs.gaps, p, inputs.n_samples)
        columns, spent = replace(columns, there=np.diag(shares)), PROTOCOL.gaps_share
    if not inputs.centred:
        few = has_hardly_a_scale(inputs)
        share = PROTOCOL.few_mean_share if few else PROTOCOL.mean_share
        columns = yield from _means(columns, inputs, share, shrunk=few)
        spent += share
    if not inputs.has_bounds:
        return columns, 1.0 - spent
    first = yield from _squares(columns, lattice, PROTOCOL.squares_share, np.ones(p))
    weights = 1.0 / np.maximum(first.variance, first.sd)  # the same relative noise on every variance
    again = yield from _squares(first, lattice, PROTOCOL.weighted_squares_share, weights)
    precision, precision_again = first.sd**-2.0, again.sd**-2.0
    total = precision + precision_again
    variance = (first.variance * precision + again.variance * precision_again) / total
    squares_sd = np.hypot(first.squares_sd * precision, again.squares_sd * precision_again) / total
    columns = replace(columns, variance=variance, sd=total**-0.5, squares_sd=squares_sd)
    return columns, 1.0 - spent - PROTOCOL.squares_share - PROTOCOL.weighted_squares_share


def column_steps(p: int, gaps: int, *, bounded: bool, centred: bool) -> list[PlannedStep]:
    """What is known in advance of the questions about columns, those of :func:`count_bulk` too.

    ``gaps`` is the number of variables that declare missing values.
    """
    squares = PROTOCOL.squares_share, PROTOCOL.weighted_squares_share
    return [
        *([PlannedStep(gaps * (gaps + 1) // 2, PROTOCOL.gaps_share)] if gaps else []),
        *([] if centred else [PlannedStep(p, min(PROTOCOL.mean_share, PROTOCOL.few_mean_share), counts=False)]),
        *([PlannedStep(p, share, counts=False) for share in squares] if bounded else []),
        *([PlannedStep(p * CELLS, PROTOCOL.cells_share)] if bounded and not centred else []),
    ]


def _columns_before_answers(inputs: ProtocolInputs) -> Columns:
    """Before any question: every column may hold its part of the squared norm."""
    p = inputs.n_features
    edge = np.full(p, inputs.lattice.edge)
    low, high = inputs.window or (-edge, edge)
    return Columns(
        location=np.zeros(p),
        location_sd=np.zeros(p),
        variance=np.full(p, inputs.radius**2 / p),
        sd=np.full(p, np.inf),
        squares_sd=np.full(p, np.inf),
        low=low,
        high=high,
        there=np.ones(p),
    )


def _means(
    columns: Columns, inputs: ProtocolInputs, share: float, *, shrunk: bool
) -> Generator[QueryBatch, list[Answer], Columns]:
    """Means of the columns, each with noise in proportion to its window.

    ``shrunk`` means drawn towards the middle of the windows, as far as all of them together look like noise (James and
    Stein).
    """
    lattice = inputs.lattice
    weights = _whole_weights(1.0 / (columns.high - columns.low))
    query = ColumnMeans(columns.low, columns.high, weights, np.arange(float(weights.size)))
    (answer,) = yield [(query, share)]
    sd = answer.sd("means") / weights / columns.there
    # A missing value counts as zero.
    steps = np.rint(answer.values["means"] / weights / lattice.unit / columns.there)
    steps = steps + inputs.mean_origin(query)
    if shrunk:
        middle = (columns.low + columns.high) / 2.0
        off = (steps - middle) * lattice.unit / sd
        trust = max(0.0, 1.0 - weights.size / float(off @ off)) if off.any() else 0.0
        steps, sd = np.rint(middle + trust * (steps - middle)), trust * sd
    location = np.clip(steps, columns.low, columns.high) * lattice.unit
    return replace(columns, location=location, location_sd=sd)


def _squares(
    columns: Columns, lattice: RowGrid, share: float, wish: Vector
) -> Generator[QueryBatch, list[Answer], Columns]:
    """Variances of the columns about the current location."""
    centre = np.rint(columns.location / lattice.unit)
    weights = _whole_weights(wish)
    query = ColumnSquares(columns.low, columns.high, centre, weights, np.arange(float(weights.size)))
    (answer,) = yield [(query, share)]
    squares_sd = answer.sd("squares") / weights
    noise = columns.location_sd * np.sqrt(columns.there)
    # E(x - m)² = variance + E(m - mean)²: subtract what the noise of the mean adds.
    variance = answer.values["squares"] / weights - noise**2
    sd = np.hypot(squares_sd, np.sqrt(2.0) * noise**2)
    return replace(columns, variance=variance, sd=sd, squares_sd=squares_sd)


@dataclass(frozen=True)
class Bulk:
    """Where nearly all rows of the columns lie.

    Attributes
    ----------
    middle, half : (p,) arrays
        Middles and half-widths of the windows that hold them; NaN where none was found.
    """

    middle: Vector
    half: Vector


def count_bulk(
    inputs: ProtocolInputs, drowned: NDArray[np.bool_], there: Vector
) -> Generator[QueryBatch, list[Answer], tuple[Bulk, float]]:
    """Where nearly all rows of columns lie of which a round has seen next to nothing, if counts can tell.

    Returns that, and the share of μ² that it took.
    """
    which = np.flatnonzero(drowned)
    middle, half = np.full((2, drowned.size), np.nan)
    # Noise of the sum of two neighbouring counts, three standard deviations, as a share of the rows.
    lost = 3.0 * np.sqrt(2.0 * which.size * len(CELL_LEVELS)) * inputs.noise(PROTOCOL.cells_share)
    if not which.size or lost > PROTOCOL.most_rows_lost:
        return Bulk(middle, half), 0.0
    (answer,) = yield [(CellCounts(which.astype(float)), PROTOCOL.cells_share)]
    nearly_all = 1.0 - max(PROTOCOL.least_rows_lost, lost)
    for column, cells in zip(which, answer.values["cells"].reshape(which.size, -1), strict=True):
        middle[column], half[column] = _find_bulk(cells, inputs.n_samples * there[column], nearly_all)
    return Bulk(middle, half), PROTOCOL.cells_share


def _find_bulk(cells: Vector, n: float, nearly_all: float) -> tuple[float, float]:
    """Middle and half-width of the narrowest two neighbouring cells with nearly all rows."""
    start = 0
    for level in CELL_LEVELS:
        counts = cells[start : start + 2**level]
        start += 2**level
        if level == CELL_LEVELS[0] and counts.max() > 0.5 * n:
            break  # half of the rows in one point: a rare event, whose variance lies elsewhere
        pairs = counts[:-1] + counts[1:]
        best = int(np.argmax(pairs))
        if pairs[best] > nearly_all * n:
            width = 2.0 / 2**level
            return -1.0 + (best + 1) * width, width
    return np.nan, np.nan


def _whole_weights(wish: Vector) -> Vector:
    """Integer weights from 1 to 2²⁰ in proportion to a wish."""
    return np.asarray(np.maximum(np.rint(wish / wish.max() * _LARGEST_WEIGHT), 1.0))
