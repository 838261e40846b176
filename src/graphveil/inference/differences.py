"""Differences of numbers of two groups, with intervals, p-values and a false discovery rate.

Two releases of different people have independent errors, so on a scale on which each is about Gaussian (Fisher's z of a
correlation, the logarithm of a standard deviation) the variance of a difference is the sum of both. That gives a score
and its p-value. The interval of a difference in the units of the table comes from both intervals: its lower end is

    d - √((b - lower end of b)² + (upper end of a - a)²),

which keeps the asymmetry that intervals of correlations and of standard deviations have (Zou 2007).

A category of three levels or more is one variable. The differences d of all its levels are tested at once, by Wald's
statistic d'(V_a + V_b)⁻¹d, and have one place among the tests that share a false discovery rate. Where people may be in
both groups, V_a + V_b is replaced by (1 + t)V_a + (1 + 1/t)V_b, which no dependence exceeds, whatever t is: with the
ratio of both sizes for t, it is (√V_a + √V_b)² for a single number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix, Vector
from graphveil.inference.factors import wald_test
from graphveil.recovery.interval_width import half_width

__all__ = [
    "NUMBERS",
    "Differences",
    "Places",
    "add_covariances",
    "addition",
    "join",
    "join_levels",
    "q_values",
    "subtract",
    "subtract_ends",
]

Places = Sequence[tuple[str, Sequence[int]]]  # the name of each variable, and which of some numbers it has

# What is known of each difference, in the order of tables.
NUMBERS = ("first", "second", "difference", "lower", "upper", "std_err", "df", "p_value", "q_value")


@dataclass(frozen=True, eq=False)
class Differences:
    """One kind of number in both groups, and the differences.

    Attributes
    ----------
    what : str
        "mean", "standard deviation", "partial correlation" or "coefficient".
    labels : tuple of str
        Of each number: a variable, two joined by a dash, or a term of the regression.
    first, second : arrays
        The numbers of both groups. A category of three levels or more has none, but its associations have strengths.
    difference, lower, upper : arrays
        The second minus the first, and its interval.
    std_err : array
        Standard error of the difference; of one with an uneven interval, that of an even one of the same length.
    p_value : array
        Probability of a difference at least this large if there were none.
    q_value : array
        The smallest false discovery rate at which it would be selected (Benjamini and Hochberg 1995).
    df : array of int
        How many numbers the p-value tests at once: several for a category, all of whose levels belong together. Its
        strengths may be alike where its levels differ.
    levels : Differences or None
        The levels of these categories, one by one, without a q-value: it is their category that is selected. None if
        there are none.
    owners : array of int
        In ``levels``: the number of what each of them belongs to. Empty otherwise.

    Where one of the groups has no interval, these are NaN, and the notes of the comparison say why.
    """

    what: str
    labels: tuple[str, ...]
    first: Vector
    second: Vector
    difference: Vector
    lower: Vector
    upper: Vector
    std_err: Vector
    p_value: Vector
    q_value: Vector
    df: NDArray[np.intp]
    levels: "Differences | None" = None
    owners: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def global_p_value(self) -> float:
        """Probability of differences this large if both groups were alike in all of these numbers (Simes 1986)."""
        return float(np.fmin.reduce(self.q_value, initial=1.0))


def subtract(
    what: str,
    labels: tuple[str, ...],
    first: tuple[Vector, Vector],
    second: tuple[Vector, Vector],
    back: Callable[[Vector], Vector],
    *,
    level: float,
    overlap: bool,
) -> Differences:
    """Differences of values whose errors are Gaussian on a scale from which ``back`` leads to the user's units."""
    from scipy.stats import norm

    (a, a_sd), (b, b_sd) = first, second
    reach = half_width(level)
    a_ends, b_ends = ([back(x + far * sd) for far in (-reach, 0.0, reach)] for x, sd in (first, second))
    p_value = np.asarray(2.0 * norm.sf(np.abs(b - a) / addition(overlap)(a_sd, b_sd)))
    return Differences(
        what=what,
        labels=labels,
        **subtract_ends(a_ends, b_ends, level=level, overlap=overlap),
        p_value=p_value,
        q_value=q_values(p_value),
        df=np.ones(len(labels), dtype=np.intp),
    )


def subtract_ends(first: Sequence[Vector], second: Sequence[Vector], *, level: float, overlap: bool) -> dict[str, Any]:
    """Numbers of both groups, their differences and the intervals of these, from (lower, value, upper) of each."""
    (a_low, a, a_high), (b_low, b, b_high) = first, second
    add, difference = addition(overlap), b - a
    lower, upper = difference - add(b - b_low, a_high - a), difference + add(b_high - b, a - a_low)
    std_err = (upper - lower) / (2.0 * half_width(level))
    return {"first": a, "second": b, "difference": difference, "lower": lower, "upper": upper, "std_err": std_err}


def q_values(p_value: Vector) -> Vector:
    """Of Benjamini and Hochberg; unknown where a p-value is, which is then no test."""
    from scipy.stats import false_discovery_control

    q_value, known = p_value.copy(), ~np.isnan(p_value)
    q_value[known] = false_discovery_control(p_value[known]) if known.any() else 1.0
    return q_value


def join_levels(found: Differences, places: Places, first: Matrix, second: Matrix, *, overlap: bool) -> Differences:
    """The same with every category as one variable; ``first`` and ``second`` are the covariances of both groups."""

    def test(own: Sequence[int]) -> float:
        square = np.ix_(own, own)
        return wald_test(found.difference[own], add_covariances(first[square], second[square], overlap=overlap))[1]

    return join(found, places, [test(own) if len(own) > 1 else np.nan for _, own in places])


def join(found: Differences, places: Places, joint: Sequence[float]) -> Differences:
    """What is several numbers becomes one, without a value, with the p-value of the test of all of them."""
    df = np.array([len(own) for _, own in places], dtype=np.intp)
    several = df > 1
    if not several.any():
        return found
    start = [own[0] for _, own in places]
    numbers = {name: np.where(several, np.nan, getattr(found, name)[start]) for name in NUMBERS if name != "df"}
    numbers["p_value"] = np.where(several, joint, numbers["p_value"])
    numbers["q_value"] = q_values(numbers["p_value"])
    rows = [k for _, own in places if len(own) > 1 for k in own]
    owners = np.repeat(np.flatnonzero(several), df[several])
    levels = {name: getattr(found, name)[rows] for name in NUMBERS}
    levels["q_value"] = np.full(len(rows), np.nan)
    return Differences(
        what=found.what,
        labels=tuple(name for name, _ in places),
        **numbers,
        df=df,
        levels=Differences(f"{found.what} of a level", tuple(found.labels[k] for k in rows), **levels, owners=owners),
    )


def addition(overlap: bool) -> np.ufunc:
    """How the standard deviations of two errors add up: as the sides of a right triangle, or at worst, in full."""
    return np.add if overlap else np.hypot


def add_covariances(first: Matrix, second: Matrix, *, overlap: bool) -> Matrix:
    """The same of the covariances of several."""
    if not overlap:
        return first + second
    with np.errstate(invalid="ignore"):  # NaN where a group has no interval
        sizes = [np.linalg.slogdet(one)[1] for one in (first, second)]
    ratio = np.exp((sizes[1] - sizes[0]) / (2.0 * len(first)))
    return np.asarray((1.0 + ratio) * first + (1.0 + 1.0 / ratio) * second)
