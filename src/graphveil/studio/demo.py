"""The studio on a bundled survey, with everything entered but the budget. It is public, so the answer can be shown."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.datasets.bundled import health_insurance
from graphveil.ledger.ledger import Ledger
from graphveil.spec.budget import Budget
from graphveil.studio.session import Session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphveil.released.release import Release

__all__ = ["demo_session"]

_ACCOUNT, _TOTAL = "health insurance study", Budget(3.0, 1e-6)
_PERSON = "participant"
_SHOWN = 12


def demo_session(folder: Path) -> Session:
    """A session in a folder of its own, which gets the survey and a ledger."""
    data = health_insurance()
    assert data.bounds is not None
    assert data.people is not None
    path, ledger = folder / "health-insurance.csv", folder / "ledger.db"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([_PERSON, *data.columns])
        table.writerows([whose, *row] for whose, row in zip(data.people.tolist(), data.rows.tolist(), strict=True))
    Ledger(ledger).create(_ACCOUNT, _TOTAL)
    columns = [{"name": _PERSON, "role": "person", "lower": "", "upper": "", "source": ""}]
    columns += [
        {"name": name, "role": "number", "lower": f"{low:g}", "upper": f"{high:g}", "source": "codebook of the study"}
        for name, (low, high) in data.bounds.items()
    ]
    draft = {
        "columns": columns,
        "people": str(data.people.max()),
        "dataset": _ACCOUNT,
        "width": "10",
    }
    return Session(str(ledger), str(path), folder=folder, draft=draft, compare=_compare)


def _exact_partial_correlations(names: tuple[str, ...]) -> "NDArray[np.float64]":
    """Of the clipped rows, in which every person counts once, as in a release."""
    import numpy as np

    from graphveil.metrics import partial_correlations

    data = health_insurance()
    assert data.bounds is not None
    assert data.people is not None
    lower, upper = zip(*data.bounds.values(), strict=True)
    columns = [data.columns.index(name) for name in names]
    rows = data.rows.clip(lower, upper)[:, columns]
    weights = 1.0 / np.bincount(data.people)[data.people]
    return partial_correlations(np.linalg.inv(np.cov(rows.T, aweights=weights)))


def _compare(release: "Release") -> list[dict[str, Any]]:
    """The strongest pairs of a release beside their exact partial correlations."""
    import numpy as np

    from graphveil.recovery.analysis import Analysis
    from graphveil.recovery.estimate import estimate_release

    names = release.columns
    assert names is not None
    exact = _exact_partial_correlations(names)
    found = estimate_release(release)
    intervals = Analysis(release, found).find_intervals(0.95)
    released = found.partial_correlations if intervals.reason else intervals.estimate
    pairs = np.column_stack(np.triu_indices(len(names), 1))
    strongest = pairs[np.argsort(-np.abs(released[tuple(pairs.T)]))][:_SHOWN]

    def number(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    return [
        {
            "first": names[i],
            "second": names[j],
            "released": float(released[i, j]),
            "lower": number(intervals.lower[i, j]),
            "upper": number(intervals.upper[i, j]),
            "exact": float(exact[i, j]),
        }
        for i, j in strongest
    ]
