"""Names from files of others: no terminal obeys them, no spreadsheet calculates them, no XML breaks on them."""

import csv
import io
import json
import re
import sqlite3
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import ReleaseFileError
from graphveil.report.escaping import cell_text
from helpers.reports import FORMULAS, small

TITLE, CLEAR, FORGED = "\x1b]0;owned\x07", "\x1b[2J\x1b[1;1H", "x\nSeeded   No. All is well."
EVIL = (TITLE, CLEAR, FORGED, "\x9b31m", "\u202egnp.exe", "a\rb", "\x7f")


def reaches_a_terminal(text):
    """Whatever moves the cursor, colours, hides or turns around; our own lines end in a line feed."""
    return {c for c in text if not c.isprintable()} - {"\n"}


@pytest.fixture
def foreign(tmp_path):
    """A release with hostile names and columns that drown, so that they are named; seeded, so that they always are."""
    rows = np.random.default_rng(0).normal(size=(3000, len(EVIL)))
    rows[:, :3] = 0.0
    domain = gv.Domain(columns=EVIL, bounds=(-4, 4))
    made = gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    made.save(tmp_path / "foreign.release")
    return made


def test_a_release_with_commands_in_its_versions_is_not_one(graphveil, foreign, tmp_path):
    for versions in ({"graphveil": CLEAR}, {TITLE: "1"}, {"numpy": FORGED}, {"numpy": "v" * 10_000}):
        path = tmp_path / "forged.release"
        path.write_bytes(replace(foreign, versions=versions).to_bytes())
        with pytest.raises(ReleaseFileError, match="versions"):
            gv.Release.load(path)
        said = graphveil("show", path)
        assert said.code == 1
        assert not reaches_a_terminal(said.text)


def test_names_are_shown_and_not_obeyed(graphveil, foreign):
    runs = [
        graphveil("show", "foreign.release"),
        graphveil("show", "foreign.release", "--json"),
        graphveil("fit", "foreign.release", "-o", "x.csv", "--method", "dense"),
        graphveil("fit", "foreign.release", "-o", "x.json", "--method", "dense", "--json"),
        graphveil("report", "foreign.release"),
        graphveil("regress", "foreign.release", "--outcome", EVIL[-1], "-o", "table.html"),
        graphveil("compare", "foreign.release", "foreign.release", "--overlap"),
        graphveil("compare", "foreign.release", "foreign.release", "--overlap", "--json", "-o", "differences.json"),
        graphveil("show", CLEAR),
        graphveil("show", "foreign.release", CLEAR),
        graphveil(CLEAR),
    ]
    assert [run.code for run in runs] == [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2]
    assert [reaches_a_terminal(run.text) for run in runs] == [set()] * len(runs)
    assert "\\x1b]0;owned\\x07" in runs[2].out, "what they are is said"
    for run in (runs[2], runs[5]):
        assert not re.search(r"^Seeded {3}No\. All", run.out, re.MULTILINE), "and no line is forged"
    assert runs[1].json["columns"] == list(EVIL)


def test_a_foreign_ledger_is_shown_and_not_obeyed(graphveil, tmp_path):
    gv.Ledger(tmp_path / "ledger.db").create("people", gv.Budget(1.0, 1e-6))
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("UPDATE graphveil_datasets SET name = ?", (CLEAR + TITLE,))
    database.close()
    for command in (
        ("ledger", "show"),
        ("ledger", "show", "--json"),
        ("ledger", "verify"),
        ("ledger", "history", CLEAR),
    ):
        assert not reaches_a_terminal(graphveil(*command).text), command


HARMLESS = ("age", "a=b", "x-y", "mean (sd)", "größe", "e@mail", "a - b")


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_no_formula_any_more(name):
    """Neither for a reader that separates by commas nor for one that takes semicolons, as in most of Europe."""
    written = cell_text(name)
    assert read_back(written).replace("'", "") == name, "nothing is lost"
    for cell in re.split(r'[,;\t\r\n"|]', written):
        assert not cell.startswith(("=", "+", "-", "@", "＝"))


def test_other_names_stay_as_they_are():
    assert [read_back(cell_text(name)) for name in HARMLESS] == list(HARMLESS)


def read_back(cell):
    ((text,),) = csv.reader(io.StringIO(cell, newline=""))
    return text


def test_a_table_holds_no_formula(graphveil, tmp_path):
    names = (*FORMULAS[:6], "age")
    small(7, columns=names).save(tmp_path / "x.release")
    assert graphveil("fit", "x.release", "-o", "x.csv", "--method", "dense").code == 0
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 21
    assert {row[end] for row in rows for end in ("source", "target")} == {read_back(cell_text(name)) for name in names}
    assert not any(row[end][0] in "=+-@\t\r" for row in rows for end in ("source", "target"))
    assert graphveil("fit", "x.release", "-o", "x.json", "--method", "dense").code == 0
    assert json.loads((tmp_path / "x.json").read_text())["variables"] == list(names), "what no spreadsheet opens"


@pytest.mark.parametrize("ending", ["svg", "graphml"])
def test_a_drawing_with_any_name_is_xml(graphveil, foreign, tmp_path, ending):
    for name, release in (("evil", foreign), ("nul", small(3, columns=["\x00", "\ufffe<&>\"'", "]]>"]))):
        release.save(tmp_path / f"{name}.release")
        assert graphveil("fit", f"{name}.release", "-o", f"{name}.{ending}", "--method", "dense").code == 0
        root = ElementTree.fromstring((tmp_path / f"{name}.{ending}").read_bytes())
        assert len(list(root.iter())) > 5
