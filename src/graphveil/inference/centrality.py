r"""Which variables are central? Strength, expected influence and bridges, with intervals and the chance of their order.

Sums go over the edges that are unlikely to be noise: sums of |r| over all pairs would mostly add up noise. To
first order the partial correlations have the errors

    dr_ij = -dT_ij/√(T_ii T_jj) - r_ij/2 (dT_ii/T_ii + dT_jj/T_jj),    dT = -Θ Δ Θ,

for an error Δ of the released covariance (:mod:`graphveil.recovery.edge_intervals`). Δ is drawn from its distribution,
and every dr_ij gets the standard deviation that the calibrated interval of its pair has. The fitted network plus such
errors simulates another release; its edges are selected as the real ones were, so that missing and false edges count
too. The errors of its sums give the intervals. Another study of as many people with the same budget would differ from
this one by two such errors, its own and that of this one, which gives the probability that the order would be the same.

A category is one variable. Its edges have a strength and no sign (:mod:`graphveil.recovery.associations`), so that they
count in strengths and not in expected influences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil._packages import import_package
from graphveil._random import generator_for
from graphveil._tables import Table
from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.metrics import partial_correlations
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.associations import association_strengths, blocks_of, mean_square_correlation
from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.recovery.estimate import recover
from graphveil.recovery.interval_width import half_width
from graphveil.released.grouped import require_release
from graphveil.released.release import Release

__all__ = ["Centrality", "Measure", "centrality", "find_centrality"]

_DRAWS, _FEWEST = 400, 60  # with the first, a probability of one half comes out to within 0.025
_NUMBERS = 2e7  # that are drawn at most, where there are many pairs
_FDR = 0.1
_FAR = 1e6  # standard deviations: where none is chosen, none could be
_RANKED = 50  # draws whose rank correlation is averaged


@dataclass(frozen=True, eq=False)
class Measure:
    """One measure of centrality of every variable.

    Attributes
    ----------
    value, lower, upper : (p,) arrays
    order : (k,) array of int
        Variables, the most central first; without those whose edges all have no sign, if signs matter.
    above_next : (k - 1,) array
        Probability that another study of as many people with the same budget would again put the k-th of the order
        above the next one; 0.5 if that is open.
    same_first : float
        Probability that it would again put the same variable first.
    rank_correlation : float
        Expected Spearman correlation of its order with this one.
    """

    value: Vector
    lower: Vector
    upper: Vector
    order: NDArray[np.intp]
    above_next: Vector
    same_first: float
    rank_correlation: float


@dataclass(frozen=True, eq=False, repr=False)
class Centrality:
    """Centralities of all variables; made by :func:`graphveil.centrality`.

    Attributes
    ----------
    columns : tuple of str
    strength : Measure or None
        Sum of the absolute partial correlations of a variable's edges. None if there is a ``reason``, as below.
    expected_influence : Measure or None
        The same sum with signs, without the edges of categories of three levels or more, which have none; None if there
        is no other variable.
    bridge : Measure or None
        Strength of the edges to variables of other groups; None without groups.
    level : float
        Level of the intervals, for each variable separately.
    n_edges : int
        Number of edges that are unlikely to be noise; only these enter the sums.
    reason : str or None
        Why there are no intervals, and therefore no centralities.
    note : str or None
        Why some pairs have none, and do not count.
    """

    columns: tuple[str, ...]
    strength: Measure | None
    expected_influence: Measure | None
    bridge: Measure | None
    level: float
    n_edges: int
    reason: str | None
    note: str | None = None

    @property
    def measures(self) -> dict[str, Measure]:
        """The available measures, by name."""
        found = {name: getattr(self, name) for name in ("strength", "expected_influence", "bridge")}
        return {name: measure for name, measure in found.items() if measure is not None}

    def to_frame(self) -> Any:
        """A data frame with a row for each measure and variable, the most central first. Needs pandas."""
        pd = import_package("pandas", "to_frame")

        parts = []
        for name, measure in self.measures.items():
            order, above = measure.order, np.append(measure.above_next, np.nan)
            numbers = {label: getattr(measure, label)[order] for label in ("value", "lower", "upper")}
            variables = [self.columns[k] for k in order]
            parts.append(pd.DataFrame({"measure": name, "variable": variables, **numbers, "above_next": above}))
        return pd.concat(parts, ignore_index=True)

    def table(self, name: str = "strength") -> Table:
        """One measure as a table."""
        if self.reason is not None:
            return Table("Centrality", (), ("",), (), (self.reason,))
        measure = self.measures[_validation.choice("name", name, list(self.measures))]
        above = [*(f"{share:.0%}" for share in measure.above_next), ""]
        rows = tuple(
            (self.columns[k], f"{measure.value[k]:.2f}", f"{measure.lower[k]:.2f}", f"{measure.upper[k]:.2f}", share)
            for k, share in zip(measure.order, above, strict=True)
        )
        tail = (1.0 - self.level) / 2.0
        return Table(
            name.replace("_", " ").capitalize(),
            (
                ("Edges counted", f"{self.n_edges} that are unlikely to be noise"),
                ("Same first again", f"{measure.same_first:.0%}"),
                ("Expected rank correlation", f"{measure.rank_correlation:.2f}"),
            ),
            ("", name, f"[{tail:.3g}", f"{1.0 - tail:.3g}]", "above next"),
            rows,
            (
                "Probabilities are those of another study of as many people with the same budget.",
                *([] if self.note is None else [self.note]),
            ),
        )

    def summary(self) -> str:
        """All measures as text."""
        return "\n\n".join(self.table(name).to_text() for name in self.measures) or self.table().to_text()

    def _repr_html_(self) -> str:
        return "".join(self.table(name).to_html() for name in self.measures) or self.table().to_html()

    def __repr__(self) -> str:
        if self.strength is None:
            return f"<Centrality: none. {self.reason}>"
        first = self.columns[self.strength.order[0]]
        return (
            f"<Centrality of {len(self.columns)} variables: {first} is strongest, {self.strength.same_first:.0%} sure>"
        )


def centrality(
    release: Release, *, groups: Mapping[str, Sequence[str]] | None = None, level: float = 0.95
) -> Centrality:
    """Strength, expected influence and bridge strength of every variable, with intervals. Free.

    Parameters
    ----------
    release : Release
    groups : mapping, optional
        Names of groups and their variables, such as the scales of a questionnaire. Bridge strength then counts the
        edges to other groups. Variables that are not named form their own group.
    level : float, default 0.95

    Returns
    -------
    Centrality

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.hub_precision(6, 1, random_state=0), 20_000, random_state=0)
    >>> out = gv.release(rows, domain=gv.Domain(bounds=(-8, 8)), budget=gv.Budget(2.0, 1e-6), random_state=0)
    >>> centrality(out)
    <Centrality of 6 variables: x0 is strongest, 100% sure>
    """
    require_release("release", release)
    level = _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    blocks = None if groups is None else _blocks(groups, tuple(release.variables))
    analysis = Analysis(release, recover(release))
    return find_centrality(analysis, analysis.find_intervals(level), blocks)


def find_centrality(analysis: Analysis, edges: EdgeIntervals, blocks: Vector | None = None) -> Centrality:
    """The same of an analysis and its intervals; ``blocks`` are the numbers of the groups that variables belong to."""
    columns, level = tuple(analysis.release.variables), edges.level
    if edges.reason is not None or len(columns) < 2:
        reason = edges.reason or "There is one variable, and nothing that it could be associated with."
        return Centrality(columns, None, None, None, level, 0, reason)
    chosen = edges.select(_FDR)
    shown, given = np.where(chosen, edges.estimate, 0.0), (~np.isnan(edges.estimate)).astype(np.float64)
    simulated = _simulate(analysis, edges, chosen)
    everyone = np.ones(len(columns), dtype=bool)
    signed = given if edges.df is None else given * (edges.df == 1)
    across = None if blocks is None else given * (blocks[:, None] != blocks)
    return Centrality(
        columns,
        _measure(np.abs(shown), np.abs, simulated, given, level, everyone),
        _measure(shown, np.asarray, simulated, signed, level, np.asarray(signed.any(axis=1))),
        None if across is None else _measure(np.abs(shown), np.abs, simulated, across, level, everyone),
        level,
        int(chosen.sum()) // 2,
        None,
        edges.note,
    )


def _blocks(groups: Any, columns: tuple[str, ...]) -> Vector:
    """The number of each variable's group; -1 for none."""
    if not isinstance(groups, Mapping):
        raise InvalidParameter.of("groups", "a mapping of names of groups to variables", groups)
    found = np.full(len(columns), -1.0)
    for number, members in enumerate(groups.values()):
        for name in _validation.text_tuple("groups", members):
            if name not in columns or found[columns.index(name)] >= 0:
                raise InvalidParameter.of("groups", "variables of the release, each in one group", name)
            found[columns.index(name)] = number
    return found


def _simulate(analysis: Analysis, edges: EdgeIntervals, chosen: NDArray[np.bool_]) -> tuple[Matrix, Matrix]:
    """A network, and draws (k, p, p) of what a release of it would have shown of its edges."""
    noisy, theta = analysis.estimate.noisy, analysis.network.solution.precision
    generator = generator_for(analysis.release.stream, "centrality")
    truth, diagonal = partial_correlations(theta), theta.diagonal()
    np.fill_diagonal(truth, 0.0)
    scale = 1.0 / np.sqrt(np.outer(diagonal, diagonal))
    drawn = np.empty((int(np.clip(_NUMBERS / truth.size, _FEWEST, _DRAWS)), *truth.shape), dtype=np.float32)
    for draw in drawn:
        moved = -theta @ noisy.draw(generator) @ theta
        own = moved.diagonal() / diagonal
        draw[:] = -moved * scale - truth * (own[:, None] + own) / 2.0
    by_column = edges.by_level or edges
    sd = np.nan_to_num(by_column.fisher_z_sd * (1.0 - by_column.estimate**2))  # pairs without numbers do not count
    np.fill_diagonal(sd, 0.0)
    drawn *= sd / np.maximum(drawn.std(axis=0), np.finfo(np.float32).tiny)
    # As strong as the weakest that was chosen, in its own standard deviations: where the real choice drew the line.
    line = _scores(edges)[chosen].min(initial=_FAR)
    joint = None if edges.by_level is None else _draw_strengths(analysis, drawn, line)
    drawn += truth
    drawn[np.abs(drawn) < line * sd] = 0.0
    if joint is None:
        return truth, drawn
    places = tuple(analysis.release.variables.values())
    first = [place.start for place in places]
    together, strengths = drawn[:, first][:, :, first], association_strengths(theta, places)
    np.fill_diagonal(strengths, 0.0)
    for (i, j), values in joint.items():
        together[:, i, j] = together[:, j, i] = values
    return strengths, together


def _scores(edges: EdgeIntervals) -> Matrix:
    """Estimates in their own standard deviations; of a category's, as unlikely as a Gaussian that far out."""
    from scipy.stats import norm

    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.abs(edges.fisher_z) / edges.fisher_z_sd
    return found if edges.df is None else np.where(edges.df > 1, norm.isf(edges.p_value / 2.0), found)


def _draw_strengths(analysis: Analysis, errors: Matrix, line: float) -> dict[tuple[int, int], Vector]:
    """Of every pair with a category, the strengths that releases would have shown; 0 where they fall short of ``line``.

    ``errors`` are those of the partial correlations of all columns.
    """
    from scipy.stats import chi2, norm

    theta, found = analysis.network.solution.precision, {}
    truth = -partial_correlations(theta)  # is a precision matrix in units in which its diagonal is 1
    np.fill_diagonal(truth, 1.0)
    places = tuple(analysis.release.variables.values())
    for i, j in blocks_of(places):
        a, b = places[i], places[j]
        error = errors[:, a.start : a.stop, b.start : b.stop]
        noise = mean_square_correlation(truth, a, b, error).mean()
        shown = mean_square_correlation(truth, a, b, error - truth[np.ix_(a, b)])
        # Noise is about the same in all directions: so many of its means are a χ².
        df = len(a) * len(b)
        far = chi2.isf(2.0 * norm.sf(line), df) / df
        found[i, j] = np.where(shown < far * noise, 0.0, np.sqrt(np.maximum(shown - noise, 0.0)))
    return found


def _measure(
    shown: Matrix,
    of_edge: Callable[[Matrix], Matrix],
    simulated: tuple[Matrix, Matrix],
    weights: Matrix,
    level: float,
    among: NDArray[np.bool_],
) -> Measure | None:
    """Sums over the edges of each variable, with these weights; an order ``among`` some of them, if there are any."""
    from scipy.stats import spearmanr

    if not among.any():
        return None
    truth, drawn = simulated
    value = np.sum(weights * shown, axis=1)
    off = np.einsum("dij,ij->di", of_edge(drawn), weights) - np.sum(weights * of_edge(truth), axis=1)
    sd = off.std(axis=0)
    middle, half = value - off.mean(axis=0), half_width(level) * sd
    order = np.flatnonzero(among)[np.argsort(-value[among], kind="stable")]
    # Another study has the truth plus an error of its own; the truth is this one minus its error.
    own = off - off.mean(axis=0)
    again = (value + own - np.roll(own, 1, axis=0))[:, order]
    ranks = [spearmanr(row, value[order]).statistic for row in again[:_RANKED]] if np.ptp(value[among]) > 0.0 else [0.0]
    return Measure(
        value,
        np.maximum(middle - half, 0.0) if of_edge is np.abs else middle - half,  # a strength is not negative
        np.maximum(middle + half, 0.0) if of_edge is np.abs else middle + half,
        order,
        np.mean(again[:, :-1] > again[:, 1:], axis=0),
        float(np.mean(np.argmax(again, axis=1) == 0)),
        float(np.nanmean(ranks)),
    )
