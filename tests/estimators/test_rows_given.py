"""Rows that are scored are somebody's too: an error about them repeats none of their values."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from helpers.exact_sums import everything_said

SECRET = "secret value 271828"


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3))
    labels = np.where(rows[:, 0] > 0, "a", "b")
    options = {"bounds": (-5, 5), "random_state": 0}
    return {
        "precision": gv.PrivatePrecision(4.0, 1e-6, **options).fit(rows),
        "ridge": gv.PrivateRidgePrecision(4.0, 1e-6, **options).fit(rows),
        "network": gv.PrivateGraphicalLasso(4.0, 1e-6, **options).fit(rows),
        "lda": gv.PrivateLDA(4.0, 1e-6, classes=["a", "b"], **options).fit(rows, labels),
    }


BAD = {
    "a word": [[1.0, 2.0, SECRET]],
    "an object": np.array([[1.0, 2.0, {SECRET: 1}]], dtype=object),
    "a list": [[1.0, 2.0, [SECRET]]],
    "ragged": [[1.0, 2.0, 3.0], [SECRET]],
    "a huge integer": [[1.0, 2.0, 10**400]],
    "bytes": np.array([[b"1", b"2", SECRET.encode()]]),
}
CALLS = [
    *((name, "mahalanobis") for name in ("precision", "ridge", "network")),
    *((name, "score") for name in ("precision", "ridge", "network")),
    *(("lda", method) for method in ("predict", "predict_proba", "decision_function")),
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("name", "method"), CALLS)
def test_no_cell_is_quoted(models, name, method, bad):
    with pytest.raises((InvalidParameter, ValueError)) as caught:
        getattr(models[name], method)(BAD[bad])
    said = everything_said(caught.value)
    assert "271828" not in said
    assert "1000000000" not in said


@pytest.mark.parametrize("bad", BAD)
def test_no_cell_is_quoted_by_a_prediction_of_other_columns(models, bad):
    with pytest.raises(InvalidParameter) as caught:
        models["precision"].conditional_mean([row[1:] if len(row) > 1 else row for row in BAD[bad]], given=[0, 1])
    assert "271828" not in everything_said(caught.value)
