"""Arrays of floats, named after what they hold."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "Vector"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
