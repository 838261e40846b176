"""A codebook: the variables of a table, each with its kind, and the columns of numbers that they become."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, shorten
from graphveil.spec.kinds import Category, Kind, Number, Ordinal
from graphveil.spec.serialization import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Codebook"]

_STEPS = 2.0**20  # of the row lattice, in which a whole row is at most this long


@dataclass(frozen=True)
class Codebook(Record):
    """The variables of a table.

    Attributes
    ----------
    names : tuple of str
        Of the columns of the source.
    kinds : tuple of Kind
        What each of them holds.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _validation.text_tuple("columns", self.names))
        given: Any = self.kinds
        known = isinstance(given, tuple) and all(isinstance(kind, Kind) for kind in given)
        if not known or len(given) != len(self.names):
            raise InvalidParameter.of("a codebook's kinds", "one kind for every name", given)

    @classmethod
    def of(cls, kinds: Mapping[str, Any]) -> "Codebook":
        """From a mapping of names to kinds, or to pairs (low, high)."""
        return cls(tuple(kinds), tuple(_as_kind(name, kind) for name, kind in kinds.items()))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of numbers that the variables become."""
        return tuple(
            column for name, kind in zip(self.names, self.kinds, strict=True) for column in kind.column_names(name)
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What people are shown in place of these names: labels with units, where they were given."""
        shown = [
            column
            for name, kind in zip(self.names, self.kinds, strict=True)
            for column in kind.column_names(_title(name, kind))
        ]
        return tuple(shown) if len(set(shown)) == len(shown) else self.columns

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables in a network: of its column, if one has a single one, which tells its scale or level.

        So a category of two levels keeps its sign: ``sex[M]`` is positive where ``M`` is more.
        """
        return self._variables(self.names, self.names)

    @property
    def variable_labels(self) -> tuple[str, ...]:
        """What people are shown in place of these names: labels with units, where they were given."""
        shown = tuple(_title(name, kind) for name, kind in zip(self.names, self.kinds, strict=True))
        return self._variables(shown, self.variables)

    def _variables(self, names: tuple[str, ...], otherwise: tuple[str, ...]) -> tuple[str, ...]:
        columns = [kind.column_names(name) for name, kind in zip(names, self.kinds, strict=True)]
        found = [own[0] if len(own) == 1 else name for name, own in zip(names, columns, strict=True)]
        return tuple(found) if len(set(found)) == len(found) else otherwise

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper bounds of these columns."""
        lower, upper = zip(*(pair for kind in self.kinds for pair in kind.ends()), strict=True)
        return lower, upper

    @cached_property
    def places(self) -> tuple[range, ...]:
        """Which of these columns each variable has become."""
        places, start = [], 0
        for kind in self.kinds:
            width = len(kind.ends())
            places.append(range(start, start + width))
            start += width
        return tuple(places)

    @property
    def text_levels(self) -> dict[str, tuple[str, ...]]:
        """Levels of the variables whose cells are text."""
        named = zip(self.names, self.kinds, strict=True)
        return {
            name: tuple(map(str, kind.levels))
            for name, kind in named
            if isinstance(kind, Category | Ordinal) and kind.is_text
        }

    @property
    def sources(self) -> tuple[str, ...]:
        """How what is declared of each column is known; empty where nobody said."""
        return tuple(kind.source or "" for kind in self.kinds for _ in kind.ends())

    @property
    def without_source(self) -> tuple[str, ...]:
        """Variables of which nobody has said how what is declared is known."""
        return tuple(name for name, kind in zip(self.names, self.kinds, strict=True) if kind.source is None)

    @property
    def gaps(self) -> tuple[range, ...]:
        """The columns of each variable that declares missing values."""
        return tuple(place for kind, place in zip(self.kinds, self.places, strict=True) if kind.nullable)

    @property
    def unscored(self) -> tuple[int, ...]:
        """The columns whose normal scores are still to be found, inside the budget."""
        return tuple(place.start for kind, place in zip(self.kinds, self.places, strict=True) if kind.wants_scores)

    @property
    def is_plain(self) -> bool:
        """Whether all cells are taken as the numbers that they are."""
        return all(kind.is_plain for kind in self.kinds)

    @property
    def has_categories(self) -> bool:
        """Whether there are indicator columns."""
        return any(isinstance(kind, Category) for kind in self.kinds)

    def simplices(self, n_blocks: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """(centre, half-width) for the indicators of categories, NaN for other columns.

        Of the indicators of a record at most one is 1. With L of them these points, and 0, lie in the ball about
        (t, …, t) of radius r, with t = ½ and r = ½√L for L ≤ 2, and t = 1/L and r = √(1 - 1/L) beyond: so in units of r
        all indicators of a category are as long as one column of numbers. Rounding to the lattice of a row of
        ``n_blocks`` such parts adds less than a share of √(L ``n_blocks``)/2²⁰.
        """
        import numpy as np

        centre, half = np.full((2, len(self.columns)), np.nan)
        for kind, place in zip(self.kinds, self.places, strict=True):
            if isinstance(kind, Category):
                count = len(place)
                radius = math.sqrt(count) / 2.0 if count <= 2 else math.sqrt(1.0 - 1.0 / count)
                centre[place] = 0.5 if count <= 2 else 1.0 / count
                half[place] = radius * (1.0 + math.sqrt(count * n_blocks) / _STEPS)
        return centre, half

    def rename(self, names: tuple[str, ...]) -> "Codebook":
        """The same under other names."""
        return replace(self, names=names)

    def extend(self, kinds: Mapping[str, Any]) -> "Codebook":
        """With further variables."""
        return Codebook.of(dict(zip(self.names, self.kinds, strict=True)) | dict(kinds))


def _title(name: str, kind: Kind) -> str:
    unit = kind.unit if isinstance(kind, Number) else None
    return (kind.label or name) + (f" ({unit})" if unit else "")


def _as_kind(name: Any, kind: Any) -> Kind:
    if isinstance(kind, Kind):
        return kind
    if isinstance(kind, str) or not hasattr(kind, "__len__") or len(kind) != 2:
        raise InvalidParameter.of(
            f"column {shorten(repr(name))}", "a pair (lower, upper), gv.Number, gv.Category or gv.Ordinal", kind
        )
    try:
        return Number(*kind)
    except InvalidParameter as error:
        reason = str(error)
    raise InvalidParameter(f"column {shorten(repr(name))}: {reason}")
