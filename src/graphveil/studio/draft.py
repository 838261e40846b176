"""What a person has entered so far, read as a release that could be made, and written down so that it can be repeated.

The command, the Python and the file of bounds say the same as the button of the page does: with the ledger's key they
return the same release, and charge nothing again.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, shortened
from graphveil.spec.budget import Budget
from graphveil.spec.column_names import toml_key
from graphveil.spec.domain import Domain
from graphveil.spec.names import check_name
from graphveil.spec.rounding import format_exact

__all__ = ["BOUNDS_HEAD", "Draft", "read_columns"]

BOUNDS_HEAD = "# What each column can be, by public knowledge; never from the data. Written by graphveil studio.\n"
_LARGEST_TEXT = 1000  # letters of a source or a name that somebody types


@dataclass(frozen=True)
class Draft:
    """A release as entered.

    Attributes
    ----------
    data : str
        Where the records are.
    domain : Domain
        What the columns can be.
    sources : mapping of str to str
        How the bounds of a column are known.
    budget : Budget
    dataset : str
        The account in the ledger.
    ledger : str
        Where the ledger is.
    """

    data: str
    domain: Domain
    sources: Mapping[str, str]
    budget: Budget
    dataset: str
    ledger: str

    @classmethod
    def read(cls, data: str, ledger: str, entered: Mapping[str, Any]) -> "Draft":
        """Check what was entered, and say what is wrong with it."""
        domain, sources = read_columns(entered)
        budget = Budget(_number("epsilon", entered.get("epsilon")), _number("delta", entered.get("delta")))
        return cls(data, domain, sources, budget, check_name("dataset", entered.get("dataset")), ledger)

    @property
    def key(self) -> str:
        """The release's name in the ledger: the same for the same request, whoever makes it, and whenever."""
        request = [os.path.abspath(self.data), self.dataset, self.domain.to_dict(), self.budget.to_dict()]
        return "studio-" + hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:16]

    def file_name(self, ending: str) -> str:
        """A file for this release, beside which those of other drafts have room."""
        stem = re.sub(r"[^\w.-]+", "", Path(self.data).stem).lstrip(".-") or "table"  # data may be a pattern or a URI
        return f"{stem}-{self.key[-6:]}{ending}"

    @property
    def bounds_toml(self) -> str:
        """The file of bounds."""
        domain, lines = self.domain, [BOUNDS_HEAD.rstrip()]
        lines += [f"person = {json.dumps(domain.person, ensure_ascii=False)}"] if domain.person else []
        lines += [] if domain.person else [f"rows_per_person = {domain.rows_per_person}"]
        lines += ["", "[bounds]"]
        for name, low, high in self._pairs:
            why = f"  # {' '.join(self.sources[name].split())}" if name in self.sources else ""
            lines.append(f"{toml_key(name)} = [{format_exact(low)}, {format_exact(high)}]{why}")
        return "\n".join(lines) + "\n"

    @property
    def command(self) -> str:
        """The command that makes this release."""
        options = {
            "--epsilon": format_exact(self.budget.epsilon),
            "--delta": format_exact(self.budget.delta),
            "--bounds": self.file_name(".toml"),
            "--dataset": self.dataset,
            "--ledger": self.ledger,
            "--key": self.key,
            "-o": self.file_name(".release"),
        }
        words = [f"{name} {shlex.quote(value)}" for name, value in options.items()]
        return " \\\n  ".join([f"graphveil release {shlex.quote(self.data)}", *words])

    @property
    def python(self) -> str:
        """The same in Python."""
        pairs = "".join(f"        {name!r}: ({low!r}, {high!r}),\n" for name, low, high in self._pairs)
        person = f"person={self.domain.person!r}" if self.domain.person else ""
        return (
            "import graphveil as gv\n\n"
            f"domain = gv.Domain(\n    bounds={{\n{pairs}    }},\n"
            f"    {person or f'rows_per_person={self.domain.rows_per_person}'},\n)\n"
            f"release = gv.release(\n    {self.data!r},\n    domain=domain,\n"
            f"    budget=gv.Budget({self.budget.epsilon!r}, {self.budget.delta!r}),\n"
            f"    ledger=gv.Ledger({self.ledger!r}),\n    dataset={self.dataset!r},\n    key={self.key!r},\n)\n"
            f"release.save({self.file_name('.release')!r})\n"
            f"gv.write_report(release, {self.file_name('.html')!r})\n"
        )

    @property
    def _pairs(self) -> list[tuple[str, float, float]]:
        assert self.domain.columns is not None
        assert self.domain.bounds is not None
        return list(zip(self.domain.columns, *self.domain.bounds, strict=True))


def read_columns(entered: Mapping[str, Any]) -> tuple[Domain, dict[str, str]]:
    """The domain of the columns in use, and how their bounds are known."""
    columns = entered.get("columns")
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise InvalidParameter("columns must be a list of what was entered for each column.")
    bounds, sources, person = dict[str, tuple[float, float]](), dict[str, str](), None
    for column in columns:
        name, role = str(column.get("name")), column.get("role")
        if role == "person":
            if person is not None:
                raise InvalidParameter("Only one column can say whose record it is. Choose one of them.")
            person = name
        elif role == "number":
            ends = [_number(f"{shortened(name)}: {end}", column.get(end)) for end in ("lower", "upper")]
            if not ends[0] < ends[1]:
                raise InvalidParameter(f"{shortened(name)}: the lower bound must be below the upper bound.")
            bounds[name] = ends[0], ends[1]
            source = str(column.get("source") or "").strip()[:_LARGEST_TEXT]
            sources |= {name: source} if source else {}
    if not bounds:
        raise InvalidParameter("Use at least one column of numbers.")
    if person is not None:
        return Domain(bounds=bounds, person=person), sources
    rows = _number("rows_per_person", entered.get("rows_per_person"))
    whole = _validation.integer("rows_per_person", int(rows) if rows.is_integer() else rows, 1)
    return Domain(bounds=bounds, rows_per_person=whole), sources


def _number(name: str, value: Any) -> float:
    """A number that somebody typed; with a decimal comma where that is clear."""
    text = str(value).strip().replace("−", "-") if isinstance(value, str | int | float) else ""
    if text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        return _validation.number(name, float(text), "a number", float("-inf"), float("inf"))
    except ValueError:
        raise InvalidParameter(f"{name} must be a number, got {shortened(repr(value))}. Type it in digits.") from None
