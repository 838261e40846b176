"""A fitted network as a file: GraphML, CSV, JSON, NPZ or a picture."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.spec.release_file import write_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.spec.released import Release

__all__ = ["WRITERS", "FittedNetwork", "fitted_network"]

_NUMBERS = ("weight", "estimate", "lower", "upper", "p_value")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """What is written.

    Attributes
    ----------
    names : tuple of str
    edges : list of dict
        ``source``, ``target``, ``weight`` (partial correlation), and with intervals ``estimate``, ``lower``, ``upper``,
        ``p_value`` and ``could_be_noise``.
    precision, covariance, location : arrays
    n_eff : float
    guarantee, checksum : str
        Of the release that it comes from.
    """

    names: tuple[str, ...]
    edges: list[dict[str, Any]]
    precision: "NDArray[np.float64]"
    covariance: "NDArray[np.float64]"
    location: "NDArray[np.float64]"
    n_eff: float
    guarantee: str
    checksum: str


def fitted_network(model: Any, release: "Release") -> FittedNetwork:
    """Edges of a fitted estimator, strongest first; with intervals, where its penalty was chosen on the release."""
    names, weights = release.column_names, model.partial_correlations()
    intervals = model.edge_intervals() if getattr(model, "_network", None) is not None else None
    sure = None if intervals is None else intervals.select()
    edges = []
    for i, j in zip(*np.nonzero(np.triu(weights, 1)), strict=True):
        edge: dict[str, Any] = {"source": names[i], "target": names[j], "weight": float(weights[i, j])}
        if intervals is not None and sure is not None and intervals.reason is None:
            edge |= {name: float(getattr(intervals, name)[i, j]) for name in _NUMBERS[1:]}
            edge["could_be_noise"] = not bool(sure[i, j])
        edges.append(edge)
    edges.sort(key=lambda edge: -abs(edge["weight"]))
    return FittedNetwork(
        names,
        edges,
        model.precision_,
        model.covariance_,
        model.location_,
        float(model.n_eff_),
        release.guarantee,
        release.checksum,
    )


def _write_graphml(network: FittedNetwork, path: Path) -> None:
    kinds = dict.fromkeys(_NUMBERS, "double") | {"could_be_noise": "boolean"}
    known = [name for name in kinds if network.edges and name in network.edges[0]]
    number = {name: k for k, name in enumerate(network.names)}
    out = io.StringIO()
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    out.write('<key id="name" for="node" attr.name="name" attr.type="string"/>\n')
    out.write('<key id="guarantee" for="graph" attr.name="guarantee" attr.type="string"/>\n')
    for name in known:
        out.write(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{kinds[name]}"/>\n')
    out.write(f'<graph edgedefault="undirected">\n<data key="guarantee">{_xml(network.guarantee)}</data>\n')
    for name, k in number.items():
        out.write(f'<node id="n{k}"><data key="name">{_xml(name)}</data></node>\n')
    for edge in network.edges:
        data = "".join(f'<data key="{name}">{json.dumps(edge[name])}</data>' for name in known)
        out.write(f'<edge source="n{number[edge["source"]]}" target="n{number[edge["target"]]}">{data}</edge>\n')
    out.write("</graph>\n</graphml>\n")
    write_bytes(path, out.getvalue().encode())


def _xml(text: str) -> str:
    """Escaped; what XML cannot say at all (control characters) is replaced."""
    return escape(_NOT_XML.sub("\ufffd", text))


def _write_csv(network: FittedNetwork, path: Path) -> None:
    out = io.StringIO()
    fields = ["source", "target", *_NUMBERS, "could_be_noise"]  # empty cells where there are no intervals
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(network.edges)
    write_bytes(path, out.getvalue().encode())


def _write_json(network: FittedNetwork, path: Path) -> None:
    content = {
        "guarantee": network.guarantee,
        "checksum": network.checksum,
        "n_eff": network.n_eff,
        "variables": network.names,
        "edges": network.edges,
        "precision": network.precision.tolist(),
        "location": network.location.tolist(),
    }
    write_bytes(path, (json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n").encode())


def _write_npz(network: FittedNetwork, path: Path) -> None:
    out = io.BytesIO()
    np.savez_compressed(
        out,
        precision=network.precision,
        covariance=network.covariance,
        location=network.location,
        names=np.array(network.names, dtype=np.str_),
        guarantee=np.str_(network.guarantee),
    )
    write_bytes(path, out.getvalue())


def _write_svg(network: FittedNetwork, path: Path) -> None:
    from graphveil.report.drawing import network_svg

    write_bytes(path, network_svg(network.names, network.edges).encode())


WRITERS: dict[str, Callable[[FittedNetwork, Path], None]] = {
    ".graphml": _write_graphml,
    ".csv": _write_csv,
    ".json": _write_json,
    ".npz": _write_npz,
    ".svg": _write_svg,
}
