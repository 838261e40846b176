"""Available memory, and what a release needs: too large a release is refused before it starts."""

import os
import sys
from pathlib import Path

from graphveil.exceptions import InvalidParameter

__all__ = ["check_memory", "memory_here"]

_MATRICES = 36  # of p × p doubles at the peak of a release; measured: 18 to 21 in one round, 24 to 36 in adaptive ones
_GROUPS = Path("/sys/fs/cgroup")


def check_memory(n_features: int) -> None:
    """Refuse a release whose moments do not fit into memory."""
    needed, there = 8 * _MATRICES * n_features**2, memory_here()
    if needed > there:
        most = int((there / 8 / _MATRICES) ** 0.5)
        raise InvalidParameter(
            f"A release of {n_features:,} columns needs about {needed / 2**30:,.1f} GB of memory, but this process "
            f"can have only {there / 2**30:,.1f}: choose at most {most:,} columns, or run it on a larger machine."
        )


def memory_here() -> int:
    """Bytes of memory that this process may have: of the machine, or of its container."""
    limits = [_of_machine(), *map(_limit_in, [_GROUPS / "memory.max", _GROUPS / "memory" / "memory.limit_in_bytes"])]
    return min(limits)


def _of_machine() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says
        return sys.maxsize


def _limit_in(path: Path) -> int:
    """What a control group allows, as its file says; a container sees its own."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such group, or "max"
        return sys.maxsize
