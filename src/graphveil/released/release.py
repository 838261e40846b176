"""A release: noisy answers, the public facts about them, and the file that holds both."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from graphveil._files import read_file, write_file
from graphveil._html import facts_html
from graphveil._memory import memory_here
from graphveil.exceptions import InvalidParameter, ReleaseFileError
from graphveil.protocol.stages.norm import Norm
from graphveil.released import file_format
from graphveil.released.answers import Answer
from graphveil.released.consistency import check_release
from graphveil.released.moments import NoisyMoments
from graphveil.spec.augmentation import Constant, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.grouping import GroupEvent
from graphveil.spec.queries import ClippedTail, Query
from graphveil.spec.serialization import Record

__all__ = ["Release", "read_content", "rebuild_parts"]

T = TypeVar("T")

_EVENTS = {kind.__name__: kind for kind in (ReleaseEvent, GroupEvent)}  # what one release can have been charged


@dataclass(frozen=True, eq=False)
class Release(NoisyMoments):
    """A noisy second moment and the distribution of its noise.

    Made by :func:`graphveil.release`, saved with :meth:`save`, read with :meth:`load`. Mechanism units are those of
    rows scaled by the bounds; user's units are those of the data.

    Attributes
    ----------
    event : ReleaseEvent
        What was charged.
    domain : Domain
        What was assumed about the rows.
    augment : Constant, Labels or None
        What was appended to them.
    answers : tuple of Answer
        The queries, with their noisy answers and the distributions of the noise.
    versions : dict
        Versions of graphveil and of the sampler that made it.
    """

    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        layout, query, values = self._layout, self._last.query, self._last.values
        mapped = query.row_map is not None  # type: ignore[attr-defined]
        shapes = {"diagonal": layout.n_diagonal, "off_diagonal": layout.n_off_diagonal}
        shapes |= {"trace": 1} if "trace" in values else {}
        if mapped != (self.event.rounds == "adaptive") or any(values[name].size != n for name, n in shapes.items()):
            raise InvalidParameter("a release's last moments must be those of its domain.")
        check_release(self.event, self.domain, self.augment, self.answers)

    # ------------------------------------------------------------------ what is known without any number
    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""
        columns: tuple[str, ...] | None = self.domain.columns
        return columns

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, or numbers (``x0``, ``x1``, …) for those without."""
        return self.columns or tuple(f"x{number}" for number in range(self.domain.n_features or 0))

    @property
    def column_labels(self) -> tuple[str, ...]:
        """Display names of the columns: the labels and units of the codebook."""
        return self.column_names if self.domain.codebook is None else self.domain.codebook.labels

    @property
    def variables(self) -> dict[str, range]:
        """Which columns each variable has: several, if it is a category of three levels or more."""
        if self.domain.codebook is not None:
            return dict(zip(self.domain.codebook.variables, self.domain.codebook.places, strict=True))
        return {name: range(number, number + 1) for number, name in enumerate(self.column_names)}

    @property
    def variable_labels(self) -> tuple[str, ...]:
        """Display names of the variables: the labels and units of the codebook."""
        return self.column_names if self.domain.codebook is None else self.domain.codebook.variable_labels

    @property
    def missing_shares(self) -> dict[str, float]:
        """Noisy share of the records in which each variable that declares missing values is missing."""
        codebook, there = self.domain.codebook, np.diag(self.observed)
        if codebook is None:
            return {}
        named = zip(codebook.names, codebook.kinds, codebook.places, strict=True)
        return {name: float(1.0 - there[place.start]) for name, kind, place in named if kind.nullable}

    @property
    def budget(self) -> Budget:
        """The requested guarantee; ``event`` has the one that holds."""
        return self.event.budget

    @property
    def seeded(self) -> bool:
        """True for a simulation: the noise came from a known seed and nothing is private."""
        return self.event.seeded

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        weight = None if self.seeded else self.domain.weight
        return self.event.sentence if weight is None else f"{self.event.sentence} {weight.sentence}"

    @property
    def norm_is_private(self) -> bool:
        """Whether ``domain.data_norm`` was found within the budget (``data_norm="private"``)."""
        return Norm.recorded(self.domain, self._queries) is not None

    @property
    def n_passes(self) -> int:
        """How many times the rows were read; once more if they had to be counted and their norm was unknown."""
        read = [query for query in self._queries if query.summed != "people" and not isinstance(query, ClippedTail)]
        return len({query.window_key or query for query in read})

    @property
    def _queries(self) -> list[Query]:
        return [answer.query for answer in self.answers]

    # ------------------------------------------------------------------ the file
    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content, in hexadecimal: the same release always has the same."""
        return hashlib.sha256(self._content).hexdigest()

    @cached_property
    def stream(self) -> str:
        """What seeds simulations about this release, so that they always give the same; in hexadecimal.

        Made of the answers that came before rows were rotated: sums of integers with noise of their own, the same to
        the last bit on every processor. Later ones are not, nor is the checksum.
        """
        plain = [answer for answer in self.answers if getattr(answer.query, "row_map", None) is None]
        numbers = [values.tobytes() for answer in plain or self.answers[:1] for values in answer.values.values()]
        return hashlib.sha256(b"".join(numbers)).hexdigest()

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write one file that :meth:`load` reads anywhere; an interrupted write leaves no partial file.

        Only an empty file or this same release is overwritten: another release was paid for, and any other file may be
        records.
        """
        write_file(path, self._content)

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return self._content

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Release":
        """Read a release. Nothing in the file is executed; a damaged or foreign file raises ``ReleaseFileError``."""
        return cls.from_bytes(read_content(path), os.fspath(path))

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "this") -> "Release":
        """Undo :meth:`to_bytes`; ``name`` is what an error calls it."""

        def refuse(*_: Any) -> "Release":
            raise ReleaseFileError(f"{name} holds releases of several groups. Read it with gv.GroupedRelease.load.")

        return cls.read(content, name, refuse)

    @classmethod
    def read(cls, content: bytes, name: str, rebuild_groups: Callable[[dict[str, Any], list[Any]], T]) -> "Release | T":
        """The same where there may be releases of several groups, which ``rebuild_groups`` puts together."""
        header, arrays = file_format.decode(content, name)
        try:
            with np.errstate(all="ignore"):  # forged numbers may overflow in the very check that refuses them
                if "grouped" in header:
                    return rebuild_groups(header, arrays)
                if "merged" in header:
                    from graphveil.released.merged import MergedRelease

                    return MergedRelease._rebuild(header, arrays)
                return cls._rebuild(header, arrays)
        except ReleaseFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            reason = f" {error}" if isinstance(error, InvalidParameter) else ""
            raise ReleaseFileError(f"{name} is not a valid release: a fact is missing or wrong.{reason}") from None

    @classmethod
    def _rebuild(cls, header: dict[str, Any], arrays: list[Any]) -> "Release":
        augment = None if header["augment"] is None else Record.from_dict(header["augment"])
        if not isinstance(augment, Constant | Labels | None):
            raise TypeError
        return Release(
            event=_EVENTS[header["event"]["kind"]].from_dict(header["event"]),
            domain=Domain.from_dict(header["domain"]),
            augment=augment,
            answers=tuple(Answer.rebuild(*pair) for pair in zip(header["rounds"], arrays, strict=True)),
            versions={_word(key): _word(value) for key, value in header["versions"].items()},
        )

    @property
    def _header(self) -> dict[str, Any]:
        return {
            "event": self.event.to_dict(),
            "domain": self.domain.to_dict(),
            "augment": None if self.augment is None else self.augment.to_dict(),
            "rounds": [answer.facts() for answer in self.answers],
            "versions": self.versions,
        }

    @cached_property
    def _content(self) -> bytes:
        return file_format.encode(self._header, [answer.arrays() for answer in self.answers])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        counted = f"{self._about}{self.n_samples} {self.event.counted}"
        return f"<Release of {self.domain.n_features} columns, {counted}: {self.guarantee}>"

    @property
    def _about(self) -> str:
        return "about " if self.event.neighbours == "add-remove" else ""

    def _repr_html_(self) -> str:
        names = "" if self.columns is None else f": {', '.join(self.columns)}"
        facts = [
            ("guarantee", self.guarantee),
            (self.event.counted, f"{self._about}{self.n_samples:,}, as good as {self.n_eff:,.0f} without noise"),
            ("columns", f"{self.domain.n_features}{names}"),
            ("fingerprint", self.checksum[:16]),
        ]
        return facts_html("Release", facts)


def read_content(path: "str | os.PathLike[str]") -> bytes:
    """The bytes of a release file, or a ``ReleaseFileError`` that says why there are none."""
    name = os.fspath(path)
    try:
        return read_file(path, memory_here() // 4)  # beside it: its numbers, and what is computed from them
    except OSError as error:
        raise ReleaseFileError(f"{name} cannot be read: {error.strerror}.") from None
    except InvalidParameter as error:
        raise ReleaseFileError(str(error)) from None


def rebuild_parts(header: dict[str, Any], arrays: list[Any]) -> tuple[Release, ...]:
    """The releases whose headers and numbers a file holds one after the other."""
    parts, start = [], 0
    for facts in header["parts"]:
        end = start + len(facts["rounds"])
        parts.append(Release._rebuild(facts, arrays[start:end]))
        start = end
    if start != len(arrays):
        raise ValueError
    return tuple(parts)


def _word(value: Any) -> str:
    """A name or a version of a package from a file: it is shown to people, on terminals too."""
    if not isinstance(value, str) or not 0 < len(value) <= 100 or not value.isprintable():
        raise InvalidParameter("the versions of a release must be short, printable words.")
    return value
