"""`graphveil report`: the report as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphveil.cli._arguments import AsJson, read_text, require_file, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, progress_bar

if TYPE_CHECKING:
    from graphveil.spec.forecast import Forecast

__all__ = ["report"]


@command
def report(
    release: Annotated[Path, typer.Argument(help="A file that `graphveil release` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    forecast: Annotated[
        Path | None, typer.Option(help="An earlier forecast (`graphveil plan -o`), to compare with.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the report.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report: network, edges with intervals, regressions, centrality, privacy card. Free, and needs no records.

    Of a file with several groups (`graphveil release --by`): their networks side by side, and what differs.

    Example: graphveil report patients.release -o report.html
    """
    from graphveil.released.grouped import read_any_release
    from graphveil.released.release import read_content
    from graphveil.report.page import PAGE, write_report

    output = require_writable(output, PAGE)
    planned = None if forecast is None else _read_forecast(forecast)
    found = read_any_release(read_content(require_file(release)), str(release))
    with progress_bar("Fitting the path and testing every edge", as_json):
        write_report(found, output, planned, title=title)
    size = output.stat().st_size
    facts = {"report": str(output), "bytes": size}
    emit(
        as_json,
        facts,
        lambda out: echo(out, f"Report: {output} ({size / 1000:,.0f} kB). Open it in any browser."),
        kept=True,
    )


def _read_forecast(path: Path) -> "Forecast":
    from graphveil.exceptions import InvalidParameter
    from graphveil.spec.forecast import Forecast

    try:
        return Forecast.from_json(read_text(path))
    except (InvalidParameter, UnicodeDecodeError, TypeError):
        raise CliError(f"{path} is not a forecast. Make one with `graphveil plan ... -o {path.name}`.") from None
