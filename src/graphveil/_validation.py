"""Checks of parameters (never of data) with one wording for all of graphveil."""

import math
import re
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from graphveil.exceptions import InvalidParameter

__all__ = ["choice", "decimal", "flag", "integer", "number", "text", "text_tuple"]


_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def decimal(text: str) -> float | None:
    """Return the number that a text says in decimal digits, or None: Python would also read 1_0, inf and １."""
    return float(text) if _DECIMAL.fullmatch(text) else None


def number(name: str, value: Any, rule: str, low: float, high: float, *, open_ends: bool = False) -> float:
    """Return ``value`` as a float in ``[low, high]``, or in the open interval with ``open_ends``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter.of(name, rule, value)
    try:
        result = float(value)
    except OverflowError:
        raise InvalidParameter.of(name, rule, value) from None
    inside = low < result < high if open_ends else low <= result <= high
    if not inside or math.isnan(result):
        raise InvalidParameter.of(name, rule, value)
    return result


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int that is at least ``low`` (and at most ``high``)."""
    rule = f"an integer of at least {low}" + ("" if high is None else f" and at most {high}")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter.of(name, rule, value)
    result = int(value)
    if result < low or (high is not None and result > high):
        raise InvalidParameter.of(name, rule, value)
    return result


def flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is a bool."""
    if not isinstance(value, bool):
        raise InvalidParameter.of(name, "True or False", value)
    return value


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise InvalidParameter.of(name, "one of " + ", ".join(map(repr, options)), value)
    return value


def text(name: str, value: Any) -> str:
    """Return ``value`` if it is a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise InvalidParameter.of(name, "a string that is not empty", value)
    return value


def text_tuple(name: str, value: Any) -> tuple[str, ...]:
    """Return distinct, non-empty strings as a tuple."""
    rule = "a sequence of distinct, non-empty strings"
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise InvalidParameter.of(name, rule, value)
    result = tuple(value)
    if not result or not all(isinstance(item, str) and item for item in result) or len(set(result)) != len(result):
        raise InvalidParameter.of(name, rule, result)
    return result
