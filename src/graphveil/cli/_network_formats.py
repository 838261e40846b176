"""A fitted network as a file: GraphML, CSV, JSON, NPZ or a picture."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil._files import write_file
from graphveil._html import xml_text
from graphveil.report.escaping import cell_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.released.release import Release

__all__ = ["FORMATS", "FittedNetwork", "collect_network"]

_NUMBERS = ("weight", "estimate", "lower", "upper", "p_value")
_FIELDS = ("source", "target", *_NUMBERS, "could_be_noise")
_JOINT = "df"  # of edges between variables of several columns
_GRAPHML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    '<key id="name" for="node" attr.name="name" attr.type="string"/>\n'
)


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The content of the file.

    Attributes
    ----------
    names : tuple of str
        Of the variables, between which there are edges.
    edges : list of dict
        ``source``, ``target``, ``weight`` (partial correlation), and with intervals ``estimate``, ``lower``, ``upper``,
        ``p_value`` and ``could_be_noise``; between collinear columns only the last. Where a category of three levels or
        more is one variable, ``df`` too: how many partial correlations an edge stands for. Where there are several, its
        weight is a strength without a sign.
    columns : tuple of str
        Of the matrices.
    precision, covariance, location : arrays
    n_eff : float
    guarantee, checksum : str
        Of the release that it comes from.
    """

    names: tuple[str, ...]
    edges: list[dict[str, Any]]
    columns: tuple[str, ...]
    precision: "NDArray[np.float64]"
    covariance: "NDArray[np.float64]"
    location: "NDArray[np.float64]"
    n_eff: float
    guarantee: str
    checksum: str


def collect_network(model: Any, release: "Release", *, by_level: bool = False) -> FittedNetwork:
    """Edges of a fitted estimator; with intervals, and the surest first, where its penalty was chosen on the release.

    ``by_level``: between columns, so that the levels of a category are variables of their own.
    """
    from graphveil.recovery.associations import association_strengths

    names, places = tuple(release.variables), tuple(release.variables.values())
    intervals = model.edge_intervals() if getattr(model, "_network", None) is not None else None
    if by_level:
        names, places = release.column_names, tuple(range(k, k + 1) for k in range(len(release.column_names)))
        intervals = None if intervals is None else intervals.by_level or intervals
    weights, widths = association_strengths(model.precision_, places), [len(place) for place in places]
    sure = None if intervals is None else intervals.select()
    edges = []
    for i, j in zip(*np.nonzero(np.triu(weights, 1)), strict=True):
        edge: dict[str, Any] = {"source": names[i], "target": names[j], "weight": float(weights[i, j])}
        if max(widths) > 1:
            edge["df"] = widths[i] * widths[j]
        if intervals is not None and sure is not None and intervals.reason is None:
            if not np.isnan(intervals.p_value[i, j]):
                edge |= {name: float(getattr(intervals, name)[i, j]) for name in _NUMBERS[1:]}
            edge["could_be_noise"] = not bool(sure[i, j])
        edges.append(edge)
    edges.sort(key=lambda edge: (edge.get("p_value", np.inf), -abs(edge.get("estimate", edge["weight"]))))
    return FittedNetwork(
        names,
        edges,
        release.column_names,
        model.precision_,
        model.covariance_,
        model.location_,
        float(model.n_eff_),
        release.guarantee,
        release.checksum,
    )


def _graphml(network: FittedNetwork) -> bytes:
    kinds = dict.fromkeys(_NUMBERS, "double") | {"could_be_noise": "boolean", _JOINT: "int"}
    known = [name for name in kinds if any(name in edge for edge in network.edges)]
    number = {name: k for k, name in enumerate(network.names)}
    out = io.StringIO()
    out.write(_GRAPHML)
    out.write('<key id="guarantee" for="graph" attr.name="guarantee" attr.type="string"/>\n')
    for name in known:
        out.write(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{kinds[name]}"/>\n')
    out.write(f'<graph edgedefault="undirected">\n<data key="guarantee">{xml_text(network.guarantee)}</data>\n')
    for name, k in number.items():
        out.write(f'<node id="n{k}"><data key="name">{xml_text(name)}</data></node>\n')
    for edge in network.edges:
        data = "".join(f'<data key="{name}">{json.dumps(edge[name])}</data>' for name in known if name in edge)
        out.write(f'<edge source="n{number[edge["source"]]}" target="n{number[edge["target"]]}">{data}</edge>\n')
    out.write("</graph>\n</graphml>\n")
    return out.getvalue().encode()


def _csv(network: FittedNetwork) -> bytes:
    fields = [*_FIELDS, *[_JOINT] * any(_JOINT in edge for edge in network.edges)]
    lines = [",".join(fields)]
    for edge in network.edges:
        names = [cell_text(edge[end]) for end in ("source", "target")]
        numbers = [str(edge.get(field, "")) for field in fields[2:]]  # empty cells where there are no intervals
        lines.append(",".join([*names, *numbers]))
    return "\n".join([*lines, ""]).encode()


def _json(network: FittedNetwork) -> bytes:
    content = {
        "guarantee": network.guarantee,
        "checksum": network.checksum,
        "n_eff": network.n_eff,
        "variables": network.names,
        "edges": network.edges,
        "columns": network.columns,
        "precision": network.precision.tolist(),
        "covariance": network.covariance.tolist(),
        "location": network.location.tolist(),
    }
    return (json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _npz(network: FittedNetwork) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(
        out,
        precision=network.precision,
        covariance=network.covariance,
        location=network.location,
        names=np.array(network.columns, dtype=np.str_),
        guarantee=np.str_(network.guarantee),
    )
    return out.getvalue()


def _svg(network: FittedNetwork) -> bytes:
    from graphveil._network_plot import Panel, networks_svg

    number = {name: k for k, name in enumerate(network.names)}
    weights, said, unsure, joint = (np.zeros((len(number), len(number))) for _ in range(4))
    for edge in network.edges:
        i, j = sorted((number[edge["source"]], number[edge["target"]]))
        weights[i, j] = weights[j, i] = edge["weight"]
        said[i, j], unsure[i, j] = edge.get("estimate", edge["weight"]), edge.get("could_be_noise", False)
        joint[i, j] = edge.get(_JOINT, 1) > 1
    panel = Panel("", weights, unsure.astype(bool), said, joint.astype(bool))
    return networks_svg(network.names, [panel]).encode()


@dataclass(frozen=True)
class Format:
    """A way to write a network.

    Attributes
    ----------
    encode : callable
        From a network to the bytes of a file.
    like : pattern
        How such files begin, and which may therefore be replaced.
    """

    encode: Callable[[FittedNetwork], bytes]
    like: re.Pattern[bytes]

    def write(self, network: FittedNetwork, path: Path) -> None:
        """Write a file."""
        write_file(path, self.encode(network), self.like)


FORMATS = {
    ".graphml": Format(_graphml, re.compile(re.escape(_GRAPHML.encode()))),
    ".csv": Format(_csv, re.compile(",".join(_FIELDS).encode() + b"(,df)?\n")),
    ".json": Format(_json, re.compile(rb'\{"guarantee": ')),
    ".npz": Format(_npz, re.compile(rb"PK\x03\x04.{26}precision\.npy", re.DOTALL)),
    ".svg": Format(_svg, re.compile(rb"<!-- graphveil -->\n<svg ")),
}
