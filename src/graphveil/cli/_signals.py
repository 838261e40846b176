"""Ctrl-C and SIGTERM: a sentence and an exit code instead of a traceback, from the first import on."""

# What is imported here is imported before a signal can be heard: no typing, and of signal what is built in, without its
# enumerations, which take milliseconds to load.
import _signal as signal  # type: ignore[import-not-found] # it has no type information
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType
    from typing import Any

__all__ = ["deferred", "end_quietly", "listen", "signal_heard"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_INTERRUPTING = (*_SIGNALS, signal.SIGALRM)
_AGAIN_SECONDS = 0.01  # longer than Python takes to leave the code that swallowed an interruption
_heard: list[int] = []


def listen() -> None:
    """From now on a signal raises ``KeyboardInterrupt``; a second one ends the program as it does any other."""
    _heard.clear()
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # `nohup`, or a shell's background job
            signal.signal(number, _stop)
    signal.signal(signal.SIGALRM, _interrupt)
    sys.unraisablehook = _interrupt_again


def signal_heard() -> int | None:
    """The signal that asked the program to end. Code of others may have made another error of the interruption."""
    return _heard[0] if _heard else None


def end_quietly() -> None:
    """Nothing is left to interrupt: a late signal must not turn what was done into a traceback."""
    for number in _INTERRUPTING:
        signal.signal(number, signal.SIG_IGN)


class deferred:  # noqa: N801 - used as a function is
    """A context in which nothing is interrupted: for what takes a moment and would be lost."""

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, signal.SIG_IGN) for number in _INTERRUPTING}

    def __exit__(self, *_: "Any") -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: "FrameType | None") -> None:
    _heard.append(number)
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    _interrupt(number, frame)


def _interrupt(_: int, frame: "FrameType | None") -> None:
    """Interrupt what is running; where a compiler of machine code is, in a moment: its callbacks cannot fail."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("llvmlite"):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _interrupt_again(unraisable: "UnraisableHookArgs") -> None:
    """Python swallows what is raised in a finalizer or the callback of a weak reference, of which imports have many.

    It asks here what to do about it, where nothing can be raised either: so the interruption comes again in a moment.
    What finalizers make of objects that the interruption left half-made is no news to anybody.
    """
    if not _heard:
        sys.__unraisablehook__(unraisable)
    elif unraisable.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
