"""Arguments of commands: numbers, files to read, files to write."""

import os
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.cli._errors import CliError
from graphveil.exceptions import InvalidParameter

__all__ = [
    "AsJson",
    "Number",
    "WholeNumber",
    "expand_home",
    "number",
    "read_text",
    "require_file",
    "require_named_file",
    "require_writable",
    "split_columns",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

_LONGEST_TEXT = 2**24  # bytes of a file of bounds, a forecast or heads: 2¹⁶ columns with names of 250 letters
_WHOLE = re.compile(r"[-+]?\d{1,30}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


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
    path = expand_home(path)
    if path.is_dir():
        raise CliError(f"{path} is a folder; a file is needed.")
    if not path.exists():
        raise CliError(f"{path} does not exist. Check the name; the current folder is {Path.cwd()}.")
    return path


def read_text(path: Path) -> str:
    """The text of a file that people write; ``UnicodeDecodeError`` if it is not text."""
    from graphveil._files import read_file

    try:
        return read_file(require_file(path), _LONGEST_TEXT).decode()
    except InvalidParameter as error:
        raise CliError(str(error)) from None


def require_writable(path: Path, like: "re.Pattern[bytes] | None" = None) -> Path:
    """``path``, if writing there loses nothing; checked before anything is spent."""
    from graphveil._files import check_output

    path = require_named_file(path)
    check_output(path, None, like)
    return path


def require_named_file(path: Path) -> Path:
    """``path``, unless it stands for standard output."""
    if str(path) == "-":
        raise CliError("-o - is not supported: standard output is for messages. Give the name of a file.")
    return expand_home(path)


def expand_home(path: Path) -> Path:
    """``~`` is the home folder, also where a shell does not say so (``--ledger=~/x.db``)."""
    return Path(os.path.expanduser(path))


def split_columns(given: str, names: tuple[str, ...]) -> list[str]:
    """Names between commas; a name that contains a comma is found if it is one of the columns."""
    found, rest = [], given.split(",")
    while rest:
        longest = next((k for k in range(len(rest), 0, -1) if ",".join(rest[:k]).strip() in names), 1)
        found.append(",".join(rest[:longest]).strip())
        rest = rest[longest:]
    return found
