"""`graphveil compare`: differences of two groups, for free."""

import json
import re
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, Number, WholeNumber, require_file, require_writable, split_columns
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, one_line, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphveil.inference.comparison import Comparison

__all__ = ["compare"]

_LIKE = {
    ".csv": re.compile(b"what,of,first,second,difference,"),
    ".json": re.compile(rb'\{"compared": '),
    ".svg": re.compile(rb"<!-- graphveil -->\n<svg "),
}


@command
def compare(
    first: Annotated[Path, typer.Argument(help="A release of one group.")],
    second: Annotated[Path, typer.Argument(help="A release of another group, with the same columns and bounds.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .csv or .json file for all differences, or a .svg file for a picture."),
    ] = None,
    outcome: Annotated[str | None, typer.Option(help="Compare a regression too: the outcome column.")] = None,
    on: Annotated[
        str | None, typer.Option(help="The explanatory columns, separated by commas; all others by default.")
    ] = None,
    fdr: Annotated[float, Number(help="False discovery rate at which numbers are marked as different.")] = 0.1,
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Somebody may have records in both releases; intervals become wider.")
    ] = False,
    bootstrap: Annotated[
        bool,
        typer.Option("--bootstrap", help="Measure errors on drawn pairs of groups that do not differ; takes minutes."),
    ] = False,
    draws: Annotated[int, WholeNumber(help="Number of these pairs.")] = 199,
    as_json: AsJson = False,
) -> None:
    """Compare two releases: networks, means, standard deviations, a regression. Free, and needs no records.

    Unless --overlap is given, you assert that nobody has records in both. A .svg file shows both networks and their
    differences on one layout.

    Example: graphveil compare men.release women.release --outcome bmi --on age -o differences.csv
    """
    from graphveil.planning.comparison import compare as make
    from graphveil.released.release import Release

    if output is not None:
        kind = _LIKE.get(output.suffix.lower())
        if kind is None:
            raise CliError(f"{output} has an unknown extension; differences are written as {', '.join(_LIKE)}.")
        output = require_writable(output, kind)
    releases = [Release.load(require_file(path)) for path in (first, second)]
    names = (first.stem, second.stem) if first.stem != second.stem else ("a", "b")
    with progress_bar("Comparing", as_json) as count:
        columns = None if on is None else split_columns(on, releases[0].column_names)
        found = make(
            *releases,
            outcome=outcome,
            on=columns,
            names=names,
            fdr=fdr,
            overlap=overlap,
            method="bootstrap" if bootstrap else "score",
            draws=draws,
            progress=count,
        )
    if output is not None:
        _write(found, output)
    facts = _facts(found) | ({} if output is None else {"differences": str(output)})
    emit(as_json, facts, lambda out: echo(out, "\n".join(map(one_line, found.lines))), kept=output is not None)


def _facts(found: "Comparison") -> dict[str, Any]:
    """The result for scripts; the numbers themselves are in the file."""
    counts = {
        kind.what: {
            "compared": len(kind.labels),
            "differ": int(found.differ(kind).sum()),
            "global_p_value": kind.global_p_value,
        }
        for kind in found.kinds
    }
    return {
        "compared": list(found.names),
        "n_eff": list(found.n_eff),
        "overlap": found.overlap,
        "fdr": found.fdr,
        "draws": found.draws,
        **counts,
        "outcome": found.outcome,
        "notes": list(found.notes),
        "smallest_difference": found.smallest_difference,
        "reason": found.reason,
    }


def _write(found: "Comparison", path: Path) -> None:
    from graphveil._files import write_file

    kind = path.suffix.lower()
    encode = {".csv": _encode_csv, ".json": _encode_json, ".svg": _encode_svg}[kind]
    write_file(path, encode(found).encode(), _LIKE[kind])


def _rows(found: "Comparison") -> "Iterator[dict[str, Any]]":
    """Every number; None for what is not known."""
    from graphveil.inference.differences import NUMBERS

    for kind in found.all_numbers:
        for k, label in enumerate(kind.labels):
            numbers = {name: getattr(kind, name)[k].item() for name in NUMBERS}
            known = {name: None if isnan(number) else number for name, number in numbers.items()}
            yield {"what": kind.what, "of": label, **known, "differs": bool(found.differ(kind)[k])}


def _encode_json(found: "Comparison") -> str:
    content = _facts(found) | {"differences": [*_rows(found)]}
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _encode_csv(found: "Comparison") -> str:
    from graphveil.inference.differences import NUMBERS
    from graphveil.report.escaping import cell_text

    lines = [",".join(("what", "of", *NUMBERS, "differs"))]
    for what, label, *numbers in (row.values() for row in _rows(found)):
        lines.append(",".join([what, cell_text(label), *("" if cell is None else str(cell) for cell in numbers)]))
    return "\n".join([*lines, ""])


def _encode_svg(found: "Comparison") -> str:
    from graphveil._network_plot import networks_svg

    return networks_svg(tuple(found.variables), found.panels, 640)
