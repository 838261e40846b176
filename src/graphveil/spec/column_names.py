"""Names of columns: which of them could be values of a record, and how TOML writes them."""

import json
import re
from collections.abc import Sequence

from graphveil._tables import list_first

__all__ = ["looks_like_a_value", "say_which_look_like_values", "toml_key"]

_NAME = re.compile(r"\s*[^\W\d]")  # a letter of any alphabet, or an underscore
# Words that occur in records: true and false, missing, and other words that parse as numbers. Not male and female:
# columns of zeros and ones are often called that.
_VALUES = re.compile(
    "true|false|yes|no|wahr|falsch|ja|nein|vrai|faux|oui|non|vero|falso|sí|sim|não|"
    "na|n/a|nan|null|none|nil|missing|inf|infinity",
    re.IGNORECASE,
)


def looks_like_a_value(name: str) -> bool:
    """Names begin with a letter; numbers, dates, times and amounts of any country begin with something else."""
    return not _NAME.match(name) or "@" in name or _VALUES.fullmatch(name.strip()) is not None


def say_which_look_like_values(names: Sequence[str]) -> str:
    """A sentence if there are any; by number, because one that is a value must not be repeated."""
    which = [str(number) for number, name in enumerate(names, 1) if looks_like_a_value(name)]
    if not which:
        return ""
    counted = f"name of column {which[0]} is" if len(which) == 1 else f"names of columns {list_first(which)} are"
    return (
        f"The {counted} empty, or {'looks' if len(which) == 1 else 'look'} like a value (a number, a date, a word such "
        "as true or NA), as if the first line of the file were a record."
    )


def toml_key(name: str) -> str:
    """A name as a key of TOML."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
