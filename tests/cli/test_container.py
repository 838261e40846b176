"""Where this is meant to run: a container with a read-only root, a user id that nobody knows, no home, as process 1."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graphveil as gv
from helpers.command_line import RELEASE_OPTIONS, wait_for_handlers

SOURCE = Path(gv.__file__).parents[1]
STRANGER = 54321
GRAPHVEIL = (sys.executable, "-c", "import sys; from graphveil.cli.main import run; sys.exit(run())")
RELEASE = ("release", "patients.parquet", *RELEASE_OPTIONS, "--bounds", "bounds.toml", "--no-ledger")
# A namespace in which everything is read-only but one folder; in it, another that is full. The stranger may read
# whatever root may, because the interpreter may lie in root's home, and write nothing of anybody else.
BOX = """
set -e
mount --bind "$WORK" "$WORK"
mount -t tmpfs -o size=4k,mode=777 none "$WORK/full"
for folder in "$SOURCE" "$PREFIX"; do mount --bind "$folder" "$folder"; mount -o remount,bind,ro "$folder"; done
mount -o remount,bind,ro /
cd "$WORK"
exec setpriv --reuid "$STRANGER" --regid "$STRANGER" --clear-groups --inh-caps=-all,+dac_read_search \\
  --ambient-caps=-all,+dac_read_search env -i PYTHONPATH="$SOURCE" $ENVIRONMENT "$@"
"""


@pytest.fixture(scope="module")
def namespaces():
    """What a box is made of; a container that is not allowed to make one has none."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("a container can be made by root only")
    made = shutil.which("setpriv") and shutil.which("unshare")
    if not made or subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("no namespaces can be made here: that needs unshare, setpriv and the right to")


@pytest.fixture
def box(namespaces, patients, bounds, tmp_path):
    """Start commands, each as process 1 of a box, in the folder with the records and the bounds."""
    (tmp_path / "full").mkdir()
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, STRANGER, STRANGER)
    started = []

    def start(*command, **environment):
        names = {"SOURCE": SOURCE, "PREFIX": sys.prefix, "WORK": tmp_path, "STRANGER": STRANGER}
        names["ENVIRONMENT"] = " ".join(f"{name}={value}" for name, value in environment.items())
        process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", BOX, "box"]
            + [str(part) for part in command],
            env=os.environ | {name: str(value) for name, value in names.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process):
    out, err = process.communicate(timeout=400)
    return process.returncode, out, err


def test_the_box_is_what_it_says(box):
    code = """
import os, sys
assert os.getpid() == 1 and os.getuid() == 54321, (os.getpid(), os.getuid())
assert not os.path.isabs(os.path.expanduser("~"))
open("here", "w").close()
for place in sys.argv[1:]:
    try:
        open(os.path.join(place, "x"), "w")
    except OSError:
        continue
    sys.exit(place)
"""
    places = (SOURCE / "graphveil", SOURCE / "graphveil" / "solvers" / "__pycache__", sys.prefix, "/", "/tmp", "/root")
    assert ended(box(sys.executable, "-c", code, *places)) == (0, "", "")


@pytest.mark.parametrize("home", [{}, {"HOME": "/proc/nowhere"}], ids=["no home", "a home that is not there"])
def test_what_cannot_be_kept_is_compiled_in_memory(box, tmp_path, home):
    """numba finds no place for it, or makes a folder named ~ here; the first was the end of every command."""
    code = "from graphveil.rows.recoding import logarithm as log; assert log.signatures and log(1.0) == 0.0"
    before = set(tmp_path.iterdir())
    assert ended(box(sys.executable, "-c", code, **home)) == (0, "", "")
    assert set(tmp_path.iterdir()) == before


@pytest.mark.nightly  # each compiles everything, for half a minute; by day one function, above
def test_release_fit_and_report_in_a_container(box, tmp_path):
    for command in (RELEASE, ("fit", "out.release", "-o", "network.csv"), ("report", "out.release")):
        code, _, err = ended(box(*GRAPHVEIL, *command))
        assert code == 0, err
        assert err == ""
    assert gv.Release.load(tmp_path / "out.release").n_samples == 4000
    made = {"out.release", "network.csv", "report.html"}
    assert {path.name for path in tmp_path.iterdir()} == {"patients.parquet", "bounds.toml", "full"} | made


@pytest.mark.nightly
def test_what_is_compiled_is_kept_where_there_is_a_place(box, tmp_path):
    code, _, err = ended(box(*GRAPHVEIL, *RELEASE, NUMBA_CACHE_DIR=tmp_path / "cache", HOME="/proc/nowhere"))
    assert code == 0, err
    assert len(list((tmp_path / "cache").rglob("*.nbi"))) > 5


def test_process_1_hears_a_request_to_end(box):
    """The kernel keeps from process 1 the signals that it has no handler for: `docker stop` would wait, and kill."""
    asked = ("--records", 100_000, "--variables", 200, "--epsilon", 1, "--delta", 1e-6, "--rehearse")
    process = box(*GRAPHVEIL, "plan", *asked)
    first = process_1(process.pid)
    wait_for_handlers(process, first)
    os.kill(first, signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 143, err
    assert err == "Error: Interrupted. Nothing was charged.\n"


def process_1(parent):
    """The number, outside of the box, of the first process inside, once it is the program."""
    for _ in range(400):
        for path in Path("/proc").glob("[0-9]*"):
            try:
                is_child = f"\nPPid:\t{parent}\n" in (path / "status").read_text()
                if is_child and (path / "cmdline").read_bytes().startswith(os.fsencode(sys.executable)):
                    return int(path.name)
            except OSError:
                continue
        time.sleep(0.05)
    raise AssertionError("the program has not begun")


def test_a_full_disk_does_not_lose_a_release_that_was_paid_for(box, tmp_path):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", gv.Budget(3.0, 1e-6))
    (tmp_path / "refuge").mkdir()
    # A copy that may be written brings along what was compiled, which would take half a minute here.
    shutil.copytree(SOURCE / "graphveil", tmp_path / "copy" / "graphveil")
    for path in ("ledger.db", "ledger.db-heads", "refuge", *(tmp_path / "copy").rglob("*")):
        os.chown(tmp_path / path, STRANGER, STRANGER)
    paid = [*RELEASE[:-1], "--dataset", "clinic", "-o", "full/out.release"]
    places = {"TMPDIR": tmp_path / "refuge", "HOME": "/proc/nowhere", "PYTHONPATH": tmp_path / "copy"}
    code, out, err = ended(box(*GRAPHVEIL, *paid, **places))
    assert code == 5, err
    assert "No space left on device" in err
    assert "do not run the command again" in err
    (saved,) = (tmp_path / "refuge").iterdir()
    assert saved.name in out
    assert gv.Release.load(saved).n_samples == 4000
    assert len(ledger.history("clinic")) == 1


@pytest.mark.nightly  # compiles once more
def test_a_charge_that_was_made_and_could_not_be_witnessed_is_not_repeated(box, tmp_path):
    """The ledger may be written, the file of its heads may not: the charge stays, and no release follows."""
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", gv.Budget(3.0, 1e-6))
    os.chown(tmp_path / "ledger.db", STRANGER, STRANGER)
    code, _, err = ended(box(*GRAPHVEIL, *RELEASE[:-1], "--dataset", "clinic"))
    assert code == 6, err
    assert "stays written" in err
    assert "Do not run it again" in err
    assert len(ledger.history("clinic")) == 1
    assert not (tmp_path / "out.release").exists()
