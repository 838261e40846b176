"""Ranks or values: python benchmarks/rank_scale.py [--reps 20]

A latent Gaussian network of 10 columns (the third model of the paper), of which each column is seen through a rising
function: itself, its exponential (lognormal), or steps (answers on a scale of 5 or 7 levels, evenly or unevenly used).
Error and coverage are those of the latent partial correlations, with the column as it is and with scale="rank";
lognormal columns also with scale="log", which is right there and needs to be known. δ = 1e-6, the same seeds in every
cell. Per release: the largest error, the root mean square of all, and the share of intervals at 95% that cover.
Results: benchmarks/results/rank_scale.csv
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.protocol.parameters import PROTOCOL

RESULTS = Path(__file__).parent / "results" / "rank_scale.csv"
FIELDS = ["columns", "n", "epsilon", "scale", "reps", "protocol", "largest error", "worst", "rms error", "covered"]
P = 10
PAIRS = np.triu_indices(P, 1)
CUTS = {
    "5 levels, even": [-1.2, -0.4, 0.4, 1.2],
    "5 levels, uneven": [-0.5, 0.4, 1.1, 1.8],
    "7 levels, even": [-1.5, -0.9, -0.3, 0.3, 0.9, 1.5],
    "7 levels, uneven": [-1.5, -0.5, 0.2, 0.8, 1.4, 2.0],
}
CELLS = [(20_000, 1.0), (5000, 1.0), (5000, 3.0)]


def correlations():
    covariance = np.linalg.inv(gv.simulate.paper_model(3, p=P))
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


def kinds_of(columns):
    """How a column can be declared, by the name of its scale."""
    if columns == "Gaussian":
        return {"linear": gv.Number(-6, 6), "rank": gv.Number(-6, 6, scale="rank")}
    if columns == "lognormal":
        return {scale: gv.Number(1e-3, 1e3, scale=scale) for scale in ("linear", "log", "rank")}
    levels = range(len(CUTS[columns]) + 1)
    return {scale: gv.Ordinal(levels, scale=scale) for scale in ("scores", "rank")}


def seen(columns, latent):
    if columns == "Gaussian":
        return latent
    return np.exp(latent) if columns == "lognormal" else np.digitize(latent, CUTS[columns]).astype(float)


def measure(columns, kind, n, epsilon, seed):
    """Largest and root mean squared error of a partial correlation, and the share of intervals that cover."""
    correlation = correlations()
    latent = np.random.default_rng(seed).standard_normal((n, P)) @ np.linalg.cholesky(correlation).T
    domain, budget = gv.Domain({f"x{i}": kind for i in range(P)}), gv.Budget(epsilon, 1e-6)
    made = gv.release(seen(columns, latent), domain=domain, budget=budget, random_state=seed)
    truth = gv.metrics.partial_correlations(np.linalg.inv(correlation))
    error = np.abs(gv.recover(made).partial_correlations - truth)[PAIRS]
    intervals = gv.PrivateGraphicalLasso(epsilon, 1e-6).fit_release(made).edge_intervals()
    covered = ((intervals.lower <= truth) & (truth <= intervals.upper))[PAIRS].mean()
    return error.max(), np.sqrt(np.mean(error**2)), covered


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=20)
    reps = parser.parse_args().reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    table = []
    for columns in ("lognormal", *CUTS, "Gaussian"):
        for (n, epsilon), (scale, kind) in ((cell, pair) for cell in CELLS for pair in kinds_of(columns).items()):
            largest, error, covered = np.array([measure(columns, kind, n, epsilon, seed) for seed in range(reps)]).T
            figures = np.median(largest), largest.max(), np.sqrt(np.mean(error**2)), covered.mean()
            row = [columns, n, epsilon, scale, reps, PROTOCOL.version, *(f"{figure:.4f}" for figure in figures)]
            table.append(row)
            print(*row, sep=" | ", flush=True)
            with RESULTS.open("w", newline="") as file:
                csv.writer(file).writerows([FIELDS, *table])


if __name__ == "__main__":
    main()
