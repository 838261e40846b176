"""A health survey: which answers are related, given all the others, and how certain that is.

The RAND Health Insurance Experiment: 5,912 people, up to five years each, ten columns; the bounds come from the
codebook. The guarantee is for people, not for rows: ε = 2, δ = 1e-6 against replacing all rows of one person.

    python examples/health_survey.py [folder for the figure]
"""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import graphveil as gv

MEANING = {
    "mdvis": "doctor visits",
    "lncoins": "coinsurance",
    "idp": "deductible",
    "lpi": "participation payment",
    "fmde": "maximum spending",
    "physlm": "physical limitation",
    "disea": "chronic diseases",
    "hlthg": "health: good",
    "hlthf": "health: fair",
    "hlthp": "health: poor",
}


def main(folder: Path) -> None:
    data = gv.datasets.health_insurance()
    model = gv.PrivateGraphicalLasso(epsilon=2.0, delta=1e-6, bounds=data.bounds).fit(data.rows, person=data.people)
    edges = model.edge_intervals()
    kept = edges.select(fdr=0.1)
    names = [MEANING[column] for column in data.columns]

    print(model.release_.guarantee)
    print(f"{model.release_.n_samples:,} people with noise are as good as {model.n_eff_:,.0f} without.\n")
    print(f"{'pair':<46}{'partial correlation':>20}{'95% interval':>18}")
    pairs = [(i, j) for i, j in zip(*np.triu_indices(len(names), 1), strict=True) if kept[i, j]]
    for i, j in sorted(pairs, key=lambda pair: -abs(edges.estimate[pair])):
        interval = f"{edges.lower[i, j]:+.2f} to {edges.upper[i, j]:+.2f}"
        print(f"{names[i] + ' - ' + names[j]:<46}{edges.estimate[i, j]:>+20.2f}{interval:>18}")

    draw(folder / "health_survey.png", names, edges, kept)
    print(
        f"\nConclusion: of {len(names) * (len(names) - 1) // 2} pairs, {len(pairs)} stand out from the noise. The "
        "terms of the insurance are related by design\nof the experiment, and so are the three answers about health, "
        "since each person gives only one. Visits go with chronic diseases.\n"
        f"What the budget did not allow: partial correlations below about {edges.smallest_edge:.2f} are seldom "
        "detected. Intervals of very skewed columns\nare less reliable (docs/accuracy.md)."
    )


def draw(path: Path, names: list[str], edges: gv.EdgeIntervals, kept: np.ndarray) -> None:
    shown = np.where(kept, edges.estimate, np.nan)
    figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
    image = axes.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    for i, j in zip(*np.nonzero(kept), strict=True):
        colour = "white" if abs(shown[i, j]) > 0.6 else "black"
        axes.text(j, i, f"{shown[i, j]:+.2f}", ha="center", va="center", size=7, color=colour)
    axes.set_title("Partial correlations that stand out from the noise (ε = 2, δ = 1e-6, per person)", size=11)
    figure.colorbar(image, shrink=0.8)
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("figures"))
