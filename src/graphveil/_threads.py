"""BLAS limited to one thread: where our own threads share the work, or a factorisation is too small to share."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy  # noqa: F401 - the two copies of BLAS must be loaded before the controller looks for them
import scipy.linalg.cython_blas  # noqa: F401
from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads_for", "one_blas_thread"]

# Below this size a second thread costs more in waiting than it saves, several times more when the cores are busy.
_WORTH_SHARING = 1500


@cache
def _controller() -> ThreadpoolController:
    # Looking through all loaded libraries takes milliseconds: a release of a few thousand rows would feel it.
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which matrix products and factorisations use one thread."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


def blas_threads_for(p: int) -> AbstractContextManager[Any]:
    """A context with one BLAS thread where p × p factorisations gain nothing from more."""
    return nullcontext() if p >= _WORTH_SHARING else one_blas_thread()
