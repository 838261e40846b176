"""Ours beside other private covariances: the same rows, the same guarantee, the error of the precision matrix.

python benchmarks/rivals.py [--repeats 5]

Rows have mean zero, and all methods know it; columns have public bounds of five standard deviations. Error is
‖Θ̂ − Θ‖_F/‖Θ‖_F in units in which the bounds are 1: answering zero scores 1. The number of rounds of the entrywise
method is the best of three, chosen with the truth in hand.
"""

import argparse
import csv
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from peers import covariances

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "rivals.csv"
MODELS = {
    "small world": lambda p, seed: gv.simulate.small_world_precision(p, random_state=seed),
    "band": lambda p, seed: gv.simulate.paper_model(3, p=p),
}
GRID = [*product((5, 20, 50), (500, 5_000, 50_000), (0.3, 1.0, 4.0))]
DELTA = 1e-6


def ours(rows, budget, seed):
    domain = gv.Domain(bounds=(-1.0, 1.0))
    made = gv.release(rows, domain=domain, budget=budget, assume_centered=True, random_state=seed)
    return gv.recover(made).precision


def methods(rows, budget, truth, seed):
    """Names and errors of all methods on the same rows."""
    p, mu = rows.shape[1], budget.mu
    yield "graphveil", gv.metrics.relative_loss(ours(rows, budget, seed), truth)
    for name in ("gaussian", "separate", "coinpress"):
        found = getattr(covariances, name)(rows, mu, np.random.default_rng(seed))
        yield name, gv.metrics.relative_loss(found, truth)
    rounds = sorted({max(p // 2, 2), 2 * p, min(5 * p, p * (p - 1) // 2)})
    tried = [covariances.entrywise(rows, mu, np.random.default_rng(seed), k) for k in rounds]
    yield "entrywise", min(gv.metrics.relative_loss(found, truth) for found in tried)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "p", "n", "epsilon", "method", "median", "worst", "repeats"])
        for model, (p, n, epsilon) in product(MODELS, GRID):
            found = {}
            for seed in range(repeats):
                precision = MODELS[model](p, seed)
                unit = 5.0 * np.sqrt(np.linalg.inv(precision).diagonal())
                rows = np.clip(gv.simulate.gaussian_rows(precision, n, random_state=seed) / unit, -1.0, 1.0)
                truth = precision * np.outer(unit, unit)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for name, error in methods(rows, gv.Budget(epsilon, DELTA), truth, seed):
                        found.setdefault(name, []).append(error)
            for name, errors in found.items():
                numbers = [f"{np.median(errors):.4g}", f"{np.max(errors):.4g}"]
                writer.writerow([model, p, n, epsilon, name, *numbers, repeats])
            file.flush()
            print(model, p, n, epsilon, {name: round(float(np.median(e)), 3) for name, e in found.items()}, flush=True)


if __name__ == "__main__":
    main()
