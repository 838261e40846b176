"""People with several rows: each counted once, beside one row of each, and beside a promise of how many rows there are.

python benchmarks/people.py [--repeats 20]

Visits of 6,000 people, 1 to 30 each, 8 columns, at ε = 1 and δ = 1e-6. Within a person rows correlate by 0, 0.5 or 0.9.
The truth is the precision matrix that made the rows; for averages it is that of averages.

python benchmarks/people.py --survey releases the bundled survey, where people have one to five years, and compares with
what the same estimate would be without noise; --secrecy compares a public number of people with a secret one.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv

RESULTS = Path(__file__).parent / "results"
BUDGET, BOUNDS, N_PEOPLE, P, MOST = gv.Budget(1.0, 1e-6), (-6.0, 6.0), 6000, 8, 30


def random_covariance(rng):
    """Of columns of variance 1, most of which have a few neighbours."""
    covariance = np.linalg.inv(gv.simulate.small_world_precision(P, random_state=int(rng.integers(2**31))))
    scale = np.sqrt(np.diag(covariance))
    return covariance / np.outer(scale, scale)


def visits(rng, correlation):
    """Rows, whose they are, and the covariances of rows and of people's averages."""
    covariance = random_covariance(rng)
    half = np.linalg.cholesky(covariance)
    # Mostly few visits, as in a clinic: 6.5 on average.
    counts = np.minimum(rng.geometric(0.15, N_PEOPLE), MOST)
    ids = np.repeat(np.arange(N_PEOPLE), counts)
    own, each = (rng.standard_normal((n, P)) @ half.T for n in (N_PEOPLE, len(ids)))
    rows = np.sqrt(correlation) * own[ids] + np.sqrt(1.0 - correlation) * each
    shrunk = correlation + (1.0 - correlation) * np.mean(1.0 / counts)
    order = rng.permutation(len(ids))
    return rows[order], ids[order], covariance, shrunk * covariance


def error_and_cover(release, covariance):
    """Relative error of the precision matrix, and how many of the 95% intervals of pairs hold the truth."""
    precision = np.linalg.inv(covariance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gv.PrivateGraphicalLasso(BUDGET.epsilon, BUDGET.delta).fit_release(release)
        found = gv.recover(release)
        intervals = model.edge_intervals()
    scale = np.sqrt(np.diag(precision))
    partial = -precision / np.outer(scale, scale)
    upper = np.triu_indices(P, 1)
    held = ((intervals.lower <= partial) & (partial <= intervals.upper))[upper] if intervals.reason is None else []
    return gv.metrics.relative_loss(found.precision, precision), found.n_eff, np.mean(held) if len(held) else np.nan


def ways(rows, ids, seed):
    """Releases of the same visits, by name, and whether the truth is that of averages."""
    _, first = np.unique(ids, return_index=True)
    options = {"budget": BUDGET, "random_state": seed}
    total = gv.Domain(bounds=BOUNDS, person="id")
    between = gv.Domain(bounds=BOUNDS, person="id", variation="between")
    yield "total", gv.release(rows, person=ids, domain=total, **options), False
    yield "between", gv.release(rows, person=ids, domain=between, **options), True
    yield "one row per person", gv.release(rows[first], domain=gv.Domain(bounds=BOUNDS), **options), False
    promise = gv.Domain(bounds=BOUNDS, rows_per_person=MOST)
    yield f"rows_per_person={MOST}", gv.release(rows, domain=promise, **options), False


def simulations(repeats):
    """A line for each correlation and way."""
    for correlation in (0.0, 0.5, 0.9):
        found = {}
        for seed in range(repeats):
            rows, ids, of_rows, of_averages = visits(np.random.default_rng(seed), correlation)
            for name, release, averages in ways(rows, ids, seed):
                found.setdefault(name, []).append(error_and_cover(release, of_averages if averages else of_rows))
        for name, values in found.items():
            error, n_eff, cover = np.array(values).T
            yield [correlation, name, np.median(error), error.max(), np.median(n_eff), np.nanmean(cover), repeats]


def survey(repeats):
    """A line for each way of releasing the bundled survey."""
    data = gv.datasets.health_insurance()
    lower, upper = np.array([data.bounds[column] for column in data.columns]).T
    rows = np.clip(data.rows, lower, upper)
    promise = gv.Domain(bounds=data.bounds, rows_per_person=data.rows_per_person)
    by_person = 1.0 / np.bincount(data.people)[data.people]
    for name, domain, person, weights in (
        ("by person", gv.Domain(bounds=data.bounds), data.people, by_person),
        (f"rows_per_person={data.rows_per_person}", promise, None, np.ones(len(rows))),
    ):
        truth = np.linalg.inv(np.cov(rows.T, aweights=weights, bias=True))
        error, n_eff = [], []
        for seed in range(repeats):
            release = gv.release(data.rows, person=person, domain=domain, budget=BUDGET, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = gv.recover(release)
            error.append(gv.metrics.relative_loss(found.precision, truth))
            n_eff.append(found.n_eff)
        yield ["", name, np.median(error), np.max(error), np.median(n_eff), np.nan, repeats]


def secrecy(repeats):
    """A line for each number of people, one row each, where it is public and where it is secret."""
    for n in (5000, 20_000):
        for neighbours in ("replace", "add-remove"):
            found = []
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                covariance = random_covariance(rng)
                rows = rng.standard_normal((n, P)) @ np.linalg.cholesky(covariance).T + rng.uniform(-2.0, 2.0, P)
                domain = gv.Domain(bounds=BOUNDS, neighbours=neighbours)
                release = gv.release(rows, domain=domain, budget=BUDGET, random_state=seed)
                found.append(error_and_cover(release, covariance))
            error, n_eff, cover = np.array(found).T
            yield [n, neighbours, np.median(error), error.max(), np.median(n_eff), np.nanmean(cover), repeats]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--survey", action="store_true")
    parser.add_argument("--secrecy", action="store_true")
    arguments = parser.parse_args()
    table, lines, name = [], simulations, "people.csv"
    if arguments.survey:
        lines, name = survey, "people_survey.csv"
    if arguments.secrecy:
        lines, name = secrecy, "people_secrecy.csv"
    for line in lines(arguments.repeats):
        table.append(line)
        shown = "error {:.4f} (worst {:.4f}) n_eff {:6.0f} cover {:.3f}".format(*line[2:6])
        print(f"{line[0]:4} {line[1]:22} {shown}", flush=True)
    with (RESULTS / name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["correlation", "way", "error", "worst", "n_eff", "cover", "repeats"])
        writer.writerows([*line[:2], *(f"{value:.4g}" for value in line[2:-1]), line[-1]] for line in table)


if __name__ == "__main__":
    main()
