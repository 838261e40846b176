"""Compiled functions: numba's decorator with one signature each, cached on disk where possible."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for ``signature`` (or a list of them), without the interpreter's lock.

    What was compiled is kept in ``NUMBA_CACHE_DIR``, beside the module or in the user's cache, whichever can be
    written. Where none can (a package that is installed read-only, a user without a home) numba refuses; here it is
    compiled in memory, by every process anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if _may_be_kept():
            with suppress(RuntimeError, OSError):  # no place, or a full one; anything else comes again below
                return njit(signature, cache=True, nogil=True, **options)(function)
        return njit(signature, nogil=True, **options)(function)

    return decorate


@cache
def _may_be_kept() -> bool:
    """False where numba would make a folder named ~ wherever the user is: there is no home, and no other place."""
    has_home = os.path.isabs(os.path.expanduser("~"))
    return has_home or "NUMBA_CACHE_DIR" in os.environ or os.access(os.path.dirname(__file__), os.W_OK)
