"""How good are the estimates? Ours and the paper's on the same draws, at the same (ε, δ).

    python benchmarks/utility.py [--reps 20] [--quick]

Four parts, each a table on the screen and rows of benchmarks/results/utility.csv:

* `paper`: the paper's models at its settings and larger n; a public norm bound of 1.25 √tr Σ, rows centred, δ = 1/n.
  The paper's ridge beside it as printed: rows divided by the largest norm (which leaks it), classical noise, the
  penalty chosen by five-fold cross-validation on the raw rows (which leaks too).
* `graphs`: other graphs, sizes, means and unequal variances, public bounds, the mean not known, δ = 1e-6.
* `bounds`: what bounds cost that are too wide.
* `real`: survey data of statsmodels, against the non-private estimate of the same clamped rows (needs statsmodels;
  bounds are the 0.5 and 99.5 percentiles, a stand-in for a codebook).

Error is ‖Θ̂ − Θ‖_F/‖Θ‖_F: answering zero scores 1. Noise is seeded: these are simulations.
"""

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "utility.csv"
PAPER_CELLS = [  # model, n, ε, goal
    (1, 100, 0.1, 0.18),
    (3, 400, 2.0, 0.72),
    (4, 10_000, 1.0, 0.30),
    (3, 10_000, 2.0, 0.23),
    (2, 100_000, 1.0, 0.02),
    (3, 100_000, 1.0, 0.046),
    (4, 100_000, 1.0, 0.051),
]


def ours(rows, domain, budget, seed, augment=None, rounds="auto"):
    return gv.recover(gv.release(rows, domain=domain, budget=budget, augment=augment, rounds=rounds, random_state=seed))


def papers_ridge(rows, budget, seed):
    """Algorithm 1 as the paper runs it."""
    longest = np.sqrt((rows**2).sum(axis=1).max())
    noisy = gv.release(
        rows / longest,
        domain=gv.Domain(data_norm=1.0),
        budget=budget,
        mechanism="paper",
        allow_unproven=True,
        random_state=seed,
    ).second_moment
    return gv.ridge_precision(noisy, papers_penalty(rows / longest)) / longest**2


def papers_penalty(rows, folds=5):
    """Least negative log-likelihood on held-out rows, over a grid."""
    grid = np.geomspace(1e-9, 1e-1, 17)
    losses = np.zeros(grid.size)
    parts = np.array_split(np.random.default_rng(0).permutation(len(rows)), folds)
    for held_out in parts:
        kept = np.delete(rows, held_out, axis=0)
        test = rows[held_out].T @ rows[held_out] / len(held_out)
        for i, theta in enumerate(gv.ridge_precision(kept.T @ kept / len(kept), grid)):
            losses[i] += gv.metrics.negative_log_likelihood(theta, test)
    return float(grid[np.argmin(losses)])


def error(estimate, truth):
    return gv.metrics.relative_loss(estimate, truth)


def paper_part(reps):
    for model, n, epsilon, goal in PAPER_CELLS:
        mine, theirs = [], []
        for rep in range(reps):
            theta = gv.simulate.paper_model(model, 100, random_state=rep)
            rows = gv.simulate.gaussian_rows(theta, n, random_state=10_000 + rep)
            budget = gv.Budget(epsilon, 1 / n)
            domain = gv.Domain(data_norm=1.25 * np.sqrt(np.trace(np.linalg.inv(theta))))
            mine.append(error(ours(rows, domain, budget, rep).precision, theta))
            if rep < 5:
                theirs.append(error(papers_ridge(rows, budget, rep), theta))
        yield f"model {model}, p = 100, n = {n:,}, ε = {epsilon:g}", mine, theirs, goal


def families(p, seed):
    return {
        "hub": gv.simulate.hub_precision(p, max(1, p // 20), random_state=seed),
        "scale-free": gv.simulate.scale_free_precision(p, random_state=seed),
        "small world": gv.simulate.small_world_precision(p, random_state=seed),
        "blocks": gv.simulate.block_precision(p, block_size=min(10, p), random_state=seed),
    }


def graphs_part(reps):
    budget = gv.Budget(1.0, 1e-6)
    for p, n in ((5, 2000), (20, 10_000), (50, 20_000), (200, 100_000)):
        for name in families(5, 0):
            losses = []
            for rep in range(reps if p < 200 else max(3, reps // 5)):
                theta = families(p, rep)[name]
                rng = np.random.default_rng(rep)
                decades = 10.0 ** rng.uniform(-2, 2, size=p)  # standard deviations over four decades
                rows = gv.simulate.gaussian_rows(theta, n, random_state=20_000 + rep)
                rows = (rows + rng.normal(size=p)) * decades
                spread = np.sqrt(np.diag(np.linalg.inv(theta)))
                bounds = (-(4 * spread + 3) * decades, (4 * spread + 3) * decades)
                found = ours(rows, gv.Domain(bounds=bounds), budget, rep, augment="mean")
                losses.append(error(found.precision * np.outer(decades, decades), theta))
            yield f"{name}, p = {p}, n = {n:,}, ε = 1, four decades", losses, [], 1.0


def bounds_part(reps):
    budget, theta = gv.Budget(1.0, 1e-6), gv.simulate.paper_model(4, 20, random_state=0)
    size = np.sqrt(np.trace(np.linalg.inv(theta)))
    for factor in (1.25, 3 * 1.25, 20 * 1.25):
        losses = []
        for rep in range(reps):
            rows = gv.simulate.gaussian_rows(theta, 20_000, random_state=30_000 + rep)
            losses.append(error(ours(rows, gv.Domain(data_norm=factor * size), budget, rep).precision, theta))
        yield f"norm bound {factor:g} √tr Σ, p = 20, n = 20,000", losses, [], 1.0
    for factor in (1, 3, 30):
        losses = []
        for rep in range(reps):
            rows = gv.simulate.gaussian_rows(theta, 20_000, random_state=30_000 + rep)
            bound = 4 * factor * np.sqrt(np.diag(np.linalg.inv(theta)))
            found = ours(rows, gv.Domain(bounds=(-bound, bound)), budget, rep, augment="mean")
            losses.append(error(found.precision, theta))
        yield f"column bounds {factor} x 4 sd, p = 20, n = 20,000", losses, [], 1.0


def real_part(reps):
    try:
        from statsmodels import datasets
    except ImportError:
        print("real: left out, statsmodels is not installed")
        return
    for name, goal in (("randhie", 0.07), ("fair", 0.10)):
        data = getattr(datasets, name).load_pandas().data.to_numpy(float)
        low, high = np.percentile(data, [0.5, 99.5], axis=0)
        rows = np.clip(data, low, high)
        reference = np.linalg.inv(np.cov(rows.T))
        partial = gv.metrics.partial_correlations(reference)
        losses, worst = [], []
        for rep in range(reps):
            found = ours(rows, gv.Domain(bounds=(low, high)), gv.Budget(1.0, 1e-6), rep, augment="mean").precision
            losses.append(error(found, reference))
            worst.append(np.abs(gv.metrics.partial_correlations(found) - partial).max())
        n, p = rows.shape
        yield f"{name}, {n:,} x {p}, ε = 1: precision", losses, [], goal
        yield f"{name}, {n:,} x {p}, ε = 1: largest error of a partial correlation", worst, [], 0.07


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="three replications")
    options = parser.parse_args()
    reps = 3 if options.quick else options.reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)  # δ = 1/n is the paper's choice
    rows = []
    for part in (paper_part, graphs_part, bounds_part, real_part):
        for what, mine, theirs, goal in part(reps):
            median, worst = float(np.median(mine)), max(mine)
            beside = float(np.median(theirs)) if theirs else float("nan")
            rows.append([what, len(mine), median, worst, beside, goal])
            tail = f"   the paper's {beside:.3g}" if theirs else ""
            print(f"{what:<68}{median:>8.3f} worst {worst:.3f}   goal {goal:g}{tail}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["what", "replications", "median", "worst", "papers_median", "goal"])
        writer.writerows([[r[0], r[1], *(f"{value:.4g}" for value in r[2:])] for r in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
