"""Does gv.compare find differences, and only real ones? python benchmarks/comparison.py [--reps 60] [--power 200]

Pairs of releases of Gaussian rows with public bounds, δ = 1e-6. First both groups have one distribution, so that every
selected difference is false. Then the second group has one more edge, as strong as `smallest_difference` promises to be
detected by a single test four times out of five. Counted are single tests at 5% and families of tests at a false
discovery rate of 10%, with their standard errors. Results: benchmarks/results/comparison.csv
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "comparison.csv"
FIELDS = ["graph", "p", "n", "epsilon", "kind", "tests at 5%", "families with a false discovery", "covered", "power"]
CELLS = [("small world", 8, 4000, 1.0), ("small world", 20, 10_000, 1.0), ("band", 10, 20_000, 0.5)]
KINDS = ("partial correlation", "mean", "standard deviation", "coefficient")


def precision(graph, p):
    if graph == "band":
        return gv.simulate.band_precision(p)
    return gv.simulate.small_world_precision(p, 4, random_state=0)


def released(theta, n, epsilon, seed):
    rows = gv.simulate.gaussian_rows(theta, n, random_state=seed)
    domain, budget = gv.Domain(bounds=(-20, 20)), gv.Budget(epsilon, 1e-6)
    return gv.release(rows, domain=domain, budget=budget, random_state=seed)


def compare(theta, other, n, epsilon, seed):
    pair = released(theta, n, epsilon, 2 * seed), released(other, n, epsilon, 2 * seed + 1)
    return gv.compare(*pair, outcome=0)  # the regression of the first column on all others


def with_one_more_edge(theta, strength):
    """The first two columns without an edge get one, and all variances of errors stay: diagonal as before."""
    i, j = np.argwhere(np.triu(theta == 0.0, 1))[0]
    other = theta.copy()
    other[i, j] = other[j, i] = -strength * np.sqrt(theta[i, i] * theta[j, j])
    return other, (i, j)


def share(hits):
    hits = np.asarray(hits, dtype=float)
    return f"{hits.mean():.3f} ± {hits.std() / np.sqrt(hits.size):.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=60)
    parser.add_argument("--power", type=int, default=200, help="pairs with a difference")
    options = parser.parse_args()
    reps = options.reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    table = []
    for graph, p, n, epsilon in CELLS:
        theta = precision(graph, p)
        found = [compare(theta, theta, n, epsilon, seed) for seed in range(reps)]
        found = [one for one in found if one.reason is None]
        smallest = float(np.median([one.smallest_difference for one in found]))
        other, pair = with_one_more_edge(theta, smallest)
        place = list(zip(*np.triu_indices(p, 1), strict=True)).index(pair)
        again = [compare(theta, other, n, epsilon, 1000 + seed) for seed in range(options.power)]
        power = share([one.partial_correlations.p_value[place] < 0.05 for one in again if one.reason is None])
        for kind in KINDS:
            parts = [next(part for part in one.kinds if part.what == kind) for one in found]
            parts = [part for part in parts if not np.isnan(part.p_value).any()]
            if not parts:
                continue
            tests = share([np.mean(part.p_value < 0.05) for part in parts])
            families = share([(part.q_value <= 0.1).any() for part in parts])
            covered = share([np.mean((part.lower <= 0) & (part.upper >= 0)) for part in parts])
            row = [graph, p, n, epsilon, kind, tests, families, covered, power if kind == KINDS[0] else ""]
            table.append(row)
            print(*row, sep=" | ", flush=True)
        print(f"{len(found)} of {reps} comparisons; smallest difference {smallest:.3f}", flush=True)
        with RESULTS.open("w", newline="") as file:  # whatever is measured by now
            csv.writer(file).writerows([FIELDS, *table])


if __name__ == "__main__":
    main()
