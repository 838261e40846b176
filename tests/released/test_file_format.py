"""Saving, loading, and every way in which a file can be wrong."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import ReleaseFileError
from graphveil.released import file_format

BUDGET = gv.Budget(1.0, 1e-6)
ROWS = np.random.default_rng(0).normal(size=(200, 3))
NAMED = gv.Domain(columns=["ä", "b", "c"], bounds=(-4, 4))
BALL = gv.Domain(data_norm=2.0)
RELEASES = {
    "plain": lambda: gv.release(
        ROWS, domain=gv.Domain(bounds=(-4, 4)), budget=BUDGET, assume_centered=True, adaptive=False
    ),
    "mean": lambda: gv.release(ROWS, domain=NAMED, budget=BUDGET, adaptive=False),
    "labels": lambda: gv.release(
        (ROWS, [True] * 200), domain=BALL, budget=BUDGET, labels=gv.Labels([True, "x", 3]), adaptive=False
    ),
    "paper": lambda: gv.release(
        ROWS, domain=BALL, budget=BUDGET, mechanism="paper", assume_centered=True, adaptive=False
    ),
    "several rounds": lambda: gv.release(ROWS, domain=NAMED, budget=BUDGET),
    "several rounds, a norm": lambda: gv.release(ROWS, domain=BALL, budget=gv.Budget(40.0, 1e-6), assume_centered=True),
    "seeded": lambda: gv.release(
        ROWS, domain=BALL, budget=BUDGET, random_state=1, assume_centered=True, adaptive=False
    ),
    "one number": lambda: gv.release(ROWS[:1, :1], domain=BALL, budget=BUDGET, assume_centered=True, adaptive=False),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_round_trip(kind, tmp_path):
    item = RELEASES[kind]()
    item.save(tmp_path / "a.release")
    again = gv.Release.load(tmp_path / "a.release")
    assert again == item
    assert hash(again) == hash(item)
    assert again.checksum == item.checksum
    assert repr(again) == repr(item)
    for name in ("event", "domain", "augment", "versions", "columns", "n_samples", "seeded", "budget", "noise_scale"):
        assert getattr(again, name) == getattr(item, name)
    for name in ("second_moment", "noise_sd", "moment_center", "location", "class_counts", "class_locations", "n_eff"):
        np.testing.assert_array_equal(getattr(again, name), getattr(item, name))
    again.save(str(tmp_path / "b.release"))
    assert (tmp_path / "a.release").read_bytes() == (tmp_path / "b.release").read_bytes()


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "x.release"
    RELEASES["mean"]().save(path)
    return path


def test_every_truncation_is_noticed(saved):
    content = saved.read_bytes()
    for length in [*range(60), *range(60, len(content), 37), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(ReleaseFileError, match=r"x\.release"):
            gv.Release.load(saved)


def test_every_flipped_bit_is_noticed(saved):
    content = bytearray(saved.read_bytes())
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << (position % 8)
        saved.write_bytes(changed)
        with pytest.raises(ReleaseFileError):
            gv.Release.load(saved)


def test_appended_bytes_are_noticed(saved):
    saved.write_bytes(saved.read_bytes() + b"\n")
    with pytest.raises(ReleaseFileError, match="damaged"):
        gv.Release.load(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a graphveil release"),
        (b"PK\x03\x04 a zip", "not a graphveil release"),
        (b"graphveil-release 2\n...", "format '2'; this graphveil reads format 1"),
        (b"graphveil-release 1", "damaged"),
        (b"graphveil-release \xff\xfe\n", "has release format"),
    ],
)
def test_foreign_files(content, message, tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ReleaseFileError, match=message):
        gv.Release.load(path)


def test_a_file_that_is_not_there_or_a_folder(tmp_path):
    with pytest.raises(ReleaseFileError, match="No such file"):
        gv.Release.load(tmp_path / "nothing")
    with pytest.raises(ReleaseFileError, match="cannot be read"):
        gv.Release.load(tmp_path)


def forged(item, change):
    """A release whose header or numbers were changed by somebody who also renewed the checksum."""
    header, arrays = file_format.decode(item._content, "x")
    change(header, arrays)
    return file_format.encode(header, arrays)


FORGERIES = {
    "no event": lambda h, a: h.pop("event"),
    "wrong kind": lambda h, a: h.update(domain=h["event"]),
    "augment of another kind": lambda h, a: h.update(augment=h["domain"]),
    "bad budget": lambda h, a: h["event"]["budget"].update(epsilon=-1),
    "another p": lambda h, a: h["domain"].update(n_features=7, columns=None),
    "p unknown": lambda h, a: h["domain"].update(n_features=None, columns=None),
    "versions no dict": lambda h, a: h.update(versions=3),
    "rounds missing": lambda h, a: h.update(rounds=[]),
    "no round at all": lambda h, a: (h.update(rounds=[]), a.clear()),
    "an unknown question": lambda h, a: h["rounds"][0]["query"].update(kind="Everything"),
    "another question": lambda h, a: h["rounds"][0]["query"].update(kind="NormCounts"),
    "rounds that were not": lambda h, a: h["event"].update(rounds="adaptive"),
    "a vector missing": lambda h, a: a[0].pop("trace"),
    "not finite": lambda h, a: a[0].update(trace=np.array([np.nan])),
    "another length": lambda h, a: a[0].update(diagonal=np.zeros(4)),
    "a string for a number": lambda h, a: h["event"].update(mu="0.1"),
    "a number beyond floats": lambda h, a: h["event"]["budget"].update(epsilon=10**400),
    "a norm beyond floats": lambda h, a: h["domain"].update(data_norm=10**400),
    "rows beyond counting": lambda h, a: h["event"].update(n_samples=10**400),
    "lists in lists": lambda h, a: h["domain"].update(columns=json.loads("[" * 900 + "]" * 900)),
    "a trace of nothing": lambda h, a: (
        h["rounds"][0]["step"]["groups"][2].update(count=0),
        a[0].update(trace=np.empty(0)),
    ),
    "an unknown field": lambda h, a: h["event"].update(evil=1),
    "a step as event": lambda h, a: h.update(event=h["rounds"][0]["step"]),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_forged_files_are_refused_with_a_clear_error(kind, tmp_path):
    path = tmp_path / "forged"
    path.write_bytes(forged(RELEASES["mean"](), FORGERIES[kind]))
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        gv.Release.load(path)


NONSENSE = [b"[]", b"{}", b"null", b'{"arrays": 3}', b'{"arrays": [[["x", -1]]]}', b"\xff", b"[" * 100000]


@pytest.mark.parametrize("header", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_under_a_right_checksum(header, tmp_path):
    body = b"graphveil-release 1\n%d\n" % len(header) + header + b"\n"
    path = tmp_path / "nonsense"
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ReleaseFileError, match="not a valid release"):
        gv.Release.load(path)


def test_a_failed_write_leaves_the_old_file_and_no_litter(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        gv.Release.load(saved).save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_loading_needs_neither_the_sampler_nor_numba(saved):
    code = f"""
import sys, graphveil as gv
item = gv.Release.load({str(saved)!r})
item.second_moment, item.noise_sd, item.n_eff
print(*[m for m in ("opendp", "numba", "pyarrow", "pandas", "sklearn") if m in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""


def test_the_first_lines_tell_a_person_what_it_is(saved):
    first, _, rest = saved.read_bytes().partition(b"\n")
    assert first == b"graphveil-release 1"
    size, _, rest = rest.partition(b"\n")
    assert json.loads(rest[: int(size)])["event"]["n_samples"] == 200
