"""Do forecasts come true? The formula and the rehearsal beside what then happens, on twelve settings and real tables.

python benchmarks/forecast.py [--repeats 8] [--tables]

What happens: seeded releases of fresh Gaussian records of small worlds, with means and units of their own; with
``--tables`` of four real tables instead, two of them bundled and two of benchmarks/surveys.py. Saves
benchmarks/results/forecast.csv, or forecast_tables.csv; the table of the docs is printed.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from surveys import load

import graphveil as gv
from graphveil.planning.closed_form import foresee
from graphveil.planning.rehearsal import rehearse
from graphveil.spec.case import Case

RESULTS = Path(__file__).parent / "results"
SETTINGS = [  # people, columns, ε, half the width of the bounds in standard deviations, records a person
    (2000, 10, 1.0, 4.0, 1),
    (10_000, 10, 1.0, 4.0, 1),
    (4000, 10, 1.0, 12.0, 1),
    (10_000, 5, 1.0, 4.0, 1),
    (2000, 20, 1.0, 4.0, 1),
    (5000, 20, 1.0, 4.0, 1),
    (20_000, 20, 0.5, 4.0, 1),
    (2000, 20, 3.0, 4.0, 1),
    (10_000, 20, 1.0, 12.0, 1),
    (20_000, 12, 1.0, 4.0, 4),
    (10_000, 40, 1.0, 4.0, 1),
    (30_000, 60, 1.0, 4.0, 1),
]
QUANTITIES = ("n_eff", "smallest_edge", "error")


def simulated(n, p, epsilon, width, person, repeats):
    """Medians of what comes out of releases of simulated records."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([n, p, seed])
        truth = gv.simulate.small_world_precision(p, 2 if p < 10 else 4, random_state=1000 + seed)
        spread = np.sqrt(np.diag(np.linalg.inv(truth)))
        mean, unit = rng.normal(size=p), 10.0 ** rng.uniform(-2, 2, size=p)
        rows = (gv.simulate.gaussian_rows(truth, n, random_state=rng) + mean) * unit
        bounds = tuple((mean + end * width * spread) * unit for end in (-1.0, 1.0))
        model = gv.PrivateGraphicalLasso(epsilon, 1e-6, bounds=bounds, rows_per_person=person, random_state=seed)
        model.fit(rows)
        scale = np.outer(spread, spread)
        error = gv.metrics.relative_loss(model.precision_ * np.outer(unit, unit) * scale, truth * scale)
        found.append((model.n_eff_, model.edge_intervals().smallest_edge or 1.0, error))
    return dict(zip(QUANTITIES, np.median(found, axis=0), strict=True))


def real_tables():
    """Rows and bounds by name; amounts that span decades also as logarithms."""
    bundled = {"health insurance": gv.datasets.health_insurance(), "cell signalling": gv.datasets.cell_signalling()}
    tables = {}
    for name, data in bundled.items():
        lower, upper = np.transpose(list(data.bounds.values()))
        tables[name] = np.clip(data.rows, lower, upper), lower, upper
    tables["cell signalling, logarithms"] = tuple(map(np.log, tables["cell signalling"]))
    others = {name: load(name) for name in ("fair", "credit")}
    return tables | {name: table for name, table in others.items() if table is not None}


def released(rows, lower, upper, epsilon, repeats):
    """The same for a real table, against its own precision matrix; and half the median width of the bounds."""
    spread = rows.std(axis=0)
    truth = np.linalg.inv(np.corrcoef(rows.T))
    found = []
    for seed in range(repeats):
        model = gv.PrivateGraphicalLasso(epsilon, 1e-6, bounds=(lower, upper), random_state=seed).fit(rows)
        error = gv.metrics.relative_loss(model.precision_ * np.outer(spread, spread), truth)
        found.append((model.n_eff_, model.edge_intervals().smallest_edge or 1.0, error))
    width = float(np.median((upper - lower) / 2.0 / spread))
    return dict(zip(QUANTITIES, np.median(found, axis=0), strict=True)), width


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--tables", action="store_true")
    asked = parser.parse_args()
    repeats, rows = asked.repeats, []
    for n, p, epsilon, width, person in [] if asked.tables else SETTINGS:
        happened = simulated(n, p, epsilon, width, person, repeats)
        case = Case(n, p, gv.Budget(epsilon, 1e-6), person, width)
        rows.append(compare(f"{n:,} × {p}, ε = {epsilon:g}, ±{width:g} sd, {person} a person", case, happened, repeats))
    for name, table in real_tables().items() if asked.tables else ():
        for epsilon in (1.0, 3.0):
            happened, width = released(*table, epsilon, repeats)
            n, p = table[0].shape
            case = Case(n, p, gv.Budget(epsilon, 1e-6), 1, max(width, 1.0))
            rows.append(compare(f"{name}, {n:,} × {p}, ε = {epsilon:g}", case, happened, repeats))
    with (RESULTS / ("forecast_tables.csv" if asked.tables else "forecast.csv")).open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)


def compare(what, case, happened, repeats):
    """One line: what the formula and the rehearsal say, over what happened."""
    start = time.perf_counter()
    formula = foresee(case)
    milliseconds = 1000.0 * (time.perf_counter() - start)
    rehearsed = rehearse(case, repeats)
    row = {"what": what, "milliseconds": round(milliseconds, 2)}
    for name in QUANTITIES:
        row[name] = f"{happened[name]:.4g}"
        for kind, point in (("formula", formula), ("rehearsal", rehearsed)):
            foreseen = getattr(point, name)
            row[f"{name}_{kind}"] = "" if foreseen is None else f"{foreseen / happened[name]:.2f}"
    cells = [f"{row[n]} ({row[f'{n}_formula'] or 'none'}, {row[f'{n}_rehearsal'] or 'none'})" for n in QUANTITIES]
    print(f"| {what} | " + " | ".join(cells) + " |", flush=True)
    return row


if __name__ == "__main__":
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    main()
