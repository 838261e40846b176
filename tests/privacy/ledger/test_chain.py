"""What was changed behind the ledger's back shows; an old copy shows against heads that were kept elsewhere."""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import graphveil as gv
from graphveil.exceptions import KeyRefused, LedgerDamaged
from graphveil.privacy.ledger.chain import sealed
from graphveil.privacy.ledger.schema import SCHEMA_VERSION, datasets, events, ledgers, releases
from graphveil.privacy.ledger.store import _engine
from ledger_support import event, opened, release, request


def tamper(ledger, *statements):
    store = ledger._store
    with _engine(store.url, store._file and store._file.path).connect() as connection:
        connection.execution_options(writes=True)
        with connection.begin():
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            for statement in statements:
                connection.execute(statement)


def line(ledger, number):
    return ledger.history("people")[number - 1].to_dict()["line"]


@pytest.fixture
def ledger(tmp_path):
    return filled(tmp_path / "ledger.db")


def filled(url):
    ledger = opened(url, "first")
    ledger.create("people", gv.Budget(4.0, 1e-6))
    ledger.create("last", gv.Budget(1.0, 1e-6))
    ledger.charge("first", event(0.1))
    release(ledger, key="one", budget=gv.Budget(0.3, 1e-6))
    for epsilon in (0.2, 0.4, 0.5):
        ledger.charge("people", event(epsilon))
    ledger.verify()
    return ledger


PEOPLE = events.c.dataset == "people"


def cheaper(ledger):
    """Event 2 rewritten to cost less, with a hash that fits its own line."""
    content = json.loads(line(ledger, 2))
    content["event"]["mu"] /= 10
    text, seal = sealed(content)
    return events.update().where(PEOPLE, events.c.number == 2).values(content=text, hash=seal)


def larger_budget(ledger):
    text, seal = sealed({**budget_line(ledger), "budget": gv.Budget(9.0, 1e-6).to_dict()})
    return datasets.update().where(datasets.c.name == "people").values(content=text, hash=seal)


def budget_line(ledger):
    return json.loads(
        ledger._store.read(
            lambda connection: connection.execute(
                sa.select(datasets.c.content).where(datasets.c.name == "people")
            ).scalar_one()
        )
    )


TAMPERING = {
    "a digit": lambda l: (
        events.update().where(PEOPLE, events.c.number == 3).values(content=line(l, 3).replace("0.4", "0.3"))
    ),
    "a cheaper event": cheaper,
    "a deleted event": lambda l: events.delete().where(PEOPLE, events.c.number == 2),
    "the last event deleted": lambda l: events.delete().where(PEOPLE, events.c.number == 4),
    "all events deleted": lambda l: events.delete().where(PEOPLE, events.c.key.is_(None)),
    "another key": lambda l: events.update().where(PEOPLE, events.c.number == 2).values(key="two"),
    "another token": lambda l: events.update().where(PEOPLE, events.c.number == 2).values(token="0" * 32),
    "a head set back": lambda l: datasets.update().where(datasets.c.name == "people").values(events=3),
    "another head": lambda l: datasets.update().where(datasets.c.name == "people").values(head="0" * 64),
    "a larger budget": larger_budget,
    "not JSON": lambda l: events.update().where(PEOPLE, events.c.number == 2).values(content="[]"),
    "the last data set deleted": lambda l: datasets.delete().where(datasets.c.name == "last"),
    "a renamed data set": lambda l: datasets.update().where(datasets.c.name == "last").values(name="other"),
    "a stored release exchanged": lambda l: releases.update().values(
        content=gv.release(
            np.zeros((2, 1)), domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(9.0, 1e-6), random_state=0
        ).to_bytes()
    ),
    "a forgotten ledger line": lambda l: ledgers.update().values(datasets=2),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_verify_shows(ledger, what):
    tamper(ledger, TAMPERING[what](ledger))
    with pytest.raises(LedgerDamaged, match="is not as written"):
        ledger.verify()
    with pytest.raises(LedgerDamaged):
        ledger.export()


def test_verify_shows_it_in_postgresql_too(postgres):
    ledger = filled(postgres.new_schema())
    tamper(ledger, cheaper(ledger))
    with pytest.raises(LedgerDamaged, match="event 2 of data set 'people' has a wrong balance; event 3"):
        ledger.verify()


@pytest.mark.parametrize("what", ["the last event deleted", "a head set back", "another head"])
def test_a_charge_notices_what_it_builds_on(ledger, what):
    tamper(ledger, TAMPERING[what](ledger))
    for use in (lambda: ledger.charge("people", event(0.1)), lambda: ledger.spent("people")):
        with pytest.raises(LedgerDamaged, match=r"verify\(\) says more"):
            use()


def test_a_changed_line_is_not_shown_as_history(ledger):
    tamper(ledger, TAMPERING["a digit"](ledger))
    with pytest.raises(LedgerDamaged, match="Event 3 of 'people' was changed"):
        ledger.history("people")


def test_a_deleted_data_set_in_the_middle_shows_with_its_events(ledger):
    tamper(
        ledger, events.delete().where(events.c.dataset == "first"), datasets.delete().where(datasets.c.name == "first")
    )
    with pytest.raises(LedgerDamaged, match="one before it is missing"):
        ledger.verify()


def test_heads_kept_elsewhere_show_an_old_copy(tmp_path):
    ledger = opened(tmp_path / "ledger.db")
    ledger.charge("people", event(0.1))
    early = ledger.verify()
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    ledger.charge("people", event(0.2), request("k"))
    heads = json.loads(json.dumps(ledger.verify(early)))
    ledger.charge("people", event(0.3))
    ledger.verify(heads)  # has gone on from there
    shutil.copy(tmp_path / "copy.db", tmp_path / "ledger.db")
    ledger.verify()  # by itself an old copy is a good ledger
    with pytest.raises(LedgerDamaged, match="does not go on from the head"):
        ledger.verify(heads)
    with pytest.raises(LedgerDamaged, match="'gone' is missing"):
        ledger.verify({"gone": "0:0"})


def test_numbers_survive_any_database_exactly(url):
    """Costs are text inside a sealed line: no column type can round them."""
    ledger = gv.Ledger(url)
    ledger.create("people", gv.Budget(0.1 + 0.2, 1e-9 / 3))
    odd = event(0.1 + 0.2, 1e-9 / 3, mu=5e-324)
    ledger.charge("people", odd)
    assert ledger.history("people")[0].event == odd
    assert ledger.spent("people").mu == 5e-324
    ledger.verify()


def test_a_ledger_of_version_1_is_still_read(tmp_path):
    """Written once by references/ledger.py. If this fails, lines have changed: raise SCHEMA_VERSION, and upgrade."""
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.executescript((Path(__file__).parents[2] / "references" / "ledger-1.sql").read_text())
    connection.close()
    ledger = gv.Ledger(tmp_path / "ledger.db")
    assert SCHEMA_VERSION == 1
    assert set(ledger.verify()) == {"people", "simulated"}
    first, second = ledger.history("people")
    assert (first.event.budget, first.event.rows_per_person) == (gv.Budget(0.1 + 0.2, 1e-6), 1)
    assert (second.event.budget, second.event.rows_per_person) == (gv.Budget(0.5, 1e-9), 3)
    assert ledger.spent("people").mu > 3 * first.event.mu
    assert ledger.spent("simulated").seeded
    with pytest.raises(KeyRefused, match="never drawn again"):
        ledger.stored(request("lost"))
    ledger.charge("people", event(0.1))
    ledger.verify()
