"""Names of columns: which of them could be values of a record, and how TOML writes them."""

import json
import re

__all__ = ["looks_like_a_value", "toml_key"]

_NAME = re.compile(r"\s*[^\W\d]")  # a letter of any alphabet, or an underscore
# Words that occur in records: true and false, missing, and other words that parse as numbers.
_VALUES = re.compile(
    "true|false|yes|no|wahr|falsch|ja|nein|vrai|faux|oui|non|vero|falso|sí|sim|não|male|female|"
    "na|n/a|nan|null|none|nil|missing|inf|infinity",
    re.IGNORECASE,
)


def looks_like_a_value(name: str) -> bool:
    """Names begin with a letter; numbers, dates, times and amounts of any country begin with something else."""
    return not _NAME.match(name) or "@" in name or _VALUES.fullmatch(name.strip()) is not None


def toml_key(name: str) -> str:
    """A name as a key of TOML."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
