"""Rows from files and engines against bare readers, as ratios measured in one run; saved line by line.

    python benchmarks/scale.py               everything: about 6 GB of temporary files, best on an idle machine
    python benchmarks/scale.py --shrink 20   the same with a twentieth of the rows, to see that it works

Writes benchmarks/results/scale.csv. Yardsticks: pyarrow's stream of the same columns plus `X.T @ X` in numpy, pyarrow's
own CSV parser, and one process of ours for engines with two workers.
"""

import argparse
import csv
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import graphveil as gv
from graphveil.rows.accumulators import RowMoments
from graphveil.rows.encoding import Encoder
from graphveil.rows.parallel import accumulate
from graphveil.rows.people import People
from graphveil.rows.sources import open_source
from graphveil.spec.quantization import MomentLayout

RESULTS = Path(__file__).parent / "results" / "scale.csv"
FIELDS = ["what", "n", "p", "seconds", "against", "their_seconds", "ratio", "low", "high", "goal"]
BUDGET = gv.Budget(1.0, 1e-9)


def record(**row):
    """Append a line at once: an interrupted run keeps what it has."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()})
    print(*(f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items()))


def names(p):
    return [f"c{j}" for j in range(p)]


def domain(p):
    return gv.Domain(columns=names(p), bounds=(-4, 4))


def write(path, n, p, row_group=100_000, n_people=None):
    """Normal rows, a row group at a time; with people, whose row each is, in a column of text."""
    rng = np.random.default_rng(0)
    whose = [] if n_people is None else [("id", pa.string())]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names(p)] + whose)) as writer:
        for start in range(0, n, row_group):
            count = min(row_group, n - start)
            columns = dict(zip(names(p), rng.standard_normal((p, count)), strict=True))
            if n_people is not None:
                columns["id"] = [f"patient-{number:08x}" for number in rng.integers(0, n_people, count)]
            writer.write_table(pa.table(columns), row_group_size=row_group)
    return path


def ours(path, p):
    known = domain(p)
    encoder = Encoder(known, None, shift=False)
    statistics_ = partial(_moments, p, encoder.lattice)
    return accumulate(open_source(path, known, None), encoder, statistics_)


def _moments(p, lattice):
    return [RowMoments(MomentLayout(p, None), lattice)]


def bare(path, p):
    total = np.zeros((p, p))
    for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(batch_size=2**16, columns=names(p)):
        rows = np.empty((batch.num_rows, p))
        for j in range(p):
            rows[:, j] = np.from_dlpack(batch.column(j))
        total += rows.T @ rows
    return total


def bare_csv(path, p):
    kinds = dict.fromkeys(names(p), pa.float64())
    for _ in pyarrow.csv.open_csv(path, convert_options=pyarrow.csv.ConvertOptions(column_types=kinds)):
        pass


def seconds(action, *arguments):
    gc.collect()
    start = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - start


def compare(what, n, p, mine, theirs, against, goal, repeats=5):
    mine(), theirs()  # warm up
    pairs = [(seconds(mine), seconds(theirs)) for _ in range(repeats)]
    values = sorted(a / b for a, b in pairs)
    record(
        what=what,
        n=n,
        p=p,
        seconds=statistics.median(a for a, _ in pairs),
        against=against,
        their_seconds=statistics.median(b for _, b in pairs),
        ratio=statistics.median(values),
        low=values[0],
        high=values[-1],
        goal=goal,
    )


def files(folder, shrink):
    for n, p in ((2_000_000 // shrink, 50), (200_000 // shrink, 500)):
        path = write(folder / "rows.parquet", n, p)
        compare(
            "exact moments from Parquet",
            n,
            p,
            partial(ours, path, p),
            partial(bare, path, p),
            "stream and X.T @ X",
            1.3,
        )
    n, p = 400_000 // shrink, 50
    path = write(folder / "rows.parquet", n, p)
    pyarrow.csv.write_csv(pq.read_table(path), folder / "rows.csv")
    text = folder / "rows.csv"
    compare("exact moments from CSV", n, p, partial(ours, text, p), partial(bare_csv, text, p), "pyarrow's parse", 1.3)
    text.unlink()


MEMORY = """
import sys
sys.path.insert(0, {folder!r})
import scale
def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))
scale.ours({small!r}, {p})
before = status("VmRSS")
scale.ours({path!r}, {p})
print(before, status("VmHWM"))
"""


def memory(folder, shrink):
    """Peak of a fresh process, and what of it a pass adds to an interpreter that has done a small one."""
    small = write(folder / "small.parquet", 1000, 50)
    cases = [(200_000, 100_000), (1_000_000, 100_000), (4_000_000, 100_000), (2_500_000, 2_500_000)]
    for n, row_group in cases:
        path = write(folder / "rows.parquet", n // shrink, 50, row_group)
        code = MEMORY.format(folder=str(Path(__file__).parent), small=str(small), path=str(path), p=50)
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        before, peak = map(float, out)
        name = "peak memory, MB" + (", one row group" if row_group == 2_500_000 else "")
        record(what=name, n=n // shrink, p=50, against="before the pass", their_seconds=before, ratio=peak, goal=500)


def people(folder, shrink):
    """A whole release by person against one by row; memory for whose row is whose."""
    n, p, n_people = 2_000_000 // shrink, 50, 300_000 // shrink
    path = write(folder / "rows.parquet", n, p, n_people=n_people)
    known = replace(domain(p), person="id")
    by_person = partial(gv.release, path, domain=known, budget=BUDGET, random_state=0)
    against = partial(released, path, p)
    compare("release by person from Parquet", n, p, by_person, against, "release by row", 1.6, repeats=3)
    keys = list(open_source(path, known, None).iter_people())
    tracemalloc.start()
    everybody = People()
    for some in keys:
        everybody.add(some)
    taken = tracemalloc.get_traced_memory()[1] / everybody.count()
    tracemalloc.stop()
    record(what="memory while people are counted, bytes a person", n=n, p=p, ratio=taken, goal=64)


def cost(folder, shrink):
    """Seconds of a pass: linear in n, quadratic in p once the product dominates."""
    sizes = [(n, 50) for n in (100_000, 300_000, 1_000_000, 3_000_000)]
    sizes += [(100_000, p) for p in (10, 30, 100, 300, 1000)]
    for n, p in sizes:
        path = write(folder / "rows.parquet", n // shrink, p, row_group=20_000)
        ours(path, p)
        taken = statistics.median(seconds(ours, path, p) for _ in range(3))
        record(what="one pass", n=n // shrink, p=p, seconds=taken, ratio=1e9 * taken / (n // shrink) / p)


def released(source, p):
    return gv.release(source, domain=domain(p), budget=BUDGET, random_state=0)


def engines(folder, shrink):
    """The whole adaptive release, two workers each; starting and the first release apart from warm ones."""
    n, p = 1_000_000 // shrink, 50
    path = str(write(folder / "rows.parquet", n, p, row_group=max(n // 8, 1)))
    released(path, p)
    alone = statistics.median(seconds(released, path, p) for _ in range(3))
    expected = released(path, p)
    record(what=f"release of {expected.n_passes} passes, one process", n=n, p=p, seconds=alone)
    for name, session in (("Dask", dask_source), ("Spark", spark_source)):
        start = time.perf_counter()
        source, stop = session(path)
        record(what=f"{name}, start", n=n, p=p, seconds=time.perf_counter() - start)
        try:
            for which in ("first", "warm", "warm"):
                taken = seconds(check, source, p, expected)
                record(
                    what=f"{name}, {which} release",
                    n=n,
                    p=p,
                    seconds=taken,
                    against="one process",
                    their_seconds=alone,
                    ratio=taken / alone,
                )
        finally:
            stop()


def check(source, p, expected):
    if released(source, p) != expected:
        raise SystemExit("an engine gave other bits")


def dask_source(path):
    import dask.dataframe
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0")
    client = Client(cluster)

    def stop():
        client.close()
        cluster.close()

    return dask.dataframe.read_parquet(path, split_row_groups=1), stop


def spark_source(path):
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    session = builder.config("spark.log.level", "ERROR").config("spark.ui.enabled", False).getOrCreate()
    return session.read.option("mergeSchema", False).parquet(path), session.stop


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shrink", type=int, default=1)
    parser.add_argument("--only", choices=["files", "memory", "people", "cost", "engines"])
    chosen = parser.parse_args()
    if chosen.shrink == 1 and chosen.only is None:
        RESULTS.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for part in (files, memory, people, cost, engines):
            if chosen.only in (None, part.__name__):
                part(Path(folder), chosen.shrink)


if __name__ == "__main__":
    main()
