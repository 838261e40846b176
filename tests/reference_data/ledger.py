"""Writes a ledger of today's version N, ledger-N.sql, which every later graphveil must read or upgrade.

PYTHONPATH=tests python tests/reference_data/ledger.py FILE

ledger-1.sql was written by the last graphveil with version 1.
"""

import sqlite3
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv
from helpers.ledgers import ROWS, event, opened, release, request

SMALL = gv.Budget(0.5, 1e-6)
# A stored release of every kind.
KEPT = [
    ("plain", {"budget": SMALL}),
    ("mean", {"budget": SMALL, "assume_centered": False}),
    (
        "labels",
        {"budget": SMALL, "assume_centered": False, "labels": gv.Labels(["x", "y"]), "rows": (ROWS, ["x"] * 30)},
    ),
    ("paper", {"budget": SMALL, "mechanism": "paper"}),
    ("adaptive", {"budget": gv.Budget(2.0, 1e-6), "assume_centered": False, "adaptive": True}),
    (
        "norm",
        {
            "budget": gv.Budget(4.0, 1e-6),
            "domain": gv.Domain(data_norm="private"),
            "rows": np.linspace(-1.0, 1.0, 4000).reshape(2000, 2),
        },
    ),
]


def main(name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        ledger = opened(path)
        ledger.create("simulated", ledger.budget("people"))
        ledger.create("kept", gv.Budget(8.0, 1e-6))
        ledger.charge("people", event(0.1 + 0.2))
        ledger.charge("people", event(0.5, 1e-9, rows_per_person=3), request("lost"))
        ledger.charge("simulated", event(0.25, seeded=True))
        for key, asked in KEPT:
            release(ledger, key=key, dataset="kept", **asked)
        with sqlite3.connect(path) as connection:
            lines = list(connection.iterdump())
        connection.close()
    Path(__file__).with_name(name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
