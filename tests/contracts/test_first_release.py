"""The story page: every block, in order, in one folder, as a reader would run it."""

import csv
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import graphveil as gv

PAGE = (Path(__file__).parents[2] / "docs" / "first-release.md").read_text()
# What the simulation on the page builds in.
TRUE_EDGES = {("age", "systolic"), ("bmi", "glucose"), ("age", "creatinine"), ("bmi", "systolic"), ("age", "bmi"),
              ("age", "days"), ("age", "glucose")}  # fmt: skip


def run(kind, code, folder):
    """A block of Python (here), of commands (in a shell), or the bounds that a person fills in."""
    if kind == "toml":
        asked = tomllib.loads((folder / "bounds.toml").read_text())
        filled_in = tomllib.loads(code)
        assert set(filled_in["bounds"]) <= set(asked["bounds"])
        (folder / "bounds.toml").write_text(code)
        return
    if kind == "python":
        exec(compile(code, "first-release.md", "exec"), {"__name__": "__main__"})
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", code], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"


def test_six_steps_lead_from_a_table_to_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(re.findall(r"^## \d\. ", PAGE, re.MULTILINE)) == 6
    for kind, code in re.findall(r"^```(python|sh|toml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        run(kind, code, tmp_path)
    charges = gv.Ledger(tmp_path / "ledger.db").history("inpatients-2026")
    assert len(charges) == 1  # the command and the Python beside it are one charge
    assert gv.Release.load(tmp_path / "inpatients.release").n_samples == 12_000  # notes of two lines are one record
    assert (tmp_path / "report.html").stat().st_size > 10_000
    with (tmp_path / "edges.csv").open() as file:
        sure = {(edge["source"], edge["target"]) for edge in csv.DictReader(file) if edge["could_be_noise"] == "False"}
    assert sure >= TRUE_EDGES
