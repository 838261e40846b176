"""Output of commands: text on a terminal, JSON for scripts, errors in one sentence.

Once a command has done its work, output does not decide how it ends: a terminal of another encoding, a full disk or a
reader that has exited may lose messages, but not a release that was paid for.
"""

import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

import typer

from graphveil._tables import one_line
from graphveil.cli._exit_codes import REFUSED

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["echo", "emit", "note", "one_line", "open_streams", "progress_bar", "refuse"]

_LONGEST = 1000  # letters of a message: a screenful; a name in a file may have any number
_ASCII = {"ε": "epsilon", "δ": "delta", "μ": "mu", "η": "eta", "—": "-", "–": "-", "−": "-", "…": "..."}


# ---------------------------------------------------------------------- streams
def open_streams() -> None:
    """Make standard output and standard error such that writing a letter to them cannot fail."""
    codecs.register_error("graphveil", _encode_in_ascii)
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:  # closed (`>&-`): the next file to be opened would get its number, and what is printed
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole process
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="graphveil")


def _encode_in_ascii(error: UnicodeError) -> tuple[str, int]:
    """ASCII replacements for letters that the terminal does not have."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_ASCII.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def _put(stream: TextIO, text: str) -> str | None:
    """Write; return why it failed. A reader who has gone (`| head`) has read enough: no failure."""
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):  # the interpreter writes what is left when it ends, and must not fail
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return None if isinstance(error, BrokenPipeError) else getattr(error, "strerror", None) or "closed"
    return None


class _Page(io.StringIO):
    """Text that is to go to a stream, and is laid out as for it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def isatty(self) -> bool:
        return self._stream.isatty()


def _render(stream: TextIO, speak: Callable[["Console"], None]) -> str:
    """Words in lines: with the colours and the width of a terminal, plain text in a pipe."""
    page = _Page(stream)
    speak(_console(page))
    return page.getvalue()


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    width = 100 if not stream.isatty() and "COLUMNS" not in os.environ else None
    return Console(file=stream, width=width, highlight=False, emoji=False)


# ---------------------------------------------------------------------- words
def echo(console: "Console", text: str) -> None:
    """Print sentences as they are; in a pipe also without breaking their lines."""
    lines = "\n".join(map(one_line, text.split("\n")))
    console.print(lines, markup=False, soft_wrap=not console.is_terminal)


def emit(as_json: bool, facts: dict[str, Any], speak: Callable[["Console"], None], *, kept: bool = False) -> None:
    """Print ``facts`` as JSON, or let ``speak`` put them in words.

    Where what was asked for is ``kept`` anyway (a file, a line in a ledger), it is done, whether it can be said or not.
    """
    try:
        text = _to_json(facts) if as_json else _render(sys.stdout, speak)
    except Exception as error:
        if not kept:
            raise
        note(
            f"The command succeeded, but its result could not be printed. This is a bug in graphveil "
            f"({type(error).__name__})."
        )
        return
    trouble = _put(sys.stdout, text)
    if trouble is not None:
        note(f"Standard output could not be written ({trouble}).")
        if not kept:
            raise typer.Exit(REFUSED)


def note(text: str) -> None:
    """Say something beside the answer."""
    _say_on_stderr("Note: ", text, "yellow")


def refuse(as_json: bool, kind: str, message: str, code: int) -> int:
    """Say what went wrong; return the exit code."""
    message = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
    if not as_json or _put(sys.stdout, _to_json({"error": message, "kind": kind})) is not None:
        _say_on_stderr("Error: ", message, "red")
    return code


def _to_json(facts: dict[str, Any]) -> str:
    """One line of ASCII: the same in every encoding, and nothing in it moves a cursor."""
    return json.dumps(facts, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


def _say_on_stderr(label: str, message: str, colour: str) -> None:
    from rich.text import Text

    def speak(out: "Console") -> None:
        out.print(Text(label, style=f"bold {colour}") + Text(one_line(message)), soft_wrap=not out.is_terminal)

    _put(sys.stderr, _render(sys.stderr, speak))


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """A line of progress on a terminal; nothing in a pipe. Yields a function of (done, total)."""
    if quiet or not sys.stderr.isatty():

        def ignore(done: int, total: int | None = None) -> None:
            pass

        yield ignore
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn(what), BarColumn(), TextColumn("{task.completed:,.0f}"), TimeElapsedColumn())
    progress = Progress(*parts, console=_console(sys.stderr), transient=True)
    with suppress(OSError):  # the terminal may go at any time
        progress.start()
    try:
        task = progress.add_task(what, total=None)

        def update(done: int, total: int | None = None) -> None:
            with suppress(OSError):
                progress.update(task, completed=done, total=total)

        yield update
    finally:
        with suppress(OSError):
            progress.stop()
