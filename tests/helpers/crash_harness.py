"""SIGKILL at seeded instants of a release, many times, and what the ledger says afterwards.

    PYTHONPATH=tests python -m helpers.crash_harness URL FOLDER KILLS SEED [groups] [late]

One warm parent forks a child for every kill. The child makes a release with a key, saves it to a file, asks for it
again, and dies on the way: at a line of Python drawn by the seed, in whatever module that is, or (every fourth) after
a drawn time, which also falls into C code, into the sampler and between the writes of a commit. The parent then
checks that the ledger verifies and has gone on, that whatever was drawn had been charged, and that nothing partial is
taken for a release. The report is JSON.

With ``groups`` every release is one of three groups, with a charge for all and a draw for each. ``late`` is the
control: a ledger that charges after the draw. It must be caught.
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

import numpy as np

import graphveil as gv
from graphveil.exceptions import KeyRefused
from graphveil.ledger.transactions import account_of
from graphveil.privacy import noise
from graphveil.released.grouped import read_any_release
from graphveil.spec.grouping import Grouping
from helpers.ledgers import HALF, ROWS, opened, release, request

SMALL = gv.Budget(0.01, 1e-6)
LEVELS = np.resize(["A", "B", "C"], len(ROWS))


class LateLedger(gv.Ledger):
    """Charges when the release is stored: wrong, and only a crash shows it."""

    def charge(self, dataset, event, request=None):
        self.waiting = (dataset, event, request)

    def store(self, request, release):
        super().charge(*self.waiting)
        super().store(request, release)


class Asked:
    """The release that is made again and again."""

    def __init__(self, *, groups):
        self.by = {"by": Grouping("arm", ("A", "B", "C"))} if groups else {}
        self.rows = (ROWS, LEVELS) if groups else ROWS

    def release(self, ledger, key, budget=SMALL):
        return release(ledger, key=key, budget=budget, rows=self.rows, **self.by)

    def request(self, key):
        return request(key, budget=SMALL, **self.by)


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


def child(asked, ledger, key, path, pipe, limit):
    """Release, save, ask again, and report on ``pipe``: b"d" as soon as noise is asked for, b"s" at the end."""
    draw = noise.draw_discrete_gaussian

    def reported(scale, count):
        os.write(pipe, b"d")
        return draw(scale, count)

    noise.draw_discrete_gaussian = reported
    os.write(pipe, b"g")
    counter = count_lines(limit) if limit != 0 else [0]
    made = asked.release(ledger, key)
    made.save(path)
    if asked.release(ledger, key) != made:
        os._exit(2)
    sys.settrace(None)
    os.write(pipe, b"s%d" % counter[0])
    os._exit(0)


def run(asked, ledger, key, path, limit, delay=None):
    """What a child said before it ended, and how long it took."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            child(asked, ledger, key, path, writing, limit)
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


def check(asked, ledger, key, path, said, heads):
    """How the key stands, whether a release was saved, what is wrong, and the ledger's heads."""
    # Whoever died in the middle may still have a server process that finishes: wait for its lock.
    ledger._store.write(lambda connection: account_of(connection, "people", lock=True))
    wrong, heads = [], ledger.verify(heads)
    charges = [entry.event for entry in ledger.history("people") if entry.key == key]
    charged = len(charges)
    try:
        stored = gv.Ledger.stored(ledger, asked.request(key))
        state = "stored" if stored is not None else "untouched"
    except KeyRefused:
        stored, state = None, "lost"
    released = read_any_release(path.read_bytes()) if path.exists() else None  # raises for half a file
    if charged not in (0, 1) or charged != (state != "untouched"):
        wrong.append(f"{key}: {charged} charges, but the key is {state}")
    if b"d" in said and charged == 0:
        wrong.append(f"{key}: noise was drawn and not charged")
    if stored is not None and (charges[0].mu, charges[0].eta) != (stored.event.mu, stored.event.eta):
        wrong.append(f"{key}: {charges[0]} was charged, and the release cost {stored.event}")
    if released is not None and released != stored:
        wrong.append(f"{key}: a release got out that the ledger does not have")
    return state, released is not None, wrong, heads


def main(url, folder, kills, seed, *, groups, late):
    ledger, asked = opened(url), Asked(groups=groups)
    if late:
        ledger = LateLedger(url)
    folder, chance = Path(folder), random.Random(seed)
    asked.release(ledger, "warm", HALF)
    asked.release(ledger, "warm", HALF)
    said, _ = run(asked, ledger, "lines", folder / "lines.release", limit=-1)
    lines = int(said.split(b"s")[1])
    _, seconds = run(asked, ledger, "seconds", folder / "seconds.release", limit=0)
    report = {"kills": 0, "finished first": 0, "untouched": 0, "lost": 0, "stored": 0, "saved": 0, "journals left": 0}
    wrong, heads = [], ledger.verify()
    for i in itertools.takewhile(lambda _: report["kills"] < kills, range(3 * kills)):
        key, path = f"kill {i}", folder / f"{i}.release"
        journal = Path(f"{url}-journal")
        journal.unlink(missing_ok=True)  # what is still there was never needed: the ledger has verified
        if i % 4 == 3:
            said, _ = run(asked, ledger, key, path, limit=0, delay=chance.uniform(0.0, seconds))
        else:
            said, _ = run(asked, ledger, key, path, limit=chance.randint(1, lines))
        report["journals left"] += journal.exists()
        state, saved, found, heads = check(asked, ledger, key, path, said, heads)
        report["finished first" if b"s" in said else "kills"] += 1
        report[state] += 1
        report["saved"] += saved
        wrong += found
    visible = {path.name for path in folder.glob("*.release")} - {"lines.release", "seconds.release"}
    assert len(visible) == report["saved"]
    print(json.dumps({"lines": lines, **report, "violations": wrong}))


if __name__ == "__main__":
    options = {name: name in sys.argv[5:] for name in ("groups", "late")}
    main(*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), **options)
