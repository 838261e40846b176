"""Names for arrays of floats, by their content."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "Vector"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
