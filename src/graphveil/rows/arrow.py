"""Arrow tables become rows: columns are found by name, judged by type, and cast to float64.

==============================  =====================================================
type of a column                becomes
==============================  =====================================================
integers, floats                the nearest float64
booleans                        0 and 1
decimals                        a float64 next to it; refused with more decimal places
                                than pyarrow can convert
dictionaries (categories)       the value that each key stands for
null type, nulls                NaN, hence the centre of the column
text, of a declared category    the place of its level, NaN for anything else
anything else                   refused, by the name of the column and its type
==============================  =====================================================

Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.columns import floats, places_of_levels
from graphveil.rows.ids import Hasher, can_be_ids
from graphveil.rows.labels import codes_of_column
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block

__all__ = ["Selection", "batch_rows", "can_hold_numbers", "describe_type", "value_types"]

_BATCH_BYTES = 2**22  # of a batch of rows in float64: a few of them wait for workers at any time
_SLAB_BYTES = 2**20  # of rows that are turned from columns at a time: in a core's cache
_MOST_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}  # of a decimal of so many bits


def batch_rows(n_features: int) -> int:
    """Rows of a batch that a reader should make at a time."""
    return max(1, _BATCH_BYTES // (8 * n_features))


class Selection:
    """Which columns of a table are features, and which one stands beside them: the label, or whose row it is.

    A column of weights is the last of the features.

    Parameters
    ----------
    names : sequence of str
        The columns that there are.
    domain : Domain
    labels : Labels or None
    hasher : Hasher, optional
        That of the other parts of the same source, where there are some: one person, one key.
    label : str, optional
        The column of the label, where its classes are looked up elsewhere.
    """

    def __init__(
        self,
        names: Sequence[str],
        domain: Domain,
        labels: Labels | None,
        hasher: Hasher | None = None,
        label: str | None = None,
    ) -> None:
        label = label if labels is None else labels.column
        self.beside = label if domain.person is None else domain.person
        declared, weight = domain.raw_columns, () if domain.weight is None else (domain.weight.column,)
        if declared is None:
            declared = (*(name for name in names if name not in (self.beside, *weight)), *weight)
        self.features = declared
        self.levels = {} if domain.codebook is None else domain.codebook.text_levels
        self.labels, self.hasher = labels, None if domain.person is None else hasher or Hasher()
        if self.beside in self.features:
            what = "the label" if self.hasher is None else "the person column"
            raise SourceError(
                f"Column {self.beside!r} is {what} and cannot be a feature too: remove it from the domain."
            )

    @property
    def wanted(self) -> list[str]:
        """All columns that are read."""
        return [*self.features] if self.beside is None else [*self.features, self.beside]

    def features_alone(self) -> "Selection":
        """Without the column beside them."""
        alone = copy(self)
        alone.labels = alone.hasher = alone.beside = None
        return alone

    def person_alone(self) -> "Selection":
        """The person column, without the features."""
        alone = copy(self)
        alone.features = ()
        return alone

    def with_places(self, names: Sequence[str]) -> "Selection":
        """Of a source in which the levels of some columns have been replaced by their places."""
        found = copy(self)
        found.levels = {name: levels for name, levels in self.levels.items() if name not in names}
        return found

    def check_names(self, names: Sequence[str]) -> None:
        """Every wanted column must be in a schema once."""
        missing = self._missing(names)
        if missing:
            raise SourceError(f"The source has no column {missing[0]!r}. {_suggestion(missing[0], names)}")
        self._check_once(names)

    def check_first_line(self, names: Sequence[str]) -> None:
        """The same for a CSV file. Its names are not repeated: where the line of names is missing they are a record."""
        missing = self._missing(names)
        if missing:
            found = len(self.wanted) - len(missing)
            raise SourceError(
                f"The source has no column {missing[0]!r}: its first line has {found} of the {len(self.wanted)} names "
                "that are wanted. Is the header missing? If not, spell them exactly as the file does, including "
                "capitals and accents."
            )
        self._check_once(names)

    def _missing(self, names: Sequence[str]) -> list[str]:
        there = set(names)
        return [name for name in self.wanted if name not in there]

    def _check_once(self, names: Sequence[str]) -> None:
        counts = Counter(names)
        for name in self.wanted:
            if counts[name] > 1:
                raise SourceError(f"Column {name!r} appears more than once in the source: rename or select columns.")

    def check_types(self, schema: Any) -> None:
        """Features must be numbers, a label must be text, an integer or a boolean."""
        counts, kinds = Counter(schema.names), value_types(schema)
        for name in self.wanted:
            if counts[name] != 1:
                raise SourceError(
                    f"The columns of the source changed while it was read: {name!r} is missing or duplicated."
                )
        for name in self.features:
            if name in self.levels and not _can_hold_levels(kinds[name]):
                raise SourceError(
                    f"Column {name!r} has type {kinds[name]}, but its levels are text. Declare the levels as what they "
                    "are in the source: numbers, or False and True."
                )
            if name not in self.levels and not can_hold_numbers(kinds[name]):
                raise SourceError(
                    f"Column {name!r} has type {kinds[name]}, which cannot be read as a number. If it is a category, "
                    'declare its levels, e.g. gv.Category(["F", "M"]). Otherwise convert it yourself, or leave it '
                    "out: name the columns to use in bounds, or in Domain(columns=...)."
                )
        if self.hasher is not None and not can_be_ids(kinds[str(self.beside)]):
            raise SourceError(
                f"The person column {self.beside!r} has type {kinds[str(self.beside)]}, which cannot hold ids: use "
                "integers, text, bytes or UUIDs, and floats only if they have 64 bits."
            )
        if self.hasher is None and self.beside is not None and not _is_label(kinds[self.beside]):
            kind = kinds[self.beside]
            raise SourceError(f"The label column {self.beside!r} has type {kind}: use strings or integers.")

    def blocks(self, batch: Any) -> "Iterator[Block]":
        """Rows of a record batch, a slab at a time, with their class numbers or the keys of their people."""
        call_sanitized(batch.validate, "read")  # pyarrow does not look whether a file has as many bytes as it says
        beside: NDArray[Any] | None = None
        if self.hasher is not None:
            beside = self.keys(batch)
        elif self.labels is not None:
            beside = codes_of_column(batch.column(self.labels.column), self.labels.classes)
        yield from _slabs([self._numbers(name, batch.column(name)) for name in self.features], beside)

    def _numbers(self, name: str, column: Any) -> "NDArray[np.float64]":
        if name in self.levels:
            return call_sanitized(partial(places_of_levels, column, self.levels[name]), "read")
        return call_sanitized(partial(floats, column), "read")

    def keys(self, batch: Any) -> "NDArray[np.uint64]":
        """Whose rows those of a record batch are."""
        assert self.hasher is not None
        return self.hasher.keys_of_column(batch.column(self.beside))


def _slabs(columns: "list[NDArray[np.float64]]", beside: "NDArray[Any] | None") -> "Iterator[Block]":
    """Columns become rows, a few at a time."""
    n_rows = len(columns[0])
    step = max(1, _SLAB_BYTES // (8 * len(columns)))
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        rows = np.empty((min(step, n_rows - start), len(columns)))
        for j, column in enumerate(columns):
            rows[:, j] = column[part]
        yield rows, None if beside is None else beside[part]


def value_types(schema: Any) -> dict[str, Any]:
    """Types by name; of a dictionary, that of its values, because the width of its keys tells how many there are."""
    import pyarrow.types as t

    plain = [kind.value_type if t.is_dictionary(kind) else kind for kind in schema.types]
    return dict(zip(schema.names, plain, strict=True))


def can_hold_numbers(kind: Any) -> bool:
    """Whether a column of this type is read as a feature."""
    import pyarrow.types as t

    if t.is_decimal(kind):  # pyarrow divides by a power of ten from a table, and does not look where that ends
        return bool(kind.scale <= _MOST_DIGITS[kind.bit_width])
    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_null(kind))


def describe_type(kind: Any) -> str:
    """What a column of this type can hold: number, boolean, text, or other."""
    import pyarrow.types as t

    if t.is_boolean(kind):
        return "boolean"
    return "number" if can_hold_numbers(kind) else "text" if _is_text(kind) else "other"


def _is_text(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _can_hold_levels(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(_is_text(kind) or t.is_null(kind))


def _is_label(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(_is_text(kind) or t.is_integer(kind) or t.is_boolean(kind))


def _suggestion(name: str, names: Sequence[str]) -> str:
    """What may have been meant, of the names of a schema."""
    if any(normalize("NFC", other) == normalize("NFC", name) for other in names):
        return (
            "It has one that looks the same and differs only in its Unicode form (ü as one character, NFC, or as u "
            "with a mark, NFD): rename the column, or write the name in the other form."
        )
    same = [other for other in names if other.lower() == name.lower()]
    close = same or get_close_matches(name, names, n=3)
    if close:
        return "Did you mean " + " or ".join(map(repr, close)) + "?"
    return f"It has {len(names)} others, none of a similar name."
