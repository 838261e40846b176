"""`graphveil regress`: in words, as JSON, and as files."""

import csv
import json

import numpy as np
import pytest

import graphveil as gv

NAMES = ["=cmd()", "bmi, measured", "sugar"]


@pytest.fixture
def saved(tmp_path):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    rows[:, 2] += rows[:, 0]
    domain = gv.Domain(columns=NAMES, bounds=(-6, 6))
    made = gv.release(rows, domain=domain, budget=gv.Budget(2.0, 1e-6), random_state=0)
    made.save(tmp_path / "people.release")
    return made


@pytest.fixture
def regress(graphveil, saved):
    return lambda *rest: graphveil("regress", "people.release", "--outcome", "sugar", *rest)


def test_it_shows_the_table(regress, saved):
    said = regress()
    assert said.code == 0, said.text
    assert gv.regression(saved, "sugar").summary() in said.out.rstrip()
    assert "[0.05" in regress("--level", 0.9).out


def test_names_between_commas_may_hold_commas(regress):
    assert [term["term"] for term in regress("--on", "bmi, measured,=cmd()", "--json").json["terms"]] == [
        "const",
        "bmi, measured",
        "=cmd()",
    ]
    alone = regress("--on", "=cmd()", "--json").json
    assert [term["term"] for term in alone["terms"]] == ["const", "=cmd()"]
    wrong = regress("--on", "weight")
    assert wrong.code == 1
    assert "on must be distinct columns" in wrong.err


def test_every_format_holds_the_same_numbers(regress, saved, tmp_path):
    expected = gv.regression(saved, "sugar")
    for suffix in ("csv", "json", "html", "tex"):
        for _ in range(2):  # its own kind is replaced
            said = regress("-o", f"table.{suffix}")
            assert said.code == 0, said.text
            assert f"table.{suffix}" in said.out
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["term"] for row in rows] == ["const", "'=cmd()", "bmi, measured"], "no formula for a spreadsheet"
    assert [float(row["std_err"]) for row in rows] == expected.terms.std_err.tolist()
    assert rows[0]["standardized"] == ""
    written = json.loads((tmp_path / "table.json").read_text())
    assert written["terms"] == expected.to_dict()["terms"]
    assert written["guarantee"] == saved.guarantee
    assert expected.to_html() in (tmp_path / "table.html").read_text()
    assert expected.to_latex() in (tmp_path / "table.tex").read_text()


def test_other_files_stay(regress, tmp_path):
    for name in ("notes.csv", "notes.json", "notes.html", "notes.tex"):
        (tmp_path / name).write_text("my notes\n")
        assert regress("-o", name).code == 1
        assert (tmp_path / name).read_text() == "my notes\n"
    assert "unknown extension" in regress("-o", "table.docx").err
