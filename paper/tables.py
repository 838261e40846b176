"""Tables 1 and 2: how far the private estimate is from the non-private one, and from the truth."""

import math
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphveil as gv
from graphveil.exceptions import UnboundedProblem
from paper.files import PUBLISHED, read, write
from paper.mechanism import as_printed, noise_sd, noisy_second_moment, printed_lasso, scaled, second_moment
from paper.runs import Record, Task, collect, generator, noise_seed
from paper.settings import (
    FOLDS,
    ITERATIONS,
    LASSO_GRID,
    RHO,
    RIDGE_GRID,
    RIDGE_GRID_AS_PRINTED,
    SEED,
    TABLE1,
    TABLE2,
    VARIANTS,
    Table,
)

Matrix = NDArray[np.float64]
NORMS = ("l1", "F", "l2")
TABLES = {table.name: table for table in (TABLE1, TABLE2)}


def make(table: Table, reps: int, jobs: int, folder: Path) -> None:
    """Run the table in all three variants and write its files into ``folder``."""
    records = collect(table.name, replicate, tasks(table, reps), jobs)
    published = _published(table)
    for variant in VARIANTS:
        rows = [_summary(cell, group, published) for cell, group in _cells(records, variant).items()]
        write(folder / f"{table.name}_{variant}.csv", rows)
    write(folder / f"{table.name}_truth.csv", _against_truth(records))


def tasks(table: Table, reps: int) -> list[Task]:
    """One for each model, size and replication; replications first, so that early stops are balanced."""
    return [
        {"table": table.name, "model": model, "n": n, "rep": rep, "seed": SEED}
        for rep in range(reps)
        for model in table.models
        for n in table.sizes
    ]


def replicate(task: Task) -> list[Record]:
    """All variants and all ε on one draw of the rows. The noise of all ε is the same but for its size."""
    table, n = TABLES[task["table"]], task["n"]
    key = (task["seed"], task["model"], n, task["rep"])
    rng = generator("rows", *key)
    theta = gv.simulate.paper_model(task["model"], table.p, random_state=rng)
    rows, longest = scaled(gv.simulate.gaussian_rows(theta, n, random_state=rng))
    truth = theta * longest**2  # of the scaled rows
    # What is known beforehand about the rows, for the variant that may not look at them.
    public_norm = 1.25 * math.sqrt(np.trace(np.linalg.inv(theta))) / longest
    records = []
    for variant, alpha in _penalties(table, rows, key).items():
        reference, private = _FITS[table.name, variant](rows, alpha, noise_seed(*key))
        for epsilon in table.epsilons:
            estimate = private(epsilon, 1 / n, public_norm)
            for norm in NORMS:
                loss = gv.metrics.relative_loss(estimate, reference, norm)
                if variant == "as_printed" and norm == "l2" and epsilon >= 0.3:
                    loss *= float(np.linalg.norm(reference, 2) / np.linalg.norm(reference))  # ERRATA.md, 2
                record = {"variant": variant, "model": task["model"], "n": n, "epsilon": epsilon, "norm": norm}
                record["loss"] = loss
                record["error"] = gv.metrics.relative_loss(estimate, truth, norm)
                record["non_private"] = gv.metrics.relative_loss(reference, truth, norm)
                records.append(record)
    return records


def _penalties(table: Table, rows: Matrix, key: tuple) -> dict[str, float]:
    """λ of each variant by cross-validation on the raw rows; ours has it for the non-private estimate only."""
    choose = partial(gv.solvers.choose_alpha, generator("folds", *key).permutation(rows), folds=FOLDS)
    if table is TABLE2:
        path = partial(gv.solvers.graphical_lasso_path, tol=1e-4)
        return dict.fromkeys(VARIANTS, choose(LASSO_GRID, path))
    grids = {"as_printed": RIDGE_GRID_AS_PRINTED, "corrected": RIDGE_GRID, "graphveil": RIDGE_GRID}
    return {variant: choose(grid, gv.solvers.ridge_precision) for variant, grid in grids.items()}


def _printed_ridge(rows, alpha, seed):
    def private(epsilon, delta, _norm):
        return gv.PrivateRidgePrecision(**as_printed(epsilon, delta, alpha, seed)).fit(rows).precision_

    return gv.solvers.ridge_precision(second_moment(rows), alpha), private


def _corrected_ridge(rows, alpha, seed):
    def private(epsilon, delta, _norm):
        return gv.solvers.ridge_precision(noisy_second_moment(rows, epsilon, delta, seed), alpha)

    return gv.solvers.ridge_precision(second_moment(rows), alpha), private


def _our_dense(rows, alpha, seed):
    def private(epsilon, delta, norm):
        model = gv.PrivatePrecision(epsilon, delta, data_norm=norm, assume_centered=True, random_state=seed)
        return model.fit(rows).precision_

    return gv.solvers.ridge_precision(second_moment(rows), alpha), private


def _printed_lasso(rows, alpha, seed):
    def private(epsilon, delta, _norm):
        options = as_printed(epsilon, delta, alpha, seed) | {"rho": RHO, "max_iter": ITERATIONS}
        return gv.PrivateGraphicalLasso(**options).fit(rows).precision_

    return printed_lasso(second_moment(rows), alpha), private


def _corrected_lasso(rows, alpha, seed):
    p = rows.shape[1]

    def private(epsilon, delta, _norm):
        # Theorem 4.2 adds the size of the largest entry of the noise to λ. Without it there is no minimiser.
        largest = noise_sd(len(rows), epsilon, delta) * math.sqrt(2 * math.log(p * (p + 1) / 2))
        noisy = noisy_second_moment(rows, epsilon, delta, seed)
        try:
            return gv.solvers.graphical_lasso(noisy, alpha + largest).precision
        except UnboundedProblem as error:  # once in some hundred draws an entry is larger still
            return gv.solvers.graphical_lasso(noisy, alpha + error.safe_alpha).precision

    return gv.solvers.graphical_lasso(second_moment(rows), alpha).precision, private


def _our_network(rows, alpha, seed):
    def private(epsilon, delta, norm):
        model = gv.PrivateGraphicalLasso(epsilon, delta, data_norm=norm, assume_centered=True, random_state=seed)
        return model.fit(rows).precision_

    return gv.solvers.graphical_lasso(second_moment(rows), alpha).precision, private


# Each takes scaled rows, λ and a seed for the noise, and gives the non-private estimate and a function of (ε, δ, a
# public bound on the norms) for the private one.
_FITS = {
    ("table1", "as_printed"): _printed_ridge,
    ("table1", "corrected"): _corrected_ridge,
    ("table1", "graphveil"): _our_dense,
    ("table2", "as_printed"): _printed_lasso,
    ("table2", "corrected"): _corrected_lasso,
    ("table2", "graphveil"): _our_network,
}


def _cells(records: list[Record], variant: str) -> dict[tuple, list[Record]]:
    cells = defaultdict(list)
    for record in records:
        if record["variant"] == variant:
            cells[record["model"], record["n"], record["epsilon"], record["norm"]].append(record)
    return dict(sorted(cells.items(), key=lambda cell: (*cell[0][:3], NORMS.index(cell[0][3]))))


def _summary(cell: tuple, group: list[Record], published: dict[tuple, tuple[str, str]]) -> Record:
    losses = np.array([record["loss"] for record in group])
    sd = losses.std(ddof=1) if losses.size > 1 else math.nan
    paper_mean, paper_se = published[cell]
    return {
        **dict(zip(("model", "n", "epsilon", "norm"), cell, strict=True)),
        "mean": f"{losses.mean():.5g}",
        "se": f"{sd / math.sqrt(losses.size):.3g}",
        "paper_mean": paper_mean,
        "paper_se": paper_se,
        "sd": f"{sd:.3g}",
        "replications": losses.size,
    }


def _against_truth(records: list[Record]) -> list[Record]:
    """Error against the true matrix, which is what a user wants to know; answering zero scores 1."""
    columns = {variant: _cells(records, variant) for variant in VARIANTS}
    rows = []
    for cell, group in columns["graphveil"].items():
        row = dict(zip(("model", "n", "epsilon", "norm"), cell, strict=True))
        row["non_private"] = f"{np.mean([record['non_private'] for record in group]):.4g}"
        for variant in VARIANTS:
            row[variant] = f"{np.mean([record['error'] for record in columns[variant][cell]]):.4g}"
        rows.append(row)
    return rows


def _published(table: Table) -> dict[tuple, tuple[str, str]]:
    return {
        (int(row["model"]), int(row["n"]), float(row["epsilon"]), row["norm"]): (row["mean"], row["se"])
        for row in read(PUBLISHED / f"{table.name}.csv")
    }
