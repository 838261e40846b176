"""A release that would not fit into memory is refused; the estimate is what is really needed."""

import subprocess
import sys

import numpy as np
import pytest

import graphveil as gv
from graphveil import _memory
from graphveil.exceptions import InvalidParameter

MEASURED = """
import sys
from pathlib import Path
import numpy as np, graphveil as gv

def memory(which):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(which))

ask = dict(domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6))
rows = np.random.default_rng(0).normal(size=(500, int(sys.argv[1])))
gv.release(rows[:, :3].copy(), **ask)
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here: compiling may have had a higher one
before = memory("VmRSS")
gv.release(rows, **ask)
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_the_estimate_is_what_is_needed():
    p = 700
    run = subprocess.run([sys.executable, "-c", MEASURED, str(p)], capture_output=True, text=True, check=True)
    estimate = 8 * _memory._MATRICES * p**2
    assert estimate / 5 < int(run.stdout) < 1.1 * estimate


def test_too_many_columns_are_refused_and_the_limit_is_said(monkeypatch):
    monkeypatch.setattr(_memory, "memory_here", lambda: 8 * _memory._MATRICES * 100**2)
    rows, domain, budget = np.zeros((5, 101)), gv.Domain(bounds=(-1, 1)), gv.Budget(1.0, 1e-6)
    for each in (domain, gv.Domain(bounds=(-1, 1), n_features=101)):
        with pytest.raises(InvalidParameter, match="at most 100 columns"):
            gv.release(rows, domain=each, budget=budget)
    assert gv.release(rows[:, :100], domain=domain, budget=budget).n_samples == 5


def test_a_container_has_what_it_is_given(monkeypatch, tmp_path):
    machine = _memory.memory_here()
    assert 2**26 < machine < 2**50
    monkeypatch.setattr(_memory, "_GROUPS", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert _memory.memory_here() >= machine
    (tmp_path / "memory.max").write_text(f"{2**25}\n")
    assert _memory.memory_here() == 2**25
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(f"{2**24}\n")
    assert _memory.memory_here() == 2**24
