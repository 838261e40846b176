"""Build the package as users get it, look at what it holds, and try it in empty environments, each extra on its own.

python tools/try_package.py FOLDER     the wheel (built from the sdist) and the sdist are left in FOLDER

`make package` runs it with what it needs installed. A failure is an exception; the last line says what held.
"""

import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]

# What an installation without extras must do: all of the README's kinds of source but engines, and say what is missing.
BASE = """
import numpy as np, pyarrow as pa, pyarrow.csv
import graphveil as gv
assert gv.__version__ == VERSION, gv.__version__
domain, budget = gv.Domain(bounds={"a": (-4, 4), "b": (-4, 4)}), gv.Budget(1.0, 1e-6)
rows = np.random.default_rng(0).normal(size=(2000, 2))
pa.csv.write_csv(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), "rows.csv")
ledger = gv.Ledger("ledger.db")
ledger.create("people", gv.Budget(3.0, 1e-6))
made = gv.release("rows.csv", domain=domain, budget=budget, ledger=ledger, dataset="people")
made.save("rows.release")
gv.write_report(gv.Release.load("rows.release"), "report.html")
assert gv.recover(made).precision.shape == (2, 2)
try:
    gv.Ledger("postgresql://nobody@127.0.0.1:9/none").remaining("people")
except ImportError as error:
    assert "graphveil[postgres]" in str(error), error
else:
    raise AssertionError("a ledger without a driver")
try:
    gv.sql("rows.duckdb", "select 1")
except ImportError as error:
    assert "graphveil[sql]" in str(error), error
else:
    raise AssertionError("SQL without a parser")
"""
DASK = """
import dask.dataframe as dd, pandas as pd
import graphveil as gv
if __name__ == "__main__":
    frame = dd.from_pandas(pd.DataFrame({"a": [0.5] * 100, "b": [1.0] * 100}), npartitions=4)
    made = gv.release(frame, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6))
    assert made.n_samples == 100
"""
POSTGRES = """
import graphveil as gv
try:
    gv.Ledger("postgresql://nobody@127.0.0.1:9/none").remaining("people")
except gv.exceptions.GraphveilError as error:
    assert "graphveil[postgres]" not in str(error), error  # the driver is there, the server is not
else:
    raise AssertionError("a ledger without a server")
"""
SPARK = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable  # executors need graphveil too
from pyspark.sql import SparkSession
import graphveil as gv
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.createDataFrame([(0.5, 1.0)] * 100, "a double, b double")
made = gv.release(frame, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6))
assert made.n_samples == 100
spark.stop()
"""
SQL = """
import duckdb
import graphveil as gv
database = duckdb.connect()
database.execute("create table visits as select 0.5 as a, 1.0 as b from range(100)")
source = gv.sql(database, "select * from visits")
made = gv.release(source, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6))
assert made.n_samples == 100
assert "SUM(" in source.explain(made)
"""
EXTRAS = {"": BASE, "dask": DASK, "postgres": POSTGRES, "spark": SPARK, "sql": SQL}


def run(*words: str | Path, folder: Path = ROOT) -> None:
    """One command, whose failure is ours."""
    subprocess.run([str(word) for word in words], cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of this checkout; the wheel comes out of the sdist, so the sdist is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("graphveil-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", folder.resolve(), ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel.resolve(), sdist.resolve()


def tracked(*paths: str) -> set[str]:
    """The files of the repository under some paths."""
    command = ["git", "ls-files", *paths]
    return set(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split())  # noqa: S603 - our own words


def check_contents(wheel: Path, sdist: Path) -> None:
    """All of src/ and nothing else: no tests, no results of the paper, no file that git does not know."""
    ours = {name.removeprefix("src/") for name in tracked("src/graphveil")}
    held = set(ZipFile(wheel).namelist())
    facts = {name for name in held if name.split("/")[0].endswith(".dist-info")}
    if held - facts != ours:
        raise AssertionError(f"{wheel.name} differs from src/: {sorted((held - facts) ^ ours)}")
    if not {"LICENSE", "THIRD-PARTY.md"} <= {Path(name).name for name in facts}:
        raise AssertionError(f"{wheel.name} lacks a licence: {sorted(facts)}")
    with tarfile.open(sdist) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames()}
    wanted = tracked(
        "src",
        "README.md",
        "LICENSE",
        "THIRD-PARTY.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "pyproject.toml",
        ".gitignore",
    )
    if packed ^ wanted != {"PKG-INFO"}:
        raise AssertionError(f"{sdist.name} differs from what it should hold: {sorted(packed ^ wanted)}")


def try_extra(wheel: Path, extra: str, script: str) -> None:
    """Install into an environment of its own, and use it there from an empty folder."""
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / "bin"
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)
        run(programs / "python", "-m", "pip", "check")
        (folder / "try.py").write_text(f"VERSION = {version!r}\n{script}")
        run(programs / "python", "try.py", folder=folder)
        run(programs / "graphveil", "--version", folder=folder)
    print(f"{wheel.name}[{extra}]: installs alone and works", flush=True)


if __name__ == "__main__":
    built = build(Path(sys.argv[1]))
    check_contents(*built)
    for extra_name, lines in EXTRAS.items():
        try_extra(built[0], extra_name, lines)
    print(f"{built[0].name} and {built[1].name} hold what they should")
