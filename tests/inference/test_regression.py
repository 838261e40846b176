"""Regression tables: the same as least squares where nothing is hidden, and intervals that cover where something is."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, PrivacyWarning
from helpers.nested import hospital, hospital_domain

NAMES = ["age", "bmi", "hba1c"]
BOUNDS = {"age": (0, 100), "bmi": (10, 60), "hba1c": (3, 15)}


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n)
    bmi = rng.normal(26, 4, n) + 0.05 * (age - 50)
    hba1c = 5.4 + 0.012 * (age - 50) + 0.03 * (bmi - 26) + rng.normal(0, 0.5, n)
    return np.c_[age, bmi, hba1c]


def released(rows, epsilon=1.0, seed=0, domain=None, **options):
    domain = domain or gv.Domain(bounds=BOUNDS)
    return gv.release(rows, domain=domain, budget=gv.Budget(epsilon, 1e-6), random_state=seed, **options)


def frame(rows):
    import pandas as pd

    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture(scope="module")
def table():
    return gv.regression(released(frame(people(8000))), "hba1c", ["age", "bmi"])


def least_squares(rows):
    """Coefficients, standard errors and R² as any package has them."""
    X = np.c_[np.ones(len(rows)), rows[:, :-1]]
    beta, left, *_ = np.linalg.lstsq(X, rows[:, -1], rcond=None)
    variance = left[0] / (len(rows) - X.shape[1])
    errors = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    return beta, errors, 1.0 - variance / rows[:, -1].var(ddof=1)


def test_almost_without_noise_it_is_least_squares():
    rows = people(5000)
    found = gv.regression(released(frame(rows), epsilon=30.0), "hba1c")
    beta, errors, r_squared = least_squares(rows)
    assert np.abs(found.terms.value - beta) / errors == pytest.approx(np.zeros(3), abs=0.3)
    assert found.terms.sampling == pytest.approx(errors, rel=0.05)
    assert (found.std_err_privacy < 0.4 * found.std_err).all()
    assert found.r_squared == pytest.approx(r_squared, abs=0.01)
    assert found.columns == ("age", "bmi")


def test_intervals_cover():
    """Nominal 95%; benchmarks/regression_intervals.py counts more."""
    truth = np.array([5.4 - 0.012 * 50 - 0.03 * 26, 0.012, 0.03])
    spread = 0.05**2 * 144 + 16
    explained = 0.012**2 * 144 + 2 * 0.012 * 0.03 * 0.05 * 144 + 0.03**2 * spread
    hits, squares, predictions = [], [], []
    for seed in range(25):
        found = gv.regression(released(frame(people(3000, seed)), 2.0, seed), "hba1c", ["age", "bmi"])
        hits.append((found.terms.lower <= truth) & (truth <= found.terms.upper))
        low, high = found.r_squared_interval
        squares.append(low <= explained / (explained + 0.25) <= high)
        said = found.predict({"bmi": 30.0, "age": 60.0})
        predictions.append(said.lower[0] <= truth @ [1.0, 60.0, 30.0] <= said.upper[0])
    assert 0.88 < np.mean(hits) < 0.995
    assert np.mean(squares) > 0.85
    assert np.mean(predictions) > 0.85


def test_parts_add_up_and_privacy_costs(table):
    assert np.hypot(table.std_err_sampling, table.std_err_privacy) == pytest.approx(table.std_err)
    assert table.z == pytest.approx(table.coef / table.std_err)
    assert table.upper - table.lower == pytest.approx(2 * 1.95996 * table.std_err, rel=1e-5)
    tight = gv.regression(released(frame(people(8000)), epsilon=20.0), "hba1c", ["age", "bmi"])
    assert (tight.std_err_privacy < table.std_err_privacy).all()


def test_units_scale_coefficients_alone(table):
    """Grams instead of kilograms: the coefficient and its error by a thousand, z and R² the same."""
    rows = people(8000) * [1.0, 1000.0, 1.0]
    domain = gv.Domain(bounds=BOUNDS | {"bmi": (10_000, 60_000)})
    found = gv.regression(released(frame(rows), domain=domain), "hba1c", ["age", "bmi"])
    assert found.coef * [1.0, 1000.0] == pytest.approx(table.coef, rel=1e-6)
    assert found.z == pytest.approx(table.z, rel=1e-6)
    assert found.r_squared == pytest.approx(table.r_squared, rel=1e-6)
    assert found.standardized == pytest.approx(table.standardized, rel=1e-6)


def test_predictions_are_those_of_the_table(table):
    at_zero = table.predict([0.0, 0.0])
    assert at_zero.value[0] == pytest.approx(table.intercept)
    assert at_zero.std_err[0] == pytest.approx(table.terms.std_err[0])
    several = table.predict(np.array([[50.0, 26.0], [80.0, 40.0]]))
    assert several.value == pytest.approx(table.intercept + np.array([[50.0, 26.0], [80.0, 40.0]]) @ table.coef)
    assert several.std_err[0] < several.std_err[1], "the mean is known best in the middle"
    with pytest.raises(InvalidParameter, match="each of the 2 columns"):
        table.predict([1.0])


def test_the_summary_speaks_as_statsmodels_does(table):
    text = table.summary()
    for word in ("coef", "std err", "z", "P>|z|", "[0.025", "0.975]", "const", "age", "bmi", "hba1c", "Seeded"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 120
    assert str(round(table.r_squared, 3)) in text
    found = table.to_frame()
    assert list(found.index) == ["const", "age", "bmi"]
    assert found["coef"].to_numpy() == pytest.approx(table.terms.value)
    assert {"sampling", "privacy", "standardized"} <= set(found.columns)
    assert "<td>" in table._repr_html_()
    assert table.to_latex().count(r"\\") == 4
    assert repr(table).startswith("<Regression of hba1c on age, bmi: R² = 0.")


def test_names_cannot_break_a_table():
    rows = people(3000)
    names = ["<b>&_%", "[x]", "y~^\\"]
    made = released(rows, domain=gv.Domain(bounds=dict(zip(names, BOUNDS.values(), strict=True))))
    found = gv.regression(made, 2)
    assert "<b>" not in found.to_html()
    latex = found.to_latex().split(r"\midrule")[1]
    assert r"\textless{}b\textgreater{}\&\_\%" in latex
    assert "\n{[}x]" in latex, "a line after \\\\ must not begin with a bracket"


def test_rows_with_mean_zero_have_no_intercept():
    rows = people(5000) - [50.0, 26.0, 5.4]
    found = gv.regression(released(rows, domain=gv.Domain(bounds=(-60, 60)), assume_centered=True), 2)
    assert not found.has_intercept
    assert found.intercept == 0.0
    assert found.names == ("x0", "x1")
    assert found.predict([0.0, 0.0]).value == pytest.approx(0.0)


def test_merged_releases_are_regressed_together(table):
    sites = [released(frame(people(8000, seed)), seed=seed) for seed in (1, 2)]
    found = gv.regression(gv.merge_releases(sites), "hba1c", ["age", "bmi"])
    assert (found.std_err < table.std_err).all()
    assert np.abs(found.coef - [0.012, 0.03]).max() < 4 * found.std_err.max()


def test_the_intercept_has_a_name_of_its_own():
    """Two rows were called const, and a data frame with two such rows is a trap."""
    rows = frame(people(3000)).rename(columns={"bmi": "const"})
    domain = gv.Domain(bounds={"age": (0, 100), "const": (10, 60), "hba1c": (3, 15)})
    found = gv.regression(released(rows, domain=domain), "hba1c")
    assert found.names == ("Intercept", "age", "const")
    assert found.to_frame().index.is_unique
    assert [term["term"] for term in found.to_dict()["terms"]] == ["Intercept", "age", "const"]
    assert replace(found, columns=("const", "Intercept")).names == ("(Intercept)", "const", "Intercept")


def test_collinear_columns_have_no_interval():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 20_000))
    rows = np.c_[a, b, (a + b) / 2, a - 0.5 * b + rng.normal(0, 0.3, 20_000)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        found = gv.regression(released(rows, epsilon=5.0, domain=gv.Domain(bounds=(-3, 3))), 3)
    assert np.isnan(found.std_err).all()
    assert "collinear" in found.notes[-1]
    assert "collinear" in found.summary()
    again = gv.regression(released(rows, epsilon=5.0, domain=gv.Domain(bounds=(-3, 3))), 3, [0, 1])
    assert again.lower[0] < 1.0 < again.upper[0]


def test_intervals_say_that_they_assume_what_the_release_cannot_see():
    """Bounds 20 standard deviations away allow a tail of half the variance that 8,000 records do not show."""
    rows = np.random.default_rng(0).normal(size=(8000, 3))
    wide = gv.Domain(bounds=([-20.0, -4.0, -4.0], [20.0, 4.0, 4.0]), columns=["a", "b", "c"])
    (note,) = gv.regression(released(rows, domain=wide), "c", ["a", "b"]).notes
    assert note.startswith("Intervals assume that these columns have no long tails")
    assert note.endswith("would help: a.")
    narrow = gv.Domain(bounds=(-4.0, 4.0), columns=["a", "b", "c"])
    assert not gv.regression(released(rows, domain=narrow), "c", ["a", "b"]).notes


def test_an_outcome_whose_scale_is_unsure_has_no_interval_of_r_squared():
    """It depends on the scale of the outcome, and covered 44 of 60 times on skewed outcomes."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(6000, 4))
    rows = np.c_[base, np.clip(np.exp(1.6 * (0.5 * base[:, 0] + 0.9 * rng.normal(size=6000))), 0, 200)]
    domain = gv.Domain(bounds=([-5.0] * 4 + [0.0], [5.0] * 4 + [200.0]))
    found = gv.regression(released(rows, domain=domain), 4)
    assert any("may be off by more than a factor of 1.2" in note for note in found.notes)
    assert np.isnan(found.r_squared_interval).all()
    assert any(note.startswith("R-squared has no interval") for note in found.notes)
    assert f"R-squared:         not determined (estimate: {found.r_squared:.2f})\n" in found.summary()
    assert np.isfinite(found.std_err).all()


@pytest.mark.filterwarnings("ignore:The variance of these columns is within its noise")
def test_r_squared_is_not_zero_where_noise_is_too_large_to_be_subtracted():
    """0.00 was published for all three: coefficients of the indicators of two nested categories are all noise."""
    release = gv.release(
        hospital(7000, 6, visits=1.5), domain=hospital_domain(), budget=gv.Budget(1.0, 1e-6), random_state=6
    )
    for outcome, truth in (("log(cost)", 0.44), ("days", 0.42), ("systolic", 0.52)):
        assert gv.regression(release, outcome).r_squared == pytest.approx(truth, abs=0.12)


def test_r_squared_that_is_not_determined_says_so(table):
    assert table.determines_r_squared
    wide, none = (replace(table, r_squared_interval=ends) for ends in ((0.0, 0.95), (np.nan, np.nan)))
    for found in (wide, none):
        assert not found.determines_r_squared
        assert not found.to_dict()["determines_r_squared"]
        assert "R² not determined" in repr(found)
        assert f"not determined (estimate: {table.r_squared:.2f})" in found.summary()


def test_too_few_records_have_no_interval():
    rows = people(60)
    with pytest.warns(PrivacyWarning, match="n_eff"):
        found = gv.regression(released(frame(rows), epsilon=0.5), "hba1c")
    assert np.isnan(found.std_err).all()
    assert np.isnan(found.r_squared_interval).all()
    assert found.notes[-1].startswith("No intervals: the release is as good as")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcome": "weight"}, "outcome must be distinct columns .* The columns are age, bmi, hba1c"),
        ({"outcome": "hba1c", "on": "age"}, r"write on=\['age'\]"),
        ({"outcome": "hba1c", "on": ["hba1c"]}, "not the outcome"),
        ({"outcome": "hba1c", "on": []}, "at least one column"),
        ({"outcome": "hba1c", "on": ["age", 0]}, "on must be distinct columns"),
        ({"outcome": 3}, "outcome must be"),
        ({"outcome": "hba1c", "level": 1.0}, "level must be a number in"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(InvalidParameter, match=message):
        gv.regression(released(frame(people(2000))), **options)


def test_releases_without_one_covariance_are_refused():
    with pytest.raises(InvalidParameter, match=r"must be a gv\.Release"):
        gv.regression(people(10), 0)


def test_a_coefficient_of_a_ranked_column_says_what_its_unit_is():
    """Noise moves the scale of normal scores, and coefficients with it: by several standard errors, without a word."""
    rng = np.random.default_rng(0)
    cost = np.exp(rng.normal(6, 1, 8000))
    table = pa.table({"cost": cost, "age": rng.normal(50, 10, 8000) + np.log(cost)})
    domain = gv.Domain({"cost": gv.Number(1, 1e5, scale="rank"), "age": (0, 110)})
    release = gv.release(table, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    notes = [note for note in gv.regression(release, "age").notes if "compare standardized coefficients" in note]
    assert notes[0].startswith("Coefficients of rank(cost) are per unit of the scores")
    plain = gv.Domain({"cost": gv.Number(1, 1e5, scale="log"), "age": (0, 110)})
    logs = gv.release(table, domain=plain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    assert not [note for note in gv.regression(logs, "age").notes if "scores" in note]


def test_columns_of_a_frame_are_predicted_from_by_name():
    """As in the release: columns in another order were taken for each other without a word."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(50, 10, 5000), "bmi": rng.normal(26, 4, 5000)})
    table["systolic"] = 60 + table["age"] + rng.normal(0, 10, 5000)
    domain = gv.Domain({"age": (0, 110), "bmi": (10, 60), "systolic": (60, 240)})
    release = gv.release(table, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    found = gv.regression(release, "systolic")
    frame = table.head(5).assign(note="not a number")[["note", "bmi", "age"]]
    by_place = found.predict(frame[["age", "bmi"]].to_numpy())
    np.testing.assert_allclose(found.predict(frame).value, by_place.value)
    with pytest.raises(InvalidParameter, match="values has no column 'bmi'"):
        found.predict(frame.rename(columns={"bmi": "x"}))
    with pytest.raises(InvalidParameter, match="values must contain only numbers") as caught:
        found.predict([["secret value 271828", 26.0]])
    assert "271828" not in str(caught.value)
