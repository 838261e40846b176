"""`graphveil bounds`: what each column can be, in a file that a person fills in from public knowledge."""

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, read_text, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit
from graphveil.exceptions import shortened
from graphveil.spec.column_names import looks_like_a_value, toml_key

if TYPE_CHECKING:
    from graphveil.spec.domain import Domain

__all__ = ["bounds", "read_domain"]

_HEAD = """\
# What each column can be: the smallest and the largest value, from a codebook or common sense.
# NEVER from the data: bounds that were looked up in the records void the guarantee.
# Replace every "?"; delete the columns that are not to be released.

# The most records that any one person has. Several visits are several records: 1 only if everybody has one.
# Or, better, the column that says whose record it is (it is not released): person = "patient_id"
rows_per_person = "?"
# If being in the table is itself a secret, and with it how many people there are: neighbours = "add-remove"

[bounds]
"""

bounds = typer.Typer(no_args_is_help=True, help="Public bounds of the columns.")


@bounds.callback()
def _bounds() -> None:
    pass


@bounds.command()
@command
def template(
    data: Annotated[str, typer.Argument(help="The records, as for `graphveil release`; only column names are read.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("bounds.toml"),
    header: Annotated[
        bool, typer.Option("--header", help="The first line is a header, although some names look like values.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a file of column names for you to fill in from public knowledge.

    Example: graphveil bounds template patients.parquet -o bounds.toml
    """
    from graphveil._files import write_file
    from graphveil.rows.files import column_kinds

    output = require_writable(output)
    known = column_kinds(os.path.expanduser(data))
    names = [name for name, _ in known]
    if not header and any(map(looks_like_a_value, names)):  # perhaps a record: nothing of it is repeated
        raise CliError(
            "The name of a column is empty, or looks like a value (a number, a date, a word such as true or NA), as if "
            "the first line of the file were a record. Give it a first line with names; if these are names, say so "
            "with --header."
        )
    if len(set(names)) < len(names):
        raise CliError("Two columns of this file have the same name. Give every column a name of its own.")
    columns, left_out = [name for name, number in known if number], [name for name, number in known if not number]
    lines = [f'{toml_key(name)} = ["?", "?"]' for name in columns] + [
        f"# {toml_key(name)}: not numbers" for name in left_out
    ]
    write_file(output, (_HEAD + "\n".join(lines) + "\n").encode())
    facts = {"template": str(output), "columns": columns, "left_out": left_out}
    asked = "Enter what each can be, from public knowledge, and how many records one person may have."
    said = f"Fill in {output}: {len(columns)} columns. {asked}"
    emit(as_json, facts, lambda out: echo(out, said), kept=True)


def read_domain(path: Path, person: str | None = None, neighbours: str | None = None) -> "Domain":
    """The domain that a filled-in file describes.

    ``person``, the column that says whose record it is, and ``neighbours`` count more than what the file says.
    """
    from graphveil.exceptions import InvalidParameter
    from graphveil.spec.domain import Domain

    try:
        content = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # bad TOML, bad UTF-8, a number of too many digits, endless brackets
        where = f": {shortened(str(error))}" if isinstance(error, tomllib.TOMLDecodeError) else ""
        raise CliError(f"{path} is not a TOML file{where}. Make one with `graphveil bounds template`.") from None
    odd = set(content) - {"rows_per_person", "person", "neighbours", "bounds"}
    if odd or not isinstance(content.get("bounds"), dict) or not content["bounds"]:
        what = f"it has {shortened(', '.join(sorted(odd)))}" if odd else "it has no columns under [bounds]"
        raise CliError(f"{path} must have rows_per_person or person, neighbours, and [bounds] only; {what}.")
    person = person or content.get("person")
    if person is None and content.get("rows_per_person", "?") == "?":
        raise CliError(
            f"{path}: what is rows_per_person, the most records that any one person has? It is protected as a whole. "
            "(Or give the column that says whose record it is: person.)"
        )
    for name, pair in content["bounds"].items():
        _check_pair(path, name, pair)
    try:
        whose = {"rows_per_person": content["rows_per_person"]} if person is None else {"person": person}
        return Domain(bounds=content["bounds"], neighbours=neighbours or content.get("neighbours", "replace"), **whose)
    except InvalidParameter as error:
        raise CliError(f"{path}: {error}") from None


def _check_pair(path: Path, name: str, pair: Any) -> None:
    if isinstance(pair, list) and "?" in pair:
        raise CliError(
            f'{path}: column {shortened(repr(name))} still has "?". What can its values be, by public knowledge?'
        )
    numbers = isinstance(pair, list) and all(isinstance(end, int | float) and not isinstance(end, bool) for end in pair)
    if not numbers or len(pair) != 2:
        raise CliError(f"{path}: column {shortened(repr(name))} must be [smallest, largest], two numbers.")
