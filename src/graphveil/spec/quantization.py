"""The fixed integer lattice on which rows live, and the order of their moments: public, whatever the data.

A scaled row z becomes integers k = round(z / unit), so that the augmented row (k, c) has squared norm at most
``total_square`` ≤ 2⁴⁰. Sums of products over 2¹³ such rows stay below 2⁵³: float64 BLAS computes them exactly.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphveil.spec.augmentation import Augment, Constant
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CELLS", "CELL_LEVELS", "EXACT_ROWS", "MAX_SQUARE", "MISSING", "PERSON_WEIGHT", "MomentLayout", "RowGrid"]

MAX_SQUARE = 2**40
EXACT_ROWS = 2**13  # MAX_SQUARE * EXACT_ROWS = 2**53
PERSON_WEIGHT = 2**20  # what the weights of one person's rows add up to, at most: PERSON_WEIGHT * MAX_SQUARE < 2**63
MISSING = 2.0**21  # marks a missing value in an integer row; no coordinate is as large
CELL_LEVELS = tuple(range(12, 2, -1))  # columns are counted on 2^12, 2^11, …, 2^3 equal cells
CELLS = sum(2**level for level in CELL_LEVELS)  # of one column


@dataclass(frozen=True)
class RowGrid:
    """Integers for a domain: the size of one step, the bounds that every integer row keeps.

    Attributes
    ----------
    unit : float
        One lattice step in scaled units (after the bounds).
    levels : int
        With bounds alone: the largest absolute value of an integer coordinate. 0 when a norm has to be enforced.
    ball : float
        With ``data_norm``: the norm, in steps, to which rows are shortened before rounding.
    row_square : int
        Bound of the squared norm of an integer row.
    constant : int
        What is appended (the constant, or the one of a one-hot label); 0 without augmentation.
    """

    unit: float
    levels: int
    ball: float
    row_square: int
    constant: int

    @classmethod
    def of(cls, domain: Domain, augment: Augment) -> "RowGrid":
        """Lay the finest lattice that keeps ``total_square`` ≤ 2⁴⁰."""
        weight, blocks = 0.0, domain.n_blocks
        if augment is not None:
            weight = augment.weight if augment.weight is not None else 1.0 / math.sqrt(blocks)
        constant = _constant_for(weight)
        if domain.data_norm is None:
            levels = math.isqrt((MAX_SQUARE - constant**2) // blocks)
            return cls(unit=1.0 / levels, levels=levels, ball=0.0, row_square=blocks * levels**2, constant=constant)
        return cls.of_ball(domain.require_n_features(), domain.radius, weight)

    @classmethod
    def of_ball(cls, p: int, norm: float, weight: float) -> "RowGrid":
        """The lattice of rows of norm at most ``norm``, to which a constant of ``weight`` times that is appended."""
        constant = _constant_for(weight)
        room = MAX_SQUARE - constant**2
        # Rounding to nearest moves a row by at most half the diagonal of a cell, √p/2.
        ball = float(math.isqrt(room) - math.isqrt(p) // 2 - 2)
        return cls(unit=norm / ball, levels=0, ball=ball, row_square=room, constant=constant)

    @property
    def edge(self) -> float:
        """What no coordinate of an integer row exceeds."""
        return float(self.levels) or math.sqrt(MAX_SQUARE)

    @property
    def total_square(self) -> int:
        """Bound of the squared norm of an augmented integer row."""
        return self.row_square + self.constant**2


def _constant_for(weight: float) -> int:
    """The integer c for which c/√(2⁴⁰ - c²) is ``weight``, nearly."""
    return int(math.sqrt(MAX_SQUARE) * weight / math.hypot(1.0, weight))


@dataclass(frozen=True)
class MomentLayout:
    """Which entries of the moment matrix of an augmented row are released, and in which order.

    Not released are entries that are public: the corner of a constant, and the products of two different classes.
    """

    n_features: int
    augment: Augment

    @property
    def size(self) -> int:
        """Side of the moment matrix."""
        return self.n_features + (self.augment.width if self.augment is not None else 0)

    @property
    def n_diagonal(self) -> int:
        """Number of released diagonal entries."""
        return self.n_features if isinstance(self.augment, Constant) else self.size

    @property
    def n_off_diagonal(self) -> int:
        """Number of released entries above the diagonal."""
        p = self.n_features
        return p * (p - 1) // 2 + p * (self.size - p)

    def off_diagonal_index(self) -> "tuple[NDArray[np.intp], NDArray[np.intp]]":
        """Rows and columns of the released entries above the diagonal: features first, then the cross block."""
        import numpy as np

        p = self.n_features
        rows, columns = np.triu_indices(p, 1)
        cross_rows, cross_columns = np.meshgrid(np.arange(p), np.arange(p, self.size), indexing="ij")
        return np.concatenate([rows, cross_rows.ravel()]), np.concatenate([columns, cross_columns.ravel()])

    def split(self, matrix: "NDArray[Any]") -> "tuple[NDArray[Any], NDArray[Any]]":
        """Take the released diagonal and off-diagonal entries out of a moment matrix."""
        return matrix.diagonal()[: self.n_diagonal].copy(), matrix[self.off_diagonal_index()]

    def join(
        self, diagonal: "NDArray[np.float64]", off_diagonal: "NDArray[np.float64]", corner: float
    ) -> "NDArray[np.float64]":
        """Undo :meth:`split`; ``corner`` is the public second moment of a constant."""
        import numpy as np

        matrix = np.zeros((self.size, self.size))
        matrix[self.off_diagonal_index()] = off_diagonal
        matrix += matrix.T
        if isinstance(self.augment, Constant):
            diagonal = np.append(diagonal, corner)
        np.fill_diagonal(matrix, diagonal)
        return matrix

    def refined(self, values: "dict[str, NDArray[np.float64]]", corner: float) -> "NDArray[np.float64]":
        """The moment matrix from its noisy coordinates, the trace refined by least squares where it was released too.

        Noise of variance s² on each of m diagonal entries and on their sum: the best estimate adds
        (trace - sum)/(m + 1) to every entry, and the variance of the sum falls from ms² to ms²/(m + 1).
        """
        diagonal = values["diagonal"]
        if "trace" in values:
            diagonal = diagonal + (values["trace"][0] - diagonal.sum()) / (diagonal.size + 1)
        return self.join(diagonal, values["off_diagonal"], corner)
