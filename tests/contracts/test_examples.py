"""Every example runs as a user would run it, says what follows from it, and draws its figure."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def test_there_are_five_and_a_quickstart_all_short():
    assert len(NAMES) == 6
    assert all(len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 150 for name in NAMES)


# At night: by day tests/engines/test_spark.py releases the rows of a cluster.
SPARK = pytest.param("spark_table", marks=[pytest.mark.xdist_group("spark"), pytest.mark.nightly])


@pytest.mark.parametrize("name", [SPARK if name == "spark_table" else name for name in NAMES])
def test_runs(name, tmp_path):
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "differentially private" in done.stdout or name == "diagnosis"
    if name != "quickstart":
        assert "Conclusion:" in done.stdout
        assert "What the budget did not allow:" in done.stdout
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    if name == "spark_table":
        assert "the same bits" in done.stdout
