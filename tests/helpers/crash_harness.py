"""SIGKILL at seeded instants of a release, many times, and what the ledger says afterwards.

    PYTHONPATH=tests python -m helpers.crash_harness URL FOLDER KILLS SEED [late]

One warm parent forks a child for every kill. The child makes a release with a key, saves it to a file, asks for it
again, and dies on the way: at a line of Python drawn by the seed, in whatever module that is, or (every fourth) after
a drawn time, which also falls into C code, into the sampler and between the writes of a commit. The parent then
checks that the ledger verifies and has gone on, that whatever was drawn had been charged, and that nothing partial is
taken for a release. The report is JSON.

``late`` is the control: a ledger that charges after the draw. It must be caught.
"""

import itertools
import json
import os
import random
import select
import signal
import sys
import threading
import time
from pathlib import Path

import graphveil as gv
from graphveil.exceptions import KeyRefused
from graphveil.ledger.transactions import account_of
from graphveil.privacy import noise
from helpers.ledgers import HALF, opened, release, request

SMALL = gv.Budget(0.01, 1e-6)


class LateLedger(gv.Ledger):
    """Charges when the release is stored: wrong, and only a crash shows it."""

    def charge(self, dataset, event, request=None):
        self.waiting = (dataset, event, request)

    def store(self, request, release):
        super().charge(*self.waiting)
        super().store(request, release)


def count_lines(limit=None):
    """Trace every line of this process; SIGKILL at line ``limit``."""
    counter = [0]

    def on_line(frame, what, argument):
        counter[0] += 1
        if counter[0] == limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return on_line

    threading.settrace(on_line)
    sys.settrace(on_line)
    return counter


def child(ledger, key, path, pipe, limit):
    """Release, save, ask again, and report on ``pipe``: b"d" as soon as noise is asked for, b"s" at the end."""
    draw = noise.draw_discrete_gaussian

    def reported(scale, count):
        os.write(pipe, b"d")
        return draw(scale, count)

    noise.draw_discrete_gaussian = reported
    os.write(pipe, b"g")
    counter = count_lines(limit) if limit != 0 else [0]
    made = release(ledger, key=key, budget=SMALL)
    made.save(path)
    if release(ledger, key=key, budget=SMALL) != made:
        os._exit(2)
    sys.settrace(None)
    os.write(pipe, b"s%d" % counter[0])
    os._exit(0)


def run(ledger, key, path, limit, delay=None):
    """What a child said before it ended, and how long it took."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            child(ledger, key, path, writing, limit)
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"g"
    started, said = time.monotonic(), b""
    while True:
        left = None if delay is None else max(0.0, started + delay - time.monotonic())
        if not select.select([reading], [], [], left)[0]:
            os.kill(process, signal.SIGKILL)
            delay = None
            continue
        part = os.read(reading, 100)
        if not part:
            break
        said += part
    os.close(reading)
    _, status = os.waitpid(process, 0)
    if status not in (0, signal.SIGKILL):
        raise RuntimeError(f"a child failed by itself: status {status}")
    return said, time.monotonic() - started


def check(ledger, key, path, said, heads):
    """How the key stands, whether a release was saved, what is wrong, and the ledger's heads."""
    # Whoever died in the middle may still have a server process that finishes: wait for its lock.
    ledger._store.write(lambda connection: account_of(connection, "people", lock=True))
    wrong, heads = [], ledger.verify(heads)
    charged = sum(entry.key == key for entry in ledger.history("people"))
    try:
        stored = gv.Ledger.stored(ledger, request(key, budget=SMALL))
        state = "stored" if stored is not None else "untouched"
    except KeyRefused:
        stored, state = None, "lost"
    released = gv.Release.load(path) if path.exists() else None  # raises for half a file
    if charged not in (0, 1) or charged != (state != "untouched"):
        wrong.append(f"{key}: {charged} charges, but the key is {state}")
    if b"d" in said and charged == 0:
        wrong.append(f"{key}: noise was drawn and not charged")
    if released is not None and released != stored:
        wrong.append(f"{key}: a release got out that the ledger does not have")
    return state, released is not None, wrong, heads


def main(url, folder, kills, seed, late=False):
    ledger = opened(url)
    if late:
        ledger = LateLedger(url)
    folder, chance = Path(folder), random.Random(seed)
    release(ledger, key="warm", budget=HALF)
    release(ledger, key="warm", budget=HALF)
    said, _ = run(ledger, "lines", folder / "lines.release", limit=-1)
    lines = int(said.split(b"s")[1])
    _, seconds = run(ledger, "seconds", folder / "seconds.release", limit=0)
    report = {"kills": 0, "finished first": 0, "untouched": 0, "lost": 0, "stored": 0, "saved": 0, "journals left": 0}
    wrong, heads = [], ledger.verify()
    for i in itertools.takewhile(lambda _: report["kills"] < kills, range(3 * kills)):
        key, path = f"kill {i}", folder / f"{i}.release"
        journal = Path(f"{url}-journal")
        journal.unlink(missing_ok=True)  # what is still there was never needed: the ledger has verified
        if i % 4 == 3:
            said, _ = run(ledger, key, path, limit=0, delay=chance.uniform(0.0, seconds))
        else:
            said, _ = run(ledger, key, path, limit=chance.randint(1, lines))
        report["journals left"] += journal.exists()
        state, saved, found, heads = check(ledger, key, path, said, heads)
        report["finished first" if b"s" in said else "kills"] += 1
        report[state] += 1
        report["saved"] += saved
        wrong += found
    visible = {path.name for path in folder.glob("*.release")} - {"lines.release", "seconds.release"}
    assert len(visible) == report["saved"]
    print(json.dumps({"lines": lines, **report, "violations": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), late="late" in sys.argv[5:])
