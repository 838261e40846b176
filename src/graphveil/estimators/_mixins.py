"""Mixins of some estimators: collection of batches, and use as a Gaussian model."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphveil._frames import pick_columns, to_numbers
from graphveil.estimators._safeguards import warn_of_exact_score
from graphveil.estimators.base import PrivateEstimator
from graphveil.exceptions import GuaranteeError, InvalidParameter
from graphveil.metrics import negative_log_likelihood
from graphveil.released.release import Release
from graphveil.simulate.samplers import gaussian_rows
from graphveil.spec.augmentation import Constant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from graphveil.rows.streaming import StreamedMoments

__all__ = ["BatchFitMixin", "GaussianModelMixin"]


class BatchFitMixin(PrivateEstimator):
    """Fits that see their rows once, batch by batch, and release them together."""

    _collection: "StreamedMoments | None" = None  # collected by partial_fit; unreleased

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Collect the rows of a batch, and spend nothing: :meth:`release` does, once, for all batches together.

        One round and public bounds only, because rows are seen once; ``fit`` is far more accurate where the rows can be
        read again. Until the release an estimator cannot be pickled or copied.

        Parameters
        ----------
        X : array, data frame, path, or collection of batches
            More records. ``rows_per_person`` counts over all batches.
        y : ignored
        """
        if self._collection is None:
            options = self._release_options()  # refused now, if they would be later
            from graphveil.rows.streaming import StreamedMoments

            self._collection = StreamedMoments(options["domain"], None if self.assume_centered else Constant())
        self._collection.add(X)
        self.n_features_in_ = self._collection.n_features
        return self

    def release(self) -> Release:
        """Release what ``partial_fit`` has collected, estimate from it, and return it: one charge."""
        if self._collection is None:
            raise InvalidParameter("There is nothing to release: call partial_fit or fit first.")
        made: Release = self._release_rows(self._collection, **(self._release_options() | {"adaptive": False}))
        self._collection = None
        self.fit_release(made)
        return made

    def __getstate__(self) -> Any:
        if self._collection is not None:
            raise GuaranteeError(
                "This estimator holds unreleased sums of records and cannot be pickled or copied; release() first."
            )
        return super().__getstate__()


class GaussianModelMixin(PrivateEstimator):
    """What one Gaussian with the fitted mean and precision matrix is good for."""

    def get_precision(self) -> "NDArray[np.float64]":
        """``precision_``, as scikit-learn's covariance estimators return it."""
        check_is_fitted(self, "precision_")
        return self.precision_

    def error_norm(
        self, comp_cov: "ArrayLike", norm: str = "frobenius", scaling: bool = True, squared: bool = True
    ) -> float:
        """Distance of ``covariance_`` from a public covariance matrix, as scikit-learn defines it.

        Parameters
        ----------
        comp_cov : array of shape (p, p)
        norm : {"frobenius", "spectral"}
        scaling : bool, default True
            Divide by the number of columns.
        squared : bool, default True
        """
        from sklearn.covariance import EmpiricalCovariance

        check_is_fitted(self, "precision_")
        return float(EmpiricalCovariance.error_norm(self, comp_cov, norm=norm, scaling=scaling, squared=squared))

    def mahalanobis(self, X: "ArrayLike") -> "NDArray[np.float64]":
        """Squared Mahalanobis distances of rows from ``location_``. The rows are yours; the result is not private."""
        check_is_fitted(self, "precision_")
        centred = self._subtract_location(X)
        return np.asarray(np.einsum("ij,jk,ik->i", centred, self.precision_, centred))

    def score(self, X: "ArrayLike", y: Any = None) -> float:
        """Mean Gaussian log-likelihood of rows. Of private rows, this number is not private.

        Parameters
        ----------
        X : array of shape (n, p)
            Rows that were not fitted to.
        y : ignored
        """
        check_is_fitted(self, "precision_")
        centred = self._subtract_location(X)
        warn_of_exact_score(self.release_, len(centred))
        fit = negative_log_likelihood(self.precision_, centred.T @ centred / len(centred))
        return float(-(fit + centred.shape[1] * math.log(2.0 * math.pi)) / 2.0)

    def sample(self, n_samples: int, random_state: int | None = None) -> "NDArray[np.float64]":
        """Rows from the fitted Gaussian: synthetic, made of published numbers alone."""
        check_is_fitted(self, "precision_")
        return gaussian_rows(self.precision_, n_samples, random_state=random_state) + self.location_

    def conditional_mean(self, X: "ArrayLike", given: Sequence[str | int]) -> "NDArray[np.float64]":
        """What the other columns are expected to be, given some: the regression of the others on these.

        Parameters
        ----------
        X : array of shape (n, len(given))
            Values of the given columns.
        given : sequence of str or int
            Their names or numbers.

        Returns
        -------
        ndarray of shape (n, p - len(given))
            In the order of the remaining columns.
        """
        known = self._column_numbers(given)
        names = self._names()
        rows = to_numbers(pick_columns(X, [names[k] for k in known])).reshape(-1, known.size)
        others = np.setdiff1d(np.arange(self.n_features_in_), known)
        precision = self.precision_
        # For a Gaussian, the mean of the others moves by -Θ_oo⁻¹ Θ_ok times what the given ones are off by.
        pull = np.linalg.solve(precision[np.ix_(others, others)], precision[np.ix_(others, known)])
        return np.asarray(self.location_[others] - (rows - self.location_[known]) @ pull.T)

    def minimum_variance_weights(self) -> "NDArray[np.float64]":
        """Weights that add up to 1 and make the variance of the weighted sum of columns as small as possible."""
        check_is_fitted(self, "precision_")
        weights = self.precision_.sum(axis=1)
        return np.asarray(weights / weights.sum())

    def _column_numbers(self, given: Sequence[str | int]) -> "NDArray[np.intp]":
        names = self._names()
        numbers = [names.index(item) if item in names else item for item in given]
        if not numbers or len(set(numbers)) != len(numbers) or not set(numbers) < set(range(len(names))):
            raise InvalidParameter.of("given", "some but not all columns, by distinct names or numbers", given)
        return np.array(numbers, dtype=np.intp)
