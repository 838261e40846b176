"""A category in a regression: named once, regressed on by level, tested as a whole."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import graphveil as gv
from graphveil.exceptions import InvalidParameter

N = 6000
WARDS = ["A", "B", "C", "D"]


def people():
    rng = np.random.default_rng(0)
    ward = rng.choice(WARDS, N, p=[0.4, 0.3, 0.2, 0.1])
    age = rng.normal(50, 12, N)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["F", "M"], N), "ward": ward, "diet": rng.integers(3, size=N)})
    frame["cost"] = np.exp(rng.normal(5, 1, N))
    frame["sugar"] = 5 + 0.01 * age + 0.3 * (ward == "D") + rng.normal(0, 0.5, N)
    return frame


def released(frame, wards=WARDS, epsilon=30.0):
    kinds = {
        "age": (0, 110),
        "sex": gv.Category(["F", "M"]),
        "ward": gv.Category(wards),
        "diet": gv.Category([0, 1, 2]),
        "cost": gv.Number(1, 1e5, scale="log"),
        "sugar": (0, 12),
    }
    return gv.release(frame, domain=gv.Domain(kinds), budget=gv.Budget(epsilon, 1e-6), random_state=0)


@pytest.fixture(scope="module")
def release():
    return released(people())


@pytest.fixture(scope="module")
def table(release):
    return gv.regression(release, "sugar", ["age", "sex", "ward", "diet"])


def test_the_name_of_a_category_brings_all_its_levels(release, table):
    assert table.names == ("const", "age", "sex[M]", "ward[B]", "ward[C]", "ward[D]", "diet[1]", "diet[2]")
    assert gv.regression(release, "sugar", ["cost"]).columns == ("log(cost)",)
    with pytest.raises(InvalidParameter, match="distinct columns"):
        gv.regression(release, "sugar", ["ward", "ward[B]"])


def test_the_joint_test_is_walds(table):
    """As from least squares on the rows themselves, which next to no noise leaves."""
    frame = people()
    parts = [frame.age, frame.sex == "M", *(frame.ward == level for level in "BCD"), *(frame.diet == k for k in (1, 2))]
    X = np.column_stack([np.ones(N), *parts]).astype(float)
    beta, left, *_ = np.linalg.lstsq(X, frame.sugar.to_numpy(), rcond=None)
    covariance = left[0] / (N - X.shape[1]) * np.linalg.inv(X.T @ X)
    ward, diet = table.tests
    for test, own in ((ward, [3, 4, 5]), (diet, [6, 7])):
        expected = beta[own] @ np.linalg.solve(covariance[np.ix_(own, own)], beta[own])
        assert test.df == len(own)
        assert test.chi2 == pytest.approx(expected, rel=0.15, abs=1.0)
        assert test.p_value == pytest.approx(chi2.sf(test.chi2, test.df))
    assert ward.p_value < 1e-6 < 0.01 < diet.p_value


def test_it_does_not_depend_on_the_first_level(table):
    other = gv.regression(released(people(), ["D", "A", "B", "C"]), "sugar", ["age", "sex", "ward", "diet"])
    assert other.tests[0].columns == ("ward[A]", "ward[B]", "ward[C]")
    assert other.tests[0].chi2 == pytest.approx(table.tests[0].chi2, rel=0.1)


def test_all_forms_of_the_table_have_it(table):
    said = f"ward: chi2(3) = {table.tests[0].chi2:.2f}"
    assert said in table.summary()
    assert said in table.to_html()
    assert said in table.to_latex()
    frame = table.to_frame()
    assert list(frame.index[3:7]) == ["ward", "ward[B]", "ward[C]", "ward[D]"]
    assert frame.loc["ward", ["chi2", "df", "p_value"]].tolist() == [table.tests[0].chi2, 3, table.tests[0].p_value]
    assert [test["term"] for test in table.to_dict()["tests"]] == ["ward", "diet"]


def test_without_categories_nothing_is_said_of_them(release):
    plain = gv.regression(release, "sugar", ["age", "sex"])
    assert plain.tests == ()
    assert "chi2" not in plain.summary()
    assert "chi2" not in plain.to_frame().columns


def test_a_category_is_no_outcome_but_its_levels_are(release):
    for outcome, advice in (("ward", r"outcome='ward\[B\]' or"), ("sex", r"outcome='sex\[M\]'\.")):
        with pytest.raises(InvalidParameter, match=advice):
            gv.regression(release, outcome)
    level = gv.regression(release, "ward[D]")
    assert not [name for name in level.columns if name.startswith("ward")]
    assert level.tests[0].name == "diet"


def test_predictions_take_levels(table):
    at = {"age": 60, "sex": "M", "ward": "D", "diet": 0}
    columns = {"age": 60, "sex[M]": 1, "ward[B]": 0, "ward[C]": 0, "ward[D]": 1, "diet[1]": 0, "diet[2]": 0}
    assert table.predict(at).value == table.predict(columns).value
    assert table.predict(at | {"ward": "A"}).value == table.predict(columns | {"ward[D]": 0}).value
    with pytest.raises(InvalidParameter, match="one of the levels of ward: 'A', 'B', 'C', 'D'"):
        table.predict(at | {"ward": "E"})
    with pytest.raises(InvalidParameter, match=r"ward\[B\] is missing"):
        table.predict({"age": 60, "sex": "M", "diet": 0})


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_a_level_without_an_interval_leaves_the_category_without_a_test():
    few = gv.regression(released(people()[:300], epsilon=0.05), "sugar", ["age", "ward"])
    assert np.isnan(few.tests[0].chi2)
    assert few.to_dict()["tests"][0]["chi2"] is None
    assert "ward: chi2(3)" in few.summary()
