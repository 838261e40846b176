"""What estimators notice about the code that calls them: releases that nobody adds up, and steps that saw the rows.

Nothing about the rows is kept. Releases without a ledger are counted by their public domain, in this process only; a
search or a pipeline is recognised by scikit-learn's frames on the call stack. A transformer that was fitted elsewhere
leaves no trace and is not noticed.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from types import FrameType
from typing import Any

from graphveil.exceptions import GuaranteeError, PrivacyWarning, warn_caller
from graphveil.privacy.composition import Balance, compute_spent
from graphveil.released.release import Release
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.gdp import epsilon_from_mu
from graphveil.spec.rounding import format_exact, format_round_up

__all__ = ["add_up", "forget_releases", "refuse_search", "warn_of_exact_score", "warn_of_fitted_steps"]

_INSTEAD = (
    "One release can be fitted as often as you like, for free (fit_release, or several penalties as alpha=[…]); a "
    "ledger adds up releases and refuses those beyond its budget."
)
_released: dict[str, list[ReleaseEvent]] = defaultdict(list)  # without a ledger, by domain


def refuse_search(budget: Budget) -> None:
    """Refuse to be fitted by scikit-learn's searches and cross-validation: they would make a release in every fit."""
    if not _is_searched():
        return
    ten = format_round_up(epsilon_from_mu(budget.mu * 10**0.5, budget.delta), 3)
    epsilon, delta = format_exact(budget.epsilon), format_exact(budget.delta)
    raise GuaranteeError(
        "A search or cross-validation without a ledger was refused, and nothing was spent: every one of its fits would "
        f"be a release of its own (ten at ({epsilon}, {delta}) are ({ten}, {delta})-differentially private together), "
        f"and its scores exact numbers of the rows. {_INSTEAD} For a simulation, set random_state."
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


def add_up(domain: Domain, event: ReleaseEvent) -> None:
    """Count a release without a ledger; warn of the total at the second, fourth, eighth … with the same domain."""
    events = _released[domain.to_json()]
    events.append(event)
    if len(events) < 2 or len(events) & (len(events) - 1):
        return
    balance = Balance()
    for each in events:
        balance = balance.plus(each)
    total = compute_spent(balance, event.budget)
    warn_caller(
        f"{len(events)} releases with these bounds were made in this process without a ledger. If they are of the same "
        f"people, they are ({format_round_up(total.epsilon, 3)}, {format_exact(total.delta)})-differentially private "
        f"together. {_INSTEAD}",
        PrivacyWarning,
    )


def forget_releases() -> None:
    """Start counting anew."""
    _released.clear()


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
