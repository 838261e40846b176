"""A table as its user saw it: the names and types of its columns, and what changes when its files do.

Windows of one studio may look at different tables, and a file may be written again while somebody fills in the page.
So no table is "the" table: every request names the version that its window shows.
"""

import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime

from graphveil.exceptions import InvalidParameter

__all__ = ["Table"]

_CHANGED = "The files of this table have changed since their columns were read here. Read the column names again."


@dataclass(frozen=True)
class Table:
    """A table at one moment.

    Attributes
    ----------
    data : str
        Where the records are.
    public : bool
        Whether its user says that everybody may see them.
    columns : tuple of pairs
        Name and type of each column.
    files : str
        A hash of where its files are, how large they are and when they were changed. It stays on this computer.
    changed : datetime or None
        When the latest of them was written or moved to its place, where that is known.
    """

    data: str
    public: bool
    columns: tuple[tuple[str, str], ...]
    files: str
    changed: datetime | None

    @classmethod
    def open(cls, data: str, *, public: bool) -> "Table":
        """Read the names and types of the columns; nothing of a first line that may be a record is repeated."""
        from graphveil.rows.files import column_kinds
        from graphveil.spec.column_names import say_which_look_like_values

        files, changed = _look_at_files(data)
        columns = tuple(column_kinds(os.path.expanduser(data)))
        names = [name for name, _ in columns]
        why = say_which_look_like_values(names)
        if why:
            raise InvalidParameter(f"{why} Add a first line with names.")
        if len(set(names)) < len(names):
            raise InvalidParameter("Two columns of this file have the same name. Give every column a unique name.")
        return cls(data, public, columns, files, changed)

    @property
    def version(self) -> str:
        """Its name in requests: another one for other files, other columns, or another answer to whether it is public.

        The same files under the same name have the same version, in any window.
        """
        seen = repr((self.data, self.public, self.columns, self.files))
        return hashlib.sha256(seen.encode()).hexdigest()[:16]

    @property
    def types(self) -> dict[str, str]:
        """The type of each column."""
        return dict(self.columns)

    def require_unchanged(self) -> None:
        """Refuse if its files are not those that were looked at."""
        if _look_at_files(self.data)[0] != self.files:
            raise InvalidParameter(_CHANGED)


def _look_at_files(data: str) -> tuple[str, datetime | None]:
    from graphveil.rows.files import file_versions

    versions = file_versions(os.path.expanduser(data))
    times = [time for version in versions for time in (version.written, version.changed) if time is not None]
    changed = datetime.fromtimestamp(max(times) / 1e9, UTC) if times else None
    return hashlib.sha256(repr(versions).encode()).hexdigest(), changed
