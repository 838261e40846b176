"""p-values where there is nothing to find, on twelve kinds of tables: how uniform they are, and how often below 1%.

    python benchmarks/null_tests.py [--reps 60] [--kinds nested,rare] [--runs build/null_tests]

Every table is split at random into two groups of one distribution, each released at ε = 1, δ = 1e-6. So all differences
that `gv.compare` tests are zero. A column `alone` has nothing to do with any other, so its edges, its coefficients and
the R² of its regression are zero, too. Of R², which has no p-value, it is counted how often the interval excludes 0; of
components, p-values are those of the difference of the largest variance in both groups.

Kolmogorov's distance is that of the p-values from the uniform distribution; those of one release depend on each other.
Every comparison is saved when it is made, and a second run makes those that are missing.
Results: benchmarks/results/null_tests.csv
"""

import argparse
import csv
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

import graphveil as gv

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.nested import bank, bank_domain, hospital, hospital_domain, wards, wards_domain

RESULTS = Path(__file__).parent / "results" / "null_tests.csv"
FIELDS = ["table", "test", "p-values", "Kolmogorov distance", "below 1%", "below 5%", "below 50%"]
BUDGET = gv.Budget(1.0, 1e-6)


def chain(rng, n, p=5):
    """Gaussian columns, each of which goes with the one before."""
    rows = rng.standard_normal((n, p))
    for k in range(1, p):
        rows[:, k] = 0.5 * rows[:, k - 1] + np.sqrt(0.75) * rows[:, k]
    return rows


def frame(rows, low=-8, high=8):
    names = [f"x{k}" for k in range(rows.shape[1])]
    return pd.DataFrame(rows, columns=names), dict.fromkeys(names, (low, high))


def nested(rng):
    table = wards(16_000, int(rng.integers(2**31)), 2)
    domain = wards_domain(2)
    return table.drop(columns="sex"), kinds_of(domain), {}


def kinds_of(domain):
    return dict(zip(domain.codebook.names, domain.codebook.kinds, strict=True))


def rare(rng):
    table, kinds = frame(chain(rng, 12_000, 3))
    for name, share in (("often", 0.1), ("seldom", 0.02)):
        table[name] = (rng.random(len(table)) < share * np.exp(0.5 * table["x0"] - 0.125)).astype(float)
        kinds[name] = (0, 1)
    table["level"] = rng.choice(list("abcd"), len(table), p=[0.6, 0.3, 0.09, 0.01])
    return table, kinds | {"level": gv.Category(list("abcd"))}, {}


def skewed(rng):
    table, kinds = frame(chain(rng, 10_000, 6))
    for k in (0, 2, 4):
        table[f"x{k}"] = np.minimum(np.exp(0.8 * table[f"x{k}"]), 40.0)
        kinds[f"x{k}"] = (0, 40)
    return table, kinds, {}


def zero_inflated(rng):
    table, kinds = frame(chain(rng, 10_000, 6))
    for k in (1, 3):
        table[f"x{k}"] = np.where(rng.random(len(table)) < 0.7, 0.0, np.minimum(np.exp(table[f"x{k}"]), 20.0))
        kinds[f"x{k}"] = (0, 20)
    return table, kinds, {}


def missing(rng):
    table, kinds = frame(chain(rng, 10_000, 6))
    for k in (0, 1, 4):
        table.loc[rng.random(len(table)) < 0.3, f"x{k}"] = np.nan
        kinds[f"x{k}"] = gv.Number(-8, 8, missing=True)
    return table, kinds, {}


def weighted(rng):
    table, kinds = frame(chain(rng, 12_000, 6))
    table["w"] = np.minimum(np.exp(0.7 * rng.standard_normal(len(table))), 4.0)
    return table, kinds, {"weight": gv.Weight("w", largest=4.0)}


def people(rng):
    whole, kinds = frame(chain(rng, 8_000, 6))
    ids = np.repeat(np.arange(len(whole)), rng.integers(1, 6, len(whole)))
    table = whole.loc[ids].reset_index(drop=True) + rng.standard_normal((len(ids), 6)) / 2
    table["person"] = ids
    return table, kinds, {"person": "person"}


def few(rng):
    return *frame(chain(rng, 2_000, 4), -4, 4), {}


def many(rng):
    return *frame(chain(rng, 20_000, 30)), {}


def heavy(rng):
    rows = chain(rng, 10_000, 6) / np.sqrt(rng.chisquare(4, (10_000, 1)) / 4)
    return *frame(np.clip(rows, -20, 20), -20, 20), {}


def mixture(rng):
    rows = chain(rng, 10_000, 6)
    rows[rng.random(len(rows)) < 0.2] *= 0.3
    rows[:, :3] += 3.0 * (rng.random((len(rows), 1)) < 0.15)
    return *frame(rows), {}


def unequal(rng):
    table, kinds = frame(chain(rng, 20_000, 4))
    table["level"] = rng.choice(list("abc"), len(table), p=[0.5, 0.3, 0.2])
    return table, kinds | {"level": gv.Category(list("abc"))}, {"first": 0.15}


def visits(rng):
    """Not among the twelve: the table in which a difference was invented."""
    table = hospital(14_000, int(rng.integers(2**31))).drop(columns="sex")
    kinds = {name: kind for name, kind in kinds_of(hospital_domain()).items() if name != "sex"}
    return table, kinds, {"person": "patient"}


def customers(rng):
    """Not among the twelve: two categories with rare levels, income with a long tail."""
    table = bank(14_000, int(rng.integers(2**31))).drop(columns="sex")
    return table, {name: kind for name, kind in kinds_of(bank_domain()).items() if name != "sex"}, {}


KINDS = {
    "nested categories": nested,
    "rare events": rare,
    "skewed": skewed,
    "zero-inflated": zero_inflated,
    "missing values": missing,
    "weighted": weighted,
    "several rows a person": people,
    "few records": few,
    "30 columns": many,
    "Student's t": heavy,
    "mixture": mixture,
    "unequal groups": unequal,
    "hospital": visits,
    "bank": customers,
}


def release_groups(kind, seed):
    """Two groups of one table, which people are in at random."""
    rng = np.random.default_rng([*kind.encode(), seed])
    table, kinds, options = KINDS[kind](rng)
    who = table[options["person"]].to_numpy() if "person" in options else np.arange(len(table))
    first = rng.random(who.max() + 1) < options.pop("first", 0.5)
    table["alone"], table["group"] = rng.standard_normal(len(table)), np.where(first[who], "A", "B")
    domain = gv.Domain({**kinds, "alone": (-8, 8), "group": gv.Category(["A", "B"])}, **options)
    return gv.release(table, domain=domain, budget=BUDGET, by="group", random_state=seed)


def measure(kind, seed):
    """All p-values of one pair of groups, by test."""
    groups = release_groups(kind, seed)
    columns = groups["A"].column_names
    outcome = next(name for name in columns if name.startswith("x") or name in ("systolic", "visits"))
    found = gv.compare(groups["A"], groups["B"], outcome=outcome)
    tests = {}
    for part in found.kinds:
        joint = [] if part.levels is None else part.levels.owners
        for k, p_value in enumerate(part.p_value):
            name = f"difference of {part.what}s" + (" (categories)" if k in joint else "")
            tests.setdefault(name, []).append(p_value)
    for release in groups.values():
        edges = gv.PrivateGraphicalLasso(1.0, 1e-6).fit_release(release).edge_intervals()
        own = edges.columns.index("alone")
        for k, p_value in enumerate(edges.p_value[own]):
            joint = edges.df is not None and edges.df[own, k] > 1
            if k != own:
                tests.setdefault("edges (categories)" if joint else "edges", []).append(p_value)
        table = gv.regression(release, "alone")
        tests.setdefault("coefficients", []).extend(table.p_value)
        tests.setdefault("categories in a regression", []).extend(test.p_value for test in table.tests)
        low = table.r_squared_interval[0]
        tests.setdefault("R² (interval excludes 0)", []).append(np.nan if np.isnan(low) else float(low <= 0.0))
    parts = [gv.components(release).variance for release in groups.values()]
    z = (parts[1].value[0] - parts[0].value[0]) / np.hypot(parts[0].std_err[0], parts[1].std_err[0])
    tests["difference of the first component"] = [2.0 * norm.sf(abs(z))]
    return {name: [None if np.isnan(one) else float(one) for one in values] for name, values in tests.items()}


def summarise(kind, runs):
    """Rows of the result table."""
    for test in sorted({name for run in runs for name in run}):
        p_values = np.sort([one for run in runs for one in run.get(test, []) if one is not None])
        if not p_values.size:
            continue
        below = [f"{np.mean(p_values < level):.3f}" for level in (0.01, 0.05, 0.5)]
        if test.startswith("R²"):
            yield [kind, test, p_values.size, "", f"{np.mean(p_values == 0.0):.3f}", "", ""]
            continue
        steps = np.arange(p_values.size + 1) / p_values.size
        distance = max(np.max(steps[1:] - p_values), np.max(p_values - steps[:-1]))
        yield [kind, test, p_values.size, f"{distance:.3f}", *below]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=60)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--runs", type=Path, default=Path("build/null_tests"))
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    chosen = [kind for kind in KINDS if kind in options.kinds.split(",")]
    done = {kind: [] for kind in KINDS}
    for seed in range(options.reps):
        for kind in chosen:
            file = options.runs / f"{kind}-{seed}.json"
            if not file.exists():
                file.write_text(json.dumps(measure(kind, seed)))
            done[kind].append(json.loads(file.read_text()))
        with RESULTS.open("w", newline="") as out:  # whatever is measured by now
            csv.writer(out).writerows([FIELDS, *(row for kind in KINDS for row in summarise(kind, done[kind]))])
        print(f"{seed + 1} of {options.reps}", flush=True)


if __name__ == "__main__":
    main()
