"""A network as one picture: SVG that any browser, word processor or drawing program opens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphveil.report.escaping import xml_text
from graphveil.report.graph_layout import place_nodes
from graphveil.report.report_data import neighbourly_order

__all__ = ["network_svg"]

_WIDTH, _HEIGHT, _MARGIN_X, _MARGIN_Y = 900, 640, 90, 40
_STYLE = (
    "text{font:14px sans-serif;paint-order:stroke;stroke:#fff;stroke-width:4px;text-anchor:middle}"
    "line{stroke:#1463a5}.minus{stroke:#b8430f;stroke-dasharray:9 5}"
    ".unsure{stroke:#8a939e;stroke-dasharray:1.5 4.5;stroke-linecap:round}circle{fill:#26323f}"
)


def network_svg(names: Sequence[str], edges: Sequence[dict[str, Any]]) -> str:
    """Positive edges are full lines, negative ones broken, those that could be noise dotted; wider is stronger."""
    number = {name: k for k, name in enumerate(names)}
    weights = np.zeros((len(names), len(names)))
    for edge in edges:
        i, j = number[edge["source"]], number[edge["target"]]
        weights[i, j] = weights[j, i] = edge["weight"]
    place = place_nodes(weights, neighbourly_order(weights))
    x = _MARGIN_X + place[:, 0] * (_WIDTH - 2 * _MARGIN_X)
    y = _MARGIN_Y + place[:, 1] * (_HEIGHT - 2 * _MARGIN_Y)
    drawn = []
    for edge in reversed(edges):  # the strongest on top
        i, j = number[edge["source"]], number[edge["target"]]
        kind = "unsure" if edge.get("could_be_noise") else "minus" if edge["weight"] < 0 else "plus"
        ends = f'x1="{x[i]:.1f}" y1="{y[i]:.1f}" x2="{x[j]:.1f}" y2="{y[j]:.1f}"'
        said = f"{edge['source']} — {edge['target']}: {edge.get('estimate', edge['weight']):+.2f}"
        width = 1.2 + 9.0 * min(abs(edge["weight"]), 1.0)
        drawn.append(f'<line class="{kind}" {ends} stroke-width="{width:.1f}"><title>{xml_text(said)}</title></line>')
    for name, k in number.items():
        short = name if len(name) <= 22 else name[:21] + "…"
        drawn.append(f'<circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="7"/>')
        drawn.append(f'<text x="{x[k]:.1f}" y="{y[k] - 12:.1f}">{xml_text(short)}</text>')
    return (
        "<!-- graphveil -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(drawn)}</svg>\n'
    )
