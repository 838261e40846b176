"""`graphveil plan`: forecast what to expect from a budget."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphveil.cli._arguments import AsJson, Number, WholeNumber, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from graphveil.spec.forecast import Forecast

__all__ = ["plan"]

_BAR = 28
_RECORDS = (
    "Number of records, or of people with a person column. With survey weights, divide it by the largest weight over "
    "the mean weight."
)
_OPTIONS = {"n": "--records", "p": "--variables"}  # where the command line has another name for a parameter
_FORECAST = re.compile(rb'\{"bounds_in_sd": ')


@command
def plan(
    records: Annotated[int, WholeNumber(help=_RECORDS)],
    variables: Annotated[int, WholeNumber(help="Number of columns.")],
    epsilon: Annotated[float, Number(help="ε that would be spent.")],
    delta: Annotated[float, Number(help="δ that would be spent.")],
    rows_per_person: Annotated[int, WholeNumber(help="The largest number of records of one person.")] = 1,
    bounds_in_sd: Annotated[
        float, Number(help="Half the width of the bounds, in standard deviations of a column.")
    ] = 4.0,
    neighbours: Annotated[
        str, typer.Option(help='"replace" protects the records of a person, "add-remove" membership in the table too.')
    ] = "replace",
    target: Annotated[float, Number(help="A partial correlation that should be detected.")] = 0.1,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Release simulated records instead of using a formula; takes seconds.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the forecast as JSON, for `graphveil report`.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write a page with plots of the error against ε and the number of records (.html)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast what a budget buys. Needs no data and spends nothing.

    Example: graphveil plan --records 5000 --variables 20 --epsilon 1 --delta 1e-6
    """
    from graphveil._files import write_file
    from graphveil.exceptions import InvalidParameter
    from graphveil.planning.forecasts import plan as make
    from graphveil.report.page import PAGE, forecast_html
    from graphveil.spec.budget import Budget

    output = output and require_writable(output, _FORECAST)
    plot = plot and require_writable(plot, PAGE)
    if output is not None and plot is not None and output.resolve() == plot.resolve():
        raise CliError(f"--output and --plot are the same file, {output}. Choose two.")
    budget = Budget(epsilon, delta)
    with progress_bar("Rehearsing", as_json) as count:
        try:
            forecast = make(
                records,
                variables,
                budget,
                rows_per_person=rows_per_person,
                bounds_in_sd=bounds_in_sd,
                neighbours=neighbours,
                target=target,
                rehearse=rehearse,
                progress=count,
            )
        except InvalidParameter as error:
            name, must, rule = str(error).partition(" must be ")
            raise CliError(_OPTIONS.get(name, name) + must + rule) from None
    if output is not None:
        write_file(output, forecast.to_json().encode(), _FORECAST)
    if plot is not None:
        write_file(plot, forecast_html(forecast).encode(), PAGE)
    written = [path for path in (output, plot) if path is not None]
    emit(as_json, forecast.to_dict(), lambda out: _say(out, forecast, written), kept=output is not None)


def _say(console: "Console", forecast: "Forecast", written: list[Path]) -> None:
    from rich.table import Table

    from graphveil.spec.rounding import format_round_up

    here = forecast.here
    for sentence in forecast.sentences:
        echo(console, sentence)
    auc = "" if here.auc is None else f", edges ranked with an AUC of {here.auc:.3f}"
    error = f"Expected error of the precision matrix: {here.error:.2g}{auc}."
    coefficient = ""
    if here.coefficient_sd is not None:
        coefficient = f" Standardised regression coefficient, with sampling: ±{here.coefficient_sd:.2g}."
    echo(console, f"Noise of a correlation: ±{here.noise_sd:.2g}.{coefficient} {error}\n")
    worst = max(point.error for point in forecast.by_epsilon + forecast.by_records)
    table = Table(box=None, pad_edge=False)
    for title in ("ε", "records", "n_eff", "error", ""):
        table.add_column(title, justify="left" if not title else "right")
    for points in (forecast.by_epsilon, forecast.by_records):
        for point in points:
            bar = "█" * max(1, round(_BAR * point.error / worst))
            mark = " ← this plan" if point == here else ""
            epsilon = format_round_up(point.epsilon, 4)
            table.add_row(epsilon, f"{point.n_samples:,}", f"{point.n_eff:,.0f}", f"{point.error:.2g}", bar + mark)
        table.add_section()
        table.add_row()
    console.print(table)
    source = "Rehearsed on simulated records" if forecast.rehearsed else "By a formula; --rehearse is more accurate"
    console.print(
        f"{source}. For Gaussian records and sparse networks; skewed columns and rare events do worse, and "
        "weights and missing values are not taken into account."
    )
    for path in written:
        echo(console, f"Written: {path}")
