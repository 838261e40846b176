"""Private least squares beside AdaSSP. python benchmarks/regression.py [--reps 10] [--data FOLDER]

Parts, each rows of benchmarks/results/regression.csv:

* `simulated`: three uniform columns, as in the article on BinAgg (n = 2,000, β = 1.5, -2, 0.5), with column bounds.
* `norm`: tables that published private regressions were compared on. As there, rows and outcome are divided by the
  largest in the table (which leaks it), there is no intercept, and δ = 1/n²; a norm is all that is public.
* `bounds`: the same tables with the least and largest value of every column as bounds (which leaks them).
* `wages`: log wages on education, experience, its square and sex (CPS ASEC 2024), with bounds from common knowledge.

Error is the mean squared error of predictions over that of least squares on the rows themselves, less 1: on the rows
that were fitted to, and on a tenth that was held out. AdaSSP gets ε for neighbours that add or remove a row, graphveil
for such that replace one, which is stricter. Tables are not part of this repository: FOLDER has elevators_train.txt.gz
and others, numbers with the outcome last, and cps_asec_2024_wages.csv.gz. Noise is seeded: these are simulations.
"""

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from adassp import adassp

RESULTS = Path(__file__).parent / "results" / "regression.csv"
FIELDS = ["part", "table", "n", "columns", "epsilon", "method", "replications", "excess", "held_out_excess"]
TABLES = ["elevators_train", "pol_train", "pumadyn32nm_train", "parkinsons", "bike_train"]
WAGES = {
    "educ_years": (0, 22),
    "experience": (0, 60),
    "experience_sq": (0, 3600),
    "female": (0, 1),
    "log_wage": (0, 15),
}
BIKE = ["season", "holiday", "workingday", "weather", "temp", "atemp", "humidity", "windspeed", "count"]
PARKINSONS = [*range(4), *range(6, 22), 5]  # the total score, not explained by the motor score


def load(folder, name):
    """Columns and the outcome, which is the last."""
    if name == "bike_train":
        import pandas as pd

        return pd.read_csv(folder / f"{name}.csv.gz")[BIKE].to_numpy(dtype=float)
    if name == "parkinsons":
        return np.loadtxt(folder / f"{name}.txt.gz")[:, PARKINSONS]
    return np.loadtxt(folder / f"{name}.txt.gz", delimiter=",")


def uncentred(release):
    """Coefficients without an intercept: from second moments about zero."""
    found = gv.recover(release)
    moment = found.covariance + np.outer(found.location, found.location)
    return np.linalg.solve(moment[:-1, :-1], moment[:-1, -1])


def with_norm(rows, epsilon, delta, seed):
    return uncentred(
        gv.release(rows, domain=gv.Domain(data_norm=np.sqrt(2.0)), budget=gv.Budget(epsilon, delta), random_state=seed)
    )


def with_bounds(rows, epsilon, delta, seed, low, high):
    domain = gv.Domain(bounds=(low, high))
    return uncentred(gv.release(rows, domain=domain, budget=gv.Budget(epsilon, delta), random_state=seed))


def peer(rows, epsilon, delta, seed):
    return adassp(rows[:, :-1], rows[:, -1], epsilon, delta, np.random.default_rng(seed))


def into_ball(rows):
    """Rows and outcome, each divided by the largest."""
    scale = np.linalg.norm(rows[:, :-1], axis=1).max()
    return np.c_[rows[:, :-1] / scale, rows[:, -1] / np.abs(rows[:, -1]).max()]


def error(rows, beta):
    return float(np.mean((rows[:, -1] - rows[:, :-1] @ beta) ** 2))


def compare(part, name, rows, epsilon, delta, methods, reps):
    """A row of the table for each method: mean excess over least squares on the rows."""
    mixed = rows[np.random.default_rng(0).permutation(len(rows))]
    held, fitted = mixed[: len(mixed) // 10], mixed[len(mixed) // 10 :]
    best = np.linalg.lstsq(fitted[:, :-1], fitted[:, -1], rcond=None)[0]
    for label, method in methods.items():
        found = [method(fitted, epsilon, delta or 1.0 / len(fitted) ** 2, seed) for seed in range(reps)]
        seen = [error(fitted, beta) / error(fitted, best) - 1.0 for beta in found]
        unseen = [error(held, beta) / error(held, best) - 1.0 for beta in found]
        numbers = [f"{np.mean(seen):.3g}", f"{np.mean(unseen):.3g}"]
        print(
            f"{part:<10} {name:<18} ε = {epsilon:<4g} {label:<22} {numbers[0]:>8} held out {numbers[1]:>8}", flush=True
        )
        yield [part, name, len(fitted), fitted.shape[1] - 1, epsilon, label, reps, *numbers]


def simulated(reps):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (2222, 3))
    rows = np.c_[x, x @ [1.5, -2.0, 0.5] + rng.normal(size=2222)]
    low, high = np.array([0.0, 0.0, 0.0, -25.0]), np.array([10.0, 10.0, 10.0, 25.0])

    def ours(rows, epsilon, delta, seed):
        return with_bounds(rows, epsilon, delta, seed, low, high)

    def theirs(rows, epsilon, delta, seed):
        scaled = rows / [*[10.0 * np.sqrt(3.0)] * 3, 25.0]
        return peer(scaled, epsilon, delta, seed) * 25.0 / (10.0 * np.sqrt(3.0))

    for epsilon in (0.5, 1.0, 4.0):
        yield from compare("simulated", "uniform", rows, epsilon, 1e-6, {"graphveil": ours, "AdaSSP": theirs}, reps)


def tables(folder, reps):
    for name in TABLES:
        rows = into_ball(load(folder, name))
        low, high = rows.min(axis=0), rows.max(axis=0)
        methods = {
            "graphveil, norm": with_norm,
            "AdaSSP": peer,
            "graphveil, bounds": lambda *args, low=low, high=high: with_bounds(*args, low, high),
        }
        yield from compare("norm", name, rows, 1.0, None, methods, reps)


def wages(folder, reps):
    import pandas as pd

    frame = pd.read_csv(folder / "cps_asec_2024_wages.csv.gz")[list(WAGES)]
    low, high = np.array([*WAGES.values()], dtype=float).T
    rows = np.clip(frame.to_numpy(dtype=float), low, high)

    def ours(rows, epsilon, delta, seed):
        return with_bounds(rows, epsilon, delta, seed, low, high)

    def theirs(rows, epsilon, delta, seed):
        scale = np.r_[np.full(4, np.linalg.norm(high[:-1])), high[-1]]
        return peer(rows / scale, epsilon, delta, seed) * high[-1] / scale[0]

    def theirs_by_column(rows, epsilon, delta, seed):
        scale = np.r_[high[:-1] * 2.0, high[-1]]  # four columns in [0, 1/2]: the norm is at most 1
        return peer(rows / scale, epsilon, delta, seed) * high[-1] / scale[:-1]

    methods = {"graphveil": ours, "AdaSSP": theirs, "AdaSSP, column bounds": theirs_by_column}
    for epsilon in (0.5, 1.0, 4.0):
        yield from compare("wages", "cps_asec_2024", rows, epsilon, 1e-6, methods, reps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    found = [*simulated(options.reps)]
    if options.data is not None:
        found += [*tables(options.data, options.reps), *wages(options.data, options.reps)]
        with RESULTS.open("w", newline="") as file:
            csv.writer(file).writerows([FIELDS, *found])


if __name__ == "__main__":
    main()
