"""The attacker's curve: python benchmarks/attacker.py (needs matplotlib)

What somebody who knows every record but one can tell from a release: theory for several ε, and guesses that were really
made by `gv.audit`'s attacker at ε = 4. Saves docs/figures/attacker.png and benchmarks/results/attacker.csv.
"""

import csv
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr, ndtri

import graphveil as gv
from graphveil.auditing.attacker import Attacker
from graphveil.auditing.neighbours import PAIRS
from graphveil.spec.rounding import format_round_up

HERE = Path(__file__).parent
DELTA = 1e-6
EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]
COLOURS = ["#9ecae1", "#6baed6", "#1b6ca8", "#66a182", "#edae49", "#d1495b"]


def record():
    """μ, the best share of right guesses at even odds, and what is found at few false alarms."""
    with (HERE / "results" / "attacker.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["epsilon", "mu", "right guesses", "found at 1% false alarms", "found at 0.1% false alarms"])
        for epsilon in EPSILONS:
            mu = gv.Budget(epsilon, DELTA).mu
            found = [float(ndtr(ndtri(rate) + mu)) for rate in (0.01, 0.001)]
            row = [epsilon, *(format_round_up(value, 4) for value in (mu, float(ndtr(mu / 2)), *found))]
            writer.writerow(row)
            print(*row)


def guesses(runs):
    """True and false positive rates of the attacker at ε = 4, over thresholds."""
    pair, budget = PAIRS["orthogonal"], gv.Budget(4.0, DELTA)
    attacker = Attacker(pair)
    low, high = (
        np.array([attacker.log_likelihood_ratio(pair.release(known, budget)) for _ in range(runs)])
        for known in (pair.without, pair.within)
    )
    thresholds = np.quantile(low, np.linspace(0.02, 0.98, 25))
    return [(float((low > t).mean()), float((high > t).mean())) for t in thresholds]


def figure(runs):
    drawing, axes = plt.subplots(1, 2, figsize=(11, 4.6))
    for axis, rate in zip(axes, (np.linspace(1e-6, 1 - 1e-6, 500), np.geomspace(1e-4, 1 - 1e-6, 500)), strict=True):
        axis.plot(rate, rate, color="black", lw=0.8, ls=":", label="a coin")
        for epsilon, colour in zip(EPSILONS, COLOURS, strict=True):
            axis.plot(rate, ndtr(ndtri(rate) + gv.Budget(epsilon, DELTA).mu), color=colour, label=f"ε = {epsilon:g}")
        axis.set_xlabel("false alarms: “was in it” said of somebody who was not")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].scatter(
        *zip(*guesses(runs), strict=True), s=16, color="black", zorder=3, label=f"tried, ε = 4, {runs:,} a side"
    )
    axes[0].set_ylabel("found: “was in it” said of somebody who was")
    axes[0].legend(frameon=False, loc="lower right", fontsize=9)
    axes[1].set_xscale("log")
    axes[1].set_yscale("log")
    axes[1].set_ylim(1e-4, 1)
    drawing.savefig(HERE.parent / "docs" / "figures" / "attacker.png", dpi=130, bbox_inches="tight")


if __name__ == "__main__":
    record()
    figure(int(sys.argv[1]) if sys.argv[1:] else 4000)
