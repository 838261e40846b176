"""What estimators notice about the code that calls them: searches, steps that saw the rows, exact scores.

A search or a pipeline is recognised by scikit-learn's frames on the call stack; nothing about the rows is kept. A
transformer that was fitted elsewhere leaves no trace and is not noticed.
"""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from graphveil.exceptions import GuaranteeError, PrivacyWarning, warn_caller
from graphveil.ledger.without_ledger import INSTEAD
from graphveil.released.release import Release
from graphveil.spec.budget import Budget
from graphveil.spec.gdp import epsilon_from_mu
from graphveil.spec.rounding import format_exact, format_round_up

__all__ = ["refuse_search", "warn_of_exact_score", "warn_of_fitted_steps"]


def refuse_search(budget: Budget) -> None:
    """Refuse to be fitted by scikit-learn's searches and cross-validation: they would make a release in every fit."""
    if not _is_searched():
        return
    ten = format_round_up(epsilon_from_mu(budget.mu * 10**0.5, budget.delta), 3)
    epsilon, delta = format_exact(budget.epsilon), format_exact(budget.delta)
    raise GuaranteeError(
        "A search or cross-validation without a ledger was refused, and nothing was spent: every one of its fits would "
        f"be a release of its own (ten at ({epsilon}, {delta}) are ({ten}, {delta})-differentially private together), "
        f"and its scores exact numbers of the rows. {INSTEAD} For a simulation, set random_state."
    )


def warn_of_fitted_steps() -> None:
    """Warn if an earlier step of a pipeline of scikit-learn has been fitted to the same rows."""
    from sklearn.utils import get_tags

    for frame in _callers():
        steps = getattr(frame.f_locals.get("self"), "steps", ()) if _module(frame) == "sklearn.pipeline" else ()
        before = [step for _, step in steps[:-1] if hasattr(step, "fit")]
        fitted = list(dict.fromkeys(type(step).__name__ for step in before if get_tags(step).requires_fit))
        if fitted:
            warn_caller(
                f"{', '.join(fitted)} in this pipeline learns exact numbers from the rows, which change what every "
                "row becomes: the guarantee does not hold for this. Leave it out, as columns are brought to one scale "
                "privately, or transform by public numbers, for example in a FunctionTransformer.",
                PrivacyWarning,
            )


def warn_of_exact_score(release: Release, n_rows: int) -> None:
    """Warn if a score may be of the private rows: it is computed in a search, or from as many rows as were fitted."""
    if not release.seeded and (_is_searched() or n_rows == release.n_samples):
        warn_caller(
            "A score of private rows is an exact number that no guarantee covers: neither publish it nor choose "
            "anything by it, unless these rows are public.",
            PrivacyWarning,
        )


def _is_searched() -> bool:
    return any(_module(frame).startswith("sklearn.model_selection.") for frame in _callers())


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> Any:
    return frame.f_globals.get("__name__", "")
