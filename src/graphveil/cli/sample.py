"""`graphveil sample`: synthetic rows from a release, for free."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, WholeNumber, require_file, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit

if TYPE_CHECKING:
    from graphveil.inference.synthetic import SyntheticRows

__all__ = ["sample"]

_LIKE = re.compile(rb'"synthetic_*",')  # how a file of ours begins, which another may replace


@command
def sample(
    release: Annotated[Path, typer.Argument(help="A file that `graphveil release` wrote.")],
    rows: Annotated[int, WholeNumber(help="How many rows to draw.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .csv file to write.")],
    as_json: AsJson = False,
) -> None:
    """Draw synthetic rows from a release, for writing code, not for conclusions. Free, and needs no records.

    Example: graphveil sample patients.release --rows 1000 -o synthetic.csv
    """
    from graphveil._files import write_file
    from graphveil.inference.synthetic import WARNING
    from graphveil.inference.synthetic import sample as draw
    from graphveil.released.release import Release

    if output.suffix.lower() != ".csv":
        raise CliError(f"{output} has an unknown extension; synthetic rows are written as .csv.")
    output = require_writable(output, _LIKE)
    found = draw(Release.load(require_file(release)), rows)
    write_file(output, _to_csv(found), _LIKE)
    facts = {"synthetic": str(output), "rows": found.n_rows, "warning": WARNING}
    emit(as_json, facts, lambda out: echo(out, f"{found.n_rows:,} rows: {output}. {WARNING}"), kept=True)


def _to_csv(found: "SyntheticRows") -> bytes:
    """A first column marks every row as synthetic, wherever the row is copied."""
    from graphveil.report.escaping import cell_text

    def cell(value: Any) -> str:
        return "" if value is None else cell_text(value) if isinstance(value, str) else str(value)

    header = ",".join(map(cell_text, (found.mark, *found.columns)))
    columns = [map(cell, column.tolist()) for column in found.columns.values()]
    return "\n".join([header, *(",".join(("yes", *row)) for row in zip(*columns, strict=True)), ""]).encode()
