"""Plots of networks, several on one layout: with matplotlib if it is installed, as SVG otherwise.

Positive edges are solid, negative ones dashed, those of categories, which have no sign, dash-dotted, and those that
could be noise dotted; wider is stronger. So nothing depends on colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil._graph_layout import LINE, RADIUS, Layout, lay_out
from graphveil._html import xml_text
from graphveil._interval_plot import SvgPicture
from graphveil._tables import one_line
from graphveil._typing import Matrix

__all__ = ["Panel", "common_layout", "draw_panel", "networks_svg", "plot_networks"]

_TITLE, _LEGEND = 34, 36  # pixels
_STRIDE = 180  # pixels from one line of the legend to the next
_DPI = 100  # of matplotlib
_DISC = "#26323f"
_STYLE = (
    "text{font:13px sans-serif}.node text{paint-order:stroke;stroke:#fff;stroke-width:4px;text-anchor:middle}"
    ".title{font-weight:bold;text-anchor:middle}.edge{fill:none}.positive{stroke:#1463a5}"
    ".negative{stroke:#b8430f;stroke-dasharray:9 5}"
    ".joint{stroke:#6f3fa0;stroke-dasharray:14 4 2 4}"
    ".unsure{stroke:#8a939e;stroke-dasharray:1.5 4.5;stroke-linecap:round}"
    f"circle{{fill:{_DISC}}}"
    f".alone circle{{fill:#fff;stroke:{_DISC};stroke-width:1.5px}}"
)
_WORDS = {"positive": "positive", "negative": "negative", "joint": "of a category", "unsure": "could be noise"}
_LINES = {
    "positive": ("#1463a5", "-"),
    "negative": ("#b8430f", "--"),
    "joint": ("#6f3fa0", "-."),
    "unsure": ("#8a939e", ":"),
}


@dataclass(frozen=True, eq=False)
class Panel:
    """One network of a picture.

    Attributes
    ----------
    title : str
    weights : (p, p) array
        Strength of each edge, zero where there is none.
    unsure : (p, p) array of bool, optional
        Edges that could be noise.
    said : (p, p) array, optional
        The number that is said of an edge, where that is not its weight.
    joint : (p, p) array of bool, optional
        Edges of categories, which have no sign.
    """

    title: str
    weights: Matrix
    unsure: "NDArray[np.bool_] | None" = None
    said: Matrix | None = None
    joint: "NDArray[np.bool_] | None" = None

    def edges(self) -> list[tuple[int, int, float, str]]:
        """Both ends, weight and kind of every edge, the strongest last: it is drawn on top."""
        rows, columns = np.nonzero(np.triu(self.weights, 1))
        order = np.argsort(np.abs(self.weights[rows, columns]), kind="stable")
        return [
            (int(i), int(j), float(self.weights[i, j]), self._kind(int(i), int(j)))
            for i, j in zip(rows[order], columns[order], strict=True)
        ]

    def _kind(self, i: int, j: int) -> str:
        if self.unsure is not None and self.unsure[i, j]:
            return "unsure"
        if self.joint is not None and self.joint[i, j]:
            return "joint"
        return "negative" if self.weights[i, j] < 0.0 else "positive"


def common_layout(names: Sequence[str], panels: Sequence[Panel], width: float = 900.0) -> Layout:
    """A layout that suits all of some networks: that of the strongest edge that any has and that is no noise."""
    sure = [panel.weights if panel.unsure is None else np.where(panel.unsure, 0.0, panel.weights) for panel in panels]
    drawn = sure if np.any(sure) else [panel.weights for panel in panels]
    strongest = np.max(np.abs(drawn), axis=0)
    return lay_out(strongest, [one_line(name) for name in names], width)


def draw_panel(names: Sequence[str], panel: Panel, layout: Layout) -> str:
    """The elements of one network, without title, for an SVG with a style of its own."""
    shown = panel.weights if panel.said is None else panel.said
    drawn, joined = [], np.zeros(len(names), bool)
    for i, j, weight, kind in panel.edges():
        joined[[i, j]] = True
        has_sign = panel.joint is None or not panel.joint[i, j]
        said = xml_text(f"{names[i]} — {names[j]}: {shown[i, j]:{'+' if has_sign else ''}.2f}")
        drawn.append(
            f'<path class="edge {kind}" d="{layout.path(i, j)}" stroke-width="{_line_width(weight):.1f}">'
            f"<title>{said}</title></path>"
        )
    for k, (name, (x, y), place, lines) in enumerate(zip(names, layout.nodes, layout.names, layout.lines, strict=True)):
        drawn.append(
            f'<g class="node{"" if joined[k] else " alone"}"><title>{xml_text(one_line(name))}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:.0f}"/>{_draw_name(lines, *place)}</g>'
        )
    return "".join(drawn)


def networks_svg(names: Sequence[str], panels: Sequence[Panel], width: int = 900) -> str:
    """A file of its own: panels side by side, titled if there are several, and a legend below."""
    layout, title = common_layout(names, panels, width), _TITLE if len(panels) > 1 else 0
    height = round(layout.height)
    parts = []
    for k, panel in enumerate(panels):
        heading = f'<text class="title" x="{width / 2:.0f}" y="24">{xml_text(one_line(panel.title))}</text>'
        network = f'<g transform="translate(0 {title})">{draw_panel(names, panel, layout)}</g>'
        parts.append(f'<g transform="translate({k * width} 0)">{heading if title else ""}{network}</g>')
    parts.append(f'<g class="legend" transform="translate(20 {title + height})">{_draw_legend(panels)}</g>')
    size = max(len(panels) * width, _STRIDE * (len(_kinds(panels)) + 1)), title + height + _LEGEND
    return (
        "<!-- graphveil -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
        f'height="{size[1]}"><style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def plot_networks(names: Sequence[str], panels: Sequence[Panel]) -> Any:
    """A figure of matplotlib, or an :class:`SvgPicture`."""
    width = 640 if len(panels) > 1 else 760
    try:
        from matplotlib import patheffects, pyplot
    except ImportError:
        return SvgPicture(networks_svg(names, panels, width))
    layout = common_layout(names, panels, width)
    inches = width / _DPI, layout.height / _DPI + 0.6
    figure, grid = pyplot.subplots(
        1, len(panels), figsize=(inches[0] * len(panels), inches[1]), layout="constrained", squeeze=False
    )
    kinds = [(kind, *_LINES[kind]) for kind in _kinds(panels)]
    halo = [patheffects.withStroke(linewidth=3, foreground="white")]
    for axes, panel in zip(grid[0], panels, strict=True):
        for i, j, weight, kind in panel.edges():
            colour, style = _LINES[kind]
            axes.plot(*layout.edge(i, j).T, style, color=colour, linewidth=0.7 * _line_width(weight), zorder=1)
        axes.plot(*layout.nodes.T, "o", color=_DISC, markersize=2 * RADIUS * 72 / _DPI)
        for lines, (x, y) in zip(layout.lines, layout.names, strict=True):
            text = "\n".join(lines).replace("$", r"\$")
            axes.annotate(text, (x, y), ha="center", va="center", fontsize=13 * 72 / _DPI, path_effects=halo)
        axes.set_title(one_line(panel.title).replace("$", r"\$"), fontsize=10)
        axes.set(xlim=(0, layout.width), ylim=(layout.height, 0), aspect="equal")  # downwards, as on a page
        axes.axis("off")
    handles = [grid[0, 0].plot([], [], style, color=colour, label=_WORDS[kind])[0] for kind, colour, style in kinds]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _draw_name(lines: Sequence[str], x: float, y: float) -> str:
    """A name about its centre; every line of it is a text of its own."""
    first = y + LINE * (0.5 - len(lines) / 2) + 4.5
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{first + LINE * k:.1f}">{xml_text(line)}</tspan>' for k, line in enumerate(lines)
    )
    return f"<text>{spans}</text>"


def _draw_legend(panels: Sequence[Panel]) -> str:
    parts = []
    for k, kind in enumerate(_kinds(panels)):
        at, wide = _STRIDE * k, 2 if kind == "unsure" else 4
        parts.append(f'<path class="edge {kind}" stroke-width="{wide}" d="M{at} 16h36"/>')
        parts.append(f'<text x="{at + 44}" y="21">{_WORDS[kind]}</text>')
    parts.append(f'<text x="{_STRIDE * len(_kinds(panels))}" y="21">wider is stronger</text>')
    return "".join(parts)


def _kinds(panels: Sequence[Panel]) -> list[str]:
    """What a legend explains: both signs, and categories and doubt if there are any."""
    present = {"positive", "negative"}
    for kind in ("joint", "unsure"):
        marked = [getattr(panel, kind) for panel in panels]
        present |= {kind} if any(mark is not None and mark.any() for mark in marked) else set()
    return [kind for kind in _WORDS if kind in present]


def _line_width(weight: float) -> float:
    return 1.2 + 9.0 * min(abs(weight), 1.0)
