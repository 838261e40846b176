"""The ledger in both databases: accounts, charges, refusals, history, export."""

import copy
import json
import math
import os
import pickle
import stat
from dataclasses import replace

import pytest
from sklearn.base import clone

import graphveil as gv
from graphveil.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from graphveil.ledger import database, transactions
from helpers.ledgers import HALF, WHOLE, event, opened, release, request


def test_charges_add_up_as_gaussian_privacy_does(url):
    ledger = opened(url)
    assert ledger.spent("people").epsilon == 0.0
    assert ledger.remaining("people").epsilon == WHOLE.epsilon
    for _ in range(3):
        ledger.charge("people", event(0.5))
    spent = ledger.spent("people")
    assert spent.mu == pytest.approx(math.sqrt(3) * event(0.5).mu, rel=1e-15)
    assert spent.delta == WHOLE.delta
    assert ledger.budget("people") == WHOLE
    assert [entry.event for entry in ledger.history("people")] == [event(0.5)] * 3
    assert ledger.verify()["people"].startswith("3:")


def test_what_remains_can_be_spent_and_then_nothing_can(url):
    ledger = opened(url)
    ledger.charge("people", event(1.0))
    ledger.charge("people", event(ledger.remaining("people").epsilon))
    with pytest.raises(BudgetExceeded, match="nothing more would fit"):
        ledger.charge("people", event(1e-6))
    assert len(ledger.history("people")) == 2


def test_overspending_says_what_is_left_and_what_would_fit(url):
    ledger = opened(url)
    ledger.charge("people", event(1.5))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("people", event(1.9))
    message = str(refused.value)
    assert "'people' may spend epsilon = 2 at delta = 1e-06 in total" in message
    assert "asks for epsilon = 1.9" in message
    assert "Spent so far: epsilon = 1.5" in message
    fitting = float(message.rsplit("epsilon = ", maxsplit=1)[-1].split(maxsplit=1)[0])
    ledger.charge("people", event(fitting))
    assert ledger.remaining("people").epsilon < 0.1


def test_data_sets_do_not_share_a_budget(url):
    ledger = opened(url, "a")
    ledger.create("b", HALF)
    ledger.charge("a", event(2.0))
    ledger.charge("b", event(1.0))
    assert ledger.datasets() == ("a", "b")
    assert ledger.remaining("a").epsilon == ledger.remaining("b").epsilon == 0.0


def test_a_budget_is_for_ever(url):
    ledger = opened(url)
    with pytest.raises(LedgerError, match="already"):
        ledger.create("people", gv.Budget(9.0, 1e-6))
    assert ledger.budget("people") == WHOLE


def test_nothing_is_made_by_looking(url):
    ledger = gv.Ledger(url)
    for look in (ledger.datasets, ledger.verify, ledger.export, lambda: ledger.spent("people")):
        with pytest.raises(LedgerError, match=r"no ledger in .*from zero"):
            look()
    with pytest.raises(LedgerError, match=r"no ledger in .*from zero"):
        ledger.charge("people", event())
    assert not os.path.exists(url)
    opened(url, "others")
    with pytest.raises(LedgerError, match="no data set 'people'"):
        ledger.charge("people", event())


def test_a_seeded_release_is_recorded_as_infinite_and_marks_the_data_set(url):
    ledger = opened(url)
    ledger.charge("people", event(0.1))
    made = release(ledger, random_state=1)
    assert made.seeded
    assert ledger.spent("people").mu == math.inf
    assert ledger.remaining("people").seeded
    assert ledger.remaining("people").epsilon == 0.0
    assert "∞ (seeded)" in str(ledger.history("people"))
    with pytest.raises(BudgetExceeded, match="seeded release"):
        ledger.charge("people", event(0.1))
    release(ledger, random_state=2)  # it cannot get worse
    ledger.verify()


def test_real_releases_are_charged_what_they_cost(url):
    ledger = opened(url)
    made = release(ledger)
    assert [entry.event for entry in ledger.history("people")] == [made.event]
    adaptive = release(ledger, adaptive=True)
    assert [entry.event for entry in ledger.history("people")] == [made.event, adaptive.event]
    with pytest.raises(BudgetExceeded):
        release(ledger, budget=WHOLE)


def test_estimators_charge_and_keep_keys(url):
    ledger = opened(url)
    model = gv.PrivatePrecision(1.0, 1e-6, bounds=(-1, 1), ledger=ledger, dataset="people", key="fit")
    rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=5), 2_000, random_state=0) / 6
    first = clone(model).fit(rows)
    again = clone(model).fit(rows)
    assert first.release_ == again.release_
    assert [entry.key for entry in ledger.history("people")] == ["fit"]


def test_people_are_called_people(url):
    ledger = opened(url)
    ledger.create("visits", WHOLE)
    ledger.charge("people", event(0.25))
    ledger.charge("visits", replace(event(0.25), by_person=True))
    for name, counted in (("people", "100 records "), ("visits", "100 people ")):
        head, line = str(ledger.history(name)).splitlines()
        assert line[head.index("counted") :].startswith(counted)


def test_history_and_export_are_tables_and_json(url):
    ledger = opened(url)
    made = release(ledger, key="first")
    ledger.charge("people", event(0.25), request("second"))
    table = str(ledger.history("people")).splitlines()
    assert table[0].split()[:4] == ["no.", "time", "(UTC)", "epsilon"]
    assert table[1].split()[-2:] == ["first", "stored"]
    assert table[2].split()[-2:] == ["second", "lost"]
    exported = json.loads(json.dumps(ledger.export()))
    (account,) = exported["datasets"]
    assert account["budget"]["epsilon"] == 2.0
    charged, stored, second = account["events"]
    assert [line["number"] for line in account["events"]] == [1, 2, 3]
    assert (charged["key"], second["key"]) == ("first", "second")
    assert stored["stored"] == {"key": "first", "checksum": made.checksum}
    assert account["head"] == f"3:{second['hash']}"
    for before, after in zip(account["events"], account["events"][1:], strict=False):
        assert after["previous"] == before["hash"]
    assert "password" not in str(exported)


def test_a_clock_that_goes_back_orders_nothing(url, monkeypatch):
    ledger = opened(url)
    times = iter(["2030-01-01T00:00:00+00:00", "1999-01-01T00:00:00+00:00", "2010-01-01T00:00:00+00:00"])
    monkeypatch.setattr(transactions, "_now", lambda: next(times))
    for epsilon in (0.1, 0.2, 0.3):
        ledger.charge("people", event(epsilon))
    history = ledger.history("people")
    assert [entry.number for entry in history] == [1, 2, 3]
    assert [entry.event.budget.epsilon for entry in history] == [0.1, 0.2, 0.3]
    assert ledger.spent("people").mu > event(0.3).mu
    ledger.verify()


def test_a_ledger_can_be_copied_pickled_and_shown_without_its_password(url):
    ledger = opened(url)
    for twin in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        twin.charge("people", event(0.1))
    assert len(ledger.history("people")) == 2
    if "@" in url:
        assert url.split(":")[2].split("@")[0] not in repr(ledger)


def test_a_file_is_its_owners_alone(tmp_path):
    old = os.umask(0)
    try:
        opened(tmp_path / "ledger.db")
    finally:
        os.umask(old)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "ledger.db": 0o600,
        "ledger.db-heads": 0o600,
    }


def test_forms_of_a_files_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened("odd name #1?%.db").charge("people", event(0.1))
    for same in (
        tmp_path / "odd name #1?%.db",
        f"{tmp_path}/odd name #1?%.db",
    ):
        assert len(gv.Ledger(same).history("people")) == 1
    opened("ledger.db")
    here = gv.Ledger()
    monkeypatch.chdir("/")
    assert here.datasets() == gv.Ledger(f"sqlite:///{tmp_path}/ledger.db").datasets() == ("people",)


@pytest.mark.parametrize(
    "bad",
    [
        *("", ":memory:", "sqlite://", "file:x?mode=memory", "mysql://a:secret@b/c", "sqlite:///x?mode=ro", 3, "a\0b"),
        *("postgresql://a:secret@b/c\0", "postgresql:a:secret@b/c", "postgresql://a:secret@b:port/c"),
    ],
)
def test_an_address_that_cannot_keep_anything_is_refused(bad):
    with pytest.raises(InvalidParameter) as refused:
        gv.Ledger(bad)
    assert "secret" not in str(refused.value)


SECRETS = [
    "postgresql://me:SECRET@127.0.0.1:1/db",
    "postgresql://me@127.0.0.1:1/db?password=SECRET",
    "postgresql://me@127.0.0.1:1/db?sslpassword=SECRET&password=SECRET&password=SECRET",
    "postgresql://me@127.0.0.1:1/db?options=-cx.token%3DSECRET",
    "postgresql://me@127.0.0.1:1/db?sslmode=SECRET&password=SECRET",  # which the driver repeats in its complaint
    "postgresql+psycopg://me@127.0.0.1:1/db?PASSWORD=SECRET",
]


@pytest.mark.parametrize("url", SECRETS)
def test_no_password_is_ever_shown(url, monkeypatch):
    monkeypatch.setattr(database, "_OUTAGE", 0.1)
    ledger = gv.Ledger(url)
    with pytest.raises((LedgerError, InvalidParameter)) as refused:
        ledger.verify()
    for shown in (repr(ledger), str(refused.value), repr(refused.value), *map(repr, chained(refused.value))):
        assert "SECRET" not in shown
    assert "127.0.0.1" in repr(ledger)


def chained(error):
    """What a traceback would show besides."""
    while error := (error.__cause__ or (None if error.__suppress_context__ else error.__context__)):
        yield error


def test_an_export_has_no_password(postgres):
    url = postgres.new_schema().replace(f":{postgres.password}@", "@") + f"&password={postgres.password}"
    ledger = opened(url)
    ledger.charge("people", event(0.1))
    exported = json.dumps(ledger.export())
    assert postgres.password not in exported
    assert "127.0.0.1" in exported


@pytest.mark.parametrize(
    "name", ["", " a", "a\n", "x" * 201, None, 5, "a\0", "\ud800", "a  b", "a\ufe0f", "p\u0430tients"]
)
def test_a_name_must_be_printable_and_itself(tmp_path, name):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    with pytest.raises(InvalidParameter, match="dataset must "):
        ledger.create(name, WHOLE)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_drawn_alike_are_one_account(url):
    ledger = opened(url, "caf\u00e9")
    ledger.charge("cafe\u0301", event(0.5))
    assert release(ledger, dataset="cafe\u0301", key="k").n_samples == 30
    assert ledger.datasets() == ("caf\u00e9",)
    assert len(ledger.history("cafe\u0301")) == 2
    with pytest.raises(LedgerError, match="already exists; its budget cannot be changed"):
        ledger.create("cafe\u0301", WHOLE)


@pytest.mark.parametrize("twin", ["Patients", "PATIENTS", "\uff50atients", "p\u1d43tients", "\U0001d429atients"])
def test_a_second_account_that_reads_like_another_is_refused(url, twin):
    ledger = opened(url, "patients")
    with pytest.raises(LedgerError, match="which looks like") as refused:
        ledger.create(twin, WHOLE)
    assert str(refused.value).isascii()
    assert ledger.datasets() == ("patients",)


def test_an_account_from_before_the_rule_is_found_and_not_doubled(url):
    """A name in another normal form, as earlier ledgers may have it."""
    ledger = opened(url, "other")
    budget, token = gv.Budget(1.0, 1e-6), "0" * 32
    ledger._store.write(lambda connection: transactions.open_account(connection, "cafe\u0301", budget, token))
    ledger.charge("caf\u00e9", event(0.9))
    ledger.verify()
    with pytest.raises(LedgerError, match="already exists, which looks like"):
        ledger.create("caf\u00e9", WHOLE)


def test_what_is_not_there_is_not_simply_to_be_made(url):
    with pytest.raises(LedgerError) as refused:
        gv.Ledger(url).spent("people")
    said = str(refused.value)
    assert "start every budget from zero" in said
    assert "restore a copy" in said
    assert ("search_path" if "@" in url else "GRAPHVEIL_LEDGER") in said
    with pytest.raises(LedgerError, match="have an account under another name, use that one"):
        opened(url).spent("poeple")


def test_names_are_never_part_of_a_statement(url):
    name = "Größe'; DROP TABLE graphveil_events; --"
    ledger = opened(url, name)
    ledger.charge(name, event(0.1), request(name, name))
    assert ledger.history(name)[0].key == name
    ledger.verify()


def test_a_budget_must_be_one(tmp_path):
    with pytest.raises(InvalidParameter, match="budget"):
        gv.Ledger(tmp_path / "ledger.db").create("people", (1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="event"):
        opened(tmp_path / "ledger.db").charge("people", {"mu": 0.0})
