"""Everything that a report shows, computed from a release."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil._graph_layout import neighbourly_order
from graphveil._random import generator_for
from graphveil._typing import Matrix
from graphveil.exceptions import PrivacyWarning
from graphveil.inference.centrality import Centrality, find_centrality
from graphveil.inference.error_law import moments_of
from graphveil.inference.regression import Regression, fit_regression
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.associations import Places, association_strengths
from graphveil.recovery.diagnostics import diagnostics
from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.recovery.estimate import Estimate, recover
from graphveil.recovery.network import Network
from graphveil.released.release import Release
from graphveil.spec.budget import allows_a_record
from graphveil.spec.rounding import format_exact

__all__ = ["FDR", "LEVEL", "MOST_OUTCOMES", "Content", "Spectrum", "collect_notes", "collect_report_data"]


FDR, LEVEL = 0.1, 0.95
_EDGES_A_COLUMN, _LEAST_EDGES = 8, 200  # the path ends at more edges, which would be unreadable
_NOISE_DRAWS = 9
MOST_OUTCOMES = 100  # up to this many columns each is regressed on all others; longer tables would be unreadable


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the correlation matrix, descending, before and after denoising.

    Attributes
    ----------
    before, after : (p,) arrays
    edge : float
        What privacy noise alone would reach, in the median.
    """

    before: Matrix
    after: Matrix
    edge: float


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a report.

    Attributes
    ----------
    names : tuple of str
        Of the variables.
    columns : tuple of str
        Of their columns: the levels of a category, except for the first, are columns of their own.
    places : tuple of ranges
        Which of these each variable has.
    found : Estimate
    path : list of Network
        From no edge down; ``path[chosen]`` is the network that is fitted.
    chosen : int
    intervals : EdgeIntervals
    sure : (p, p) array of bool
        Pairs that are unlikely to be noise: each has a p-value of at most a tenth, and a tenth of them may be.
    estimate : (p, p) array
        Partial correlations: those of the intervals, or the denoised ones where there are none.
    order : (p,) array of int
        Variables so that neighbours stand together.
    spectrum : Spectrum
    centrality : Centrality
    regressions : list of Regression
        Of every column on those of all other variables; empty where there is one variable, or too many to read.
    notes : tuple of str
        What a reader must know before believing anything.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    places: Places
    found: Estimate
    path: list[Network]
    chosen: int
    intervals: EdgeIntervals
    sure: NDArray[np.bool_]
    estimate: Matrix
    order: NDArray[np.intp]
    spectrum: Spectrum
    centrality: Centrality
    regressions: list[Regression]
    notes: tuple[str, ...]

    @property
    def has_joint_edges(self) -> bool:
        """Whether some variable has several columns, so that its edges have no sign."""
        return len(self.columns) > len(self.names)


def collect_report_data(release: Release) -> Content:
    """Recover, fit the whole path, and test every edge: from published numbers alone."""
    names, places = release.variable_labels, tuple(release.variables.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the notes say it
        found, regressions = recover(release), _regressions(release)
    p = len(names)
    analysis = Analysis(release, found)
    network = analysis.network
    most = max(_LEAST_EDGES, _EDGES_A_COLUMN * p, 2 * network.solution.n_edges)
    path, intervals = analysis.find_path(most), analysis.find_intervals(LEVEL)
    denoised = association_strengths(found.precision, places)
    estimate = np.where(np.isnan(intervals.estimate), denoised, intervals.estimate)
    return Content(
        names=names,
        columns=release.column_labels,
        places=places,
        found=found,
        path=path,
        chosen=next(k for k, point in enumerate(path) if point is network),
        intervals=intervals,
        sure=intervals.select(fdr=FDR),
        estimate=estimate,
        order=neighbourly_order(association_strengths(network.solution.precision, places)),
        spectrum=_spectrum(found, release),
        centrality=find_centrality(analysis, intervals),
        regressions=regressions,
        notes=tuple(collect_notes(release, found, intervals)),
    )


def _regressions(release: Release) -> list[Regression]:
    p, places = len(release.column_names), release.variables.values()
    if not (len(places) > 1 and p <= MOST_OUTCOMES) or release.event.mechanism != "default":
        return []
    moments = moments_of(release)
    return [fit_regression(moments, k, [j for j in range(p) if j not in own], LEVEL) for own in places for k in own]


def _spectrum(found: Estimate, release: Release) -> Spectrum:
    spread = 1.0 / np.sqrt(np.diag(found.covariance))
    scale = np.outer(spread, spread)
    generator = generator_for(release.stream, "spectrum")
    reach = [np.abs(_eigenvalues(found.noisy.draw_privacy(generator) * scale)).max() for _ in range(_NOISE_DRAWS)]
    return Spectrum(
        _eigenvalues(found.noisy.matrix * scale), _eigenvalues(found.covariance * scale), float(np.median(reach))
    )


def _eigenvalues(matrix: Matrix) -> Matrix:
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1])


def collect_notes(release: Release, found: Estimate, intervals: EdgeIntervals) -> list[str]:
    """What a reader must know before relying on the results."""
    notes = []
    if release.seeded:
        notes.append("The noise was seeded: this is a simulation, and nothing in it is private.")
    if not release.seeded and allows_a_record(release.budget.delta, release.n_samples):
        notes.append(
            f"δ = {format_exact(release.budget.delta)} is at least 1/n: publishing one record at random would satisfy "
            "it. Choose δ well below 1/n."
        )
    if intervals.reason is not None:
        notes.append(f"{intervals.reason} Every edge could be noise.")
    return notes + diagnostics(release, found)
