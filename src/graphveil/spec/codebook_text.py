"""A codebook as text: as the TOML that :func:`graphveil.spec.codebook_file.parse_toml` reads, or as Python."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from graphveil.spec.column_names import toml_key
from graphveil.spec.domain import Domain
from graphveil.spec.kinds import Kind, Number, Ordinal
from graphveil.spec.rounding import format_exact
from graphveil.spec.weight import Weight

__all__ = ["kinds_of", "python_of_domain", "toml_of_domain"]

_SETTINGS = ("variation", "neighbours", "weight")


def kinds_of(domain: Domain) -> dict[str, Kind]:
    """What each column of a table holds; ``domain`` has names and bounds."""
    if domain.codebook is not None:
        return dict(zip(domain.codebook.names, domain.codebook.kinds, strict=True))
    assert domain.columns is not None
    assert domain.bounds is not None
    return {name: Number(*ends) for name, *ends in zip(domain.columns, *domain.bounds, strict=True)}


def toml_of_domain(domain: Domain) -> str:
    """The file of a codebook: whose records they are, and a line for each column."""
    lines = [f"{name} = {_toml(value)}" for name, value in _settings(domain).items()]
    lines += ["", "[columns]"]
    lines += [f"{toml_key(name)} = {_toml_of_kind(kind)}" for name, kind in kinds_of(domain).items()]
    return "\n".join(lines) + "\n"


def python_of_domain(domain: Domain) -> str:
    """The call that makes the domain."""
    columns = "".join(f"        {name!r}: {_python_of_kind(kind)},\n" for name, kind in kinds_of(domain).items())
    settings = "".join(f"    {name}={_python(value)},\n" for name, value in _settings(domain).items())
    return f"gv.Domain(\n    {{\n{columns}    }},\n{settings})"


def _settings(domain: Domain) -> dict[str, Any]:
    """Whose records they are, and what else differs from the defaults."""
    defaults = {item.name: item.default for item in fields(Domain)}
    others = {name: getattr(domain, name) for name in _SETTINGS if getattr(domain, name) != defaults[name]}
    person = {"rows_per_person": domain.rows_per_person} if domain.person is None else {"person": domain.person}
    return person | others


def _list_arguments(kind: Kind) -> tuple[list[Any], dict[str, Any]]:
    """What a kind must be told, and what differs from its defaults."""
    parts: Any = fields(kind)  # type: ignore[arg-type]  # every kind is a dataclass
    values = {part.name: getattr(kind, part.name) for part in parts}
    needed = [values[part.name] for part in parts if part.default is MISSING]
    return needed, {part.name: values[part.name] for part in parts if part.default not in (MISSING, values[part.name])}


def _toml_of_kind(kind: Kind) -> str:
    needed, more = _list_arguments(kind)
    if isinstance(kind, Number):
        if not more:
            return _toml(needed)
        return _toml({"low": kind.low, "high": kind.high} | more)
    ordered = {"ordered": True} if isinstance(kind, Ordinal) else {}
    return _toml({"levels": needed[0]} | ordered | more)


def _python_of_kind(kind: Kind) -> str:
    needed, more = _list_arguments(kind)
    if isinstance(kind, Number) and not more:
        return repr(tuple(needed))
    plain = [list(value) if isinstance(value, tuple) else value for value in (*needed, *more.values())]
    words = [""] * len(needed) + [f"{name}=" for name in more]
    return (
        f"gv.{type(kind).__name__}({', '.join(word + repr(value) for word, value in zip(words, plain, strict=True))})"
    )


def _python(value: Any) -> str:
    return f"gv.{value!r}" if isinstance(value, Weight) else repr(value)


def _toml(value: Any) -> str:
    if isinstance(value, Weight):
        value = {"column": value.column, "largest": value.largest}
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else format_exact(value)
