"""Kinds of variables: the declared content of a column, and the numbers that it becomes.

A number becomes one column, on its own scale or by its logarithm or square root; an ordered scale becomes one column of
scores; both can be replaced by normal scores of their ranks, which the release finds itself. A category becomes an
indicator column for each of its levels but the first. Whatever a cell holds, it becomes these numbers, or a missing
value: no cell is refused.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, shorten
from graphveil.spec.serialization import LATER, Record

__all__ = ["RANK", "Category", "Kind", "Level", "Number", "Ordinal"]

Level = str | int | float | bool

_LARGEST = 2.0**490  # of what a cell can be: bounds of a logarithm or a root are far smaller
_EXACT = 2.0**53  # levels and codes up to this are distinct as float64
_TRANSFORMS: dict[str, Callable[[float], float]] = {"linear": float, "log": math.log, "sqrt": math.sqrt}
_AS_LEVEL = "level"
RANK = "rank"
_CELLS = 2**12  # in which ranks are counted (quantization.CELL_LEVELS)
_MOST_RANKED = _CELLS // 4  # levels
_LARGEST_SCORE = 10.0  # of a normal score: one in 10²³


class Kind(ABC):
    """What the kinds of variables have in common."""

    label: str | None
    source: str | None

    @property
    def is_plain(self) -> bool:
        """Whether a cell is taken as the number that it is."""
        return False

    @property
    @abstractmethod
    def nullable(self) -> bool:
        """Whether values may be missing, by declaration."""

    @property
    def is_text(self) -> bool:
        """Whether cells are text."""
        return False

    @property
    def wants_scores(self) -> bool:
        """Whether normal scores are still to be found, inside the budget."""
        return False

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers that cells can be: those of the levels, or their places where they are text; none for numbers."""
        return ()

    @abstractmethod
    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""

    @abstractmethod
    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""


@dataclass(frozen=True)
class Number(Kind, Record):
    """A number between two public bounds.

    Parameters
    ----------
    low, high : float
        The range of values, in the column's own units, from a codebook or common sense, never from the data. Values
        outside are clamped.
    missing : bool or sequence of numbers, default False
        Whether values may be missing: codes that stand for a missing value, such as ``[999]``, or True for empty cells
        only. If False, a cell that holds no number becomes the midpoint of the bounds.
    scale : {"linear", "log", "sqrt", "rank"}
        The column is released as it is, as its natural logarithm (``low`` > 0), or as its square root (``low`` ≥ 0);
        or each value as the normal score of its rank, from a distribution function estimated within the budget.
    integer : bool, default False
        Whether values are whole numbers; used for synthetic rows, not for the release itself.
    label, unit : str, optional
        The name of the variable in reports, and its unit.
    source : str, optional
        Where the bounds come from: a page of a manual, a law of nature. It is stored in the release.
    normal_scores : tuple of pairs, optional
        For ``scale="rank"``, in the domain of a release: the corners of the curve from values (their logarithms, if
        ``low`` > 0) to scores. Do not set it yourself: with the domain of an earlier release, ranks are those of its
        records and cost nothing.

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
    normal_scores: Any = field(default=None, metadata=LATER)  # pairs of numbers once it is checked

    def __post_init__(self) -> None:
        rule = f"finite and between -{_LARGEST:.0e} and {_LARGEST:.0e}"
        for name in ("low", "high"):
            checked = _validation.number(name, getattr(self, name), rule, -_LARGEST, _LARGEST)
            object.__setattr__(self, name, checked)
        if not self.low < self.high:
            raise InvalidParameter.of("(low, high)", "low < high", (self.low, self.high))
        _validation.choice("scale", self.scale, [*_TRANSFORMS, RANK])
        if self.scale == "log" and self.low <= 0.0:
            raise InvalidParameter.of("low", 'greater than 0 with scale="log"', self.low)
        if self.scale == "sqrt" and self.low < 0.0:
            raise InvalidParameter.of("low", 'at least 0 with scale="sqrt"', self.low)
        _validation.flag("integer", self.integer)
        object.__setattr__(self, "missing", _checked_codes(self.missing))
        _check_texts(self, "label", "unit", "source")
        ends = self.counted_ends if self.scale == RANK else (0.0, 1.0)
        if self.wants_scores and ends[1] - ends[0] < _CELLS * 8.0 * math.ulp(max(map(abs, ends))):
            rule = f'further apart with scale="{RANK}": as floats there are too few numbers between them to count'
            raise InvalidParameter.of("(low, high)", rule, (self.low, self.high), "Subtract a public number first.")
        if self.normal_scores is not None:
            pairs = _checked_curve(self.scale, self.normal_scores)
            if not ends[0] <= pairs[0][0] < pairs[-1][0] <= ends[1]:
                raise InvalidParameter("the curve of normal_scores must lie within the bounds.")
            object.__setattr__(self, "normal_scores", pairs)

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

    @property
    def wants_scores(self) -> bool:
        """Whether normal scores are still to be found, inside the budget."""
        return self.scale == RANK and self.normal_scores is None

    @property
    def counts_logarithms(self) -> bool:
        """Ranks are those of logarithms too, whose cells are fine where values are small."""
        return self.scale == RANK and self.low > 0.0

    @property
    def counted_ends(self) -> tuple[float, float]:
        """Bounds of what ranks are counted of."""
        transform = math.log if self.counts_logarithms else float
        return transform(self.low), transform(self.high)

    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""
        return (name if self.scale == "linear" else f"{self.scale}({name})",)

    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""
        if self.scale == RANK:
            return [self.counted_ends if self.wants_scores else (self.normal_scores[0][1], self.normal_scores[-1][1])]
        transform = _TRANSFORMS[self.scale]
        return [(transform(self.low), transform(self.high))]


@dataclass(frozen=True)
class Category(Kind, Record):
    """One of several levels without an order; each but the first becomes an indicator column.

    Parameters
    ----------
    levels : sequence of str, or of numbers and booleans
        All levels, compared exactly. They are never read off the data. The first is the reference level.
    missing : bool or "level", default False
        Whether the level of a record may be missing or none of these. "level": such a record gets its own level, called
        missing. If False, it counts in equal parts for every level.
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
        shown = [*map(_show, self.levels), *["missing"] * self.missing_is_level]
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
        Whether the level of a record may be missing or none of these. If False, such a record gets the middle of the
        scores.
    label, source : str, optional
        As for :class:`Number`.
    scale : {"scores", "rank"}
        With "rank" each level becomes the mean normal score of the records that have it, from shares of the levels
        estimated within the budget.
    normal_scores : tuple of float, optional
        Those scores, in the domain of a release, as for :class:`Number`.
    """

    levels: tuple[Level, ...]
    missing: bool = False
    label: str | None = None
    source: str | None = None
    scale: str = field(default="scores", metadata=LATER)
    normal_scores: Any = field(default=None, metadata=LATER)  # a tuple of numbers once it is checked

    def __post_init__(self) -> None:
        levels = _checked_levels(self.levels)
        object.__setattr__(self, "levels", levels)
        if not self.is_text and not all(a < b for a, b in pairwise(self.values)):
            raise InvalidParameter("levels of an ordered scale must be text, or increasing numbers.")
        _validation.flag("missing", self.missing)
        _check_texts(self, "label", "source")
        _validation.choice("scale", self.scale, ["scores", RANK])
        if self.scale == RANK and len(levels) > _MOST_RANKED:
            raise InvalidParameter.of("the number of levels", f'at most {_MOST_RANKED} with scale="rank"', len(levels))
        if self.normal_scores is not None:
            given = self.normal_scores if isinstance(self.normal_scores, tuple) else ()
            pairs = _checked_curve(self.scale, tuple(enumerate(given)))
            if len(pairs) != len(levels):
                raise InvalidParameter.of("normal_scores", "one score for every level", len(pairs))
            object.__setattr__(self, "normal_scores", tuple(score for _, score in pairs))

    @property
    def nullable(self) -> bool:
        """Whether values may be missing, by declaration."""
        return self.missing

    @property
    def wants_scores(self) -> bool:
        """Whether normal scores are still to be found, inside the budget."""
        return self.scale == RANK and self.normal_scores is None

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
        """The number that each level becomes; its place, while normal scores are not known."""
        if self.scale == RANK:
            found: tuple[float, ...] | None = self.normal_scores
            return tuple(map(float, range(len(self.levels)))) if found is None else found
        return tuple(value + 1.0 for value in self.values) if self.is_text else self.values

    def column_names(self, name: str) -> tuple[str, ...]:
        """Names of the columns that a variable of this name becomes."""
        return (f"{RANK}({name})" if self.scale == RANK else name,)

    def ends(self) -> list[tuple[float, float]]:
        """Bounds of these columns, in their own units."""
        return [(self.scores[0], self.scores[-1])]


def _values(levels: tuple[Level, ...]) -> tuple[float, ...]:
    if isinstance(levels[0], str):
        return tuple(map(float, range(len(levels))))
    return tuple(map(float, levels))


def _show(level: Level) -> str:
    if isinstance(level, bool):
        return str(level).lower()
    return f"{level:g}" if isinstance(level, float) else str(level)


def _checked_levels(levels: Any) -> tuple[Level, ...]:
    rule = "a sequence of at least two distinct levels, all of them text or all of them numbers"
    if isinstance(levels, set | frozenset):
        raise InvalidParameter(
            "levels must be in an order, and those of a set have another one in every process: give a list. The first "
            "level is the one that others are compared with."
        )
    if isinstance(levels, str) or not hasattr(levels, "__iter__"):
        raise InvalidParameter.of("levels", rule, levels)
    plain = tuple(level.item() if hasattr(level, "item") else level for level in levels)
    text = all(isinstance(level, str) and level for level in plain)
    numbers = all(isinstance(level, int | float) and abs(level) <= _EXACT for level in plain)
    twice = sorted({_show(level) for level in plain if plain.count(level) > 1})
    if (text or numbers) and twice:
        raise InvalidParameter(f"levels must be distinct, and hold {shorten(repr(twice[0]))} more than once.")
    if len(plain) < 2 or not (text or numbers):
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


def _checked_curve(scale: str, curve: Any) -> tuple[tuple[float, float], ...]:
    """Pairs of a value and its score, both rising; scores may stay where nobody is."""
    rule = f'pairs of rising values and scores of a release with scale="{RANK}"'
    shaped = isinstance(curve, tuple) and len(curve) > 1 and all(isinstance(p, tuple) and len(p) == 2 for p in curve)
    if scale != RANK or not shaped:
        raise InvalidParameter.of("normal_scores", rule, curve)
    pairs = tuple(
        (
            _validation.number("normal_scores", value, rule, -_LARGEST, _LARGEST),
            _validation.number("normal_scores", score, rule, -_LARGEST_SCORE, _LARGEST_SCORE),
        )
        for value, score in curve
    )
    if not all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(pairs)) or pairs[0][1] == pairs[-1][1]:
        raise InvalidParameter.of("normal_scores", rule, curve)
    return pairs


def _check_texts(kind: Kind, *names: str) -> None:
    for name in names:
        value = getattr(kind, name)
        if value is not None:
            _check_printable(name, _validation.text(name, value))


def _check_printable(name: str, value: str) -> None:
    """Labels and levels are shown to people, on terminals too."""
    if not value.isprintable():
        raise InvalidParameter.of(name, "printable text in one line", shorten(ascii(value)))
