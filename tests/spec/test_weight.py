"""What is said of survey weights: checked, refused by name, kept in files."""

import re

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, SourceError
from graphveil.rows.streaming import StreamedMoments
from graphveil.spec.codebook_file import parse_toml

WEIGHT = gv.Weight("w", largest=10)
BUDGET = gv.Budget(1.0, 1e-6)
ROWS = np.zeros((30, 2))


class NoLedger:
    def charge(self, dataset, event):
        raise AssertionError("charged")


@pytest.mark.parametrize("largest", [0, -1, np.nan, np.inf, "10", True, None, 1e200])
def test_the_largest_weight_is_a_positive_number(largest):
    with pytest.raises(InvalidParameter, match="largest weight must be a positive number"):
        gv.Weight("w", largest)


@pytest.mark.parametrize("column", ["", None, 3])
def test_the_column_has_a_name(column):
    with pytest.raises(InvalidParameter, match="column of the weights must be a string"):
        gv.Weight(column, 1)


REFUSED = {
    "weight must be a gv.Weight": {"weight": "w"},
    "weight must be a column that is neither released nor the person's": {"weight": gv.Weight("a", 1)},
    "weight must be a column that is neither released nor the person's, got": {"person": "w", "weight": WEIGHT},
    'variation must be "total" with weights': {"person": "id", "variation": "within", "weight": WEIGHT},
    'neighbours must be "replace" with weights': {"neighbours": "add-remove", "weight": WEIGHT},
}


@pytest.mark.parametrize("message", REFUSED)
def test_domains_that_make_no_sense_with_weights_are_refused(message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        gv.Domain({"a": (0, 1), "b": (0, 1)}, **REFUSED[message])


def test_a_norm_cannot_be_found_privately_with_weights():
    with pytest.raises(InvalidParameter, match="data_norm must be a number with weights"):
        gv.Domain(data_norm="private", weight=WEIGHT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": gv.Labels([0, 1]), "adaptive": False}, "labels must be None with weights"),
        ({"mechanism": "paper", "adaptive": False, "assume_centered": True}, "mechanism must be default with weights"),
    ],
)
def test_releases_that_are_not_proved_with_weights_are_refused(options, message):
    domain = gv.Domain(bounds=(-1, 1), n_features=2, weight=WEIGHT)
    with pytest.raises(InvalidParameter, match=message):
        gv.release(ROWS, domain=domain, budget=BUDGET, ledger=NoLedger(), dataset="d", weight=np.ones(30), **options)


def test_rows_collected_batch_by_batch_have_no_weights():
    with pytest.raises(InvalidParameter, match="weight must be None when rows are collected batch by batch"):
        StreamedMoments(gv.Domain(bounds=(-1, 1), weight=WEIGHT), None)


BESIDE = {
    "weight needs the largest weight that counts": (gv.Domain(bounds=(-1, 1)), np.ones(30)),
    "An array has no column of weights": (gv.Domain(bounds=(-1, 1), weight=WEIGHT), None),
    "The number of weights must be the number of rows": (gv.Domain(bounds=(-1, 1), weight=WEIGHT), np.ones(31)),
    "The number of weights must be the number of rows.": (gv.Domain(bounds=(-1, 1), weight=WEIGHT), np.ones(29)),
    "weight must have 1 dimension": (gv.Domain(bounds=(-1, 1), weight=WEIGHT), np.ones((30, 1))),
    "must hold real numbers": (gv.Domain(bounds=(-1, 1), weight=WEIGHT), np.array(["1"] * 30)),
    "weight is a list": (gv.Domain(bounds=(-1, 1), weight=WEIGHT), [1.0] * 30),
}


@pytest.mark.parametrize("message", BESIDE)
def test_weights_beside_rows_that_cannot_be_read_are_refused_before_anything_is_spent(message):
    domain, weight = BESIDE[message]
    with pytest.raises((InvalidParameter, SourceError), match=re.escape(message)):
        gv.release(ROWS, domain=domain, budget=BUDGET, ledger=NoLedger(), dataset="d", weight=weight)


def test_a_database_has_no_weights_yet():
    source = gv.sql("nowhere.duckdb", "select 1 as a, 2 as w")
    domain = gv.Domain({"a": (0, 1)}, weight=WEIGHT)
    with pytest.raises(SourceError, match="does not support weights yet"):
        gv.release(source, domain=domain, budget=BUDGET, ledger=NoLedger(), dataset="d")


def test_domains_with_weights_survive_json_and_others_are_written_as_before():
    domain = gv.Domain({"a": (0, 1)}, person="id", weight=WEIGHT)
    assert gv.Domain.from_json(domain.to_json()) == domain
    assert "weight" not in gv.Domain({"a": (0, 1)}).to_json()


def test_a_codebook_says_it(tmp_path):
    path = tmp_path / "codebook.toml"
    path.write_text('rows_per_person = 1\nweight = { column = "w", largest = 10 }\n[columns]\na = [0, 1]\n')
    assert gv.Domain.read(path).weight == WEIGHT
    assert gv.Domain.read(path, weight=gv.Weight("v", 2)).weight == gv.Weight("v", 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('weight = "w"', "the column and the largest weight"),
        ('weight = { column = "w" }', "the column and the largest weight"),
        ('weight = { column = "w", largest = 1, least = 0 }', "the column and the largest weight"),
        ('weight = { column = "w", largest = "?" }', 'weight still has "?"'),
        ('weight = { column = "w", largest = -3 }', "largest weight must be a positive number"),
    ],
)
def test_a_codebook_that_says_it_wrongly_is_refused(line, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        parse_toml(f"rows_per_person = 1\n{line}\n[columns]\na = [0, 1]\n")
