"""The table of columns on the page: its entries as a domain, and a codebook as entries."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, shorten
from graphveil.spec.budget import Budget
from graphveil.spec.codebook_file import parse_columns, parse_json, parse_toml
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping
from graphveil.spec.kinds import RANK, Category, Kind, Level, Number, Ordinal
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.rounding import format_exact
from graphveil.spec.weight import Weight

__all__ = ["Columns", "entry_of_kind", "import_codebook", "read_columns", "read_number"]

_ONCE = {"person": "say whose record it is", "group": "make groups", "weight": "hold the weights"}
_TRUTHS = {"true": True, "false": False}
# A part of a list, up to where the next begins; in quotation marks, if it says there what would mean something else.
_QUOTED = r'\s*"(?P<quoted>(?:[^"]|"")*)"\s*'
_PARTS = {between: re.compile(rf"(?:{_QUOTED}|(?P<plain>[^{between}]*))(?:{between}|$)") for between in ",;"}
_IN_QUOTES = re.compile(rf"(^|[,;]){_QUOTED}(?=[,;]|$)")
_ANY_BUDGET = Budget(1.0, 1e-6)  # to ask whether a release could be made at all


@dataclass(frozen=True)
class Columns:
    """What the columns hold.

    Attributes
    ----------
    domain : Domain
        With the column that makes groups.
    by : str or None
        The column that makes groups.
    """

    domain: Domain
    by: str | None = None

    def __post_init__(self) -> None:
        ReleaseOptions(self.released, _ANY_BUDGET, by=self.grouping)  # refuses what does not go together

    @cached_property
    def _parts(self) -> tuple[Grouping | None, Domain]:
        return (None, self.domain) if self.by is None else Grouping.of_category(self.by, self.domain)

    @property
    def grouping(self) -> Grouping | None:
        """The groups, where there are."""
        return self._parts[0]

    @property
    def released(self) -> Domain:
        """Of the columns that are released."""
        return self._parts[1]

    @property
    def unexplained(self) -> int:
        """How many columns nobody has said anything about how they are known."""
        book = self.domain.codebook
        return len(self.domain.columns or ()) if book is None else len(book.without_source)


def read_columns(entered: Mapping[str, Any], types: Mapping[str, str]) -> Columns:
    """What was entered for each column; ``types`` are those of the schema, which say whether 1 is a number or text."""
    columns = entered.get("columns")
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise InvalidParameter("columns must be a list of what was entered for each column.")
    kinds = dict[str, Any]()
    special = dict[str, str]()
    settings: dict[str, Any] = {"neighbours": entered.get("neighbours") or "replace"}
    for column in columns:
        name, role = str(column.get("name")), str(column.get("role"))
        if role in _ONCE:
            if role in special:
                raise InvalidParameter(f"Only one column can {_ONCE[role]}. Choose one of them.")
            special[role] = name
        if role == "weight":
            settings["weight"] = Weight(name, read_number("largest weight", column.get("largest")))
        if role in _READ:
            try:
                kinds[name] = _READ[role](column, types.get(name, "any"))
            except InvalidParameter as error:
                raise InvalidParameter(f"{shorten(name)}: {error}") from None
    if not set(kinds) - {special.get("group")}:
        raise InvalidParameter("Use at least one column besides those that identify people or groups.")
    if "person" in special:
        settings |= {"person": special["person"], "variation": entered.get("variation") or "total"}
    else:
        rows = read_number("the largest number of records of one person", entered.get("rows_per_person"))
        whole = int(rows) if rows.is_integer() else rows
        settings["rows_per_person"] = _validation.integer("rows_per_person", whole, 1)
    return Columns(Domain(kinds, **settings), special.get("group"))


def _read_number(column: Mapping[str, Any], _: str) -> Any:
    """A pair of bounds, or a number with whatever else was said of it."""
    low, high = (read_number(end, column.get(end)) for end in ("lower", "upper"))
    if not low < high:
        raise InvalidParameter("the lower bound must be below the upper bound.")
    more: dict[str, Any] = _texts(column, "label", "unit", "source")
    if column.get("scale") not in (None, "", "linear", "scores"):
        more["scale"] = column["scale"]
    if column.get("integer") == "yes":
        more["integer"] = True
    if column.get("missing") == "yes":
        codes = _cut(str(column.get("codes") or ""))
        more["missing"] = [read_number("a code of missing values", code) for code, _ in codes] or True
    return Number(low, high, **more) if more else (low, high)


def _read_category(column: Mapping[str, Any], kind: str) -> Category:
    missing: bool | str = column.get("missing") == "yes"
    if column.get("missing") == "level":
        missing = "level"
    return Category(_levels(column, kind), missing=missing, **_texts(column, "label", "source"))


def _read_ordinal(column: Mapping[str, Any], kind: str) -> Ordinal:
    scale = RANK if column.get("scale") == RANK else "scores"
    missing = column.get("missing") == "yes"
    return Ordinal(_levels(column, kind), missing=missing, scale=scale, **_texts(column, "label", "source"))


_READ = {"number": _read_number, "category": _read_category, "ordinal": _read_ordinal, "group": _read_category}


def _texts(column: Mapping[str, Any], *names: str) -> dict[str, str]:
    """What was said of a column, in one line each."""
    said = {name: str(column.get(name) or "") for name in names}
    return {name: text if text.isprintable() else " ".join(text.split()) for name, text in said.items() if text.strip()}


def _levels(column: Mapping[str, Any], kind: str) -> tuple[Level, ...]:
    """Levels as text where the schema says that cells are; as numbers, where all of them can be read as such."""
    parts = _cut(str(column.get("levels") or ""))
    if len(parts) < 2:
        raise InvalidParameter("enter its levels, at least two, separated by commas.")
    numbers = [None if quoted or kind == "text" else _as_number(part) for part, quoted in parts]
    known = [number for number in numbers if number is not None]
    return tuple(known) if len(known) == len(parts) else tuple(part for part, _ in parts)


def _cut(text: str) -> list[tuple[str, bool]]:
    """Parts of a list, each with whether it is in quotation marks: between semicolons where there is one, or commas."""
    between = ";" if ";" in _IN_QUOTES.sub("", text) else ","
    found = [
        (part["plain"].strip(), False) if part["quoted"] is None else (part["quoted"].replace('""', '"'), True)
        for part in _PARTS[between].finditer(text)
    ]
    return [part for part in found if part[0]]


def _join(levels: tuple[Level, ...]) -> str:
    """A list whose parts :func:`_cut` finds again, and text of digits as text."""
    return ", ".join(_quote(level) if isinstance(level, str) else _show(level) for level in levels)


def _quote(level: str) -> str:
    plain = level == level.strip() and level[0] != '"' and not set(level) & {",", ";"} and _as_number(level) is None
    return level if plain else '"' + level.replace('"', '""') + '"'


def _show(level: float) -> str:
    return str(level).lower() if isinstance(level, bool) else format_exact(level)


def _as_number(text: str) -> float | None:
    """The number, or true or false, that a level says."""
    try:
        return _TRUTHS[text] if text in _TRUTHS else _whole(read_number("a level", text))
    except InvalidParameter:
        return None


def _whole(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def read_number(name: str, value: Any) -> float:
    """A number that somebody typed; with a decimal comma where that is clear."""
    text = str(value).strip().replace("−", "-") if isinstance(value, str | int | float) else ""
    if text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    number, largest = _validation.decimal(text), sys.float_info.max
    if number is None or not -largest <= number <= largest:
        raise InvalidParameter(f"{name} must be a number, got {shorten(repr(value))}. Type it in digits.")
    return number


def import_codebook(text: str) -> dict[str, Any]:
    """A codebook as entries of the table: our TOML, Frictionless or CSVW. What it does not say is left to be typed.

    Our own says everything (``whole``): what it does not name is not released, and settings that it omits have their
    defaults.
    """
    refused = list[str]()
    whole = not text.lstrip("\ufeff \t\r\n").startswith("{")
    given = {"neighbours": "replace", "variation": "total"} | parse_toml(text) if whole else parse_json(text, refused)
    columns = []
    for name, said in given["columns"].items():
        try:
            ((_, kind),) = parse_columns({name: said}).items()
            columns.append({"name": name} | entry_of_kind(kind if isinstance(kind, Kind) else Number(*kind)))
        except InvalidParameter:
            refused.append(name)
    weight = given.get("weight")
    if weight is not None:
        columns.append({"name": weight.column, "role": "weight", "largest": format_exact(weight.largest)})
    settings = {name: given.get(name) for name in ("person", "rows_per_person", "neighbours", "variation")}
    return {"columns": columns, "refused": refused, "whole": whole, **settings}


def entry_of_kind(kind: Kind) -> dict[str, str]:
    """A kind as somebody would have typed it."""
    entry = {"label": kind.label or "", "source": kind.source or "", "missing": "yes" if kind.nullable else "no"}
    if isinstance(kind, Number):
        ends = {"lower": format_exact(kind.low), "upper": format_exact(kind.high)}
        more = {"scale": kind.scale, "unit": kind.unit or "", "integer": "yes" if kind.integer else "no"}
        return entry | ends | more | {"role": "number", "codes": ", ".join(map(format_exact, kind.codes))}
    assert isinstance(kind, Category | Ordinal)
    if isinstance(kind, Category) and kind.missing_is_level:
        entry["missing"] = "level"
    ordered = {"role": "ordinal", "scale": kind.scale} if isinstance(kind, Ordinal) else {"role": "category"}
    return entry | ordered | {"levels": _join(kind.levels)}
