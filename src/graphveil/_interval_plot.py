"""Plots of numbers with intervals: with matplotlib if it is installed, as SVG otherwise.

Black on white: a filled point if the interval excludes zero, an open one otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import Any

from graphveil._tables import one_line

__all__ = ["SvgPicture", "plot_intervals"]

_ROW, _LABEL, _WIDTH, _TOP, _BOTTOM = 22, 190, 340, 34, 40  # pixels
_LONGEST = 30  # letters of a label


@dataclass(frozen=True)
class SvgPicture:
    """A picture; notebooks show it.

    Attributes
    ----------
    svg : str
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def plot_intervals(
    labels: Iterable[str], value: Iterable[float], lower: Iterable[float], upper: Iterable[float], title: str
) -> Any:
    """Axes of matplotlib, or an :class:`SvgPicture`; the first at the top."""
    short = [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in map(one_line, labels)]
    rows = [(float(v), float(low), float(high)) for v, low, high in zip(value, lower, upper, strict=True)]
    try:
        from matplotlib import pyplot
    except ImportError:
        return SvgPicture(_draw_svg(short, rows, title))
    _, axes = pyplot.subplots(figsize=(6.0, 0.8 + 0.27 * len(rows)), layout="constrained")
    for place, (middle, low, high) in enumerate(rows):
        axes.plot([low, high], [place, place], color="0.35", linewidth=1.2)
        face = "white" if low <= 0.0 <= high else "black"
        axes.plot(middle, place, "o", markersize=4.5, color="black", markerfacecolor=face)
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), [label.replace("$", r"\$") for label in short])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_title(title.replace("$", r"\$"), fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return axes


def _draw_svg(labels: list[str], rows: list[tuple[float, float, float]], title: str) -> str:
    known = [number for row in rows for number in row if not isnan(number)] + [0.0]
    start, end = min(known), max(known)
    scale = _WIDTH / ((end - start) or 1.0)
    height, bottom = _TOP + _ROW * len(rows) + _BOTTOM, _TOP + _ROW * len(rows)

    def x(number: float) -> str:
        return f"{_LABEL + 10 + (number - start) * scale:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + 40}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="100%" height="100%" fill="white"/><text x="{_LABEL + 10}" y="20">{escape(title)}</text>',
        f'<line x1="{x(0.0)}" x2="{x(0.0)}" y1="{_TOP - 6}" y2="{bottom}" stroke="#999"/>',
    ]
    for place, (label, (middle, low, high)) in enumerate(zip(labels, rows, strict=True)):
        y = _TOP + _ROW * place + _ROW // 2
        parts.append(f'<text x="{_LABEL}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
        if not isnan(low):
            parts.append(f'<line x1="{x(low)}" x2="{x(high)}" y1="{y}" y2="{y}" stroke="#444" stroke-width="1.5"/>')
        fill = "white" if low <= 0.0 <= high else "black"
        parts.append(f'<circle cx="{x(middle)}" cy="{y}" r="3.5" fill="{fill}" stroke="black"/>')
    ends = {f"{number:.2g}": number for number in (start, 0.0, end)}
    parts += [f'<text x="{x(at)}" y="{bottom + 18}" text-anchor="middle">{text}</text>' for text, at in ends.items()]
    return "\n".join([*parts, "</svg>"])
