"""What leaks through time: python benchmarks/timing.py

The clip, the label lookup and whole releases on rows that differ in nothing but their values, by turns, least of many
runs; and how much of the noise can be told from the time that it took to draw. Saves benchmarks/results/timing.csv.
"""

import csv
import time
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.privacy.noise import SecureSource
from graphveil.rows.encoding import Encoder

N, P, TURNS = 8192, 20, 80
RESULTS = Path(__file__).parent / "results" / "timing.csv"


def cases():
    rng = np.random.default_rng(0)
    ordinary = 0.1 * rng.normal(size=(N, P))
    half = rng.random((N, 1)) < 0.5
    return {
        "ordinary": ordinary,
        "zeros": 0.0 * ordinary,
        "out of bounds": 1e3 * ordinary,
        "half of them out of bounds": np.where(half, 1e3, 1.0) * ordinary,
        "NaN": np.full((N, P), np.nan),
        "half of them NaN": np.where(half, np.nan, ordinary),
        "infinite": np.full((N, P), np.inf),
        "1e300": np.full((N, P), 1e300),
        "subnormal": np.full((N, P), 5e-324),
    }


def least(actions):
    """Nanoseconds a row, least of TURNS by turns."""
    best = dict.fromkeys(actions, np.inf)
    for _ in range(TURNS):
        for name, action in actions.items():
            start = time.perf_counter_ns()
            action()
            best[name] = min(best[name], (time.perf_counter_ns() - start) / N)
    return best


def clips():
    out = np.empty((N, P))
    domains = {"bounds": gv.Domain(bounds=(-1, 1), n_features=P), "norm": gv.Domain(data_norm=1.0, n_features=P)}
    for what, domain in domains.items():
        encoder = Encoder(domain, None, shift=False)
        actions = {name: lambda rows=rows: encoder.encode(rows, None, out) for name, rows in cases().items()}  # noqa: B023
        yield f"clip, {what}", least(actions)


def releases():
    budget = gv.Budget(1.0, 1e-6)
    for what, domain in {"bounds": gv.Domain(bounds=(-1, 1)), "norm": gv.Domain(data_norm=1.0)}.items():
        actions = {
            name: lambda rows=rows, domain=domain: gv.release(
                rows, domain=domain, budget=budget, assume_centered=True, adaptive=False
            )
            for name, rows in cases().items()
        }
        yield f"release, {what}", least(actions)


def labels():
    rows, domain, budget = np.zeros((N, 1)), gv.Domain(bounds=(-1, 1)), gv.Budget(1.0, 1e-6)
    kinds = {"known": ["a", "b"] * (N // 2), "unknown": ["x", "y"] * (N // 2), "missing": [None] * N}
    actions = {
        name: lambda found=found: gv.release(
            (rows, found), domain=domain, budget=budget, labels=gv.Labels(["a", "b"]), adaptive=False
        )
        for name, found in kinds.items()
    }
    yield "release, labels", least(actions)


def noise_told_by_time(draws=20_000):
    """Rank correlation of the size of a draw with the time that it took; and of the sum of sizes of 50 draws."""
    from scipy.stats import spearmanr

    source, found = SecureSource(), {}
    for size, count in ((1, draws), (50, draws // 10)):
        times, sizes = np.empty(count), np.empty(count)
        for i in range(count):
            start = time.perf_counter_ns()
            noise = source.discrete_gaussian(2.0**41, size)
            times[i], sizes[i] = time.perf_counter_ns() - start, np.abs(noise).sum()
        found[f"{size} at a time"] = float(spearmanr(times, sizes).statistic)
    return found


if __name__ == "__main__":
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["what", "values", "ns a row", "relative to ordinary"])
        for part in (clips, releases, labels):
            for what, found in part():
                first = next(iter(found.values()))
                for name, value in found.items():
                    writer.writerow([what, name, f"{value:.1f}", f"{value / first:.3f}"])
                    print(f"{what:<20} {name:<28} {value:9.1f} ns  {value / first:6.3f}")
                file.flush()
        for name, value in noise_told_by_time().items():
            writer.writerow(["correlation of |noise| and time", name, "", f"{value:.3f}"])
            print(f"correlation of |noise| and time, {name}: {value:.3f}")
