"""Names of columns inside other formats, where some letters would be more than letters."""

import re
from html import escape

__all__ = ["cell_text", "xml_text"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Where a cell could begin, for a reader who separates by commas, semicolons, tabs or lines: before what makes a formula
# of it. Spreadsheets of East Asia take the wide signs too. The same stands in page.js.
_FORMULA = re.compile('(?<![^\t\n\r",;|])(?=[\t\r=+\\-@\uff1d\uff0b\uff0d\uff20])')


def xml_text(text: str) -> str:
    """Escaped; what XML cannot say at all (control characters) is replaced."""
    return escape(_NOT_XML.sub("\ufffd", text))


def cell_text(text: str) -> str:
    """A quoted cell for a table that a spreadsheet may open: an apostrophe goes before what it would calculate."""
    return '"' + _FORMULA.sub("'", text).replace('"', '""') + '"'
