"""`graphveil bounds`: what each column can be, in a file that a person fills in from public knowledge."""

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli.speaking import AsJson, Refusal, answer, existing, say, verb, writable

if TYPE_CHECKING:
    from graphveil.spec.domain import Domain

__all__ = ["bounds", "read_domain"]

_HEAD = """\
# What each column can be: the smallest and the largest value, from a codebook or common sense.
# NEVER from the data: bounds that were looked up in the records void the guarantee.
# Replace every "?"; delete the columns that are not to be released.

# The most records that any one person has. Several visits are several records: 1 only if everybody has one.
rows_per_person = "?"

[bounds]
"""

bounds = typer.Typer(no_args_is_help=True, help="Public bounds of the columns.")


@bounds.callback()
def _bounds() -> None:
    pass


@bounds.command()
@verb
def template(
    data: Annotated[
        str, typer.Argument(help="The records, as for `graphveil release`; only names of columns are read.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("bounds.toml"),
    as_json: AsJson = False,
) -> None:
    """Write a file of column names for you to fill in from public knowledge.

    Example: graphveil bounds template patients.parquet -o bounds.toml
    """
    from graphveil.gate import column_kinds

    if writable(output).exists():
        raise Refusal(f"{output} exists already; it is not overwritten. Choose another output.")
    known = column_kinds(data)
    if any(map(_is_number, known)):  # perhaps a record: its values are not repeated
        raise Refusal("A name in the first line of this file is a number. Give the file a first line with names.")
    lines = [f'{_key(name)} = ["?", "?"]' for name, number in known.items() if number]
    left_out = [name for name, number in known.items() if not number]
    lines += [f"# {_key(name)}: not numbers" for name in left_out]
    output.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    facts = {"template": str(output), "columns": [name for name in known if name not in left_out], "left_out": left_out}
    asked = "What can each be, by public knowledge? And how many records may one person have?"
    said = f"Fill in {output}: {len(facts['columns'])} columns. {asked}"
    answer(as_json, facts, lambda out: say(out, said))


def read_domain(path: Path) -> "Domain":
    """The domain that a filled-in file describes."""
    from graphveil.exceptions import InvalidParameter
    from graphveil.spec.domain import Domain

    try:
        content = tomllib.loads(existing(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # bad TOML, bad UTF-8, a number of too many digits, endless brackets
        where = f": {error}" if isinstance(error, tomllib.TOMLDecodeError) else ""
        raise Refusal(f"{path} is not a TOML file{where}. Make one with `graphveil bounds template`.") from None
    odd = set(content) - {"rows_per_person", "bounds"}
    if odd or not isinstance(content.get("bounds"), dict) or not content["bounds"]:
        what = f"it has {_shortened(', '.join(sorted(odd)))}" if odd else "it has no columns under [bounds]"
        raise Refusal(f"{path} must have rows_per_person and [bounds] only; {what}.")
    if content.get("rows_per_person", "?") == "?":
        raise Refusal(
            f"{path}: what is rows_per_person, the most records that any one person has? It is protected as a whole."
        )
    for name, pair in content["bounds"].items():
        _check_pair(path, name, pair)
    try:
        return Domain(bounds=content["bounds"], rows_per_person=content["rows_per_person"])
    except InvalidParameter as error:
        raise Refusal(f"{path}: {error}") from None


def _check_pair(path: Path, name: str, pair: Any) -> None:
    if isinstance(pair, list) and "?" in pair:
        raise Refusal(f'{path}: column {name!r} still has "?". What can its values be, by public knowledge?')
    numbers = isinstance(pair, list) and all(isinstance(end, int | float) and not isinstance(end, bool) for end in pair)
    if not numbers or len(pair) != 2:
        raise Refusal(f"{path}: column {name!r} must be [smallest, largest], two numbers.")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def _key(name: str) -> str:
    """A TOML key."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    import json

    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
