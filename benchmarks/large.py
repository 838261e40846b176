"""From a release of 500 columns to a network with intervals, in eigendecompositions: python benchmarks/large.py

n = 100,000, ε = 1, δ = 1e-5: model 3, whose network is sparse, and model 4, whose network has a third of all pairs.
Each fit has an `eigh` of the same size before and after it; medians. Results: benchmarks/results/large.csv
"""

import csv
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "large.csv"
FIELDS = ["model", "p", "n", "threads", "eigh_ms", "recover", "fit", "fit_and_intervals", "density", "error"]
P, N, REPEATS = 500, 100_000, 7


def timed(function, *arguments):
    before = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - before, result


def measured(model):
    theta = gv.simulate.paper_model(model, P, random_state=0)
    rows = gv.simulate.gaussian_rows(theta, N, random_state=0)
    domain = gv.Domain(data_norm=1.25 * np.sqrt(np.trace(np.linalg.inv(theta))))
    release = gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-5), random_state=0, assume_centered=True)
    symmetric = np.cov(rows.T)
    kept, times = Path(tempfile.mkdtemp()) / "large.release", []
    release.save(kept)
    for _ in range(REPEATS):
        release = gv.Release.load(kept)  # the process remembers what it recovered last
        before, _ = timed(np.linalg.eigh, symmetric)
        recover, _ = timed(gv.recover, release)
        estimator = gv.PrivateGraphicalLasso(1.0, 1e-5, data_norm=1.0, assume_centered=True)
        fit, network = timed(estimator.fit_release, release)
        intervals, _ = timed(network.edge_intervals)
        after, _ = timed(np.linalg.eigh, symmetric)
        times.append([(before + after) / 2.0, recover, fit, fit + intervals])
    eigh, recover, fit, total = np.median(times, axis=0)
    error = gv.metrics.relative_loss(network.precision_, theta)
    density = np.mean(network.precision_ != 0)
    return [1000.0 * eigh, recover / eigh, fit / eigh, total / eigh, density, error]


def main():
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    threads = os.environ.get("OPENBLAS_NUM_THREADS", os.cpu_count())
    old = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            old = [row for row in list(csv.reader(file))[1:] if row[3] != str(threads)]
    for model in (3, 4):
        row = [model, P, N, threads, *(f"{number:.4g}" for number in measured(model))]
        print(dict(zip(FIELDS, row, strict=True)), flush=True)
        old.append(row)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows([FIELDS, *old])


if __name__ == "__main__":
    main()
