"""One release of each group of a table, made together and charged once."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphveil._files import write_file
from graphveil._html import facts_html
from graphveil.exceptions import InvalidParameter, ReleaseFileError
from graphveil.released import file_format
from graphveil.released.release import Release, read_content, rebuild_parts
from graphveil.spec.grouping import GroupedEvent, GroupEvent, Level

__all__ = ["GroupedRelease", "read_any_release", "require_release"]

_ALIKE = ("budget", "mechanism", "rounds", "rows_per_person", "neighbours", "seeded", "by_person")


@dataclass(frozen=True, eq=False, repr=False)
class GroupedRelease(Mapping[Level, Release]):
    """A mapping of declared levels to the releases of their groups; made by ``gv.release(..., by=...)``.

    Attributes
    ----------
    event : GroupedEvent
        What was charged for all of them together.
    parts : tuple of Release
        In the order of the levels.
    """

    event: GroupedEvent
    parts: tuple[Release, ...]

    def __post_init__(self) -> None:
        grouping = self.event.grouping
        if len(self.parts) != len(grouping.levels):
            raise InvalidParameter("a grouped release must have one release for each level.")
        counts = self.event.counts or (None,) * len(self.parts)
        for level, count, part in zip(grouping.levels, counts, self.parts, strict=True):
            own: Any = part.event
            if not isinstance(own, GroupEvent) or own.group != (grouping.column, level) or own.n_samples != count:
                raise InvalidParameter("the groups of a grouped release must be those that were charged.")
            if any(getattr(own, fact) != getattr(self.event, fact) for fact in _ALIKE):
                raise InvalidParameter("a group must have been released as all of them were charged.")
            if not self.event.allows(own) or own.groups_per_person != self.event.groups_per_person:
                raise InvalidParameter("a group must not cost more than was charged for all.")

    def __getitem__(self, level: Level) -> Release:
        return dict(zip(self.event.grouping.levels, self.parts, strict=True))[level]

    def __iter__(self) -> Iterator[Level]:
        return iter(self.event.grouping.levels)

    def __len__(self) -> int:
        return len(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupedRelease) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def guarantee(self) -> str:
        """The guarantee of all groups together, in one sentence."""
        weight = None if self.event.seeded else self.parts[0].domain.weight
        return self.event.sentence if weight is None else f"{self.event.sentence} {weight.sentence}"

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return hashlib.sha256(self._content).hexdigest()

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write all groups into one file, as :meth:`Release.save` does with one release."""
        write_file(path, self._content)

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return self._content

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "GroupedRelease":
        """Read what :meth:`save` wrote."""
        name = os.fspath(path)
        found = read_any_release(read_content(path), name)
        if not isinstance(found, GroupedRelease):
            raise ReleaseFileError(f"{name} is the release of one group. Read it with gv.Release.load(path).")
        return found

    @cached_property
    def _content(self) -> bytes:
        header = {"grouped": self.event.to_dict(), "parts": [part._header for part in self.parts]}
        return file_format.encode(header, [answer.arrays() for part in self.parts for answer in part.answers])

    def __repr__(self) -> str:
        return f"<GroupedRelease of {len(self)} groups: {self.guarantee}>"

    def _repr_html_(self) -> str:
        about, names = "about " if self.event.hides_count else "", self.event.groups
        groups = [(name, f"{about}{part.n_samples:,}") for name, part in zip(names, self.parts, strict=True)]
        return facts_html("GroupedRelease", [("guarantee", self.guarantee), *groups])


def read_any_release(content: bytes, name: str = "this") -> Release | GroupedRelease:
    """Undo ``to_bytes`` of a release, or of the releases of several groups."""
    return Release.read(content, name, _rebuild_groups)


def _rebuild_groups(header: dict[str, Any], arrays: list[Any]) -> GroupedRelease:
    return GroupedRelease(GroupedEvent.from_dict(header["grouped"]), rebuild_parts(header, arrays))


def require_release(name: str, given: Any) -> None:
    """Refuse what is not one release, and say how to get at one."""
    if isinstance(given, Release):
        return
    advice = "Make one with gv.release(...), or read one with gv.Release.load(path)."
    if isinstance(given, GroupedRelease):
        advice = f"It holds one of each group: choose a group, such as {name}[{given.event.grouping.levels[0]!r}]."
    elif isinstance(getattr(given, "release_", None), Release):
        advice = "Give the release_ of this estimator."
    raise InvalidParameter.of(name, "a gv.Release", given, advice)
