"""Groups of one table: their declaration, and the charge for releasing each of them separately.

Who is in which group is public, as are the numbers of records: neighbours replace a record by another one *of the same
group*. Then one record concerns one group, and all groups together cost what the most expensive one costs. With a
person column, all records of a person are replaced by those of somebody *in the same groups*: if somebody is in k
groups, each group gets μ/√k. With ``neighbours="add-remove"`` nothing of this is public: a record is in one group, a
person may be in every one. Proof: ``privacy/proofs/groups.md``.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.codebook import Codebook
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.kinds import Category, Level, Number
from graphveil.spec.rounding import float_round_down
from graphveil.spec.serialization import LATER, Record

__all__ = ["GroupEvent", "GroupedEvent", "Grouping", "Level", "most_groups"]


@dataclass(frozen=True)
class Grouping(Record):
    """Which column makes groups, and which of its values are groups.

    Parameters
    ----------
    column : str
        The column in a frame or file; beside an array, what the groups are called.
    levels : sequence of str, or of numbers and booleans
        The declared groups, with the rule of :class:`~graphveil.Category`: text is compared exactly, numbers by value.
        They are never read off the data. Records of any other level are in no group.
    """

    column: str
    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        _validation.text("by", self.column)
        levels = Category(self.levels).levels
        # 1.0 and 1 are one level, which has one name.
        whole = (int(level) if isinstance(level, float) and level.is_integer() else level for level in levels)
        object.__setattr__(self, "levels", tuple(whole))

    @classmethod
    def of_category(cls, name: str, domain: Domain) -> "tuple[Grouping, Domain]":
        """Groups by a category that the codebook declares, and the domain of all other variables."""
        book = domain.codebook
        kinds = {} if book is None else dict(zip(book.names, book.kinds, strict=True))
        kind = kinds.pop(name, None)
        if not isinstance(kind, Category) or not kinds:
            rule = 'a gv.Category of the domain, beside other columns, or a mapping such as {"arm": ["A", "B"]}'
            raise InvalidParameter.of("by", rule, name)
        rest = replace(domain, codebook=Codebook.of(kinds), columns=None, bounds=None, n_features=None)
        return cls(name, kind.levels), rest

    @classmethod
    def of(cls, given: Any) -> "Grouping":
        """From ``{"arm": ["A", "B"]}``."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or len(given) != 1:
            rule = 'a mapping of one column to its declared levels, such as {"arm": ["A", "B"]}'
            raise InvalidParameter.of("by", rule, given)
        ((column, levels),) = given.items()
        return cls(column, levels)

    @property
    def marks(self) -> tuple[float, ...]:
        """What the levels are in a column of numbers: themselves, or their places where they are text."""
        return Category(self.levels).values

    def as_column_of(self, domain: Domain) -> Domain:
        """A domain to read rows by, in which the level is a category after all columns but the weight.

        What it says of the other columns is not used.
        """
        names, book = domain.source_columns, domain.codebook
        if names is None:
            raise InvalidParameter(
                "by needs the names of the columns here: give bounds by name, or Domain(columns=[...])."
            )
        kinds = dict.fromkeys(names, Number(0, 1)) if book is None else dict(zip(book.names, book.kinds, strict=True))
        codebook = Codebook.of({**kinds, self.column: Category(self.levels)})
        return Domain(codebook=codebook, person=domain.person, weight=domain.weight)

    def name_files(self, path: Path) -> list[Path]:
        """A file for each group beside ``path``: ``people.release`` becomes ``people-A.release``, and so on."""
        levels = [re.sub(r"[^\w.-]", "_", str(level)) for level in self.levels]
        if len(set(levels)) < len(levels):
            raise InvalidParameter("by has levels whose files would have the same name. Rename one of them.")
        return [path.with_name(f"{path.stem}-{level}{path.suffix}") for level in levels]


@dataclass(frozen=True)
class GroupEvent(ReleaseEvent):
    """What the release of one group costs its own people.

    Parameters
    ----------
    group : pair of str and level
        The column that makes groups, and the level of this one.
    groups_per_person : int
        In how many groups somebody is, at most.
    """

    group: tuple[str, Level] = field(kw_only=True)
    groups_per_person: int = field(default=1, kw_only=True, metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.group
        if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], str | int | float):
            raise InvalidParameter.of("group", "a column and a level", given)
        _validation.text("group", given[0])
        _validation.integer("groups_per_person", self.groups_per_person, 1)

    @classmethod
    def of(cls, event: ReleaseEvent, group: tuple[str, Level], groups_per_person: int) -> "GroupEvent":
        """The event of a release, of which it is known that its records are one group of a table."""
        facts = {item.name: getattr(event, item.name) for item in fields(event)}
        return cls(**facts, group=group, groups_per_person=groups_per_person)

    @property
    def groups(self) -> tuple[str, ...]:
        """The name of this one."""
        return (f"{self.group[0]} = {self.group[1]}",)

    @property
    def change(self) -> str:
        """The change of the table that the noise hides."""
        return super().change if self.hides_count else _replacing(self)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        (name,) = self.groups
        known = "secret" if self.hides_count else "public"
        number = "" if self.n_samples is None else f", {self.n_samples}"
        return self._sentence(
            self.change,
            f"who belongs to this group ({name}) is {known}, and so is the number of {self.counted}{number}.",
        )


@dataclass(frozen=True)
class GroupedEvent(ReleaseEvent):
    """What the releases of all groups cost together.

    Parameters
    ----------
    grouping : Grouping
    counts : tuple of int or None
        Number of records, or of people, of each group; public. None where they are not.
    groups_per_person : int
        In how many groups somebody is, at most; public, as membership is. Where that is secret, all that are declared.
    """

    grouping: Grouping = field(kw_only=True)
    counts: tuple[int, ...] | None = field(kw_only=True)
    groups_per_person: int = field(default=1, kw_only=True, metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.grouping, Grouping):
            raise InvalidParameter.of("grouping", "a Grouping", self.grouping)
        n_groups = len(self.grouping.levels)
        if self.hides_count != (self.counts is None):
            raise InvalidParameter('counts must be None exactly where neighbours="add-remove" hides them.')
        if self.counts is not None:
            for count in self.counts:
                _validation.integer("counts", count, 1, 2**62)
            if len(self.counts) != n_groups or sum(self.counts) != self.n_samples:
                raise InvalidParameter("counts must be one for each level, and add up to n_samples.")
        _validation.integer("groups_per_person", self.groups_per_person, 1, n_groups)
        if self.hides_count and self.groups_per_person != most_groups(self.grouping, by_person=self.by_person):
            raise InvalidParameter("groups_per_person must not depend on records where membership is secret.")

    @property
    def share(self) -> tuple[float, float]:
        """The μ and the η that each group may use, rounded down: a person in all the groups allowed costs the whole.

        Guarantee
        ---------
        Proof: ``privacy/proofs/groups.md``.
        """
        several, mu = self.groups_per_person, self.mu / math.sqrt(self.groups_per_person)
        while several * Fraction(mu) ** 2 > Fraction(self.mu) ** 2:
            mu = math.nextafter(mu, 0.0)
        return mu, float_round_down((Fraction(self.eta) - Fraction(self.id_collisions)) / several)

    def allows(self, own: ReleaseEvent) -> bool:
        """Whether the event of a group is within its share, in exact arithmetic.

        Guarantee
        ---------
        Proof: ``privacy/proofs/groups.md``.
        """
        mu, eta = self.share
        return own.mu <= mu and own.eta <= eta and own.seeded == self.seeded and own.by_person == self.by_person

    @property
    def groups(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"{self.grouping.column} = {level}" for level in self.grouping.levels)

    @property
    def change(self) -> str:
        """The change of the table that the noise hides."""
        return super().change if self.hides_count else _replacing(self)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        if self.counts is None:
            known = f"who belongs to which group is secret, and so are the numbers of {self.counted}."
            return self._sentence(self.change, known)
        sizes = ", ".join(f"{count} with {name}" for name, count in zip(self.groups, self.counts, strict=True))
        return self._sentence(
            self.change,
            f"who belongs to which group is public, and so are the numbers of {self.counted}: {sizes}.",
        )


def most_groups(grouping: Grouping, *, by_person: bool) -> int:
    """In how many groups somebody could be, whatever the records are.

    Guarantee
    ---------
    Proof: ``privacy/proofs/groups.md``.
    """
    return len(grouping.levels) if by_person else 1


def _replacing(event: ReleaseEvent) -> str:
    if event.by_person:
        return "replacing one person with all their records by another one who is in the same groups"
    return "replacing one record by another one of the same group"
