"""The ledger's composition: whatever is granted keeps the budget, in any order, from any number of processes."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import BudgetExceeded, KeyRefused, LedgerError
from graphveil.privacy import noise
from graphveil.privacy.composition import Balance
from helpers.ledgers import HALF, WHOLE, event, opened, release

ROOT = Path(__file__).parents[2]


def exact_delta(events, epsilon):
    """δ of everything together at ε, for people with as many rows as any event declares, to 50 digits."""
    with mpmath.workdps(50):
        most = max(e.rows_per_person for e in events)
        groups = [(-(-most // e.rows_per_person), e) for e in events]
        mu = mpmath.sqrt(sum((times * mpmath.mpf(e.mu)) ** 2 for times, e in groups))
        eta = sum(mpmath.mpf(e.eta) for e in events)
        gaussian = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        return gaussian + (1 + mpmath.exp(epsilon)) * eta


asked = st.tuples(
    st.floats(min_value=0.01, max_value=3.0), st.sampled_from([1e-9, 1e-6, 1e-4]), st.sampled_from([1, 1, 1, 2, 5])
)


@settings(max_examples=60)
@given(st.lists(asked, min_size=1, max_size=30), st.sampled_from([1e-8, 1e-6]), st.floats(min_value=0.5, max_value=4.0))
def test_what_is_granted_keeps_the_budget(requests, delta, epsilon):
    budget, balance, granted = gv.Budget(epsilon, delta), Balance(), []
    for request in requests:
        after = balance.plus(event(*request[:2], rows_per_person=request[2]))
        if after.keeps(budget):
            balance = after
            granted.append(event(*request[:2], rows_per_person=request[2]))
    if granted:
        assert exact_delta(granted, budget.epsilon) <= budget.delta


def test_hardly_anything_is_given_away():
    """Control: one part in a hundred of μ² more would break the budget, so the refusals are not idle."""
    budget, each = gv.Budget(2.0, 1e-6), event(0.05)
    balance, count = Balance(), 0
    while (after := balance.plus(each)).keeps(budget):
        balance, count = after, count + 1
    assert exact_delta([each] * count, 2.0) <= 1e-6
    assert exact_delta([each] * (count + count // 100 + 1), 2.0) > 1e-6


def crowd(tmp_path, releases, *options):
    out = tmp_path / "load.json"
    command = [sys.executable, ROOT / "benchmarks" / "ledger.py", "--releases", str(releases)]
    subprocess.run([*command, "--out", out, *options], check=True, capture_output=True, text=True, timeout=1800)
    return json.loads(out.read_text())


def exactly(result, releases):
    assert result["granted"] == result["charged"] == result["stored"] == result["expected"] == releases
    assert result["refused"] == result["attempts"] - releases > 0


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_eight_processes_are_granted_exactly_what_fits(tmp_path, database):
    exactly(crowd(tmp_path, 24, "--only", database)[database], 24)


@pytest.mark.nightly
def test_a_thousand_releases_from_eight_processes(tmp_path):
    results = crowd(tmp_path, 1000)
    exactly(results["sqlite"], 1000)
    exactly(results["postgresql"], 1000)


def race(action, times=6):
    """What the same action gives when it is done at once: results and errors."""

    def tried(_):
        try:
            return action()
        except LedgerError as error:
            return error

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(tried, range(times)))


def test_a_data_set_is_created_once(url):
    results = race(lambda: gv.Ledger(url).create("people", WHOLE))
    assert results.count(None) == 1
    assert all("already" in str(error) for error in results if error is not None)
    gv.Ledger(url).verify()


def test_a_key_is_drawn_once(url, monkeypatch):
    ledger, draws = opened(url), []
    draw = noise.draw_discrete_gaussian
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda *args: draws.append(1) or draw(*args))
    alone = release(ledger, key="alone")
    once = len(draws)
    results = race(lambda: release(ledger, key="shared", budget=gv.Budget(0.5, 1e-6)))
    made = {item.to_bytes() for item in results if isinstance(item, gv.Release)}
    assert len(made) == 1
    assert len(draws) == 2 * once
    assert all(isinstance(item, gv.Release | KeyRefused) for item in results)
    assert alone.to_bytes() not in made
    assert [entry.key for entry in ledger.history("people")] == ["alone", "shared"]


def test_one_key_in_two_data_sets_is_drawn_once(url):
    ledger = opened(url, "a")
    ledger.create("b", WHOLE)
    names = iter("ababab")
    results = race(lambda: release(ledger, key="shared", dataset=next(names)))
    datasets = [name for name in "ab" if len(ledger.history(name))]
    assert len(datasets) == 1
    assert any(isinstance(item, gv.Release) for item in results)
    assert all(isinstance(item, gv.Release | KeyRefused) for item in results)


def test_of_two_that_fit_one_by_one_but_not_together_one_is_granted(url):
    ledger = opened(url, budget=HALF)
    results = race(lambda: ledger.charge("people", event(0.9)))
    assert results.count(None) == 1
    assert all(isinstance(error, BudgetExceeded) for error in results if error is not None)
    assert len(ledger.history("people")) == 1
