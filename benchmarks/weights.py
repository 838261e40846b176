"""Survey weights: errors against the weighted estimate without privacy, and how often intervals cover the population.

    python benchmarks/weights.py [--releases 40] [--cases independent,strata] [-o benchmarks/results/weights.csv]

20,000 records of 8 columns with bounds at ±5, δ = 1e-6; every release has a small-world network of its own.

    independent  lognormal weights, cut at 4, unrelated to the rows: Kish's number is 0.72 of the records
    strata       three strata of other means, one of them with weaker correlations; two were sampled 3 and 10 times too
                 often, and weights undo it
    population   records of the same strata, sampled in proportion, without weights
    gaps         independent, with a fifth of the values of two columns missing
    visits       independent, 1 to 9 rows a person of 20,000, and a weight for each person
    plain        independent, without weights
    equal        weights that are all the largest, against no weights at all

Seeded: what is printed is the same on every machine, but for rounding.
"""

import argparse
import csv
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.recovery.analysis import Analysis

P, N, DELTA = 8, 20_000, 1e-6
NAMES = [f"x{k}" for k in range(P)]
SHARES, OFTEN = np.array([0.6, 0.3, 0.1]), np.array([1.0, 3.0, 10.0])  # of the strata, and how often they were sampled
LARGEST = {"independent": 4.0, "strata": 10.0, "gaps": 4.0, "visits": 4.0}
COVERED = ("edges", "correlations", "means", "variances", "coefficients")


def random_correlation(rng):
    covariance = np.linalg.inv(gv.simulate.small_world_precision(P, random_state=int(rng.integers(2**31))))
    scale = np.sqrt(np.diag(covariance))
    return covariance / np.outer(scale, scale)


def draw(case, rng):
    """Rows, weights, whose they are (or None), and the mean and covariance of the population."""
    truth = random_correlation(rng)
    if case in ("strata", "population"):
        return draw_strata(rng, truth, OFTEN if case == "strata" else np.ones(3))
    weights = np.minimum(np.exp(0.7 * rng.standard_normal(N)), 4.0)
    rows, ids = rng.standard_normal((N, P)) @ np.linalg.cholesky(truth).T, None
    if case == "visits":
        ids = np.repeat(np.arange(N), rng.integers(1, 10, N))
        each = rng.standard_normal((len(ids), P)) @ np.linalg.cholesky(truth).T
        rows, weights = np.sqrt(0.5) * (rows[ids] + each), weights[ids]
    if case == "gaps":
        rows[:, :2][rng.random((N, 2)) < 0.2] = np.nan
    return rows, weights, ids, np.zeros(P), truth


def draw_strata(rng, truth, often):
    shift = np.linspace(-0.5, 0.5, P)
    means = np.stack([-0.3 * shift, 0.2 * shift, shift])
    covariances = [truth, truth, 0.5 * truth + 0.5 * np.eye(P)]
    which = rng.choice(3, size=N, p=SHARES * often / (SHARES @ often))
    rows = np.empty((N, P))
    for s in range(3):
        own = which == s
        rows[own] = means[s] + rng.standard_normal((own.sum(), P)) @ np.linalg.cholesky(covariances[s]).T
    mean = SHARES @ means
    parts = zip(SHARES, covariances, means, strict=True)
    return rows, (10.0 / often)[which], None, mean, sum(q * (c + np.outer(m - mean, m - mean)) for q, c, m in parts)


def estimate_without_privacy(rows, weights, ids):
    """The weighted covariance that a statistician computes: of pairs that are there, a person's weight shared out."""
    if ids is not None:
        weights = weights / np.bincount(ids)[ids]
    there = ~np.isnan(rows)
    filled = np.where(there, rows - np.nansum(weights[:, None] * rows, axis=0) / (weights @ there), 0.0)
    return (filled * weights[:, None]).T @ filled / ((there * weights[:, None]).T @ there.astype(float))


def partial(covariance):
    precision = np.linalg.inv(covariance)
    scale = np.sqrt(np.diag(precision))
    return -precision / np.outer(scale, scale)


def make_release(case, rows, weights, ids, epsilon, seed):
    missing, largest = case == "gaps", LARGEST.get(case)
    columns = {name: gv.Number(-5, 5, missing=missing and k < 2) for k, name in enumerate(NAMES)}
    domain = gv.Domain(columns, weight=None if largest is None else gv.Weight("w", largest=largest))
    weights = None if largest is None else weights
    return gv.release(
        rows, domain=domain, budget=gv.Budget(epsilon, DELTA), weight=weights, person=ids, random_state=seed
    )


def judge(case, epsilon, seed):
    rows, weights, ids, mean, covariance = draw(case, np.random.default_rng(seed))
    weights = weights if case in LARGEST else np.ones(N)
    made = make_release(case, rows, weights, ids, epsilon, seed)
    found = gv.recover(made)
    i, j = np.triu_indices(P, 1)
    edges, pairs = Analysis(made, found).find_intervals(0.95), found.correlation_intervals(0.95)
    known, scale = partial(covariance)[i, j], np.sqrt(np.diag(covariance))
    r = (covariance / np.outer(scale, scale))[i, j]
    near = estimate_without_privacy(rows, weights, ids)
    table = gv.regression(made, outcome="x0", on=NAMES[1:])
    beta = np.linalg.solve(covariance[1:, 1:], covariance[0, 1:])
    one = weights if ids is None else weights[np.unique(ids, return_index=True)[1]]
    total = N if made.total_weight is None else made.total_weight
    return {
        "n_eff": made.n_eff,
        "kish": made.n_kish / (one.sum() ** 2 / (one**2).sum()),
        "total": total / one.sum(),
        "partial error": np.abs(edges.estimate[i, j] - partial(near)[i, j]).max(),
        "sd error": np.abs(np.sqrt(np.diag(found.covariance) / np.diag(near)) - 1.0).max(),
        "edges": np.mean((edges.lower[i, j] <= known) & (known <= edges.upper[i, j])),
        "correlations": np.mean((pairs.lower[i, j] <= r) & (r <= pairs.upper[i, j])),
        "means": np.mean(np.abs(found.location - mean) <= 1.96 * found.location_sd),
        "variances": np.mean(np.abs(np.diag(found.covariance) - np.diag(covariance)) <= 1.96 * found.variance_sd),
        "coefficients": np.mean((table.lower <= beta) & (beta <= table.upper)),
    }


def compare_equal(epsilon, seed):
    """Root mean squared errors of partial correlations with weights that are all the largest, and without any."""
    rows, *_ = draw("plain", np.random.default_rng(seed))
    near, errors = partial(np.cov(rows.T)), []
    for case in ("independent", "plain"):
        made = make_release(case, rows, np.full(N, LARGEST["independent"]), None, epsilon, seed)
        errors.append(np.sqrt(np.mean((partial(gv.recover(made).covariance) - near)[np.triu_indices(P, 1)] ** 2)))
    return {"weighted": errors[0], "without": errors[1]}


def measure(cases, releases, out):
    """All numbers, written as they come."""
    writer = csv.writer(out)
    writer.writerow(["case", "epsilon", "releases", "number", "mean", "worst"])
    for case in cases:
        for epsilon in (0.5, 1.0, 8.0):
            found = [
                compare_equal(epsilon, seed) if case == "equal" else judge(case, epsilon, seed)
                for seed in range(releases)
            ]
            for name in found[0]:
                values = np.array([each[name] for each in found])
                worst = values.min() if name in COVERED else values.max()
                writer.writerow([case, epsilon, releases, name, f"{values.mean():.4g}", f"{worst:.4g}"])
            out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=40)
    parser.add_argument("--cases", default=",".join([*LARGEST, "plain", "population", "equal"]))
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with Path(options.output).open("w", newline="") if options.output else nullcontext(sys.stdout) as out:
        measure(options.cases.split(","), options.releases, out)


if __name__ == "__main__":
    main()
