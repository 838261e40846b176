"""Least squares, private end to end: rows and outcome in one release."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from graphveil._frames import pick_columns, to_numbers
from graphveil.estimators._safeguards import warn_of_exact_score
from graphveil.estimators.base import PrivateEstimator
from graphveil.exceptions import InvalidParameter, warn_caller
from graphveil.inference.regression import Regression, regression
from graphveil.ledger.account import LedgerLike
from graphveil.recovery.estimate import estimate_release
from graphveil.released.release import Release
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.rows.sources import read_numbers
from graphveil.spec.domain import Domain
from graphveil.spec.weight import Weight

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PrivateLinearRegression"]


class PrivateLinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Linear regression under differential privacy: columns and outcome in one release, then least squares for free.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, against replacing all rows of one person, outcome included.
    bounds : pair (lower, upper) or mapping
        The range of the columns, from public knowledge; each a number or one per column. Or such pairs by name: these
        columns of a data frame are used, and no others.
    outcome_bounds : pair (lower, upper)
        The range of the outcome, from public knowledge.
    rows_per_person, weight, ledger, dataset, key, random_state
        As in :class:`~graphveil.PrivatePrecision`.

    Attributes
    ----------
    coef_ : (p,) array
    intercept_ : float
    regression_ : Regression
        The table: standard errors, intervals, p-values, R².
    precision_, covariance_, location_, partial_correlations_
        For the columns followed by the outcome.
    n_eff_, release_, privacy_, n_features_in_, feature_names_in_
        As in :class:`~graphveil.PrivatePrecision`.

    Examples
    --------
    >>> import numpy as np
    >>> import graphveil as gv
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> y = X @ [1.0, -2.0] + rng.normal(0, 0.5, 5000)
    >>> model = gv.PrivateLinearRegression(
    ...     epsilon=1.0, delta=1e-6, bounds=(-1, 1), outcome_bounds=(-6, 6), random_state=0
    ... )
    >>> model.fit(X, y).coef_.round(1).tolist()
    [1.0, -2.0]
    """

    coef_: "NDArray[np.float64]"
    intercept_: float
    regression_: Regression

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        bounds: Any = None,
        outcome_bounds: Any = None,
        rows_per_person: int = 1,
        weight: Weight | None = None,
        ledger: LedgerLike | None = None,
        dataset: str | None = None,
        key: str | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            bounds=bounds,
            rows_per_person=rows_per_person,
            weight=weight,
            ledger=ledger,
            dataset=dataset,
            key=key,
            random_state=random_state,
        )
        self.outcome_bounds = outcome_bounds

    def fit(self, X: Any, y: Any = None, *, person: Any = None, weight: Any = None) -> Self:
        """Release columns and outcome together, and regress: one charge.

        Parameters
        ----------
        X : array or data frame
            The columns.
        y : 1-D array or series
            The outcome.
        person, weight : arrays or series, optional
            The id of the person of each row, and its survey weight.
        """
        if y is None:
            raise InvalidParameter("PrivateLinearRegression.fit requires y to be passed, but the target y is None.")
        if isinstance(self.bounds, Mapping):
            X = pick_columns(X, [str(name) for name in self.bounds])
        (names, columns), (_, outcome) = _numeric("X", X, 2), _numeric("y", y, 1)
        if len(columns) != len(outcome):
            raise InvalidParameter("X and y must have the same number of rows.")
        made = self._release_rows(
            np.column_stack([columns, outcome]),
            person=person,
            weight=weight,
            **(self._release_options() | {"domain": self._wide_domain(columns.shape[1], names)}),
        )
        return self.fit_release(made)

    def _estimate(self, release: Release) -> None:
        found = estimate_release(release)
        outcome = len(found.covariance) - 1
        if outcome < 1:
            raise InvalidParameter("A regression needs a release of at least two columns; the last is the outcome.")
        self.regression_ = regression(release, outcome)
        self.precision_, self.covariance_ = found.precision, found.covariance
        self.location_, self.n_eff_ = found.location, found.n_eff
        self.coef_, self.intercept_ = self.regression_.coef, self.regression_.intercept

    def fit_release(self, release: Release) -> Self:
        """Regress the last column of a release on the others: free.

        Parameters
        ----------
        release : Release
        """
        super().fit_release(release)
        self.n_features_in_ = len(self.coef_)
        if release.columns is not None:
            self.feature_names_in_ = np.array(release.columns[: self.n_features_in_], dtype=object)
        return self

    def predict(self, X: "ArrayLike") -> "NDArray[np.float64]":
        """The mean outcome for each row, as sensitive as these rows; ``regression_.predict`` has intervals."""
        check_is_fitted(self, "coef_")
        rows = to_numbers(self._pick_features(X))
        if rows.ndim != 2:
            raise InvalidParameter(f"X must have 2 dimensions (rows, columns), got {rows.ndim}. Reshape your data.")
        return np.asarray(self._check_rows(rows) @ self.coef_ + self.intercept_)

    def score(self, X: "ArrayLike", y: Any, sample_weight: Any = None) -> float:
        """R² of the prediction for rows. For private rows, it is not private; ``regression_.r_squared`` is.

        Parameters
        ----------
        X : array of shape (n, p)
        y : (n,) array
        sample_weight : (n,) array, optional
        """
        check_is_fitted(self, "coef_")
        warn_of_exact_score(self.release_, len(X))  # type: ignore[arg-type]
        return float(super().score(X, y, sample_weight))

    def _names(self) -> list[str]:
        check_is_fitted(self, "precision_")
        return list(self.release_.column_names)

    def _wide_domain(self, width: int, names: tuple[str, ...] | None) -> Domain:
        """Of the columns and the outcome after them."""
        if self.bounds is None or self.outcome_bounds is None:
            raise InvalidParameter(
                "PrivateLinearRegression needs bounds=(lower, upper) and outcome_bounds=(lower, upper): the ranges "
                "of the columns and the outcome, from public knowledge."
            )
        try:
            low, high = self.outcome_bounds
        except (TypeError, ValueError):
            raise InvalidParameter.of("outcome_bounds", "a pair (lower, upper)", self.outcome_bounds) from None
        domain = Domain(bounds=self.bounds, rows_per_person=self.rows_per_person)
        if domain.codebook is not None:
            raise InvalidParameter(
                "PrivateLinearRegression takes bounds (lower, upper) of columns of numbers. With categories, "
                "logarithms or declared missing values make one release of all columns, the outcome too, and ask "
                "gv.regression: it gives the same table."
            )
        domain = domain.resolve(names, width)
        last = "outcome" if "outcome" not in (domain.columns or ()) else "y"
        return replace(domain.extend({last: (low, high)}), weight=self.weight)


def _numeric(name: str, given: Any, dimensions: int) -> "tuple[tuple[str, ...] | None, NDArray[np.float64]]":
    """Names of columns, where a frame has some, and numbers: by the type of what is given, never by values."""
    if hasattr(given, "tocsr"):
        raise InvalidParameter(f"{name} is a sparse matrix; give a dense one, {name}.toarray().")
    if isinstance(given, list | tuple):
        raise InvalidParameter(f"{name} is a list, which has no type: give numpy.asarray({name}, dtype=float).")
    if not any(hasattr(given, way) for way in ("__arrow_c_stream__", "__arrow_c_array__", "to_frame")):
        given = call_sanitized(lambda: np.asanyarray(given), "read")
        if given.dtype.kind not in "biuf":
            raise InvalidParameter(f"{name} must be an array of numbers, got one of type {given.dtype.type.__name__}.")
    names, found = read_numbers(name, given)
    if dimensions == 1 and found.ndim == 2 and found.shape[1] == 1:
        warn_caller("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
        found = found[:, 0]
    if found.ndim != dimensions:
        raise InvalidParameter(
            f"{name} must have {dimensions} dimension{'s' * (dimensions > 1)}, got {found.ndim}. Reshape your data."
        )
    return names, found
