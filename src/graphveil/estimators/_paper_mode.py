"""Estimators that can also run exactly as printed in the paper: ``mechanism="paper"``."""

from abc import abstractmethod
from typing import Any

from graphveil import _validation
from graphveil.estimators._mixins import BatchFitMixin, GaussianModelMixin
from graphveil.exceptions import InvalidParameter
from graphveil.spec.budget import Budget

__all__ = ["PaperModeEstimator"]


class PaperModeEstimator(BatchFitMixin, GaussianModelMixin):
    """One round, classical calibration and a given ``alpha`` when the paper's mechanism is asked for."""

    alpha: Any
    mechanism: str
    allow_unproven: bool
    noise_factor: float

    @abstractmethod
    def _check_alpha(self) -> Any:
        """The penalty, or the name of a way to choose it."""

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

    def _require_number_alpha(self) -> float:
        """The penalty for a release by the paper's mechanism, which may come from a file."""
        alpha = self._check_alpha()
        if not isinstance(alpha, float):
            raise InvalidParameter.of("alpha", "a number for a release by the paper's mechanism", self.alpha)
        return alpha
