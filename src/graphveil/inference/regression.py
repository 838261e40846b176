r"""Least squares from a release: coefficients with standard errors that account for sampling and privacy.

Any outcome, on any columns, any number of times, at no cost. With C the denoised covariance and β_C its regression, one
Newton step on the released covariance Y undoes the shrinkage of denoising,

    β̂ = β_C + C_xx⁻¹ (Y_xy − Y_xx β_C),    β̂ − β ≈ C_xx⁻¹ (Δu)_x,    u = (−β, 1),

and the distribution of Δ gives the standard errors (:mod:`graphveil.inference.error_law`). It is the same step as for
edges (:mod:`graphveil.recovery.edge_intervals`); where the release resolves all directions, it is least squares on Y.
The change that a second step would make counts as an error too: it is large if some direction of the regressors lies
within the noise. A category is regressed on by its levels, and tested as a whole (:mod:`graphveil.inference.factors`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil import _validation
from graphveil._frames import pick_columns, to_numbers
from graphveil._interval_plot import plot_intervals
from graphveil._packages import import_package
from graphveil._tables import Table, decimals, fixed, list_first
from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.inference.error_law import UncertainMoments, moments_of
from graphveil.inference.factors import Factor, JointTest, factors_of, wald_tests
from graphveil.inference.uncertain import Spread, Uncertain, known
from graphveil.recovery.collinearity import collinear_columns
from graphveil.recovery.diagnostics import remedies
from graphveil.recovery.interval_width import half_width
from graphveil.recovery.network import RELIABLE
from graphveil.released.release import Release
from graphveil.spec.codebook import Codebook
from graphveil.spec.kinds import RANK

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Regression", "fit_regression", "regression"]

_LEAST_RESIDUAL = 1e-9  # of the outcome's variance
_CORRECTABLE = 0.1  # of the outcome's variance: what errors of coefficients may explain of noise, and be subtracted
_VAGUE = 0.9  # the length of an interval of R² that says nothing
_CONSTANTS = ("const", "Intercept")  # as statsmodels names it without a formula and with one


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """A regression table, made by :func:`graphveil.regression`.

    Attributes
    ----------
    outcome : str
    columns : tuple of str
        The explanatory columns.
    terms : Uncertain
        The intercept, if there is one, and the coefficients, with their standard errors.
    spread : Spread
        Covariance of the errors of these.
    has_intercept : bool
        False for a release that assumed rows with mean zero.
    standardized : (k,) array
        Coefficients in standard deviations of the outcome and of the columns.
    r_squared : float
        Share of the outcome's variance that the columns explain in the population (statsmodels: adjusted). Where noise
        is too large to be subtracted, that of the denoised covariance.
    r_squared_interval : pair of floats
        NaN if there are no intervals; see ``determines_r_squared``.
    n_samples, n_eff : int and float
        Number of records, and of noise-free records that would give the same accuracy.
    guarantee : str
        The guarantee of the release.
    notes : tuple of str
        What a reader must know, such as why a coefficient has no interval.
    factors : tuple of Factor
        The categories among the columns.
    """

    outcome: str
    columns: tuple[str, ...]
    terms: Uncertain
    spread: Spread
    has_intercept: bool
    standardized: Vector
    r_squared: float
    r_squared_interval: tuple[float, float]
    n_samples: int
    n_eff: float
    guarantee: str
    notes: tuple[str, ...]
    factors: tuple[Factor, ...] = ()

    @property
    def coef(self) -> Vector:
        """Coefficients, in the order of ``columns``."""
        return self._coefficients.value

    @property
    def std_err(self) -> Vector:
        """Standard errors of the coefficients: sampling and privacy together."""
        return self._coefficients.std_err

    @property
    def std_err_sampling(self) -> Vector:
        """The sampling part of the standard errors, which are √(sampling² + privacy²)."""
        return self._coefficients.sampling

    @property
    def std_err_privacy(self) -> Vector:
        """The privacy part of the standard errors."""
        return self._coefficients.privacy

    @property
    def z(self) -> Vector:
        """Coefficients in standard errors."""
        return self._coefficients.z

    @property
    def p_value(self) -> Vector:
        """Probability that noise and sampling alone would make a coefficient at least this large."""
        return self._coefficients.p_value

    @property
    def lower(self) -> Vector:
        """Lower ends of the intervals of the coefficients."""
        return self._coefficients.lower

    @property
    def upper(self) -> Vector:
        """Upper ends."""
        return self._coefficients.upper

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return self.terms.level

    @property
    def determines_r_squared(self) -> bool:
        """Whether R² has an interval, shorter than 0.9."""
        low, high = self.r_squared_interval
        return bool(high - low < _VAGUE)

    @property
    def intercept(self) -> float:
        """The intercept; 0 for a release that assumed rows with mean zero."""
        return float(self.terms.value[0]) if self.has_intercept else 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the terms: ``const`` and the columns; ``Intercept``, if something is called ``const`` already."""
        if not self.has_intercept:
            return self.columns
        taken = {*self.columns, *(factor.name for factor in self.factors)}
        const = next((name for name in _CONSTANTS if name not in taken), _CONSTANTS[-1])
        while const in taken:
            const = f"({const})"
        return (const, *self.columns)

    @property
    def tests(self) -> tuple[JointTest, ...]:
        """For each category of three or more levels, a joint test of all its levels."""
        skip = int(self.has_intercept)
        return tuple(wald_tests(self.factors, self.columns, self.coef, self.spread.total[skip:, skip:]))

    @property
    def _coefficients(self) -> Uncertain:
        return self.terms[int(self.has_intercept) :]

    def predict(self, values: "Mapping[str, float] | ArrayLike") -> Uncertain:
        """The mean outcome at these values of the columns, with its interval.

        Parameters
        ----------
        values : mapping of str to float, array of shape (k,) or (n, k), or data frame
            A value for each of ``columns``, or the level of a category: ``{"age": 60, "ward": "B"}``; of several rows,
            if there are several. Those of a data frame are found by name.
        """
        given = self._values(values) if isinstance(values, Mapping) else pick_columns(values, self.columns, "values")
        rows = np.atleast_2d(to_numbers(given, "values"))
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise InvalidParameter(f"values must hold a number for each of the {len(self.columns)} columns.")
        rows = np.c_[np.ones((len(rows), int(self.has_intercept))), rows]
        return Uncertain.of_linear(rows, self.terms.value, self.spread, self.level)

    def _values(self, given: Mapping[str, Any]) -> list[Any]:
        """The value of each column."""
        value_of = dict(given)
        for factor in self.factors:
            if factor.name in given:
                value_of |= factor.columns_at(given[factor.name])
        missing = [name for name in self.columns if name not in value_of]
        if missing:
            raise InvalidParameter(f"values must hold every column, on its own scale; {missing[0]} is missing.")
        return [value_of[name] for name in self.columns]

    def plot(self) -> Any:
        """Standardised coefficients with their intervals: axes of matplotlib, or SVG where it is not installed."""
        with np.errstate(divide="ignore", invalid="ignore"):
            units = np.where(self.coef == 0.0, np.nan, self.standardized / self.coef)
        title = f"{self.outcome}: standardised coefficients"
        return plot_intervals(self.columns, self.standardized, self.lower * units, self.upper * units, title)

    def to_frame(self) -> Any:
        """A data frame with a row for each term; both parts of the standard errors too. Needs pandas.

        A category of three levels or more has a row of its own above its levels, with its joint test: ``chi2``, ``df``
        and ``p_value``.
        """
        pd = import_package("pandas", "to_frame")

        frame = pd.DataFrame(self._numbers(), index=pd.Index(self.names, name="term"))
        if not self.tests:
            return frame
        joint = [{"term": test.name, "chi2": test.chi2, "df": test.df, "p_value": test.p_value} for test in self.tests]
        frame = pd.concat([frame, pd.DataFrame(joint).set_index("term")])
        above = {test.columns[0]: [len(self.names) + number] for number, test in enumerate(self.tests)}
        return frame.iloc[[k for number, name in enumerate(self.names) for k in (*above.get(name, ()), number)]]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON types; None for what is not known."""
        numbers = self._numbers()
        terms = [
            {"term": name, **{label: known(float(values[k])) for label, values in numbers.items()}}
            for k, name in enumerate(self.names)
        ]
        return {
            "outcome": self.outcome,
            "n_samples": self.n_samples,
            "n_eff": self.n_eff,
            "level": self.level,
            "r_squared": self.r_squared,
            "r_squared_interval": [known(end) for end in self.r_squared_interval],
            "determines_r_squared": self.determines_r_squared,
            "terms": terms,
            "tests": [
                {"term": test.name, "chi2": known(test.chi2), "df": test.df, "p_value": known(test.p_value)}
                for test in self.tests
            ],
            "notes": list(self.notes),
            "guarantee": self.guarantee,
        }

    def summary(self) -> str:
        """The table as text."""
        return self.table().to_text()

    def to_html(self) -> str:
        """The table as HTML."""
        return self.table().to_html()

    def to_latex(self) -> str:
        """The table as LaTeX, with the rules of the package booktabs."""
        return self.table().to_latex()

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        on = ", ".join(self.columns) if len(self.columns) <= 6 else f"{len(self.columns)} columns"
        fit = f"R² = {self.r_squared:.3f}" if self.determines_r_squared else "R² not determined"
        return f"<Regression of {self.outcome} on {on}: {fit}, n_eff = {self.n_eff:.4g}>"

    def _numbers(self) -> dict[str, Vector]:
        terms = self.terms
        return {
            "coef": terms.value,
            "std_err": terms.std_err,
            "z": terms.z,
            "p_value": terms.p_value,
            "lower": terms.lower,
            "upper": terms.upper,
            "sampling": terms.sampling,
            "privacy": terms.privacy,
            "standardized": np.r_[np.full(int(self.has_intercept), np.nan), self.standardized],
        }

    def table(self) -> Table:
        """The table behind the text, HTML and LaTeX output."""
        numbers, tail = self._numbers(), (1.0 - self.level) / 2.0
        known = {"std_err": "std err", "p_value": "P>|z|", "lower": f"[{tail:.3g}", "upper": f"{1.0 - tail:.3g}]"}
        joint, rows = {test.columns[0]: test for test in self.tests}, []
        for number, name in enumerate(self.names):
            if name in joint:  # above its levels
                shared = {"p_value": fixed(joint[name].p_value, 3)}
                rows.append((str(joint[name]), *(shared.get(label, "") for label in numbers)))
            places = decimals(float(self.terms.std_err[number]), float(self.terms.value[number]))
            own = {"z": 3, "p_value": 3, "standardized": 3}
            cells = [fixed(float(values[number]), own.get(label, places)) for label, values in numbers.items()]
            rows.append((name, *cells))
        low, high = self.r_squared_interval
        shown = f"{self.r_squared:.3f}  [{low:.3f}, {high:.3f}]"
        if not self.determines_r_squared:
            shown = f"not determined (estimate: {self.r_squared:.2f})"
        facts = (
            ("Dep. variable", self.outcome),
            ("R-squared", shown),
            ("No. observations", f"{self.n_samples:,}, as good as {self.n_eff:,.0f} without noise"),
        )
        said = ["std err combines sampling and privacy; the columns of these names are its two parts."]
        if joint:
            said.append("chi2 tests all levels of a category at once, each compared with its first level.")
        title = "Least squares from a private release"
        header = ("", *(known.get(label, label) for label in numbers))
        return Table(title, facts, header, tuple(rows), (*said, *self.notes, self.guarantee))


def regression(
    release: Release, outcome: str | int, on: Sequence[str | int] | None = None, *, level: float = 0.95
) -> Regression:
    """Regress a column of a release on others: free, for any columns and any number of times.

    Standard errors combine sampling error and privacy noise, so that intervals have their nominal coverage. A release
    holds second moments, which do not show heteroscedasticity: the sampling part is the classical standard error
    (statsmodels: nonrobust), widened if rows have long tails.

    Parameters
    ----------
    release : Release
    outcome : str or int
        The outcome column, by name or number. For a category, one level: ``"ward[B]"``, whose regression is a linear
        probability model.
    on : sequence of str or int, optional
        The explanatory columns; by default, all others. The name of a category adds all its levels.
    level : float, default 0.95
        Level of the intervals, for each coefficient separately.

    Returns
    -------
    Regression

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=4), 20_000, random_state=0)
    >>> out = gv.release(
    ...     rows, domain=gv.Domain(bounds=(-6, 6)), budget=gv.Budget(1.0, 1e-6), random_state=0
    ... )
    >>> table = gv.regression(out, outcome="x0", on=["x1", "x2"])
    >>> table.coef.shape, bool((table.lower < table.upper).all())
    ((2,), True)
    """
    level = _validation.number("level", level, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
    moments = moments_of(release)
    explained = _find_outcome(moments, outcome)
    if isinstance(on, str):
        raise InvalidParameter(f"on must be a sequence of columns, got the single name {on!r}: write on=[{on!r}].")
    # Other levels of the same category carry no information: a record has only one of them.
    same = next(place for place in release.variables.values() if explained in place)
    others = [k for k in range(len(moments.names)) if k not in same]
    by = others if on is None else moments.column_numbers("on", on)
    if not by or explained in by:
        raise InvalidParameter("on must hold at least one column, and not the outcome.")
    return fit_regression(moments, explained, by, level)


def _find_outcome(moments: UncertainMoments, outcome: str | int) -> int:
    """The number of the outcome's column; a category has no such number."""
    for factor in factors_of(moments.release.domain.codebook):
        if outcome == factor.name:
            levels = " or ".join(f"outcome={column!r}" for column in factor.indicators.values() if column)
            raise InvalidParameter(
                f"outcome must be a column, and {factor.name} is a category. Explain one of its levels at a time, by "
                f"differences of its probability: {levels}."
            )
    (number,) = moments.column_numbers("outcome", [outcome])
    return number


def fit_regression(moments: UncertainMoments, outcome: int, on: Sequence[int], level: float) -> Regression:
    """The same from moments, with columns by number."""
    chosen = moments.select([*on, outcome])
    scale = np.sqrt(np.diag(chosen.noisy.denoised))
    step = _newton_step(chosen.scaled(1.0 / scale))
    units = scale[-1] / scale[:-1]
    # The intercept is the outcome's mean less what the columns' means explain of it; both have errors.
    has_intercept = chosen.location is not None
    mean = np.zeros(len(scale)) if chosen.location is None else chosen.location
    jacobian = np.block([[np.ones((1, 1)), -mean[None, :-1] * units], [np.zeros((len(on), 1)), np.diag(units)]])
    at_mean = chosen.location_spread.through(np.r_[-units * step.coef, 1.0][None])
    value = jacobian @ np.r_[mean[-1], step.coef]
    spread = at_mean.beside(step.spread).through(jacobian)
    none, notes = _without_interval(chosen)
    notes += _hidden_tails(chosen, step, none)
    none = np.r_[(none & (mean[:-1] != 0.0)).any() or none.all(), none]
    spread = Spread(*(np.where(none[:, None] | none, np.nan, part) for part in (spread.sampling, spread.privacy)))
    if not has_intercept:
        value, spread = value[1:], Spread(spread.sampling[1:, 1:], spread.privacy[1:, 1:])
    return Regression(
        outcome=chosen.names[-1],
        columns=chosen.names[:-1],
        terms=Uncertain.of(value, spread, level),
        spread=spread,
        has_intercept=has_intercept,
        standardized=step.coef,
        r_squared=step.r_squared,
        r_squared_interval=(
            (np.nan, np.nan) if none.all() or chosen.undetermined[-1] else step.r_squared_interval(level)
        ),
        n_samples=moments.release.n_samples,
        n_eff=moments.n_eff,
        guarantee=moments.release.guarantee,
        notes=notes + _on_ranks(moments.release.domain.codebook, chosen.names),
        factors=tuple(
            factor for factor in factors_of(moments.release.domain.codebook) if factor.numbers_in(chosen.names[:-1])
        ),
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """A regression of standardised columns."""

    coef: Vector
    spread: Spread
    r_squared: float
    r_squared_sd: float

    def r_squared_interval(self, level: float) -> tuple[float, float]:
        """Ends, within [0, 1]."""
        half = half_width(level) * self.r_squared_sd
        return max(self.r_squared - half, 0.0), min(max(self.r_squared + half, 0.0), 1.0)


def _newton_step(moments: UncertainMoments) -> _Step:
    """Coefficients of the last of some standardised columns on the others, and R²."""
    C, Y, k = moments.noisy.denoised, moments.noisy.matrix, len(moments.names) - 1
    inverse = np.linalg.inv(C[:k, :k])
    shrunk = inverse @ C[:k, k]
    first = inverse @ (Y[:k, k] - Y[:k, :k] @ shrunk)
    second = first - inverse @ Y[:k, :k] @ first
    coef = shrunk + first
    u = np.r_[-coef, 1.0]
    spread = moments.covariance_of_products(np.c_[inverse, np.zeros(k)], u)
    # Where the scales of column j and of the outcome are off by e_j/2 and e_y/2, β_j is by β_j (e_y − e_j)/2.
    scales = np.outer(coef, coef) * moments.excess[-1] / 4.0 + np.diag(coef**2 * moments.excess[:-1] / 4.0)
    spread = spread + Spread(np.zeros((k, k)), scales + np.outer(second, second))
    # The smallest sum of squares is smaller than that at β, by what errors of β̂ explain of noise.
    explained = _trace(spread.total - scales, C[:k, :k])
    if explained < _CORRECTABLE:
        residual = (float(u @ Y @ u) + explained) / max(Y[k, k], _LEAST_RESIDUAL)
        of_squares = 2.0 * _trace(spread.total @ C[:k, :k], spread.total @ C[:k, :k])  # all there is where R² = 0
    else:  # what is added may be several times R², and R² of the denoised covariance is off by far less
        u, of_squares = np.r_[-shrunk, 1.0], 0.0
        residual = float(u @ C @ u) / float(C[k, k])
    residual, last = float(np.clip(residual, _LEAST_RESIDUAL, 1.0)), np.eye(k + 1)[k]
    sampling, privacy = moments.variance_of_trace(residual * np.outer(last, last) - np.outer(u, u))
    return _Step(coef, spread, 1.0 - residual, float(np.sqrt(sampling + privacy + of_squares)))


def _trace(left: Matrix, right: Matrix) -> float:
    """tr(LR)."""
    return float(np.sum(left * right.T))


def _without_interval(chosen: UncertainMoments) -> tuple["np.ndarray[Any, np.dtype[np.bool_]]", tuple[str, ...]]:
    """Which coefficients have none, and why; and which columns to be careful with."""
    k = len(chosen.names) - 1
    if chosen.n_eff < RELIABLE * (k + 1):
        return np.ones(k, dtype=bool), (
            f"No intervals: the release is as good as {chosen.n_eff:.3g} noise-free records, and {k + 1} columns need "
            f"at least {RELIABLE:g} each.",
        )
    if chosen.drowned[-1]:
        outcome = np.isin(chosen.release.column_names, chosen.names[-1])
        return np.ones(k, dtype=bool), (
            f"No intervals: the variance of {chosen.names[-1]} is within its noise.{remedies(chosen.release, outcome)}",
        )
    none, notes = chosen.drowned[:-1].copy(), []
    if none.any():
        notes.append(
            "No interval where the variance of a column is within its noise: "
            f"{_list_names(chosen, np.flatnonzero(none))}."
        )
    for group in collinear_columns(chosen.noisy.select(list(range(k)))):
        none[list(group)] = True
        notes.append(
            f"No interval where columns are collinear as far as the release can tell: {_list_names(chosen, group)}."
        )
    vague = chosen.undetermined & ~chosen.drowned
    if vague.any():
        notes.append(
            "The standard deviation of these columns may be off by more than a factor of 1.2; the intervals account "
            f"for this: {_list_names(chosen, np.flatnonzero(vague))}."
        )
    if vague[-1]:
        notes.append("R-squared has no interval, because it would not account for that of the outcome.")
    return none, tuple(notes)


def _hidden_tails(
    chosen: UncertainMoments, step: _Step, none: "np.ndarray[Any, np.dtype[np.bool_]]"
) -> tuple[str, ...]:
    """Whose intervals are longer because of tails that nobody can see, by a seventh or more, or assume none."""
    of_tails = (step.coef * chosen.tail_sd[:-1] / 2.0) ** 2
    widened = ~none & (of_tails > 0.25 * np.diag(step.spread.total))  # without them √0.75 = 0.87 times as long
    assumed = chosen.hidden_tails & ~np.r_[none | widened, none.all()]
    notes = []
    for which, said in (
        (
            widened,
            "Intervals are longer because the bounds of these columns allow long tails, which the release cannot",
        ),
        (
            assumed,
            "Intervals assume that these columns have no long tails, which their bounds allow and the release cannot",
        ),
    ):
        if which.any():
            names = _list_names(chosen, np.flatnonzero(which))
            notes.append(f'{said} see. Narrower public bounds or scale="log" would help: {names}.')
    return tuple(notes)


def _on_ranks(codebook: Codebook | None, names: Sequence[str]) -> tuple[str, ...]:
    """What a unit of a ranked column is, if there are such columns."""
    if codebook is None:
        return ()
    places = zip(codebook.kinds, codebook.places, strict=True)
    ranked = [codebook.columns[place.start] for kind, place in places if getattr(kind, "scale", None) == RANK]
    ranked = [name for name in ranked if name in names]
    if not ranked:
        return ()
    return (
        f"Coefficients of {', '.join(ranked)} are per unit of the scores that the release gives to values. Noise moves "
        "the scale of scores from release to release: compare standardized coefficients, or use one release's domain "
        "for all.",
    )


def _list_names(chosen: UncertainMoments, which: Iterable[int]) -> str:
    return list_first([chosen.names[k] for k in which])
