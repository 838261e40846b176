"""`graphveil bounds`: the ranges of the columns, in a file that a person fills in from public knowledge."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphveil.cli._arguments import AsJson, require_file, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit
from graphveil.spec.column_names import say_which_look_like_values, toml_key

if TYPE_CHECKING:
    from graphveil.spec.domain import Domain
    from graphveil.spec.weight import Weight

__all__ = ["Header", "bounds", "check_names", "read_domain", "write_template"]

_HEAD = """\
# The smallest and the largest value that each column can take, from a codebook or common sense.
# NEVER from the data: bounds that were looked up in the records void the guarantee.
# Replace every "?"; delete the columns that should not be released.

# The largest number of records of any person. Several visits are several records: 1 only if everybody has one.
# Or, better, name the column that identifies the person (it is not released): person = "patient_id"
rows_per_person = "?"
# If membership in the table and the number of people are secret: neighbours = "add-remove"
# If records have survey weights, their column and the largest that counts: weight = { column = "w", largest = 10 }

[bounds]
"""

Header = Annotated[
    bool, typer.Option("--header", help="The first line is a header, although some names look like values.")
]

bounds = typer.Typer(no_args_is_help=True, help="Public bounds of the columns.")


@bounds.callback()
def _bounds() -> None:
    pass


@bounds.command()
@command
def template(
    data: Annotated[str, typer.Argument(help="The records, as for `graphveil release`; only column names are read.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("bounds.toml"),
    header: Header = False,
    as_json: AsJson = False,
) -> None:
    """Write a file of column names for you to fill in from public knowledge.

    Example: graphveil bounds template patients.parquet -o bounds.toml
    """
    write_template(data, output, _HEAD, _ask_bounds, "not numbers", header=header, as_json=as_json)


def _ask_bounds(kind: str) -> str | None:
    return None if kind in ("text", "other") else '["?", "?"]'


def write_template(
    data: str, output: Path, head: str, ask: Callable[[str], str | None], why_not: str, *, header: bool, as_json: bool
) -> None:
    """Write a file to fill in: what ``ask`` has for the type of each column, and a comment where it has nothing."""
    from graphveil._files import write_file
    from graphveil.rows.files import column_kinds

    output = require_writable(output)
    known = column_kinds(os.path.expanduser(data))
    check_names([name for name, _ in known], header=header)
    asked = {name: ask(kind) for name, kind in known}
    columns, left_out = ([name for name, text in asked.items() if (text is None) is out] for out in (False, True))
    lines = [f"{toml_key(name)} = {asked[name]}" for name in columns]
    lines += [f"# {toml_key(name)}: {why_not}" for name in left_out]
    write_file(output, (head + "\n".join(lines) + "\n").encode())
    facts = {"template": str(output), "columns": columns, "left_out": left_out}
    request = "Enter the range of each from public knowledge, and how many records one person may have."
    emit(as_json, facts, lambda out: echo(out, f"Fill in {output}: {len(columns)} columns. {request}"), kept=True)


def read_domain(
    path: Path,
    person: str | None = None,
    neighbours: str | None = None,
    weight: "Weight | None" = None,
) -> "Domain":
    """The domain that a filled-in file describes.

    ``person``, the column that identifies the person, ``neighbours`` and ``weight`` take precedence over the file.
    """
    from graphveil.exceptions import InvalidParameter
    from graphveil.spec.domain import Domain

    settings = {"person": person, "neighbours": neighbours, "weight": weight}
    try:
        return Domain.read(require_file(path), **{name: value for name, value in settings.items() if value is not None})
    except InvalidParameter as error:
        raise CliError(f"{path}: {error}") from None


def check_names(names: list[str], *, header: bool) -> None:
    """Refuse names that may be values of a first record, without repeating them, unless they are a ``header``."""
    why = say_which_look_like_values(names)
    if why and not header:
        raise CliError(f"{why} Add a first line with names; if these are names, pass --header.")
    if len(set(names)) < len(names):
        raise CliError("Two columns of this file have the same name. Give every column a unique name.")
