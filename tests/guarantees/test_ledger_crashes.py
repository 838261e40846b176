"""The ledger's crash argument: killed at any instant, whatever was drawn had been charged, and the ledger goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def killed(url, folder, kills, seed, *options):
    # Newer Pythons warn of forks beside threads; here they are BLAS's, and idle.
    quiet = ["-W", "error", "-W", "ignore:.*fork:DeprecationWarning"]
    command = [sys.executable, *quiet, "-m", "helpers.crash_harness", url, folder, str(kills), str(seed), *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def holds(report, kills):
    assert report["violations"] == []
    assert report["kills"] == kills
    assert min(report["untouched"], report["lost"], report["stored"]) > 0  # before the charge, between, and after


def test_eighty_kills_with_a_file(tmp_path):
    holds(killed(tmp_path / "ledger.db", tmp_path, 80, 2026), 80)


def test_forty_kills_around_groups(tmp_path):
    holds(killed(tmp_path / "ledger.db", tmp_path, 40, 2028, "groups"), 40)


def test_kills_with_a_server(postgres, tmp_path):
    holds(killed(postgres.new_schema(), tmp_path, 20, 2027), 20)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_kills_with_either(url, tmp_path, seed):
    holds(killed(url, tmp_path, 200, seed), 200)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
def test_four_hundred_kills_around_groups(url, tmp_path, seed):
    holds(killed(url, tmp_path, 200, seed, "groups"), 200)


@pytest.mark.parametrize("options", [["late"], ["groups", "late"]])
def test_a_ledger_that_charges_after_the_draw_is_caught(tmp_path, options):
    """The control: the same kills find it out."""
    report = killed(tmp_path / "ledger.db", tmp_path, 15, 2026, *options)
    assert any("drawn and not charged" in violation for violation in report["violations"])
