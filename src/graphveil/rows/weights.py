"""Survey weights as integers: the weight of each row as a share of the largest weight.

Guarantee
---------
A row's own weight is an integer from 0 to 2²⁰, a function of its cell alone: anything that is not a number, or
negative, is 0, and a larger weight counts as the largest. It is divided by the number of rows of its person and rounded
down, so that the weights of one person add up to at most 2²⁰. Proof: ``privacy/proofs/weights.md``.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.rows.people import People
from graphveil.rows.statistic import Unreleased
from graphveil.spec.quantization import PERSON_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RowWeights", "WeightEncoder", "own_weights"]


def own_weights(cells: "NDArray[np.float64]", largest: float) -> "NDArray[np.int64]":
    """⌊2²⁰ w/largest⌋ for w clipped to [0, largest]; division is correctly rounded, so that no quotient exceeds 1."""
    with np.errstate(all="ignore"):
        share = np.clip(cells / largest, 0.0, 1.0)
    return np.asarray(np.where(np.isnan(share), 0.0, share) * PERSON_WEIGHT).astype(np.int64)  # towards zero


class RowWeights(Unreleased):
    """What rows count: by whose they are, by the weights in their last column, or by both.

    Parameters
    ----------
    people : People or None
        Everybody, counted; None where no column says whose rows they are.
    largest : float or None
        The largest weight; None where rows have none.
    """

    __slots__ = ("_largest", "_people")

    def __init__(self, people: People | None, largest: float | None) -> None:
        self._people, self._largest = people, largest

    def weigh(
        self, rows: "NDArray[np.float64]", beside: "NDArray[Any] | None"
    ) -> "tuple[NDArray[np.int64] | None, int]":
        """Integer weights, None where all rows count the same, and a checksum of whose they are."""
        own = None if self._largest is None else own_weights(rows[:, -1], self._largest)
        if self._people is None:
            return own, 0
        assert beside is not None
        return self._people.weigh(beside, own)


class WeightEncoder:
    """Encodes a row as its own weight, for the sum of all weights."""

    width = 1

    def __init__(self, largest: float) -> None:
        self._largest = largest

    def encode(self, rows: "NDArray[np.float64]", beside: "NDArray[Any] | None", out: "NDArray[np.float64]") -> None:
        """Write the weight in the last column of each row; what stands ``beside`` does not count."""
        out[:, 0] = own_weights(rows[:, -1], self._largest)
