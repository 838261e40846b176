"""Do intervals of partial correlations cover, and are chosen edges real? python benchmarks/intervals.py [--reps 60]

Nominal 95% and a false discovery rate of 10%, ε = 1 (3 in one setting), δ = 1e-6, the mean not known. Gaussian rows
with a public norm that hardly any exceeds (the paper's models) or public bounds (other graphs); and real surveys, whose
rows are resampled, so that their own covariance is the truth. Results: benchmarks/results/intervals.csv
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import surveys

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "intervals.csv"
FIELDS = ["rows", "n", "p", "epsilon", "n_eff", "given", "covered", "covered_edges", "false_discoveries", "power"]
GRAPHS = {
    "model 3": lambda p, seed: gv.simulate.paper_model(3, p, random_state=seed),
    "model 4": lambda p, seed: gv.simulate.paper_model(4, p, random_state=seed),
    "hub": lambda p, seed: gv.simulate.hub_precision(p, max(1, p // 20), random_state=seed),
    "scale-free": lambda p, seed: gv.simulate.scale_free_precision(p, random_state=seed),
    "small world": lambda p, seed: gv.simulate.small_world_precision(p, random_state=seed),
    "blocks": lambda p, seed: gv.simulate.block_precision(p, block_size=10, random_state=seed),
    "band": lambda p, seed: gv.simulate.band_precision(p),
}
CELLS = [
    ("model 3", 20, 2000, 1.0),
    ("model 4", 20, 2000, 1.0),
    ("model 4", 10, 5000, 1.0),
    ("model 3", 100, 10_000, 1.0),
    ("model 4", 100, 10_000, 1.0),
    ("model 4", 100, 20_000, 1.0),
    ("hub", 20, 5000, 1.0),
    ("hub", 30, 3000, 3.0),
    ("scale-free", 50, 20_000, 1.0),
    ("small world", 50, 10_000, 1.0),
    ("blocks", 20, 5000, 1.0),
    ("band", 10, 1500, 1.0),
    ("band", 30, 4000, 1.0),
    ("scale-free", 30, 2500, 1.0),
]
SMALL, MORE = 10, 5  # up to so many columns there are few pairs to count, and they are counted so many times more often
SURVEYS = [("randhie", 20_000), ("fair", 6000), ("rwm5yr", 20_000), ("CPS1988", 20_000)]


def judged(rows, theta, epsilon, seed, **domain):
    """Effective records, whether there are intervals, pairs and edges that are covered, false discoveries, power."""
    model = gv.PrivateGraphicalLasso(epsilon, 1e-6, **domain, random_state=seed).fit(rows)
    found, upper = model.edge_intervals(), np.triu_indices(len(theta), 1)
    if found.reason is not None:  # none are given, and none can fail
        return model.n_eff_, *[np.nan] * 5
    truth = gv.metrics.partial_correlations(theta)[upper]
    inside, chosen, edges = (
        (found.lower[upper] <= truth) & (truth <= found.upper[upper]),
        found.select()[upper],
        truth != 0,
    )
    false = np.sum(chosen & ~edges) / max(chosen.sum(), 1)
    if not edges.any():
        return model.n_eff_, 1.0, inside.mean(), np.nan, false, np.nan
    return model.n_eff_, 1.0, inside.mean(), inside[edges].mean(), false, np.sum(chosen & edges) / edges.sum()


def simulated(kind, p, n, epsilon, seed):
    theta = GRAPHS[kind](p, seed)
    sigma = np.linalg.inv(theta)
    bound = 4.5 * np.sqrt(np.diag(sigma))
    domain = {"data_norm": 2.0 * np.sqrt(np.trace(sigma))} if kind.startswith("model") else {"bounds": (-bound, bound)}
    return judged(gv.simulate.gaussian_rows(theta, n, random_state=500 + seed), theta, epsilon, seed, **domain)


def resampled(rows, low, high, n, seed):
    picked = np.random.default_rng(seed).integers(0, len(rows), n)
    return judged(rows[picked], np.linalg.inv(np.cov(rows.T)), 1.0, seed, bounds=(low, high))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=60)
    reps = parser.parse_args().reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    table = []

    def add(name, n, p, epsilon, results):
        numbers = np.nanmean(results, axis=0)
        numbers[1] = np.isfinite(np.array(results)[:, 1]).mean()
        table.append([name, n, p, epsilon, *(f"{number:.4g}" for number in numbers)])
        print(
            f"{name:<12} n = {n:<7,} p = {p:<4} n_eff/p {numbers[0] / p:>7.1f}   given {numbers[1]:.2f}   "
            f"covered {numbers[2]:.3f}   edges {numbers[3]:.3f}   false {numbers[4]:.3f}   power {numbers[5]:.2f}",
            flush=True,
        )

    def seeds(p):
        return range(reps * MORE if p <= SMALL else reps)

    for kind, p, n, epsilon in CELLS:
        add(kind, n, p, epsilon, [simulated(kind, p, n, epsilon, seed) for seed in seeds(p)])
    for name, n in SURVEYS:
        loaded = surveys.load(name)
        if loaded is None:
            print(f"{name}: left out, its package is not installed")
            continue
        p = loaded[0].shape[1]
        add(name, n, p, 1.0, [resampled(*loaded, n, seed) for seed in seeds(p)])
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows([FIELDS, *table])


if __name__ == "__main__":
    main()
