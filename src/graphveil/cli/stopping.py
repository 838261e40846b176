"""Ctrl-C and SIGTERM: a sentence and an exit code instead of a traceback, from the first import on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred", "end_quietly", "listen", "signal_heard"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_heard: list[int] = []


def listen() -> None:
    """From now on a signal raises ``KeyboardInterrupt``; a second one ends the program as it does any other."""
    _heard.clear()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup`, or a shell's background job
            signal.signal(number, _stop)


def signal_heard() -> int | None:
    """The signal that asked the program to end. Code of others may have made another error of the interruption."""
    return _heard[0] if _heard else None


def end_quietly() -> None:
    """Nothing is left to interrupt: a late signal must not turn what was done into a traceback."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def deferred() -> Iterator[None]:
    """Let nothing interrupt what takes a moment and would be lost."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _: FrameType | None) -> None:
    _heard.append(number)
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    raise KeyboardInterrupt
