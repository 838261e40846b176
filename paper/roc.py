"""Figures 1 and 3: do the estimates find the edges? ROC curves over the penalty, averaged over replications."""

from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphveil as gv
from graphveil.exceptions import SolverError
from paper import drawing
from paper.cells import consensus_network, log_intensities
from paper.files import write
from paper.mechanism import noisy_second_moment, printed_lasso, scaled, second_moment
from paper.runs import Record, Task, collect, generator, noise_seed
from paper.settings import FIGURE1, FIGURE3, SEED, VARIANTS

Matrix = NDArray[np.float64]
# ε of the curve without privacy, in files.
NO_PRIVACY = "none"
RATES = np.linspace(0, 1, 101)
PENALTIES = 15


def make_figure1(reps: int, jobs: int, folder: Path) -> None:
    """Models 3 and 4."""
    tasks = [{"model": model, "rep": rep, "seed": SEED} for rep in range(reps) for model in FIGURE1["models"]]
    records = collect("figure1", replicate_figure1, tasks, jobs)
    _publish(records, folder, "figure1", {f"Model {model}": f"Model {model}" for model in FIGURE1["models"]})


def make_figure3(reps: int, jobs: int, folder: Path) -> None:
    """The cell-signalling data against the consensus network; only the noise differs between replications."""
    records = collect("figure3", replicate_figure3, [{"rep": rep, "seed": SEED} for rep in range(reps)], jobs)
    _publish(records, folder, "figure3", {"cells": "Cell signalling, n = 7,466, p = 11"})


def replicate_figure1(task: Task) -> list[Record]:
    """All variants on one draw of the rows."""
    rng = generator("figure1", task["seed"], task["model"], task["rep"])
    theta = gv.simulate.paper_model(task["model"], FIGURE1["p"], random_state=rng)
    rows = gv.simulate.gaussian_rows(theta, FIGURE1["n"], random_state=rng)
    public = {"data_norm": 1.25 * np.sqrt(np.trace(np.linalg.inv(theta))), "assume_centered": True}
    seed = noise_seed("figure1", task["seed"], task["model"], task["rep"])
    return _curves(f"Model {task['model']}", rows, theta, FIGURE1, public, seed)


def replicate_figure3(task: Task) -> list[Record]:
    """All variants with one draw of the noise."""
    logs, bounds = log_intensities()
    seed = noise_seed("figure3", task["seed"], task["rep"])
    return _curves("cells", logs, consensus_network(), FIGURE3, {"bounds": bounds}, seed)


def _curves(what: str, rows: Matrix, truth: Matrix, figure: dict, public: dict, seed: int) -> list[Record]:
    records = []
    short, _ = scaled(rows - rows.mean(axis=0) if "bounds" in public else rows)
    exact = second_moment(short)
    for variant in VARIANTS:
        path = _printed_path if variant == "as_printed" else _certified_path
        curves = {NO_PRIVACY: _ranking(np.linalg.inv(exact), truth) if variant == "graphveil" else path(exact, truth)}
        for epsilon in figure["epsilons"]:
            if variant == "graphveil":
                model = gv.PrivateGraphicalLasso(epsilon, figure["delta"], random_state=seed, **public).fit(rows)
                curves[epsilon] = _ranking(model.precision_, truth)
            else:
                curves[epsilon] = path(noisy_second_moment(short, epsilon, figure["delta"], seed), truth)
        for epsilon, curve in curves.items():
            # Steps up are read at their top: rates that repeat are pulled apart by a hair. Where a smaller penalty
            # finds fewer edges, the larger one is taken.
            places = curve.false_positive_rate + 1e-12 * np.arange(curve.false_positive_rate.size)
            heights = np.interp(RATES + 1e-9, places, np.maximum.accumulate(curve.true_positive_rate))
            record = {"what": what, "variant": variant, "epsilon": epsilon, "area": curve.area}
            records.append(record | {"true_positive_rate": heights.round(6).tolist()})
    return records


def _penalties(S: Matrix) -> NDArray[np.float64]:
    largest = float(np.abs(S - np.diag(S.diagonal())).max())
    return largest * np.geomspace(1, 1e-3, PENALTIES)


def _ranking(precision: Matrix, truth: Matrix) -> gv.metrics.RocCurve:
    """Pairs by the size of their partial correlation: one fit gives the whole curve."""
    return gv.metrics.roc_curve(gv.metrics.partial_correlations(precision), truth)


def _printed_path(S: Matrix, truth: Matrix) -> gv.metrics.RocCurve:
    """1,000 plain iterations for every λ."""
    return gv.metrics.roc_curve_of_path((printed_lasso(S, alpha) for alpha in _penalties(S)), truth)


def _certified_path(S: Matrix, truth: Matrix) -> gv.metrics.RocCurve:
    """The minimisers for as many λ as have one, or one that can be certified: near the end they run away."""
    found = []
    for alpha in _penalties(S):
        try:
            found.append(gv.solvers.graphical_lasso(S, alpha).precision)
        except SolverError:
            break
    return gv.metrics.roc_curve_of_path(found, truth)


def _publish(records: list[Record], folder: Path, name: str, panels: dict[str, str]) -> None:
    groups = defaultdict(list)
    for record in records:
        groups[record["what"], record["variant"], str(record["epsilon"])].append(record)
    rows = []
    for (what, variant, epsilon), group in groups.items():
        areas = np.array([record["area"] for record in group])
        spread = areas.std(ddof=1) if areas.size > 1 else np.nan
        row = {"what": what, "variant": variant, "epsilon": epsilon, "area_mean": f"{areas.mean():.4f}"}
        rows.append(row | {"area_sd": f"{spread:.4f}", "area_least": f"{areas.min():.4f}", "replications": areas.size})
    write(folder / f"{name}.csv", rows)
    curves = {key: np.array([record["true_positive_rate"] for record in group]) for key, group in groups.items()}
    drawing.roc_curves(folder / name, RATES, curves, panels)
