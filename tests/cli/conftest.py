"""A small data set, and a way to run the program."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from graphveil.cli.main import app

SECRET = 4242.125  # a value that no output may hold


class Said:
    """What a run printed, and how it ended."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.text = self.out + self.err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def graphveil(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHVEIL_LEDGER", raising=False)
    runner = CliRunner()

    def run(*arguments):
        result = runner.invoke(app, [str(argument) for argument in arguments])
        assert "Traceback" not in result.output
        return Said(result)

    return run


@pytest.fixture
def patients(tmp_path):
    """A Parquet file with three columns of numbers and one of text."""
    rng = np.random.default_rng(5)
    age = rng.normal(50, 15, 4000)
    bmi = 26 + 0.1 * (age - 50) + rng.normal(0, 3, 4000)
    systolic = 130 + 0.5 * (age - 50) + rng.normal(0, 12, 4000)
    age[7] = SECRET
    table = pa.table({"age": age, "bmi": bmi, "systolic": systolic, "name": ["Jo"] * 4000})
    path = tmp_path / "patients.parquet"
    pyarrow.parquet.write_table(table, path)
    return path


@pytest.fixture
def bounds(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text('rows_per_person = 1\n[bounds]\nage = [0, 110]\nbmi = [10, 60]\n"systolic" = [60.0, 240]\n')
    return path


@pytest.fixture
def released(graphveil, patients, bounds, tmp_path):
    """A release file."""
    path = tmp_path / "patients.release"
    said = graphveil(
        "release", patients, "--epsilon", 2, "--delta", 1e-6, "--bounds", bounds, "--no-ledger", "-o", path
    )
    assert said.code == 0, said.text
    return path
