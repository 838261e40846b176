"""A key gives one draw at most: the same request gets the same release, anything else is refused."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import (
    BudgetExceeded,
    InvalidParameter,
    KeyRefused,
    LedgerDamaged,
    LedgerError,
    LedgerFull,
    LedgerWarning,
)
from graphveil.privacy import noise
from helpers.ledgers import DOMAIN, HALF, ROWS, WHOLE, event, opened, release, request


def test_the_same_key_and_request_give_the_same_release_and_no_second_charge(url):
    ledger = opened(url)
    first = release(ledger, key="table 1")
    assert release(ledger, key="table 1") == first
    assert release(gv.Ledger(url), key="table 1").to_bytes() == first.to_bytes()
    assert len(ledger.history("people")) == 1
    assert release(ledger, key="table 2") != first


def test_a_stored_release_comes_back_when_nothing_is_left_and_nothing_is_read(tmp_path):
    ledger = opened(tmp_path / "ledger.db")
    first = release(ledger, key="all of it", budget=WHOLE)
    with pytest.raises(BudgetExceeded):
        release(ledger, key="more")

    class Unreadable:
        def __iter__(self):
            raise AssertionError("rows were read")

    assert release(ledger, key="all of it", budget=WHOLE, rows=Unreadable()) == first


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"budget": gv.Budget(0.5, 1e-6)}, "budget"),
        ({"budget": gv.Budget(1.0, 2e-6)}, "budget"),
        ({"domain": gv.Domain(bounds=(-2, 1))}, "domain"),
        ({"domain": gv.Domain(bounds=(-1, 1), rows_per_person=2)}, "domain"),
        ({"assume_centered": False}, "assume_centered"),
        ({"adaptive": True}, "adaptive"),
        ({"mechanism": "paper"}, "mechanism"),
        ({"allow_unproven": True}, "allow_unproven"),
        ({"random_state": 0}, "random_state"),
        ({"dataset": "others"}, "dataset"),
        ({"budget": gv.Budget(0.5, 1e-6), "adaptive": True}, "budget, adaptive"),
    ],
)
def test_the_same_key_for_another_request_is_an_error_that_names_the_difference(tmp_path, changes, named):
    ledger = opened(tmp_path / "ledger.db")
    ledger.create("others", WHOLE)
    release(ledger, key="k")
    with pytest.raises(KeyRefused, match=f"another {named}\\."):
        release(ledger, key="k", **changes)
    assert len(ledger.history("people")) == 1
    assert len(ledger.history("others")) == 0


def test_a_key_that_was_charged_without_a_stored_release_is_spent_and_lost(url, monkeypatch):
    ledger = opened(url)

    def dies(*arguments):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(noise, "draw_discrete_gaussian", dies)
        with pytest.raises(MemoryError):
            release(ledger, key="k")
    spent = ledger.spent("people")
    assert spent.mu > 0.0
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda *arguments: pytest.fail("drawn again"))
    for _ in range(2):
        with pytest.raises(KeyRefused, match="stays spent and is never drawn again"):
            release(ledger, key="k")
    assert ledger.spent("people") == spent
    assert ledger.history("people")[0].state == "lost"
    ledger.verify()


def test_a_refused_release_leaves_its_key_free(url):
    ledger = opened(url)
    with pytest.raises(BudgetExceeded):
        release(ledger, key="k", budget=gv.Budget(5.0, 1e-6))
    release(ledger, key="k")


def test_a_key_that_another_process_used_since_it_was_looked_up_is_not_charged_twice(url):
    ledger = opened(url)
    assert ledger.stored(request("k")) is None
    release(ledger, key="k")
    with pytest.raises(KeyRefused, match="used in the meantime"):
        ledger.charge("people", event(0.1), request("k"))
    assert len(ledger.history("people")) == 1


def test_a_release_that_cannot_be_stored_is_not_thrown_away(tmp_path, monkeypatch):
    ledger = opened(tmp_path / "ledger.db")

    def full(*arguments):
        raise LedgerFull("no room")

    monkeypatch.setattr(gv.Ledger, "store", full)
    with pytest.warns(LedgerWarning, match="save it now.*no room") as caught:
        made = release(ledger, key="k")
    assert caught[0].filename.endswith("ledgers.py")
    assert made.second_moment.shape == (3, 3)
    with pytest.raises(KeyRefused):
        release(ledger, key="k")


def exchanged(path, content, key="k"):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE graphveil_releases SET content = ? WHERE key = ?", [content, key])
    connection.close()


def test_a_damaged_stored_release_is_not_taken_for_one(tmp_path):
    ledger = opened(tmp_path / "ledger.db")
    content = release(ledger, key="k").to_bytes()
    for damage in (content[:-1], content[:100], b"", content[:-40] + bytes(8) + content[-32:]):
        exchanged(tmp_path / "ledger.db", damage)
        with pytest.raises(LedgerDamaged, match="The release under key 'k' is not the one that was stored"):
            release(ledger, key="k")
        with pytest.raises(LedgerDamaged, match="the release under key 'k' is not the one that was stored"):
            ledger.verify()
    exchanged(tmp_path / "ledger.db", content)
    assert release(ledger, key="k").to_bytes() == content
    ledger.verify()


def other_releases(made, ledger):
    """What may be put in the place of a stored release, from the bluntest to the finest."""
    moved = {name: values + 1e-9 for name, values in made.answers[0].values.items()}
    return {
        "a seeded one": gv.release(
            ROWS, domain=DOMAIN, budget=gv.Budget(4.0, 1e-6), random_state=1, assume_centered=True, adaptive=False
        ),
        "one of another budget": gv.release(
            ROWS, domain=DOMAIN, budget=gv.Budget(0.1, 1e-6), assume_centered=True, adaptive=False
        ),
        "one of the same event": gv.release(ROWS, domain=DOMAIN, budget=HALF, assume_centered=True, adaptive=False),
        "one of another key": release(ledger, key="another"),
        "its own, with other numbers": replace(made, answers=(replace(made.answers[0], values=moved),)),
        "its own, with other versions": replace(made, versions={"graphveil": "0"}),
    }


def test_an_exchanged_release_is_not_handed_out(tmp_path):
    ledger = opened(tmp_path / "ledger.db", budget=gv.Budget(8.0, 1e-6))
    made = release(ledger, key="k")
    for what, other in other_releases(made, ledger).items():
        exchanged(tmp_path / "ledger.db", other.to_bytes())
        with pytest.raises(LedgerDamaged, match="is not the one that was stored") as refused:
            pytest.fail(f"{what}: {release(ledger, key='k')}")
        assert made.checksum in str(refused.value)  # which file to look for
        with pytest.raises(LedgerDamaged, match="is not the one that was stored"):
            ledger.verify()
    exchanged(tmp_path / "ledger.db", made.to_bytes())
    assert release(ledger, key="k") == made
    ledger.verify()


def test_a_deleted_release_is_neither_lost_nor_drawn_again(tmp_path, monkeypatch):
    ledger = opened(tmp_path / "ledger.db")
    release(ledger, key="k")
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DELETE FROM graphveil_releases")
    connection.close()
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda *arguments: pytest.fail("drawn again"))
    with pytest.raises(LedgerDamaged, match="The release under key 'k' was deleted"):
        release(ledger, key="k")
    with pytest.raises(LedgerDamaged, match="the release under key 'k' was deleted"):
        ledger.verify()


def test_only_what_was_charged_is_stored_and_only_once(url):
    ledger = opened(url)
    made = gv.release(ROWS, domain=DOMAIN, budget=HALF, assume_centered=True, adaptive=False)
    with pytest.raises(LedgerError, match="was not charged for this release"):
        ledger.store(request("k"), made)
    ledger.charge("people", event(0.1), request("k"))
    with pytest.raises(LedgerError, match="was not charged for this release"):
        ledger.store(request("k"), made)
    ledger.charge("people", made.event, request("l"))
    ledger.store(request("l"), made)
    with pytest.raises(KeyRefused, match="already has a stored release"):
        ledger.store(request("l"), made)
    assert ledger.stored(request("l")) == made
    ledger.verify()


def test_keys_that_are_drawn_alike_are_one_key(url):
    ledger = opened(url)
    first = release(ledger, key="caf\u00e9")
    assert release(ledger, key="cafe\u0301") == first
    assert len(ledger.history("people")) == 1


def test_nothing_of_the_rows_is_kept(tmp_path):
    """Two different tables, the same key: the same bytes are stored but for noise, times and random tokens."""
    lines = []
    for name, rows in (("a", ROWS), ("b", -0.5 * np.roll(ROWS, 7))):
        ledger = opened(tmp_path / f"{name}.db")
        release(ledger, key="k", rows=rows)
        entry = ledger.history("people")[0].to_dict()
        lines.append({k: v for k, v in entry.items() if k not in ("line", "hash", "previous", "time", "token")})
    assert lines[0] == lines[1]


@pytest.mark.parametrize("options", [{"ledger": None, "dataset": None}, {"dataset": "people"}])
def test_a_key_needs_a_ledger_that_stores(options):
    class Diary:
        def charge(self, dataset, event):
            raise AssertionError

    with pytest.raises(InvalidParameter, match="key needs ledger"):
        gv.release(
            ROWS,
            domain=DOMAIN,
            budget=HALF,
            key="k",
            **{"ledger": Diary(), **options},
            assume_centered=True,
            adaptive=False,
        )


@pytest.mark.parametrize("key", ["", " k", "k\n", 5, "x" * 201, "a  b", "k\ufe0f", "k\u0435y"])
def test_a_key_must_be_printable(tmp_path, key):
    with pytest.raises(InvalidParameter, match="key must "):
        release(opened(tmp_path / "ledger.db"), key=key)
