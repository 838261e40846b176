"""How verbs speak: to people on a terminal, to scripts as JSON, about mistakes in one sentence.

What is said does not decide how a command ends, once what it was asked for is done: a terminal of another encoding, a
full disk or a reader who has gone cost words, not a release that was paid for.
"""

import codecs
import io
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from graphveil.cli._signals import signal_heard
from graphveil.exceptions import (
    BudgetExceeded,
    GraphveilError,
    InvalidParameter,
    LedgerDamaged,
    LedgerFull,
    LedgerUnavailable,
    LedgerWarning,
    PrivacyWarning,
)

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "BROKEN",
    "DONE",
    "ELSEWHERE",
    "LOST",
    "REFUSED",
    "USAGE",
    "AsJson",
    "CliError",
    "Number",
    "WholeNumber",
    "command",
    "echo",
    "emit",
    "expanded",
    "named_output",
    "note",
    "number",
    "one_line",
    "open_streams",
    "progress_bar",
    "read_text",
    "refuse",
    "require_file",
    "require_writable",
    "verdict",
]

# Exit codes; docs/command-line.md says which may be run again.
DONE, REFUSED, USAGE, NO_BUDGET, BROKEN, ELSEWHERE, LOST, BUG, LATER = 0, 1, 2, 3, 4, 5, 6, 70, 75
_SIGNALLED = 128  # and the number of the signal, as shells count
_STOPPED = "Interrupted"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

_LONGEST = 1000  # letters of a message: a screenful; a name in a file may have any number
_LONGEST_TEXT = 2**24  # bytes of a file of bounds, a forecast or heads: 2¹⁶ columns with names of 250 letters
_ASCII = {"ε": "epsilon", "δ": "delta", "μ": "mu", "η": "eta", "—": "-", "–": "-", "−": "-", "…": "..."}
_WHOLE = re.compile(r"[-+]?\d{1,30}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class CliError(GraphveilError):
    """A mistake that only the command line can see: a file that is missing, an ending that is not known."""


# ---------------------------------------------------------------------- streams
def open_streams() -> None:
    """Make standard output and standard error such that writing a letter to them cannot fail."""
    codecs.register_error("graphveil", _in_ascii)
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


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What stands for letters that the terminal does not have."""
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


def _spoken(stream: TextIO, speak: Callable[["Console"], None]) -> str:
    """Words in lines: with the colours and the width of a terminal, plain text in a pipe."""
    page = _Page(stream)
    speak(_console(page))
    return page.getvalue()


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    width = 100 if not stream.isatty() and "COLUMNS" not in os.environ else None
    return Console(file=stream, width=width, highlight=False, emoji=False)


# ---------------------------------------------------------------------- words
def one_line(text: str) -> str:
    r"""A name or a sentence from elsewhere; what moves a cursor or is not seen is written out: ``\x1b``, ``\n``."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def echo(console: "Console", text: str) -> None:
    """Print sentences as they are; in a pipe also without breaking their lines."""
    lines = "\n".join(map(one_line, text.split("\n")))
    console.print(lines, markup=False, soft_wrap=not console.is_terminal)


def emit(as_json: bool, facts: dict[str, Any], speak: Callable[["Console"], None], *, kept: bool = False) -> None:
    """Print ``facts`` as JSON, or let ``speak`` put them in words.

    Where what was asked for is ``kept`` anyway (a file, a line in a ledger), it is done, whether it can be said or not.
    """
    try:
        text = _as_json(facts) if as_json else _spoken(sys.stdout, speak)
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
    if not as_json or _put(sys.stdout, _as_json({"error": message, "kind": kind})) is not None:
        _say_on_stderr("Error: ", message, "red")
    return code


def _as_json(facts: dict[str, Any]) -> str:
    """One line of ASCII: the same in every encoding, and nothing in it moves a cursor."""
    return json.dumps(facts, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


def _say_on_stderr(label: str, message: str, colour: str) -> None:
    from rich.text import Text

    def speak(out: "Console") -> None:
        out.print(Text(label, style=f"bold {colour}") + Text(one_line(message)), soft_wrap=not out.is_terminal)

    _put(sys.stderr, _spoken(sys.stderr, speak))


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


# ---------------------------------------------------------------------- how a verb ends
def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn what goes wrong into one sentence and an exit code, and warnings into notes."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    function(*args, **options)
                finally:
                    ours = [w.message for w in heard if isinstance(w.message, PrivacyWarning | LedgerWarning)]
                    for text in dict.fromkeys(map(str, ours)):
                        note(text)
        except typer.Exit:
            raise
        except BaseException as error:
            raise typer.Exit(refuse(bool(options.get("as_json")), *verdict(error))) from None

    return wrapped


def verdict(error: BaseException, *, charged: bool = False) -> tuple[str, str, int]:
    """Kind, sentence and exit code of what went wrong; where a release was charged, or may have been, it is lost."""
    kind, message, code = _judged(error)
    if not charged:
        return kind, f"{message} Nothing was charged." if kind == _STOPPED else message, code
    lost = "The release was charged, or may have been, and is lost. Do not run it again before you have looked at"
    return kind, f"{message} {lost} `graphveil ledger history`.", LOST


def _judged(error: BaseException) -> tuple[str, str, int]:
    kind, stopped = type(error).__name__, signal_heard()
    if stopped is not None or isinstance(error, KeyboardInterrupt):
        return _STOPPED, "Interrupted.", _SIGNALLED + (stopped or signal.SIGINT)
    if isinstance(error, GraphveilError):
        return kind, str(error), _code(error)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return "OSError", f"{name}{error.strerror or 'input or output failed'}.", REFUSED
    if isinstance(error, MemoryError):
        return kind, "There is not enough memory for this.", REFUSED
    # The message of an unknown error may hold anything, data too: only its kind is shown.
    return kind, f"This is a bug in graphveil ({kind}). Please report the command you ran.", BUG


def _code(error: GraphveilError) -> int:
    if isinstance(error, BudgetExceeded):
        return NO_BUDGET
    if isinstance(error, LedgerDamaged):
        return BROKEN
    return LATER if isinstance(error, LedgerUnavailable | LedgerFull) else REFUSED


# ---------------------------------------------------------------------- what verbs are given
def number(given: Any) -> float:
    """A number as it is written in ASCII digits, or a default; Python would take 1_0 for ten."""
    if not _NUMBER.fullmatch(str(given)):
        raise typer.BadParameter(f"{given!r} is not a number.")
    return float(given)


def whole_number(given: Any) -> int:
    """The same for an integer."""
    if not _WHOLE.fullmatch(str(given)):
        raise typer.BadParameter(f"{given!r} is not a whole number.")
    return int(given)


Number = partial(typer.Option, parser=number, metavar="NUMBER")
WholeNumber = partial(typer.Option, parser=whole_number, metavar="INTEGER")


def require_file(path: Path) -> Path:
    """``path``, if there is such a file; ``~`` is the home folder."""
    path = expanded(path)
    if path.is_dir():
        raise CliError(f"{path} is a folder; a file is needed.")
    if not path.exists():
        raise CliError(f"{path} does not exist. Check the name; the current folder is {Path.cwd()}.")
    return path


def read_text(path: Path) -> str:
    """The text of a file that people write; ``UnicodeDecodeError`` where it is none."""
    from graphveil._files import read_file

    try:
        return read_file(require_file(path), _LONGEST_TEXT).decode()
    except InvalidParameter as error:
        raise CliError(str(error)) from None


def require_writable(path: Path, like: "re.Pattern[bytes] | None" = None) -> Path:
    """``path``, if writing there loses nothing: asked before anything is spent on what goes into it."""
    from graphveil._files import check_output

    path = named_output(path)
    check_output(path, None, like)
    return path


def named_output(path: Path) -> Path:
    """``path``, unless it stands for standard output."""
    if str(path) == "-":
        raise CliError("-o - is not supported: standard output is for messages. Give the name of a file.")
    return expanded(path)


def expanded(path: Path) -> Path:
    """``~`` is the home folder, also where a shell does not say so (``--ledger=~/x.db``)."""
    return Path(os.path.expanduser(path))
