"""Rows that are scored are somebody's too: an error about them repeats none of their values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}


@pytest.fixture(scope="module")
def named():
    """Models of named columns, and what they say of an array in the order of the release."""
    rng = np.random.default_rng(0)
    rows = rng.multivariate_normal([50, 26, 130], [[225, 12, 108], [12, 16, 14], [108, 14, 324]], 4000)
    outcome = 0.02 * rows[:, 0] + 0.1 * rows[:, 1] + rng.normal(size=4000)
    labels = np.where(rows[:, 2] > 130, "high", "low")
    bounds = {"age": (0, 110), "bmi": (10, 60), "systolic": (60, 240)}
    frame = pd.DataFrame(rows, columns=list(bounds))
    shuffled = frame.assign(note="not a number")[["note", "systolic", "age", "bmi"]]
    options = {"bounds": bounds, "random_state": 0}
    models = {
        "score": gv.PrivateGraphicalLasso(1.0, 1e-6, **options).fit(shuffled),
        "mahalanobis": gv.PrivateRidgePrecision(1.0, 1e-6, **options).fit(shuffled),
        "predict_proba": gv.PrivateLDA(1.0, 1e-6, classes=["high", "low"], **options).fit(shuffled, labels),
        "predict": gv.PrivateLinearRegression(1.0, 1e-6, outcome_bounds=(0, 10), **options).fit(shuffled, outcome),
    }
    return models, rows[:20], shuffled[:20]


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("method", ["score", "mahalanobis", "predict_proba", "predict"])
def test_columns_of_a_frame_are_found_by_name(named, method, kind):
    """As in a fit: columns in another order were taken for each other without a word."""
    models, rows, frame = named
    ask = getattr(models[method], method)
    np.testing.assert_allclose(ask(FRAMES[kind](frame)), ask(rows))


def test_names_that_polars_takes_for_patterns_are_names():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"*": rng.normal(size=500), "^b.*$": rng.normal(1.0, 2.0, 500), "b": rng.normal(size=500)})
    bounds = {"^b.*$": (-7, 9), "*": (-5, 5), "b": (-5, 5)}
    model = gv.PrivatePrecision(4.0, 1e-6, bounds=bounds, random_state=0).fit(frame)
    in_order = np.column_stack([frame[name] for name in bounds])
    np.testing.assert_array_equal(model.mahalanobis(frame), model.mahalanobis(in_order))


def test_given_columns_are_found_by_name_too(named):
    models, rows, frame = named
    ask = models["score"].conditional_mean
    np.testing.assert_allclose(ask(frame, ["bmi", "systolic"]), ask(rows[:, 1:], ["bmi", "systolic"]))


@pytest.mark.parametrize("method", ["score", "mahalanobis", "predict_proba", "predict"])
def test_a_frame_without_a_column_is_refused_by_its_name(named, method):
    models, _, frame = named
    ask = getattr(models[method], method)
    with pytest.raises(InvalidParameter, match="X has no column 'bmi'"):
        ask(frame.rename(columns={"bmi": "weight"}))
    with pytest.raises(InvalidParameter, match="X has more than one column 'bmi'"):
        ask(frame.rename(columns={"note": "bmi"}))


def test_names_of_an_earlier_fit_are_forgotten(named):
    models, _, frame = named
    by_place = gv.release(
        np.random.default_rng(0).normal(size=(2000, 3)),
        domain=gv.Domain(bounds=(-5, 5)),
        budget=gv.Budget(1.0, 1e-6),
        random_state=0,
    )
    model = gv.PrivatePrecision(1.0, 1e-6).fit_release(models["score"].release_).fit_release(by_place)
    assert not hasattr(model, "feature_names_in_")
    assert model.mahalanobis(frame[["bmi", "age", "systolic"]]).shape == (20,)
