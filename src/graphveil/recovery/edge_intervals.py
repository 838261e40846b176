"""Intervals of partial correlations that account for privacy noise and sampling noise.

A sparse estimate Θ̂ is biased towards zero, so it is corrected by one Newton step (Janková and van de Geer 2015),

    T = 2Θ̂ − Θ̂YΘ̂,  T − Θ ≈ −Θ(Y − Σ)Θ,

whose noise has the known distribution of the release (`graphveil.recovery.noise_model`). The partial correlation
-T_ij/√(T_ii T_jj) then has a standard deviation in closed form, by the delta method, on the scale of Fisher's z. What
first order leaves out is calibrated by simulation from the release alone: the whole estimate is repeated on the inverse
of a slightly less sparse Θ̂ plus fresh noise of the same law. All intervals are widened or narrowed by the one factor
that makes the simulated ones cover; and a p-value is the share of simulated pairs without an edge that look as strong,
because edges are chosen far out in a tail that is not quite Gaussian.

A category of three levels or more is several columns and one variable: its edges are tested as a whole
(:mod:`graphveil.recovery.associations`), calibrated by the same simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil._interval_plot import plot_intervals
from graphveil._packages import import_package
from graphveil._tables import list_first
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.metrics import partial_correlations
from graphveil.recovery.associations import Places, PrecisionNoise, blocks_of, strength_intervals, wald_scores
from graphveil.recovery.collinearity import collinear_columns
from graphveil.recovery.fisher_scores import LARGEST, FisherScores
from graphveil.recovery.interval_width import half_width
from graphveil.recovery.network import RELIABLE, Network, refit, repair_diagonal, with_weak_edges
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.spec.forecast import SEEN

__all__ = ["EdgeIntervals", "edge_intervals", "fisher_z", "leave_out", "within_groups"]

_PAIRS, _COLUMNS = 20_000, 1000  # so many are simulated at most, to compare the real ones with
_TAIL = 0.02  # of simulated pairs: beyond them too few are left to be counted
_FEWEST = 1000  # pairs without an edge from which p-values come; all pairs, if there are fewer
_ALMOST_ONE = 1.0 - 1e-9  # Fisher's z of 1 is infinite
_CALIBRATED_AT = 0.95
_NUMBERS = ("estimate", "lower", "upper", "p_value")  # of every pair


@dataclass(frozen=True, eq=False, repr=False)
class EdgeIntervals:
    """Partial correlations (or plain ones) of all pairs with their intervals.

    A category of three levels or more is one variable. Its associations have a strength from 0 to 1 and no sign: with a
    number √(partial R²), with another category the partial form of Cramér's V.

    Attributes
    ----------
    estimate, lower, upper : (p, p) arrays
        Partial correlations without the bias of the lasso, and the ends of their intervals; NaN if there is a
        ``reason`` to give none, and between columns that are collinear with each other. The average contribution of
        noise to a strength is subtracted.
    p_value : (p, p) array
        Probability that noise alone would make an edge look at least this strong, by simulation: near 5% it need not
        agree with an interval to the last digit.
    level : float
        Level of the intervals, for each pair separately.
    reason : str or None
        Why there are no intervals.
    note : str or None
        Why some pairs have none, and what joint tests leave out.
    columns : tuple of str
        Names of the variables.
    df : (p, p) array of int, or None
        How many partial correlations of single columns the p-value of a pair tests at once: 1 where it has a sign.
        Levels of which next to nothing is known are not among them (``note``). None where no variable has several
        columns, and where there are no intervals.
    by_level : EdgeIntervals or None
        The same of all columns, with the levels of categories apart; None where no variable has several columns.
    """

    estimate: Matrix
    lower: Matrix
    upper: Matrix
    p_value: Matrix
    level: float
    reason: str | None
    columns: tuple[str, ...] = ()
    df: NDArray[np.intp] | None = None
    by_level: "EdgeIntervals | None" = None
    note: str | None = None

    @classmethod
    def of_scores(
        cls, z: Matrix, half: Matrix, p_value: Matrix, level: float, columns: tuple[str, ...]
    ) -> "EdgeIntervals":
        """From Fisher's z of all pairs and half the lengths of their intervals."""
        middle, lower, upper = (_unit_diagonal(np.tanh(value)) for value in (z, z - half, z + half))
        return cls(middle, lower, upper, _unit_diagonal(p_value), level, None, columns)

    def to_frame(self) -> Any:
        """A data frame of all pairs, the surest first. Needs pandas.

        ``edge`` is ``select()``, of which a tenth may be noise; what speaks for a single pair is its p-value.

        If variables have several columns, ``df`` is the number of partial correlations of a pair.
        """
        pd = import_package("pandas", "to_frame")

        i, j = self._surest_first
        named = np.array(self.columns or [f"x{k}" for k in range(len(self.estimate))], dtype=object)
        numbers = {name: getattr(self, name)[i, j] for name in _NUMBERS}
        tested = {} if self.df is None else {"df": self.df[i, j]}
        return pd.DataFrame({"source": named[i], "target": named[j], **numbers, **tested, "edge": self.select()[i, j]})

    def plot(self, most: int = 30) -> Any:
        """The surest pairs with their intervals: axes of matplotlib, or SVG where it is not installed."""
        i, j = self._surest_first
        given = np.flatnonzero(~np.isnan(self.p_value[i, j]))[:most]
        i, j = i[given], j[given]
        named = self.columns or tuple(f"x{k}" for k in range(len(self.estimate)))
        pairs = [f"{named[a]} — {named[b]}" for a, b in zip(i, j, strict=True)]
        return plot_intervals(pairs, self.estimate[i, j], self.lower[i, j], self.upper[i, j], "Surest pairs")

    @property
    def _surest_first(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Both ends of every pair, by p-value and then by strength: the largest estimate may be the least known."""
        i, j = np.triu_indices(len(self.estimate), 1)
        order = np.lexsort((-np.abs(self.estimate[i, j]), self.p_value[i, j]))  # NaN is last
        return i[order], j[order]

    @property
    def fisher_z(self) -> Matrix:
        """Fisher's z of the estimates, on whose scale the intervals are symmetric; large on the diagonal."""
        return fisher_z(self.estimate)

    @property
    def fisher_z_sd(self) -> Matrix:
        """Standard deviation of Fisher's z, as the intervals have it."""
        return np.asarray((fisher_z(self.upper) - fisher_z(self.lower)) / (2.0 * half_width(self.level)))

    @property
    def smallest_edge(self) -> float | None:
        """Partial correlation that would be detected four times out of five, at 95%; None without intervals.

        Of two single columns: the joint test of a category needs a somewhat stronger association.
        """
        if self.by_level is not None:
            return self.by_level.smallest_edge
        pairs = np.triu_indices(len(self.estimate), 1)
        if self.reason is not None or not pairs[0].size:
            return None
        return float(np.tanh(SEEN * np.nanmedian(self.fisher_z_sd[pairs])))

    def select(self, fdr: float = 0.1) -> NDArray[np.bool_]:
        """Adjacency matrix of edges: each with a p-value of at most ``fdr``, of which a share ``fdr`` may be noise.

        Benjamini and Hochberg's rule with Storey's estimate of the share of pairs without an edge. Where nearly all
        pairs are edges, that alone would let p-values near 1 pass: the share is one of the list, not of a row.
        """
        if not 0.0 < fdr < 1.0:
            raise InvalidParameter.of("fdr", "a number in (0, 1)", fdr)
        chosen = np.zeros(self.p_value.shape, dtype=bool)
        upper = np.triu_indices(len(chosen), 1)
        p_values = self.p_value[upper]
        ordered = np.sort(p_values[~np.isnan(p_values)])  # pairs without a p-value are not tested
        count = ordered.size
        if count == 0:
            return chosen
        without = min(1.0, (1.0 + np.count_nonzero(p_values > 0.5)) / (0.5 * count))
        passed = np.flatnonzero(ordered <= fdr * np.arange(1, count + 1) / (count * without))
        if passed.size:
            chosen[upper] = p_values <= min(ordered[passed[-1]], fdr)
        return chosen | chosen.T

    def __repr__(self) -> str:
        if self.reason is not None:
            return f"<EdgeIntervals: none. {self.reason}>"
        pairs = np.count_nonzero(~np.isnan(self.p_value[np.triu_indices(len(self.p_value), 1)]))
        said = "" if self.note is None else f". {self.note}"
        edges = f"{self.select().sum() // 2} edges at a false discovery rate of 10%"
        return f"<EdgeIntervals: {pairs} pairs at level {self.level:g}, {edges}{said}>"


def edge_intervals(
    noisy: NoisyCovariance,
    network: Network,
    n_eff: float,
    level: float,
    generator: np.random.Generator,
    columns: tuple[str, ...] = (),
    variables: Mapping[str, range] | None = None,
    undetermined: NDArray[np.bool_] | None = None,
) -> EdgeIntervals:
    """Intervals for every pair of variables, or the reason why there are none.

    ``variables`` tells which columns each of them has; by default, each column is one. Joint tests leave out the levels
    of a category that are ``undetermined``.
    """
    p, places = len(noisy.matrix), tuple((variables or {}).values())
    several = any(len(place) > 1 for place in places)
    tested, untested = _tested_columns(places, undetermined)
    groups = collinear_columns(noisy)
    lost = within_groups(groups, p)
    if network.is_broad or (groups and lost[np.triu_indices(p, 1)].all()):
        named = tuple(variables or ()) if several else columns
        reason = _why_broad(groups, n_eff, p, columns)
        found = _without_intervals(named, len(named) or p, level, reason)
        return replace(found, by_level=_without_intervals(columns, p, level, reason)) if several else found
    scores = _one_step(noisy, network.solution.precision)
    between = _between_levels(places, p)
    dense = _one_step(noisy, np.asarray(np.linalg.inv(noisy.denoised))) if between.any() else scores
    z, sd = np.where(between, dense.z, scores.z), np.where(between, dense.sd, scores.sd)
    if p == 1:
        return EdgeIntervals.of_scores(z, half_width(level) * sd, np.ones((1, 1)), level, columns)
    of_columns, of_variables = _simulate_errors(noisy, network, n_eff, generator, tested)
    factor = float(np.quantile(of_columns.errors, _CALIBRATED_AT) / half_width(_CALIBRATED_AT))
    reach, upper, p_value = half_width(level), np.triu_indices(p, 1), np.ones((p, p))
    p_value[upper] = p_value.T[upper] = of_columns.tail_probability(np.abs(z[upper]) / sd[upper])
    by_column = EdgeIntervals.of_scores(z, reach * factor * sd, p_value, level, columns)
    note = f"No intervals between collinear columns: {_name_groups(groups, columns)}." if groups else None
    if note is not None:
        by_column = leave_out(by_column, lost, note)
    if not several:
        return by_column
    both = np.array([len(places[i]) > 1 and len(places[j]) > 1 for i, j in blocks_of(places)])
    of_blocks = [_of_blocks(start, of_variables, places, tested, reach, factor) for start in (scores, dense)]
    joint = {name: np.where(both, of_blocks[1][name], of_blocks[0][name]) for name in _NUMBERS}
    found = _join_levels(by_column, variables or {}, joint, [len(place) for place in tested])
    if untested:
        listed = list_first([columns[k] if columns else f"x{k}" for k in untested])
        said = f"Joint tests leave out levels of which next to nothing is known: {listed}."
        found = replace(found, note=said, by_level=replace(by_column, note=f"{note} {said}" if note else said))
    if note is None:
        return found
    lost_of_variables = np.array([[i != j and lost[np.ix_(i, j)].any() for j in places] for i in places])
    return leave_out(found, lost_of_variables, note if found.note is None else f"{note} {found.note}")


def _between_levels(places: Places, p: int) -> NDArray[np.bool_]:
    """Pairs of levels of categories, where there are two categories or more."""
    several = [place for place in places if len(place) > 1]
    is_level = np.isin(np.arange(p), np.concatenate(several)) if len(several) > 1 else np.zeros(p, dtype=bool)
    return np.asarray(is_level[:, None] & is_level)


def _of_blocks(
    start: FisherScores, simulated: "_Simulated", places: Places, tested: Places, reach: float, factor: float
) -> dict[str, Matrix]:
    """Strength of every pair of variables of which one has several columns, the ends of its interval, and p-value."""
    strengths = strength_intervals(start.corrected, start.noise, places, reach, factor)
    p_value = simulated.tail_probability(wald_scores(start.corrected, start.noise, tested))
    return dict(zip(_NUMBERS, (*strengths, p_value), strict=True))


def _tested_columns(places: Places, undetermined: NDArray[np.bool_] | None) -> tuple[Places, list[int]]:
    """The columns of each variable that joint tests are about, and those that they leave out.

    What is undetermined says nothing in a test but takes degrees of freedom. Two levels are kept at least.
    """
    vague = [] if undetermined is None else np.flatnonzero(undetermined).tolist()
    kept = [[k for k in place if k not in vague] for place in places]
    tested = tuple(own if len(own) > 1 else place for own, place in zip(kept, places, strict=True))
    return tested, [k for place, own in zip(places, tested, strict=True) for k in place if k not in own]


def _without_intervals(names: tuple[str, ...], size: int, level: float, reason: str) -> EdgeIntervals:
    nothing = np.full((size, size), np.nan)
    return EdgeIntervals(nothing, nothing, nothing, nothing, level, reason, names)


def _join_levels(
    by_column: EdgeIntervals, variables: Mapping[str, range], joint: dict[str, Matrix], tested: list[int]
) -> EdgeIntervals:
    """Of variables: pairs of single columns as they are, the others with the numbers of their blocks."""
    places, widths = tuple(variables.values()), np.array(tested)
    first = [place.start for place in places]
    i, j = np.array(blocks_of(places), dtype=np.intp).reshape(-1, 2).T
    tables = {name: getattr(by_column, name)[np.ix_(first, first)] for name in joint}
    for name, values in joint.items():
        tables[name][i, j] = tables[name][j, i] = values
    return EdgeIntervals(
        **tables,
        level=by_column.level,
        reason=None,
        columns=tuple(variables),
        df=np.outer(widths, widths),
        by_level=by_column,
    )


def within_groups(groups: tuple[tuple[int, ...], ...], p: int) -> NDArray[np.bool_]:
    """Pairs of columns that are collinear with each other: what one of them has given the others is noise."""
    found = np.zeros((p, p), dtype=bool)
    for group in groups:
        found[np.ix_(group, group)] = True
    np.fill_diagonal(found, False)
    return found


def leave_out(found: EdgeIntervals, pairs: NDArray[np.bool_], note: str) -> EdgeIntervals:
    """The same without the numbers of these pairs."""
    numbers: dict[str, Any] = {name: np.where(pairs, np.nan, getattr(found, name)) for name in _NUMBERS}
    return replace(found, **numbers, note=note)


def _name_groups(groups: tuple[tuple[int, ...], ...], columns: tuple[str, ...]) -> str:
    return "; ".join(list_first([columns[k] if columns else f"x{k}" for k in group]) for group in groups)


def _why_broad(groups: tuple[tuple[int, ...], ...], n_eff: float, p: int, columns: tuple[str, ...]) -> str:
    """The reason why single pairs say nothing."""
    if n_eff < RELIABLE * p:
        return (
            f"The release has {n_eff:.3g} effective records for {p} columns: no pair can be distinguished from noise. "
            f"Intervals need at least {RELIABLE:g} per column, and often twice that."
        )
    if groups:
        return (
            f"As far as the release can tell, these columns are collinear: {_name_groups(groups, columns)}. Given the "
            f"others, at least one of {'them' if len(groups) == 1 else 'each group'} has no variation left to "
            "correlate. Leave it out, as one level of a category is left out."
        )
    return (
        "Edges that look certain contradict each other, because some directions of the table lie within the noise: "
        "no pair can be distinguished from it. Narrower public bounds, fewer columns or a larger ε would help."
    )


@dataclass(frozen=True, eq=False)
class _Simulated:
    """Errors of simulated estimates, in first-order standard deviations: of all pairs, and of those without an edge."""

    errors: Matrix
    without_edge: Matrix

    def tail_probability(self, scores: Matrix) -> Matrix:
        """Probability that noise alone would make a score at least this large."""
        if scores.size == 0:
            return scores
        return _tail_probability(scores, self.without_edge if self.without_edge.size >= _FEWEST else self.errors)


def _simulate_errors(
    noisy: NoisyCovariance, network: Network, n_eff: float, generator: np.random.Generator, places: Places
) -> tuple[_Simulated, _Simulated]:
    """Errors of pairs of columns, on the scale of Fisher's z, and those of pairs of variables."""
    p, blocks = len(noisy.matrix), blocks_of(places)
    upper = np.triu_indices(p, 1)
    # The real estimate misses weak edges, and that too is an error of its neighbours: a simulated one must miss some.
    less_sparse = with_weak_edges(network, noisy, n_eff)
    partial = partial_correlations(less_sparse.precision)[upper]
    truth = np.arctanh(np.clip(partial, -LARGEST, LARGEST))
    draws = int(np.ceil(min(_PAIRS / truth.size, _COLUMNS / p)))
    errors, of_blocks = np.empty((draws, truth.size)), np.empty((draws, len(blocks)))
    for draw in range(draws):
        simulated = repair_diagonal(less_sparse.covariance + noisy.draw(generator), noisy)
        noise = PrecisionNoise(refit(network, simulated, noisy, n_eff), noisy)
        corrected = _newton_step(simulated, noise.precision)
        scores = FisherScores(corrected, noise)
        errors[draw] = np.abs(scores.z[upper] - truth) / scores.sd[upper]
        if blocks:
            of_blocks[draw] = wald_scores(corrected - less_sparse.precision, noise, places)
    alone = np.isin(np.arange(p), [place[0] for place in places if len(place) == 1])
    alone = alone[upper[0]] & alone[upper[1]]
    apart = [not less_sparse.precision[np.ix_(places[i], places[j])].any() for i, j in blocks]
    return (
        _Simulated(errors.ravel(), errors[:, partial == 0.0].ravel()),
        _Simulated(
            np.r_[errors[:, alone].ravel(), of_blocks.ravel()],
            np.r_[errors[:, alone & (partial == 0.0)].ravel(), of_blocks[:, np.array(apart, dtype=bool)].ravel()],
        ),
    )


def _tail_probability(scores: Matrix, simulated: Matrix) -> Matrix:
    """Share of simulated scores that are at least as large; in the tail, as a Gaussian one with their decay has it."""
    ordered = np.sort(simulated)
    counted = (1.0 + ordered.size - np.searchsorted(ordered, scores)) / (1.0 + ordered.size)
    start = np.quantile(ordered, 1.0 - _TAIL)
    decay = np.mean(ordered[ordered > start] ** 2) - start**2
    continued = _TAIL * np.exp(-np.maximum(scores**2 - start**2, 0.0) / decay)
    return np.asarray(np.where(scores > start, continued, counted))


def _one_step(noisy: NoisyCovariance, precision: Matrix) -> FisherScores:
    """The corrected estimate from a start, and the law of its errors."""
    corrected = _newton_step(repair_diagonal(noisy.matrix, noisy), precision)
    return FisherScores(corrected, PrecisionNoise(precision, noisy))


def _newton_step(S: Matrix, precision: Matrix) -> Matrix:
    """T, the estimate without the bias of the lasso."""
    corrected = 2.0 * precision - precision @ S @ precision
    return np.asarray((corrected + corrected.T) / 2.0)


def fisher_z(correlations: Matrix) -> Matrix:
    """Fisher's z, large but finite for correlations of 1."""
    return np.asarray(np.arctanh(np.clip(correlations, -_ALMOST_ONE, _ALMOST_ONE)))


def _unit_diagonal(values: Matrix) -> Matrix:
    values = np.array(values)
    np.fill_diagonal(values, 1.0)
    return values
