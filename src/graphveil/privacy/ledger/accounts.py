"""Statements about one data set, inside a transaction that :mod:`~graphveil.privacy.ledger.store` opens and commits.

Each may run again after a commit whose answer was lost: ``token``, drawn anew for every call of the ledger, tells its
own line from another's.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from graphveil.exceptions import BudgetExceeded, KeyRefused, LedgerDamaged, LedgerError
from graphveil.privacy.accounting import Balance, largest_epsilon, spent_of
from graphveil.privacy.ledger.chain import sealed, unsealed
from graphveil.privacy.ledger.history import Entry, History
from graphveil.privacy.ledger.store import datasets, events, ledgers, releases
from graphveil.spec import validate
from graphveil.spec.budget import Budget
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.released import Release
from graphveil.spec.request import Request
from graphveil.spec.rounding import written_down, written_up

__all__ = ["account_of", "append_event", "check_fits", "history_of", "kept_release", "open_account", "statement_of"]


def open_account(connection: Connection, dataset: str, budget: Budget, token: str) -> None:
    """Add a data set."""
    before = connection.execute(sa.select(ledgers).with_for_update()).one()
    there = connection.execute(sa.select(datasets).where(datasets.c.name == dataset)).one_or_none()
    if there is not None:
        if unsealed(there.content, there.hash).get("token") == token:
            return
        raise LedgerError(f"There is a data set {dataset!r} already; its budget cannot be changed.")
    number = before.datasets + 1
    text, seal = sealed(
        {
            "previous": before.head,
            "number": number,
            "dataset": dataset,
            "budget": budget.to_dict(),
            "time": _now(),
            "token": token,
        }
    )
    row = {"name": dataset, "number": number, "content": text, "hash": seal, "events": 0, "head": seal}
    connection.execute(datasets.insert().values(row))
    connection.execute(ledgers.update().values(datasets=number, head=seal))


def account_of(connection: Connection, dataset: str, *, lock: bool = False) -> Any:
    """The row of a data set; with ``lock`` nobody else can charge it until the transaction ends."""
    query = sa.select(datasets).where(datasets.c.name == validate.label("dataset", dataset))
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise LedgerError(
            f"There is no data set {dataset!r} in this ledger. Open an account: ledger.create({dataset!r}, budget), or "
            "`graphveil ledger create`."
        )
    return row


def statement_of(connection: Connection, account: Any) -> tuple[Budget, Balance]:
    """What a data set may spend and has spent, from its own line and its last event's, if both have their seals."""
    try:
        budget = Budget.from_dict(unsealed(account.content, account.hash)["budget"])
        query = sa.select(events).where(events.c.dataset == account.name, events.c.number >= account.events)
        last = connection.execute(query).one_or_none()
        if last is None and account.events == 0 and account.head == account.hash:
            return budget, Balance()
        content = unsealed(last.content, account.head)  # type: ignore[union-attr]  # None is damage, too
        if content["number"] != account.events:
            raise ValueError
        return budget, Balance.from_dict(content["balance"])
    except (sa.exc.InvalidRequestError, AttributeError, KeyError, TypeError, ValueError):
        raise LedgerDamaged(f"The account of {account.name!r} was changed; ledger.verify() says more.") from None


def history_of(connection: Connection, dataset: str) -> History:
    """Every event of a data set, in order."""
    account_of(connection, dataset)
    rows = connection.execute(
        sa.select(events.c.number, events.c.content, events.c.hash, releases.c.key.is_not(None).label("stored"))
        .join_from(events, releases, events.c.key == releases.c.key, isouter=True)
        .where(events.c.dataset == dataset)
        .order_by(events.c.number)
    ).all()
    for row in rows:
        if not unsealed(row.content, row.hash):
            raise LedgerDamaged(f"Event {row.number} of {dataset!r} was changed; ledger.verify() says more.")
    return History(Entry(row.content, row.hash, bool(row.stored)) for row in rows)


def check_fits(connection: Connection, account: Any, event: ReleaseEvent) -> Balance:
    """The balance after an event; raises if that is more than the account's budget."""
    budget, before = statement_of(connection, account)
    balance = before.plus(event)
    if not event.seeded and not balance.keeps(budget):
        raise _exceeded(account.name, budget, before, event)
    return balance


def append_event(
    connection: Connection, dataset: str, event: ReleaseEvent, request: Request | None, token: str
) -> None:
    """Charge an event, if it fits.

    Guarantee
    ---------
    Under the lock of the account: what is checked is what the event is added to. Proof: ``privacy/proofs/ledger.md``.
    """
    account = account_of(connection, dataset, lock=True)
    if connection.execute(sa.select(events.c.token).where(events.c.token == token)).scalar() is not None:
        return
    if request is not None and kept_release(connection, request) is not None:
        raise KeyRefused(f"Key {request.key!r} was used meanwhile, for the same request: ask again to get its release.")
    balance = check_fits(connection, account, event)
    number, key = account.events + 1, None if request is None else request.key
    text, seal = sealed(
        {
            "previous": account.head,
            "number": number,
            "dataset": dataset,
            "time": _now(),
            "token": token,
            "key": key,
            "request": None if request is None else request.fingerprints(),
            "event": event.to_dict(),
            "mu": repr(event.charged_mu),
            "balance": balance.to_dict(),
        }
    )
    row = {"dataset": dataset, "number": number, "token": token, "key": key, "content": text, "hash": seal}
    connection.execute(events.insert().values(row))
    connection.execute(datasets.update().where(datasets.c.name == dataset).values(events=number, head=seal))


def kept_release(connection: Connection, request: Request) -> Release | None:
    """The release under a key, None for a new key; raises when it is another request's, or was lost."""
    found = connection.execute(
        sa.select(events.c.content, events.c.hash, releases.c.content.label("release"))
        .join_from(events, releases, events.c.key == releases.c.key, isouter=True)
        .where(events.c.key == request.key)
    ).one_or_none()
    if found is None:
        return None
    line, now = unsealed(found.content, found.hash), request.fingerprints()
    if not line:
        raise LedgerDamaged(f"The event with key {request.key!r} was changed; ledger.verify() says more.")
    others = [name for name in now if line["request"].get(name) != now[name]]
    if others:
        raise KeyRefused(
            f"Key {request.key!r} belongs to a release with another {', '.join(others)}. Use a new key for a new one."
        )
    if found.release is None:
        raise KeyRefused(
            f"Key {request.key!r} was charged at {line['time']}, but no release is stored: another process is still at "
            "work, or the release was lost in a crash. It stays spent and is never drawn again; use a new key."
        )
    return Release.from_bytes(found.release, f"the release under key {request.key!r}")


def _exceeded(dataset: str, budget: Budget, before: Balance, event: ReleaseEvent) -> BudgetExceeded:
    start = (
        f"Data set {dataset!r} may spend epsilon = {budget.epsilon:g} at delta = {budget.delta:g} in all; this release "
        f"asks for epsilon = {event.budget.epsilon:g} at delta = {event.budget.delta:g} and was not charged. "
    )
    if before.seeded:
        return BudgetExceeded(f"{start}A seeded release was made of it: nothing of it is private, nothing is left.")
    if not before.plus(event).keeps_eta(budget):
        return BudgetExceeded(f"{start}The lattice terms of its releases, times e^epsilon, have used up their part.")
    left = largest_epsilon(before, budget, event.rows_per_person)
    spent = written_up(spent_of(before, budget).epsilon, 4)
    advice = f"epsilon = {written_down(left, 4)} would fit" if left > 0.0 else "nothing more would fit"
    return BudgetExceeded(f"{start}Spent so far: epsilon = {spent}; at delta = {budget.delta:g}, {advice}.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
