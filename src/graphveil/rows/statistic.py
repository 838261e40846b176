"""The base class of sums over rows before the gate: their repr shows nothing, and they cannot be copied or pickled."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Never, Self

from graphveil.exceptions import GuaranteeError
from graphveil.spec.queries import Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Statistic", "Unreleased"]


class Unreleased:
    """Holds numbers computed from rows: shows nothing, refuses to be pickled or copied."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: unreleased, not shown>"

    def __reduce_ex__(self, protocol: object) -> Never:
        raise GuaranteeError(f"{type(self).__name__} holds unreleased sums of records and cannot be pickled or copied.")


class Statistic(Unreleased, ABC):
    """An exact sum over integer rows that can be updated, merged and read; the order never matters."""

    __slots__ = ()

    @abstractmethod
    def update(self, encoded: "NDArray[np.float64]", weights: "NDArray[np.int64] | None" = None) -> None:
        """Add encoded rows, at most 2¹³ of them, each with its weight if rows have weights."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add the rows that ``other`` has seen."""

    @abstractmethod
    def to_words(self) -> "NDArray[np.int64]":
        """The sums as int64 words; those of up to 2²³ parts of the rows may be added, word by word."""

    @abstractmethod
    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        """Add the rows of other parts, from the sum of their words."""

    @abstractmethod
    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        """Exact Python integers by group of coordinates."""
