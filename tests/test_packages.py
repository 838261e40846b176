"""Packages that may be missing: every method that needs one says how to get it."""

import sys

import numpy as np
import pytest

import graphveil as gv

ROWS = np.random.default_rng(0).normal(size=(2000, 3))
RELEASE = gv.release(ROWS, domain=gv.Domain(bounds=(-5, 5)), budget=gv.Budget(3.0, 1e-6), random_state=0)
FRAMES = {
    "estimate": lambda: gv.recover(RELEASE),
    "edges": lambda: gv.PrivateGraphicalLasso(3.0, 1e-6).fit_release(RELEASE).edge_intervals(),
    "regression": lambda: gv.regression(RELEASE, outcome=0, on=[1]),
    "components": lambda: gv.components(RELEASE),
    "centrality": lambda: gv.centrality(RELEASE),
    "comparison": lambda: gv.compare(RELEASE, RELEASE, overlap=True),
    "synthetic rows": lambda: gv.sample(RELEASE, 5),
    "estimator": lambda: gv.PrivateRidgePrecision(3.0, 1e-6).fit_release(RELEASE),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_without_pandas_says_how_to_get_it(monkeypatch, kind):
    found = FRAMES[kind]()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        found.to_frame()
