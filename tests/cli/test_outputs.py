"""No command destroys a file; from the charge on, nothing but the release decides how one ends."""

import hashlib
import json
import os
import signal

import pytest

import graphveil as gv
from graphveil.cli import _signals
from graphveil.exceptions import LedgerUnavailable
from graphveil.recovery.diagnostics import diagnostics
from helpers.command_line import RELEASE_OPTIONS

ASK = ("release", "patients.parquet", "--epsilon", 0.5, "--delta", 1e-6, "--bounds", "bounds.toml")
PAID = (*ASK, "--dataset", "clinic")
PLAN = ("plan", "--records", 300, "--variables", 1, "--epsilon", 1, "--delta", 1e-6)

# Each of these ended with exit code 0 (one with 4), and the file was gone.
DESTROYED = {
    "the records, by a release": (*PAID, "--key", "k", "-o", "patients.parquet"),
    "the ledger, by a release": (*PAID, "--key", "k", "-o", "ledger.db"),
    "the bounds, by a release": (*PAID, "--key", "k", "-o", "bounds.toml"),
    "the ledger, by its export": ("ledger", "export", "-o", "ledger.db"),
    "the ledger, by a plan": (*PLAN, "-o", "ledger.db"),
    "the ledger, by the plot of a plan": (*PLAN, "--plot", "ledger.db"),
    "a paid release, by its report": ("report", "paid.release", "-o", "paid.release"),
    "records in CSV, by a network": ("fit", "paid.release", "-o", "records.csv"),
    "records in CSV, by a report": ("report", "paid.release", "-o", "records.csv"),
    "records in CSV, by differences": ("compare", "paid.release", "paid.release", "--overlap", "-o", "records.csv"),
    "notes, by a network": ("fit", "paid.release", "-o", "notes.json"),
    "an archive, by matrices": ("fit", "paid.release", "-o", "rows.npz"),
    "a paid release, by another under a new key": (*PAID, "--key", "new", "-o", "paid.release"),
    "a paid release, by one without a ledger": (*ASK, "--no-ledger", "-o", "paid.release"),
    "a journal of the ledger": (*PAID, "-o", "ledger.db-journal"),
    "records behind a link": ("fit", "paid.release", "-o", "link.csv"),
    "a pipe": ("fit", "paid.release", "-o", "pipe.csv"),
    "a folder": ("report", "paid.release", "-o", "folder"),
    "an earlier template": ("bounds", "template", "patients.parquet", "-o", "bounds.toml"),
}


@pytest.fixture
def clinic(graphveil, patients, bounds, tmp_path):
    """Run commands in a folder with records, a ledger with one charge, and the release that was paid for."""
    ledger, domain = gv.Ledger(tmp_path / "ledger.db"), gv.Domain(bounds={"age": (0, 110), "bmi": (10, 60)})
    ledger.create("clinic", gv.Budget(3.0, 1e-6))
    made = gv.release(
        patients, domain=domain, budget=gv.Budget(0.5, 1e-6), adaptive=False, ledger=ledger, dataset="clinic"
    )
    made.save(tmp_path / "paid.release")
    (tmp_path / "records.csv").write_text("age,bmi\n50,22.5\n")
    (tmp_path / "notes.json").write_text('{"notes": "mine"}')
    (tmp_path / "rows.npz").write_bytes(b"PK\x03\x04" + bytes(26) + b"rows.npy")
    (tmp_path / "link.csv").symlink_to(tmp_path / "records.csv")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    return graphveil


def contents(folder):
    """A fingerprint of everything that is there."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else path.lstat().st_mode
        for path in folder.iterdir()
    }


def charges(graphveil):
    return len(graphveil("ledger", "history", "clinic", "--json").json["charges"])


@pytest.mark.parametrize("what", DESTROYED)
def test_nothing_is_destroyed_and_nothing_charged(clinic, tmp_path, what):
    before = contents(tmp_path)
    said = clinic(*DESTROYED[what])
    assert said.code == 1, said.text
    assert "Choose another" in said.err or "name of a file" in said.err
    assert contents(tmp_path) == before
    assert charges(clinic) == 1


def test_outputs_replace_their_own_kind(clinic, tmp_path):
    for again in range(2):
        for ending in ("graphml", "csv", "json", "npz", "svg"):
            assert clinic("fit", "paid.release", "-o", f"n.{ending}").code == 0, (ending, again)
        assert clinic("report", "paid.release").code == 0
        assert clinic(*PLAN, "-o", "plan.json", "--plot", "plan.html").code == 0
        assert clinic("ledger", "export", "-o", "all.json").code == 0
    assert clinic("fit", "paid.release", "-o", "all.json").code == 1, "JSON of another kind"
    assert clinic(*PLAN, "-o", "n.json").code == 1


def test_two_outputs_are_two_files(clinic):
    said = clinic(*PLAN, "-o", "x", "--plot", "./x")
    assert said.code == 1
    assert "the same file" in said.err


def test_a_dash_is_no_output(clinic, tmp_path):
    before = contents(tmp_path)
    for command in ((*PAID, "-o", "-"), ("fit", "paid.release", "-o", "-"), ("report", "paid.release", "-o", "-")):
        assert clinic(*command).code == 1
    assert contents(tmp_path) == before


def test_a_key_brings_its_release_back_to_the_same_file_and_to_no_other_release(clinic, tmp_path):
    ask = (*PAID, "--key", "first", "-o")
    assert "nothing was charged" not in clinic(*ask, "a.release").out
    again = clinic(*ask, "a.release")
    assert again.code == 0, "the same release over itself"
    assert "nothing was charged now" in " ".join(again.out.split())
    assert clinic(*ask, "b.release").code == 0
    assert (tmp_path / "a.release").read_bytes() == (tmp_path / "b.release").read_bytes()
    refused = clinic(*ask, "paid.release")
    assert refused.code == 1
    assert "another release" in refused.err
    assert charges(clinic) == 2


def test_the_demo_runs_twice_in_one_folder(graphveil, tmp_path):
    first, second = graphveil("demo", "--json"), graphveil("demo", "--json")
    assert (first.code, second.code) == (0, 0), second.text
    files = [path for said in (first, second) for path in said.json["files"].values()]
    assert len({(tmp_path / path).stat().st_ino for path in files}) == 6
    assert len(list((tmp_path / "graphveil-demo").iterdir())) == 6


# ---------------------------------------------------------------------- after the charge


@pytest.fixture
def after_charge(monkeypatch):
    """Let something happen right after a charge."""

    def install(happens):
        charge = gv.Ledger.charge

        def charging(self, *args):
            charge(self, *args)
            happens()

        monkeypatch.setattr(gv.Ledger, "charge", charging)

    return install


def test_an_output_that_is_taken_meanwhile_does_not_lose_the_release(clinic, tmp_path, after_charge, monkeypatch):
    refuge = tmp_path / "refuge"
    refuge.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(refuge))
    after_charge(lambda: (tmp_path / "new.release").write_text("somebody else's"))
    said = clinic(*PAID, "-o", "new.release", "--json")
    assert said.code == 5, said.text
    assert (tmp_path / "new.release").read_text() == "somebody else's"
    assert gv.Release.load(said.json["release"]).n_samples == 4000
    assert str(refuge) in said.json["release"]
    assert "do not run the command again" in said.err
    assert charges(clinic) == 2


def test_a_release_that_can_be_saved_nowhere_comes_back_by_its_key(clinic, tmp_path, after_charge, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    after_charge(lambda: (tmp_path / "new.release").write_text("somebody else's"))
    with_key = clinic(*PAID, "--key", "k", "-o", "new.release")
    assert with_key.code == 5, with_key.text
    assert "The ledger keeps it" in with_key.err
    assert clinic(*PAID, "--key", "k", "-o", "good.release").code == 0
    (tmp_path / "new.release").unlink()
    without = clinic(*PAID, "-o", "new.release")
    assert without.code == 6
    assert "It is lost" in without.err


def test_records_that_vanish_after_the_charge(clinic, patients, after_charge):
    after_charge(patients.unlink)
    said = clinic(*PAID, "-o", "new.release", "--json")
    assert said.code == 6, said.text
    assert said.json["kind"] == "SourceError"
    assert "Do not run it again" in said.json["error"]


def test_a_bug_after_the_charge_is_told_from_one_before(clinic, after_charge):
    after_charge(lambda: 1 / 0)
    said = clinic(*PAID, "-o", "new.release")
    assert said.code == 6, said.text
    assert "This is a bug in graphveil (ZeroDivisionError)." in said.err
    assert "charged" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_signal_before_and_after_the_charge(clinic, after_charge, monkeypatch, number, when):
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    if when == "after":
        after_charge(lambda: os.kill(os.getpid(), number))
    else:
        monkeypatch.setattr(gv.Ledger, "check_affordable", lambda *_: os.kill(os.getpid(), number))
    try:
        _signals.listen()
        said = clinic(*PAID, "-o", "new.release")
    finally:
        _signals.listen()
        for each, handler in before.items():
            signal.signal(each, handler)
    assert said.code == (6 if when == "after" else 128 + number), said.text
    assert said.err.startswith("Error: Interrupted.")
    assert ("Nothing was charged" in said.err) == (when == "before")
    assert charges(clinic) == (2 if when == "after" else 1)


def test_a_ledger_that_is_away_after_the_release_changes_nothing(clinic, tmp_path, monkeypatch):
    def away(*_):
        raise LedgerUnavailable("The ledger is away.")

    monkeypatch.setattr(gv.Ledger, "remaining", away)
    said = clinic(*PAID, "-o", "new.release", "--json")
    assert said.code == 0, said.text
    assert said.json["remaining"] is None
    assert "LedgerUnavailable" in said.err
    assert gv.Release.load(tmp_path / "new.release").n_samples == 4000


def test_a_card_that_cannot_be_said_changes_nothing(clinic, tmp_path, monkeypatch):
    monkeypatch.setattr("graphveil.report.privacy_card.privacy_card", lambda _: 1 / 0)
    said = clinic(*PAID, "-o", "new.release")
    assert said.code == 0, said.text
    assert "ZeroDivisionError" in said.err
    assert (tmp_path / "new.release").exists()


@pytest.mark.parametrize("made", [True, False], ids=["made", "not made"])
@pytest.mark.parametrize("answers", [True, False], ids=["answers again", "stays away"])
def test_a_ledger_that_goes_away_while_it_charges(clinic, monkeypatch, made, answers):
    """The exit code is 75 only where it is known that nothing was charged."""
    charge, history = gv.Ledger.charge, gv.Ledger.history

    def gone(self, *args):
        if made:
            charge(self, *args)
        if not answers:
            monkeypatch.setattr(gv.Ledger, "history", lambda *_: gone(self, *args))
        raise LedgerUnavailable("The ledger is away.")

    monkeypatch.setattr(gv.Ledger, "charge", gone)
    said = clinic(*PAID, "-o", "new.release")
    monkeypatch.setattr(gv.Ledger, "history", history)
    assert said.code == (75 if answers and not made else 6), said.text


def test_a_ledger_that_is_away_is_worth_another_try(graphveil, patients, bounds, monkeypatch):
    monkeypatch.setattr("graphveil.ledger.database._OUTAGE", 0.1)
    away = ("--ledger", "postgresql://nobody@127.0.0.1:9/none", "--dataset", "clinic")
    said = graphveil("release", patients, *RELEASE_OPTIONS, "--bounds", bounds, *away, "--json")
    assert said.code == 75, said.text
    assert json.loads(said.out)["kind"] == "LedgerUnavailable"


def test_storage_that_fails_is_worth_another_try(clinic, tmp_path):
    """Linux lets nobody read the first page of a process's memory: a file whose device fails, as far as we can see."""
    (tmp_path / "failing.csv").symlink_to("/proc/self/mem")
    ask = ("release", "failing.csv", "--epsilon", 1, "--delta", 1e-6, "--bounds", "bounds.toml", "--dataset", "clinic")
    said = clinic(*ask, "-o", "new.release", "--json")
    assert said.code == 75, said.text
    assert said.json["kind"] == "SourceUnavailable"
    assert "Input/output error" in said.json["error"]
    missing = clinic(*[word if word != "failing.csv" else "missing.csv" for word in ask], "-o", "new.release")
    assert missing.code == 1, "a file that is not there will not be there the next time"


def test_a_job_learns_how_good_its_release_is(clinic, tmp_path):
    said = clinic(*PAID, "-o", "judged.release", "--json").json
    made = gv.Release.load(tmp_path / "judged.release")
    assert said["n_eff"] == pytest.approx(made.n_eff)
    assert said["cautions"] == diagnostics(made, gv.recover(made))
    assert said["checksum"] == made.checksum


def test_a_release_that_cannot_be_judged_is_still_released(clinic, tmp_path, monkeypatch):
    monkeypatch.setattr("graphveil.recovery.estimate.estimate_release", lambda release: 1 / 0)
    said = clinic(*PAID, "-o", "unjudged.release", "--json")
    assert said.code == 0, said.text
    assert said.json["n_eff"] is None
    assert "could not be assessed (ZeroDivisionError)" in said.err
    assert (tmp_path / "unjudged.release").exists()
