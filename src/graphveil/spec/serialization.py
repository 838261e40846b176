"""Frozen records that survive a round trip through JSON.

A record is a frozen dataclass; its JSON form names its kind and its fields, so that a reader can tell a
:class:`~graphveil.spec.domain.Domain` from an event without looking at the code. Reading checks every field again,
through the record's own validation, and refuses kinds and fields that it does not know.
"""

import json
import math
from dataclasses import fields
from types import MappingProxyType
from typing import Any, ClassVar, Self

from graphveil.exceptions import InvalidParameter

__all__ = ["LATER", "Record"]

# Of a field that came after records had been written: left out while it has its default, so that they stay the same.
LATER = MappingProxyType({"later": True})


class Record:
    """Mix-in of a frozen dataclass: ``to_dict``, ``from_dict``, ``to_json``, ``from_json``."""

    _kinds: ClassVar[dict[str, type["Record"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Record._kinds[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        content = {
            field.name: _plain(getattr(self, field.name))
            for field in fields(self)  # type: ignore[arg-type]
            if not (field.metadata == LATER and getattr(self, field.name) == field.default)
        }
        return {"kind": type(self).__name__, **content}

    def to_json(self) -> str:
        """One line of JSON with sorted keys: equal records give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Rebuild a record; every field is validated again."""
        record = _rebuild(content)
        if not isinstance(record, cls):
            raise InvalidParameter.of(
                "kind", cls.__name__, content.get("kind") if isinstance(content, dict) else content
            )
        return record

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a record from :meth:`to_json`."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidParameter(f"this is not the JSON of a {cls.__name__}: {type(error).__name__}.") from None
        return cls.from_dict(content)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        raise InvalidParameter.of("a record's number", "finite", value)
    return value


def _rebuild(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_rebuild(item) for item in value)
    if not isinstance(value, dict):
        return value
    content = dict(value)
    kind = Record._kinds.get(str(content.pop("kind", None)))
    if kind is None:
        raise InvalidParameter.of("kind", "one of " + ", ".join(sorted(Record._kinds)), value.get("kind"))
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    needed = {field.name for field in fields(kind) if field.metadata != LATER}  # type: ignore[arg-type]
    if not needed <= set(content) <= known:
        odd = ", ".join(sorted((needed - set(content)) | (set(content) - known)))
        raise InvalidParameter(
            f"a {kind.__name__} must have exactly its own fields; these are unknown or missing: {odd}."
        )
    return kind(**{name: _rebuild(item) for name, item in content.items()})
