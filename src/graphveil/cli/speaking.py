"""How verbs speak: to people on a terminal, to scripts as JSON, about mistakes in one sentence."""

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.exceptions import BudgetExceeded, GraphveilError, LedgerDamaged, LedgerWarning, PrivacyWarning

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["AsJson", "Refusal", "answer", "console", "counting", "existing", "say", "verb", "writable"]

DONE, REFUSED, NO_BUDGET, BROKEN, BUG, INTERRUPTED = 0, 1, 3, 4, 70, 130

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]


class Refusal(GraphveilError):
    """A mistake that only the command line can see: a file that is missing, an ending that is not known."""


def console(*, stderr: bool = False) -> "Console":
    """Where words go: colours and widths of the terminal, plain text in a pipe."""
    from rich.console import Console

    piped = not (sys.stderr if stderr else sys.stdout).isatty()
    width = 100 if piped and "COLUMNS" not in os.environ else None
    return Console(stderr=stderr, width=width, highlight=False, emoji=False)


def say(console: "Console", text: str) -> None:
    """Print a sentence as it is; in a pipe also without breaking its lines."""
    console.print(text, markup=False, soft_wrap=not console.is_terminal)


def answer(as_json: bool, facts: dict[str, Any], speak: Callable[["Console"], None]) -> None:
    """Print ``facts`` as JSON, or let ``speak`` put them in words."""
    if as_json:
        print(json.dumps(facts, ensure_ascii=False, allow_nan=False))
    else:
        speak(console())


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Turn what goes wrong into one sentence and an exit code, and warnings into notes."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> None:
        as_json = bool(options.get("as_json"))
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    function(*args, **options)
                finally:
                    ours = [w.message for w in heard if isinstance(w.message, PrivacyWarning | LedgerWarning)]
                    for text in dict.fromkeys(map(str, ours)):
                        _say_on_stderr("Note: ", text, "yellow")
        except typer.Exit:
            raise
        except BrokenPipeError:  # `graphveil ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(DONE) from None
        except KeyboardInterrupt:
            message = "Interrupted. A release that had begun may have been charged: graphveil ledger show tells."
            _refuse(as_json, "Interrupted", message, INTERRUPTED)
        except GraphveilError as error:
            code = NO_BUDGET if isinstance(error, BudgetExceeded) else REFUSED
            _refuse(as_json, type(error).__name__, str(error), BROKEN if isinstance(error, LedgerDamaged) else code)
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            _refuse(as_json, "OSError", f"{name}{error.strerror or 'input or output failed'}.", REFUSED)
        except (
            Exception
        ) as error:  # the message of an unknown error may hold anything, data too: only its kind is shown
            kind = type(error).__name__
            _refuse(as_json, kind, f"This is a bug in graphveil ({kind}). Please report the command you ran.", BUG)

    return wrapped


def _refuse(as_json: bool, kind: str, message: str, code: int) -> None:
    if as_json:
        print(json.dumps({"error": message, "kind": kind}, ensure_ascii=False))
    else:
        _say_on_stderr("Error: ", message, "red")
    raise typer.Exit(code) from None


def _say_on_stderr(label: str, message: str, colour: str) -> None:
    from rich.text import Text

    out = console(stderr=True)
    out.print(Text(label, style=f"bold {colour}") + Text(message), soft_wrap=not out.is_terminal)


@contextmanager
def counting(what: str, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """A line of progress on a terminal; nothing in a pipe. Yields a function of (done, total)."""
    if quiet or not sys.stderr.isatty():

        def ignore(done: int, total: int | None = None) -> None:
            pass

        yield ignore
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn(what), BarColumn(), TextColumn("{task.completed:,.0f}"), TimeElapsedColumn())
    with Progress(*parts, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def update(done: int, total: int | None = None) -> None:
            progress.update(task, completed=done, total=total)

        yield update


def existing(path: Path) -> Path:
    """``path``, if there is such a file."""
    if path.is_dir():
        raise Refusal(f"{path} is a folder; a file is needed.")
    if not path.exists():
        raise Refusal(f"{path} does not exist. Check the name; the current folder is {Path.cwd()}.")
    return path


def writable(path: Path) -> Path:
    """``path``, if a file can be written there: asked before anything is spent on what goes into it."""
    if path.is_dir():
        raise Refusal(f"{path} is a folder; give the name of a file in it.")
    folder = path.parent
    if not folder.is_dir():
        raise Refusal(f"The folder {folder} does not exist. Make it first, or choose another output.")
    if not os.access(folder, os.W_OK):
        raise Refusal(f"The folder {folder} cannot be written. Choose another output.")
    return path
