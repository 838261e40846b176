r"""Whitened rows in exact arithmetic: later rounds look at rows in the coordinates that earlier rounds suggest.

A later round releases the moments of (k - m)A, where the centre m and the matrix A come from earlier outputs. Floats
would make each result depend on the order of a BLAS sum; so A is rounded to integers once, column by column on a
scale of 2^-s_j, and this integer matrix *is* A from then on, also when its effect is undone.

Guarantee
---------
‖k - m‖ ≤ 2²¹ for encoded rows and centres, and every column of the integer matrix has norm at most 2³¹. By
Cauchy–Schwarz every product and every partial sum of (k - m)·a_j is an integer of at most 2⁵², in any order: float64 is
exact, and a whitened row is a function of its own record alone. Proof: ``privacy/proofs/whitening.md`` (theorem 6).
"""

from typing import TYPE_CHECKING

import numpy as np

from graphveil.exceptions import InvalidParameter
from graphveil.rows.clipping import encode_ball
from graphveil.spec.lattice import RowLattice

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Whitening"]

_COLUMN_NORM = 2.0**31
_LARGEST_CENTRE = 2.0**20
_NORMS = (1e-250, 1e250)  # far from overflow


class Whitening:
    """An integer affine map of encoded rows. All parameters are public.

    Parameters
    ----------
    matrix : (p, q) array
        The map to apply to k - centre, in lattice steps; rounded here.
    centre : (p,) array
        In lattice steps; rounded here, and of norm at most 2²⁰ afterwards.
    """

    def __init__(self, matrix: "NDArray[np.float64]", centre: "NDArray[np.float64]") -> None:
        if matrix.ndim != 2 or centre.shape != matrix.shape[:1] or not np.isfinite(matrix).all():
            raise InvalidParameter("a whitening needs a finite (p, q) matrix and a centre of length p.")
        self.centre = np.rint(centre)
        if not np.sum(self.centre**2) <= _LARGEST_CENTRE**2:  # also refuses NaN
            raise InvalidParameter("a whitening's centre must lie in the ball of the rows.")
        largest = np.abs(matrix).max(axis=0, initial=0.0)
        norms = largest * np.sqrt(((matrix / np.where(largest > 0.0, largest, 1.0)) ** 2).sum(axis=0))
        if not ((norms >= _NORMS[0]) & (norms <= _NORMS[1])).all():
            raise InvalidParameter("a whitening's columns must have norms between 1e-250 and 1e250.")
        # Rounding moves a column by at most √p/2; 2^-s is the largest power of two that keeps its norm at 2³¹.
        self.exponents = np.floor(np.log2((_COLUMN_NORM - np.sqrt(len(matrix))) / norms)).astype(np.int64)
        self.integers = np.rint(np.ldexp(matrix, self.exponents))
        if (np.sum(self.integers.astype(object) ** 2, axis=0) > int(_COLUMN_NORM) ** 2).any():
            raise InvalidParameter("a whitening's columns are too long for exact arithmetic.")

    @property
    def matrix(self) -> "NDArray[np.float64]":
        """The matrix that is really applied."""
        return np.asarray(np.ldexp(self.integers, -self.exponents))

    def encode(
        self, encoded: "NDArray[np.float64]", lattice: RowLattice, norm: float, out: "NDArray[np.float64]"
    ) -> None:
        """Whiten encoded rows (features only), shorten them to ``norm`` and put them on ``lattice``."""
        exact = (encoded - self.centre) @ self.integers
        q = self.integers.shape[1]
        scale = np.ldexp(np.ones(q), -self.exponents)
        largest = np.finfo(np.float64).max
        ends = np.stack([np.full(q, -largest), np.full(q, largest)])
        encode_ball(exact, np.zeros(q), scale, ends, norm, lattice.ball, float(lattice.row_square), out)
