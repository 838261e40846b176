"""Figure 4: the networks of the cell-signalling data at two penalties, without privacy and with.

Ours has no λ to set: with the penalty that the release chooses, nearly all pairs are joined, as they are without
privacy (7,466 rows tell 55 pairs apart from zero). It shows the pairs of the largest partial correlations instead, as
many as the consensus has.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphveil as gv
from graphveil.exceptions import UnboundedProblem
from paper import drawing
from paper.cells import consensus_network, log_intensities
from paper.files import write
from paper.mechanism import noisy_second_moment, printed_lasso, scaled, second_moment
from paper.runs import Record, Task, collect, noise_seed
from paper.settings import FIGURE4, SEED, VARIANTS

Matrix = NDArray[np.float64]


def make(_reps: int, jobs: int, folder: Path) -> None:
    """One draw of the noise, as in the paper: a figure that shows a network cannot show an average."""
    records = collect("figure4", draw, [{"variant": variant, "seed": SEED} for variant in VARIANTS], jobs)
    truth = consensus_network() != 0
    columns = gv.datasets.cell_signalling().columns
    panels = {(record["variant"], record["alpha"], record["epsilon"]): record["edges"] for record in records}
    rows = [
        {
            "variant": variant,
            "alpha": alpha,
            "epsilon": epsilon,
            "edges": "no minimiser" if edges is None else len(edges),
            "of_the_consensus": len([pair for pair in edges or () if truth[tuple(pair)]]),
            "consensus": int(np.triu(truth, 1).sum()),
        }
        for (variant, alpha, epsilon), edges in panels.items()
    ]
    write(folder / "figure4.csv", rows)
    for variant in VARIANTS:
        mine = {key[1:]: edges for key, edges in panels.items() if key[0] == variant}
        drawing.networks(folder / f"figure4_{variant}", columns, truth, mine)


def draw(task: Task) -> list[Record]:
    """The networks of one variant."""
    logs, bounds = log_intensities()
    short, _ = scaled(logs - logs.mean(axis=0))
    seed = noise_seed("figure4", task["seed"])
    records = []
    ours = task["variant"] == "graphveil"
    for epsilon in ("none", *FIGURE4["epsilons"]):
        for alpha in ("strongest",) if ours else FIGURE4["alphas"]:
            if ours and epsilon != "none":
                model = gv.PrivateGraphicalLasso(epsilon, FIGURE4["delta"], bounds=bounds, random_state=seed)
                found = _strongest(model.fit(logs).precision_)
            elif ours:
                found = _strongest(np.linalg.inv(second_moment(short)))
            else:
                S = second_moment(short)
                if epsilon != "none":
                    S = noisy_second_moment(short, epsilon, FIGURE4["delta"], seed)
                found = _fitted(S, alpha, as_printed=task["variant"] == "as_printed")
            edges = None if found is None else np.argwhere(np.triu(found, 1)).tolist()
            records.append({"variant": task["variant"], "alpha": alpha, "epsilon": epsilon, "edges": edges})
    return records


def _strongest(precision: Matrix) -> Matrix:
    """The largest partial correlations, as many as the consensus has edges; 0 elsewhere."""
    sizes = np.abs(np.triu(gv.metrics.partial_correlations(precision), 1))
    count = int(np.triu(consensus_network(), 1).sum())
    return np.where(sizes >= np.sort(sizes, axis=None)[-count], sizes, 0.0)


def _fitted(S: Matrix, alpha: float, as_printed: bool) -> Matrix | None:
    if as_printed:
        return printed_lasso(S, alpha)
    try:
        return gv.solvers.graphical_lasso(S, alpha).precision
    except UnboundedProblem:
        return None
