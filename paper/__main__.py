"""The command line: python -m paper table1 [--reps 50] [--jobs 2] [--quick]."""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from paper import classify, networks, roc, tables, theorems
from paper.files import RESULTS
from paper.settings import TABLE1, TABLE2

QUICK_RESULTS = RESULTS / "quick"
QUICK_REPS = 2

EXPERIMENTS: dict[str, Callable[[int, int, Path], None]] = {
    "table1": lambda *run: tables.make(TABLE1, *run),
    "table2": lambda *run: tables.make(TABLE2, *run),
    "figure1": roc.make_figure1,
    "figure2": classify.make,
    "figure3": roc.make_figure3,
    "figure4": networks.make,
    "theorem1": theorems.make_theorem1,
    "theorem2": theorems.make_theorem2,
}


def main() -> None:
    """Parse the arguments and run what they ask for."""
    parser = argparse.ArgumentParser(prog="python -m paper", description="Reproduce the paper's tables and figures.")
    parser.add_argument("what", choices=[*EXPERIMENTS, "all"])
    parser.add_argument("--reps", type=int, default=50, help="replications (default 50, the paper's)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_REPS} replications, written to results/quick instead of results"
    )
    arguments = parser.parse_args()
    if arguments.reps < 1 or arguments.jobs < 1:
        parser.error("--reps and --jobs must be at least 1")
    reps, folder = (QUICK_REPS, QUICK_RESULTS) if arguments.quick else (arguments.reps, RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS if arguments.what == "all" else [arguments.what]:
        began = time.monotonic()
        EXPERIMENTS[name](reps, arguments.jobs, folder)
        print(f"{name}: {reps} replications, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
