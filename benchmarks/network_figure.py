"""The picture of the front page: the network of the bundled survey, drawn as ``graphveil fit -o network.svg`` does."""

from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil._network_plot import Panel, networks_svg
from graphveil.report.report_data import collect_report_data

if __name__ == "__main__":
    data = gv.datasets.health_insurance()
    made = gv.release(data.rows, person=data.people, domain=gv.Domain(data.codebook), budget=gv.Budget(1.0, 1e-6))
    content = collect_report_data(made)
    panel = Panel("", np.where(content.sure, content.estimate, 0.0) * (1.0 - np.eye(len(content.names))))
    path = Path(__file__).parents[1] / "docs" / "figures" / "network.svg"
    path.write_text(networks_svg(content.names, [panel], 860))
