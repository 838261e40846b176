"""Theorem 7: wherever a release is interrupted, no frame that is left holds a record, an exact sum or noise."""

import gc
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.rows.sanitized_errors import leave_no_frames
from graphveil.rows.streaming import StreamedMoments
from graphveil.spec.augmentation import Constant

BUDGET = gv.Budget(2.0, 1e-6)
BOUNDS = {"a": (-4, 4), "b": (-4, 4)}
BOUNDED = gv.Domain(BOUNDS)
PRIVATE = ("graphveil/rows/", "graphveil/engines/", "graphveil/gate.py", "graphveil/privacy/noise.py")


def table(n=40):
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=n), "b": rng.normal(size=n), "w": np.ones(n)}
    return pd.DataFrame(columns).assign(who=[f"p{i // 2}" for i in range(n)], arm=["A", "B"] * (n // 2))


def collect():
    StreamedMoments(BOUNDED, Constant()).add(table()[["a", "b"]])


def in_batches(size, **settings):
    """From an iteration over arrays, started again in every pass."""
    rows = table(3 * size)[["a", "b"]].to_numpy()
    gv.release(lambda: iter([rows[:size], rows[size:]]), domain=BOUNDED, budget=BUDGET, **settings)


def from_file():
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        table().to_csv(path, index=False)
        gv.release(path, domain=BOUNDED, budget=BUDGET, adaptive=False)


CALLS = {
    "one round": lambda: gv.release(table()[["a", "b"]], domain=BOUNDED, budget=BUDGET, adaptive=False),
    "batches": lambda: in_batches(50, adaptive=False),
    "adaptive": lambda: gv.release(table()[["a", "b"]], domain=BOUNDED, budget=BUDGET),
    "people and weights": lambda: gv.release(
        table().drop(columns="arm"),
        domain=gv.Domain(BOUNDS, person="who", weight=gv.Weight("w", largest=2)),
        budget=BUDGET,
        adaptive=False,
    ),
    "groups of people": lambda: gv.release(
        table().drop(columns="w"),
        domain=gv.Domain(BOUNDS, person="who", neighbours="add-remove"),
        by={"arm": ["A", "B"]},
        budget=BUDGET,
        adaptive=False,
    ),
    "file": from_file,
    "collected": collect,
}


def is_private(code):
    return code.co_name == "split" or any(part in code.co_filename for part in PRIVATE)


def interrupt(call, error, limit=None):
    """Run ``call`` and raise ``error`` at the line ``limit`` of private code; without one, list where each line is."""
    met = []

    def on_line(frame, event, argument):
        if event == "line":
            met.append((frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno))
            if len(met) - 1 == limit:
                sys.settrace(None)
                raise error
        return on_line

    def on_call(frame, event, argument):
        return on_line if is_private(frame.f_code) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(before)
    return met


def numbers_in(frame):
    """Names of the variables of a frame that hold an array, as they are or in a container."""

    def holds(value, depth=0):
        if isinstance(value, np.ndarray):
            return value.size > 0
        if isinstance(value, dict):
            value = list(value.values())
        return depth < 3 and isinstance(value, list | tuple) and any(holds(item, depth + 1) for item in value)

    return {f"{frame.f_code.co_name}: {name}" for name, value in frame.f_locals.items() if holds(value)}


def left_behind(error):
    """What the frames show to which a traceback leads."""
    found, waiting = set(), [error]
    while waiting:
        one = waiting.pop()
        if one is None:
            continue
        waiting += [one.__cause__, one.__context__]
        place = one.__traceback__
        while place is not None:
            if "graphveil" in place.tb_frame.f_code.co_filename:
                found |= numbers_in(place.tb_frame)
            place = place.tb_next
    return found


def kept_frames():
    """All frames of private code that somebody keeps."""
    return [item for item in gc.get_objects() if isinstance(item, FrameType) and is_private(item.f_code)]


def places(met):
    """Numbers of lines to stop at: the first, a middle and the last time that each line is run."""
    times = {}
    for number, place in enumerate(met):
        times.setdefault(place, []).append(number)
    return sorted({runs[i] for runs in times.values() for i in (0, len(runs) // 2, -1)})


def search(name, error, monkeypatch, most):
    """Interrupt about so many of the places; how often that ended a call."""
    monkeypatch.setattr("graphveil.rows.parallel.os.sched_getaffinity", lambda _: {0}, raising=False)
    call, ended, kept = CALLS[name], 0, kept_frames()  # by the tests before this one
    call()  # everything is loaded and compiled
    found = places(interrupt(call, None))
    for limit in found[:: max(1, len(found) // most)]:
        left = None
        try:
            interrupt(call, error, limit)
        except error as caught:
            left = left_behind(caught)
        assert not left, (name, limit)
        ended += left is not None
    for frame in kept_frames():
        assert any(frame is other for other in kept) or not numbers_in(frame)
    return ended


@pytest.mark.parametrize("name", CALLS)
def test_lines_of_private_code_leave_no_numbers_behind(name, monkeypatch):
    assert search(name, KeyboardInterrupt, monkeypatch, 20) > 10


@pytest.mark.nightly
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", CALLS)
def test_no_line_of_private_code_leaves_numbers_behind(name, error, monkeypatch):
    assert search(name, error, monkeypatch, 10_000) > 200


def test_the_search_finds_what_a_release_without_doors_would_leave(monkeypatch):
    from graphveil import gate

    monkeypatch.setattr(gate._Gate, "_add_noise", gate._Gate._add_noise.__wrapped__)
    found = set()
    met = interrupt(CALLS["one round"], None)
    for limit in places(met):
        if met[limit][0] not in ("_add_noise", "split"):
            continue
        try:
            interrupt(CALLS["one round"], KeyboardInterrupt, limit)
        except KeyboardInterrupt as raised:
            found |= left_behind(raised)
    assert {"_add_noise: noisy", "_add_noise: drawn", "split: matrix"} <= found


def test_an_error_keeps_its_type_and_its_words_and_loses_its_causes():
    class Own(Exception):
        pass

    @leave_no_frames
    def fails():
        secret = np.arange(3)
        try:
            raise ValueError(secret)
        except ValueError as error:
            raise Own("as it was") from error

    with pytest.raises(Own, match="as it was") as caught:
        fails()
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert [entry.name for entry in caught.traceback][-1] == "door"


def test_what_the_caller_was_handling_stays_as_it_was():
    @leave_no_frames
    def fails():
        raise KeyboardInterrupt

    def recovers():
        try:
            raise OSError("before")
        except OSError:
            fails()

    with pytest.raises(KeyboardInterrupt) as caught:
        recovers()
    before = caught.value.__context__
    assert isinstance(before, OSError)
    assert before.__traceback__ is not None


def test_the_shape_of_what_did_not_fit_is_not_told():
    @leave_no_frames
    def fails():
        raise np._core._exceptions._ArrayMemoryError((12345,), np.dtype(float))

    with pytest.raises(MemoryError) as caught:
        fails()
    assert str(caught.value) == ""


def test_a_worker_that_fails_leaves_no_frames(monkeypatch):
    """Its error comes to the caller through a future, with the frames of the thread."""
    from graphveil.rows.exact_sums import ExactMoments

    update, callers = ExactMoments.update, set()

    def fails(self, encoded):
        callers.add(threading.current_thread())
        update(self, encoded)
        raise MemoryError

    monkeypatch.setattr(ExactMoments, "update", fails)
    monkeypatch.setattr("graphveil.rows.parallel.os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    with pytest.raises(MemoryError) as caught:
        in_batches(4000, adaptive=False)
    assert threading.main_thread() not in callers
    assert left_behind(caught.value) == set()
