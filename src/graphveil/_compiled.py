"""Compiled functions: numba's decorator with one signature each, kept on disk where there is a place for them."""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for ``signature`` (or a list of them), without the interpreter's lock.

    What was compiled is kept beside the module, in the user's cache or in ``NUMBA_CACHE_DIR``, whichever can be
    written. Where none can (a package that is installed read-only, a user without a home) numba refuses; here it is
    compiled in memory, by every process anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, cache=True, nogil=True, **options)(function)
        except (RuntimeError, OSError):  # no place, or a full one; anything else comes again below
            return njit(signature, nogil=True, **options)(function)

    return decorate
