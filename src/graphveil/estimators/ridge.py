"""The ridge estimator: the paper's Algorithm 1, and a targeted ridge on the denoised release."""

from typing import Any

import numpy as np

from graphveil._typing import Matrix
from graphveil.estimators._paper_mode import PaperModeEstimator
from graphveil.ledger.account import LedgerLike
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.estimate import recover
from graphveil.released.release import Release
from graphveil.solvers.ridge import ridge_precision
from graphveil.spec.weight import Weight

__all__ = ["PrivateRidgePrecision"]


class PrivateRidgePrecision(PaperModeEstimator):
    """Ridge precision matrix under differential privacy: −log det Θ + tr(SΘ) + α‖Θ − T‖² at its minimum.

    By default S is the denoised correlation matrix, T the identity, and the result is transformed back to the columns'
    units: α does not depend on them, and a large α shrinks towards independent columns with the right variances. With
    ``mechanism="paper"`` it is the paper's Algorithm 1 as printed: S is the second moment with classically calibrated
    noise on every entry, and T = 0.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, against replacing all rows of one person. There are no defaults: this is your decision.
    alpha : float > 0, list of them or "auto"
        The penalty. Of several, thinning (cross-validation on the release, at no cost) chooses the best. "auto" is
        p/``n_eff_``, which is small if there are many more effective records than columns; the paper's mechanism needs
        a number.
    mechanism : {"default", "paper"}
    allow_unproven : bool, default False
        Let ``mechanism="paper"`` run at ε > 1, where its calibration has no proof; the exact guarantee is charged.
    noise_factor : float, default 1
        So many times the noise of ``mechanism="paper"``, for which (``epsilon``/noise_factor, ``delta``) is charged.
        The paper's tables have √2 times the noise of its text where ε < 1.
    bounds, data_norm, assume_centered, rows_per_person, person, weight, ledger, dataset, key, random_state
        As in :class:`~graphveil.PrivatePrecision`. The paper's mechanism assumes centred rows.

    Attributes
    ----------
    precision_, covariance_ : (p, p) arrays
        Inverse to each other.
    alpha_ : float
        The penalty that was used.
    cv_results_ : dict
        Of a list of penalties: "alphas", with "mean_test_score" and "std_test_score" over draws of noise, the
        log-likelihoods that thinning finds.
    partial_correlations_, location_, n_eff_, release_, privacy_, n_features_in_, feature_names_in_
        As in :class:`~graphveil.PrivatePrecision`.

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=5), 20_000, random_state=0)
    >>> model = gv.PrivateRidgePrecision(epsilon=1.0, delta=1e-6, bounds=(-6, 6)).fit(rows)
    >>> model.precision_.shape
    (5, 5)
    >>> printed = gv.PrivateRidgePrecision(0.5, 1e-6, alpha=0.1, mechanism="paper", data_norm=6, assume_centered=True)
    >>> printed.fit(rows).release_.event.mechanism
    'paper'
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        alpha: Any = "auto",
        mechanism: str = "default",
        allow_unproven: bool = False,
        noise_factor: float = 1.0,
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
        super().__init__(
            epsilon,
            delta,
            bounds=bounds,
            data_norm=data_norm,
            assume_centered=assume_centered,
            rows_per_person=rows_per_person,
            person=person,
            weight=weight,
            ledger=ledger,
            dataset=dataset,
            key=key,
            random_state=random_state,
        )
        self.alpha = alpha
        self.mechanism = mechanism
        self.allow_unproven = allow_unproven
        self.noise_factor = noise_factor

    def _check_alpha(self) -> Any:
        if isinstance(self.alpha, str) and self.alpha == "auto":
            return "auto"
        return self._check_penalties('a positive number, a list of them or "auto"')

    def _estimate(self, release: Release) -> None:
        if release.event.mechanism == "paper":
            self.alpha_ = self._require_number_alpha()
            self.precision_ = ridge_precision(release.second_moment, self.alpha_)
            self.location_, self.n_eff_ = release.moment_center, release.n_eff
        else:
            found, alpha = recover(release), self._check_alpha()
            if isinstance(alpha, str):
                alpha = len(found.precision) / found.n_eff
            self.alpha_ = self._choose_alpha(Analysis(release, found), alpha) if np.ndim(alpha) == 1 else alpha
            (self.precision_,) = self._fit_each(found.covariance, np.array([self.alpha_]))
            self.location_, self.n_eff_ = found.location, found.n_eff
        covariance = np.linalg.inv(self.precision_)
        self.covariance_ = (covariance + covariance.T) / 2.0

    def _fit_each(self, covariance: Matrix, alphas: Matrix) -> Matrix:
        sd = np.sqrt(covariance.diagonal())
        scale = np.outer(sd, sd)
        return np.asarray(ridge_precision(covariance / scale, alphas, target=1.0) / scale)
