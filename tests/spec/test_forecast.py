"""A forecast is a frozen fact that survives a file, and refuses to be anything else."""

import dataclasses

import numpy as np
import pytest

import graphveil as gv
from graphveil.spec.forecast import ForecastPoint

POINT = ForecastPoint(5000, 1.0, 854.0, 0.03, 0.09, 1.0, 0.1)


def forecast(**changes):
    facts = {
        "budget": gv.Budget(1.0, 1e-6),
        "n_features": 20,
        "rows_per_person": 1,
        "bounds_in_sd": 4.0,
        "here": POINT,
        "target": 0.1,
        "records_needed": 5123,
        "epsilon_needed": 1.0,
        "by_epsilon": (POINT,),
        "by_records": (POINT,),
    }
    return gv.Forecast(**facts | changes)


def test_it_survives_json():
    for made in (forecast(), forecast(records_needed=None, epsilon_needed=None), forecast(rehearsed=False)):
        assert gv.Forecast.from_json(made.to_json()) == made
    assert "rehearsed" not in forecast().to_json()  # as forecasts were written when all were


def test_a_coefficient_is_as_unsure_as_the_smallest_edge_says():
    """An edge is seen four times out of five at 2.8 standard deviations of Fisher's z."""
    assert POINT.coefficient_sd == pytest.approx(np.arctanh(POINT.smallest_edge) / 2.8)
    assert dataclasses.replace(POINT, smallest_edge=None).coefficient_sd is None
    assert np.isfinite(dataclasses.replace(POINT, smallest_edge=1.0).coefficient_sd)


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        forecast().target = 0.5


def test_its_words_say_its_numbers():
    said = " ".join(forecast().sentences)
    for number in ("5,000 records", "as 854 noise-free", "of 0.1 or more", "5,123 records", "ε = 1 "):
        assert number in said
    blind = dataclasses.replace(POINT, n_eff=12.0, smallest_edge=None)
    asked = {"here": blind, "by_epsilon": (blind,), "by_records": (blind,)}
    said = " ".join(forecast(**asked, records_needed=None, epsilon_needed=None).sentences)
    for words in ("fewer than the 20 variables", "No partial correlation", "no number of records", "no ε up to"):
        assert words in said


@pytest.mark.parametrize(
    "changes",
    [
        {"here": None},
        {"by_epsilon": (1,)},
        {"by_records": None},
        {"by_records": ()},
        {"records_needed": "x"},
        {"epsilon_needed": 0},
        {"target": 1.0},
        {"n_features": 0},
        {"rehearsed": 1},
        {"budget": (1, 2)},
    ],
)
def test_wrong_facts_are_refused(changes):
    with pytest.raises(gv.exceptions.InvalidParameter):
        forecast(**changes)


@pytest.mark.parametrize("name", ["n_eff", "error", "epsilon", "noise_sd", "auc", "smallest_edge"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, "1", True])
def test_wrong_points_are_refused(name, value):
    with pytest.raises(gv.exceptions.InvalidParameter, match=name):
        dataclasses.replace(POINT, **{name: value})


@pytest.mark.parametrize("text", ["", "[]", "null", '{"kind": "Budget", "epsilon": 1, "delta": 1e-6}', "{" * 3000])
def test_foreign_json_is_refused(text):
    with pytest.raises(gv.exceptions.InvalidParameter):
        gv.Forecast.from_json(text)
