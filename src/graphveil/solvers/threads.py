"""How many BLAS threads a small factorisation should get: one."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads_for"]

# Below this size a second thread costs more in waiting than it saves, several times more when the cores are busy.
_WORTH_SHARING = 1500


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads_for(p: int) -> AbstractContextManager[Any]:
    """A context with one BLAS thread where p × p factorisations gain nothing from more."""
    if p >= _WORTH_SHARING:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit
