"""Pictures for the docs from the recorded results: python benchmarks/figures.py (needs matplotlib)."""

import csv
import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
FIGURES = HERE.parent / "docs" / "figures"
OURS, THEIRS, GREY = "#1b6ca8", "#d1495b", "#8d99ae"
PEERS = ["#edae49", "#d1495b", "#66a182", "#7b5ea7", "#2e86ab", "#555555"]


def read(name):
    with (HERE / "results" / name).open() as file:
        return list(csv.DictReader(file))


def finish(figure, name):
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / name, dpi=130, bbox_inches="tight")
    plt.close(figure)


def written(value):
    """Two digits, without an exponent."""
    return f"{float(f'{value:.2g}'):g}"


def accuracy():
    """Error of ours and of the paper's ridge, cell by cell, with the line at which answering zero stands."""
    rows = [row for row in read("utility.csv") if row["papers_median"] != "nan"][::-1]
    figure, axes = plt.subplots(figsize=(8.5, 0.55 * len(rows) + 1.2))
    for place, row in enumerate(rows):
        mine, theirs = float(row["median"]), float(row["papers_median"])
        axes.plot([mine, theirs], [place, place], color=GREY, lw=1, zorder=1)
        axes.scatter(mine, place, color=OURS, s=55, zorder=2, label="graphveil" if place == 0 else None)
        axes.scatter(theirs, place, color=THEIRS, marker="s", s=45, zorder=2, label="the paper" if place == 0 else None)
        axes.annotate(written(mine), (mine, place), xytext=(-8, 0), textcoords="offset points", ha="right", va="center")
        axes.annotate(written(theirs), (theirs, place), xytext=(8, 0), textcoords="offset points", va="center")
    axes.axvline(1.0, color="black", lw=0.8, ls=":")
    axes.annotate("answering zero", (1.0, len(rows) - 0.3), xytext=(5, 0), textcoords="offset points", fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(3e-3, 2e3)
    axes.set_ylim(-0.6, len(rows) + 0.1)
    axes.set_yticks(range(len(rows)), [row["what"] for row in rows])
    axes.set_xlabel("relative Frobenius error of the precision matrix (median)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    finish(figure, "accuracy.png")


RIVALS = {
    "graphveil": ("graphveil", OURS, "o-"),
    "graphveil, network": ("its network", OURS, "o:"),
    "AIM": ("AIM-type", PEERS[3], "D--"),
    "entry by entry": ("entry by entry", PEERS[0], "s--"),
    "coinpress": ("CoinPress", PEERS[1], "^--"),
    "separate": ("SeparateCov", PEERS[2], "v--"),
    "gaussian": ("Gaussian noise", PEERS[5], "x--"),
}


def rivals():
    """Error of every method as rows become more, for several numbers of columns and budgets."""
    rows = [row for row in read("rivals.csv") if row["cell"] == "small world"]
    figure, panels = plt.subplots(2, 3, figsize=(11, 6.6), sharex=True, sharey=True)
    shown = [(5, "1.0"), (20, "1.0"), (50, "1.0"), (200, "1.0"), (5, "0.1"), (20, "0.1")]
    for axes, (p, epsilon) in zip(panels.flat, shown, strict=True):
        cells = [row for row in rows if (int(row["p"]), row["epsilon"]) == (p, epsilon)]
        for name, (label, colour, style) in RIVALS.items():
            mine = sorted((int(row["n"]), float(row["median"])) for row in cells if row["method"] == name)
            axes.plot(*zip(*mine, strict=True), style, color=colour, label=label, ms=5)
        axes.axhline(1.0, color="black", lw=0.8, ls=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(0.006, 40)
        axes.set_title(f"{p} columns, ε = {float(epsilon):g}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[1]:
        axes.set_xlabel("rows")
    for axes in panels[:, 0]:
        axes.set_ylabel("relative error (median of 20)")
    panels[0, 0].annotate("answering zero", (600, 1.06), fontsize=8)
    panels[1, 0].legend(frameon=False, fontsize=8, loc="lower left")
    finish(figure, "rivals.png")


def rivals_on_tables():
    """Median error of every method on real tables, ours with its worst release, from our best table to the hardest."""
    rows = [row for row in read("rivals.csv") if row["cell"] not in ("small world", "band")]
    ours = {row["cell"]: row for row in rows if row["method"] == "graphveil"}
    places = {cell: place for place, cell in enumerate(sorted(ours, key=lambda cell: -float(ours[cell]["median"])))}
    figure, axes = plt.subplots(figsize=(9, 0.24 * len(places) + 1.2))
    for cell, row in ours.items():
        axes.plot([float(row["median"]), float(row["worst"])], [places[cell]] * 2, color=OURS, lw=1.5, alpha=0.5)
    for name, (label, colour, style) in [*RIVALS.items()][::-1]:
        if name == "graphveil, network":  # tables are not sparse
            continue
        mine = [row for row in rows if row["method"] == name]
        # What is beyond the right edge is drawn on it.
        errors = [min(float(row["median"]), 9.0) for row in mine]
        size = 55 if name == "graphveil" else 22
        axes.scatter(errors, [places[row["cell"]] for row in mine], s=size, color=colour, marker=style[0], label=label)
    axes.axvline(1.0, color="black", lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_xlim(8e-4, 10.0)
    axes.set_ylim(-0.8, len(places) - 0.2)
    axes.set_yticks(
        list(places.values()), [f"{cell} ({int(ours[cell]['n']):,} × {ours[cell]['p']})" for cell in places]
    )
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="y", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.set_xlabel("relative error of the precision matrix, median of 20 (line: to our worst)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(*(part[::-1] for part in axes.get_legend_handles_labels()), frameon=False, fontsize=8, loc="lower left")
    finish(figure, "rivals_tables.png")


def solvers():
    """CPU time of each solver in eigendecompositions of the same size, for every problem."""
    variants = ("one ", "graphveil,", "graphveil +")  # yardsticks, and ours with other settings: in the table only
    rows = [row for row in read("solvers.csv") if row["section"] == "single" and row["in eigh"]]
    rows = [row for row in rows if not row["what"].startswith(variants)]
    cases = list(dict.fromkeys(row["case"] for row in rows))
    names = list(dict.fromkeys(row["what"] for row in rows))
    figure, axes = plt.subplots(figsize=(9, 4.8))
    for index, name in enumerate(names):
        times = {row["case"]: float(row["in eigh"]) for row in rows if row["what"] == name}
        style = (
            {"color": OURS, "s": 70, "marker": "o"}
            if index == 0
            else {"color": PEERS[index - 1], "s": 35, "marker": "D"}
        )
        places = [place for place, case in enumerate(cases) if case in times]
        axes.scatter(places, [times[cases[place]] for place in places], label=name, zorder=3, **style)
    axes.grid(axis="x", color="#e5e5e5")
    axes.axhline(1.0, color="black", lw=0.8, ls=":")
    axes.set_yscale("log")
    axes.set_xticks(range(len(cases)), cases, rotation=25, ha="right")
    axes.set_ylabel("CPU time, in eigendecompositions")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish(figure, "solvers.png")


def scale():
    """Seconds of a pass against rows and against columns, with lines of slope 1 and 2."""
    rows = [row for row in read("scale.csv") if row["what"] == "one pass"]
    figure, both = plt.subplots(1, 2, figsize=(9, 3.6))
    for axes, moving, fixed, slope in zip(both, ("n", "p"), ("p", "n"), (1, 2), strict=True):
        common = max({row[fixed] for row in rows}, key=[row[fixed] for row in rows].count)
        points = sorted((float(row[moving]), float(row["seconds"])) for row in rows if row[fixed] == common)
        size, seconds = zip(*points, strict=True)
        axes.loglog(size, seconds, "o-", color=OURS)
        axes.loglog(size, [seconds[-1] * (x / size[-1]) ** slope for x in size], ":", color=GREY)
        axes.set_xlabel(f"{'rows' if moving == 'n' else 'columns'} ({common} {'columns' if moving == 'n' else 'rows'})")
        axes.set_ylabel("seconds of a pass")
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    finish(figure, "scale.png")


if __name__ == "__main__":
    accuracy()
    rivals()
    rivals_on_tables()
    solvers()
    if (HERE / "results" / "scale.csv").exists():
        scale()
    print(json.dumps([path.name for path in sorted(FIGURES.iterdir())]))
