"""Kinds of variables: what a column of a table can hold, from public knowledge alone, and which numbers it becomes.

A number becomes one column, on its own scale or by its logarithm or square root; an ordered scale becomes one column of
scores; a category becomes an indicator column for each of its levels but the first. Whatever a cell holds, it becomes
these numbers, or a missing value: no cell is refused.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, shortened
from graphveil.spec.serialization import Record

__all__ = ["Category", "Kind", "Level", "Number", "Ordinal"]

Level = str | int | float | bool

_LARGEST = 2.0**490  # as for bounds
_EXACT = 2.0**53  # levels and codes up to this are told apart by their float64
_TRANSFORMS: dict[str, Callable[[float], float]] = {"linear": float, "log": math.log, "sqrt": math.sqrt}
_AS_LEVEL = "level"


class Kind:
    """What the kinds of variables have in common."""

    label: str | None
    source: str | None

    @property
    def is_plain(self) -> bool:
        """Whether a cell is taken as the number that it is."""
        return False

    @property
    def nullable(self) -> bool:
        """Whether values may be missing, by declaration."""
        raise NotImplementedError

    @property
    def is_text(self) -> bool:
        """Whether cells are text."""
        return False

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers that cells can be: those of the levels, or their places where they are text; none for numbers."""
        return ()

    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""
        raise NotImplementedError

    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Kind, Record):
    """A number between two public bounds.

    Parameters
    ----------
    low, high : float
        What a value can be, in the column's own units, from a codebook or common sense, never from the data. Values
        outside are clamped.
    missing : bool or sequence of numbers, default False
        Whether values may be missing: codes that stand for a missing value, such as ``[999]``, or True if only empty
        cells do. Where it is False, a cell that holds no number becomes the midpoint of the bounds.
    scale : {"linear", "log", "sqrt"}
        The column is released as it is, as its natural logarithm (``low`` > 0), or as its square root (``low`` ≥ 0).
    integer : bool, default False
        Whether values are whole numbers; for what is made of a release, not for the release itself.
    label, unit : str, optional
        What reports call the variable, and in which unit it is measured.
    source : str, optional
        How the bounds are known: a page of a manual, a law of nature. It is kept in the release.

    Examples
    --------
    >>> Number(3, 20, missing=[999], label="HbA1c", unit="%", source="laboratory manual, p. 12").nullable
    True
    """

    low: float
    high: float
    missing: Any = False  # a bool or a tuple of numbers once it is checked
    scale: str = "linear"
    integer: bool = False
    label: str | None = None
    unit: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        rule = f"finite and between -{_LARGEST:.0e} and {_LARGEST:.0e}"
        for name in ("low", "high"):
            checked = _validation.number(name, getattr(self, name), rule, -_LARGEST, _LARGEST)
            object.__setattr__(self, name, checked)
        if not self.low < self.high:
            raise InvalidParameter.of("(low, high)", "low < high", (self.low, self.high))
        _validation.choice("scale", self.scale, [*_TRANSFORMS])
        if self.scale == "log" and self.low <= 0.0:
            raise InvalidParameter.of("low", 'greater than 0 with scale="log"', self.low)
        if self.scale == "sqrt" and self.low < 0.0:
            raise InvalidParameter.of("low", 'at least 0 with scale="sqrt"', self.low)
        _validation.flag("integer", self.integer)
        object.__setattr__(self, "missing", _checked_codes(self.missing))
        _check_texts(self, "label", "unit", "source")

    @property
    def is_plain(self) -> bool:
        """Whether a cell is taken as the number that it is."""
        return self.scale == "linear" and not self.codes

    @property
    def nullable(self) -> bool:
        """Whether values may be missing, by declaration."""
        return self.missing is not False

    @property
    def codes(self) -> tuple[float, ...]:
        """What stands for a missing value."""
        return self.missing if isinstance(self.missing, tuple) else ()

    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""
        return (name if self.scale == "linear" else f"{self.scale}({name})",)

    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""
        transform = _TRANSFORMS[self.scale]
        return [(transform(self.low), transform(self.high))]


@dataclass(frozen=True)
class Category(Kind, Record):
    """One of several levels without an order; each but the first becomes an indicator column.

    Parameters
    ----------
    levels : sequence of str, or of numbers and booleans
        All levels there are, compared exactly. They are never read off the data. The first is the one that others are
        compared with.
    missing : bool or "level", default False
        Whether the level of a record may be missing or none of these. "level": then it has a level of its own, called
        missing. Where it is False, such a record counts in equal parts for every level.
    label, source : str, optional
        As for :class:`Number`.

    Examples
    --------
    >>> Category(["A", "B", "C"]).column_names("ward")
    ('ward[B]', 'ward[C]')
    """

    levels: tuple[Level, ...]
    missing: bool | str = False
    label: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _checked_levels(self.levels))
        if not isinstance(self.missing, bool) and self.missing != _AS_LEVEL:
            raise InvalidParameter.of("missing", f'True, False or "{_AS_LEVEL}"', self.missing)
        _check_texts(self, "label", "source")

    @property
    def nullable(self) -> bool:
        """Whether values may be missing, by declaration."""
        return self.missing is True

    @property
    def is_text(self) -> bool:
        """Whether cells are text."""
        return isinstance(self.levels[0], str)

    @property
    def values(self) -> tuple[float, ...]:
        """The number of each level, or its place where levels are text."""
        return _values(self.levels)

    @property
    def missing_is_level(self) -> bool:
        """Whether a missing value is a level of its own, the last."""
        return self.missing == _AS_LEVEL

    @property
    def n_levels(self) -> int:
        """Number of levels, that of missing values included."""
        return len(self.levels) + self.missing_is_level

    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""
        shown = [*map(_shown, self.levels), *["missing"] * self.missing_is_level]
        return tuple(f"{name}[{level}]" for level in shown[1:])

    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""
        return [(0.0, 1.0)] * (self.n_levels - 1)


@dataclass(frozen=True)
class Ordinal(Kind, Record):
    """One of several levels in a known order, as one column of scores.

    Parameters
    ----------
    levels : sequence of str, or of rising numbers
        From the lowest to the highest. Text gets the scores 1, 2, 3, …; numbers are their own scores.
    missing : bool, default False
        Whether the level of a record may be missing or none of these. Where it is False, such a record gets the middle
        of the scores.
    label, source : str, optional
        As for :class:`Number`.
    """

    levels: tuple[Level, ...]
    missing: bool = False
    label: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        levels = _checked_levels(self.levels)
        object.__setattr__(self, "levels", levels)
        if not self.is_text and not all(a < b for a, b in pairwise(self.values)):
            raise InvalidParameter("levels of an ordered scale must be text, or numbers that rise.")
        _validation.flag("missing", self.missing)
        _check_texts(self, "label", "source")

    @property
    def nullable(self) -> bool:
        """Whether values may be missing, by declaration."""
        return self.missing

    @property
    def is_text(self) -> bool:
        """Whether cells are text."""
        return isinstance(self.levels[0], str)

    @property
    def values(self) -> tuple[float, ...]:
        """The number of each level, or its place where levels are text."""
        return _values(self.levels)

    @property
    def scores(self) -> tuple[float, ...]:
        """The number that each level becomes."""
        return tuple(value + 1.0 for value in self.values) if self.is_text else self.values

    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""
        return (name,)

    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""
        return [(self.scores[0], self.scores[-1])]


def _values(levels: tuple[Level, ...]) -> tuple[float, ...]:
    if isinstance(levels[0], str):
        return tuple(map(float, range(len(levels))))
    return tuple(map(float, levels))


def _shown(level: Level) -> str:
    if isinstance(level, bool):
        return str(level).lower()
    return f"{level:g}" if isinstance(level, float) else str(level)


def _checked_levels(levels: Any) -> tuple[Level, ...]:
    rule = "a sequence of at least two distinct levels, all of them text or all of them numbers"
    if isinstance(levels, str) or not hasattr(levels, "__iter__"):
        raise InvalidParameter.of("levels", rule, levels)
    plain = tuple(level.item() if hasattr(level, "item") else level for level in levels)
    text = all(isinstance(level, str) and level for level in plain)
    numbers = all(isinstance(level, int | float) and abs(level) <= _EXACT for level in plain)
    if len(plain) < 2 or not (text or numbers) or len(set(plain)) < len(plain):
        raise InvalidParameter.of("levels", rule, plain)
    if text:
        for level in plain:
            _check_printable("levels", level)
    return plain


def _checked_codes(missing: Any) -> Any:
    rule = "True, False, or a sequence of numbers that stand for a missing value"
    if isinstance(missing, bool):
        return missing
    if not isinstance(missing, Sequence) or isinstance(missing, str) or not missing:
        raise InvalidParameter.of("missing", rule, missing)
    return tuple(_validation.number("missing", code, rule, -_LARGEST, _LARGEST) for code in missing)


def _check_texts(kind: Kind, *names: str) -> None:
    for name in names:
        value = getattr(kind, name)
        if value is not None:
            _check_printable(name, _validation.text(name, value))


def _check_printable(name: str, value: str) -> None:
    """Labels and levels are shown to people, on terminals too."""
    if not value.isprintable():
        raise InvalidParameter.of(name, "printable text in one line", shortened(ascii(value)))
