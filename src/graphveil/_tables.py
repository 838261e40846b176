"""A table of results as text, HTML and LaTeX, laid out as users of statsmodels know it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

__all__ = ["Table", "decimals", "fixed", "list_first", "one_line"]

_GAP = 2
_NARROWEST = 60  # for notes
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line it would begin an argument
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


@dataclass(frozen=True)
class Table:
    """Cells are text already; the first of each row is a name.

    Attributes
    ----------
    title : str
    facts : tuple of pairs (what, text)
        What is known of the whole, above the table.
    header : tuple of str
    rows : tuple of tuples of str
    notes : tuple of str
        Below the table.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Fixed width."""
        header, *rows = [tuple(map(one_line, row)) for row in (self.header, *self.rows)]
        widths = [max(map(len, column)) + _GAP for column in zip(header, *rows, strict=True)]
        label = max((len(what) for what, _ in self.facts), default=0) + 1
        facts = [f"{what + ':':<{label}}  {one_line(text)}" for what, text in self.facts]
        width = max([sum(widths), len(self.title), *map(len, facts)])
        heavy, light = "=" * width, "-" * width
        lines = [self.title.center(width).rstrip(), heavy, *facts, heavy, _line(header, widths), light]
        lines += [*(_line(row, widths) for row in rows), heavy]
        for number, note in enumerate(self.notes, 1):
            lines += wrap(one_line(f"[{number}] {note}"), max(width, _NARROWEST), subsequent_indent="    ")
        return "\n".join(lines)

    def to_html(self) -> str:
        """One table, everything escaped."""
        facts = "".join(
            f'<tr><th scope="row">{escape(what)}</th><td colspan="{len(self.header) - 1}">{escape(text)}</td></tr>'
            for what, text in self.facts
        )
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in self.header)
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
            for name, *cells in self.rows
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.title)}</caption><tbody>{facts}</tbody><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>" + (f"<ol>{notes}</ol>" if notes else "")
        )

    def to_latex(self) -> str:
        """A tabular with the rules of booktabs; facts and notes are comments."""
        columns = "l" + "r" * (len(self.header) - 1)
        said = [self.title, *(f"{what}: {text}" for what, text in self.facts), *self.notes]
        lines = [f"% {one_line(line)}" for line in said]
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_line(self.header), r"\midrule"]
        lines += [*map(_latex_line, self.rows), r"\bottomrule", r"\end{tabular}", ""]
        return "\n".join(lines)


def one_line(text: str) -> str:
    r"""A name or a sentence from elsewhere; what moves a cursor or is not seen is written out: ``\x1b``, ``\n``."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def list_first(names: Sequence[str], most: int = 12) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def decimals(std_err: float, number: float) -> int:
    """Decimal places that show two digits of a standard error; more are noise.

    Where it is not known, two digits of the number, which may end before the decimal point: -2 of 1140.
    """
    known = math.isfinite(std_err) and std_err > 0.0
    size = std_err if known else abs(number)
    places = 1 - math.floor(math.log10(size)) if math.isfinite(size) and size > 0.0 else 0
    return min(max(places, 0) if known else places, 12)


def fixed(number: float, places: int) -> str:
    """A number with so many decimal places; nothing for one that is not known."""
    return "" if math.isnan(number) else f"{round(number, places):.{max(places, 0)}f}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name, *numbers = cells
    padded = [f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=True)]
    return f"{name:<{widths[0]}}{''.join(padded)}".rstrip()


def _latex_line(cells: tuple[str, ...]) -> str:
    escaped = ["".join(_LATEX.get(letter, letter) for letter in one_line(cell)) for cell in cells]
    return " & ".join(escaped) + r" \\"
