"""What is written replaces nothing that could be missed, and is there whole or not at all; what is read has an end."""

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import graphveil as gv
from graphveil._files import check_output, read_file, write_file
from graphveil.exceptions import InvalidParameter, ReleaseFileError

OURS = re.compile(rb"ours:")
posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and devices are POSIX")


@pytest.fixture
def made():
    return gv.release(np.zeros((3, 2)), domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(1.0, 1e-6))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_an_empty_and_an_earlier_file_of_the_kind_are_written(tmp_path):
    path = tmp_path / "x"
    write_file(path, b"ours: 1", OURS)
    write_file(path, b"ours: 22", OURS)
    assert path.read_bytes() == b"ours: 22"
    path.write_bytes(b"")
    write_file(path, b"ours: 3", OURS)
    assert path.read_bytes() == b"ours: 3"
    assert names_in(tmp_path) == ["x"]


@pytest.mark.parametrize("like", [OURS, None])
@pytest.mark.parametrize("content", [b"age,bmi\n50,22\n", b"PAR1...", b"graphveil-release 1\nother", b"theirs: ours:"])
def test_anything_else_stays(tmp_path, content, like):
    path = tmp_path / "x"
    path.write_bytes(content)
    for new in (b"ours: 1", b"ours:" + bytes(len(content) - 5)):  # of another length, and of the same
        with pytest.raises(InvalidParameter, match="is not overwritten"):
            write_file(path, new, like)
    assert path.read_bytes() == content
    assert names_in(tmp_path) == ["x"]


def test_a_ledger_and_what_it_keeps_beside_it_stay(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = gv.Ledger(path)
    ledger.create("people", gv.Budget(1.0, 1e-6))
    for name in ("ledger.db", "ledger.db-journal", "ledger.db-wal", "ledger.db-shm", "ledger.db-heads"):
        with pytest.raises(InvalidParameter, match="ledger"):
            write_file(tmp_path / name, b"ours: 1", OURS)
    ledger.verify()
    (tmp_path / "ledger.db-heads").unlink()  # nor is anything put where the ledger will write
    with pytest.raises(InvalidParameter, match="uses itself"):
        write_file(tmp_path / "ledger.db-heads", b"ours: 1", OURS)
    write_file(tmp_path / "other-journal", b"ours: 1", OURS)  # a name like any other where no database is


def test_a_release_is_overwritten_by_itself_alone(tmp_path, made):
    path = tmp_path / "x.release"
    made.save(path)
    made.save(path)
    other = gv.release(np.zeros((3, 2)), domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="another release, which was paid for"):
        other.save(path)
    path.write_bytes(made.to_bytes()[:-1])  # a damaged one may still be mended by hand
    with pytest.raises(InvalidParameter, match="paid for"):
        made.save(path)
    records = tmp_path / "p.csv"
    records.write_text("age,bmi\n50,22\n")
    with pytest.raises(InvalidParameter, match="not overwritten"):
        made.save(records)
    assert records.read_text() == "age,bmi\n50,22\n"


@posix
def test_what_is_not_a_regular_file_stays_what_it_is(tmp_path, made):
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path, words in ((pipe, "not a regular file"), (folder, "is a folder")):
        with pytest.raises(InvalidParameter, match=words):
            made.save(path)
    assert pipe.is_fifo()
    assert folder.is_dir()
    if os.geteuid() == 0:
        device = tmp_path / "null"
        os.mknod(device, 0o020666, os.makedev(1, 3))
        with pytest.raises(InvalidParameter, match="not a regular file"):
            made.save(device)
        assert device.is_char_device()


@posix
def test_links_are_followed(tmp_path):
    far = tmp_path / "far"
    far.mkdir()
    target, link, dangling = far / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_bytes(b"ours: 1")
    link.symlink_to(target)
    dangling.symlink_to(far / "new")
    write_file(link, b"ours: 2", OURS)
    write_file(dangling, b"ours: 3", OURS)
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert target.read_bytes() == b"ours: 2"
    assert (far / "new").read_bytes() == b"ours: 3"
    target.write_bytes(b"records")
    with pytest.raises(InvalidParameter, match="not overwritten"):
        write_file(link, b"ours: 4", OURS)
    assert names_in(far) == ["new", "target"]


@posix
def test_what_may_not_be_written_stays():
    """As a user to whom permissions apply, which they do not to root."""
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "x"
        path.write_bytes(b"ours: 1")
        path.chmod(0o444)
        folder.chmod(0o777)
        is_root = os.geteuid() == 0
        if is_root:
            os.setresuid(65534, 65534, 0)
        try:
            with pytest.raises(InvalidParameter, match="write-protected"):
                write_file(path, b"ours: 2", OURS)
            with pytest.raises(InvalidParameter, match="cannot be written"):
                write_file("/usr/x", b"ours: 2", OURS)
        finally:
            if is_root:
                os.setresuid(0, 0, 0)
        assert path.read_bytes() == b"ours: 1"


def test_a_missing_folder_is_said_before_anything_is_spent(tmp_path):
    with pytest.raises(InvalidParameter, match="does not exist"):
        check_output(tmp_path / "none" / "x", None, None)


def test_another_who_writes_there_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    """Two runs of the same job: the check of both finds nothing there."""
    path, fsync = tmp_path / "x", os.fsync

    def slow(handle):
        path.write_bytes(b"theirs")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(InvalidParameter, match="written by another"):
        write_file(path, b"ours: 1", OURS)
    assert path.read_bytes() == b"theirs"
    assert names_in(tmp_path) == ["x"]


KILLED = """
import os, re, sys
from graphveil._files import write_file
os.fsync = lambda handle: (print("here", flush=True), sys.stdin.read())
write_file(sys.argv[1], bytes(1000), re.compile(b""))
"""


def killed_in_the_middle(path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "here\n"
    return process


@posix
def test_what_a_killed_writer_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "x"
    for _ in range(3):
        process = killed_in_the_middle(path)
        process.kill()
        process.communicate()
    assert len(names_in(tmp_path)) == 1, "each removes what the one before left"
    living = killed_in_the_middle(tmp_path / "y")
    (temporary,) = names_in(tmp_path)
    write_file(path, b"ours: 1", OURS)
    assert names_in(tmp_path) == [temporary, "x"]
    living.communicate("")
    assert living.returncode == 0
    assert names_in(tmp_path) == ["x", "y"]
    assert (tmp_path / "y").read_bytes() == bytes(1000)


def test_many_writers_at_once_leave_one_whole_file_and_nothing_else(tmp_path):
    path, failed = tmp_path / "x", []
    write_file(path, b"ours: 0", OURS)

    def write(number):
        try:
            for _ in range(20):
                write_file(path, b"ours: %d" % number * 1000, OURS)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert names_in(tmp_path) == ["x"]
    content = path.read_bytes()
    assert content == content[:7] * 1000


@posix
def test_what_has_no_end_is_not_read(tmp_path):
    pipe, sparse = tmp_path / "pipe", tmp_path / "sparse.release"
    os.mkfifo(pipe)
    with sparse.open("wb") as file:
        file.truncate(2**40)
    for path, words in (
        (pipe, "not a regular file"),
        ("/dev/zero", "not a regular file"),
        (sparse, "bytes, more than"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            read_file(path, 2**20)
        with pytest.raises(ReleaseFileError, match=words):
            gv.Release.load(path)
    small = tmp_path / "small"
    small.write_bytes(b"abc")
    assert read_file(small, 3) == b"abc"
    with pytest.raises(InvalidParameter):
        read_file(small, 2)


def test_sqlite_needs_what_is_refused(tmp_path):
    """The names beside a database are really those that SQLite uses: a file there is taken away by it."""
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (a)")
    database.close()
    (tmp_path / "x.db-journal").write_bytes(b"graphveil-release 1\n")
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO t VALUES (1)")
    database.close()
    assert names_in(tmp_path) == ["x.db"]
