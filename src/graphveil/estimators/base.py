"""The base class of private estimators: one release per fit, and views of the fitted network."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from graphveil._frames import pick_columns, to_numbers
from graphveil._html import facts_html
from graphveil._packages import import_package
from graphveil.estimators._safeguards import refuse_search, warn_of_fitted_steps
from graphveil.exceptions import InvalidParameter
from graphveil.gate import release
from graphveil.ledger.account import LedgerLike
from graphveil.ledger.without_ledger import add_up
from graphveil.metrics import partial_correlations
from graphveil.recovery.associations import association_strengths
from graphveil.released.grouped import require_release
from graphveil.released.release import Release
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.weight import Weight

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PrivateEstimator"]

_STRONGEST = 5  # edges that a notebook shows


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base class of the estimators: everything except the use of the release.

    Each call of ``fit`` is one release and one charge. A scaler, an imputer or a selector that was fitted to the
    same rows before voids the guarantee; so does choosing parameters by looking at them. What is noticed of this, and
    what is not: ``docs/estimators.md``.
    """

    precision_: "NDArray[np.float64]"
    covariance_: "NDArray[np.float64]"
    location_: "NDArray[np.float64]"
    release_: Release
    privacy_: ReleaseEvent
    n_eff_: float
    n_features_in_: int

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        bounds: Any = None,
        data_norm: float | str | None = None,
        assume_centered: bool = False,
        rows_per_person: int = 1,
        person: str | None = None,
        weight: Weight | None = None,
        ledger: LedgerLike | None = None,
        dataset: str | None = None,
        key: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.data_norm = data_norm
        self.assume_centered = assume_centered
        self.rows_per_person = rows_per_person
        self.person = person
        self.weight = weight
        self.ledger = ledger
        self.dataset = dataset
        self.key = key
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, person: Any = None, weight: Any = None) -> Self:
        """Release the moments of ``X`` and estimate from the release: one charge.

        Parameters
        ----------
        X : array, data frame, path, or collection of batches
            The records, as in :func:`graphveil.release`.
        y : ignored
        person, weight : arrays or series, optional
            Whose row each row is, and its survey weight, where ``X`` has no columns of them.
        """
        return self.fit_release(self._release_rows(X, person=person, weight=weight, **self._release_options()))

    def _release_rows(self, rows: Any, **options: Any) -> Any:
        """Make the release of a fit, unless it would be one of many that nobody adds up."""
        if self.random_state is None:
            if self.ledger is None:
                refuse_search(options["budget"])
            warn_of_fitted_steps()
        self.release_ = made = release(rows, **options)  # kept, should a warning be an error
        if self.ledger is None and self.random_state is None:
            add_up(options["domain"], made.event)
        return made

    def fit_release(self, release: Release) -> Self:
        """Estimate from a release that exists already: free.

        Parameters
        ----------
        release : Release
        """
        require_release("release", release)
        # Before anything can fail: a release that was paid for must not be lost with the estimate.
        self.release_, self.privacy_ = release, release.event
        for name in ("precision_", "feature_names_in_", "cv_results_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._estimate(release)
        self.n_features_in_ = len(self.precision_)
        if release.columns is not None:
            self.feature_names_in_ = np.array(release.columns[: self.n_features_in_], dtype=object)
        return self

    def __sklearn_clone__(self) -> Self:
        made: Self = super().__sklearn_clone__()
        made.ledger = self.ledger  # its copy in memory would begin from zero
        return made

    def _repr_html_(self) -> str:
        name = type(self).__name__
        if not hasattr(self, "precision_"):
            return facts_html(
                name, [("not fitted", "every fit is a release and spends privacy budget"), ("parameters", repr(self))]
            )
        facts = [
            ("guarantee", self.release_.guarantee),
            (self.release_.event.counted, f"{self.release_.n_samples:,}, as good as {self.n_eff_:,.0f} without noise"),
        ]
        return facts_html(name, [*facts, *self._edge_facts()])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _edge_facts(self) -> list[tuple[str, str]]:
        """How many pairs the fit joins, by edges or by noise, and the strongest."""
        names, weights = self._associations()
        weights = np.triu(weights, 1)
        order = np.argsort(-np.abs(weights), axis=None)[: min(_STRONGEST, np.count_nonzero(weights))]
        pairs = zip(*np.unravel_index(order, weights.shape), strict=True)
        strongest = [(f"{names[i]} — {names[j]}", f"{weights[i, j]:+.2f}") for i, j in pairs]
        return [("joined pairs", f"{np.count_nonzero(weights)} of {len(names)} variables"), *strongest]

    def _domain(self) -> Domain:
        return Domain(
            bounds=self.bounds,
            data_norm=self.data_norm,
            rows_per_person=self.rows_per_person,
            person=self.person,
            weight=self.weight,
        )

    def _release_options(self) -> dict[str, Any]:
        return {
            "domain": self._domain(),
            "budget": Budget(self.epsilon, self.delta),
            "assume_centered": self.assume_centered,
            "ledger": self.ledger,
            "dataset": self.dataset,
            "key": self.key,
            "random_state": self.random_state,
        }

    @abstractmethod
    def _estimate(self, release: Release) -> None:
        """Set ``precision_``, ``covariance_``, ``location_`` and ``n_eff_``."""

    # ------------------------------------------------------------------ the network that was fitted
    @property
    def partial_correlations_(self) -> "NDArray[np.float64]":
        """Correlations of pairs when all other columns are known; 1 on the diagonal."""
        check_is_fitted(self, "precision_")
        return partial_correlations(self.precision_)

    def to_frame(self) -> "pd.DataFrame":
        """Partial correlations as a table with the columns' names (needs pandas)."""
        pandas = import_package("pandas", "to_frame")
        return pandas.DataFrame(self.partial_correlations_, index=self._names(), columns=self._names())

    def to_networkx(self, threshold: float = 0.0) -> "networkx.Graph":
        """Graph of the pairs whose partial correlation exceeds ``threshold`` in absolute value (needs networkx).

        A category of three levels or more is one node, and its edges have strengths without a sign.
        """
        networkx = import_package("networkx", "to_networkx")
        names, weights = self._associations()
        graph = networkx.Graph()
        graph.add_nodes_from(names)
        for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
            if abs(weights[i, j]) > threshold:
                graph.add_edge(names[i], names[j], weight=float(weights[i, j]))
        return graph

    def _subtract_location(self, X: "ArrayLike") -> "NDArray[np.float64]":
        return self._check_rows(X) - self.location_

    def _check_rows(self, X: "ArrayLike") -> "NDArray[np.float64]":
        rows = to_numbers(self._pick_features(X))
        width = rows.shape[1] if rows.ndim == 2 else rows.size
        if width != self.n_features_in_:
            raise InvalidParameter(
                f"X has {width} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                "input."
            )
        return rows.reshape(-1, width)

    def _pick_features(self, X: Any) -> Any:
        """The fitted columns of a data frame, in the order in which they were fitted; an array as it is."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else pick_columns(X, list(names))

    def _associations(self) -> "tuple[list[str], NDArray[np.float64]]":
        """Names of the variables, and the partial correlations or strengths between them."""
        check_is_fitted(self, "precision_")
        places = {name: own for name, own in self.release_.variables.items() if own.stop <= self.n_features_in_}
        return list(places), association_strengths(self.precision_, tuple(places.values()))

    def _names(self) -> list[str]:
        check_is_fitted(self, "precision_")
        return list(self.release_.column_names[: self.n_features_in_])
