"""PrivateLinearRegression: scikit-learn's contract where privacy allows it, and least squares."""

import warnings
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphveil as gv
from graphveil.estimators.linear_regression import _numeric
from graphveil.exceptions import InvalidParameter, PrivacyWarning

SETTINGS = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "outcome_bounds": (-6, 6), "random_state": 0}
REFUSED = {
    "check_estimators_nan_inf": "NaN and infinities are clipped, never refused: an error would tell about values",
    "check_regressors_train": "two hundred rows in wide bounds say nothing under noise",
    "check_supervised_y_no_nan": "the same for the outcome",
    "check_dtype_object": "object arrays have no schema: converting them would fail or not because of a value",
    "check_complex_data": "complex arrays are refused by dtype, in other words than scikit-learn's",
    "check_estimators_empty_data_messages": "empty data are refused, in other words than scikit-learn's",
}
RUN_THEM = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}


@parametrize_with_checks(
    [
        gv.PrivateLinearRegression(
            epsilon=5.0, delta=1e-6, bounds=(-100, 100), outcome_bounds=(-500, 500), random_state=0
        )
    ],
    expected_failed_checks=lambda estimator: REFUSED,
    **RUN_THEM,
)
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the checks use a handful of rows
        check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (8000, 3))
    return X, 2.0 + X @ [1.0, -2.0, 0.0] + rng.normal(0, 0.5, 8000)


def test_it_is_least_squares_with_intervals(data):
    X, y = data
    model = gv.PrivateLinearRegression(**SETTINGS).fit(X, y)
    plain = LinearRegression().fit(X, y)
    assert np.abs(model.coef_ - plain.coef_).max() < 4.0 * model.regression_.std_err_privacy.max()
    assert model.intercept_ == pytest.approx(plain.intercept_, abs=0.1)
    assert model.predict(X) == pytest.approx(plain.predict(X), abs=0.3)
    assert model.score(X, y) == pytest.approx(plain.score(X, y), abs=0.01)
    table = model.regression_
    assert (table.lower < plain.coef_).all()
    assert (plain.coef_ < table.upper).all()
    assert model.n_features_in_ == 3
    assert table.predict(X[:5]).value == pytest.approx(model.predict(X[:5]))


def test_a_frame_gives_names_and_one_charge(data, tmp_path):
    X, y = data
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", gv.Budget(3.0, 1e-6))
    frame, outcome = pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(y)
    options = SETTINGS | {"ledger": ledger, "dataset": "clinic"}
    model = gv.PrivateLinearRegression(**options).fit(frame, outcome)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.regression_.columns == ("a", "b", "c")
    assert model.regression_.outcome == "outcome"
    assert len(ledger.history("clinic")) == 1
    again = gv.PrivateLinearRegression(**SETTINGS).fit_release(model.release_)
    assert again.coef_ == pytest.approx(model.coef_)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.zeros((5, 2)), None, {}, "requires y"),
        (np.zeros((5, 2)), np.zeros(4), {}, "same number of rows"),
        (np.zeros(5), np.zeros(5), {}, "X must have 2 dimensions"),
        (np.array([["secret", "x"]] * 5), np.zeros(5), {}, "X must be an array of numbers, got one of type str"),
        (np.zeros((5, 2)), np.array(["secret"] * 5), {}, "y must be an array of numbers"),
        (np.zeros((5, 2)), np.zeros(5), {"outcome_bounds": None}, "outcome_bounds"),
    ],
)
def test_mistakes_are_named_without_a_value(X, y, options, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        gv.PrivateLinearRegression(**(SETTINGS | options)).fit(X, y)
    assert "secret" not in str(caught.value)


def test_bounds_by_name_choose_columns_of_a_frame(data):
    """A mapping, which every other estimator takes, ended in numpy's words about a name."""
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])[["c", "b", "a"]].assign(note="not a number")
    by_name = {"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)}
    model = gv.PrivateLinearRegression(**SETTINGS | {"bounds": by_name}).fit(frame, y)
    plain = gv.PrivateLinearRegression(**SETTINGS).fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_allclose(model.predict(frame), plain.predict(X))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"bounds": {"A": (-1, 1)}}, "X has no column 'A'"),
        ({"bounds": {"a": gv.Number(0.1, 1, scale="log")}}, "ask gv.regression"),
        ({"bounds": ([-1, -1], [1, 1])}, "The source has 3 columns, the domain has 2"),
        ({"outcome_bounds": 6}, "outcome_bounds must be a pair"),
        ({"outcome_bounds": (-6, 0, 6)}, "outcome_bounds must be a pair"),
        ({"outcome_bounds": (6, -6)}, "must be lower < upper"),
    ],
)
def test_bounds_that_do_not_fit_are_refused_in_words(data, settings, said):
    frame = pd.DataFrame(data[0], columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=said):
        gv.PrivateLinearRegression(**SETTINGS | settings).fit(frame, data[1])


FRAMES = {"arrow": pa.table, "batch": pa.record_batch, "pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_names_and_no_values(kind):
    """The columns of an Arrow table are values."""
    columns = {"a": np.linspace(-1.0, 1.0, 500), "b": np.full(500, 0.271828)}
    model = gv.PrivateLinearRegression(**SETTINGS).fit(FRAMES[kind](columns), columns["a"])
    assert model.release_.columns == ("a", "b", "outcome")
    assert b"271828" not in model.release_.to_bytes()


OUTCOMES = {
    "pandas": lambda values: pd.Series(values, dtype="boolean"),
    "pandas frame": lambda values: pd.DataFrame({"y": pd.array([*values], dtype="Int64"), "z": 0.5})[["y"]],
    "polars": lambda values: pl.Series([*values]),
    "arrow": lambda values: pa.array([*values]),
    "chunks": lambda values: pa.chunked_array([[*values]]),
    "wide": lambda values: np.array([np.longdouble("1e4000") if value is None else value for value in values]),
    "masked": lambda values: np.ma.masked_array([bool(value) for value in values], [value is None for value in values]),
}


@pytest.mark.filterwarnings("ignore:A column-vector")
@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_missing_outcome_changes_its_own_row_alone(kind):
    values = [True, False] * 250
    (_, full), (_, holed) = (_numeric("y", OUTCOMES[kind](of), 1) for of in (values, [*values[:-1], None]))
    assert full.tolist() == list(map(float, values))
    assert holed[:-1].tolist() == full[:-1].tolist()
    assert not np.isfinite(holed[-1])


def test_a_list_has_no_type():
    for y in ([1.0, 2.0], [1.0, "secret"], [1.0, None]):
        with pytest.raises(InvalidParameter, match="y is a list, which has no type"):
            gv.PrivateLinearRegression(**SETTINGS).fit(np.zeros((2, 2)), y)
