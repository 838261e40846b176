"""Ours beside other private covariances: the same rows, the same guarantee, the error of the precision matrix.

python benchmarks/rivals.py [--repeats 20] [--only NAME ...]

Models: rows have mean zero, and all methods know it; columns have public bounds of five standard deviations. Tables:
those of `surveys` and the sealed ones of `judges`, at ε = 1; the others are told the exact means, ours finds them in
its budget. Error is ‖Θ̂ − Θ‖_F/‖Θ‖_F in units in which the bounds are 1: answering zero scores 1; of a table, Θ is the
inverse covariance without privacy. Methods that can be set (rounds, cells, how closely noise is followed) are run with
each of `SETTINGS`, and a cell has the setting with the smallest median, which only the truth can tell.

Every error is a line of build/rivals.jsonl; a run goes on where the last one ended, and makes our releases again after
a change of the protocol. Results: benchmarks/results/rivals.csv
"""

import argparse
import csv
import json
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import judges
import numpy as np
import surveys
from peers import covariances
from peers.aim import aim

import graphveil as gv
from graphveil.protocol.parameters import PROTOCOL
from graphveil.recovery.analysis import Analysis

LINES = judges.ROOT / "build" / "rivals.jsonl"
RESULTS = Path(__file__).parent / "results" / "rivals.csv"
FIELDS = ["cell", "p", "n", "epsilon", "method", "median", "worst", "repeats", "setting", "protocol"]
MODELS = {
    "small world": lambda p, seed: gv.simulate.small_world_precision(p, random_state=seed),
    "band": lambda p, seed: gv.simulate.paper_model(3, p=p),
}
GRID = [
    *product((5, 20, 50), (500, 5_000, 50_000), (0.3, 1.0, 4.0)),
    *product((5, 20), (2_000, 20_000, 100_000), (0.1,)),
    *product((5, 20, 50), (100_000,), (1.0,)),
    *product((200,), (5_000, 20_000, 100_000), (1.0,)),
]
DELTA = 1e-6
SETTINGS = {
    "entry by entry": [(0.5,), (2,), (4,)],  # rounds a column
    "AIM": [(4, 2), (5, 4), (8, 4)],  # cells, and rounds a column
}
AT_ONCE = 5  # seeds of one cell before the next cell's


def model_rows(model, p, n, seed):
    """Rows in units of their bounds, and the precision matrix in these units."""
    precision = MODELS[model](p, seed)
    unit = 5.0 * np.sqrt(np.linalg.inv(precision).diagonal())
    rows = np.clip(gv.simulate.gaussian_rows(precision, n, random_state=seed) / unit, -1.0, 1.0)
    return rows, precision * np.outer(unit, unit)


def table_rows(loaded):
    """Rows about their means in units of the farther bound, the precision matrix, and the bounds, in these units."""
    rows, low, high = loaded
    mean = rows.mean(axis=0)
    unit = np.maximum(high - mean, mean - low)
    rows = (rows - mean) / unit
    return rows, np.linalg.inv(np.cov(rows.T)), (low - mean) / unit, (high - mean) / unit


def cells():
    """Name, p, n, ε, whether our release is told the means, and what makes (rows, truth, low, high) of a seed."""
    for item, package in judges.SEALED.items():
        yield from table_cell(item, judges.prepared(package, item))
    for name in [*surveys.NAMED, *surveys.OTHERS]:
        yield from table_cell(name, surveys.load(name))
    for model, (p, n, epsilon) in product(MODELS, GRID):

        def draw(seed, model=model, p=p, n=n):
            return *model_rows(model, p, n, seed), -np.ones(p), np.ones(p)

        yield model, p, n, epsilon, True, draw


def table_cell(name, loaded):
    if loaded is not None:
        made = table_rows(loaded)
        yield name, made[0].shape[1], len(made[0]), 1.0, False, lambda seed: made


def ours(rows, low, high, budget, centred, seed):
    """Name, setting and precision matrix of a release: as `gv.recover` has it, and as a network."""
    domain = gv.Domain(bounds=(low, high))
    made = gv.release(rows, domain=domain, budget=budget, assume_centered=centred, random_state=seed)
    found = gv.recover(made)
    yield "graphveil", "", found.precision
    yield "graphveil, network", "", Analysis(made, found).network.solution.precision


def peers(rows, low, high, mu, seed):
    """Name, setting and precision matrix of every other method."""
    p = rows.shape[1]
    for name in ("gaussian", "separate", "coinpress"):
        yield name, "", getattr(covariances, name)(rows, mu, np.random.default_rng(seed))
    for name, settings in SETTINGS.items():
        for setting in settings:
            rounds = max(int(setting[-1] * p), 2)
            rng = np.random.default_rng(seed)
            if name == "AIM":
                found = aim(rows, low, high, mu, rng, setting[0], rounds)
            else:
                found = covariances.entrywise(rows, mu, rng, rounds)
            for tolerance, precision in zip(covariances.TOLERANCES, found, strict=True):
                yield name, "/".join(f"{part:g}" for part in (*setting, tolerance)), precision


def run(repeats, only):
    """Make the releases that are missing, a few seeds of every cell at a time."""
    LINES.parent.mkdir(exist_ok=True)
    done = {(*line["cell"], line["seed"], line["protocol"]) for line in lines()}
    chosen = [cell for cell in cells() if not only or cell[0] in only]
    with LINES.open("a") as file:
        for first, (*cell, centred, draw) in product(range(0, repeats, AT_ONCE), chosen):
            for seed in range(first, min(first + AT_ONCE, repeats)):
                missing = [who for who in (PROTOCOL.version, None) if (*cell, seed, who) not in done]
                if missing:
                    rows, truth, low, high = draw(seed)
                for protocol in missing:
                    budget = gv.Budget(cell[-1], DELTA)
                    if protocol is None:
                        found = peers(rows, low, high, budget.mu, seed)
                    else:
                        found = ours(rows, low, high, budget, centred, seed)
                    errors = [(*who, float(f"{gv.metrics.relative_loss(that, truth):.4g}")) for *who, that in found]
                    line = {"cell": cell, "seed": seed, "protocol": protocol, "errors": errors}
                    file.write(json.dumps(line) + "\n")
                    file.flush()


def lines():
    if not LINES.exists():
        return []
    with LINES.open() as file:
        return [json.loads(line) for line in file]


def summarise():
    """A line a cell and method: its best setting, and ours with the latest protocol."""
    found = defaultdict(lambda: defaultdict(dict))
    for line in lines():
        for method, setting, error in line["errors"]:
            by_seed = found[*line["cell"], method][int(line["protocol"] or 0), setting]
            by_seed[line["seed"]] = error
    table = []
    for key, by_setting in found.items():
        latest = max(protocol for protocol, _ in by_setting)
        runs = [(one[1], [*by_seed.values()]) for one, by_seed in by_setting.items() if one[0] == latest]
        setting, errors = min(runs, key=lambda found: np.median(found[1]))
        table.append([*key, f"{np.median(errors):.4g}", f"{np.max(errors):.4g}", len(errors), setting, latest or ""])
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows([FIELDS, *table])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[], help="tables or models")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    run(options.repeats, options.only)
    summarise()


if __name__ == "__main__":
    main()
