"""Linear discriminant analysis, private end to end: the paper's classifier, from one release."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from graphveil.estimators._safeguards import warn_of_exact_score
from graphveil.estimators.base import PrivateEstimator
from graphveil.exceptions import InvalidParameter, PrivacyWarning, warn_caller
from graphveil.ledger.account import LedgerLike
from graphveil.recovery.class_moments import (
    ONE_ROUND_NORM,
    classes_from_columns,
    classes_from_sums,
    one_round_is_enough,
)
from graphveil.recovery.diagnostics import low_n_eff_warning
from graphveil.recovery.estimate import estimate_release
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.recovery.unknown_levels import surely_unknown, unknown_share, unlabelled_share
from graphveil.released.release import Release
from graphveil.rows.class_indicators import append_class_indicators
from graphveil.rows.sources import open_source
from graphveil.spec.augmentation import Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.quantization import RowGrid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PrivateLDA"]


class PrivateLDA(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Linear discriminant analysis under differential privacy: class shares, class means and scatter in one release.

    With many records, labels are added to the rows as indicator columns, and the mean and covariance of all columns are
    released together, in adaptive rounds. Class shares are the means of the indicators, class means follow from their
    covariance with the other columns, and the scatter within classes is what the indicators do not explain: the inverse
    of a block of the precision matrix. With few records (decided from public numbers), one round releases class counts,
    class means and the second moment of the rows, clipped to 0.6 times the norm that their bounds allow. Either way it
    is one charge.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, against replacing all rows of one person, labels included.
    classes : sequence of str, int or bool
        The declared classes, never read off the data. A row with another label counts in equal parts for all of them,
        or for none in a one-round release.
    bounds : pair (lower, upper) or mapping
        What a value can be, from public knowledge; each a number or one per column.
    rows_per_person, ledger, dataset, key, random_state
        As in :class:`~graphveil.PrivatePrecision`.

    Attributes
    ----------
    classes_ : (k,) array
    priors_ : (k,) array
        Shares of the classes.
    means_ : (k, p) array
        Class means.
    precision_, covariance_ : (p, p) arrays
        Within classes.
    coef_, intercept_ : (k, p) and (k,) arrays
        Scores are ``X @ coef_.T + intercept_``, log posterior probabilities up to a constant.
    partial_correlations_, location_, n_eff_, release_, privacy_, n_features_in_, feature_names_in_
        As in :class:`~graphveil.PrivatePrecision`.

    Examples
    --------
    >>> import graphveil as gv
    >>> data = gv.datasets.ionosphere()
    >>> model = gv.PrivateLDA(epsilon=10.0, delta=1e-4, classes=["b", "g"], bounds=(-1, 1), random_state=0)
    >>> model.fit(data.rows, data.labels).score(data.rows, data.labels) > 0.7
    True
    """

    classes_: "NDArray[Any]"
    priors_: "NDArray[np.float64]"
    means_: "NDArray[np.float64]"
    coef_: "NDArray[np.float64]"
    intercept_: "NDArray[np.float64]"

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        classes: Sequence[str | int | bool],
        bounds: Any = None,
        rows_per_person: int = 1,
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
            ledger=ledger,
            dataset=dataset,
            key=key,
            random_state=random_state,
        )
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, person: Any = None, weight: Any = None) -> Self:
        """Release rows and labels together and fit a classifier: one charge.

        Parameters
        ----------
        X : array or data frame
            The records.
        y : list, 1-D array or series
            Their labels.
        person, weight : None
            Labels together with a person column or with weights are not supported yet.
        """
        for name, given in (("person", person), ("weight", weight)):
            if given is not None:
                raise InvalidParameter.of(name, "None for a classifier", "given")
        labels = self._check_labels()
        if y is None:
            raise InvalidParameter("PrivateLDA.fit requires y to be passed, but the target y is None.")
        if self.bounds is None:
            raise InvalidParameter(
                "PrivateLDA needs bounds=(lower, upper): the range of each column, from public knowledge."
            )
        domain = Domain(bounds=self.bounds, rows_per_person=self.rows_per_person)
        rows = open_source((X, y), domain, labels)
        domain, options = domain.resolve(rows.columns, rows.n_features), self._release_options()
        if self._asks_once(domain, rows.count()):
            options["domain"] = replace(domain, data_norm=ONE_ROUND_NORM * domain.radius)
            options |= {"labels": replace(labels, weight=1.0), "adaptive": False}
            return self.fit_release(self._release_rows(rows, **options))
        rows, options["domain"] = append_class_indicators(rows, domain, labels)
        return self.fit_release(self._release_rows(rows, **options))

    def _asks_once(self, domain: Domain, n_samples: int) -> bool:
        """Whether labels are released beside the rows, in one round; from public numbers."""
        if domain.gaps or domain.wants_scores or not n_samples:  # only adaptive rounds can release these, or refuse
            return False
        columns, mu = domain.require_n_features() + len(self.classes) - 1, Budget(self.epsilon, self.delta).mu
        inputs = ProtocolInputs(
            n_features=columns,
            n_samples=n_samples,
            lattice=RowGrid.of(domain, None),
            radius=domain.radius,
            mu=mu,
            rows_per_person=self.rows_per_person,
            centred=False,
        )
        return one_round_is_enough(inputs)

    def _estimate(self, release: Release) -> None:
        labels = self._check_labels()
        if isinstance(release.augment, Labels):
            if release.augment.classes != labels.classes:
                raise InvalidParameter.of(
                    "classes", f"those of this release, {release.augment.classes}", labels.classes
                )
            found, unknown = classes_from_sums(release), unlabelled_share(release)
        else:
            if len(release.column_names) < len(labels.classes):
                rule = f"at most {len(release.column_names)} classes, for this release"
                raise InvalidParameter.of("classes", rule, len(labels.classes))
            whole, p = estimate_release(release), len(release.column_names) - len(labels.classes) + 1
            found = classes_from_columns(whole, len(labels.classes))
            unknown = unknown_share(whole, np.arange(p, len(release.column_names)))
        if surely_unknown(*unknown):
            warn_caller(
                f"About {unknown[0]:.0%} of the {release.event.counted} have a label that is none of the classes. Is "
                "one of the classes misspelt, or of another type than the labels?",
                PrivacyWarning,
            )
        for caution in low_n_eff_warning(release, found):  # a column that drowns does no harm to a classifier
            warn_caller(caution, PrivacyWarning)
        self.classes_ = np.array(labels.classes)
        self.priors_, self.means_, self.location_ = found.shares, found.means, found.location
        self.covariance_, self.precision_, self.n_eff_ = found.covariance, found.precision, found.n_eff
        self.coef_ = self.means_ @ self.precision_
        self.intercept_ = np.log(self.priors_) - 0.5 * np.einsum("kj,kj->k", self.coef_, self.means_)

    def decision_function(self, X: "ArrayLike") -> "NDArray[np.float64]":
        """Scores of the classes; for two, the second minus the first. Results are as sensitive as the rows you pass."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if len(self.classes_) == 2 else scores

    def predict(self, X: "ArrayLike") -> "NDArray[Any]":
        """The most probable class of each row."""
        best = np.argmax(self._scores(X), axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: "ArrayLike") -> "NDArray[np.float64]":
        """Posterior probabilities of the classes, a column each."""
        from scipy.special import softmax

        return np.asarray(softmax(self._scores(X), axis=1))

    def score(self, X: "ArrayLike", y: Any = None) -> float:
        """Share of rows that are predicted correctly. For private rows, this number is not private.

        Parameters
        ----------
        X : array of shape (n, p)
        y : labels of the rows
        """
        predicted = self.predict(X)
        warn_of_exact_score(self.release_, len(predicted))
        return float(np.mean(predicted == np.asarray(y)))

    def _scores(self, X: "ArrayLike") -> "NDArray[np.float64]":
        check_is_fitted(self, "coef_")
        if np.ndim(X) != 2:
            raise InvalidParameter(f"X must have 2 dimensions (rows, columns), got {np.ndim(X)}. Reshape your data.")
        return np.asarray((self._subtract_location(X) + self.location_) @ self.coef_.T + self.intercept_)

    def _check_labels(self) -> Labels:
        labels = Labels(tuple(self.classes) if not isinstance(self.classes, str) else self.classes)  # type: ignore[arg-type]
        if len(labels.classes) < 2:
            raise InvalidParameter.of("classes", "at least two classes", labels.classes)
        return labels
