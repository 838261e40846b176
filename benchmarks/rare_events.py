"""Coefficients of rare events and of skewed columns: python benchmarks/rare_events.py [--reps 16]

Regressions of an outcome on an ordinary column and on a rare event, or a lognormal column, that moves it, among columns
that do not: is the coefficient covered, beside that of least squares on the same records (for events: the true one)?
The same for costs within wide bounds, with an outcome that follows the cost as a line, a root, a logarithm or a step,
and for the logarithm of the cost.
Then, without privacy, which part of what clipping takes of a column's variance it takes of its covariances.
"""

import argparse
import csv
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "rare_events.csv"
EVENTS = [  # records, share of the event, other columns, ε
    (7000, 0.012, 0, 1.0),
    (7000, 0.012, 8, 1.0),
    (20_000, 0.005, 20, 1.0),
    (9000, 0.03, 5, 1.0),
    (9000, 0.03, 25, 2.0),
    (5000, 0.05, 3, 1.0),
]
SKEWED = [(9000, 1.0, 4, 1.0), (9000, 1.3, 4, 1.0), (20_000, 0.7, 8, 1.0)]  # records, sd of the logarithm, others, ε
COSTS = [  # records, sd of the logarithm, share of zeros, upper bound: 8 to 46 standard deviations; ε = 1
    (5000, 1.1, 0.4, 15_000.0),
    (10_000, 0.7, 0.0, 6_000.0),
    (10_000, 1.1, 0.4, 50_000.0),
    (30_000, 1.1, 0.4, 50_000.0),
    (60_000, 1.5, 0.7, 50_000.0),
]
FOLLOWS = {
    "line": lambda cost: cost,
    "root": np.sqrt,
    "step": lambda cost: np.asarray(cost > 350.0, dtype=float),
    "logarithm": np.log1p,
}
EFFECT = 1.8


def event_table(n, share, others, rng):
    """Rows and bounds: an ordinary column, the event, others, and last the outcome."""
    u, event = rng.normal(size=n), rng.random(n) < share
    ordinary = 50.0 + 12.0 * u + rng.normal(0.0, 4.0, n)
    outcome = 5.0 + 0.8 * u + EFFECT * event + rng.normal(0.0, 0.7, n)
    noise = rng.normal(size=(n, others)) + 0.3 * u[:, None]
    low, high = [0.0, 0.0, *[-6.0] * others, 0.0], [110.0, 1.0, *[6.0] * others, 15.0]
    return np.column_stack([ordinary, event, noise, outcome]), np.array(low), np.array(high)


def skewed_table(n, shape, others, rng):
    u = rng.normal(size=n)
    top = np.ceil(np.exp(3.1 * shape))
    cost = np.minimum(np.exp(shape * (0.6 * u + 0.8 * rng.normal(size=n))), top)
    sd = np.sqrt((np.exp(shape**2) - 1.0) * np.exp(shape**2))
    outcome = 0.5 * cost / sd + 0.4 * u + rng.normal(0.0, 0.8, n)
    noise = rng.normal(size=(n, others)) + 0.3 * u[:, None]
    low, high = [-5.0, 0.0, *[-6.0] * others, -8.0], [5.0, top, *[6.0] * others, 12.0]
    return np.column_stack([u, cost, noise, outcome]), np.array(low), np.array(high)


def cost_table(n, shape, zeros, top, follows, rng):
    """A cost that is zero for a share, lognormal for the others, and an outcome that follows it in one of four ways."""
    u = rng.normal(size=n)
    cost = np.where(rng.random(n) < zeros, 0.0, np.exp(6.0 + 0.2 * u + shape * rng.normal(size=n)))
    cost = np.minimum(cost, top)
    part = FOLLOWS[follows](cost)
    outcome = 0.6 * (part - part.mean()) / part.std() + 0.3 * u + rng.normal(size=n)
    noise = rng.normal(size=(n, 3)) + 0.3 * u[:, None]
    low, high = [-5.0, 0.0, *[-6.0] * 3, -12.0], [5.0, top, *[6.0] * 3, 25.0]
    return np.column_stack([u, cost, noise, outcome]), np.array(low), np.array(high)


def as_logarithm(rows, low, high):
    """The same with the logarithm of the cost, from 10 on."""
    rows[:, 1] = np.log(np.maximum(rows[:, 1], 10.0))
    low[1], high[1] = np.log([10.0, high[1]])
    return rows, low, high


def judge(rows, low, high, epsilon, true, seed):
    """The coefficient over the true one, its standard error over it, and whether its interval covers (NaN: none)."""
    rows = np.clip(rows, low, high)
    domain, budget = gv.Domain(bounds=(low, high)), gv.Budget(epsilon, 1e-6)
    made = gv.release(rows, domain=domain, budget=budget, random_state=seed)
    table = gv.regression(made, outcome=rows.shape[1] - 1, on=[0, 1])
    if true is None:
        design = np.column_stack([np.ones(len(rows)), rows[:, :2]])
        true = np.linalg.lstsq(design, rows[:, -1], rcond=None)[0][-1]
    error = table.std_err[-1]
    covered = np.nan if np.isnan(error) else float(table.lower[-1] <= true <= table.upper[-1])
    return table.coef[-1] / true, error / true, covered


def lost_part(column, other, rng, others=4, square=1.9):
    """Part of what clipping to R² = 1.9 p takes of a column's variance that it takes of a covariance; and what is left.

    Both beside what it takes of ordinary columns.
    """
    rows = np.column_stack([column, other, rng.normal(size=(column.size, others))])
    rows = rows - rows.mean(axis=0)
    covariance = np.cov(rows.T)
    values, vectors = np.linalg.eigh(covariance)
    whitened = rows @ (vectors / np.sqrt(values))
    shortened = np.minimum(1.0, np.sqrt(square * len(values) / np.sum(whitened**2, axis=1)))
    clipped = rows * shortened[:, None]
    kept = clipped.T @ clipped / len(rows)
    kept = kept / np.median(np.diag(kept)[2:] / np.diag(covariance)[2:])
    left = kept[0, 0] / covariance[0, 0]
    return (covariance[0, 1] - kept[0, 1]) / (kept[0, 1] * (1.0 / left - 1.0)), left


def lost_parts():
    rng = np.random.default_rng(0)
    n = 400_000
    columns = {
        "event, 3%": (rng.random(n) < 0.03).astype(float),
        "lognormal, 0.7": np.minimum(np.exp(0.7 * rng.normal(size=n)), 9.0),
        "lognormal, 1.3": np.minimum(np.exp(1.3 * rng.normal(size=n)), 57.0),
        "gamma, 0.5": np.minimum(rng.gamma(0.5, 1.0, n), 12.0),
        "Poisson": np.minimum(rng.poisson(rng.gamma(0.7, 1.0 / 0.7, n)), 15.0),
        "zeros, 95%": np.where(rng.random(n) < 0.05, 1.0 + 3.0 * rng.random(n), 0.0),
    }
    for name, column in columns.items():
        z = (column - column.mean()) / column.std()
        follows = {
            "a line": 0.15 * z + rng.normal(size=n),
            "a steep line": 0.6 * z + 0.8 * rng.normal(size=n),
            "a logarithm": 0.5 * np.log(column - column.min() + 0.3) + 0.8 * rng.normal(size=n),
            "a step": (column > np.quantile(column, 0.7)) + 0.6 * rng.normal(size=n),
        }
        for how, other in follows.items():
            part, left = lost_part(column, other, rng)
            yield ["lost part", f"{name}, {how}", "", "", "", f"{part:.2f}", f"{left:.2f}", ""]


def cells():
    """Kind, what it is about, records, other columns, ε, the true coefficient and how to draw a table."""
    for n, share, others, epsilon in EVENTS:
        yield "event", share, n, others, epsilon, EFFECT, partial(event_table, n, share, others)
    for n, shape, others, epsilon in SKEWED:
        yield "skewed", shape, n, others, epsilon, None, partial(skewed_table, n, shape, others)
    for n, shape, zeros, top in COSTS:
        what = f"{shape}; zeros {zeros}; bound {top:g}"
        for follows in FOLLOWS:
            draw = partial(cost_table, n, shape, zeros, top, follows)
            yield f"cost, {follows}", what, n, 3, 1.0, None, draw
        yield "cost, as a logarithm", what, n, 3, 1.0, None, lambda rng, draw=draw: as_logarithm(*draw(rng))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=16)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = [["kind", "what", "n", "others", "epsilon", "mean", "std err or left", "covered"]]
    for kind, what, n, others, epsilon, true, draw in cells():
        found = [judge(*draw(np.random.default_rng(seed)), epsilon, true, seed) for seed in range(options.reps)]
        ratio, error, covered = np.array(found).T
        said = f"{np.nansum(covered):.0f} of {np.isfinite(covered).sum()}"
        table.append([kind, what, n, others, epsilon, f"{ratio.mean():.3g}", f"{np.nanmedian(error):.3g}", said])
        print(*table[-1], flush=True)
    for line in lost_parts():
        table.append(line)
        print(*line, flush=True)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows(table)


if __name__ == "__main__":
    main()
