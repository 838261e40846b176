"""What was charged, line by line, as data and as a table."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphveil.spec.events import ReleaseEvent
from graphveil.spec.rounding import format_exact, format_round_up

__all__ = ["Entry", "History"]


@dataclass(frozen=True)
class Entry:
    """One line: a charge, or the checksum of a release that was stored.

    Parameters
    ----------
    line : str
        What was chained, as canonical JSON.
    hash : str
        SHA-256 of it.
    stored : bool
        The release of a charge can be had again by its key.
    """

    line: str
    hash: str
    stored: bool

    @property
    def is_charge(self) -> bool:
        """Whether it is a charge."""
        return "event" in self._content

    @cached_property
    def event(self) -> ReleaseEvent:
        """The release and its cost."""
        return ReleaseEvent.from_dict(self._content["event"])

    @property
    def number(self) -> int:
        """Place among the lines of the data set, from 1; a stored release has a line of its own."""
        return int(self._content["number"])

    @property
    def time(self) -> str:
        """What the clock said (UTC)."""
        return str(self._content["time"])

    @property
    def key(self) -> str | None:
        """The key, if the caller gave one."""
        key = self._content["key"]
        return None if key is None else str(key)

    @property
    def state(self) -> str:
        """Whether the release is stored under its key, was lost on the way, or had no key."""
        return "stored" if self.stored else "no key" if self.key is None else "lost"

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain JSON; hashing ``line`` gives ``hash``, and parsing it the rest."""
        state = {"release": self.state} if self.is_charge else {}
        return {**self._content, "line": self.line, "hash": self.hash, **state}

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.line)
        return content


class History(tuple[Entry, ...]):
    """Charges in their order; ``print`` shows a table."""

    __slots__ = ()

    def __str__(self) -> str:
        head = ("no.", "time (UTC)", "epsilon", "delta", "mu", "rounds", "counted", "key", "release")
        rows = [head, *((str(place), *_cells(entry)) for place, entry in enumerate(self, 1))]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _cells(entry: Entry) -> tuple[str, ...]:
    event = entry.event
    return (
        entry.time,
        format_exact(event.budget.epsilon),
        format_exact(event.budget.delta),
        format_round_up(event.charged_mu, 6) + (" (seeded)" if event.seeded else ""),
        event.rounds,
        _format_count(event),
        entry.key or "",
        entry.state,
    )


def _format_count(event: ReleaseEvent) -> str:
    if event.n_samples is None:
        return "secret, in groups" if event.groups else "secret"
    counted = f"{event.n_samples} {event.counted}"
    return f"{counted} in groups" if event.groups else counted
