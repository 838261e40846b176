"""`graphveil regress`: a regression table from a release, for free."""

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli._arguments import AsJson, Number, require_file, split_columns
from graphveil.cli._errors import command

__all__ = ["regress"]


@command
def regress(
    release: Annotated[Path, typer.Argument(help="A file that `graphveil release` wrote.")],
    outcome: Annotated[str, typer.Option(help="The outcome column; for a category, one level: 'ward[B]'.")],
    on: Annotated[
        str | None,
        typer.Option(
            help="The columns to explain it by, separated by commas; all others by default. The name of a category "
            "brings all its levels."
        ),
    ] = None,
    level: Annotated[float, Number(help="Level of the intervals.")] = 0.95,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .html, .csv, .tex or .json file to write.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Regress a column on others, with standard errors that account for privacy. Free, and needs no records.

    Example: graphveil regress patients.release --outcome bmi --on age,systolic -o table.html
    """
    from graphveil.cli._table_formats import ResultFile
    from graphveil.inference.regression import regression
    from graphveil.released.release import Release

    file = None if output is None else ResultFile.at(output)
    found = Release.load(require_file(release))
    known = (*found.column_names, *(found.domain.source_columns or ()))
    fitted = regression(found, outcome, None if on is None else split_columns(on, known), level=level)
    ResultFile.show(file, fitted.table(), fitted.to_dict(), as_json=as_json)
