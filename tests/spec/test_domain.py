"""A domain refuses what is no bound, and matches a schema."""

import math

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, SourceError


def test_a_domain_without_any_bound_explains_the_choices():
    with pytest.raises(InvalidParameter, match=r"needs bounds or data_norm.*never from the data"):
        gv.Domain()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": (1, 1)}, "lower < upper"),
        ({"bounds": (2, 1)}, "lower < upper"),
        ({"bounds": ([0, 3], [1, 2])}, r"bounds \(column 1\) must be lower < upper"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"bounds": (math.nan, 1)}, "finite"),
        ({"bounds": (0, 1e200)}, "bounds of column 0 must be between"),
        ({"bounds": (0, 1e-300)}, "wider than"),
        ({"bounds": 3}, "a pair"),
        ({"bounds": (1, 2, 3)}, "a pair"),
        ({"bounds": ("0", "1")}, "finite"),
        ({"bounds": ([], [])}, "one number per column"),
        ({"bounds": ([0, 0], [1, 1, 1])}, "as many numbers as there are columns; .* are 2 and 3"),
        ({"bounds": [(0, 1), (0, 2)]}, "not a list of pairs"),
        ({"bounds": {"a": (0, 1)}, "columns": ["b"]}, "must name the same columns; 'a' is in one only"),
        ({"bounds": {"a": (0, 1, 2)}}, "a mapping of column names to pairs"),
        ({"bounds": {"a": "01"}}, "a mapping of column names to pairs"),
        ({"bounds": {"a": (0, 1), "b": 3}}, "Column 'b' has no such pair"),
        ({"bounds": {}}, "a mapping of column names to pairs"),
        ({"bounds": {1: (0, 1)}}, "distinct, non-empty"),
        ({"bounds": ([0, 0], [1, 1]), "columns": ["a"]}, "as many numbers as there are columns"),
        ({"bounds": ([0, 0], 1), "n_features": 3}, "as many numbers as there are columns"),
        ({"data_norm": 0}, "positive"),
        ({"data_norm": -1.0}, "positive"),
        ({"data_norm": math.inf}, "positive"),
        ({"data_norm": "secret"}, "positive"),
        ({"data_norm": "private", "bounds": (0, 1)}, "where there are bounds"),
        ({"data_norm": 2.1**200}, "positive"),
        ({"bounds": (-1e77, 1e77)}, "bounds of column 0 must be between -2e.60 and 2e.60 and .* fourth"),
        ({"bounds": {"a": (0, 1), "b": (0, 1e77)}}, "bounds of column 'b' must be between"),
        ({"columns": {"a": gv.Number(0, 1), "b": gv.Number(-1e100, 0, missing=True)}}, "bounds of column 'b'"),
        ({"bounds": {"a": (0, 1e-80)}}, "bounds of column 'a' must be .* wider than 1e-60"),
        ({"data_norm": 1, "columns": []}, "distinct, non-empty"),
        ({"data_norm": 1, "columns": ["a", "a"]}, "distinct, non-empty"),
        ({"data_norm": 1, "columns": "ab"}, "distinct, non-empty"),
        ({"data_norm": 1, "columns": [1, 2]}, "distinct, non-empty"),
        ({"data_norm": 1, "columns": ["a"], "n_features": 2}, "n_features must be 1"),
        ({"data_norm": 1, "n_features": 0}, "at least 1"),
        ({"data_norm": 1, "n_features": 10**6}, "at most 65536"),
        ({"data_norm": 1, "n_features": 2.0}, "an integer"),
        ({"data_norm": 1, "rows_per_person": 0}, "at least 1"),
        ({"data_norm": 1, "rows_per_person": True}, "an integer"),
        ({"data_norm": 1, "neighbours": "add"}, "one of 'replace'"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        gv.Domain(**arguments)


@pytest.mark.parametrize(
    "domain",
    [
        gv.Domain(bounds=(0, 1)),
        gv.Domain(columns=["a", "b"], bounds=([0, -1.5], [1, 2])),
        gv.Domain(bounds=(np.zeros(3), np.float64(2))),
        gv.Domain(data_norm=2, n_features=4, rows_per_person=7),
        gv.Domain(bounds=(-1, 1), data_norm=0.5),
    ],
)
def test_json_round_trip_equality_and_hash(domain):
    again = gv.Domain.from_json(domain.to_json())
    assert again == domain
    assert hash(again) == hash(domain)
    assert again.to_json() == domain.to_json()


def test_bounds_per_column_give_the_number_of_columns():
    assert gv.Domain(bounds=([0, 0, 0], 1)).n_features == 3
    assert gv.Domain(bounds=(0, 1)).n_features is None


def test_bounds_by_name():
    domain = gv.Domain(bounds={"age": (0, 110), "bmi": (10, 60)})
    assert domain == gv.Domain(columns=["age", "bmi"], bounds=([0, 10], [110, 60]))
    turned = gv.Domain(columns=["bmi", "age"], bounds={"age": (0, 110), "bmi": (10, 60)})
    assert turned == gv.Domain(columns=["bmi", "age"], bounds=([10, 0], [60, 110]))


def test_radius():
    assert gv.Domain(bounds=(0, 1), n_features=9).radius == 3.0
    assert gv.Domain(bounds=(0, 1), n_features=9, data_norm=2.0).radius == 2.0
    with pytest.raises(InvalidParameter, match="n_features is not known yet"):
        _ = gv.Domain(bounds=(0, 1)).radius


def test_matching_a_schema():
    domain = gv.Domain(bounds=(0, 1))
    assert domain.resolve(("a", "b"), 2).columns == ("a", "b")
    assert domain.resolve(None, 2).n_features == 2
    named = gv.Domain(columns=["x", "y"], bounds=(0, 1))
    assert named.resolve(None, 2).columns == ("x", "y")
    with pytest.raises(SourceError, match="has 3 columns, the domain has 2"):
        named.resolve(None, 3)
