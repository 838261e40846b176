"""Releases of estimators that no ledger adds up: counted in this process, by their public domain.

Nothing about the rows is kept, so that two tables with the same bounds look alike: the total is said with an "if".
"""

from graphveil.exceptions import PrivacyWarning, warn_caller
from graphveil.privacy.composition import Balance, compute_spent
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.rounding import format_exact, format_round_up

__all__ = ["INSTEAD", "add_up", "forget_releases"]

INSTEAD = (
    "One release can be fitted as often as you like, for free (fit_release, or several penalties as alpha=[…]); a "
    "ledger adds up releases and refuses those beyond its budget."
)

_released: dict[str, tuple[int, Balance]] = {}


def add_up(domain: Domain, event: ReleaseEvent) -> None:
    """Count a release without a ledger; warn of the total at the second, fourth, eighth … with the same domain."""
    count, balance = _released.get(domain.to_json(), (0, Balance()))
    count, balance = _released[domain.to_json()] = count + 1, balance.plus(event)
    if count < 2 or count & (count - 1):
        return
    total = compute_spent(balance, event.budget)
    warn_caller(
        f"{count} releases with these bounds were made in this process without a ledger. If they are of the same "
        f"people, they are ({format_round_up(total.epsilon, 3)}, {format_exact(total.delta)})-differentially private "
        f"together. {INSTEAD}",
        PrivacyWarning,
    )


def forget_releases() -> None:
    """Start counting anew."""
    _released.clear()
