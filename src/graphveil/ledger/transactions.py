"""Statements about one data set, inside a transaction that :mod:`~graphveil.ledger.database` opens and commits.

Each may run again after a commit whose answer was lost: ``token``, drawn for every call of the ledger, distinguishes
its own line from others.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from graphveil.exceptions import BudgetExceeded, KeyRefused, LedgerDamaged, LedgerError
from graphveil.ledger.hash_chain import Chain, checksum_of, problems, seal, unseal
from graphveil.ledger.history import Entry
from graphveil.ledger.schema import datasets, events, ledgers, releases
from graphveil.privacy.composition import Balance, compute_spent, largest_epsilon, person_in
from graphveil.released.grouped import GroupedRelease, read_any_release
from graphveil.released.release import Release
from graphveil.spec.budget import Budget
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.names import check_name, compose, look
from graphveil.spec.request import Request
from graphveil.spec.rounding import format_exact, format_round_down, format_round_up

__all__ = [
    "account_of",
    "append_event",
    "check_fits",
    "find_release",
    "intact_chain",
    "keep_release",
    "lines_of",
    "open_account",
    "row_of",
    "seal_release",
    "statement_of",
]


def open_account(connection: Connection, dataset: str, budget: Budget, token: str) -> None:
    """Add a data set, if all others are intact: in place of a damaged one, a new one would start from zero."""
    before = connection.execute(sa.select(ledgers).with_for_update()).one()
    there = connection.execute(sa.select(datasets).order_by(datasets.c.number).with_for_update()).all()
    for other in there:
        if other.name == dataset and unseal(other.content, other.hash).get("token") == token:
            return
        if other.name == dataset:
            raise LedgerError(f"Data set {dataset!r} already exists; its budget cannot be changed.")
        if look(other.name) == look(dataset):
            raise LedgerError(
                f"A data set {other.name!a} already exists, which looks like {dataset!a}. If these are the same "
                "people's records, use that one: a second account would count from zero. If not, choose another name."
            )
    damage = next(problems(connection, {}, with_releases=False), None)
    if damage is not None:
        raise LedgerDamaged(f"A damaged ledger opens no account: {damage}; run ledger.verify() for details.")
    number = before.datasets + 1
    text, digest = seal(
        {
            "previous": before.head,
            "number": number,
            "dataset": dataset,
            "budget": budget.to_dict(),
            "time": _now(),
            "token": token,
        }
    )
    row = {"name": dataset, "number": number, "content": text, "hash": digest, "events": 0, "head": digest}
    connection.execute(datasets.insert().values(row))
    connection.execute(ledgers.update().values(datasets=number, head=digest))


def account_of(connection: Connection, dataset: str, *, lock: bool = False) -> Any:
    """The row of a data set; with ``lock`` nobody else can charge it until the transaction ends."""
    name = check_name("dataset", dataset)
    row = row_of(connection, name, lock=lock)
    if row is None:  # a ledger may be older than the rule that names are composed
        names = connection.execute(sa.select(datasets.c.name)).scalars()
        older = next((there for there in names if compose(there) == name), None)
        row = None if older is None else row_of(connection, older, lock=lock)
    if row is None:
        raise LedgerError(
            f"There is no data set {name!r} in this ledger. If these people's records have an account under another "
            f"name, use that one. If they have none: ledger.create({name!r}, budget), or `graphveil ledger create`."
        )
    return row


def row_of(connection: Connection, name: str, *, lock: bool = False) -> Any:
    """The same by the name as it stands in the table; None if there is none."""
    query = sa.select(datasets).where(datasets.c.name == name)
    return connection.execute(query.with_for_update() if lock else query).one_or_none()


def statement_of(connection: Connection, account: Any) -> tuple[Budget, Balance]:
    """What a data set may spend and has spent, added up again from all of its lines, if each is as it was written."""
    chain = intact_chain(connection, account)
    assert chain.budget is not None
    return chain.budget, chain.balance


def lines_of(connection: Connection, account: Any) -> list[Entry]:
    """Every line of a data set, in order."""
    rows = connection.execute(
        sa.select(events.c.number, events.c.content, events.c.hash, releases.c.key.is_not(None).label("stored"))
        .join_from(events, releases, events.c.key == releases.c.key, isouter=True)
        .where(events.c.dataset == account.name)
        .order_by(events.c.number)
    ).all()
    for row in rows:
        if not unseal(row.content, row.hash):
            raise LedgerDamaged(f"Event {row.number} of {account.name!r} was changed; run ledger.verify() for details.")
    return [Entry(row.content, row.hash, bool(row.stored)) for row in rows]


def check_fits(connection: Connection, account: Any, event: ReleaseEvent) -> Balance:
    """The balance after an event; raises if that is more than the account's budget."""
    budget, before = statement_of(connection, account)
    balance = before.plus(event)
    if not balance.adds_up:
        raise LedgerError(
            f"{account.name!r} has releases that protect people with all their records (person=) and others that "
            "protect a given number of records, or people who are replaced in some and added or removed in others "
            "(neighbours=); what these cost one person cannot be added up. Nothing was charged. "
            "Release in the same way as before, or open another account if these are other people."
        )
    if not event.seeded and not balance.keeps(budget):
        raise _exceeded_error(account.name, budget, before, event)
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
    if request is not None and find_release(connection, request) is not None:
        raise KeyRefused(
            f"Key {request.key!r} was used in the meantime for the same request: run it again to get its release."
        )
    charge = {
        "request": None if request is None else request.fingerprints(),
        "event": event.to_dict(),
        "mu": repr(event.charged_mu),
        "balance": check_fits(connection, account, event).to_dict(),
    }
    _append_line(connection, account, token, None if request is None else request.key, charge)


def keep_release(connection: Connection, request: Request, release: Release | GroupedRelease, token: str) -> None:
    """Store a release under the key that it was charged with, and chain its checksum."""
    account = account_of(connection, request.dataset, lock=True)
    if connection.execute(sa.select(events.c.token).where(events.c.token == token)).scalar() is not None:
        return
    charge = _charge_under(connection, request)
    if charge is None or charge["event"] != release.event.to_dict():
        raise LedgerError(f"Key {request.key!r} was not charged for this release; it is not stored.")
    if connection.execute(sa.select(releases.c.key).where(releases.c.key == request.key)).scalar() is not None:
        raise KeyRefused(f"Key {request.key!r} already has a stored release.")
    connection.execute(releases.insert().values(key=request.key, content=release.to_bytes()))
    seal_release(connection, account, request.key, release.checksum, token)


def seal_release(connection: Connection, account: Any, key: str, checksum: str, token: str) -> None:
    """Append a line with the checksum of the release that is stored under a key."""
    _append_line(connection, account, token, None, {"stored": {"key": key, "checksum": checksum}})


def find_release(connection: Connection, request: Request) -> Release | GroupedRelease | None:
    """The release under a key, None for a new key; raises when it is another request's, was lost, or was changed.

    Guarantee
    ---------
    What is returned was charged for this request, and has the checksum that was chained when it was stored. Proof:
    ``privacy/proofs/ledger.md``.
    """
    charge = _charge_under(connection, request)
    if charge is None:
        return None
    chain = intact_chain(connection, account_of(connection, request.dataset))
    checksum = chain.checksums.get(request.key)
    content = connection.execute(sa.select(releases.c.content).where(releases.c.key == request.key)).scalar()
    if content is None and checksum is None:
        raise KeyRefused(
            f"Key {request.key!r} was charged at {charge['time']}, but no release is stored: another process is "
            f"still working on it, or the release was lost in a crash. It stays spent and is never drawn again; use "
            f"a new key."
        )
    if content is None or checksum_of(content) != checksum:
        happened = "was deleted" if content is None else "is not the one that was stored"
        raise LedgerDamaged(
            f"The release under key {request.key!r} {happened}. Restore the ledger from a copy, or use a file of this "
            f"release whose checksum is {checksum}."
        )
    release = read_any_release(content, f"the release under key {request.key!r}")
    if release.event != chain.charges.get(request.key):
        raise LedgerDamaged(f"The release under key {request.key!r} is not the one that was charged.")
    return release


def _charge_under(connection: Connection, request: Request) -> dict[str, Any] | None:
    """The line of the charge with the request's key, None for a new key; raises when it is another request's."""
    row = connection.execute(sa.select(events).where(events.c.key == request.key)).one_or_none()
    if row is None:
        return None
    line = unseal(row.content, row.hash)
    if not isinstance(line.get("request"), dict):
        raise LedgerDamaged(f"The event with key {request.key!r} was changed; run ledger.verify() for details.")
    others = request.differences(line["request"])
    if others:
        raise KeyRefused(
            f"Key {request.key!r} belongs to a release with another {', '.join(others)}. Use a new key for a new one."
        )
    return line


def intact_chain(connection: Connection, account: Any) -> Chain:
    """The lines of a data set, if each is as it was written."""
    chain = Chain.of(connection, account)
    if chain.problems:
        raise LedgerDamaged(
            f"The account of {account.name!r} was changed: {chain.problems[0]}; run ledger.verify() for details."
        )
    return chain


def _append_line(connection: Connection, account: Any, token: str, key: str | None, facts: dict[str, Any]) -> None:
    number = account.events + 1
    place = {"previous": account.head, "number": number, "dataset": account.name, "time": _now(), "token": token}
    text, digest = seal({**place, "key": key, **facts})
    row = {"dataset": account.name, "number": number, "token": token, "key": key, "content": text, "hash": digest}
    connection.execute(events.insert().values(row))
    connection.execute(datasets.update().where(datasets.c.name == account.name).values(events=number, head=digest))


def _exceeded_error(dataset: str, budget: Budget, before: Balance, event: ReleaseEvent) -> BudgetExceeded:
    start = (
        f"Data set {dataset!r} may spend {_format_budget(budget)} in total; this release asks for "
        f"{_format_budget(event.budget)} and was not charged. "
    )
    if before.seeded:
        return BudgetExceeded(
            f"{start}A seeded release was made from it: nothing about it is private, and nothing is left."
        )
    if not before.plus(event).keeps_eta(budget):
        return BudgetExceeded(f"{start}The lattice terms of its releases, times e^epsilon, have used up their part.")
    left = largest_epsilon(before, budget, person_in(event), event.n_samples or 0)
    spent = format_round_up(compute_spent(before, budget).epsilon, 4)
    advice = f"epsilon = {format_round_down(left, 4)} would fit" if left > 0.0 else "nothing more would fit"
    return BudgetExceeded(f"{start}Spent so far: epsilon = {spent}; at delta = {format_exact(budget.delta)}, {advice}.")


def _format_budget(budget: Budget) -> str:
    return f"epsilon = {format_exact(budget.epsilon)} at delta = {format_exact(budget.delta)}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
