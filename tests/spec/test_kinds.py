"""Kinds of variables: what they refuse, and the columns that they become."""

import math

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, SourceError
from graphveil.spec.codebook import Codebook
from graphveil.spec.kinds import Kind


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gv.Number(1, 1), "low < high"),
        (lambda: gv.Number(0, math.inf), "finite"),
        (lambda: gv.Number("0", 1), "finite"),
        (lambda: gv.Number(0, 1, scale="log"), "greater than 0"),
        (lambda: gv.Number(-1, 1, scale="sqrt"), "at least 0"),
        (lambda: gv.Number(0, 1, scale="cube"), "one of 'linear', 'log', 'sqrt', 'rank'"),
        (lambda: gv.Number(0, 1, missing=[]), "missing must be"),
        (lambda: gv.Number(0, 1, missing="999"), "missing must be"),
        (lambda: gv.Number(0, 1, missing=[math.nan]), "missing must be"),
        (lambda: gv.Number(0, 1, integer=1), "integer must be"),
        (lambda: gv.Number(0, 1, label=""), "label must be"),
        (lambda: gv.Number(0, 1, unit="\x1b[2J"), "printable"),
        (lambda: gv.Category("FM"), "levels must be"),
        (lambda: gv.Category(["F"]), "levels must be"),
        (lambda: gv.Category(["F", "M", "F"]), "levels must be distinct, and hold 'F' more than once"),
        (lambda: gv.Category({"F", "M"}), "levels must be in an order"),
        (lambda: gv.Category(["F", 1]), "levels must be"),
        (lambda: gv.Category([True, 1]), "levels must be"),
        (lambda: gv.Category([1, 2**60]), "levels must be"),
        (lambda: gv.Category(["a", "b\n"]), "printable"),
        (lambda: gv.Category(["a", "b"], missing=["c"]), "missing must be"),
        (lambda: gv.Ordinal([1, 3, 2]), "increasing numbers"),
        (lambda: gv.Ordinal([1, 2], missing="level"), "missing must be"),
        (lambda: gv.Domain({"a": 3}), "a mapping of column names to pairs"),
        (lambda: gv.Domain({"a": 3, "b": gv.Number(0, 1)}), "column 'a' must be a pair"),
        (lambda: gv.Domain({"a": (1, 0), "b": gv.Number(0, 1)}), "column 'a': .*low < high"),
        (lambda: gv.Domain({"a": (0, 1)}, bounds=(0, 1)), "must not be given"),
        (lambda: gv.Domain({"a[2]": (0, 1), "a": gv.Category([1, 2])}), "distinct"),
        (lambda: gv.Domain({"a": gv.Category([1, 2])}, person="a"), "not among the columns"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_columns_and_bounds():
    domain = gv.Domain(
        {
            "age": (0, 110),
            "cost": gv.Number(1, 100, scale="log"),
            "visits": gv.Number(0, 81, scale="sqrt"),
            "ward": gv.Category(["A", "B", "C"], missing="level"),
            "smoker": gv.Category([False, True]),
            "mood": gv.Ordinal(["low", "high"]),
            "pain": gv.Ordinal([0, 5, 10]),
        }
    )
    named = "age", "log(cost)", "sqrt(visits)", "ward[B]", "ward[C]", "ward[missing]", "smoker[true]", "mood", "pain"
    assert domain.columns == named
    assert domain.n_features == len(named)
    assert domain.n_blocks == 7
    assert domain.bounds == ((0, 0, 0, 0, 0, 0, 0, 1, 0), (110, math.log(100), 9, 1, 1, 1, 1, 2, 10))
    assert domain.codebook.places == tuple(map(range, [0, 1, 2, 3, 6, 7, 8], [1, 2, 3, 6, 7, 8, 9]))


def test_pairs_alone_are_bounds():
    assert gv.Domain({"a": (0, 1), "b": (2, 5)}) == gv.Domain(bounds={"a": (0, 1), "b": (2, 5)})
    assert gv.Domain({"a": (0, 1)}).codebook is None


def test_a_domain_survives_its_json_and_refuses_what_contradicts_it():
    domain = gv.Domain(
        bounds={"a": gv.Number(1, 9, missing=[-1, 99], scale="log", label="A", source="manual"), "b": (0, 1)},
        columns=["b", "a"],
    )
    assert domain.columns == ("b", "log(a)")
    assert gv.Domain.from_json(domain.to_json()) == domain
    with pytest.raises(InvalidParameter, match="must agree"):
        gv.Domain.from_json(domain.to_json().replace('"log(a)"', '"a"'))
    with pytest.raises(InvalidParameter, match="must agree"):
        gv.Domain.from_json(domain.to_json().replace("2.197", "2.198"))
    with pytest.raises(InvalidParameter, match="one kind for every name"):
        Codebook(("a",), ())


def test_a_schema_is_matched_by_the_columns_of_the_source():
    domain = gv.Domain({"a": gv.Category([1, 2, 3]), "b": (0, 1)})
    assert domain.resolve(("a", "b"), 2) is domain
    with pytest.raises(SourceError, match="The source has 3 columns, the domain has 2"):
        domain.resolve(None, 3)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 500])
def test_indicators_of_a_category_lie_in_a_ball(count):
    """The smallest one: no other centre and radius do better for the simplex of 0 and the unit vectors."""
    codebook = Codebook.of({"a": gv.Category(range(count + 1))})
    centre, half = codebook.simplices(1)
    points = np.vstack([np.zeros(count), np.eye(count), np.full(count, 1.0 / (count + 1))])
    norms = np.linalg.norm((points - centre) / half, axis=1)
    assert 1.0 - 2e-4 < norms.max() <= 1.0
    smallest = math.sqrt(count) / 2.0 if count <= 2 else math.sqrt(1.0 - 1.0 / count)
    assert half[0] == pytest.approx(smallest, rel=1e-4)


def test_a_kind_must_say_what_it_becomes():
    class Silent(Kind):
        """Says neither which columns it becomes, nor their bounds."""

        nullable = False

    with pytest.raises(TypeError, match=r"abstract methods '?column_names'?, '?ends"):
        Silent()
