"""Names of data sets and keys: names that look alike are the same name, or are refused.

A budget is counted by name, so a name that only looks like another would start counting from zero. Names are kept in
Unicode's composed form (NFC); characters that cannot be seen, spaces that cannot be counted and words that mix
alphabets are refused. Not covered: a word written altogether in another alphabet, and shapes that are alike within
one (l, I, 1; O, 0; rn, m).
"""

import unicodedata
from typing import Any

from graphveil.exceptions import InvalidParameter

__all__ = ["check_name", "compose", "look"]

_LONGEST = 200
# Printable for Python, but drawn as nothing: Unicode's default-ignorable letters and marks, and the empty Braille cell.
_INVISIBLE = frozenset(
    map(
        chr,
        [
            *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ],
    )
)
# Alphabets whose letters are drawn like those of another; the first word of a letter's Unicode name says which it is.
_ALIKE = {"LATIN", "GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE", "LISU", "DESERET"}


def check_name(parameter: str, value: Any) -> str:
    """Return ``value``, composed, if it can name something and nobody can mistake it for another name."""
    name = compose(value) if isinstance(value, str) else ""
    rule = f"1 to {_LONGEST} printable characters, without spaces at the ends or two in a row"
    if not 1 <= len(name) <= _LONGEST or not name.isprintable() or name != " ".join(name.split()):
        raise InvalidParameter(f"{parameter} must be {rule}, got {_escape(value)}.")
    for character in name:
        if character in _INVISIBLE:
            raise InvalidParameter(
                f"{parameter} must contain only visible characters, got {_escape(value)}: "
                f"{_describe(character)} is invisible."
            )
    for stranger in _strangers(name):
        raise InvalidParameter(
            f"{parameter} must not mix alphabets within a word, got {_escape(value)}: {_describe(stranger)} is next "
            "to letters of another alphabet. Use one alphabet."
        )
    return name


def compose(name: str) -> str:
    """The one spelling, of those that are drawn alike by definition, under which a name is kept."""
    return unicodedata.normalize("NFC", name)


def look(name: str) -> str:
    """What is left of a name without case and width: two data sets of one ledger must differ in more."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _strangers(name: str) -> list[str]:
    """The first letter of each word that is not of the alphabet in which the word begins, among those drawn alike."""
    found, alphabet = [], ""
    for character in name:
        if not character.isalpha():
            if not unicodedata.combining(character):
                alphabet = ""
            continue
        its = unicodedata.name(character, "").split(" ", 1)[0]
        if its in _ALIKE:
            if alphabet not in ("", its):
                found.append(character)
            alphabet = its
    return found


def _describe(character: str) -> str:
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'without a name')})"


def _escape(value: Any) -> str:
    """A name with everything but ASCII escaped, so that the message shows what the eye does not."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:70]}… ({len(text)} characters)"
