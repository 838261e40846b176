"""What gaps cost: python benchmarks/missing_values.py [--reps 40]

Gaussian rows of 10 columns (the third model of the paper, as correlations), n = 20,000, ε = 1, δ = 1e-6. Values of the
first five columns are missing at random, each alone or all together, and are declared or not. Every cell uses the same
seeds, so that rows and noise are alike. Per release: the largest error of a partial correlation, of a variance (as a
share of it) and of a mean (in standard deviations), and how many intervals at 95% cover. In the table: medians, worst
ones, and the root mean square of all errors of partial correlations against that without gaps or declaration.
Results: benchmarks/results/missing_values.csv
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.protocol.parameters import PROTOCOL

RESULTS = Path(__file__).parent / "results" / "missing_values.csv"
P, N, GAPS = 10, 20_000, 5
BUDGET = gv.Budget(1.0, 1e-6)
PAIRS = np.triu_indices(P, 1)
MEAN = np.linspace(-1, 1, P)
CELLS = [  # share missing, declared, together
    (0.0, False, False),
    (0.0, True, False),
    (0.1, True, False),
    (0.4, True, False),
    (0.4, True, True),
    (0.4, False, False),
]
FIELDS = ["missing", "declared", "together", "reps", "protocol", "partial correlation", "worst", "ratio", "variance",
          "worst variance", "mean", "worst mean", "covered"]  # fmt: skip


def correlations():
    covariance = np.linalg.inv(gv.simulate.paper_model(3, p=P))
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


def gappy_rows(correlation, share, seed, *, together):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((N, P)) @ np.linalg.cholesky(correlation).T + MEAN
    gone = generator.random((N, 1 if together else GAPS)) < share
    rows[:, :GAPS][np.broadcast_to(gone, (N, GAPS))] = np.nan
    return rows


def measure(correlation, share, seed, *, declared, together):
    """Largest errors of partial correlations, variances and means, intervals that cover, and a mean squared error."""
    kind = gv.Number(-6, 6, missing=True) if declared else (-6, 6)
    domain = gv.Domain({f"x{i}": kind if i < GAPS else (-6, 6) for i in range(P)})
    rows = gappy_rows(correlation, share, seed, together=together)
    made = gv.release(rows, domain=domain, budget=BUDGET, random_state=seed)
    intervals = gv.PrivateGraphicalLasso(BUDGET.epsilon, BUDGET.delta).fit_release(made).edge_intervals()
    estimate, truth = gv.recover(made), gv.metrics.partial_correlations(np.linalg.inv(correlation))
    errors = np.abs(estimate.partial_correlations - truth)[PAIRS]
    variance = np.abs(np.diag(estimate.covariance) - 1.0).max()
    mean = np.abs(estimate.location - MEAN).max()
    covered = ((intervals.lower <= truth) & (truth <= intervals.upper))[PAIRS].mean()
    return errors.max(), variance, mean, covered, np.mean(errors**2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=40)
    reps = parser.parse_args().reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    correlation, table, first = correlations(), [], None
    for share, declared, together in CELLS:
        found = np.array(
            [measure(correlation, share, seed, declared=declared, together=together) for seed in range(reps)]
        )
        error, variance, mean, covered, square = found.T
        first = square if first is None else first
        ratio = np.sqrt(square.mean() / first.mean())
        figures = [np.median(error), error.max(), ratio, np.median(variance), variance.max(),
                   np.median(mean), mean.max(), covered.mean()]  # fmt: skip
        row = [share, declared, together, reps, PROTOCOL.version, *(f"{figure:.4f}" for figure in figures)]
        table.append(row)
        print(*row, sep=" | ", flush=True)
        with RESULTS.open("w", newline="") as file:
            csv.writer(file).writerows([FIELDS, *table])


if __name__ == "__main__":
    main()
