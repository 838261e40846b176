"""The program dies at every step, or is asked to end: nothing is half-written, and nothing is charged twice."""

import http.client
import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress

import pytest

import graphveil as gv
from helpers.studios import draft, wait_for_job, write_table

MANY = 600_000  # so many that a release takes a second


def begin(opened):
    assert opened.ask("account", dataset="patients-2026", epsilon=3.0, delta=1e-6)[0] == 200


def until_pass(opened, number):
    """Wait until the release is that far."""
    opened.release(draft())
    for _ in range(3000):
        job = opened.job
        if job["pass"] >= number or job["state"] != "running":
            return
        time.sleep(0.005)


def save_files(opened):
    opened.about("review", draft())
    assert opened.ask("files", review=opened.review)[0] == 200


STEPS = {
    "the account is open": (4000, begin),
    "files are saved": (4000, lambda opened: (begin(opened), save_files(opened))),
    "the first pass": (MANY, lambda opened: (begin(opened), until_pass(opened, 1))),
    "a later pass": (MANY, lambda opened: (begin(opened), until_pass(opened, 4))),
}


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("the account is open", marks=pytest.mark.nightly),
        "files are saved",
        pytest.param("the first pass", marks=pytest.mark.nightly),
        "a later pass",
    ],
)
def test_killed(program, tmp_path, step):
    n, act = STEPS[step]
    table = write_table(tmp_path / "patients.parquet", n)
    process, opened = program(table.name)
    act(opened)
    process.kill()
    process.wait()
    charged = opened.charges
    assert charged <= 1
    opened.ledger.verify()
    for path in tmp_path.glob("*.release"):
        gv.Release.load(path)
    for path in tmp_path.glob("*.toml"):
        assert path.read_text().count("\n[columns]\n") == 1
    # Somebody opens the studio again, and enters the same.
    _, again = program(table.name)
    again.release(draft())
    job = wait_for_job(again)
    assert again.charges == 1
    if charged and job["state"] == "failed":  # charged and lost: said, and not charged again
        assert "charged" in job["error"]
    else:
        assert job["state"] == "done", job
        assert gv.Release.load(next(tmp_path.glob("*.release"))).n_samples == n


@pytest.mark.parametrize("number", [signal.SIGHUP, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)])
def test_asked_to_end_it_finishes_the_release(program, tmp_path, number):
    """By Ctrl-C, or because the terminal was closed: while the release waits for a ledger that somebody else holds."""
    table = write_table(tmp_path / "patients.parquet", 4000)
    process, opened = program(table.name)
    begin(opened)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        until_pass(opened, 1)
        process.send_signal(number)
        said = process.stderr.readline()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "finished first" in said
    assert "Traceback" not in err
    assert opened.charges == 1
    assert gv.Release.load(next(tmp_path.glob("*.release"))).n_samples == 4000


def test_two_studios_at_once(program, tmp_path):
    """Of the same table: one charge, one release, and neither answers for the other."""
    write_table(tmp_path / "patients.csv", 4000)
    studios = [program("patients.csv")[1] for _ in range(2)]
    begin(studios[0])
    first, second = studios
    assert first.host != second.host
    assert first.path != second.path
    assert first.request("GET", second.path + "state")[0].status == 404
    for opened in studios:
        opened.release(draft())
    jobs = [wait_for_job(opened) for opened in studios]
    assert first.charges == 1
    # Both have it, or one came while the other had charged and not stored yet, and was refused.
    assert [job["state"] for job in jobs].count("done") >= 1
    for opened, job in zip(studios, jobs, strict=True):
        if job["state"] == "failed":
            opened.release(draft())
            assert wait_for_job(opened)["state"] == "done"
    assert first.charges == 1
    assert len(list(tmp_path.glob("*.release"))) == 1


def test_the_terminal_says_the_address_and_nothing_else(program, tmp_path):
    write_table(tmp_path / "patients.csv", 100)
    process, opened = program("patients.csv")
    opened.get("")
    opened.request("GET", "/wrong/")

    def start():
        with suppress(OSError, http.client.HTTPException):  # it may have ended by then
            opened.get("start")

    page = threading.Thread(target=start)  # while it loads what is heavy, or before, or afterwards
    page.start()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=300)
    page.join()
    assert (process.returncode, out, err) == (0, "", "")
