"""Small parts that the tests of the ledger share."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphveil as gv
from graphveil.privacy.calibration import analytic_mu, grid_eta_budget
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.request import Request

ROWS = np.linspace(-1.0, 1.0, 90).reshape(30, 3)
DOMAIN = gv.Domain(bounds=(-1, 1))
WHOLE = gv.Budget(2.0, 1e-6)
HALF = gv.Budget(1.0, 1e-6)


def event(epsilon=0.5, delta=1e-6, *, seeded=False, rows_per_person=1, mu=None):
    """What the gate would charge for an adaptive release."""
    budget = gv.Budget(epsilon, delta)
    mu = analytic_mu(budget) if mu is None else mu
    eta = grid_eta_budget(budget)
    return ReleaseEvent(budget, mu, eta, "default", "adaptive", 100, rows_per_person, "replace", seeded=seeded)


def request(key="k", dataset="people", budget=HALF, **changes):
    asked = {"domain": DOMAIN, "budget": budget, "assume_centered": True, "adaptive": False}
    return Request(key, dataset, ReleaseOptions(**{**asked, **changes}))


def opened(url, dataset="people", budget=WHOLE):
    """A ledger with one data set."""
    ledger = gv.Ledger(url)
    ledger.create(dataset, budget)
    return ledger


def release(ledger, key=None, budget=HALF, rows=ROWS, **options):
    asked = {"domain": DOMAIN, "budget": budget, "assume_centered": True, "adaptive": False, "dataset": "people"}
    return gv.release(rows, **{**asked, **options}, ledger=ledger, key=key)


def can_mount():
    """Whether there can be a namespace with mounts of its own."""
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def with_mounts(script, folder):
    """What a script prints that may mount things, in a namespace of its own."""
    if not can_mount():
        pytest.skip("no mount namespace")
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", sys.executable, "-c", script, folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
