"""Writes tests/references/ledger-1.sql: a ledger of version 1, which every later graphveil must read or upgrade.

PYTHONPATH=tests python tests/references/ledger.py
"""

import sqlite3
import tempfile
from pathlib import Path

from ledger_support import event, opened, request


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        ledger = opened(path)
        ledger.create("simulated", ledger.budget("people"))
        ledger.charge("people", event(0.1 + 0.2))
        ledger.charge("people", event(0.5, 1e-9, rows_per_person=3), request("lost"))
        ledger.charge("simulated", event(0.25, seeded=True))
        with sqlite3.connect(path) as connection:
            lines = list(connection.iterdump())
        connection.close()
    Path(__file__).with_name("ledger-1.sql").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
