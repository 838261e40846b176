"""Entry point of the program: listens to signals before anything else is imported, which takes a moment."""

import os
import sys

from graphveil.cli import stopping

__all__ = ["run"]


def run() -> int:
    """Run the command line of this process; return its exit code."""
    stopping.listen()
    code = _called(sys.argv[1:])
    stopping.end_quietly()
    return code


def _called(arguments: list[str]) -> int:
    try:
        from graphveil.cli.verbs import call

        return call(arguments)
    except BaseException:
        number = stopping.signal_heard()
        if number is None:
            raise
        from contextlib import suppress

        with suppress(OSError):  # while importing; verbs say it themselves
            os.write(2, b"Error: Interrupted. Nothing was charged.\n")
        return 128 + number
