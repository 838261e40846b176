"""A small data set, and a way to run the program."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from graphveil.cli._commands import call

SECRET = 4242424242.125  # a value that no output may hold, too long to come about by chance


class Said:
    """What a run printed, and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.text = self.out + self.err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def graphveil(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHVEIL_LEDGER", raising=False)

    def run(*arguments):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            code = call([str(argument) for argument in arguments])
        said = Said(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
        assert "Traceback" not in said.text
        return said

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
