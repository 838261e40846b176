"""Differences of numbers of two groups, with intervals, p-values and a false discovery rate.

Two releases of different people have independent errors, so the variance of a difference is the sum of both, and its
interval and its p-value follow. Standard deviations have errors that are about Gaussian on the scale of their
logarithms. There the p-value is found, and the interval of a difference in the units of the table comes from both
intervals: its lower end is

    d - √((b - lower end of b)² + (upper end of a - a)²),

which keeps their asymmetry (Zou 2007).

A category of three levels or more is one variable. The differences d of all its levels are tested at once, by Wald's
statistic d'(V_a + V_b)⁻¹d, and have one place among the tests that share a false discovery rate. Where people may be in
both groups, V_a + V_b is replaced by (1 + t)V_a + (1 + 1/t)V_b, which no dependence exceeds, whatever t is: with the
ratio of both sizes for t, it is (√V_a + √V_b)² for a single number.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

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
    "calibrate",
    "join",
    "q_values",
    "subtract",
    "subtract_logs",
]

Places = Sequence[tuple[str, Sequence[int]]]  # the name of each variable, and which of some numbers it has

_MOST_LEVELS = 12  # that a summary lists
_MOST_TOGETHER = 1000  # numbers in one Wald test; of more, Simes's rule makes one p-value

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
        The numbers of both groups. A category of three levels or more has none, but its associations have strengths
        if both groups have a network.
    difference, lower, upper : arrays
        The second minus the first, and its interval; a category has none.
    std_err : array
        Standard error of the difference; of one with an uneven interval, that of an even one of the same length.
    p_value : array
        Probability of a difference at least this large if there were none.
    q_value : array
        The smallest false discovery rate at which it would be selected (Benjamini and Hochberg 1995).
    df : array of int
        How many numbers the p-value tests at once: several for a category, all of whose levels belong together, but
        for those of which a group says too little. Its strengths may be alike where its levels differ.
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

    def levels_of(self, k: int) -> list[int]:
        """Which ``levels`` belong to a number: of many, those that differ most surely."""
        if self.levels is None:
            return []
        own = np.flatnonzero(self.levels.owners == k)
        surest = own[np.argsort(self.levels.p_value[own], kind="stable")][:_MOST_LEVELS]
        return [int(j) for j in (own if own.size <= _MOST_LEVELS else surest)]

    @property
    def global_p_value(self) -> float:
        """Probability of differences this large if both groups were alike in all of these numbers (Simes 1986)."""
        return float(np.fmin.reduce(self.q_value, initial=1.0))


def subtract(
    what: str, labels: tuple[str, ...], first: Vector, second: Vector, std_err: Vector, level: float
) -> Differences:
    """Differences whose errors are Gaussian; those without a standard error have neither interval nor p-value."""
    from scipy.stats import norm

    difference, reach = second - first, half_width(level) * std_err
    p_value = np.asarray(2.0 * norm.sf(np.abs(difference) / std_err))
    return Differences(
        what=what,
        labels=labels,
        first=first,
        second=second,
        difference=difference,
        lower=difference - reach,
        upper=difference + reach,
        std_err=std_err,
        p_value=p_value,
        q_value=q_values(p_value),
        df=np.ones(len(labels), dtype=np.intp),
    )


def subtract_logs(
    what: str,
    labels: tuple[str, ...],
    first: tuple[Vector, Vector],
    second: tuple[Vector, Vector],
    *,
    level: float,
    overlap: bool,
) -> Differences:
    """Differences of positive numbers, from their logarithms and the standard deviations of these."""
    (a, a_sd), (b, b_sd) = first, second
    add, reach = addition(overlap), half_width(level)
    (a_low, a_here, a_high), (b_low, b_here, b_high) = (
        [np.exp(x + far * sd) for far in (-reach, 0.0, reach)] for x, sd in (first, second)
    )
    difference = b_here - a_here
    lower, upper = difference - add(b_here - b_low, a_high - a_here), difference + add(b_high - b_here, a_here - a_low)
    return replace(
        subtract(what, labels, a, b, add(a_sd, b_sd), level),
        first=a_here,
        second=b_here,
        difference=difference,
        lower=lower,
        upper=upper,
        std_err=(upper - lower) / (2.0 * reach),
    )


def q_values(p_value: Vector) -> Vector:
    """Of Benjamini and Hochberg; unknown where a p-value is, which is then no test."""
    from scipy.stats import false_discovery_control

    q_value, known = p_value.copy(), ~np.isnan(p_value)
    q_value[known] = false_discovery_control(p_value[known]) if known.any() else 1.0
    return q_value


def join(found: Differences, places: Places, covariance: Callable[[int], Matrix]) -> Differences:
    """Every variable has one place, and those with several numbers one test of them all, without a value.

    ``covariance`` is that of the differences of a variable. Those without a standard error are not tested.
    """
    several = np.array([len(own) > 1 for _, own in places])
    if not several.any():
        return found
    start, known = [own[0] for _, own in places], ~np.isnan(found.std_err)

    def test(k: int, own: NDArray[np.intp]) -> float:
        told = known[own]
        if not told.any():
            return np.nan
        if np.count_nonzero(told) > _MOST_TOGETHER:
            return float(np.nanmin(q_values(found.p_value[own])))
        return wald_test(found.difference[own[told]], covariance(k)[np.ix_(told, told)])[1]

    joint = [test(k, np.array(own)) if len(own) > 1 else np.nan for k, (_, own) in enumerate(places)]
    numbers = {name: np.where(several, np.nan, getattr(found, name)[start]) for name in NUMBERS if name != "df"}
    numbers["p_value"] = np.where(several, joint, numbers["p_value"])
    numbers["q_value"] = q_values(numbers["p_value"])
    rows = [k for _, own in places if len(own) > 1 for k in own]
    owners = np.repeat(np.flatnonzero(several), [len(own) for _, own in places if len(own) > 1])
    levels = {name: getattr(found, name)[rows] for name in NUMBERS}
    levels["q_value"] = np.full(len(rows), np.nan)
    return Differences(
        what=found.what,
        labels=tuple(name for name, _ in places),
        **numbers,
        df=np.array([known[list(own)].sum() if len(own) > 1 else 1 for _, own in places], dtype=np.intp),
        levels=Differences(f"{found.what} of a level", tuple(found.labels[k] for k in rows), **levels, owners=owners),
    )


def calibrate(found: Differences, simulated: Sequence[Differences]) -> Differences:
    """The same with errors as large as those of simulated differences of groups that do not differ.

    Standard errors are multiplied by the root mean square of the simulated differences in theirs. The statistic of a
    joint test has a γ distribution with the mean and the variance that it has in simulation: that of Wald's, if its law
    holds. What cannot be tested in half of the simulations is not tested.
    """
    from scipy.stats import chi2, gamma, norm

    simulated_p = np.array([one.p_value for one in simulated]).reshape(-1, found.p_value.size)
    told = np.count_nonzero(np.isfinite(simulated_p), axis=0) > len(simulated) / 2.0
    joint = np.isnan(found.difference) & (found.df > 0)
    scores = norm.isf(simulated_p / 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        factor = np.where(told, np.sqrt(np.nanmean(scores**2, axis=0)), np.nan)
        statistics = chi2.isf(simulated_p, np.maximum(found.df, 1))
        mean, variance = np.nanmean(statistics, axis=0), np.nanvar(statistics, axis=0, ddof=1)
    p_value = 2.0 * norm.sf(norm.isf(found.p_value / 2.0) / factor)
    together = gamma.sf(chi2.isf(found.p_value, np.maximum(found.df, 1)), mean**2 / variance, scale=variance / mean)
    p_value = np.where(joint, np.where(told, together, np.nan), p_value)
    levels = found.levels
    if levels is not None:
        own = [one.levels for one in simulated if one.levels is not None]
        levels = replace(calibrate(levels, own), q_value=levels.q_value)
    return replace(
        found,
        lower=found.difference - factor * (found.difference - found.lower),
        upper=found.difference + factor * (found.upper - found.difference),
        std_err=found.std_err * factor,
        p_value=p_value,
        q_value=q_values(p_value),
        levels=levels,
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
