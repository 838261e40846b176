"""Theorem 10 with gaps: whatever is missing in a record, no answer moves further than its noise is made for."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import GuaranteeError, InvalidParameter
from graphveil.privacy.mechanisms import step_for
from graphveil.rows.accumulators import ColumnTotals, statistic_for
from graphveil.rows.encoding import Encoder
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import MISSING, PERSON_WEIGHT
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, Moments, NormCounts, ObservedPairs, RowMap
from graphveil.spec.row_space import RowSpace
from graphveil.spec.sensitivity import sign_sensitivity

DOMAIN = gv.Domain(
    {
        "a": gv.Number(-1, 1, missing=True),
        "b": (-1, 1),
        "c": gv.Category(["x", "y", "z"], missing=True),
        "d": gv.Number(1, 9, missing=[0], scale="log"),
    }
)
P = DOMAIN.n_features
WEIGHTS = np.arange(1.0, 1.0 + P)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_signs_move_as_far_as_said_and_no_further(m):
    vectors = [np.outer((*s, 1), (*s, 1))[np.triu_indices(m + 1, 1)] for s in product([-1, 1], repeat=m)]
    farthest = max(np.sum((one - other) ** 2) for one in vectors for other in vectors)
    assert sign_sensitivity(m, 1) ** 2 == pytest.approx(farthest, rel=1e-12)
    assert sign_sensitivity(m, 3) == pytest.approx(3 * sign_sensitivity(m, 1))
    assert max(np.sum(one**2) for one in vectors) <= farthest  # a person may have no rows


def every_query(space):
    edge = np.full(P, space.edge)
    low, high = space.window
    wide = np.full(P, 2.0**20)
    centre = np.rint(np.linspace(-0.2, 0.2, P) * edge)
    rng = np.random.default_rng(0)
    row_map = RowMap.of(np.linalg.qr(rng.standard_normal((P, P)))[0] * space.known_lattice.unit, centre, -wide, wide)
    every = np.arange(float(P))
    return [
        ObservedPairs(np.array([float(place.start) for place in space.gaps])),
        ColumnMeans(low, high, WEIGHTS, every),
        ColumnSquares(low, high, np.clip(centre, low, high), WEIGHTS, every),
        CellCounts(every),
        NormCounts(np.array([0.5, 1.0, 1.5]), row_map),
        Moments(1.3, 0.7, row_map),
    ]


def coordinates(query, exact):
    """As the noise sees them: entries above the diagonal count twice."""
    return np.concatenate(
        [values * (np.sqrt(2.0) if name == "off_diagonal" else 1.0) for name, values in exact.items()]
    )


CELL = st.sampled_from([-1.0, 1.0, 0.0, np.nan, 2.0, 9.0, 5.0])


@settings(max_examples=150, deadline=None)
@given(st.lists(CELL, min_size=8, max_size=8), st.booleans())
def test_no_answer_moves_further_than_its_noise_is_made_for(cells, weighted):
    encoder = Encoder(DOMAIN, None, shift=True, marks_gaps=True)
    space = replace(RowSpace.of(DOMAIN, Constant(), None, 1 if weighted else None), weighs=weighted)
    weights = np.array([PERSON_WEIGHT]) if weighted else None
    rows = np.empty((2, encoder.width))
    encoder.encode(np.array(cells).reshape(2, 4), None, rows)
    for query in every_query(space):
        moved = []
        for row in rows:
            statistic = statistic_for(query, space)
            statistic.update(row[None].copy(), weights)
            moved.append(coordinates(query, statistic.answer(query)).astype(float))
        step = step_for(query, space, 1, 1.0, 1e-12)
        assert np.linalg.norm(moved[0] - moved[1]) <= step.sensitivity, type(query).__name__


def test_missing_values_are_marked_and_add_nothing():
    encoder = Encoder(DOMAIN, None, shift=True, marks_gaps=True)
    out = np.empty((1, P))
    encoder.encode(np.array([[np.nan, np.nan, 7.0, 0.0]]), None, out)
    np.testing.assert_array_equal(out[0], [MISSING, 0.0, MISSING, MISSING, MISSING])
    space = RowSpace.of(DOMAIN, Constant(), None)
    _, means, squares, cells, *_ = every_query(space)
    for query, name, zeros in ((means, "means", P), (squares, "squares", P - 1)):
        statistic = statistic_for(query, space)
        statistic.update(out)
        assert np.count_nonzero(statistic.answer(query)[name] == 0) == zeros
    statistic = statistic_for(cells, space)
    statistic.update(out)
    assert statistic.answer(cells)["cells"].sum() == 10  # of column b alone, once a level


def test_refusals():
    with pytest.raises(GuaranteeError, match="must contain zero"):
        ColumnTotals(np.ones(1), np.full(1, 9.0), gaps=True)
    for options in ({"adaptive": False}, {"adaptive": False, "mechanism": "paper", "assume_centered": True}):
        with pytest.raises(InvalidParameter, match="adaptive must be True with columns that declare missing values"):
            gv.release(np.zeros((9, 4)), domain=DOMAIN, budget=gv.Budget(1.0, 1e-6), **options)
    for options in ({"person": "id", "variation": "between"}, {"neighbours": "add-remove"}):
        with pytest.raises(InvalidParameter, match=r"missing must be False with (variation|neighbours)="):
            gv.Domain({"a": gv.Number(0, 1, missing=True)}, **options)
