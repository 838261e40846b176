"""`graphveil components`: principal components of a release, for free."""

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli._arguments import AsJson, Number, require_file
from graphveil.cli._errors import command

__all__ = ["components"]


@command
def components(
    release: Annotated[Path, typer.Argument(help="A file that `graphveil release` wrote.")],
    level: Annotated[float, Number(help="Level of the intervals.")] = 0.95,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .html, .csv, .tex or .json file to write.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show principal components of the correlations, with standard errors. Free, and needs no records.

    Example: graphveil components patients.release -o components.csv
    """
    from graphveil.cli._table_formats import ResultFile
    from graphveil.inference.components import components as find
    from graphveil.released.release import Release

    file = None if output is None else ResultFile.at(output)
    found = find(Release.load(require_file(release)), level=level)
    ResultFile.show(file, found.table(), found.to_dict(), as_json=as_json)
