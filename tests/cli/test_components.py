"""`graphveil components`: the table of `gv.components`, in words and as files."""

import csv
import json

import numpy as np
import pytest

import graphveil as gv


@pytest.fixture
def saved(tmp_path):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    rows[:, 2] += rows[:, 0]
    domain = gv.Domain(columns=["=cmd()", "bmi", "sugar"], bounds=(-6, 6))
    made = gv.release(rows, domain=domain, budget=gv.Budget(2.0, 1e-6), random_state=0)
    made.save(tmp_path / "people.release")
    return made


def test_the_table_is_shown_and_written(graphveil, saved, tmp_path):
    found = gv.components(saved)
    assert found.summary() in graphveil("components", "people.release").out
    said = graphveil("components", "people.release", "-o", "components.csv", "--json").json
    assert said["file"] == "components.csv"
    assert said["above_noise"] == found.above_noise == 1
    assert said["variance"] == pytest.approx(list(found.variance.value))
    with (tmp_path / "components.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["term"] for row in rows] == ["'=cmd()", "bmi", "sugar"]
    assert [float(row["PC1"]) for row in rows] == pytest.approx(list(found.loadings[:, 0]))
    for ending in ("html", "tex", "json"):
        assert graphveil("components", "people.release", "-o", f"components.{ending}").code == 0
    written = json.loads((tmp_path / "components.json").read_text())
    errors = [term["PC1_std_err"] for term in written["terms"]]
    assert errors == pytest.approx(list(found.loadings_sd[:, 0]))


def test_what_is_not_known_is_left_out(graphveil, tmp_path):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    made = gv.release(rows, domain=gv.Domain(bounds=(-6, 6)), budget=gv.Budget(2.0, 1e-6), random_state=0)
    made.save(tmp_path / "alike.release")
    said = graphveil("components", "alike.release", "-o", "alike.csv", "--json").json
    assert said["terms"][0]["PC2_std_err"] is None, "three components of about the same variance"
    assert graphveil("components", "alike.release", "-o", "alike.docx").code == 1
