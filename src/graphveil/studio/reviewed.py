"""The ledger as one release of the studio uses it: for the table that was reviewed, and for no other."""

from typing import TYPE_CHECKING

from graphveil.ledger.ledger import Ledger

if TYPE_CHECKING:
    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release
    from graphveil.spec.events import ReleaseEvent
    from graphveil.spec.request import Request
    from graphveil.studio.table import Table

__all__ = ["ReviewedLedger"]


class ReviewedLedger(Ledger):
    """A ledger that refuses as soon as the files of a table are not those that were reviewed.

    The charge comes after the first answer was evaluated and before its noise is drawn. If the files are the same after
    that pass as before it, its rows are those that were reviewed. Whoever replaces a file during later passes, when its
    release is paid for, changes the release as by any other edit of the records; the gate refuses other counts.

    Parameters
    ----------
    url : str
    table : Table
        What was reviewed.
    charged : dict
        Gets the files of the table, under the key of the release that was charged for them.
    """

    def __init__(self, url: str, table: "Table", charged: dict[str, str]) -> None:
        super().__init__(url)
        self._table, self._charged = table, charged

    def charge(self, dataset: str, event: "ReleaseEvent", request: "Request | None" = None) -> None:
        """Charge, unless the files have changed."""
        self._table.require_unchanged()
        super().charge(dataset, event, request)
        if request is not None:
            self._charged[request.key] = self._table.files

    def stored(self, request: "Request") -> "Release | GroupedRelease | None":
        """The release under a key, unless the files have changed: another studio may have made it of other ones."""
        found = super().stored(request)
        if found is not None:
            self._table.require_unchanged()
        return found
