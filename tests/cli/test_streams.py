"""Terminals of any encoding, output that is closed, full or not read, signals: real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graphveil as gv
from helpers.command_line import wait_for_handlers

BIN = Path(sys.executable).parent / "graphveil"
ASK = "release patients.parquet --epsilon 0.5 --delta 1e-6 --bounds bounds.toml --dataset clinic -o new.release"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="written for a POSIX shell")

# What is put around the command, and what belongs to the environment. Without the mending: 70, 1, 120.
SURROUNDINGS = {
    "latin-1": ("{}", {"PYTHONIOENCODING": "latin-1"}),
    "cp1252": ("{}", {"PYTHONIOENCODING": "cp1252"}),
    "ascii": ("{}", {"PYTHONIOENCODING": "ascii:strict"}),
    "locale C": ("{}", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "closed": ("{} >&-", {}),
    "all closed": ("{} <&- >&- 2>&-", {}),
    "full": ("{} > /dev/full", {}),
    "both full": ("{} > /dev/full 2> /dev/full", {}),
    "a reader who goes": ("{} | head -1", {}),
    "a reader who is gone": ("{} | true", {}),
    "full, as JSON": ("{} --json > /dev/full", {}),
}


@pytest.fixture
def clinic(patients, bounds, tmp_path):
    gv.Ledger(tmp_path / "ledger.db").create("clinic", gv.Budget(3.0, 1e-6))
    return tmp_path


def shell(command, folder, **environment):
    """Run a command of bash; the exit code is that of the program, not of a reader behind it."""
    text = f"set -o pipefail; {command}"
    return subprocess.run(
        ["bash", "-c", text], cwd=folder, env=os.environ | environment, capture_output=True, check=False, timeout=300
    )


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_release_that_was_paid_for_and_saved_is_done(clinic, name):
    around, environment = SURROUNDINGS[name]
    done = shell(around.format(f"{BIN} {ASK}"), clinic, **environment)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert gv.Release.load(clinic / "new.release").n_samples == 4000
    assert len(gv.Ledger(clinic / "ledger.db").history("clinic")) == 1


@pytest.mark.parametrize("name", ["latin-1", "cp1252", "ascii", "locale C"])
def test_what_a_terminal_cannot_write_is_put_in_words(released, tmp_path, name):
    shown = shell(f"{BIN} show {released}", tmp_path, **SURROUNDINGS[name][1])
    assert shown.returncode == 0, shown.stderr.decode()
    words = " ".join(shown.stdout.decode("latin-1").split())
    assert "This one counts as mu = " in words
    assert "epsilon = 2 and delta = 1e-06 alone would allow" in words
    facts = shell(f"{BIN} show {released} --json", tmp_path, **SURROUNDINGS[name][1])
    assert json.loads(facts.stdout)["columns"] == ["age", "bmi", "systolic"]


def test_what_was_only_to_be_shown_and_could_not_is_not_done(released, tmp_path):
    for command in (f"show {released}", f"show {released} --json", "--help", "--version"):
        full = shell(f"{BIN} {command} > /dev/full", tmp_path)
        assert full.returncode == 1, command
        assert b"No space left on device" in full.stderr
        assert b"Traceback" not in full.stderr
        assert shell(f"{BIN} {command} | head -1", tmp_path).returncode == 0


INTERRUPTED = """
import os, signal, sys
class Hook:
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Hook())
sys.argv = ["graphveil", *{arguments!r}]
from graphveil.cli.main import run
sys.exit(run())
"""
MODULES = ["typer", "typer.main", "graphveil.cli.plan", "tomllib", "graphveil.gate", "numpy", "numpy._core._methods",
           "numba", "numba.core.types", "llvmlite.binding", "pyarrow", "pyarrow.parquet", "graphveil.rows.encoding",
           "scipy.linalg", "graphveil.recovery.adaptive_protocol"]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_an_interruption_while_importing(module, patients, bounds, tmp_path):
    """At a moment that is always the same: when a module is looked for, before and inside of verbs."""
    arguments = ["release", "patients.parquet", "--epsilon", "1", "--delta", "1e-6", "--bounds", "bounds.toml"]
    number = signal.SIGTERM if len(module) % 2 else signal.SIGINT
    code = INTERRUPTED.format(
        module=module, number=int(number), arguments=[*arguments, "--no-ledger", "-o", "x.release"]
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 128 + number, ended.stderr
    assert ended.stderr == "Error: Interrupted. Nothing was charged.\n"
    assert not (tmp_path / "x.release").exists()


SWALLOWED = """
import os, sys, weakref
class Thing:
    pass
class Hook:
    def find_spec(self, name, *_):
        if name == "numpy":
            sys.meta_path.remove(self)
            thing = Thing()
            gone = weakref.ref(thing, lambda _: os.kill(os.getpid(), {number}))
            del thing
sys.meta_path.insert(0, Hook())
sys.argv = ["graphveil", *{arguments!r}]
from graphveil.cli.main import run
sys.exit(run())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_that_python_swallows_comes_again(number, patients, bounds, tmp_path):
    """What is raised in the callback of a weak reference goes nowhere: the release would run on to its end."""
    arguments = ["release", "patients.parquet", "--epsilon", "1", "--delta", "1e-6", "--bounds", "bounds.toml"]
    code = SWALLOWED.format(number=int(number), arguments=[*arguments, "--no-ledger", "-o", "x.release"])
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 128 + number, ended.stderr
    assert ended.stderr == "Error: Interrupted. Nothing was charged.\n"
    assert not (tmp_path / "x.release").exists()


COMPILING = """
import os, time
from graphveil.cli import _signals
_signals.listen()
scope = {{"__name__": "llvmlite.pretended", "os": os}}
exec("def call():\\n    os.kill(os.getpid(), {number})\\n    return sum(range(1000))", scope)
try:
    done = scope["call"]()
    time.sleep(30)
except KeyboardInterrupt:
    print(done)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_waits_while_machine_code_is_made(number):
    """LLVM calls Python back, where an exception goes nowhere. A crash was seen after a signal, probably there."""
    code = COMPILING.format(number=int(number))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout == "499500\n", ended.stderr


@pytest.mark.parametrize("seed", range(12))
def test_signals_at_any_time(clinic, seed):
    """From the start of our code on (before it, Python itself is starting) to after the end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import enum, signal"], check=True)
    start = time.perf_counter() - started
    process = subprocess.Popen(
        [BIN, *ASK.split()], cwd=clinic, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_handlers(process)
    time.sleep(seed**2 * start / 2)
    number = signal.SIGTERM if seed % 2 else signal.SIGINT
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    assert "Traceback" not in said
    charged, there = len(gv.Ledger(clinic / "ledger.db").history("clinic")), (clinic / "new.release").exists()
    assert process.returncode in (0, 6, 128 + number), said
    assert there == (process.returncode == 0)
    if process.returncode != 6:  # which says "or may have been"
        assert charged == (process.returncode == 0)
    if process.returncode != 0:
        assert said.startswith("Error: Interrupted. ")
    assert not [path for path in clinic.iterdir() if path.name.startswith(".")]
