"""The bundled data are the published ones to the last digit, and what is said about them is true."""

import bz2
import csv
import dataclasses
import hashlib
import itertools
import subprocess
import sys
from importlib.resources import files

import networkx as nx
import numpy as np
import pytest

import graphveil as gv
from graphveil.datasets import Dataset, cell_signalling, health_insurance, ionosphere

LOADERS = [ionosphere, cell_signalling, health_insurance]
WITH_BOUNDS = [cell_signalling, health_insurance]
FILES = files("graphveil.datasets") / "files"


@pytest.fixture(scope="module", params=LOADERS, ids=lambda load: load.__name__)
def data(request):
    return request.param()


def test_shapes_and_types(data):
    assert isinstance(data, Dataset)
    assert data.rows.shape == {34: (351, 34), 11: (7466, 11), 10: (20190, 10)}[len(data.columns)]
    assert data.rows.dtype == np.float64
    assert data.rows.flags.c_contiguous
    assert data.rows.flags.writeable
    assert np.isfinite(data.rows).all()
    assert len(set(data.columns)) == len(data.columns)
    assert data.source
    assert data.licence
    assert data.description


# Sums of the CSV text, the last of them the original's own: that file is bundled as it is.
@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("ionosphere", "c3c36b692d178f83a1dc212112fa2c703a8b236a60b7146bf969e43b19efd3e1"),
        ("cell_signalling", "a03396a1144661a4681b7997456a544ea780a336e3fb9361c39ddb1ed158d70e"),
        ("health_insurance", "9f6c87d05aef087a82cc4465310c8cd3f38327be6eafa43bd81fb98c4f3d088c"),
    ],
)
def test_contents_are_the_published_ones(name, digest):
    assert hashlib.sha256(bz2.decompress((FILES / f"{name}.csv.bz2").read_bytes())).hexdigest() == digest


@pytest.mark.parametrize("load", LOADERS)
def test_every_decimal_becomes_the_nearest_float(load):
    """Python's own parser is the peer: it rounds correctly."""
    text = bz2.decompress((FILES / f"{load.__name__}.csv.bz2").read_bytes()).decode()
    header, *lines = csv.reader(text.splitlines())
    data = load()
    p = len(data.columns)
    assert tuple(header[:p]) == data.columns
    np.testing.assert_array_equal(data.rows, [[float(field) for field in line[:p]] for line in lines])


def test_ionosphere_facts():
    data = ionosphere()
    column = dict(zip(data.columns, data.rows.T, strict=True))
    assert data.columns == tuple(f"a{i:02d}" for i in range(1, 35))
    assert dict(zip(*np.unique(data.labels, return_counts=True), strict=True)) == {"g": 225, "b": 126}
    assert data.labels.dtype.kind == "U"
    assert (column["a02"] == 0).all()
    assert set(column["a01"]) == {0.0, 1.0}
    assert len(np.unique(data.rows, axis=0)) == 350
    assert np.abs(data.rows).max() == 1
    assert data.rows[0, :3].tolist() == [1, 0, 0.99539]
    assert data.bounds is data.edges is data.directed_edges is data.rows_per_person is None


def test_cell_signalling_facts():
    data = cell_signalling()
    assert data.rows.min() == 1
    assert data.rows.max() == 9058
    assert len(np.unique(data.rows, axis=0)) == 7466
    assert data.rows[0].tolist() == [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0]
    assert data.labels is data.rows_per_person is None


def test_the_network_has_twenty_pairs_and_no_cycle():
    data = cell_signalling()
    assert len(data.directed_edges) == len(set(data.directed_edges)) == 20
    assert {frozenset(arc) for arc in data.directed_edges} == {frozenset(pair) for pair in data.edges}
    assert len({frozenset(pair) for pair in data.edges}) == 20
    assert set(itertools.chain(*data.edges)) == set(data.columns)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(data.directed_edges))
    positions = [tuple(map(data.columns.index, pair)) for pair in data.edges]
    assert positions == sorted(positions)
    assert all(i < j for i, j in positions)


def test_the_network_has_the_cascade_and_the_two_hubs():
    """Raf, Mek, Erk is the textbook cascade; PKA and PKC act on most of the others."""
    arcs = cell_signalling().directed_edges
    assert {("Raf", "Mek"), ("Mek", "Erk"), ("PIP3", "Plcg"), ("PIP3", "PIP2")} <= set(arcs)
    assert {effect for cause, effect in arcs if cause == "PKA"} == {"Akt", "Erk", "Jnk", "Mek", "P38", "Raf"}
    assert {effect for cause, effect in arcs if cause == "PKC"} == {"Jnk", "Mek", "P38", "PKA", "Raf"}


def test_health_insurance_facts():
    data = health_insurance()
    column = dict(zip(data.columns, data.rows.T, strict=True))
    assert " ".join(data.columns) == "mdvis lncoins idp lpi fmde physlm disea hlthg hlthf hlthp"
    for name in ("idp", "hlthg", "hlthf", "hlthp"):
        assert set(column[name]) == {0.0, 1.0}
    assert (column["hlthg"] + column["hlthf"] + column["hlthp"]).max() == 1
    np.testing.assert_allclose(np.unique(column["lncoins"]), np.log1p([0, 25, 50, 95, 100]), atol=1e-6)
    assert np.any(column["disea"] % 1 > 0)  # not what the codebook says; the docstring does
    assert np.any(column["physlm"] % 1 > 0)
    assert np.mean(column["fmde"][column["idp"] == 1] > 0) > 0.5
    rows_of_each = np.bincount(data.people)[1:]
    assert np.bincount(rows_of_each).tolist() == [0, 269, 246, 3743, 70, 1584]
    assert rows_of_each.max() == data.rows_per_person
    # What was asked at the beginning is the same in all years of a person.
    assert np.all(column["disea"] == column["disea"][np.searchsorted(data.people, data.people)])
    assert data.labels is data.edges is data.directed_edges is None


def test_bounds_follow_from_the_meaning_of_the_columns():
    bounds = health_insurance().bounds
    assert {bounds[name] for name in ("idp", "physlm", "hlthg", "hlthf", "hlthp")} == {(0.0, 1.0)}
    assert bounds["lncoins"][1] >= np.log(101)
    assert bounds["lpi"][1] >= np.log(1000)
    assert bounds["fmde"][1] >= np.log(1000 / 0.25)
    assert bounds["mdvis"] == (0.0, 52.0)


@pytest.mark.parametrize("load", WITH_BOUNDS)
def test_bounds_are_no_extremes_of_the_data(load):
    data = load()
    for name, values in zip(data.columns, data.rows.T, strict=True):
        low, high = data.bounds[name]
        assert ((values < low) | (values > high)).mean() < 0.02
        # An upper end that somebody attains is allowed where the codebook sets it: indicators.
        assert high != values.max() or high == 1


@pytest.mark.parametrize("load", WITH_BOUNDS)
def test_bounds_go_into_a_domain(load):
    data = load()
    domain = gv.Domain(bounds=data.bounds)
    assert domain.columns == data.columns
    assert domain.n_features == data.rows.shape[1]


def test_a_reason_is_given_for_every_bound():
    lines = list(csv.DictReader((FILES / "health_insurance_bounds.csv").read_text().splitlines()))
    assert tuple(line["column"] for line in lines) == health_insurance().columns
    assert all(line["why"] for line in lines)


@pytest.mark.parametrize("load", LOADERS)
def test_results_share_nothing(load):
    first = load()
    untouched = first.rows.copy()
    first.rows[:] = -7
    if first.labels is not None:
        first.labels[:] = "?"
    if first.bounds is not None:
        first.bounds.clear()
    second = load()
    np.testing.assert_array_equal(second.rows, untouched)
    assert second.labels is None or "?" not in second.labels
    assert second.bounds is None or len(second.bounds) == len(second.columns)


def test_datasets_are_frozen_and_print_in_a_line(data):
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.rows = None
    assert len(repr(data)) < 300


def test_files_are_read_when_asked_for():
    """The audit hook sees every file that Python opens; the last line shows that it does."""
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import graphveil as gv
assert "graphveil.datasets" not in sys.modules
gv.datasets
print(sum(".csv" in path for path in opened))
gv.datasets.ionosphere()
print(sum(".csv" in path for path in opened))
print(*{"scipy", "sklearn", "numba", "pyarrow", "pandas"} & set(sys.modules))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["0", "1"]


def test_sources_name_every_file():
    text = (FILES / "SOURCES.md").read_text()
    assert {path.name for path in FILES.iterdir()} <= {*text.split("`"), "SOURCES.md"}


def test_the_files_are_small():
    assert sum(len(path.read_bytes()) for path in FILES.iterdir()) < 200_000
