"""A codebook in a file: our own TOML, or the JSON of a Frictionless table schema or of CSV on the Web (CSVW).

All of them are public descriptions that people write. Their content is checked like any other parameter, with an error
in one sentence. Nothing in them is executed.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from graphveil import _validation
from graphveil._files import read_file
from graphveil.exceptions import InvalidParameter, shorten
from graphveil.spec.kinds import Category, Kind, Number, Ordinal
from graphveil.spec.weight import Weight

__all__ = ["parse_columns", "parse_json", "parse_toml", "read_settings"]

_LONGEST = 2**24  # bytes: 2¹⁶ columns with names of 250 letters
_SETTINGS = {"person", "rows_per_person", "variation", "neighbours", "weight", "columns", "bounds"}
_UNKNOWN = "?"  # what a template has in place of what people must fill in
_ALTERNATIVES = re.compile(r"[^|^$()\[\]{}.*+?\\]+(\|[^|^$()\[\]{}.*+?\\]+)+")
_FALSE, _TRUE = ("false", "0"), ("true", "1")  # what every source reads as a boolean, in capitals too
_NUMERIC = {"integer", "number", "year", "decimal", "double", "float", "long", "int", "short", "byte"}


def read_settings(path: "str | os.PathLike[str]") -> dict[str, Any]:
    """The arguments of a domain from a file, its columns not yet parsed. By what is in it: JSON begins with a brace."""
    try:
        text = read_file(path, _LONGEST).decode()
    except UnicodeDecodeError:
        raise InvalidParameter("this is not a TOML file: it is not text in UTF-8.") from None
    except OSError as error:
        raise InvalidParameter(f"{os.fspath(path)} cannot be read: {error.strerror}.") from None
    return parse_json(text) if text.lstrip("\ufeff \t\r\n").startswith("{") else parse_toml(text)


def parse_toml(text: str) -> dict[str, Any]:
    """The arguments of a domain from TOML: columns by name, and whose records they are."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # bad TOML, a number of too many digits, endless brackets
        where = f": {shorten(str(error))}" if isinstance(error, tomllib.TOMLDecodeError) else ""
        raise InvalidParameter(f"this is not a TOML file{where}.") from None
    columns = content.get("columns", content.get("bounds"))
    odd = set(content) - _SETTINGS
    if odd or not isinstance(columns, dict) or not columns or {"columns", "bounds"} <= set(content):
        what = f"it has {shorten(', '.join(sorted(odd)))}" if odd else "it has no columns, or both tables"
        raise InvalidParameter(
            "a codebook must have rows_per_person or person, perhaps variation, neighbours and weight, and [columns] "
            f"(or [bounds]) only; {what}."
        )
    settings = {name: value for name, value in content.items() if name not in ("columns", "bounds")}
    if settings.get("rows_per_person") == _UNKNOWN:
        del settings["rows_per_person"]
    if "weight" in settings:
        settings["weight"] = _weight(settings["weight"])
    return settings | {"columns": columns}


def _weight(given: Any) -> Weight:
    """The column of weights and the largest, by name."""
    if not isinstance(given, dict) or set(given) != {"column", "largest"}:
        raise InvalidParameter('weight must be the column and the largest weight: { column = "w", largest = 10 }.')
    if _UNKNOWN in given.values():
        raise InvalidParameter('weight still has "?". How large can a weight be, by public knowledge?')
    return Weight(**given)


def parse_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds and kinds from what a file says of each column."""
    return {name: given if isinstance(given, Kind) else _column(name, given) for name, given in columns.items()}


def _column(name: str, given: Any) -> Any:
    """A pair of bounds, or a kind."""
    which = f"column {shorten(repr(name))}"
    entries = given if isinstance(given, list) else [*given.values()] if isinstance(given, dict) else []
    if any(entry in (_UNKNOWN, [_UNKNOWN]) for entry in entries):
        raise InvalidParameter(f'{which} still has "?". What can its values be, by public knowledge?')
    if isinstance(given, dict):
        return _kind(which, given)
    numbers = isinstance(given, list) and all(
        isinstance(end, int | float) and not isinstance(end, bool) for end in given
    )
    if not numbers or len(given) != 2:
        raise InvalidParameter(
            f"{which} must be [smallest, largest], two numbers, or a table with low and high, or with levels."
        )
    return tuple(given)


def _kind(which: str, given: dict[str, Any]) -> Kind:
    """A kind in the words of :class:`Number`, :class:`Category` and :class:`Ordinal`, told by what it has."""
    facts = dict(given)
    make: Any = Number
    try:
        if "levels" in facts:
            make = Ordinal if _validation.flag("ordered", facts.pop("ordered", False)) else Category
        return make(**facts)  # type: ignore[no-any-return]
    except TypeError:
        raise InvalidParameter(
            f"{which} must have low and high, perhaps missing, scale, integer, label, unit, source, and nothing else; "
            "or levels, perhaps ordered, missing, label, source, and scale where they are ordered."
        ) from None
    except InvalidParameter as error:
        raise InvalidParameter(f"{which}: {error}") from None


def parse_json(text: str, refused: list[str] | None = None) -> dict[str, Any]:
    """The arguments of a domain from a Frictionless table schema, or from the description of a CSVW table.

    A field that says too little raises, or has its name added to ``refused`` where there is such a list.
    """
    try:
        content = json.loads(text, object_pairs_hook=_without_doubles)
    except InvalidParameter:
        raise
    except (ValueError, RecursionError):
        raise InvalidParameter("this is not a JSON file.") from None
    schema = _find_schema(content)
    fields = schema["fields"] if isinstance(schema.get("fields"), list) else schema["columns"]
    if not fields:
        raise InvalidParameter("this table schema has no fields.")
    found = list[tuple[str, Any]]()
    for field in fields:
        name = _name_of(field)
        try:
            kind = _frictionless(field, schema) if fields is schema.get("fields") else _csvw(field)
        except InvalidParameter as error:
            if refused is None:
                raise InvalidParameter(f"field {shorten(repr(name))}: {error}") from None
            refused.append(name)
        else:
            found.append((name, kind))
    return {"columns": _without_doubles(found)}


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping; of two things of one name nobody could say which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        name = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise InvalidParameter(f"{shorten(repr(name))} appears twice. Remove one of them.")
    return found


def _find_schema(content: Any) -> dict[str, Any]:
    """The schema of the first table: of a package of several, of one resource, or bare."""
    for outer, inner in (("resources", "schema"), ("tables", "tableSchema")):
        tables = content.get(outer)
        content = tables[0] if isinstance(tables, list) and tables and isinstance(tables[0], dict) else content
        content = content[inner] if isinstance(content.get(inner), dict) else content
    if not isinstance(content.get("fields"), list) and not isinstance(content.get("columns"), list):
        raise InvalidParameter(
            "this JSON is not a table schema: it has neither fields (Frictionless) nor columns (CSVW)."
        )
    return dict(content)


def _frictionless(field: dict[str, Any], schema: Mapping[str, Any]) -> Kind:
    kind = str(field.get("type", "string"))
    limits = field.get("constraints")
    limits = limits if isinstance(limits, dict) else {}
    levels = limits.get("enum", field.get("categories"))
    if isinstance(levels, list):  # categories may have labels
        levels = [level.get("value") if isinstance(level, dict) else level for level in levels]
    ends = limits.get("minimum"), limits.get("maximum")
    codes = field.get("missingValues", schema.get("missingValues"))
    facts = {"label": field.get("title"), "source": field.get("source")}
    ordered = field.get("categoriesOrdered") is True
    words = field.get("falseValues"), field.get("trueValues")
    if kind == "boolean" and (levels is None or words != (None, None)):
        levels = _boolean_levels(*words)
    if kind in _NUMERIC and field.get("bareNumber") is False:
        raise InvalidParameter("its cells hold more than a number (bareNumber is false), and would not be read.")
    return _make_kind(kind, ends, levels, codes, facts, ordered=ordered)


def _csvw(column: dict[str, Any]) -> Kind:
    kind = column.get("datatype", "string")
    facts = kind if isinstance(kind, dict) else {"base": kind}
    ends = facts.get("minimum", facts.get("minInclusive")), facts.get("maximum", facts.get("maxInclusive"))
    pattern, codes, titles = facts.get("format"), column.get("null"), column.get("titles")
    levels: Any = pattern.split("|") if isinstance(pattern, str) and _ALTERNATIVES.fullmatch(pattern) else None
    if isinstance(titles, dict):
        titles = next(iter(titles.values()), None)
    label = titles[0] if isinstance(titles, list) and titles else titles
    said = {"label": label, "source": column.get("dc:source")}
    kind = str(facts.get("base", "string"))
    if levels is None and kind == "boolean":
        levels = [False, True]
    return _make_kind(kind, ends, levels, codes, said, ordered=False)


def _name_of(field: Any) -> str:
    name = field.get("name") if isinstance(field, dict) else None
    if not isinstance(name, str) or not name:
        raise InvalidParameter("every field of a table schema must have a name.")
    return name


def _make_kind(
    kind: str, ends: tuple[Any, Any], levels: Any, codes: Any, said: dict[str, Any], *, ordered: bool
) -> Kind:
    """A kind from what both formats know: a type, limits, an enumeration, codes of missing values, a title."""
    said = {word: text for word, text in said.items() if isinstance(text, str) and text}
    codes = codes if isinstance(codes, list) else [codes]
    codes = [code.get("value") if isinstance(code, dict) else code for code in codes]  # they may have labels
    nullable = any(isinstance(code, str) for code in codes)
    read = _as_number if kind in _NUMERIC else lambda level: level
    if isinstance(levels, list):
        absent = [*map(read, codes)]
        make: Any = Ordinal if ordered else Category
        levels = [level for level in map(read, levels) if level not in absent]
        return make(levels, missing=nullable, **said)  # type: ignore[no-any-return]
    low, high = map(_as_number, ends)
    if kind not in _NUMERIC or low is None or high is None:
        raise InvalidParameter(
            "it has neither a minimum and a maximum nor an enumeration. Add them, from public knowledge, or remove the "
            "field."
        )
    numbers = [found for code in codes if isinstance(found := _as_number(code), int | float)]
    return Number(low, high, missing=numbers or nullable, integer=kind in ("integer", "int", "long"), **said)


def _as_number(text: Any) -> Any:
    """The number that a text says; "NaN" says none."""
    number = _validation.decimal(text) if isinstance(text, str) else None
    return text if number is None else number


def _boolean_levels(false: Any, true: Any) -> list[Any]:
    """What the cells of a boolean say, false first: in the words of its own that a field may have for each."""
    words = [given if isinstance(given, list) else list(usual) for given, usual in ((false, _FALSE), (true, _TRUE))]
    if all({str(word).lower() for word in own} <= {*usual} for own, usual in zip(words, (_FALSE, _TRUE), strict=True)):
        return [False, True]
    if any(len(own) != 1 for own in words):
        raise InvalidParameter("its truth values have several spellings. Use one word for true and one for false.")
    numbers = [_as_number(word) for (word,) in words]
    return [word for (word,) in words] if any(isinstance(number, str) for number in numbers) else numbers
