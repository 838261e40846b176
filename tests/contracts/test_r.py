"""What R makes of a release is what Python makes of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import graphveil as gv
from graphveil.cli._commands import call

SCRIPT = Path(__file__).parents[2] / "examples" / "covariance.R"
PACKAGES = ("jsonlite", "psych", "lavaan", "qgraph")


def has_packages():
    if shutil.which("Rscript") is None:
        return False
    code = "q(status = !all(sapply(commandArgs(TRUE), requireNamespace, quietly = TRUE)))"
    return subprocess.run(["Rscript", "-e", code, *PACKAGES], capture_output=True, check=False).returncode == 0


@pytest.fixture
def estimate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.multivariate_normal([0, 1, 2], [[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]], 8000)
    domain = gv.Domain(columns=["bmi", "age", "sugar"], bounds=(-5, 7))
    made = gv.release(rows, domain=domain, budget=gv.Budget(2.0, 1e-6), random_state=0)
    made.save("people.release")
    assert call(["fit", "people.release", "--method", "dense", "-o", "estimate.json"]) == 0
    return made


def test_the_file_holds_what_r_needs(estimate):
    written, found = json.loads(Path("estimate.json").read_text()), gv.recover(estimate)
    assert written["covariance"] == found.covariance.tolist()
    assert written["location"] == found.location.tolist()
    assert written["n_eff"] == found.n_eff
    assert written["variables"] == ["bmi", "age", "sugar"]


@pytest.mark.nightly
def test_r_finds_the_same_regression(estimate):
    if not has_packages():
        debian = " ".join(["r-base-core", *(f"r-cran-{name}" for name in PACKAGES)])
        pytest.skip(f"no R with its packages is installed (apt-get install {debian})")
    ran = subprocess.run(["Rscript", str(SCRIPT), "estimate.json"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    covariance = gv.recover(estimate).covariance
    expected = np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
    shown = [float(number) for number in re.search(r"coefficients (.*)", ran.stdout)[1].split()]
    assert shown == pytest.approx(expected, abs=2e-3)
    assert "qgraph: 3 edges" in ran.stdout
    assert ran.stdout.count("psych: loadings") == 1
