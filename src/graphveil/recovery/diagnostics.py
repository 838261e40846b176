"""Warnings and notes that a reader must know before relying on an estimate, from published numbers alone."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphveil._tables import list_first
from graphveil.recovery.column_variances import TOLERATED
from graphveil.recovery.effective_records import effective_records, records_for
from graphveil.recovery.unknown_levels import unknown_levels
from graphveil.released.release import Release
from graphveil.spec.case import Case
from graphveil.spec.rounding import format_exact

if TYPE_CHECKING:
    from graphveil.recovery.class_moments import ClassMoments
    from graphveil.recovery.estimate import Estimate

__all__ = [
    "diagnostics",
    "drowned_columns",
    "has_bounds_of_indicator",
    "low_n_eff_warning",
    "pair_warnings",
    "remedies",
    "warnings_for",
]

_DROWNED = 0.5  # standard deviation of a log variance: it may be anything between a third and three times
_ENOUGH = 1.5  # effective records per column: with fewer planned, too many releases turn out to have less than one
_HARDLY_EVER = 0.05  # of records: moments are divided by this share, and so is their noise


def diagnostics(release: Release, found: "Estimate") -> list[str]:
    """What a reader must know before believing an estimate, in sentences; from published numbers alone."""
    said = warnings_for(release, found) + pair_warnings(release, found)
    if found.flat:
        said.append("The release shows no structure above its noise.")
    vague = found.undetermined & (found.relative_sd <= _DROWNED)
    if vague.any():
        said.append(
            f"The standard deviation of these columns may be off by more than a factor of {TOLERATED}, and so may "
            f"regression coefficients; the intervals account for this: {_list_columns(release, vague)}."
            + remedies(release, vague)
        )
    hidden = found.hidden_tails & ~found.undetermined & ~has_bounds_of_indicator(release)
    if hidden.any():
        said.append(
            "The bounds of these columns allow long tails that the release cannot see. Standard deviations, and "
            "intervals of everything else, assume that there are none: "
            f"{_list_columns(release, hidden)}.{remedies(release, hidden)}"
        )
    weight = release.domain.weight
    if weight is not None and not _weights_drown(release):
        mean = release.divisor / release.n_samples * weight.largest
        said.append(
            f"The mean weight is about {mean:.3g}, but the noise is that of records which all have the largest, "
            f"{weight.largest:g}; the sampling error is that of {release.n_kish:,.0f} equally weighted "
            f"{release.event.counted}."
        )
    return said


def low_n_eff_warning(release: Release, found: "Estimate | ClassMoments") -> list[str]:
    """A warning if a release has fewer effective records than columns."""
    p = len(found.covariance)
    if found.n_eff >= p:
        return []
    event = release.event
    case = Case(max(1, round(release.n_samples)), p, release.budget, event.rows_per_person, neighbours=event.neighbours)
    # Where these records are worth less than Gaussian ones would be, so will others.
    needed = records_for(case, _ENOUGH * p * max(1.0, effective_records(case)[0] / found.n_eff))
    advice = "A larger ε is" if needed is None else f"About {_round_up(needed):,} {event.counted}, or a larger ε, are"
    return [
        f"This release is only as good as n_eff = {found.n_eff:.3g} noise-free records for {p} columns: edges are "
        f"not reliable at this budget. {advice} needed."
    ]


def warnings_for(release: Release, found: "Estimate") -> list[str]:
    """Warnings for everybody who uses an estimate."""
    said = low_n_eff_warning(release, found)
    drowned = drowned_columns(found)
    if drowned.any() and not said:
        said.append(
            "The variance of these columns is within its noise. Do not interpret these columns: "
            f"{_list_columns(release, drowned)}.{_causes(release, drowned)}{remedies(release, drowned)}"
        )
    if _weights_drown(release):
        said.append(
            "The total weight is within its noise, and everything is divided by it. Is the column of weights the right "
            "one, and does it hold numbers? Is the largest weight far above most of them?"
        )
    hardly = release.observed <= _HARDLY_EVER
    if hardly.any():
        said.append(
            "These columns, or some pairs of them, are almost always missing: do not interpret results about them: "
            f"{_list_columns(release, hardly.any(axis=1) & (np.diag(release.observed) < 1.0))}."
        )
    unknown = unknown_levels(release, found)
    if unknown:
        listed = [f"{_short(name)} (about {share:.0%})" for name, share in unknown.items()]
        said.append(
            "Many cells of these columns hold none of the declared levels, and count in equal parts for all of them: "
            f"{list_first(listed)}. Is a level misspelt? Where values may be missing, declare it."
        )
    if found.saturated:
        said.append(
            f"Rows fill data_norm={release.domain.radius:g}, to which longer rows are clipped: the estimate "
            "describes clipped rows. Give a larger public norm, or bounds."
        )
    return said


def pair_warnings(release: Release, found: "Estimate") -> list[str]:
    """Warnings for those who read partial correlations; regressions say in their notes what concerns their columns."""
    said = []
    for group in found.collinear:
        which = np.isin(np.arange(len(found.covariance)), group)
        said.append(
            "As far as the release can tell, these columns are collinear. Do not interpret partial correlations "
            f"among them: {_list_columns(release, which)}. Leave at least one out."
        )
    # Where columns are named, or all are warned of, it is most likely they along which nothing is known.
    if found.unresolved and not (said or drowned_columns(found).any() or found.n_eff < len(found.covariance)):
        said.append("Some directions lie within the noise; do not interpret partial correlations along them.")
    return said


def remedies(release: Release, which: NDArray[np.bool_]) -> str:
    """What helps columns of which the release says too little; nothing does where bounds are those of an indicator."""
    said, rare = "", which & has_bounds_of_indicator(release)
    if (which & ~rare).any():
        said = " Narrower public bounds would help, or taking logarithms of very skewed columns."
    if rare.any():
        named = f" in {_list_columns(release, rare)}" if said else ""
        said += (
            f" Ones or zeros{named} may be too rare for ε = {format_exact(release.budget.epsilon)} and "
            f"{release.n_samples:,} {release.event.counted}."
        )
    return said


def _causes(release: Release, which: NDArray[np.bool_]) -> str:
    """What to look for in columns without a variance."""
    asked = "Is it constant" if np.count_nonzero(which) == 1 else "Are they constant"
    of_text = release.columns is not None and (which & ~has_bounds_of_indicator(release)).any()
    return f" {asked}, or text in a CSV file?" if of_text else f" {asked}?"


def has_bounds_of_indicator(release: Release) -> NDArray[np.bool_]:
    """Columns with the bounds of an indicator, as the levels of categories have them."""
    p = len(release.column_names)
    if release.domain.bounds is None:
        return np.zeros(p, dtype=bool)
    lower, upper = (np.broadcast_to(end, p) for end in release.domain.bounds)
    return np.asarray((lower == 0.0) & (upper == 1.0))


def drowned_columns(found: "Estimate") -> NDArray[np.bool_]:
    """Columns whose variance is within its noise."""
    return np.asarray(found.undetermined & (found.relative_sd > _DROWNED))


def _weights_drown(release: Release) -> bool:
    """Whether the total weight is not known to within a third."""
    return release.domain.weight is not None and release.divisor_noise > 1.0 / 3.0


def _list_columns(release: Release, which: NDArray[np.bool_]) -> str:
    return list_first([_short(name) for name, wanted in zip(release.column_names, which, strict=True) if wanted])


def _round_up(count: int) -> int:
    step: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // step) * step


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"
