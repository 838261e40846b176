"""Private least squares beside its peers. python benchmarks/regression.py [--reps 10] [--data FOLDER]

Parts, each rows of benchmarks/results/regression.csv:

* `simulated`: three uniform columns, as in the article on BinAgg (n = 2,000, β = 1.5, -2, 0.5), with column bounds.
* `norm`: tables that published private regressions were compared on. As there, rows and outcome are divided by the
  largest in the table (which leaks it), there is no intercept, and δ = 1/n²; a norm is all that is public. Methods with
  `bounds` get the least and largest value of every column besides (which leaks them).
* `wages`: log wages on education, experience, its square and sex (CPS ASEC 2024), with bounds from common knowledge.

Peers are written from their papers (benchmarks/peers): AdaSSP, Iterative Hessian Mixing, BinAgg, and the noisy
sufficient statistics of dp-statsmodels. Where column bounds are public, columns are divided by them for all peers.

Error is the mean squared error of predictions over that of least squares on the rows themselves, less 1: on the rows
that were fitted to, mean and median over releases, and on a tenth that was held out. AdaSSP and Hessian Mixing get ε
for neighbours that add or remove a row, graphveil for such that replace one, which is stricter. Tables are not part of
this repository: FOLDER has elevators_train.txt.gz and others, numbers with the outcome last, and
cps_asec_2024_wages.csv.gz. Noise is seeded: these are simulations.
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
from binagg import binagg
from hessian_mixing import hessian_mixing
from noisy_statistics import noisy_statistics

from graphveil.spec.gdp import mu_from_epsilon_delta

RESULTS = Path(__file__).parent / "results" / "regression.csv"
FIELDS = [
    "part",
    "table",
    "n",
    "columns",
    "epsilon",
    "method",
    "replications",
    "excess",
    "median_excess",
    "held_out_excess",
]
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


def unscaled(peer):
    """A peer for rows of norm at most 1 and outcomes of at most 1."""
    return lambda rows, epsilon, delta, seed: peer(
        rows[:, :-1], rows[:, -1], epsilon, delta, np.random.default_rng(seed)
    )


def in_ball(peer, low, high):
    """The same for rows within bounds: a row of columns that are at most 1/√d is at most 1."""
    scale = np.maximum(np.abs(low), np.abs(high))
    scale[:-1] *= np.sqrt(len(low) - 1)
    return lambda rows, *args: unscaled(peer)(rows / scale, *args) * scale[-1] / scale[:-1]


def in_cube(peer, low, high):
    """The same for a peer that wants columns of at most 1 each."""
    scale = np.maximum(np.abs(low), np.abs(high))
    return lambda rows, *args: unscaled(peer)(rows / scale, *args) * scale[-1] / scale[:-1]


def in_bins(low, high):
    """BinAgg, with columns divided by their bounds."""
    scale = np.maximum(np.abs(low), np.abs(high))

    def fit(X, y, epsilon, delta, generator):
        box = low[:-1] / scale[:-1], high[:-1] / scale[:-1]
        return binagg(X, y, *box, 1.0, mu_from_epsilon_delta(epsilon, delta), generator)

    return lambda rows, *args: unscaled(fit)(rows / scale, *args) * scale[-1] / scale[:-1]


def with_public_bounds(low, high):
    """All methods where column bounds are public."""
    return {
        "graphveil": lambda *args: with_bounds(*args, low, high),
        "AdaSSP": in_ball(adassp, low, high),
        "Hessian Mixing": in_ball(hessian_mixing, low, high),
        "BinAgg": in_bins(low, high),
        "noisy statistics": in_cube(noisy_statistics, low, high),
    }


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
        numbers = [f"{np.mean(seen):.3g}", f"{np.median(seen):.3g}", f"{np.mean(unseen):.3g}"]
        print(f"{part:<10} {name:<18} ε = {epsilon:<4g} {label:<24} {' '.join(f'{n:>8}' for n in numbers)}", flush=True)
        yield [part, name, len(fitted), fitted.shape[1] - 1, epsilon, label, reps, *numbers]


def simulated(reps):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (2222, 3))
    rows = np.c_[x, x @ [1.5, -2.0, 0.5] + rng.normal(size=2222)]
    low, high = np.array([0.0, 0.0, 0.0, -25.0]), np.array([10.0, 10.0, 10.0, 25.0])

    for epsilon in (0.5, 1.0, 4.0):
        yield from compare("simulated", "uniform", rows, epsilon, 1e-6, with_public_bounds(low, high), reps)


def tables(folder, reps):
    for name in TABLES:
        rows = into_ball(load(folder, name))
        low, high = rows.min(axis=0), rows.max(axis=0)
        bounded = with_public_bounds(low, high)
        methods = {
            "graphveil": with_norm,
            "AdaSSP": unscaled(adassp),
            "Hessian Mixing": unscaled(hessian_mixing),
            "graphveil, bounds": bounded["graphveil"],
            "BinAgg, bounds": bounded["BinAgg"],
            "noisy statistics, bounds": bounded["noisy statistics"],
        }
        yield from compare("norm", name, rows, 1.0, None, methods, reps)


def wages(folder, reps):
    import pandas as pd

    frame = pd.read_csv(folder / "cps_asec_2024_wages.csv.gz")[list(WAGES)]
    low, high = np.array([*WAGES.values()], dtype=float).T
    rows = np.clip(frame.to_numpy(dtype=float), low, high)

    for epsilon in (0.5, 1.0, 4.0):
        yield from compare("wages", "cps_asec_2024", rows, epsilon, 1e-6, with_public_bounds(low, high), reps)


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
