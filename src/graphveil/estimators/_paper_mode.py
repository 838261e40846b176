"""Estimators that can also run exactly as printed in the paper: ``mechanism="paper"``."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphveil import _validation
from graphveil._typing import Matrix
from graphveil.estimators._mixins import BatchFitMixin, GaussianModelMixin
from graphveil.exceptions import InvalidParameter
from graphveil.recovery.analysis import Analysis
from graphveil.solvers.problem import check_grid
from graphveil.spec.budget import Budget

__all__ = ["PaperModeEstimator"]


class PaperModeEstimator(BatchFitMixin, GaussianModelMixin):
    """One round, classical calibration and a given ``alpha`` when the paper's mechanism is asked for."""

    alpha: Any
    mechanism: str
    allow_unproven: bool
    noise_factor: float
    cv_results_: dict[str, Any]

    @abstractmethod
    def _check_alpha(self) -> Any:
        """The penalty, several to choose from, or the name of a way to choose it."""

    @abstractmethod
    def _fit_each(self, covariance: Matrix, alphas: Matrix) -> Iterable[Matrix]:
        """Precision matrices fitted to a denoised covariance."""

    def _release_options(self) -> dict[str, Any]:
        alpha = self._check_alpha()  # before anything is spent
        if self.mechanism == "paper" and not isinstance(alpha, float):
            raise InvalidParameter.of("alpha", 'a number with mechanism="paper"', self.alpha)
        if self.mechanism == "paper" and not self.assume_centered:
            raise InvalidParameter(
                'mechanism="paper" assumes rows with mean zero: set assume_centered=True, and subtract a public '
                "centre from columns whose mean is not zero."
            )
        own = {"mechanism": self.mechanism, "allow_unproven": self.allow_unproven}
        # The paper's noise is proportional to 1/ε.
        factor = _validation.number("noise_factor", self.noise_factor, "a number of at least 1", 1.0, 1e6)
        if factor > 1.0 and self.mechanism != "paper":
            raise InvalidParameter.of("noise_factor", 'the default 1, unless mechanism="paper"', self.noise_factor)
        budget = Budget(self.epsilon / factor, self.delta)
        return super()._release_options() | own | {"budget": budget, "adaptive": self.mechanism != "paper"}

    def _check_penalties(self, rule: str) -> Any:
        """A penalty, or several to choose from."""
        if np.ndim(self.alpha) == 1:
            return check_grid(self.alpha, "alpha", rule, zero_allowed=False)
        return _validation.number("alpha", self.alpha, rule, 0.0, np.inf, open_ends=True)

    def _choose_alpha(self, analysis: Analysis, alphas: Matrix) -> float:
        """The penalty that thinning finds best; free."""
        scores = analysis.score_fits(lambda covariance: self._fit_each(covariance, alphas))
        mean = scores.mean(axis=0)
        self.cv_results_ = {"alphas": alphas, "mean_test_score": mean, "std_test_score": scores.std(axis=0)}
        return float(alphas[mean.argmax()])

    def _require_number_alpha(self) -> float:
        """The penalty for a release by the paper's mechanism, which may come from a file."""
        alpha = self._check_alpha()
        if not isinstance(alpha, float):
            raise InvalidParameter.of("alpha", "a number for a release by the paper's mechanism", self.alpha)
        return alpha
