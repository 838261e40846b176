"""The figures: vector and PNG, told apart by line style and shade as well as by colour, bands over replications."""

from collections import defaultdict
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

TITLES = {"as_printed": "as printed", "corrected": "corrected", "graphveil": "graphveil"}
BLACK, RED, BLUE, GREY = "#000000", "#c1440e", "#1b6ca8", "#7a7a7a"
# Dark, middle, light: also in grey.
EPSILON_STYLES = {"none": (BLACK, "-"), "2.0": (BLUE, "--"), "1.0": (RED, ":")}
mpl.rcParams.update(
    {
        "font.family": "serif",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.hashsalt": "paper",  # the same file for the same numbers
        "svg.fonttype": "none",
    }
)


def save(figure, path: Path) -> None:
    """As SVG and PNG."""
    figure.savefig(path.with_suffix(".svg"), bbox_inches="tight", metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=200, bbox_inches="tight")
    plt.close(figure)


def roc_curves(path: Path, rates, curves: dict, panels: dict[str, str]) -> None:
    """Mean curves with a band from the 10th to the 90th percentile: a line of panels for each ``what``."""
    figure, grid = plt.subplots(
        len(panels), 3, figsize=(7.2, 2.6 * len(panels)), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for line, (what, title) in zip(grid, panels.items(), strict=True):
        for axes, variant in zip(line, TITLES, strict=True):
            for epsilon, (colour, style) in EPSILON_STYLES.items():
                draws = curves[what, variant, epsilon]
                label = "no privacy" if epsilon == "none" else f"ε = {float(epsilon):g}"
                area = np.trapezoid(draws, rates, axis=1).mean()
                axes.plot(rates, draws.mean(axis=0), style, color=colour, lw=1.6, label=f"{label} ({area:.2f})")
                axes.fill_between(rates, *np.quantile(draws, [0.1, 0.9], axis=0), color=colour, alpha=0.13, lw=0)
            axes.plot([0, 1], [0, 1], color=GREY, lw=0.6)
            axes.set_title(f"{title}\n{TITLES[variant]}" if len(panels) == 1 else f"{title}, {TITLES[variant]}", size=9)
            axes.legend(loc="lower right", title="(area)", title_fontsize=7, fontsize=7.5)
    for axes in grid[-1]:
        axes.set_xlabel("false positive rate")
    for line in grid:
        line[0].set_ylabel("true positive rate")
    save(figure, path)


def misclassification(path: Path, epsilons, summary: dict) -> None:
    """Mean error against ε, with the band of the middle 80% of the splits."""
    figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
    styles = {"as_printed": (RED, ":", "s"), "corrected": (GREY, "--", "^"), "graphveil": (BLUE, "-", "o")}
    for variant, (colour, style, marker) in styles.items():
        draws = np.array([summary[variant, epsilon] for epsilon in epsilons])
        axes.plot(epsilons, draws.mean(axis=1), style, color=colour, marker=marker, ms=4, label=TITLES[variant])
        axes.fill_between(epsilons, *np.quantile(draws, [0.1, 0.9], axis=1), color=colour, alpha=0.13, lw=0)
    for variant, style, label in (("non_private", "-", "no privacy"), ("majority", "-.", "majority class")):
        axes.axhline(summary[variant, "none"].mean(), color=BLACK, ls=style, lw=0.9)
        axes.annotate(label, (epsilons[0], summary[variant, "none"].mean()), xytext=(-6, 3),
                      textcoords="offset points", size=8)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("ε  (δ = 0.001, replacing one record)")
    axes.set_ylabel("misclassification on test rows")
    axes.legend(fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.9))
    save(figure, path)


def networks(path: Path, columns, truth, panels: dict) -> None:
    """Networks on a circle: edges of the consensus in full lines, others broken."""
    alphas = list(dict.fromkeys(alpha for alpha, _ in panels))
    epsilons = list(dict.fromkeys(epsilon for _, epsilon in panels))
    figure, grid = plt.subplots(
        len(alphas), len(epsilons), figsize=(7.2, 2.55 * len(alphas)), squeeze=False, layout="constrained"
    )
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(columns)) / len(columns)
    x, y = np.cos(angles), np.sin(angles)
    for line, alpha in zip(grid, alphas, strict=True):
        for axes, epsilon in zip(line, epsilons, strict=True):
            edges = panels[alpha, epsilon]
            for i, j in edges or ():
                style = {"color": BLACK, "lw": 1.3} if truth[i, j] else {"color": GREY, "lw": 0.8, "ls": (0, (2, 2))}
                axes.plot(x[[i, j]], y[[i, j]], zorder=1, **style)
            axes.scatter(x, y, s=26, color="white", edgecolor=BLACK, lw=1, zorder=2)
            for name, a, b in zip(columns, x, y, strict=True):
                axes.text(1.24 * a, 1.18 * b, name, ha="center", va="center", size=7)
            found = sum(truth[i, j] for i, j in edges or ())
            count = "no minimiser" if edges is None else f"{len(edges)} edges, {found} of {np.triu(truth, 1).sum()}"
            privacy = "no privacy" if epsilon == "none" else f"ε = {epsilon:g}"
            penalty = ", the strongest" if alpha == "strongest" else f", λ = {alpha:g}"
            axes.set_title(f"{privacy}{penalty}\n{count}", size=8)
            axes.set(xlim=(-1.5, 1.5), ylim=(-1.35, 1.35), aspect="equal")
            axes.axis("off")
    save(figure, path)


def slopes(path: Path, panels: list) -> None:
    """Errors on log axes with bands, and the slopes that the theorems predict."""
    looks = {
        "sampling": (GREY, "--", "s"),
        "noise": (RED, ":", "^"),
        "both": (BLACK, "-", "D"),
        "graphveil": (BLUE, "-.", "o"),
        "largest entry": (GREY, "-.", "v"),
    }
    figure, grid = plt.subplots(1, len(panels), figsize=(3.9 * len(panels), 3.3), squeeze=False, layout="constrained")
    for axes, (axis, label, records, fits, predicted) in zip(grid[0], panels, strict=True):
        groups = defaultdict(lambda: defaultdict(list))
        for record in records:
            if record["part"] in predicted:
                groups[record["part"]][record[axis]].append(record["error"])
        for part, by_place in groups.items():
            colour, style, marker = looks[part]
            places = np.array(sorted(by_place))
            draws = np.array([by_place[place] for place in places])
            fit = next(row for row in fits if row["part"] == part)
            name = f"{part}: slope {float(fit['slope']):.2f}"
            axes.plot(places, draws.mean(axis=1), style, color=colour, marker=marker, ms=3.5, lw=1.2, label=name)
            axes.fill_between(places, *np.quantile(draws, [0.1, 0.9], axis=1), color=colour, alpha=0.15, lw=0)
            slope = predicted[part]
            if slope is not None:
                # The prediction passes through the last point.
                end = draws.mean(axis=1)[-1]
                axes.plot(places, end * (places / places[-1]) ** slope, color=colour, lw=0.6, alpha=0.8)
                start = (places[0], end * (places[0] / places[-1]) ** slope)
                axes.annotate(f"{slope:g}", start, xytext=(3, 4), textcoords="offset points", size=7, color=colour)
        axes.set(xscale="log", yscale="log", xlabel=label)
        if places[-1] < 1000:
            axes.set_xticks(places, [f"{place:g}" for place in places], minor=False)
            axes.minorticks_off()
        axes.legend(fontsize=7)
    grid[0][0].set_ylabel("error of the precision matrix (Frobenius)")
    save(figure, path)
