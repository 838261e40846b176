"""`graphveil compare`: what two groups differ in, for free."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, Number, require_file, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, one_line, progress_bar

if TYPE_CHECKING:
    from graphveil.inference.comparison import Comparison

__all__ = ["compare"]

_NUMBERS = ("first", "second", "difference", "lower", "upper", "p_value", "q_value")
_HEAD = ",".join(("what", "of", *_NUMBERS, "differs"))
_LIKE = {".csv": re.compile(_HEAD.encode() + b"\n"), ".json": re.compile(rb'\{"compared": ')}


@command
def compare(
    first: Annotated[Path, typer.Argument(help="A release of one group.")],
    second: Annotated[Path, typer.Argument(help="A release of another, with the same columns and bounds.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv or .json file to write all differences to.")
    ] = None,
    fdr: Annotated[float, Number(help="False discovery rate at which numbers are said to differ.")] = 0.1,
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Somebody may have records in both releases; intervals become wider.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two releases: partial correlations, means and standard deviations. Free, and needs no records.

    Unless --overlap is given, you state that nobody has records in both.

    Example: graphveil compare men.release women.release -o differences.csv
    """
    from graphveil.inference.comparison import compare as make
    from graphveil.released.release import Release

    if output is not None:
        kind = _LIKE.get(output.suffix.lower())
        if kind is None:
            raise CliError(f"{output} has an unknown extension; differences are written as {', '.join(_LIKE)}.")
        output = require_writable(output, kind)
    releases = [Release.load(require_file(path)) for path in (first, second)]
    names = (first.stem, second.stem) if first.stem != second.stem else ("a", "b")
    with progress_bar("Comparing", as_json):
        found = make(*releases, names=names, fdr=fdr, overlap=overlap)
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
        **counts,
        "smallest_difference": found.smallest_difference,
        "reason": found.reason,
    }


def _write(found: "Comparison", path: Path) -> None:
    from graphveil._files import write_file
    from graphveil.report.escaping import cell_text

    rows: list[dict[str, Any]] = [
        {"what": kind.what, "of": kind.labels[k]}
        | {name: float(getattr(kind, name)[k]) for name in _NUMBERS}
        | {"differs": bool(found.differ(kind)[k])}
        for kind in found.kinds
        for k in range(len(kind.labels))
    ]
    if path.suffix.lower() == ".json":
        text = json.dumps(_facts(found) | {"differences": rows}, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        cells = [[row["what"], cell_text(row["of"]), *map(str, list(row.values())[2:])] for row in rows]
        text = "\n".join([_HEAD, *map(",".join, cells), ""])
    write_file(path, text.encode(), _LIKE[path.suffix.lower()])
