"""Column names in tables, escaped so that a spreadsheet does not execute them."""

import re

__all__ = ["cell_text"]

# Where a cell could begin, for a reader who separates by commas, semicolons, tabs or lines: before what makes a formula
# of it. Spreadsheets of East Asia take the wide signs too. The same stands in page.js.
_FORMULA = re.compile('(?<![^\t\n\r",;|])(?=[\t\r=+\\-@\uff1d\uff0b\uff0d\uff20])')


def cell_text(text: str) -> str:
    """A quoted cell for a table that a spreadsheet may open: an apostrophe goes before what it would calculate."""
    return '"' + _FORMULA.sub("'", text).replace('"', '""') + '"'
