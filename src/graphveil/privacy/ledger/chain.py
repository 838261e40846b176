"""A chain of hashes over everything that was written, and the walk along it that shows a change.

Every line is canonical JSON and names the hash of the line before it. The events of a data set begin with the line that
created it, and those lines are a chain of their own. The two tables keep the heads: a line that was changed,
inserted, moved or deleted, at the end too, no longer fits.

There is no secret in it. Whoever may write to the database can rewrite a whole chain and its head, or bring back an
old copy of the database. Against that, keep what :meth:`~graphveil.Ledger.verify` returns somewhere else and hand it in
later.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from graphveil.exceptions import GraphveilError
from graphveil.privacy.accounting import Balance
from graphveil.privacy.ledger.store import datasets, events, ledgers, releases
from graphveil.spec.budget import Budget
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.released import Release

__all__ = ["problems", "sealed", "unsealed"]


def sealed(content: Mapping[str, Any]) -> tuple[str, str]:
    """A line and its hash: equal content gives equal text, in any database."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text, _hash(text)


def unsealed(text: str, seal: str) -> dict[str, Any]:
    """The content of a line; empty when it does not have this hash."""
    content = json.loads(text) if _hash(text) == seal else {}
    return content if isinstance(content, dict) else {}


def problems(connection: Connection, heads: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a ledger, in words; nothing if it is as it was written, and goes on from ``heads``."""
    head, number, names = "", 0, set()
    for number, row in enumerate(connection.execute(sa.select(datasets).order_by(datasets.c.number)).all(), 1):
        content = unsealed(row.content, row.hash)
        expected = {"previous": head, "number": number, "dataset": row.name}
        if row.number != number or not _holds(content, expected) or not _is_budget(content.get("budget")):
            yield f"data set {row.name!r} was changed, or one before it is missing"
        yield from _event_problems(connection, row, heads.get(row.name))
        head = row.hash
        names.add(row.name)
    if connection.execute(sa.select(ledgers.c.datasets, ledgers.c.head)).one() != (number, head):
        yield "the last data sets are missing"
    yield from (f"data set {name!r} is missing" for name in sorted(set(heads) - names))
    strangers = sa.select(sa.func.count()).where(events.c.dataset.not_in(sa.select(datasets.c.name)))
    if connection.execute(strangers).scalar_one():
        yield "there are events of a data set that is missing"
    yield from _release_problems(connection)


def _event_problems(connection: Connection, dataset: Any, kept: str | None) -> Iterator[str]:
    head, number, balance = dataset.hash, 0, Balance()
    seen = {f"0:{head}"}
    lines = connection.execute(sa.select(events).where(events.c.dataset == dataset.name).order_by(events.c.number))
    for number, row in enumerate(lines, 1):
        where = f"event {row.number} of data set {dataset.name!r}"
        content = unsealed(row.content, row.hash)
        expected = {"previous": head, "number": number, "dataset": dataset.name, "token": row.token, "key": row.key}
        if row.number != number or not _holds(content, expected):
            yield f"{where} was changed, or one before it is missing"
        try:
            event = ReleaseEvent.from_dict(content.get("event"))
            balance = balance.plus(event)
            if (content["mu"], Balance.from_dict(content["balance"])) != (repr(event.charged_mu), balance):
                yield f"{where} has a wrong balance"
        except (GraphveilError, KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            yield f"{where} cannot be read"
        head = row.hash
        seen.add(f"{number}:{head}")
    if (dataset.events, dataset.head) != (number, head):
        yield f"the last events of data set {dataset.name!r} are missing"
    if kept is not None and kept not in seen:
        yield f"data set {dataset.name!r} does not go on from the head that was kept elsewhere"


def _release_problems(connection: Connection) -> Iterator[str]:
    query = sa.select(releases.c.key, releases.c.content, events.c.content.label("line"))
    for row in connection.execute(query.join_from(releases, events, releases.c.key == events.c.key, isouter=True)):
        try:
            charged = json.loads(row.line or "{}").get("event")
            if Release.from_bytes(row.content).event.to_dict() != charged:
                yield f"the release under key {row.key!r} is not the one that was charged"
        except (GraphveilError, ValueError):
            yield f"the release under key {row.key!r} is damaged"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _holds(content: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return all(name in content and content[name] == value for name, value in expected.items())


def _is_budget(content: Any) -> bool:
    try:
        Budget.from_dict(content)
    except GraphveilError:
        return False
    return True
