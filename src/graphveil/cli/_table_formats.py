"""A table of results as a file: HTML, CSV, LaTeX or JSON."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil._files import write_file
from graphveil.cli._arguments import require_writable
from graphveil.cli._errors import CliError
from graphveil.cli._output import echo, emit
from graphveil.report.escaping import cell_text

if TYPE_CHECKING:
    from graphveil._tables import Table

__all__ = ["ResultFile"]

_HTML = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>graphveil: table</title>\n'
_STYLE = (
    "<style>body{font:1rem/1.5 system-ui,sans-serif;margin:2rem;max-width:70rem}table{border-collapse:collapse}"
    "caption{font-weight:600;text-align:left}th,td{padding:.2rem .8rem;text-align:right}"
    "th[scope=row]{text-align:left;font-weight:400}thead{border-block:1px solid}</style>\n"
)
_CSV = "term,"
_LATEX = "% graphveil\n"
_JSON = '{"table": "graphveil", '


def _html(table: "Table", facts: dict[str, Any]) -> str:
    return f"{_HTML}{_STYLE}{table.to_html()}\n"


def _csv(table: "Table", facts: dict[str, Any]) -> str:
    """The rows at full precision, and below them joint tests; an empty cell for what is not known."""
    rows = [*facts["terms"], *facts.get("tests", ())]
    fields = list(dict.fromkeys(field for row in rows for field in row))
    lines = [",".join(fields)]
    for row in rows:
        numbers = ["" if row.get(field) is None else repr(row[field]) for field in fields[1:]]
        lines.append(",".join([cell_text(row["term"]), *numbers]))
    return "\n".join([*lines, ""])


def _latex(table: "Table", facts: dict[str, Any]) -> str:
    return _LATEX + table.to_latex()


def _json(table: "Table", facts: dict[str, Any]) -> str:
    return _JSON + json.dumps(facts, ensure_ascii=False, allow_nan=False)[1:] + "\n"


_FORMATS: dict[str, tuple[Callable[["Table", dict[str, Any]], str], str]] = {
    ".html": (_html, _HTML),
    ".csv": (_csv, _CSV),
    ".tex": (_latex, _LATEX),
    ".json": (_json, _JSON),
}


@dataclass(frozen=True)
class ResultFile:
    """Where a table goes, checked before it is computed."""

    path: Path

    @classmethod
    def at(cls, path: Path) -> "ResultFile":
        """A file that may be written; by its extension one of the formats."""
        if path.suffix.lower() not in _FORMATS:
            raise CliError(f"{path} has an unknown extension; a table is written as {', '.join(_FORMATS)}.")
        return cls(require_writable(path, cls(path)._like))

    def write(self, table: "Table", facts: dict[str, Any]) -> None:
        """Write what is shown as a table, and ``facts`` that JSON can say: ``terms`` among them, maybe ``tests``."""
        encode, _ = _FORMATS[self.path.suffix.lower()]
        write_file(self.path, encode(table, facts).encode(), self._like)

    @classmethod
    def show(cls, file: "ResultFile | None", table: "Table", facts: dict[str, Any], *, as_json: bool) -> None:
        """Say a result, and write it to a file if there is to be one."""
        said = table.to_text()
        if file is not None:
            file.write(table, facts)
            facts = {"file": str(file.path), **facts}
            said = f"{said}\n\nTable: {file.path}"
        emit(as_json, facts, lambda out: echo(out, said), kept=file is not None)

    @property
    def _like(self) -> re.Pattern[bytes]:
        return re.compile(re.escape(_FORMATS[self.path.suffix.lower()][1].encode()))
