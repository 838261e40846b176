"""Categories on the command line: one variable in a network, all levels and a joint test in a regression."""

import csv
import json

import numpy as np
import pytest

import graphveil as gv
from helpers.mixed import mixed_release


@pytest.fixture(scope="module")
def made():
    return mixed_release()


@pytest.fixture
def run(graphveil, made, tmp_path):
    made.save(tmp_path / "people.release")
    return lambda command, *rest: graphveil(command, "people.release", *rest)


def test_fit_writes_edges_of_variables(run, made, tmp_path):
    edges = gv.PrivateGraphicalLasso(4.0, 1e-6).fit_release(made).edge_intervals()
    said = run("fit", "-o", "network.json", "--json")
    assert said.json["variables"] == 6
    content = json.loads((tmp_path / "network.json").read_text())
    assert content["variables"] == list(edges.columns)
    assert content["columns"] == list(made.column_names)
    assert np.shape(content["precision"]) == (10, 10)
    found = {(edge["source"], edge["target"]): edge for edge in content["edges"]}
    joint, single = found["ward", "bmi"], found["bmi", "age"]
    assert (joint["df"], single["df"]) == (3, 1)
    assert joint["estimate"] == edges.estimate[0, 4]
    assert joint["p_value"] == edges.p_value[0, 4]
    assert 0.0 < joint["lower"] < joint["weight"] < joint["upper"]


def test_levels_on_demand(run, tmp_path):
    assert run("fit", "--by-level", "-o", "levels.json", "--json").json["variables"] == 10
    content = json.loads((tmp_path / "levels.json").read_text())
    assert content["variables"] == content["columns"]
    assert "df" not in content["edges"][0]


def test_other_formats_know_what_has_no_sign(run, tmp_path):
    for suffix in ("csv", "csv", "graphml", "svg", "npz"):  # its own kind is replaced
        assert run("fit", "-o", f"network.{suffix}").code == 0
    with (tmp_path / "network.csv").open() as file:
        rows = {(row["source"], row["target"]): row for row in csv.DictReader(file)}
    assert rows["ward", "diet"]["df"] == "6"
    assert 'attr.name="df"' in (tmp_path / "network.graphml").read_text()
    assert 'class="edge joint"' in (tmp_path / "network.svg").read_text()
    assert np.load(tmp_path / "network.npz")["names"].size == 10
    assert run("fit", "--method", "dense", "-o", "dense.csv", "--json").json["edges"] == 15


def test_regress_takes_a_category_by_its_name(run, made, tmp_path):
    table = gv.regression(made, "bmi", ["age", "ward", "diet"])
    said = run("regress", "--outcome", "bmi", "--on", "age,ward,diet", "-o", "table.csv")
    assert table.summary() in said.out
    with (tmp_path / "table.csv").open() as file:
        rows = {row["term"]: row for row in csv.DictReader(file)}
    assert float(rows["ward"]["chi2"]) == table.tests[0].chi2
    assert rows["ward"]["coef"] == ""
    assert rows["ward[B]"]["chi2"] == ""
    refused = run("regress", "--outcome", "ward")
    assert refused.code == 1
    assert "ward[B]" in refused.err
