"""What becomes of a release is logged, in public facts alone."""

import logging

import numpy as np
import pytest

import graphveil as gv

ASK = {"domain": gv.Domain(bounds=(-4, 4)), "budget": gv.Budget(1.0, 1e-6)}


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(3000, 2))


def test_charges_releases_and_retries_are_logged(rows, tmp_path, caplog):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", gv.Budget(3.0, 1e-6))
    with caplog.at_level(logging.INFO, logger="graphveil"):
        made = gv.release(rows, **ASK, ledger=ledger, dataset="clinic", key="monday")
        gv.release(rows, **ASK, ledger=ledger, dataset="clinic", key="monday")
    assert [record.getMessage() for record in caplog.records] == [
        f"charged to dataset 'clinic': {made.guarantee}",
        f"released {made.checksum}",
        f"key 'monday': release {made.checksum} comes from the ledger, nothing is charged",
    ]


def test_a_refused_charge_is_not_logged_as_one(rows, tmp_path, caplog):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", gv.Budget(0.5, 1e-6))
    with caplog.at_level(logging.DEBUG, logger="graphveil"), pytest.raises(gv.exceptions.BudgetExceeded):
        gv.release(rows, **ASK, ledger=ledger, dataset="clinic")
    assert caplog.records == []


def test_without_a_ledger_the_log_says_so(rows, caplog):
    with caplog.at_level(logging.INFO, logger="graphveil"):
        made = gv.release(rows, **ASK)
    assert caplog.messages[0] == f"charged to no ledger: {made.guarantee}"
