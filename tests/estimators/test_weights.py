"""Estimators take weights as a release does."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import graphveil as gv
from graphveil.exceptions import InvalidParameter

RNG = np.random.default_rng(0)
WEIGHTS = RNG.choice([0.5, 1.0, 4.0], size=6000)
ROWS = RNG.normal(size=(6000, 2)) + np.log(WEIGHTS)[:, None]
BUDGET = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}


@pytest.mark.parametrize("kind", [gv.PrivatePrecision, gv.PrivateGraphicalLasso, gv.PrivateRidgePrecision])
def test_weights_from_a_column_and_from_an_array(kind):
    frame = pd.DataFrame(ROWS, columns=["a", "b"]).assign(w=WEIGHTS)
    model = clone(kind(bounds={"a": (-6, 6), "b": (-6, 6)}, weight=gv.Weight("w", largest=4), **BUDGET))
    by_column = model.fit(frame).location_
    beside = model.fit(frame[["a", "b"]], weight=WEIGHTS).location_
    np.testing.assert_array_equal(by_column, beside)
    np.testing.assert_allclose(by_column, np.average(ROWS, axis=0, weights=WEIGHTS), atol=0.1)
    assert np.abs(by_column - ROWS.mean(axis=0)).min() > 0.3


def test_a_regression_is_weighted():
    """The slope changes with the weight: 0 for light records, 1 for heavy ones."""
    x = RNG.normal(size=6000)
    y = np.where(WEIGHTS > 2.0, x, 0.0) + 0.1 * RNG.normal(size=6000)
    model = gv.PrivateLinearRegression(
        bounds=(-5, 5), outcome_bounds=(-5, 5), weight=gv.Weight("w", largest=4), **BUDGET
    )
    model.fit(x[:, None], y, weight=WEIGHTS)
    heavy = WEIGHTS[WEIGHTS > 2.0].sum() / WEIGHTS.sum()
    assert model.coef_[0] == pytest.approx(heavy, abs=0.05)


def test_a_classifier_has_no_weights():
    model = gv.PrivateLDA(1.0, 1e-6, classes=[0, 1], bounds=(-5, 5))
    with pytest.raises(InvalidParameter, match="weight must be None for a classifier"):
        model.fit(ROWS, np.zeros(6000, dtype=int), weight=WEIGHTS)
