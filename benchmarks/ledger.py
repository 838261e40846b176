"""A ledger under load: real releases from several processes against one data set, on both databases.

    python benchmarks/ledger.py [--releases 1000] [--processes 8] [--only sqlite]

The budget has room for exactly ``--releases``; the processes try for a fifth more. A run is good if exactly that many
are granted, all others refused, and the ledger verifies. Writes benchmarks/results/ledger.json, one database after
the other. The yardstick is a bare durable commit of one row through the driver, over a connection that stays open.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.exceptions import BudgetExceeded
from graphveil.privacy.calibration import analytic_mu
from graphveil.spec.gdp import epsilon_from_mu

RESULTS = Path(__file__).parent / "results" / "ledger.json"
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
ROWS = np.linspace(-1.0, 1.0, 90).reshape(30, 3)
EACH = gv.Budget(0.05, 1e-6)


def room_for(releases):
    """A budget into which exactly so many releases fit."""
    mu = analytic_mu(EACH) * (releases + 0.5) ** 0.5
    return gv.Budget(epsilon_from_mu(mu, EACH.delta * (1.0 - 2.0**-10)), EACH.delta)


def release(ledger, key):
    domain = gv.Domain(bounds=(-1, 1))
    return gv.release(
        ROWS, domain=domain, budget=EACH, ledger=ledger, dataset="people", key=key, assume_centered=True, adaptive=False
    )


def worker(url, name, attempts, start, results):
    ledger, seconds, refused = gv.Ledger(url), [], 0
    start.wait()
    for number in range(attempts):
        before = time.perf_counter()
        try:
            release(ledger, f"{name} {number}")
        except BudgetExceeded:
            refused += 1
        else:
            seconds.append(time.perf_counter() - before)
    results.put((seconds, refused))


def load(url, releases, processes):
    ledger = gv.Ledger(url)
    ledger.create("warm", room_for(10))
    ledger.create("people", room_for(releases))
    gv.release(
        ROWS,
        domain=gv.Domain(bounds=(-1, 1)),
        budget=EACH,
        ledger=ledger,
        dataset="warm",
        assume_centered=True,
        adaptive=False,
    )
    context = multiprocessing.get_context("fork")  # from one warm parent: no imports inside the measurement
    start, results = context.Barrier(processes + 1), context.Queue()
    attempts = -(-releases * 6 // (5 * processes))
    workers = [
        context.Process(target=worker, args=(url, name, attempts, start, results), daemon=True)
        for name in range(processes)
    ]
    for process in workers:
        process.start()
    start.wait()
    began = time.perf_counter()
    found = [results.get(timeout=3600) for _ in workers]
    took = time.perf_counter() - began
    for process in workers:
        process.join()
    seconds = sorted(second for each, _ in found for second in each)
    ledger.verify()
    history = ledger.history("people")
    return {
        "processes": processes,
        "attempts": attempts * processes,
        "granted": len(seconds),
        "refused": sum(refused for _, refused in found),
        "charged": len(history),
        "stored": sum(entry.stored for entry in history),
        "expected": releases,
        "attempts a second": attempts * processes / took,
        "median seconds": statistics.median(seconds),
        "99% seconds": seconds[int(0.99 * (len(seconds) - 1))],
    }


def bare_commits_a_second(url, count=100):
    """One row, one durable commit, one connection, no ledger."""
    if url.startswith("postgresql"):
        import psycopg

        connection, mark = psycopg.connect(url), "%s"
    else:
        connection, mark = sqlite3.connect(f"{url}.bare"), "?"
        connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("CREATE TABLE bare (n INTEGER)")
    connection.commit()
    began = time.perf_counter()
    for n in range(count):
        connection.execute(f"INSERT INTO bare VALUES ({mark})", [n])
        connection.commit()
    took = time.perf_counter() - began
    connection.close()
    return count / took


def measured(url, releases, processes):
    return {"bare commits a second": bare_commits_a_second(url), **load(url, releases, processes)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {"machine": f"{platform.machine()}, {os.cpu_count()} cores"}

    def keep(name, url):
        results[name] = measured(url, options.releases, options.processes)
        options.out.write_text(json.dumps(results, indent=1) + "\n")
        print(name, json.dumps(results[name], indent=1))

    if options.only != "postgresql":
        with tempfile.TemporaryDirectory() as folder:
            keep("sqlite", f"{folder}/ledger.db")
    if options.only != "sqlite":
        from helpers.postgres_server import Server

        server = Server()
        try:
            keep("postgresql", server.new_schema())
        finally:
            server.close()


if __name__ == "__main__":
    main()
