"""Damaged Parquet and Arrow files: summed or refused in a sentence, in a process that does not die of it.

pyarrow trusts what an Arrow file says about the places of its bytes. A process of its own reads the damaged files, so
that a crash is a failed test. A failure names its case, which ``numbered(case, 1)`` repeats.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

CANARY = 271828.25
N = 40


def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=N)
    numbers[3] = CANARY
    labels = pa.array(["u", "v"] * (N // 2))
    return pa.table(
        {
            "a": numbers,
            "b": pa.array(rng.integers(-5, 5, N), pa.int32()),
            "c": pa.array([None, 1.5, 0.5, 1.5] * (N // 4)).dictionary_encode(),
            "text": pa.array(["x" * i for i in range(N)]),
            "list": pa.array([[1.0, 2.0]] * N),
            "label": labels,
            "category": labels.dictionary_encode(),
        }
    )


def parquet(path, **options):
    pq.write_table(table(), path, row_group_size=17, **options)


def ipc(path, make, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with make(path, table().schema, options=options) as writer:
        writer.write_table(table(), max_chunksize=17)


KINDS = {
    "plain.parquet": lambda path: parquet(path, use_dictionary=False, compression="none"),
    "packed.parquet": lambda path: parquet(path, compression="zstd", data_page_version="2.0"),
    "file.arrow": lambda path: ipc(path, pa.ipc.new_file),
    "stream.arrow": lambda path: ipc(path, pa.ipc.new_stream),
    "packed.arrow": lambda path: ipc(path, pa.ipc.new_stream, "lz4"),
}


def read_damaged(path, start, count):
    """Read damaged versions of a file; print what became of each."""
    import graphveil as gv
    from graphveil.exceptions import SourceError
    from helpers.exact_sums import everything_said, exact_total
    from helpers.mutations import mutated_bytes, numbered

    domain = gv.Domain(columns=["a", "b", "c"], bounds=(-2, 2))
    augments = [None, gv.Labels(["u", "v"], column="label"), gv.Labels(["u", "v"], column="category")]
    good, found = path.read_bytes(), {"summed": 0, "refused": 0, "said": 0}
    for case, rng in numbered(start, count):
        print(case, file=sys.stderr, flush=True)  # the last one is the one that killed
        path.write_bytes(mutated_bytes(good, rng))
        try:
            exact_total(path, domain, rng.choice(augments))
            found["summed"] += 1
        except SourceError as error:
            found["refused" if str(int(CANARY)) not in everything_said(error) else "said"] += 1
    print(json.dumps(found))


def in_a_process_of_its_own(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )


def damaged(kind, folder, start, count):
    KINDS[kind](folder / kind)
    ran = in_a_process_of_its_own(__file__, folder / kind, start, count)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind, tmp_path):
    found = damaged(kind, tmp_path, 0, 100)
    assert found["summed"] + found["refused"] == 100
    assert found["refused"] > 30


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_many_damaged_files(kind, tmp_path):
    found = damaged(kind, tmp_path, int.from_bytes(os.urandom(6)), 5000)
    assert found["said"] == 0
    assert found["refused"] > 1500


READ_ONCE = """
import sys, graphveil as gv
from helpers.exact_sums import exact_total

try:
    exact_total(sys.argv[1], gv.Domain(columns=["a"], bounds=(0, 9)), gv.Labels(["first label"], column="label"))
except gv.exceptions.SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("column", ["label", "category"])
def test_ends_of_labels_that_lie_outside_of_the_file(column, tmp_path):
    """Taken at their word, they are read from memory that holds other things, or kill the process."""
    path = tmp_path / "file.arrow"
    labels = pa.array(["first label", "second label", "third label"])
    column_values = labels if column == "label" else labels.dictionary_encode()
    with pa.ipc.new_file(path, pa.schema([("a", pa.float64()), ("label", column_values.type)])) as writer:
        writer.write_table(pa.table({"a": [1.0, 2.0, 3.0], "label": column_values}))
    ends = np.array([0, 11, 23, 34], dtype=np.int32).tobytes()
    content = path.read_bytes()
    assert content.count(ends) == 1
    path.write_bytes(content.replace(ends, np.array([0, 11, 2**30, 34], dtype=np.int32).tobytes()))
    ran = in_a_process_of_its_own("-c", READ_ONCE, path)
    assert ran.returncode == 0, ran.stderr
    assert "failed while it was read" in ran.stdout


if __name__ == "__main__":
    read_damaged(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
