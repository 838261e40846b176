"""Do two groups differ? Means, standard deviations, partial correlations and regressions of two releases, side by side.

The arithmetic of differences is in :mod:`graphveil.inference.differences`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphveil._html import facts_html
from graphveil._network_plot import Panel, plot_networks
from graphveil._packages import import_package
from graphveil._tables import decimals, fixed, list_first
from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.inference.differences import (
    NUMBERS,
    Differences,
    Places,
    add_covariances,
    addition,
    join,
    subtract,
    subtract_logs,
)
from graphveil.inference.error_law import UncertainMoments
from graphveil.inference.regression import Regression, regression
from graphveil.inference.shared_start import SharedStart
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.diagnostics import drowned_columns
from graphveil.recovery.edge_intervals import EdgeIntervals, within_groups
from graphveil.recovery.estimate import Estimate, recover
from graphveil.recovery.network import RELIABLE
from graphveil.released.grouped import require_release
from graphveil.released.merged import MergedRelease
from graphveil.released.release import Release
from graphveil.spec.forecast import SEEN
from graphveil.spec.grouping import GroupEvent
from graphveil.spec.kinds import Category

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AllDifferences", "Comparison", "Side", "check_alike", "compare_sides", "group_names", "subtract_sides"]

# What may differ between releases that describe the same thing: how far rows were clipped, and whose row is whose.
_OWN = ("data_norm", "rows_per_person", "person", "neighbours")
_SHOWN = 10  # differences that a summary lists


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences of two groups; made by :func:`graphveil.compare`.

    Attributes
    ----------
    names : tuple of two str
        What the groups are called.
    columns : tuple of str
    variables : mapping of str to range
        Which of the columns each variable has: several, if it is a category of three levels or more.
    means : Differences or None
        Of every variable, of categories the shares of their levels; None if rows were assumed to be centred.
    standard_deviations : Differences
        Of every column except the levels of categories, whose shares determine them.
    partial_correlations : Differences or None
        Of every pair of v variables, in the order of ``np.triu_indices(v, 1)``; None if a release has too few effective
        records. Both groups start from what they say together, so numbers differ a little from each group's own edges.
    coefficients : Differences or None
        Of the terms of one regression in both groups, the intercept first; None if no ``outcome`` was given.
    outcome : str or None
        The outcome of that regression.
    networks : pair of (v, v) arrays or None
        Partial correlations of the variables in both groups, or strengths of categories, zero if they could be noise;
        None if there is a ``reason``.
    notes : tuple of str
        What a reader must know, such as why a coefficient has no interval in a group.
    reason : str or None
        Why there are no networks.
    level, fdr : float
        Level of the intervals, and the false discovery rate at which numbers ``differ``.
    n_eff : tuple of two floats
        Number of noise-free records that each release is as good as.
    overlap : bool
        Whether people may have records in both.
    draws : int
        From how many drawn pairs of groups the size of errors was measured; 0 if it is that of their law.
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
    level: float
    fdr: float
    n_eff: tuple[float, float]
    overlap: bool
    draws: int = 0

    @property
    def kinds(self) -> tuple[Differences, ...]:
        """All kinds of numbers that were compared."""
        found = (self.coefficients, self.partial_correlations, self.means, self.standard_deviations)
        return tuple(kind for kind in found if kind is not None)

    @property
    def all_numbers(self) -> tuple[Differences, ...]:
        """The same, each followed by the levels of its categories: what tables list."""
        return tuple(part for kind in self.kinds for part in (kind, kind.levels) if part is not None)

    def differ(self, kind: Differences) -> NDArray[np.bool_]:
        """Which numbers of a kind differ; at most a share ``fdr`` of them is expected to be due to chance."""
        return np.asarray(kind.q_value <= self.fdr)

    def to_frame(self) -> "pd.DataFrame":
        """A data frame of all numbers, the most significant differences first. Needs pandas.

        A category has a row of its own; those of its levels ("mean of a level") have no q-value, and none ``differs``.
        """
        pd = import_package("pandas", "to_frame")

        parts = []
        for kind in self.all_numbers:
            numbers = {name: getattr(kind, name) for name in NUMBERS}
            parts.append(pd.DataFrame({"what": kind.what, "of": kind.labels, **numbers, "differs": self.differ(kind)}))
        return pd.concat(parts).sort_values("p_value", kind="stable", ignore_index=True)

    def plot(self) -> Any:
        """Both networks and their differences on one layout: a matplotlib figure, or SVG without matplotlib.

        The networks show the edges that are unlikely to be noise, the third panel the pairs that ``differ``.
        """
        return plot_networks(tuple(self.variables), self.panels)

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The drawn panels: both networks and their difference."""
        if self.networks is None or self.partial_correlations is None:
            raise InvalidParameter(f"there are no networks to draw. {self.reason}")
        kind, size = self.partial_correlations, len(self.variables)
        shown = np.nan_to_num(kind.difference)
        if kind.levels is not None:  # of a category: what the level differs by that differs most
            known = ~np.isnan(kind.levels.p_value)
            np.maximum.at(shown, kind.levels.owners[known], np.abs(kind.levels.difference[known]))
        differs = self.differ(kind)
        count, (a, b) = np.count_nonzero(differs), self.names
        what = f"{b} − {a}: {count} {'pair differs' if count == 1 else 'pairs differ'}"
        drawn = (a, self.networks[0]), (b, self.networks[1]), (what, _symmetric(np.where(differs, shown, 0.0), size))
        widths = [len(place) for place in self.variables.values()]
        joint = np.outer(widths, widths) > 1
        return tuple(Panel(name, weights, joint=joint) for name, weights in drawn)

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
            said += self._list(kind, self._surest(kind))
        if self.notes:
            said += ["", *self.notes]
        if self.missing is not None:
            said += ["", self.missing]
        if self.smallest_difference is not None:
            said += ["", self._power]
        return said

    @property
    def smallest_difference(self) -> float | None:
        """Difference of two partial correlations that a test detects four times out of five, at 95%; None without any.

        Of two single columns, whose standard error is the median.
        """
        kind = self.partial_correlations
        parts = [] if kind is None else [part.std_err for part in (kind, kind.levels) if part is not None]
        known = [one for part in parts for one in part if not np.isnan(one)]
        return float(SEEN * np.median(known)) if known else None

    @property
    def missing(self) -> str | None:
        """What could not be made, and why."""
        if self.reason is None:
            return None
        what = "No networks are drawn." if self.partial_correlations else "No partial correlations are compared."
        return f"{what} {self.reason}"

    @property
    def _assumption(self) -> str:
        drawn = (
            f" Errors are as large as in {self.draws} drawn pairs of groups that do not differ." if self.draws else ""
        )
        if self.overlap:
            return f"People may be in both groups: intervals are valid under any dependence of their errors.{drawn}"
        return f"Assumes that nobody's records are in both groups.{drawn}"

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
        """The numbers that a summary lists: all coefficients, and of the others those that differ."""
        if kind is self.coefficients:
            return [*range(len(kind.labels))]
        chosen = np.flatnonzero(self.differ(kind))
        return [int(k) for k in chosen[np.argsort(kind.p_value[chosen], kind="stable")][:_SHOWN]]

    def _list(self, kind: Differences, chosen: list[int], indent: str = "  ") -> list[str]:
        width = max((len(kind.labels[k]) for k in chosen), default=0)
        said = []
        for k in chosen:
            said.append(f"{indent}{kind.labels[k]:{width}}  {self._describe(kind, k)}")
            if kind.levels is not None:
                said += self._list(kind.levels, kind.levels_of(k), indent + "  ")
        return said

    def _describe(self, kind: Differences, k: int) -> str:
        """Both numbers, as far as there are any, their difference and its interval, and the p-value."""
        values = [float(value) for value in (kind.first[k], kind.second[k]) if not np.isnan(value)]
        if np.isnan(kind.p_value[k]):
            said = [" and ".join(fixed(value, decimals(np.nan, value)) for value in values)] if values else []
            return " ".join([*said, "(no interval)"])
        said = [" and ".join(f"{value:.4g}" for value in values)] if values else []
        if not np.isnan(kind.difference[k]):
            ends = f"{kind.lower[k]:+.3g} to {kind.upper[k]:+.3g}"
            said = [f"{said[0]}: {kind.difference[k]:+.3g} ({self.level:.0%} interval {ends})"]
        together = f" for {kind.df[k]} {kind.what}s together" if kind.df[k] > 1 else ""
        return ", ".join([*said, f"p = {kind.p_value[k]:.2g}{together}"])

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.differ(kind).sum()} of {len(kind.labels)} {kind.what}s" for kind in self.kinds)
        return f"<Comparison of {self.names[0]} and {self.names[1]}: {counts} differ>"

    def _repr_html_(self) -> str:
        facts = [("assumes", self._assumption), *((kind.what + "s", self._verdict(kind)) for kind in self.kinds)]
        for kind in self.kinds:
            facts += [(f"{kind.what} {kind.labels[k]}", self._describe(kind, k)) for k in self._surest(kind)]
        return facts_html(f"{self.names[1]} minus {self.names[0]}", facts)


@dataclass(frozen=True, eq=False)
class Side:
    """One of the groups, with all that is compared: made once for comparisons with several others.

    Attributes
    ----------
    release : Release
    name : str
    estimate : Estimate
    level : float
        Of intervals.
    fitted : Regression or None
    """

    release: Release
    name: str
    estimate: Estimate
    level: float
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
        return cls(release, name, found, level, fitted)

    @cached_property
    def edges(self) -> EdgeIntervals:
        """The edges of its network, with their intervals."""
        return Analysis(self.release, self.estimate).find_intervals(self.level)

    @property
    def mean_covariance(self) -> Matrix:
        """Covariance of the errors of the means that clipping did not make."""
        total = UncertainMoments.of(self.release, self.estimate).location_spread.total
        return np.asarray(total - np.diag(self.estimate.location_shift**2))

    @cached_property
    def untold(self) -> NDArray[np.bool_]:
        """Levels of categories of which too little is known for a test of the category."""
        found = np.zeros(len(self.release.column_names), dtype=bool)
        for place in self.release.variables.values():
            if len(place) > 1:
                found[list(place)] = self.estimate.undetermined[list(place)]
        return found

    @cached_property
    def unknown_pairs(self) -> NDArray[np.bool_]:
        """Pairs of columns that this group says nothing of."""
        lost = self.untold | drowned_columns(self.estimate)
        return np.asarray(lost[:, None] | lost | within_groups(self.estimate.collinear, lost.size))

    def network(self, fdr: float) -> Matrix:
        """Partial correlations, zero where noise could have made them."""
        return np.where(self.edges.select(fdr), self.edges.estimate, 0.0)

    def panel(self, network: Matrix) -> Panel:
        """The network as a picture."""
        return Panel(self.name, network, joint=None if self.edges.df is None else self.edges.df > 1)


def compare_sides(a: Side, b: Side, *, fdr: float, overlap: bool) -> Comparison:
    """Compare two groups that are known to be alike in what their numbers mean."""
    columns = a.release.column_names
    reason = next((side.edges.reason for side in (a, b) if side.edges.reason is not None), None)
    differences, notes = subtract_sides(a, b, overlap=overlap), list[str]()
    correlations = differences.partial_correlations
    if correlations is not None:  # of categories, strengths
        upper, category = np.triu_indices(len(a.release.variables), 1), np.isnan(correlations.difference)
        first = np.where(category, a.edges.estimate[upper], correlations.first)
        second = np.where(category, b.edges.estimate[upper], correlations.second)
        correlations = replace(correlations, first=first, second=second)
    if a.fitted is not None and b.fitted is not None:
        notes = [f"{side.name}: {note}" for side in (a, b) for note in getattr(side.fitted, "notes", ())]
    for side in (a, b):
        if correlations is not None and side.edges.note is not None:
            notes.append(f"{side.name}: {side.edges.note}")
        if correlations is not None and side.untold.any():
            named = list_first([columns[k] for k in np.flatnonzero(side.untold)])
            notes.append(f"{side.name}: too little is known of {named}: tests of partial correlations leave it out.")
        vague = [columns[k] for k in _numeric_columns(side.release) if _vague(side.estimate)[k]]
        if vague:
            notes.append(f"{side.name}: the standard deviation of {', '.join(vague)} is not known well enough.")
    return Comparison(
        names=(a.name, b.name),
        columns=columns,
        variables=a.release.variables,
        means=differences.means,
        standard_deviations=differences.standard_deviations,
        partial_correlations=correlations,
        coefficients=differences.coefficients,
        outcome=None if a.fitted is None else a.fitted.outcome,
        networks=None if reason is not None else (a.network(fdr), b.network(fdr)),
        notes=tuple(notes),
        reason=reason,
        level=a.level,
        fdr=fdr,
        n_eff=(a.estimate.n_eff, b.estimate.n_eff),
        overlap=overlap,
    )


class AllDifferences(NamedTuple):
    """Every kind of numbers of a comparison; None where there is none."""

    means: Differences | None
    standard_deviations: Differences
    partial_correlations: Differences | None
    coefficients: Differences | None


def subtract_sides(a: Side, b: Side, *, overlap: bool) -> AllDifferences:
    """The numbers of a comparison, without networks."""
    numeric, columns = _numeric_columns(a.release), a.release.column_names
    names, (first, second) = tuple(columns[k] for k in numeric), (_log_sds(one.estimate, numeric) for one in (a, b))
    return AllDifferences(
        None if a.release.augment is None else _subtract_means(a, b, overlap=overlap),
        subtract_logs("standard deviation", names, first, second, level=a.level, overlap=overlap),
        _subtract_networks(a, b, overlap=overlap),
        _subtract_terms(a, b, overlap=overlap),
    )


def check_alike(a: Any, b: Any, *, overlap: bool) -> None:
    """Refuse releases that describe different things, or, unless it was said, the same people."""
    for name, release in (("a", a), ("b", b)):
        require_release(name, release)
        if release.event.mechanism != "default":
            raise InvalidParameter(f"release {name} has the paper's noise, which is for comparison with papers only.")
    for field in fields(a.domain):
        if field.name not in _OWN and getattr(a.domain, field.name) != getattr(b.domain, field.name):
            raise InvalidParameter(
                f"the {field.name} of both releases must be the same: otherwise numbers with the same name would "
                "not be comparable. Release both groups with one domain."
            )
    if (a.augment is None) != (b.augment is None):
        raise InvalidParameter("a and b must both have released the mean, or both have assumed that it is zero.")
    if not overlap and _share_people(a, b):
        raise InvalidParameter("a and b are groups of one table in which people may be in both: pass overlap=True.")
    shared = {part.checksum for part in _parts(a)} & {part.checksum for part in _parts(b)}
    if shared and not overlap:
        raise InvalidParameter(
            "a and b must be releases of different people, but they come from the same release. If people may be in "
            "both, pass overlap=True."
        )


def _share_people(a: Release, b: Release) -> bool:
    """Whether two releases are groups of a table, some people of which are in several of them."""
    events = [part.event for release in (a, b) for part in _parts(release)]
    return all(isinstance(event, GroupEvent) and event.groups_per_person > 1 for event in events)


def _parts(release: Release) -> tuple[Release, ...]:
    return release.parts if isinstance(release, MergedRelease) else (release,)


def group_names(a: Release, b: Release) -> tuple[str, str]:
    """What two groups are called."""
    events = a.event, b.event
    if isinstance(events[0], GroupEvent) and isinstance(events[1], GroupEvent) and events[0].group != events[1].group:
        return str(events[0].group[1]), str(events[1].group[1])
    return "a", "b"


def _numeric_columns(release: Release) -> list[int]:
    """The columns that are no levels of a category."""
    codebook = release.domain.codebook
    if codebook is None:
        return [*range(len(release.column_names))]
    named = zip(codebook.kinds, codebook.places, strict=True)
    return [k for kind, place in named if not isinstance(kind, Category) for k in place]


def _places_of_terms(fitted: Regression) -> Places:
    """Which of its terms each variable of a regression has: several, if it is a category of three levels or more."""
    joint = [(factor.name, factor.numbers_in(fitted.names)) for factor in fitted.factors]
    joint = [(name, own) for name, own in joint if len(own) > 1]
    owned = {k for _, own in joint for k in own}
    singles = [(name, [k]) for k, name in enumerate(fitted.names) if k not in owned]
    return sorted([*joint, *singles], key=lambda place: place[1])


def _symmetric(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """A symmetric matrix with these numbers above its diagonal, and zeros on it."""
    found = np.zeros((size, size), dtype=numbers.dtype)
    found[np.triu_indices(size, 1)] = numbers
    return found + found.T


def _pairs(columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{columns[i]} — {columns[j]}" for i, j in zip(*np.triu_indices(len(columns), 1), strict=True))


def _subtract_terms(a: Side, b: Side, *, overlap: bool) -> Differences | None:
    """Coefficients of a regression."""
    first, second = a.fitted, b.fitted
    if first is None or second is None:
        return None
    std_err, places = addition(overlap)(first.terms.std_err, second.terms.std_err), _places_of_terms(first)
    found = subtract("coefficient", first.names, first.terms.value, second.terms.value, std_err, a.level)

    def covariance(k: int) -> Matrix:
        square = np.ix_(places[k][1], places[k][1])
        return add_covariances(first.spread.total[square], second.spread.total[square], overlap=overlap)

    return join(found, places, covariance)


def _subtract_means(a: Side, b: Side, *, overlap: bool) -> Differences:
    """Means. Clipping moves those of two groups alike, as far as they are clipped alike: only the rest is an error."""
    first, second = ((one.estimate.location, one.estimate.location_shift, one.mean_covariance) for one in (a, b))
    apart, places = second[1] - first[1], [*a.release.variables.items()]
    std_err = np.hypot(addition(overlap)(*(np.sqrt(one[2].diagonal()) for one in (first, second))), apart)
    found = subtract("mean", a.release.column_names, first[0], second[0], std_err, a.level)

    def covariance(k: int) -> Matrix:
        square = np.ix_(places[k][1], places[k][1])
        return add_covariances(first[2][square], second[2][square], overlap=overlap) + np.diag(apart**2)[square]

    return join(found, places, covariance)


def _log_sds(found: Estimate, columns: list[int]) -> tuple[Vector, Vector]:
    variance = found.covariance.diagonal()
    sd = np.where(_vague(found), np.nan, found.variance_sd / variance / 2.0)
    return np.log(variance[columns]) / 2.0, sd[columns]


def _vague(found: Estimate) -> NDArray[np.bool_]:
    """Columns whose standard deviation has no interval."""
    return np.asarray(found.undetermined | found.hidden_tails)


def _subtract_networks(a: Side, b: Side, *, overlap: bool) -> Differences | None:
    """Partial correlations of all pairs of variables."""
    columns, variables = a.release.column_names, a.release.variables
    if any(side.estimate.n_eff < RELIABLE * len(columns) or side.unknown_pairs.all() for side in (a, b)):
        return None
    start, pairs = SharedStart.of(a.estimate, b.estimate, overlap=overlap), np.triu_indices(len(columns), 1)
    unknown = (a.unknown_pairs | b.unknown_pairs)[pairs]
    first, second, std_err = (np.where(unknown, np.nan, found[pairs]) for found in (*start.correlations, start.sd))
    by_level = subtract("partial correlation", _pairs(columns), first, second, std_err, a.level)
    blocks, number = [*combinations(variables.values(), 2)], _symmetric(np.arange(first.size), len(columns))
    numbers = [number[np.ix_(own, other)].ravel().tolist() for own, other in blocks]
    places = [*zip(_pairs(tuple(variables)), numbers, strict=True)]
    return join(by_level, places, lambda k: start.covariance(*blocks[k]))
