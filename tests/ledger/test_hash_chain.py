"""What was changed behind the ledger's back shows; an old copy shows against heads that were kept elsewhere."""

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import graphveil as gv
from graphveil.exceptions import KeyRefused, LedgerDamaged
from graphveil.ledger.database import _engine
from graphveil.ledger.hash_chain import seal
from graphveil.ledger.schema import SCHEMA_VERSION, datasets, events, ledgers, releases
from graphveil.released import file_format
from helpers.ledgers import DOMAIN, HALF, ROWS, event, opened, release, request
from reference_data.ledger import KEPT


def tamper(ledger, *statements):
    """Change what is there, and in SQLite the witness with it: the chain must show it by itself."""
    store = ledger._store
    if store._file is not None:
        store._file.witness.unlink()
    with _engine(store.url, store._file and store._file.path).connect() as connection:
        connection.execution_options(writes=True)
        with connection.begin():
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            for statement in statements:
                connection.execute(statement)


def line(ledger, number):
    return next(entry.line for entry in ledger.history("people") if entry.number == number)


def stored_bytes(ledger, key):
    query = sa.select(releases.c.content).where(releases.c.key == key)
    return ledger._store.read(lambda connection: connection.execute(query).scalar_one())


def with_other_numbers(content):
    """The same release with zeros, and a checksum of its own that fits."""
    header, arrays = file_format.decode(content, "it")
    return file_format.encode(header, [{name: 0.0 * values for name, values in group.items()} for group in arrays])


@pytest.fixture
def ledger(tmp_path):
    return filled(tmp_path / "ledger.db")


def filled(url):
    """Lines of "people": a charge and its stored release, twice, and three charges without a key."""
    ledger = opened(url, "first")
    ledger.create("people", gv.Budget(4.0, 1e-6))
    ledger.create("beside", gv.Budget(4.0, 1e-6))
    ledger.create("last", gv.Budget(1.0, 1e-6))
    ledger.charge("first", event(0.1))
    release(ledger, key="one", budget=gv.Budget(0.3, 1e-6))
    release(ledger, key="two", budget=gv.Budget(0.3, 1e-6))
    release(ledger, key="other", budget=gv.Budget(0.3, 1e-6), dataset="beside")
    for epsilon in (0.2, 0.4, 0.5):
        ledger.charge("people", event(epsilon))
    ledger.charge("beside", event(0.1), request("charged", "beside"))
    ledger.verify()
    return ledger


PEOPLE = events.c.dataset == "people"


def cheaper(ledger):
    """Event 5 rewritten to cost less, with a hash that fits its own line."""
    content = json.loads(line(ledger, 5))
    content["event"]["mu"] /= 10
    text, digest = seal(content)
    return events.update().where(PEOPLE, events.c.number == 5).values(content=text, hash=digest)


def larger_budget(ledger):
    text, digest = seal({**budget_line(ledger), "budget": gv.Budget(9.0, 1e-6).to_dict()})
    return datasets.update().where(datasets.c.name == "people").values(content=text, hash=digest)


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
        events.update().where(PEOPLE, events.c.number == 6).values(content=line(l, 6).replace("0.4", "0.3"))
    ),
    "a cheaper event": cheaper,
    "a deleted event": lambda l: events.delete().where(PEOPLE, events.c.number == 5),
    "the last event deleted": lambda l: events.delete().where(PEOPLE, events.c.number == 7),
    "all events deleted": lambda l: events.delete().where(PEOPLE, events.c.key.is_(None)),
    "another key": lambda l: events.update().where(PEOPLE, events.c.number == 5).values(key="three"),
    "another token": lambda l: events.update().where(PEOPLE, events.c.number == 5).values(token="0" * 32),
    "a head set back": lambda l: datasets.update().where(datasets.c.name == "people").values(events=6),
    "another head": lambda l: datasets.update().where(datasets.c.name == "people").values(head="0" * 64),
    "a larger budget": larger_budget,
    "not JSON": lambda l: events.update().where(PEOPLE, events.c.number == 5).values(content="[]"),
    "the last data set deleted": lambda l: datasets.delete().where(datasets.c.name == "last"),
    "a renamed data set": lambda l: datasets.update().where(datasets.c.name == "last").values(name="other"),
    "a stored release of another event": lambda l: releases.update().values(
        content=gv.release(
            np.zeros((2, 1)),
            domain=gv.Domain(bounds=(-1, 1)),
            budget=gv.Budget(9.0, 1e-6),
            random_state=0,
            assume_centered=True,
            adaptive=False,
        ).to_bytes()
    ),
    "a stored release with other numbers": lambda l: releases.update().values(
        content=with_other_numbers(stored_bytes(l, "one"))
    ),
    "stored releases exchanged": lambda l: releases.update().values(
        content=sa.case((releases.c.key == "one", stored_bytes(l, "two")), else_=stored_bytes(l, "one"))
    ),
    "a stored release of another data set": lambda l: releases.update().values(content=stored_bytes(l, "other")),
    "a stored release deleted": lambda l: releases.delete().where(releases.c.key == "two"),
    "a release that was never stored": lambda l: releases.insert().values(
        key="charged", content=stored_bytes(l, "one")
    ),
    "a chained checksum changed": lambda l: (
        events.update()
        .where(PEOPLE, events.c.number == 2)
        .values(content=sa.func.replace(events.c.content, '"checksum":"', '"checksum":"0'))
    ),
    "a forgotten ledger line": lambda l: ledgers.update().values(datasets=3),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_verify_shows(ledger, what):
    tamper(ledger, TAMPERING[what](ledger))
    with pytest.raises(LedgerDamaged, match="is not intact"):
        ledger.verify()
    with pytest.raises(LedgerDamaged):
        ledger.export()


def test_verify_shows_it_in_postgresql_too(postgres):
    ledger = filled(postgres.new_schema())
    tamper(ledger, cheaper(ledger))
    with pytest.raises(LedgerDamaged, match="event 5 of data set 'people' has a wrong balance; event 6"):
        ledger.verify()


OF_THE_ACCOUNT = [
    what for what in TAMPERING if "data set" not in what and "release" not in what and "ledger" not in what
]


@pytest.mark.parametrize("what", OF_THE_ACCOUNT)
def test_a_charge_notices_any_change_of_what_it_adds_up(ledger, what):
    tamper(ledger, TAMPERING[what](ledger))
    for use in (lambda: ledger.charge("people", event(0.1)), lambda: ledger.spent("people")):
        with pytest.raises(LedgerDamaged, match=r"run ledger.verify\(\) for details"):
            use()


@pytest.mark.parametrize("what", [what for what in TAMPERING if "release" not in what])
def test_a_damaged_ledger_opens_no_account(ledger, what):
    """Not even for others: the same people would start from zero."""
    tamper(ledger, TAMPERING[what](ledger))
    with pytest.raises(LedgerDamaged):
        ledger.create("people again", gv.Budget(1.0, 1e-6))
    assert "people again" not in ledger.datasets()


def test_a_changed_line_is_not_shown_as_history(ledger):
    tamper(ledger, TAMPERING["a digit"](ledger))
    with pytest.raises(LedgerDamaged, match="Event 6 of 'people' was changed"):
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
    (tmp_path / "ledger.db-heads").unlink()
    ledger.verify()  # by itself, without its witness, an old copy is a good ledger
    with pytest.raises(LedgerDamaged, match="does not continue from the head"):
        ledger.verify(heads)
    with pytest.raises(LedgerDamaged, match="'gone' is missing"):
        ledger.verify({"gone": "0:0"})
    for nonsense in ("", "x", "1", f"{10**30}:ab", "2:" + heads["people"].split(":")[1].upper()):
        with pytest.raises(LedgerDamaged, match="does not continue from the head"):
            ledger.verify({"people": nonsense})


def test_numbers_survive_any_database_exactly(url):
    """Costs are text inside a sealed line: no column type can round them."""
    ledger = gv.Ledger(url)
    ledger.create("people", gv.Budget(0.1 + 0.2, 1e-9 / 3))
    odd = event(0.1 + 0.2, 1e-9 / 3, mu=5e-324)
    ledger.charge("people", odd)
    assert ledger.history("people")[0].event == odd
    assert ledger.spent("people").mu == 5e-324
    ledger.verify()


REFERENCES = Path(__file__).parents[1] / "reference_data"


def restored(path, name):
    """A ledger that an earlier graphveil wrote (references/ledger.py)."""
    with sqlite3.connect(path) as connection:
        connection.executescript((REFERENCES / name).read_text())
    connection.close()
    return gv.Ledger(path)


@pytest.mark.parametrize("name", ["ledger-1.sql", f"ledger-{SCHEMA_VERSION}.sql"])
def test_a_ledger_of_an_earlier_version_is_still_read(tmp_path, name):
    """If this fails, lines have changed: raise SCHEMA_VERSION, upgrade, and write a new reference."""
    ledger = restored(tmp_path / "ledger.db", name)
    assert set(ledger.verify()) == {"people", "simulated", "kept"}
    first, second = ledger.history("people")
    assert (first.event.budget, first.event.rows_per_person) == (gv.Budget(0.1 + 0.2, 1e-6), 1)
    assert (second.event.budget, second.event.rows_per_person) == (gv.Budget(0.5, 1e-9), 3)
    assert ledger.spent("people").mu > 3 * first.event.mu
    assert ledger.spent("simulated").seeded
    with pytest.raises(KeyRefused, match="never drawn again"):
        ledger.stored(request("lost"))
    states = {entry.key: entry.state for entry in ledger.history("kept")}
    assert states == dict.fromkeys(["plain", "mean", "labels", "paper", "adaptive", "norm"], "stored")
    for key in states:
        asked = next(options for name, options in KEPT if name == key)
        assert release(ledger, key=key, dataset="kept", **asked).n_samples > 0  # comes back: nothing is charged
    assert len(ledger.history("kept")) == len(states)
    ledger.charge("people", event(0.1))
    ledger.verify()


def test_a_ledger_of_version_1_is_brought_up_to_date_once(tmp_path):
    ledger = restored(tmp_path / "ledger.db", "ledger-1.sql")
    before = {name: ledger_lines(tmp_path / "ledger.db", name) for name in ("people", "simulated", "kept")}
    ledger.datasets()
    after = {name: ledger_lines(tmp_path / "ledger.db", name) for name in before}
    for name, lines in before.items():
        assert after[name][: len(lines)] == lines  # what was written stays
    assert [len(after[name]) - len(before[name]) for name in before] == [0, 0, 6]
    heads = ledger.verify()
    assert gv.Ledger(tmp_path / "ledger.db").verify(heads) == heads
    tamper(ledger, releases.update().values(content=with_other_numbers(stored_bytes(ledger, "plain"))))
    with pytest.raises(LedgerDamaged, match="is not the one that was stored"):
        ledger.verify()


def ledger_lines(path, name):
    with sqlite3.connect(path) as connection:
        query = "SELECT number, content, hash FROM graphveil_events WHERE dataset = ? ORDER BY number"
        found = connection.execute(query, [name]).fetchall()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            "UPDATE graphveil_releases SET content = x'00' WHERE key = 'mean'",
            r"under key 'mean' is damaged.*nothing was",
        ),
        (
            "UPDATE graphveil_events SET content = replace(content, '0.3', '0.1')",
            "event 1 of data set 'people' was changed",
        ),
    ],
)
def test_a_damaged_ledger_of_version_1_is_not_brought_up_to_date(tmp_path, damage, said):
    path = tmp_path / "ledger.db"
    ledger = restored(path, "ledger-1.sql")
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    for use in (ledger.verify, lambda: ledger.charge("people", event(0.1))):
        with pytest.raises(LedgerDamaged, match=said):
            use()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM graphveil_ledger").fetchone() == (1,)
    connection.close()


def test_processes_that_meet_an_old_ledger_bring_it_up_to_date_once(url):
    ledger = opened(url)
    made = gv.release(ROWS, domain=DOMAIN, budget=HALF, assume_centered=True, adaptive=False)
    ledger.charge("people", made.event, request("k"))

    def as_version_1(connection):
        connection.execute(releases.insert().values(key="k", content=made.to_bytes()))
        connection.execute(ledgers.update().values(version=1))

    ledger._store.write(as_version_1)
    with ThreadPoolExecutor(6) as threads:
        heads = list(threads.map(lambda _: gv.Ledger(url).verify(), range(6)))
    assert heads == heads[:1] * 6
    assert heads[0]["people"].startswith("2:")
    assert release(ledger, key="k") == made
