"""Estimators that can also run exactly as printed in the paper: ``mechanism="paper"``."""

from abc import abstractmethod
from typing import Any

from graphveil.estimators._mixins import BatchFitMixin, GaussianModelMixin
from graphveil.exceptions import InvalidParameter

__all__ = ["PaperModeEstimator"]


class PaperModeEstimator(BatchFitMixin, GaussianModelMixin):
    """One round, classical calibration and a given ``alpha`` when the paper's mechanism is asked for."""

    alpha: Any
    mechanism: str
    allow_unproven: bool

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
        return super()._release_options() | own | {"adaptive": self.mechanism != "paper"}

    def _require_number_alpha(self) -> float:
        """The penalty for a release by the paper's mechanism, which may come from a file."""
        alpha = self._check_alpha()
        if not isinstance(alpha, float):
            raise InvalidParameter.of("alpha", "a number for a release by the paper's mechanism", self.alpha)
        return alpha
