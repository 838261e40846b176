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
from graphveil.rows.columns import floats
from graphveil.rows.labels import codes_of_column
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block

__all__ = ["Selection", "batch_rows", "can_hold_numbers", "value_types"]

_BATCH_BYTES = 2**22  # of a batch of rows in float64: a few of them wait for workers at any time
_SLAB_BYTES = 2**20  # of rows that are turned from columns at a time: in a core's cache
_MOST_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}  # of a decimal of so many bits


def batch_rows(n_features: int) -> int:
    """Rows of a batch that a reader should make at a time."""
    return max(1, _BATCH_BYTES // (8 * n_features))


class Selection:
    """Which columns of a table are features, and which is the label.

    Parameters
    ----------
    names : sequence of str
        The columns that there are.
    domain : Domain
    labels : Labels or None
    """

    def __init__(self, names: Sequence[str], domain: Domain, labels: Labels | None) -> None:
        label = None if labels is None else labels.column
        self.features = domain.columns if domain.columns is not None else tuple(n for n in names if n != label)
        self.labels = labels
        if label in self.features:
            raise SourceError(f"Column {label!r} is the label and cannot be a feature too: take it out of the domain.")

    @property
    def wanted(self) -> list[str]:
        """All columns that are read."""
        if self.labels is None or self.labels.column is None:
            return [*self.features]
        return [*self.features, self.labels.column]

    def without_labels(self) -> "Selection":
        """The features alone."""
        alone = copy(self)
        alone.labels = None
        return alone

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
            if not can_hold_numbers(kinds[name]):
                raise SourceError(
                    f"Column {name!r} has type {kinds[name]}, which cannot be read as a number. Convert it yourself, "
                    f"or leave it out: name the columns to use in bounds, or in Domain(columns=...)."
                )
        label = None if self.labels is None else self.labels.column
        if label is not None and not _is_label(kinds[label]):
            raise SourceError(f"The label column {label!r} has type {kinds[label]}: use strings or integers.")

    def blocks(self, batch: Any) -> "Iterator[Block]":
        """Rows of a record batch, a slab at a time, with their class numbers."""
        call_sanitized(batch.validate, "read")  # pyarrow does not look whether a file has as many bytes as it says
        codes = None
        if self.labels is not None:
            codes = codes_of_column(batch.column(self.labels.column), self.labels)
        columns = [call_sanitized(partial(floats, batch.column(name)), "read") for name in self.features]
        yield from _slabs(columns, codes)


def _slabs(columns: "list[NDArray[np.float64]]", codes: "NDArray[np.intp] | None") -> "Iterator[Block]":
    """Columns become rows, a few at a time."""
    n_rows = len(columns[0])
    step = max(1, _SLAB_BYTES // (8 * len(columns)))
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        rows = np.empty((min(step, n_rows - start), len(columns)))
        for j, column in enumerate(columns):
            rows[:, j] = column[part]
        yield rows, None if codes is None else codes[part]


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


def _is_label(kind: Any) -> bool:
    import pyarrow.types as t

    text = t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
    return bool(text or t.is_integer(kind) or t.is_boolean(kind))


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
