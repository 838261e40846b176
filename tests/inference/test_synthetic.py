"""Synthetic rows are what the codebook allows, follow the release, and say what they are."""

import numpy as np
import pandas as pd
import pytest

import graphveil as gv


@pytest.fixture(scope="module")
def release():
    """Of a table with every kind of variable."""
    rng = np.random.default_rng(0)
    n = 20_000
    age = rng.normal(50, 15, n).clip(0, 110)
    income = np.exp(rng.normal(10 + 0.01 * (age - 50), 0.5))
    table = pd.DataFrame({
        "age": age.round(),
        "income": income,
        "ward": rng.choice(["A", "B", "=C"], n, p=[0.6, 0.35, 0.05]),
        "pain": np.array(["none", "some", "much"])[rng.integers(0, 3, n)],
    })  # fmt: skip
    domain = gv.Domain(
        columns={
            "age": gv.Number(0, 110, integer=True),
            "income": gv.Number(100, 1e6, scale="log"),
            "ward": gv.Category(["A", "B", "=C"]),
            "pain": gv.Ordinal(["none", "some", "much"]),
        }
    )
    return gv.release(table, domain=domain, budget=gv.Budget(4.0, 1e-6), random_state=0)


def test_cells_are_what_the_codebook_allows(release):
    found = gv.sample(release, 5000).columns
    assert list(found) == ["age", "income", "ward", "pain"]
    assert found["age"].dtype == np.int64
    assert found["age"].min() >= 0
    assert found["age"].max() <= 110
    assert found["income"].min() >= 100
    assert set(found["ward"]) == {"A", "B", "=C"}
    assert set(found["pain"]) <= {"none", "some", "much"}


def test_they_follow_the_release(release):
    found = gv.sample(release, 20_000).columns
    assert found["age"].mean() == pytest.approx(50, abs=1)
    assert found["age"].std() == pytest.approx(15, rel=0.1)
    assert np.median(found["income"]) == pytest.approx(np.exp(10), rel=0.1)
    assert np.corrcoef(found["age"], np.log(found["income"]))[0, 1] == pytest.approx(0.29, abs=0.07)
    shares = [np.mean(found["ward"] == level) for level in ("A", "B", "=C")]
    assert shares == pytest.approx([0.6, 0.35, 0.05], abs=0.03)


def test_the_same_release_gives_the_same_rows_unless_a_seed_is_given(release):
    one, two, other = gv.sample(release, 50), gv.sample(release, 50), gv.sample(release, 50, random_state=1)
    assert np.array_equal(one.columns["income"], two.columns["income"])
    assert not np.array_equal(one.columns["income"], other.columns["income"])


def test_every_row_is_marked(release):
    frame = gv.sample(release, 10).to_frame()
    assert frame.columns[0] == "synthetic"
    assert (frame["synthetic"] == "yes").all()
    assert "not of any person" in repr(gv.sample(release, 10))


def test_without_a_codebook_rows_stay_within_bounds():
    rows = np.random.default_rng(0).normal(size=(4000, 2))
    bounded = gv.release(rows, domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(1.0, 1e-6), random_state=0)
    drawn = gv.sample(bounded, 1000).columns
    assert list(drawn) == ["x0", "x1"]
    assert np.abs(np.concatenate([*drawn.values()])).max() <= 1.0
    free = gv.release(rows, domain=gv.Domain(n_features=2, data_norm=4.0), budget=gv.Budget(1.0, 1e-6), random_state=0)
    assert gv.sample(free, 10).n_rows == 10


def test_a_column_that_is_called_synthetic_keeps_its_name():
    rows = np.random.default_rng(0).normal(size=(4000, 1))
    domain = gv.Domain(columns=["synthetic"], bounds=(-4, 4))
    found = gv.sample(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0), 3)
    assert list(found.to_frame().columns) == ["synthetic_", "synthetic"]


@pytest.mark.parametrize(("given", "match"), [((None, 5), "release must be"), ((0,), "n_rows")])
def test_parameters_are_checked(release, given, match):
    with pytest.raises(gv.exceptions.InvalidParameter, match=match):
        gv.sample(*(given if len(given) == 2 else (release, *given)))
