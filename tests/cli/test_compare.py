"""`graphveil compare`: in words, as JSON, and as a table."""

import csv
import json
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphveil as gv

DOMAIN = gv.Domain(columns=["=cmd()", "bmi", "sugar"], bounds=(-6, 6))


@pytest.fixture
def groups(tmp_path):
    """Two releases that differ in the mean of sugar."""
    for seed, name in enumerate(("men", "women")):
        rows = np.random.default_rng(seed).normal([0, 0, seed], 1, (3000, 3))
        made = gv.release(rows, domain=DOMAIN, budget=gv.Budget(8.0, 1e-6), random_state=seed + 2)  # all is known well
        made.save(tmp_path / f"{name}.release")
    return tmp_path / "men.release", tmp_path / "women.release"


def test_it_says_what_differs(graphveil, groups):
    said = graphveil("compare", *groups)
    assert said.code == 0, said.text
    assert "women compared with men" in said.out
    assert "1 of 3 means differs" in said.out
    assert "nobody's records are in both groups" in said.out


def test_the_table_and_json_hold_every_difference(graphveil, groups, tmp_path):
    said = graphveil("compare", *groups, "-o", "differences.csv", "--json").json
    assert said["compared"] == ["men", "women"]
    assert said["mean"]["differ"] == 1
    with (tmp_path / "differences.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert [row["of"] for row in rows if row["what"] == "mean"] == ["'=cmd()", "bmi", "sugar"]
    assert [row["of"] for row in rows if row["differs"] == "True" and row["what"] == "mean"] == ["sugar"]
    assert graphveil("compare", *groups, "-o", "differences.json").code == 0
    written = json.loads((tmp_path / "differences.json").read_text())["differences"]
    assert [float(row["difference"]) for row in rows] == [row["difference"] for row in written]
    expected = gv.compare(*map(gv.Release.load, groups)).means.difference
    assert [row["difference"] for row in written if row["what"] == "mean"] == pytest.approx(list(expected))
    assert graphveil("compare", *groups, "-o", "differences.csv").code == 0, "its own kind is replaced"


def test_a_regression_and_a_picture(graphveil, groups, tmp_path):
    said = graphveil("compare", *groups, "--outcome", "sugar", "--on", "bmi", "-o", "differences.json", "--json").json
    assert said["outcome"] == "sugar"
    assert said["coefficient"]["compared"] == 2
    written = json.loads((tmp_path / "differences.json").read_text())["differences"]
    terms = [row for row in written if row["what"] == "coefficient"]
    assert terms[0]["of"] == "const"
    assert terms[0]["p_value"] < 1e-6, "the mean of sugar, where bmi is zero"
    expected = gv.compare(*map(gv.Release.load, groups), outcome="sugar", on=["bmi"]).coefficients
    assert [row["std_err"] for row in terms] == pytest.approx(list(expected.std_err))
    assert graphveil("compare", *groups, "-o", "networks.svg").code == 0
    drawing = ElementTree.fromstring((tmp_path / "networks.svg").read_text())
    names = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "title"]
    assert names[:2] == ["men", "women"]
    assert "columns are" in graphveil("compare", *groups, "--outcome", "weight").err


def test_errors_are_measured_if_asked(graphveil, groups):
    said = graphveil("compare", *groups, "--bootstrap", "--draws", 20, "--json").json
    assert said["draws"] == 20
    assert said["mean"]["differ"] == 1
    assert "20 drawn pairs" in graphveil("compare", *groups, "--bootstrap", "--draws", 20).out
    assert "draws must be" in graphveil("compare", *groups, "--bootstrap", "--draws", 3).err
    assert graphveil("compare", *groups, "--json").json["draws"] == 0


def test_what_cannot_be_compared_is_refused(graphveil, groups, tmp_path):
    twice = graphveil("compare", groups[0], groups[0])
    assert twice.code == 1
    assert "overlap" in twice.err
    (tmp_path / "notes.csv").write_text("my notes\n")
    assert graphveil("compare", *groups, "-o", "notes.csv").code == 1
    assert (tmp_path / "notes.csv").read_text() == "my notes\n"
    assert "unknown extension" in graphveil("compare", *groups, "-o", "differences.docx").err


def test_groups_are_released_for_one_charge_and_compared(graphveil, tmp_path):
    rng = np.random.default_rng(0)
    ward = rng.choice([1, 2], 3000)
    table = pa.table({"x": rng.normal(ward, 1.0), "y": rng.normal(size=3000), "ward": ward})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "bounds.toml").write_text("rows_per_person = 1\n[bounds]\nx = [-5, 8]\ny = [-5, 5]\n")
    assert graphveil("ledger", "create", "d", "--epsilon", 2, "--delta", 1e-6).code == 0
    ask = ("release", "t.parquet", "--epsilon", 2, "--delta", 1e-6, "--bounds", "bounds.toml", "--dataset", "d")
    ask += ("--by", "ward=1,2", "--key", "k")
    said = graphveil(*ask, "-o", "t.release", "--json")
    assert said.code == 0, said.text
    assert said.json["release"] == "t.release"
    assert said.json["releases"] == ["t-1.release", "t-2.release"]
    assert [found["group"] for found in said.json["groups"]] == ["ward = 1", "ward = 2"]
    again = graphveil(*ask, "-o", "t.release").out
    assert "ward = 1: as good as" in again
    assert "ward = 2: as good as" in again
    assert graphveil("report", "t.release", "-o", "groups.html").code == 0
    assert "2 compared with 1" in (tmp_path / "groups.html").read_text()
    assert "who belongs to which group is public" in said.json["guarantee"]
    assert [row["releases"] for row in graphveil("ledger", "show", "--json").json["datasets"]] == [1]
    compared = graphveil("compare", "t-1.release", "t-2.release", "--json").json
    assert compared["mean"]["differ"] == 1
    assert "Who belongs to the group ward = 1 is not hidden" in " ".join(graphveil("show", "t-1.release").out.split())
    shown = graphveil("show", "t.release", "--json").json
    assert [found["group"] for found in shown["groups"]] == ["ward = 1", "ward = 2"]
    assert sum(found["records"] for found in shown["groups"]) == 3000
    ask = ("release", "t.parquet", "--epsilon", 2, "--delta", 1e-6, "--bounds", "bounds.toml", "--no-ledger")
    ask += ("--by", "ward=1,2,3", "--neighbours", "add-remove", "-o", "hidden.release")  # nobody is in ward 3
    assert "who belongs to which group is secret" in graphveil(*ask, "--json").json["guarantee"]
    public = graphveil("show", "hidden.release").out.partition("Public facts")[2].partition("Other releases")[0]
    assert "names" in public
    assert "number" not in public
    assert "belongs" not in public


@pytest.mark.parametrize(
    ("by", "words"),
    [("ward", "gv.Category of the domain"), ("ward=1,,2", "such as arm=A,B"), ("ward=a b,a/b", "the same name")],
)
def test_groups_that_cannot_be_understood_are_refused(graphveil, patients, bounds, by, words):
    ask = ("--epsilon", 2, "--delta", 1e-6, "--bounds", bounds, "--no-ledger", "-o", "out.release", "--by", by)
    said = graphveil("release", patients, *ask)
    assert said.code == 1
    assert words in said.err
