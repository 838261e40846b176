"""Entries appended to every row before its moments are taken, so that one release holds more than a matrix.

The second moment of (z, c), with a constant c, contains the mean; that of (z, c·onehot(label)) contains class counts
and class means. A row's squared norm grows from R² to R² + c² and nothing else changes in the guarantee
(``privacy/proofs/augmentation.md``).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.serialization import Record

__all__ = ["Augment", "Constant", "Labels"]

_WEIGHT_RULE = "a number greater than 0 and at most 1, or None"


@dataclass(frozen=True)
class Constant(Record):
    """Append a constant, which buys the mean.

    Parameters
    ----------
    weight : float, optional
        The constant as a share of the row norm R. Default: 1/√p, the size of one column, which costs the second
        moment 1/p more noise.
    """

    weight: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))

    @property
    def width(self) -> int:
        """How many columns are appended."""
        return 1


@dataclass(frozen=True)
class Labels(Record):
    """Append the label, one-hot: class counts and class means. An unknown or missing label appends zeros.

    Parameters
    ----------
    classes : sequence of str, int or bool
        The declared classes, compared exactly (case matters). They are never read off the data; noisy counts that
        add up to far less than the number of rows suggest a misspelt one.
    column : str, optional
        The label's column in a frame. Default: the source is a pair ``(rows, labels)``.
    weight : float, optional
        As for :class:`Constant`.
    """

    classes: tuple[str | int | bool, ...]
    column: str | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        rule = "a sequence of distinct strings, integers or booleans"
        given: Any = self.classes
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            raise InvalidParameter.of("classes", rule, given)
        classes = tuple(item.item() if isinstance(item, np.generic) else item for item in given)
        if not classes or not all(isinstance(item, str | int) for item in classes) or len(set(classes)) != len(classes):
            raise InvalidParameter.of("classes", rule, classes)
        column: Any = self.column
        if column is not None and (not isinstance(column, str) or not column):
            raise InvalidParameter.of("column", "a non-empty string, or None", column)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "weight", _check_weight(self.weight))

    @property
    def width(self) -> int:
        """How many columns are appended."""
        return len(self.classes)


Augment = Constant | Labels | None


def _check_weight(value: Any) -> float | None:
    if value is None:
        return None
    weight = _validation.number("weight", value, _WEIGHT_RULE, 0.0, 1.0)
    if weight < 2.0**-16:
        raise InvalidParameter.of("weight", "at least 2**-16 (a smaller one would be lost in the noise)", value)
    return weight
