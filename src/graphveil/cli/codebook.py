"""`graphveil codebook`: the content of the columns, in a file that a person fills in from public knowledge."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphveil.cli._arguments import AsJson
from graphveil.cli._errors import command
from graphveil.cli._output import echo, emit
from graphveil.cli.bounds import Header, read_domain, write_template

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["codebook"]

_HEAD = """\
# What each column holds, from a codebook or common sense.
# NEVER from the data: bounds or levels that were looked up in the records void the guarantee.
# Replace every "?"; delete the columns that should not be released. Examples:
#
#   age = [0, 110]
#   hba1c = { low = 3, high = 20, missing = [999], label = "HbA1c", unit = "%", source = "laboratory manual, p. 12" }
#   cost = { low = 1, high = 1e6, scale = "log" }
#   ward = { levels = ["A", "B", "C"], missing = true }
#   mood = { levels = ["never", "sometimes", "often"], ordered = true }

# The largest number of records of any person. Several visits are several records: 1 only if everybody has one.
# Or, better, name the column that identifies the person (it is not released): person = "patient_id"
rows_per_person = "?"
# If records have survey weights, their column and the largest that counts: weight = { column = "w", largest = 10 }

[columns]
"""
# What to fill in for a column of each kind; the levels of booleans are known.
_ASKED = {
    "number": '["?", "?"]',
    "any": '["?", "?"]',
    "boolean": "{ levels = [false, true] }",
    "text": '{ levels = ["?"] }',
}

codebook = typer.Typer(no_args_is_help=True, help="A public description of the columns.")


@codebook.callback()
def _codebook() -> None:
    pass


@codebook.command()
@command
def template(
    data: Annotated[str, typer.Argument(help="The records; only names and types are read.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("codebook.toml"),
    header: Header = False,
    as_json: AsJson = False,
) -> None:
    """Write a codebook for you to fill in, from the names and types of the columns, never from a value.

    Example: graphveil codebook template patients.parquet -o codebook.toml
    """
    write_template(data, output, _HEAD, _ASKED.get, "neither numbers nor text", header=header, as_json=as_json)


@codebook.command()
@command
def check(
    path: Annotated[Path, typer.Argument(metavar="CODEBOOK", help="A codebook: TOML, Frictionless or CSVW.")],
    data: Annotated[str, typer.Argument(help="The records; only names and types are read.")],
    person: Annotated[str | None, typer.Option("--person", help="The column that identifies the person.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a codebook against the names and types of the columns. Nothing is spent, and no value is read.

    Example: graphveil codebook check codebook.toml patients.parquet
    """
    from graphveil.rows.files import column_kinds
    from graphveil.rows.sources import open_source

    domain = read_domain(path, person)
    data = os.path.expanduser(data)
    open_source(data, domain, None)  # refuses what is not there, or of another type
    named = domain.source_columns or ()
    beside = (domain.person, None if domain.weight is None else domain.weight.column)
    left = [name for name, kind in column_kinds(data) if name not in (*named, *beside) and kind != "any"]
    silent = list(named if domain.codebook is None else domain.codebook.without_source)
    facts = {"columns": list(domain.columns or ()), "not_described": left, "without_source": silent}

    def show(out: "Console") -> None:
        echo(out, f"{len(named)} columns of the file become {domain.n_features} columns of a release.")
        if left:
            echo(out, f"Not described, and not released: {', '.join(left)}.")
        if silent:
            echo(out, f"No source is given for: {', '.join(silent)}.")
        if domain.weight is not None:
            largest = f"{domain.weight.largest:g}"
            echo(out, f"Records have weights: for a plan, first divide their number by {largest} over the mean weight.")

    emit(as_json, facts, show)
