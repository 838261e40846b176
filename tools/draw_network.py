"""Draw the network of `graphveil demo` for the README: docs/figures/network.svg, in light and in dark.

python tools/draw_network.py [FOLDER]     FOLDER holds a demo that was run before; without it, one is run now

Noise is drawn anew for every release, so the figures differ a little from run to run.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import networkx as nx

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "network.svg"
WIDTH, HEIGHT = 860, 430

# Where each column of the survey is drawn, whether its name stands above or below, and what it means (codebook).
ABOVE, BELOW = -15, 26
NODES = {
    "lncoins": (215, 75, ABOVE, "coinsurance rate"),
    "fmde": (105, 215, BELOW, "maximum spending"),
    "idp": (400, 160, ABOVE, "individual deductible"),
    "lpi": (290, 315, BELOW, "participation payment"),
    "mdvis": (545, 230, BELOW, "doctor visits"),
    "disea": (640, 85, ABOVE, "chronic diseases"),
    "physlm": (765, 165, ABOVE, "physical limitation"),
    "hlthg": (640, 325, BELOW, "good health"),
    "hlthf": (745, 270, BELOW, "fair health"),
    "hlthp": (780, 350, BELOW, "poor health"),
}
STYLE = """
  .page { fill: #f7f9fb; stroke: #d6dde5 } text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
  .name { font-size: 15px; fill: #1f2933; text-anchor: middle; paint-order: stroke; stroke: #f7f9fb; stroke-width: 5px }
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
    lines = []
    for a, b, edge in sorted(graph.edges(data=True), key=lambda item: abs(item[2]["estimate"])):
        (x1, y1, _, first), (x2, y2, _, second) = NODES[a], NODES[b]
        kind = "minus" if edge["estimate"] < 0 else "plus"
        width = 1.5 + 12 * abs(edge["estimate"])
        title = f"{first} and {second}: {edge['estimate']:+.2f}"
        ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
        lines.append(f'<line class="{kind}" {ends} stroke-width="{width:.1f}"><title>{title}</title></line>')
    for x, y, beside, name in NODES.values():
        lines.append(f'<circle cx="{x}" cy="{y}" r="7"/><text class="name" x="{x}" y="{y + beside}">{name}</text>')
    key = (
        f'<text class="key" x="24" y="{HEIGHT - 18}">Partial correlations in a health insurance survey, '
        f"5,912 people, published at ε = 1, δ = 10⁻⁶. Dashed: negative.</text>"
    )
    what = "A network of ten survey variables, published with differential privacy"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{what}">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="page" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="12"/>\n'
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
