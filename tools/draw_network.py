"""Draw the network of `graphveil demo` for the README: docs/figures/network.svg, in light and in dark.

python tools/draw_network.py [FOLDER]     FOLDER holds a demo that was run before; without it, one is run now

Noise is drawn anew for every release, so the figures differ a little from run to run.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import networkx as nx

from graphveil._graph_layout import LINE, lay_out
from graphveil.datasets import health_insurance

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "network.svg"
WIDTH = 860

STYLE = """
  .page { fill: #f7f9fb; stroke: #d6dde5 } text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
  .name { font-size: 13px; fill: #1f2933; text-anchor: middle; paint-order: stroke; stroke: #f7f9fb; stroke-width: 5px }
  .key { font-size: 13px; fill: #52606d } .plus { stroke: #1b6ca8 } .minus { stroke: #c2571a; stroke-dasharray: 9 6 }
  circle { fill: #334e68 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #10171f; stroke: #2b3a48 } .name { fill: #e4e7eb; stroke: #10171f } .key { fill: #9fb3c8 }
    .plus { stroke: #5aa9e6 } .minus { stroke: #f2994a } circle { fill: #bcccdc }
  }
"""


def network_of(folder: Path) -> nx.Graph:
    """The edges that noise is unlikely to have made, by the names of the columns."""
    graph = nx.read_graphml(folder / "demo.graphml")
    graph.remove_edges_from([(a, b) for a, b, edge in graph.edges(data=True) if edge["could_be_noise"]])
    return nx.relabel_nodes(graph, nx.get_node_attributes(graph, "name"))


def picture(graph: nx.Graph) -> str:
    """SVG: wider is stronger, broken is negative."""
    labels = {column: kind.label for column, kind in health_insurance().codebook.items()}
    columns = list(labels)
    layout = lay_out(nx.to_numpy_array(graph, columns, weight="estimate"), list(labels.values()), WIDTH)
    height = round(layout.height) + 48
    lines = []
    for a, b, edge in sorted(graph.edges(data=True), key=lambda item: abs(item[2]["estimate"])):
        i, j = sorted((columns.index(a), columns.index(b)))
        kind = "minus" if edge["estimate"] < 0 else "plus"
        width = 1.5 + 12 * abs(edge["estimate"])
        title = f"{labels[columns[i]]} and {labels[columns[j]]}: {edge['estimate']:+.2f}"
        path = f'd="{layout.path(i, j)}" fill="none" stroke-width="{width:.1f}"'
        lines.append(f'<path class="{kind}" {path}><title>{title}</title></path>')
    for (x, y), name, place in zip(layout.nodes, layout.lines, layout.names, strict=True):
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7"/>')
        first = place[1] + LINE * (0.5 - len(name) / 2) + 4.5
        for row, text in enumerate(name):
            lines.append(f'<text class="name" x="{place[0]:.1f}" y="{first + LINE * row:.1f}">{text}</text>')
    key = (
        f'<text class="key" x="24" y="{height - 18}">Partial correlations in a health insurance survey, '
        f"5,912 people, published at ε = 1, δ = 10⁻⁶. Dashed: negative.</text>"
    )
    what = "A network of ten survey variables, published with differential privacy"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{what}">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="page" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="12"/>\n'
        + "\n".join([*lines, key])
        + "\n</svg>\n"
    )


def main(folder: Path) -> None:
    """Run the demo if it was not, and draw it."""
    if not (folder / "demo.graphml").exists():
        subprocess.run(["graphveil", "demo", str(folder)], check=True)  # noqa: S603, S607 - our own command
    TARGET.write_text(picture(network_of(folder)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
