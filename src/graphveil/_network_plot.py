"""Plots of networks, several on one layout: with matplotlib if it is installed, as SVG otherwise.

Positive edges are solid, negative ones dashed, those of categories, which have no sign, dash-dotted, and those that
could be noise dotted; wider is stronger. So nothing depends on colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil._graph_layout import neighbourly_order, place_nodes
from graphveil._html import xml_text
from graphveil._interval_plot import SvgPicture
from graphveil._tables import one_line
from graphveil._typing import Matrix

__all__ = ["Panel", "common_places", "draw_panel", "networks_svg", "plot_networks"]

_MARGIN_X, _MARGIN_Y, _TITLE, _LEGEND = 90, 40, 34, 36  # pixels
_STRIDE = 180  # pixels from one line of the legend to the next
_LONGEST = 22  # letters of a name
_STYLE = (
    "text{font:14px sans-serif}.node text{paint-order:stroke;stroke:#fff;stroke-width:4px;text-anchor:middle}"
    ".title{font-weight:bold;text-anchor:middle}.edge{fill:none}.positive{stroke:#1463a5}"
    ".negative{stroke:#b8430f;stroke-dasharray:9 5}"
    ".joint{stroke:#6f3fa0;stroke-dasharray:14 4 2 4}"
    ".unsure{stroke:#8a939e;stroke-dasharray:1.5 4.5;stroke-linecap:round}circle{fill:#26323f}"
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


def common_places(networks: Sequence[Matrix]) -> Matrix:
    """Places in the unit square that suit all of some networks: those of the strongest edge that any has."""
    stacked = np.stack(networks)
    strongest = np.abs(stacked).argmax(axis=0)
    weights = np.take_along_axis(stacked, strongest[None], axis=0)[0]
    return place_nodes(weights, neighbourly_order(weights))


def draw_panel(names: Sequence[str], panel: Panel, places: Matrix, width: int, height: int) -> str:
    """The elements of one network, without title, for an SVG with a style of its own."""
    x = _MARGIN_X + places[:, 0] * (width - 2 * _MARGIN_X)
    y = _MARGIN_Y + places[:, 1] * (height - 2 * _MARGIN_Y)
    shown = panel.weights if panel.said is None else panel.said
    drawn = []
    for i, j, weight, kind in panel.edges():
        ends = f'x1="{x[i]:.1f}" y1="{y[i]:.1f}" x2="{x[j]:.1f}" y2="{y[j]:.1f}"'
        has_sign = panel.joint is None or not panel.joint[i, j]
        said = xml_text(f"{names[i]} — {names[j]}: {shown[i, j]:{'+' if has_sign else ''}.2f}")
        drawn.append(
            f'<line class="edge {kind}" {ends} stroke-width="{_line_width(weight):.1f}"><title>{said}</title></line>'
        )
    for k, name in enumerate(names):
        drawn.append(
            f'<g class="node"><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="7"/>'
            f'<text x="{x[k]:.1f}" y="{y[k] - 12:.1f}">{xml_text(_short(name))}</text></g>'
        )
    return "".join(drawn)


def networks_svg(
    names: Sequence[str], panels: Sequence[Panel], places: Matrix, width: int = 900, height: int = 640
) -> str:
    """A file of its own: panels side by side, titled if there are several, and a legend below."""
    title = _TITLE if len(panels) > 1 else 0
    parts = []
    for k, panel in enumerate(panels):
        heading = f'<text class="title" x="{width / 2:.0f}" y="24">{xml_text(one_line(panel.title))}</text>'
        network = f'<g transform="translate(0 {title})">{draw_panel(names, panel, places, width, height)}</g>'
        parts.append(f'<g transform="translate({k * width} 0)">{heading if title else ""}{network}</g>')
    parts.append(f'<g class="legend" transform="translate(20 {title + height})">{_draw_legend(panels)}</g>')
    size = len(panels) * width, title + height + _LEGEND
    return (
        "<!-- graphveil -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
        f'height="{size[1]}"><style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def plot_networks(names: Sequence[str], panels: Sequence[Panel], places: Matrix) -> Any:
    """A figure of matplotlib, or an :class:`SvgPicture`."""
    try:
        from matplotlib import patheffects, pyplot
    except ImportError:
        return SvgPicture(networks_svg(names, panels, places, 440, 400))
    figure, grid = pyplot.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 4.4), layout="constrained", squeeze=False
    )
    kinds = [(kind, *_LINES[kind]) for kind in _kinds(panels)]
    halo = [patheffects.withStroke(linewidth=3, foreground="white")]
    for axes, panel in zip(grid[0], panels, strict=True):
        for i, j, weight, kind in panel.edges():
            colour, style = _LINES[kind]
            axes.plot(*places[[i, j]].T, style, color=colour, linewidth=0.7 * _line_width(weight), zorder=1)
        axes.plot(*places.T, "o", color="#26323f", markersize=6)
        for name, (x, y) in zip(names, places, strict=True):
            label = _short(name).replace("$", r"\$")
            axes.annotate(label, (x, y), (0, 7), textcoords="offset points", ha="center", fontsize=8, path_effects=halo)
        axes.set_title(one_line(panel.title).replace("$", r"\$"), fontsize=10)
        axes.set(xlim=(-0.15, 1.15), ylim=(1.1, -0.1))  # downwards, as on a page
        axes.axis("off")
    handles = [grid[0, 0].plot([], [], style, color=colour, label=_WORDS[kind])[0] for kind, colour, style in kinds]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


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


def _short(name: str) -> str:
    name = one_line(name)
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
