"""The table of columns on the page: its entries as a domain, and a codebook as entries."""

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
from graphveil.spec.kinds import Category, Kind, Level, Number, Ordinal
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.rounding import format_exact
from graphveil.spec.weight import Weight

__all__ = ["Columns", "entry_of_kind", "import_codebook", "read_columns", "read_number"]

_ONCE = {"person": "say whose record it is", "group": "make groups", "weight": "hold the weights"}
_LARGEST_TEXT = 1000  # letters of a label, a unit or a source
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
        settings["person"] = special["person"]
    else:
        rows = read_number("rows_per_person", entered.get("rows_per_person"))
        whole = int(rows) if rows.is_integer() else rows
        settings["rows_per_person"] = _validation.integer("rows_per_person", whole, 1)
    return Columns(Domain(kinds, **settings), special.get("group"))


def _read_number(column: Mapping[str, Any], _: str) -> Any:
    """A pair of bounds, or a number with whatever else was said of it."""
    low, high = (read_number(end, column.get(end)) for end in ("lower", "upper"))
    if not low < high:
        raise InvalidParameter("the lower bound must be below the upper bound.")
    more: dict[str, Any] = _texts(column, "label", "unit", "source")
    if column.get("scale") not in (None, "", "linear"):
        more["scale"] = column["scale"]
    if column.get("missing") == "yes":
        codes = _cut(str(column.get("codes") or ""))
        more["missing"] = [read_number("a code of missing values", code) for code in codes] or True
    return Number(low, high, **more) if more else (low, high)


def _read_category(column: Mapping[str, Any], kind: str) -> Category:
    missing: bool | str = column.get("missing") == "yes"
    if column.get("missing") == "level":
        missing = "level"
    return Category(_levels(column, kind), missing=missing, **_texts(column, "label", "source"))


def _read_ordinal(column: Mapping[str, Any], kind: str) -> Ordinal:
    return Ordinal(_levels(column, kind), missing=column.get("missing") == "yes", **_texts(column, "label", "source"))


_READ = {"number": _read_number, "category": _read_category, "ordinal": _read_ordinal, "group": _read_category}


def _texts(column: Mapping[str, Any], *names: str) -> dict[str, str]:
    said = {name: " ".join(str(column.get(name) or "").split())[:_LARGEST_TEXT] for name in names}
    return {name: text for name, text in said.items() if text}


def _levels(column: Mapping[str, Any], kind: str) -> tuple[Level, ...]:
    """Levels as text where the schema says that cells are; as numbers, where all of them can be read as such."""
    parts = _cut(str(column.get("levels") or ""))
    if len(parts) < 2:
        raise InvalidParameter("enter its levels, at least two, separated by commas.")
    try:
        numbers = [_whole(read_number("a level", part)) for part in parts]
    except InvalidParameter:
        return tuple(parts)
    return tuple(parts) if kind == "text" else tuple(numbers)


def _cut(text: str) -> list[str]:
    """Parts of a list, between semicolons where there is one, otherwise between commas."""
    return [part.strip() for part in text.split(";" if ";" in text else ",") if part.strip()]


def _whole(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def read_number(name: str, value: Any) -> float:
    """A number that somebody typed; with a decimal comma where that is clear."""
    text = str(value).strip().replace("−", "-") if isinstance(value, str | int | float) else ""
    if text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        return _validation.number(name, float(text), "a number", float("-inf"), float("inf"))
    except ValueError:
        raise InvalidParameter(f"{name} must be a number, got {shorten(repr(value))}. Type it in digits.") from None


def import_codebook(text: str) -> dict[str, Any]:
    """A codebook as entries of the table: our TOML, Frictionless or CSVW. What it does not say is left to be typed."""
    refused = list[str]()
    given = parse_json(text, refused) if text.lstrip("\ufeff \t\r\n").startswith("{") else parse_toml(text)
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
    settings = {name: given.get(name) for name in ("person", "rows_per_person", "neighbours")}
    return {"columns": columns, "refused": refused, **settings}


def entry_of_kind(kind: Kind) -> dict[str, str]:
    """A kind as somebody would have typed it."""
    entry = {"label": kind.label or "", "source": kind.source or "", "missing": "yes" if kind.nullable else "no"}
    if isinstance(kind, Number):
        ends = {"lower": format_exact(kind.low), "upper": format_exact(kind.high)}
        codes = ", ".join(map(format_exact, kind.codes))
        return entry | ends | {"role": "number", "scale": kind.scale, "unit": kind.unit or "", "codes": codes}
    assert isinstance(kind, Category | Ordinal)
    levels = [level if isinstance(level, str) else format_exact(level) for level in kind.levels]
    between = "; " if any("," in level for level in levels) else ", "
    if isinstance(kind, Category) and kind.missing_is_level:
        entry["missing"] = "level"
    return entry | {"role": "ordinal" if isinstance(kind, Ordinal) else "category", "levels": between.join(levels)}
