"""A chain of hashes over everything that was written, and its verification, which detects changes.

Every line is canonical JSON and names the hash of the line before it. The lines of a data set begin with the one that
created it, and those are a chain of their own. The two tables keep the heads: a line that was changed, inserted,
moved or deleted, at the end too, no longer fits. A line is a charge with the balance after it, or the checksum of a
release that was stored under the key of a charge.

There is no secret in it. Whoever may write to the database can rewrite a whole chain and its head, or bring back an
old copy of the database. Against that, keep what :meth:`~graphveil.Ledger.verify` returns somewhere else and hand it in
later.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from graphveil.exceptions import GraphveilError
from graphveil.ledger.schema import datasets, events, ledgers, releases
from graphveil.privacy.composition import Balance
from graphveil.released.grouped import read_any_release
from graphveil.spec.budget import Budget
from graphveil.spec.events import ReleaseEvent

__all__ = ["Chain", "checksum_of", "goes_on_from", "heads_of", "problems", "seal", "unseal"]

_LINES = 8192  # that are kept in memory once read: every charge follows the whole chain, and lines do not change


def seal(content: Mapping[str, Any]) -> tuple[str, str]:
    """A line and its hash: equal content gives equal text, in any database."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text, checksum_of(text.encode())


def unseal(text: str, digest: str) -> dict[str, Any]:
    """The content of a line; empty when it does not have this hash, or is no line."""
    try:
        content = json.loads(text) if checksum_of(text.encode()) == digest else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def checksum_of(content: bytes) -> str:
    """SHA-256, in hexadecimal; of a release it is the release's own checksum."""
    return hashlib.sha256(content).hexdigest()


@dataclass
class Chain:
    """The lines of one data set, followed from the first to the last.

    Attributes
    ----------
    budget : Budget or None
        What the data set may spend; None if its own line was changed.
    balance : Balance
        The sum of all charges: that of the last of them, where each adds up with the one before.
    last_charge : str
        The line that it comes from.
    charges : dict
        Events by their key, of those that have one.
    checksums : dict
        Checksums of the stored releases, by key.
    problems : list of str
        What does not fit, in words.

    Guarantee
    ---------
    Without problems, ``balance`` is the sum over all lines that were appended, each as it was written, unless a whole
    chain was rewritten. Proof: ``privacy/proofs/ledger.md``.
    """

    budget: Budget | None
    balance: Balance = field(default_factory=Balance)
    last_charge: str = ""
    charges: dict[str, ReleaseEvent] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, connection: Connection, account: Any) -> "Chain":
        """Follow the lines of a data set, given its row."""
        own = unseal(account.content, account.hash)
        chain = cls(_budget_of(own))
        if chain.budget is None or own.get("dataset") != account.name:
            chain.problems.append(f"data set {account.name!r} was changed, or one before it is missing")
        head, number = account.hash, 0
        lines = sa.select(events).where(events.c.dataset == account.name).order_by(events.c.number)
        for number, row in enumerate(connection.execute(lines), 1):
            chain._follow(row, number, head)
            head = row.hash
        if (account.events, account.head) != (number, head):
            chain.problems.append(f"the last events of data set {account.name!r} are missing")
        return chain

    def _follow(self, row: Any, number: int, head: str) -> None:
        line = _line_of(row.content)
        place = (head, number, row.dataset, row.token, row.key)
        if line is None or checksum_of(row.content.encode()) != row.hash or (line.place, row.number) != (place, number):
            self._note(row, "was changed, or one before it is missing")
        if line is None:
            return
        if line.event is not None:
            if not _adds_up(self.last_charge, row.content):
                self._note(row, "has a wrong balance")
            self.balance, self.last_charge = line.balance, row.content
            if row.key is not None:
                self.charges[row.key] = line.event
        elif line.key in self.charges and line.key not in self.checksums:
            self.checksums[line.key] = line.checksum
        else:
            self._note(row, "stores a release that was not charged, or a second one")

    def _note(self, row: Any, problem: str) -> None:
        self.problems.append(f"event {row.number} of data set {row.dataset!r} {problem}")


@dataclass(frozen=True)
class _Line:
    """A line as data: its place in the chain, and a charge, or the key and the checksum of a stored release."""

    place: tuple[Any, ...]
    event: ReleaseEvent | None = None
    mu: str = ""
    balance: Balance = field(default_factory=Balance)
    key: str = ""
    checksum: str = ""


@lru_cache(maxsize=_LINES)
def _line_of(text: str) -> _Line | None:
    """Read a line; None if it is none."""
    try:
        content = json.loads(text)
        place = tuple(content[name] for name in ("previous", "number", "dataset", "token", "key"))
        if "stored" in content:
            return _Line(place, key=str(content["stored"]["key"]), checksum=str(content["stored"]["checksum"]))
        event, balance = ReleaseEvent.from_dict(content["event"]), Balance.from_dict(content["balance"])
        return _Line(place, event, str(content["mu"]), balance)
    except (GraphveilError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        return None


@lru_cache(maxsize=_LINES)
def _adds_up(before: str, text: str) -> bool:
    """Whether the balance in a charge is that of the charge before it, or of nothing, plus its own event."""
    earlier, line = _line_of(before) if before else _Line(()), _line_of(text)
    if earlier is None or line is None or line.event is None:
        return False
    return (line.mu, line.balance) == (repr(line.event.charged_mu), earlier.balance.plus(line.event))


def heads_of(connection: Connection) -> dict[str, str]:
    """For every data set the number of its last line, and that line's hash."""
    query = sa.select(datasets.c.name, datasets.c.events, datasets.c.head).order_by(datasets.c.number)
    return {row.name: f"{row.events}:{row.head}" for row in connection.execute(query)}


def goes_on_from(connection: Connection, dataset: str, head: str) -> bool:
    """Whether a data set has, or has had, this head."""
    digest = head.partition(":")[2]
    first = sa.select(sa.literal(0), datasets.c.hash).where(datasets.c.name == dataset, datasets.c.hash == digest)
    later = sa.select(events.c.number, events.c.hash).where(events.c.dataset == dataset, events.c.hash == digest)
    return any(head == f"{number}:{found}" for number, found in connection.execute(first.union_all(later)))


def problems(connection: Connection, heads: Mapping[str, str], *, with_releases: bool = True) -> Iterator[str]:
    """What is wrong with a ledger, in words; nothing if it is as it was written, and goes on from ``heads``.

    Stored releases may be many and large: without them, this is about what was spent.
    """
    head, number = "", 0
    charges: dict[str, ReleaseEvent] = {}
    checksums: dict[str, str] = {}
    names = set()
    for number, row in enumerate(connection.execute(sa.select(datasets).order_by(datasets.c.number)).all(), 1):
        chain = Chain.of(connection, row)
        own = unseal(row.content, row.hash)
        if (row.number, own.get("previous"), own.get("number")) != (number, head, number):
            yield f"data set {row.name!r} was changed, or one before it is missing"
        yield from chain.problems
        if row.name in heads and not goes_on_from(connection, row.name, heads[row.name]):
            yield f"data set {row.name!r} does not continue from the head that was kept elsewhere"
        head = row.hash
        names.add(row.name)
        charges |= chain.charges
        checksums |= chain.checksums
    if connection.execute(sa.select(ledgers.c.datasets, ledgers.c.head)).one() != (number, head):
        yield "the last data sets are missing"
    yield from (f"data set {name!r} is missing" for name in sorted(set(heads) - names))
    strangers = sa.select(sa.func.count()).where(events.c.dataset.not_in(sa.select(datasets.c.name)))
    if connection.execute(strangers).scalar_one():
        yield "there are events of a data set that is missing"
    if with_releases:
        yield from _release_problems(connection, charges, checksums)


def _release_problems(
    connection: Connection, charges: Mapping[str, ReleaseEvent], checksums: Mapping[str, str]
) -> Iterator[str]:
    missing = set(checksums)
    for row in connection.execute(sa.select(releases)):
        missing.discard(row.key)
        if checksums.get(row.key) != checksum_of(row.content):
            yield f"the release under key {row.key!r} is not the one that was stored"
            continue
        try:
            if read_any_release(row.content).event != charges[row.key]:
                yield f"the release under key {row.key!r} is not the one that was charged"
        except GraphveilError:
            yield f"the release under key {row.key!r} cannot be read"
    yield from (f"the release under key {key!r} was deleted" for key in sorted(missing))


def _budget_of(content: Mapping[str, Any]) -> Budget | None:
    try:
        return Budget.from_dict(content.get("budget"))
    except GraphveilError:
        return None
