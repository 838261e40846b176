"""The studio on a bundled survey, with everything entered but the budget. It is public, so the answer can be shown."""

import csv
from pathlib import Path
from typing import Any

from graphveil.studio.session import Session

__all__ = ["demo_session"]

_ACCOUNT = "health insurance study"
_PERSON = "participant"


def demo_session(folder: Path) -> Session:
    """A session in a folder of its own, which gets the survey and a ledger once the page is there."""
    table, ledger = folder / "health-insurance.csv", folder / "ledger.db"
    return Session(str(ledger), str(table), folder=folder, prepare=lambda: _prepare(table, ledger), public=True)


def _prepare(table: Path, ledger: Path) -> dict[str, Any]:
    """Write the survey and open its account; what a person would enter about it."""
    from graphveil.datasets.bundled import health_insurance
    from graphveil.ledger.ledger import Ledger
    from graphveil.spec.budget import Budget
    from graphveil.studio.columns import entry_of_kind

    data = health_insurance()
    assert data.codebook is not None
    assert data.people is not None
    with table.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow([_PERSON, *data.columns])
        lines.writerows([whose, *row] for whose, row in zip(data.people.tolist(), data.rows.tolist(), strict=True))
    Ledger(ledger).create(_ACCOUNT, Budget(3.0, 1e-6))
    columns = [{"name": _PERSON, "role": "person"}]
    columns += [{"name": name} | entry_of_kind(kind) for name, kind in data.codebook.items()]
    return {"columns": columns, "people": str(data.people.max()), "dataset": _ACCOUNT, "width": "10"}
