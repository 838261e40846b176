"""Releases of few records: the rivals' models, the open families of `judges`, and parts of its held-out tables.

python benchmarks/few_records.py LABEL

Writes build/few-records-LABEL.jsonl, a line a cell with the errors of its releases; seeds are the same for every label,
so that two versions of the package can be compared. `benchmarks/results/few_records.csv` has the medians and the worst
of protocols 7 and 8. Errors are in units of the bounds, against the truth (models) or the same records without privacy.
"""

import json
import sys
import warnings

import judges
import numpy as np
from rivals import DELTA, model_rows

import graphveil as gv

FIRST_SEED = 100
CENTRED = [
    *(("small world", p, 500, epsilon) for p in (5, 20, 50) for epsilon in (0.3, 1.0, 4.0)),
    *(("band", p, 500, epsilon) for p in (5, 20, 50) for epsilon in (0.3, 1.0)),
    ("small world", 20, 5000, 0.3),
    ("small world", 50, 5000, 0.3),
]
FAMILIES = ((400, 1.0), (800, 1.0), (1600, 1.0), (500, 0.3), (2500, 0.3), (400, 3.0))
TABLES = ((400, 1.0), (1000, 1.0), (1700, 1.0), (1500, 0.3))


def reference(rows, low, high):
    """The precision matrix without privacy, in units of the bounds; None where these records do not determine it."""
    covariance = np.cov(rows.T)
    if not (np.diag(covariance) > 1e-9 * (high - low) ** 2).all() or np.linalg.cond(np.corrcoef(rows.T)) > 1e5:
        return None
    return np.linalg.inv(covariance) * np.outer(high - low, high - low) / 4.0


def error(rows, truth, low, high, epsilon, seed, *, centred):
    domain, budget = gv.Domain(bounds=(low, high)), gv.Budget(epsilon, DELTA)
    made = gv.release(rows, domain=domain, budget=budget, random_state=seed, assume_centered=centred)
    found = gv.recover(made).precision * np.outer(high - low, high - low) / 4.0
    return gv.metrics.relative_loss(found, truth)


def cells():
    """Group, name, n, ε, releases, whether the mean is known, and what draws (rows, truth, low, high) from a seed."""
    for model, p, n, epsilon in CENTRED:

        def draw(seed, model=model, p=p, n=n):
            return *model_rows(model, p, n, seed), -np.ones(p), np.ones(p)

        yield "models", f"{model}, p = {p}", n, epsilon, 8, True, draw
    for name, ((make, low, high), _, _, sealed) in judges.SIMULATED.items():
        for n, epsilon in () if sealed else FAMILIES:

            def draw(seed, make=make, low=low, high=high, n=n):
                rows = np.clip(make(np.random.default_rng([3, seed]), n), low, high)
                return rows, reference(rows, low, high), low, high

            yield "families", name, n, epsilon, 8, False, draw
    for item, package in judges.SEALED.items():
        loaded = judges.prepared(package, item)
        for n, epsilon in TABLES if loaded else ():

            def draw(seed, loaded=loaded, n=n):
                table, low, high = loaded
                rows = table[np.random.default_rng([5, seed]).permutation(len(table))[:n]]
                return rows, reference(rows, low, high), low, high

            yield "tables", item, n, epsilon, 6, False, draw


def main(label):
    warnings.simplefilter("ignore")
    path = judges.ROOT / "build" / f"few-records-{label}.jsonl"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        for group, name, n, epsilon, releases, centred, draw in cells():
            errors = []
            for seed in range(FIRST_SEED, FIRST_SEED + releases):
                rows, truth, low, high = draw(seed)
                if truth is not None:
                    errors.append(error(rows, truth, low, high, epsilon, seed, centred=centred))
            if errors:
                file.write(json.dumps([group, name, n, epsilon, errors]) + "\n")
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
