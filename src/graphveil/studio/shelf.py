"""The open releases of a studio, and what is computed from them for free: reports, regressions, comparisons."""

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import InvalidParameter

if TYPE_CHECKING:
    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release

__all__ = ["Shelf"]

_SHOWN = 20  # differences of a kind, the surest first


class Shelf:
    """Releases by name."""

    def __init__(self) -> None:
        self._releases: dict[str, Release] = {}
        self._groups: GroupedRelease | None = None
        self._pages: dict[str, str] = {}
        self._lock = threading.Lock()

    def put(self, releases: "dict[str, Release]", groups: "GroupedRelease | None") -> None:
        """In place of those that were there; ``groups``, if they were made together."""
        with self._lock:
            self._releases, self._groups, self._pages = dict(releases), groups, {}

    def open(self, path: str) -> None:
        """Read a release, or the releases of several groups, from a file."""
        from graphveil.released.grouped import read_any_release
        from graphveil.released.release import Release, read_content

        found = read_any_release(read_content(os.path.expanduser(path)), path)
        parts = {"": found} if isinstance(found, Release) else {f" ({level})": part for level, part in found.items()}
        with self._lock:
            for group, part in parts.items():
                name = f"{Path(path).stem}{group}"
                if self._releases.get(name, part) != part:  # another file of that name
                    name = f"{path}{group}"
                self._releases[name] = part

    def describe(self) -> dict[str, Any]:
        """Names of the releases, and names and labels of their columns."""
        return {
            "groups": self._groups is not None,
            "releases": [
                {"name": name, "variables": [*each.column_names], "labels": [*each.column_labels]}
                for name, each in self._items()
            ],
        }

    def _items(self) -> "list[tuple[str, Release]]":
        with self._lock:
            return [*self._releases.items()]

    def find(self, name: str) -> "Release":
        """A release by its name."""
        found = dict(self._items()).get(name)
        if found is None:
            raise InvalidParameter("There is no such release yet.")
        return found

    def report_html(self, which: str) -> str:
        """The report of a release, by its place in the list, or of "all" groups side by side."""
        from graphveil.report.page import report_html

        made = self._groups if which == "all" else dict(enumerate(self._releases.values())).get(int(which))
        if made is None:
            raise InvalidParameter("There is no release yet.")
        page = self._pages.get(made.checksum)
        if page is None:
            page = self._pages[made.checksum] = report_html(made)
        return page

    def regress(self, release: str, outcome: str, on: "list[str]") -> dict[str, Any]:
        """A regression table, from the release alone."""
        from graphveil.inference.regression import regression

        return regression(self.find(release), outcome, on).to_dict()

    def compare(self, first: str, second: str, overlap: bool) -> dict[str, Any]:
        """What two releases differ in."""
        from graphveil.inference.comparison import compare

        found = compare(self.find(first), self.find(second), names=(first, second), overlap=bool(overlap))
        tables = []
        for kind in found.kinds:
            differs = found.differ(kind)
            surest = kind.p_value.argsort(kind="stable")[:_SHOWN]
            numbers = ("first", "second", "difference", "lower", "upper", "df", "p_value")
            rows = [
                {"of": kind.labels[k], "differs": bool(differs[k])}
                | {name: _plain(getattr(kind, name)[k]) for name in numbers}
                for k in surest
            ]
            tables.append({"what": kind.what, "compared": len(kind.labels), "differ": int(differs.sum()), "rows": rows})
        notes = [found.reason] if found.reason is not None else []
        if found.smallest_difference is not None:
            notes.append(
                f"Of a single pair, partial correlations that differ by {found.smallest_difference:.2g} would be told "
                "apart four times out of five."
            )
        return {"names": [first, second], "fdr": found.fdr, "tables": tables, "notes": notes}


def _plain(value: Any) -> float | None:
    return None if value != value else float(value)  # noqa: PLR0124 - NaN
