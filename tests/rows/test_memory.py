"""Files larger than memory should be: what a pass holds does not grow with the rows."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PEAK = """
import sys
import graphveil as gv
domain = gv.Domain(columns=[f"c{{j}}" for j in range(50)], bounds=(-4, 4))
gv.release({path!r}, domain=domain, budget=gv.Budget(1.0, 1e-9), adaptive=False)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")))
"""


def peak(path, n, row_group):
    """Megabytes of a process that releases n rows of 50 columns."""
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, pa.schema([(f"c{j}", pa.float64()) for j in range(50)])) as writer:
        for start in range(0, n, row_group):
            rows = rng.standard_normal((50, min(row_group, n - start)))
            writer.write_table(pa.table({f"c{j}": rows[j] for j in range(50)}), row_group_size=row_group)
    out = subprocess.run(
        [sys.executable, "-c", PEAK.format(path=str(path))], capture_output=True, text=True, check=True
    )
    return float(out.stdout)


@pytest.mark.nightly
def test_one_row_group_of_a_gigabyte(tmp_path):
    assert peak(tmp_path / "rows.parquet", 2_500_000, 2_500_000) < 550


@pytest.mark.nightly
def test_memory_is_flat(tmp_path):
    few, many = (peak(tmp_path / "rows.parquet", n, 100_000) for n in (200_000, 2_000_000))
    assert many < few + 60
