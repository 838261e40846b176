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
_PAGES = 8  # reports that are kept, of a megabyte or more


class Shelf:
    """Releases by their checksums. They are only ever added, so that what one window shows no other one changes."""

    def __init__(self) -> None:
        self._releases: dict[str, Release] = {}
        self._names: dict[str, str] = {}
        self._groups: dict[str, GroupedRelease] = {}
        self._pages: dict[str, str] = {}
        self._lock = threading.Lock()

    def put(self, releases: "dict[str, Release]") -> list[dict[str, Any]]:
        """Add releases; returns the checksum and the name of each, and names and labels of its columns."""
        with self._lock:
            for name, each in releases.items():
                self._releases[each.checksum] = each
                taken = name in self._names.values()
                self._names.setdefault(each.checksum, f"{name} ({each.checksum[:6]})" if taken else name)
        return [
            {
                "id": each.checksum,
                "name": self._names[each.checksum],
                "variables": [*each.column_names],
                "labels": [*each.column_labels],
            }
            for each in releases.values()
        ]

    def put_groups(self, groups: Any) -> str:
        """Add releases that were made together; returns their checksum."""
        self._groups[groups.checksum] = groups
        return str(groups.checksum)

    def open(self, path: str) -> list[dict[str, Any]]:
        """Read a release, or the releases of several groups, from a file."""
        from graphveil.released.grouped import read_any_release
        from graphveil.released.release import Release, read_content

        found = read_any_release(read_content(os.path.expanduser(path)), path)
        parts = {"": found} if isinstance(found, Release) else {f" ({level})": part for level, part in found.items()}
        return self.put({f"{Path(path).stem}{group}": part for group, part in parts.items()})

    def find(self, checksum: str) -> "Release":
        """A release by its checksum."""
        found = self._releases.get(str(checksum))
        if found is None:
            raise InvalidParameter("There is no such release yet.")
        return found

    def report_html(self, which: str) -> str:
        """The report of a release, or of several groups side by side, by its checksum."""
        from graphveil.report.page import report_html

        page = self._pages.get(which)
        if page is None:
            page = report_html(self._groups.get(which) or self.find(which))
            with self._lock:
                self._pages = dict([*self._pages.items()][1 - _PAGES :]) | {which: page}
        return page

    def regress(self, release: str, outcome: str, on: "list[str]") -> dict[str, Any]:
        """A regression table, from the release alone."""
        from graphveil.inference.regression import regression

        return regression(self.find(release), outcome, on).to_dict()

    def compare(self, first: str, second: str, overlap: bool) -> dict[str, Any]:
        """What two releases differ in."""
        from graphveil.planning.comparison import compare

        releases = self.find(first), self.find(second)
        a, b = (self._names[release.checksum] for release in releases)
        found = compare(*releases, names=(a, b), overlap=bool(overlap))
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
        return {"names": [a, b], "fdr": found.fdr, "tables": tables, "notes": notes}


def _plain(value: Any) -> float | None:
    return None if value != value else float(value)  # noqa: PLR0124 - NaN
