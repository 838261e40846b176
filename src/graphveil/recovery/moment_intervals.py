"""Intervals of means, standard deviations and correlations, from the distribution of their errors.

Each is approximately Gaussian on its own scale: a mean as it is, a standard deviation as its logarithm, a correlation
as Fisher's z. Correlations are those before denoising, which has shrunk them.
"""

from typing import TYPE_CHECKING

import numpy as np

from graphveil._tables import Table, decimals, fixed, list_first
from graphveil._typing import Vector
from graphveil.recovery.diagnostics import drowned_columns
from graphveil.recovery.edge_intervals import EdgeIntervals, fisher_z, leave_out
from graphveil.recovery.interval_width import half_width
from graphveil.recovery.network import repair_diagonal

if TYPE_CHECKING:
    from graphveil.recovery.estimate import Estimate

__all__ = ["column_estimates", "column_table", "correlation_intervals"]


def column_estimates(estimate: "Estimate", level: float) -> dict[str, Vector]:
    """Means and standard deviations with the ends of their intervals; NaN where these are not known well enough.

    Of a column whose variance is within its noise, nobody knows how far clipping moved the mean.
    """
    half = half_width(level)
    std_err = np.where(drowned_columns(estimate), np.nan, estimate.location_sd)
    sd = np.sqrt(np.diag(estimate.covariance))
    relative = half * estimate.variance_sd / (2.0 * sd**2)
    relative = np.where(estimate.undetermined | estimate.hidden_tails, np.nan, relative)
    return {
        "mean": estimate.location,
        "std_err": std_err,
        "lower": estimate.location - half * std_err,
        "upper": estimate.location + half * std_err,
        "sd": sd,
        "sd_lower": sd * np.exp(-relative),
        "sd_upper": sd * np.exp(relative),
    }


def column_table(estimate: "Estimate", names: tuple[str, ...], level: float) -> Table:
    """The same as a table."""
    numbers, tail = column_estimates(estimate, level), (1.0 - level) / 2.0
    ends = (f"[{tail:.3g}", f"{1.0 - tail:.3g}]")
    rows = []
    for k, name in enumerate(names):
        width = float(numbers["sd_upper"][k] - numbers["sd_lower"][k]) / 4.0
        mean, sd = float(numbers["mean"][k]), float(numbers["sd"][k])
        places = [decimals(float(numbers["std_err"][k]), mean)] * 4 + [decimals(width, sd)] * 3
        cells = [fixed(float(values[k]), most) for values, most in zip(numbers.values(), places, strict=True)]
        rows.append((name, *cells))
    notes = ["std err accounts for sampling, noise, and the shift of a mean that clipping may cause."]
    if estimate.undetermined.any():
        notes.append("Without an interval, a standard deviation may be off by more than a factor of 1.2.")
    if drowned_columns(estimate).any():
        notes.append("No interval of a mean where the variance is within its noise: clipping may have moved it.")
    hidden = [name for name, lost in zip(names, estimate.hidden_tails & ~estimate.undetermined, strict=True) if lost]
    if hidden:
        notes.append(
            "No interval of a standard deviation where the bounds allow tails that this budget cannot detect with so "
            f"few records, and means assume that there are none: {list_first(hidden)}. Narrower public bounds would "
            "help."
        )
    facts = (("Records", f"as good as {estimate.n_eff:,.0f} without noise"),)
    header = ("", "mean", "std err", *ends, "std dev", *ends)
    return Table("Columns of a private release", facts, header, tuple(rows), tuple(notes))


def correlation_intervals(estimate: "Estimate", level: float) -> EdgeIntervals:
    """Correlations of all pairs before denoising, with their intervals, where variances are above their noise.

    Noise may take a covariance beyond the root of the variances: of such a pair, too, nothing is known.
    """
    from scipy.stats import norm

    noisy = repair_diagonal(estimate.noisy.matrix, estimate.noisy)
    scale = 1.0 / np.sqrt(noisy.diagonal())
    found = noisy * np.outer(scale, scale)
    z = fisher_z(found)
    np.fill_diagonal(z, 0.0)
    sd = estimate.correlation_sd * np.cosh(fisher_z(estimate.correlation)) ** 2  # dz/dr = 1/(1 - r²)
    np.fill_diagonal(sd, 1.0)
    p_value = np.asarray(2.0 * norm.sf(np.abs(z) / sd))
    intervals = EdgeIntervals.of_scores(z, half_width(level) * sd, p_value, level, estimate.columns or ())
    drowned = drowned_columns(estimate)
    larger = (np.abs(found) >= 1.0) & ~drowned[:, None] & ~drowned
    np.fill_diagonal(larger, False)
    unknown = larger | ((drowned[:, None] | drowned) & ~np.eye(len(found), dtype=bool))
    names = estimate.columns or tuple(f"x{k}" for k in range(len(found)))
    notes = []
    if drowned.any():
        of = list_first([name for name, one in zip(names, drowned, strict=True) if one])
        notes.append(f"No correlations with columns whose variance is within its noise: {of}.")
    if larger.any():
        of = list_first([f"{names[i]} and {names[j]}" for i, j in zip(*np.nonzero(np.triu(larger)), strict=True)])
        notes.append(f"No correlation where noise makes it 1 or more: {of}.")
    assumed = estimate.hidden_tails & ~drowned
    if assumed.any():
        of = list_first([name for name, one in zip(names, assumed, strict=True) if one])
        notes.append(f"Intervals assume that columns have no long tails where bounds allow them unseen: {of}.")
    return leave_out(intervals, unknown, " ".join(notes)) if notes else intervals
