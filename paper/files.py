"""Where results are, and how they are read and written: CSV, one row a record."""

import csv
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PUBLISHED = Path(__file__).parent / "published"


def read(path: Path) -> list[dict[str, str]]:
    """All rows."""
    with path.open() as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """All rows, under the names of the first."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
