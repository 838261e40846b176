"""Entry point of the program: listens to signals before anything else is imported, which takes a moment."""

import os
import sys

from graphveil.cli import _signals

__all__ = ["run"]


def run() -> int:
    """Run the command line of this process; return its exit code."""
    _signals.listen()
    code = _call(sys.argv[1:])
    _signals.end_quietly()
    return code


def _call(arguments: list[str]) -> int:
    try:
        from graphveil.cli._commands import call

        return call(arguments)
    except BaseException:
        number = _signals.signal_heard()
        if number is None:
            raise
        from contextlib import suppress

        with suppress(OSError):  # while importing; commands say it themselves
            os.write(2, b"Error: Interrupted. Nothing was charged.\n")
        return 128 + number
