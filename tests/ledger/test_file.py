"""A ledger's file: under one name, and with a witness that notices charges which are gone."""

import fcntl
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

import graphveil as gv
from graphveil.exceptions import LedgerDamaged, LedgerError, LedgerFull, LedgerReadOnly
from graphveil.ledger.file import LedgerFile
from helpers.ledgers import event, opened, release, request, with_mounts

SMALL = event(0.002)
TWO_NAMES = "has 2 names"


# ---------------------------------------------------------------- one name
def test_a_file_with_two_names_is_refused_under_both_and_may_be_used_again_under_one(path, no_draw):
    ledger, other = opened(path), gv.Ledger(path.with_name("other.db"))
    os.link(path, path.with_name("other.db"))
    for refused in (ledger, other):
        for use in (
            lambda: release(refused),  # noqa: B023
            lambda: refused.charge("people", event(0.1)),  # noqa: B023
            lambda: refused.create("more", gv.Budget(1.0, 1e-6)),  # noqa: B023
            lambda: refused.spent("people"),  # noqa: B023
            lambda: refused.stored(request()),  # noqa: B023
            refused.verify,
        ):
            with pytest.raises(LedgerError, match=TWO_NAMES):
                use()
    path.with_name("other.db").unlink()
    ledger.charge("people", event(0.1))
    ledger.verify()


def test_a_name_that_is_added_while_a_charge_waits_for_the_lock_is_seen(path):
    ledger, said = opened(path), []

    def charge():
        try:
            ledger.charge("people", event(0.1))
        except LedgerError as error:
            said.append(str(error))

    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=charge)
    waiting.start()
    time.sleep(0.5)  # it has looked at the file by now, and waits
    os.link(path, path.with_name("other.db"))
    blocker.execute("ROLLBACK")
    blocker.close()
    waiting.join()
    assert TWO_NAMES in said[0]
    path.with_name("other.db").unlink()
    assert len(ledger.history("people")) == 0


def test_symbolic_links_and_other_spellings_are_the_same_file(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    ledger = opened(tmp_path / "real" / "ledger.db")
    (tmp_path / "link.db").symlink_to("real/ledger.db")
    (tmp_path / "folder").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    spellings = ["link.db", "folder/ledger.db", "real/../folder/ledger.db", "sqlite:///link.db", "~/real/ledger.db"]
    for spelling in spellings:
        gv.Ledger(spelling).charge("people", event(0.1))
    assert len(ledger.history("people")) == len(spellings)
    assert sorted(each.name for each in (tmp_path / "real").iterdir()) == ["ledger.db", "ledger.db-heads"]
    assert gv.Ledger("~odd.db")._store.name == str(tmp_path / "~odd.db")  # only ~/ is a home


MOUNTED = """
import subprocess, sys
from pathlib import Path
import graphveil as gv
from graphveil.exceptions import LedgerError
from helpers.ledgers import event, opened
folder = Path(sys.argv[1])
for name in ("host", "inside", "whole"):
    (folder / name).mkdir()
outside = opened(folder / "host" / "ledger.db")
(folder / "inside" / "ledger.db").touch()
bind = lambda what, where: subprocess.run(["mount", "--bind", folder / what, folder / where], check=True)
bind("host/ledger.db", "inside/ledger.db")
bind("host", "whole")
(folder / "link.db").symlink_to("inside/ledger.db")
for path in ("inside/ledger.db", "link.db"):
    for use in (gv.Ledger.verify, lambda ledger: ledger.charge("people", event(0.1))):
        try:
            use(gv.Ledger(folder / path))
            print("not refused")
        except LedgerError as error:
            print(str(error).split(" is ")[1].split(".")[0])
gv.Ledger(folder / "whole" / "ledger.db").charge("people", event(0.1))
outside.charge("people", event(0.1))
print(len(outside.history("people")))
"""


def test_a_file_that_is_mounted_by_itself_is_refused_and_a_mounted_folder_is_fine(tmp_path):
    assert with_mounts(MOUNTED, tmp_path).split("\n") == ["mounted as a single file"] * 4 + ["2", ""]


def test_looking_at_the_file_drops_no_lock(path):
    """Closing any descriptor of a file drops the locks of the whole process, were it opened for reading."""
    opened(path)
    with path.open("rb+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        LedgerFile(path).check_one_name()
        child = "import fcntl, sys\nfcntl.lockf(open(sys.argv[1], 'rb+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        done = subprocess.run([sys.executable, "-c", child, path], capture_output=True, text=True, check=False)
    assert "BlockingIOError" in done.stderr


# ---------------------------------------------------------------- kills, and a second name
def charging_until_killed(ledger, meanwhile):
    """SIGKILL a process that charges, after something else was done; how many charges it has reported."""
    reading, writing = os.pipe()
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of a fork beside threads
        process = os.fork()
    if process == 0:
        try:
            while True:
                try:
                    ledger.charge("people", SMALL)
                    os.write(writing, b".")
                except LedgerError:
                    pass
        finally:
            os._exit(0)
    os.close(writing)
    meanwhile()
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with os.fdopen(reading, "rb") as pipe:
        return len(pipe.read())


def names_that_come_and_go(path, kills, seed):
    """Kill a process that charges while a second name is made; nobody charges under either name, nothing is lost."""
    chance, other = random.Random(seed), path.with_name("other.db")
    ledger, granted, journals = opened(path, budget=gv.Budget(8.0, 1e-6)), 0, 0

    def link():
        time.sleep(chance.uniform(0.02, 0.2))
        os.link(path, other)
        time.sleep(chance.uniform(0.0, 0.003))  # not longer than the charge that is under way

    for _ in range(kills):
        granted += charging_until_killed(ledger, link)
        journals += path.with_name("ledger.db-journal").exists()
        for name in (path, other):
            with pytest.raises(LedgerError, match=TWO_NAMES):
                gv.Ledger(name).charge("people", SMALL)
        other.unlink()
        ledger.charge("people", SMALL)
        ledger.verify()
    charged = len(ledger.history("people")) - kills
    assert granted <= charged <= granted + kills  # a charge may have been made and not reported
    return granted, journals


def test_kills_while_a_second_name_is_made(path):
    granted, _ = names_that_come_and_go(path, 25, 2026)
    assert granted > 10


@pytest.mark.nightly
def test_many_kills_while_a_second_name_is_made(path):
    granted, journals = names_that_come_and_go(path, 300, int.from_bytes(os.urandom(4)))
    assert granted > 150
    assert journals > 0


def wait_for_journal(journal, at_least):
    """Return while a write is under way: a kill at any other moment leaves nothing to undo."""
    time.sleep(at_least)
    until = time.monotonic() + 30.0
    while not journal.exists():
        assert time.monotonic() < until


def lost_under_another_name(path, enough, most, seed):
    """Without the check of names: kills under one name, charges under another, and who notices that they are gone."""
    chance, lost, noticed = random.Random(seed), 0, 0
    for number in range(most):
        if lost == enough:
            break
        folder = path.parent / str(number)
        folder.mkdir()
        first = opened(folder / "a.db", budget=gv.Budget(8.0, 1e-6))
        first.charge("people", SMALL)
        os.link(folder / "a.db", folder / "b.db")
        charging_until_killed(first, partial(wait_for_journal, folder / "a.db-journal", chance.uniform(0.01, 0.05)))
        second = gv.Ledger(folder / "b.db")
        second.charge("people", SMALL)
        second.charge("people", SMALL)
        before = {entry.hash for entry in second.history("people")}
        if before - {entry.hash for entry in first.history("people")}:
            lost += 1
            try:
                second.verify()
            except LedgerDamaged:
                noticed += 1
        shutil.rmtree(folder)
    return lost, noticed


def test_what_is_undone_under_another_name_is_noticed_by_the_witness(path, monkeypatch):
    """The control: without the check charges do get lost, and whoever made them is told."""
    monkeypatch.setattr(LedgerFile, "check_one_name", lambda self: None)
    lost, noticed = lost_under_another_name(path, 3, 250, 2027)
    assert lost > 0
    assert noticed == lost


# ---------------------------------------------------------------- the witness
def test_the_witness_has_seen_every_head_before_a_call_returns(path):
    ledger = opened(path)
    seen = LedgerFile(path).seen_heads
    assert seen() == ledger.verify()
    ledger.charge("people", event(0.1))
    assert seen() == ledger.verify()
    release(ledger, key="k")
    assert seen() == ledger.verify()
    ledger.create("Größe, 2", gv.Budget(1.0, 1e-6))
    assert seen() == ledger.verify()
    assert seen()["people"].startswith("3:")
    assert len(LedgerFile(path).witness.read_text().splitlines()) == 5


def test_an_old_copy_is_refused(path, no_draw):
    ledger = opened(path)
    ledger.charge("people", event(0.1))
    shutil.copy(path, path.with_name("copy.db"))
    ledger.charge("people", event(0.2))
    shutil.copy(path, path.with_name("newest.db"))
    os.replace(path.with_name("copy.db"), path)
    for use in (ledger.verify, lambda: ledger.remaining("people"), lambda: release(ledger), ledger.export):
        with pytest.raises(LedgerDamaged, match="has seen line 2 of 'people', which is missing") as refused:
            use()
    assert "Restore the newest copy" in str(refused.value)
    os.replace(path.with_name("newest.db"), path)
    ledger.charge("people", event(0.1))
    assert len(ledger.history("people")) == 3


def test_charges_that_are_gone_for_good_are_made_again_from_the_files_that_were_given_out(path):
    """What docs/ledger.md advises."""
    ledger = opened(path)
    shutil.copy(path, path.with_name("copy.db"))
    release(ledger, key="k").save(path.with_name("x.release"))
    spent = ledger.spent("people")
    os.replace(path.with_name("copy.db"), path)
    LedgerFile(path).witness.unlink()
    assert ledger.spent("people").mu == 0.0
    ledger.charge("people", gv.Release.load(path.with_name("x.release")).event)
    assert ledger.spent("people") == spent


def test_another_history_of_the_same_length_is_refused(path):
    ledger = opened(path)
    shutil.copy(path, path.with_name("copy.db"))
    ledger.charge("people", event(0.2))
    other = gv.Ledger(path.with_name("copy.db"))
    other.charge("people", event(0.1))
    other.charge("people", event(0.1))
    os.replace(path.with_name("copy.db"), path)
    with pytest.raises(LedgerDamaged, match="has lost charges"):
        ledger.charge("people", event(0.1))


def test_a_copy_by_itself_or_with_its_witness_is_a_good_ledger(path, tmp_path):
    ledger = opened(path)
    ledger.charge("people", event(0.1))
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(path, tmp_path / "elsewhere" / "alone.db")
    alone = gv.Ledger(tmp_path / "elsewhere" / "alone.db")
    assert alone.verify() == ledger.verify()
    alone.charge("people", event(0.1))
    assert LedgerFile(tmp_path / "elsewhere" / "alone.db").seen_heads() == alone.verify()


@pytest.mark.parametrize("left", [None, b""])
def test_a_ledger_that_was_lost_is_not_begun_again_from_zero(path, left, no_draw):
    ledger = opened(path)
    ledger.charge("people", event(1.5))
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    with pytest.raises(LedgerDamaged, match=r"ledger\.db-heads has seen"):
        ledger.create("people", gv.Budget(2.0, 1e-6))
    with pytest.raises(LedgerError, match=r"There was a ledger|has lost charges"):
        release(ledger)
    LedgerFile(path).witness.unlink()  # a trial, which is over
    path.unlink(missing_ok=True)
    ledger.create("people", gv.Budget(2.0, 1e-6))


def test_a_witness_that_a_crash_cut_short_goes_on_in_a_new_line(path):
    ledger = opened(path)
    ledger.charge("people", event(0.1))
    witness = LedgerFile(path).witness
    whole = witness.read_bytes()
    for end in range(len(whole)):
        witness.write_bytes(whole[:end])
        ledger.charge("people", event(0.001))
        assert LedgerFile(path).seen_heads() == ledger.verify(), end
    assert len(ledger.history("people")) == 1 + len(whole)


@pytest.mark.parametrize("content", ["a,b\n1,2\n", '{"heads": {"people": "1:ab"}}\n', "\n" * 5])
def test_a_witness_that_was_overwritten_is_not_taken_for_a_new_one(path, content):
    ledger = opened(path)
    ledger.charge("people", event(0.1))
    LedgerFile(path).witness.write_text(content)
    for use in (ledger.verify, lambda: ledger.charge("people", event(0.1))):
        with pytest.raises(LedgerDamaged, match=r"ledger\.db-heads was overwritten"):
            use()


@pytest.mark.parametrize("loss", ["nothing", "older", "deleted", "empty", "no tables"])
@pytest.mark.parametrize("content", ["zeros", "head and zeros", "text", "no text"])
def test_a_witness_without_a_line_end_is_not_taken_for_a_new_one(path, content, loss):
    """A line that a crash has cut short begins like a line about an account that the ledger has."""
    ledger = opened(path)
    older = path.read_bytes()
    ledger.charge("people", event(0.1))
    witness = LedgerFile(path).witness
    whole = witness.read_bytes()
    head = whole[: whole.index(b"\n") + 1]
    contents = {"zeros": bytes(len(whole)), "head and zeros": head + bytes(len(whole) - len(head)), "text": b"garbage"}
    contents["no text"] = b"\xff" * len(whole)
    witness.write_bytes(contents[content])
    if loss in ("older", "empty"):
        path.write_bytes(older if loss == "older" else b"")
    elif loss == "deleted":
        path.unlink()
    elif loss == "no tables":
        with closing(sqlite3.connect(path)) as file:
            for name in ("releases", "events", "datasets", "ledger"):
                file.execute(f"drop table graphveil_{name}")
    for use in (ledger.verify, lambda: ledger.charge("people", event(0.1))):
        with pytest.raises(LedgerDamaged, match=r"was overwritten|There was a ledger"):
            use()
    with pytest.raises(LedgerDamaged, match=r"was overwritten|There was a ledger"):
        ledger.create("others", gv.Budget(2.0, 1e-6))


@pytest.mark.parametrize("loss", ["deleted", "empty"])
def test_a_witness_with_a_cut_line_remembers_that_there_was_a_ledger(path, loss):
    ledger = opened(path)
    witness = LedgerFile(path).witness
    witness.write_bytes(witness.read_bytes()[:10])
    ledger.verify()
    path.unlink() if loss == "deleted" else path.write_bytes(b"")
    with pytest.raises(LedgerDamaged, match="There was a ledger"):
        ledger.create("people", gv.Budget(2.0, 1e-6))


def test_no_output_is_written_where_the_witness_will_be(path):
    ledger = opened(path)
    made = release(ledger)
    for there in (True, False):
        with pytest.raises(gv.exceptions.InvalidParameter):
            made.save(LedgerFile(path).witness)
        LedgerFile(path).witness.unlink(missing_ok=there is False)
    ledger.verify()


def test_a_crash_between_the_commit_and_the_witness_is_no_alarm(path, monkeypatch):
    ledger = opened(path)
    with monkeypatch.context() as crash:
        crash.setattr(LedgerFile, "add_heads", lambda self, heads: None)
        ledger.charge("people", event(0.1))
    assert LedgerFile(path).seen_heads()["people"].startswith("0:")
    ledger.verify()
    ledger.charge("people", event(0.1))
    assert LedgerFile(path).seen_heads() == ledger.verify()


def test_a_witness_that_cannot_be_written_stops_the_draw_and_keeps_the_charge(path, monkeypatch, no_draw):
    ledger = opened(path)

    def full(self, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LedgerFile, "_append", full)
    with pytest.raises(LedgerFull, match=r"stays written, but .*-heads cannot be: No space left"):
        release(ledger)
    assert len(ledger.history("people")) == 1


def test_a_witness_that_may_not_be_read_is_named(path, monkeypatch):
    ledger = opened(path)
    witness = LedgerFile(path).witness
    witness.unlink()
    witness.mkdir()
    with pytest.raises(LedgerError, match=r"cannot be trusted without .*-heads: Is a directory"):
        ledger.verify()
    witness.rmdir()
    monkeypatch.setattr(
        Path, "read_text", lambda *arguments, **options: (_ for _ in ()).throw(PermissionError(13, "no"))
    )
    with pytest.raises(LedgerReadOnly, match="cannot be trusted without"):
        ledger.verify()


def test_processes_that_charge_at_once_raise_no_alarm(path):
    ledger = opened(path, budget=gv.Budget(8.0, 1e-6))
    errors = []

    def charge():
        try:
            for _ in range(25):
                ledger.charge("people", SMALL)
                ledger.spent("people")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=charge) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(ledger.history("people")) == 150
    assert LedgerFile(path).seen_heads() == ledger.verify()
