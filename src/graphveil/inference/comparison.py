"""Do two groups differ? Means, standard deviations, partial correlations and regressions of two releases, side by side.

Two releases of different people have independent errors, so on a scale on which each is about Gaussian (Fisher's z of a
correlation, the logarithm of a standard deviation) the variance of a difference is the sum of both. That gives a score
and its p-value. The interval of a difference in the units of the table comes from both intervals: its lower end is

    d - √((b - lower end of b)² + (upper end of a - a)²),

which keeps the asymmetry that intervals of correlations and of standard deviations have (Zou 2007).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil._html import facts_html
from graphveil._network_plot import Panel, common_places, plot_networks
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.inference.regression import Regression, regression
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.recovery.estimate import Estimate, recover
from graphveil.released.merged import MergedRelease
from graphveil.released.release import Release
from graphveil.spec.forecast import SEEN
from graphveil.spec.grouping import GroupEvent

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Differences", "Side", "compare", "compare_sides"]

Vector = NDArray[np.float64]

# What may differ between releases that describe the same thing: how far rows were clipped, and whose row is whose.
_OWN = ("data_norm", "rows_per_person", "person", "neighbours")
_SHOWN = 10  # differences that a summary lists


@dataclass(frozen=True, eq=False)
class Differences:
    """One kind of number in both groups, and what they differ by.

    Attributes
    ----------
    what : str
        "mean", "standard deviation", "partial correlation" or "coefficient".
    labels : tuple of str
        Of each number: a column, two joined by a dash, or a term of the regression.
    first, second : arrays
        The numbers of both groups.
    difference, lower, upper : arrays
        The second minus the first, and its interval.
    std_err : array
        Standard error of the difference; of one with an uneven interval, that of an even one of the same length.
    p_value : array
        Probability of a difference at least this large if there were none.
    q_value : array
        The smallest false discovery rate at which it would be selected (Benjamini and Hochberg 1995).

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

    @property
    def global_p_value(self) -> float:
        """Probability of differences this large if both groups were alike in all of these numbers (Simes 1986)."""
        return float(np.fmin.reduce(self.q_value, initial=1.0))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What two groups differ in; made by :func:`graphveil.compare`.

    Attributes
    ----------
    names : tuple of two str
        What the groups are called.
    columns : tuple of str
    variables : mapping of str to range
        Which of the columns each variable has: several, if it is a category of three levels or more.
    means : Differences or None
        Of every column; None if rows were assumed to be centred.
    standard_deviations : Differences
        Of every column.
    partial_correlations : Differences or None
        Of every pair of columns, levels of categories apart, in the order of ``np.triu_indices(p, 1)``; None if there
        is a ``reason``.
    coefficients : Differences or None
        Of the terms of one regression in both groups, the intercept first; None if no ``outcome`` was asked for.
    outcome : str or None
        What that regression explains.
    networks : pair of (v, v) arrays or None
        Partial correlations of the variables in both groups, or strengths of categories, zero where noise could have
        made them; None if there is a ``reason``.
    notes : tuple of str
        What a reader must know, such as why a coefficient has no interval in a group.
    reason : str or None
        Why there are no partial correlations with intervals.
    smallest_difference : float or None
        Difference of two partial correlations near zero that would be detected four times out of five, at 95%.
    level, fdr : float
        Level of the intervals, and the false discovery rate at which numbers ``differ``.
    n_eff : tuple of two floats
        Noise-free records that each release is as good as.
    overlap : bool
        Whether somebody's records may be in both.
    """

    names: tuple[str, str]
    columns: tuple[str, ...]
    variables: Mapping[str, range]
    means: Differences | None
    standard_deviations: Differences
    partial_correlations: Differences | None
    coefficients: Differences | None
    outcome: str | None
    networks: tuple[Matrix, Matrix] | None
    notes: tuple[str, ...]
    reason: str | None
    smallest_difference: float | None
    level: float
    fdr: float
    n_eff: tuple[float, float]
    overlap: bool

    @property
    def kinds(self) -> tuple[Differences, ...]:
        """All kinds of numbers that were compared."""
        found = (self.coefficients, self.partial_correlations, self.means, self.standard_deviations)
        return tuple(kind for kind in found if kind is not None)

    def differ(self, kind: Differences) -> NDArray[np.bool_]:
        """Which numbers of a kind differ: a share of at most ``fdr`` of them is expected to be chance."""
        return np.asarray(kind.q_value <= self.fdr)

    def to_frame(self) -> "pd.DataFrame":
        """A data frame of all numbers, those that differ most surely first. Needs pandas."""
        import pandas as pd

        parts = []
        for kind in self.kinds:
            numbers = {name: getattr(kind, name) for name in _NUMBERS}
            parts.append(pd.DataFrame({"what": kind.what, "of": kind.labels, **numbers, "differs": self.differ(kind)}))
        return pd.concat(parts).sort_values("p_value", kind="stable", ignore_index=True)

    def plot(self) -> Any:
        """Both networks and what they differ by, on one layout: a figure of matplotlib, or SVG without it.

        The networks have the edges that noise is unlikely to have made, the third panel the pairs that ``differ``.
        """
        return plot_networks(tuple(self.variables), *self.panels)

    @property
    def panels(self) -> tuple[tuple[Panel, ...], Matrix]:
        """What is drawn: both networks and their difference, and places that suit both."""
        if self.networks is None or self.partial_correlations is None:
            raise InvalidParameter(f"there are no networks to draw. {self.reason}")
        apart = np.zeros((len(self.columns), len(self.columns)))
        chosen = np.where(self.differ(self.partial_correlations), self.partial_correlations.difference, 0.0)
        apart[np.triu_indices(len(apart), 1)] = chosen
        count, (a, b) = np.count_nonzero(chosen), self.names
        what = f"{b} − {a}: {count} {'pair differs' if count == 1 else 'pairs differ'}"
        widths = np.array([len(place) for place in self.variables.values()])
        joint = np.outer(widths, widths) > 1
        largest = _largest_of_variables(apart + apart.T, self.variables)
        drawn = (a, self.networks[0]), (b, self.networks[1]), (what, np.where(joint, np.abs(largest), largest))
        return tuple(Panel(name, weights, joint=joint) for name, weights in drawn), common_places(self.networks)

    def summary(self) -> str:
        """The comparison in words: one paragraph for each kind of number."""
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The lines of the summary; a column's name in them may hold anything."""
        a, b = self.names
        said = [
            f"{b} compared with {a}: differences are {b} minus {a}.",
            f"As good as {self.n_eff[0]:,.0f} and {self.n_eff[1]:,.0f} noise-free records. {self._assumption}",
        ]
        for kind in self.kinds:
            said.append("")
            said.append(self._verdict(kind))
            said += self._list(kind)
        if self.notes:
            said += ["", *self.notes]
        if self.reason is not None:
            said += ["", f"No partial correlations are compared. {self.reason}"]
        if self.smallest_difference is not None:
            said += ["", self._power]
        return said

    @property
    def _assumption(self) -> str:
        if self.overlap:
            return "People may be in both groups: intervals hold however their errors depend on each other."
        return "Assumes that nobody's records are in both groups."

    @property
    def _power(self) -> str:
        return (
            f"A single pair is detected four times out of five if its partial correlations differ by "
            f"{self.smallest_difference:.2g}; among many pairs, only larger differences are."
        )

    def _verdict(self, kind: Differences) -> str:
        count, several = int(self.differ(kind).sum()), len(kind.labels)
        name = kind.what if several == 1 else f"{kind.what}s"
        if kind is self.coefficients:
            name = f"{name} of the regression of {self.outcome}"
        return (
            f"{count} of {several} {name} {'differs' if count == 1 else 'differ'} at a false discovery rate of "
            f"{self.fdr:g} (all alike: p = {kind.global_p_value:.2g})."
        )

    def _surest(self, kind: Differences) -> list[int]:
        """Those that a summary lists: all coefficients, since they were asked for, and of others what differs."""
        if kind is self.coefficients:
            return [*range(len(kind.labels))]
        chosen = np.flatnonzero(self.differ(kind))
        return [int(k) for k in chosen[np.argsort(kind.p_value[chosen], kind="stable")][:_SHOWN]]

    def _list(self, kind: Differences) -> list[str]:
        surest = self._surest(kind)
        width = max((len(kind.labels[k]) for k in surest), default=0)
        return [
            f"  {kind.labels[k]:{width}}  {kind.first[k]:.4g} and {kind.second[k]:.4g}: {kind.difference[k]:+.3g} "
            + ("(no interval)" if np.isnan(kind.p_value[k]) else self._interval(kind, k))
            for k in surest
        ]

    def _interval(self, kind: Differences, k: int) -> str:
        ends = f"{self.level:.0%} interval {kind.lower[k]:+.3g} to {kind.upper[k]:+.3g}"
        return f"({ends}), p = {kind.p_value[k]:.2g}"

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.differ(kind).sum()} of {len(kind.labels)} {kind.what}s" for kind in self.kinds)
        return f"<Comparison of {self.names[0]} and {self.names[1]}: {counts} differ>"

    def _repr_html_(self) -> str:
        facts = [("assumes", self._assumption), *((kind.what + "s", self._verdict(kind)) for kind in self.kinds)]
        for kind in self.kinds:
            for k in self._surest(kind):
                said = f"{kind.difference[k]:+.3g} ({kind.lower[k]:+.3g} to {kind.upper[k]:+.3g})"
                facts.append((f"{kind.what} {kind.labels[k]}", said))
        return facts_html(f"{self.names[1]} minus {self.names[0]}", facts)


_NUMBERS = tuple(field.name for field in fields(Differences) if field.name not in ("what", "labels"))


def compare(
    a: Release,
    b: Release,
    *,
    outcome: str | int | None = None,
    on: Sequence[str | int] | None = None,
    names: tuple[str, str] | None = None,
    level: float = 0.95,
    fdr: float = 0.1,
    overlap: bool = False,
) -> Comparison:
    """Compare two releases: means, standard deviations, partial correlations, a regression, with intervals. Free.

    Parameters
    ----------
    a, b : Release
        Of the same columns with the same bounds.
    outcome, on : optional
        A regression to compare, as in :func:`graphveil.regression`: the column to explain, and those to explain it by
        (by default, all others).
    names : pair of str, optional
        What the groups are called. Default: their levels, for releases made with ``by``; otherwise "a" and "b".
    level : float, default 0.95
        Level of the intervals, for each number separately.
    fdr : float, default 0.1
        False discovery rate at which numbers of each kind are said to differ.
    overlap : bool, default False
        False states that nobody has records in both releases: their errors are then independent. With True standard
        deviations add up instead of variances, which is right however the two depend on each other, and wider.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=4), 20_000, random_state=0)
    >>> domain, budget = gv.Domain(bounds=(-6, 6)), gv.Budget(1.0, 1e-6)
    >>> one, two = (
    ...     gv.release(part, domain=domain, budget=budget, random_state=0) for part in (rows[::2], rows[1::2] + 0.5)
    ... )
    >>> compare(one, two, names=("before", "after"))
    <Comparison of before and after: 0 of 6 partial correlations, 4 of 4 means, 0 of 4 standard deviations differ>
    """
    _check_alike(a, b, overlap=_validation.flag("overlap", overlap))
    called = _validation.text_tuple("names", names or _group_names(a, b))
    if len(called) != 2:
        raise InvalidParameter.of("names", "two names", names)
    level = _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    fdr = _validation.number("fdr", fdr, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    if outcome is None and on is not None:
        raise InvalidParameter("on needs an outcome: the column that these columns explain.")
    sides = Side.of(a, called[0], level, outcome, on), Side.of(b, called[1], level, outcome, on)
    return compare_sides(*sides, fdr=fdr, overlap=overlap)


@dataclass(frozen=True, eq=False)
class Side:
    """One of the groups, with all that is compared: made once for comparisons with several others.

    Attributes
    ----------
    release : Release
    name : str
    estimate : Estimate
    edges : EdgeIntervals
    fitted : Regression or None
    """

    release: Release
    name: str
    estimate: Estimate
    edges: EdgeIntervals
    fitted: Regression | None

    @classmethod
    def of(
        cls,
        release: Release,
        name: str,
        level: float,
        outcome: str | int | None = None,
        on: Sequence[str | int] | None = None,
    ) -> "Side":
        """What a release says."""
        found = recover(release)
        fitted = None if outcome is None else regression(release, outcome, on, level=level)
        return cls(release, name, found, Analysis(release, found).find_intervals(level), fitted)

    def network(self, fdr: float) -> Matrix:
        """Partial correlations, zero where noise could have made them."""
        return np.where(self.edges.select(fdr), self.edges.estimate, 0.0)

    def panel(self, network: Matrix) -> Panel:
        """The network as a picture."""
        return Panel(self.name, network, joint=None if self.edges.df is None else self.edges.df > 1)


def compare_sides(a: Side, b: Side, *, fdr: float, overlap: bool) -> Comparison:
    """The same of two groups that are known to be alike in what their numbers mean."""
    edges, columns = [side.edges.by_level or side.edges for side in (a, b)], a.release.column_names
    reason = next((found.reason for found in edges if found.reason is not None), None)
    subtract = partial(_subtract, level=a.edges.level, overlap=overlap)
    correlations = coefficients = means = None
    notes: tuple[str, ...] = ()
    if reason is None:
        correlations = subtract("partial correlation", _pairs(columns), _scores(edges[0]), _scores(edges[1]), np.tanh)
    if a.fitted is not None and b.fitted is not None:
        coefficients = subtract("coefficient", a.fitted.names, _terms(a.fitted), _terms(b.fitted), _identity)
        notes = tuple(
            f"{name}: {note}" for name, part in ((a.name, a.fitted), (b.name, b.fitted)) for note in part.notes
        )
    for side in (a, b):
        vague = [columns[k] for k in np.flatnonzero(_vague(side.estimate))]
        if vague:
            notes += (f"{side.name}: the standard deviation of {', '.join(vague)} is not known well enough.",)
    if a.release.augment is not None:
        means = subtract("mean", columns, _means(a.estimate), _means(b.estimate), _identity)
    return Comparison(
        names=(a.name, b.name),
        columns=columns,
        variables=a.release.variables,
        means=means,
        standard_deviations=subtract("standard deviation", columns, _log_sds(a.estimate), _log_sds(b.estimate), np.exp),
        partial_correlations=correlations,
        coefficients=coefficients,
        outcome=None if a.fitted is None else a.fitted.outcome,
        networks=None if reason is not None else (a.network(fdr), b.network(fdr)),
        notes=notes,
        reason=reason,
        smallest_difference=None if reason is not None else _smallest_difference(*edges, overlap=overlap),
        level=a.edges.level,
        fdr=fdr,
        n_eff=(a.estimate.n_eff, b.estimate.n_eff),
        overlap=overlap,
    )


def _check_alike(a: Any, b: Any, *, overlap: bool) -> None:
    """Refuse releases that describe different things, or, unless it was said, the same people."""
    for name, release in (("a", a), ("b", b)):
        if not isinstance(release, Release):
            raise InvalidParameter.of(name, "a gv.Release", release, "Read a file with gv.Release.load(path).")
        if release.event.mechanism != "default":
            raise InvalidParameter(f"release {name} has the paper's noise, which is for comparison with papers only.")
    for field in fields(a.domain):
        if field.name not in _OWN and getattr(a.domain, field.name) != getattr(b.domain, field.name):
            raise InvalidParameter(
                f"the {field.name} of both releases must be the same: otherwise numbers of the same name would not "
                "mean the same. Release both groups with one domain."
            )
    if (a.augment is None) != (b.augment is None):
        raise InvalidParameter("a and b must both have released the mean, or both have assumed that it is zero.")
    if not overlap and _share_people(a, b):
        raise InvalidParameter("a and b are groups of one table in which somebody is in both: say overlap=True.")
    shared = {part.checksum for part in _parts(a)} & {part.checksum for part in _parts(b)}
    if shared and not overlap:
        raise InvalidParameter(
            "a and b must be releases of different people, and they are made of the same release. If people may be in "
            "both, say overlap=True."
        )


def _share_people(a: Release, b: Release) -> bool:
    """Whether two releases are groups of a table, some people of which are in several of them."""
    events = [part.event for release in (a, b) for part in _parts(release)]
    return all(isinstance(event, GroupEvent) and event.groups_per_person > 1 for event in events)


def _parts(release: Release) -> tuple[Release, ...]:
    return release.parts if isinstance(release, MergedRelease) else (release,)


def _group_names(a: Release, b: Release) -> tuple[str, str]:
    events = a.event, b.event
    if isinstance(events[0], GroupEvent) and isinstance(events[1], GroupEvent) and events[0].group != events[1].group:
        return str(events[0].group[1]), str(events[1].group[1])
    return "a", "b"


def _largest_of_variables(numbers: Matrix, variables: Mapping[str, range]) -> Matrix:
    """Of every pair of variables, the largest number of a pair of their columns; 0 on the diagonal."""
    first = [place.start for place in variables.values()]
    lowest, highest = (
        extreme.reduceat(extreme.reduceat(numbers, first, axis=0), first, axis=1)
        for extreme in (np.minimum, np.maximum)
    )
    largest = np.where(-lowest > highest, lowest, highest)
    np.fill_diagonal(largest, 0.0)  # levels of one category
    return np.asarray(largest)


def _pairs(columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{columns[i]} — {columns[j]}" for i, j in zip(*np.triu_indices(len(columns), 1), strict=True))


def _identity(values: Vector) -> Vector:
    return values


# Of each kind of number: values on a scale on which their errors are about Gaussian, and their standard deviations.
def _means(found: Estimate) -> tuple[Vector, Vector]:
    return found.location, found.location_sd


def _log_sds(found: Estimate) -> tuple[Vector, Vector]:
    variance = found.covariance.diagonal()
    return np.log(variance) / 2.0, np.where(_vague(found), np.nan, found.variance_sd / variance / 2.0)


def _vague(found: Estimate) -> NDArray[np.bool_]:
    """Columns whose standard deviation has no interval."""
    return np.asarray(found.undetermined | found.hidden_tails)


def _terms(fitted: Regression) -> tuple[Vector, Vector]:
    return fitted.terms.value, fitted.terms.std_err


def _scores(edges: EdgeIntervals) -> tuple[Vector, Vector]:
    pairs = np.triu_indices(len(edges.estimate), 1)
    return edges.fisher_z[pairs], edges.fisher_z_sd[pairs]


def _subtract(
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
    from scipy.stats import false_discovery_control, norm

    add = _addition(overlap)
    (a, a_sd), (b, b_sd) = first, second
    reach = norm.isf((1.0 - level) / 2.0)
    a_low, a_value, a_high = (back(a + far * a_sd) for far in (-reach, 0.0, reach))
    b_low, b_value, b_high = (back(b + far * b_sd) for far in (-reach, 0.0, reach))
    difference = b_value - a_value
    p_value = np.asarray(2.0 * norm.sf(np.abs(b - a) / add(a_sd, b_sd)))
    q_value, known = p_value.copy(), ~np.isnan(p_value)
    q_value[known] = false_discovery_control(p_value[known]) if known.any() else 1.0
    lower = difference - add(b_value - b_low, a_high - a_value)
    upper = difference + add(b_high - b_value, a_value - a_low)
    return Differences(
        what=what,
        labels=labels,
        first=a_value,
        second=b_value,
        difference=difference,
        lower=lower,
        upper=upper,
        std_err=(upper - lower) / (2.0 * reach),
        p_value=p_value,
        q_value=q_value,
    )


def _addition(overlap: bool) -> np.ufunc:
    """How the standard deviations of two errors add up: as the sides of a right triangle, or at worst, in full."""
    return np.add if overlap else np.hypot


def _smallest_difference(first: EdgeIntervals, second: EdgeIntervals, *, overlap: bool) -> float | None:
    pairs = np.triu_indices(len(first.estimate), 1)
    if not pairs[0].size:
        return None
    return float(np.tanh(SEEN * np.median(_addition(overlap)(first.fisher_z_sd[pairs], second.fisher_z_sd[pairs]))))
