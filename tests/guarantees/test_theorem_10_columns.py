"""Theorem 10: means, squares, cells and norms move by at most what the noise hides, and by as much for some pair."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import GuaranteeError, InvalidParameter
from graphveil.privacy.mechanisms import step_for
from graphveil.rows.accumulators import CellCounter, ColumnTotals, NormCounter
from graphveil.spec.quantization import CELL_LEVELS, MomentLayout, RowGrid
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, NormCounts, RowMap
from graphveil.spec.row_space import RowSpace
from helpers.exact_sums import exact_sums

MU = 0.25


def squared_move(one, other, domain, query, make):
    """Squared L2 distance of exact answers, as an integer."""
    answers = []
    for source in (one, other):
        _, (statistic,), encoder, _ = exact_sums(source, domain, lambda e: [make(e)])
        (values,) = statistic.answer(query).values()
        answers.append(values)
    return int(((answers[0] - answers[1]) ** 2).sum()), encoder


def hidden(query, encoder, p, rows_per_person):
    """(sd·μ)²: how far the answer may move."""
    space = RowSpace(p, encoder.lattice, MomentLayout(p, None))
    step = step_for(query, space, rows_per_person, MU, 2.0**-70)
    return (Fraction(step.groups[0].sd) * Fraction(MU)) ** 2


def wild_rows(rng, count, p):
    rows = rng.normal(size=(count, p)) * 10.0 ** rng.uniform(-3, 3, size=(count, 1))
    return np.where(rng.random((count, p)) < 0.2, rng.choice([np.nan, np.inf, -np.inf], size=(count, p)), rows)


def random_queries(rng, p, lattice):
    span = float(lattice.levels) if lattice.levels else float(math.isqrt(lattice.row_square))
    low, high = np.full(p, -span), np.full(p, span)
    narrow = rng.random(p) < 0.4
    low[narrow], high[narrow] = np.floor(-span / 9), np.floor(span / 11)
    which = np.flatnonzero(rng.random(p) < 0.7).astype(float)
    which = which if which.size else np.zeros(1)
    weights = np.floor(2.0 ** rng.uniform(0, 20, size=which.size))
    centre = np.floor(rng.uniform(low, high))
    whole = np.full(p, 2.0**20)  # a norm alone: maps have no windows
    windows = (low, high) if lattice.levels else (-whole, whole)
    row_map = RowMap.of(rng.normal(size=(p, p)) / span, np.zeros(p), *windows)
    queries = [
        (ColumnMeans(low, high, weights, which), lambda e: ColumnTotals(low, high)),
        (ColumnSquares(low, high, centre, weights, which), lambda e: ColumnTotals(low, high)),
        (NormCounts(np.geomspace(0.01, 10, 20), row_map), lambda e: NormCounter(queries[2][0])),
    ]
    if lattice.levels:
        queries.append((CellCounts(which), lambda e: CellCounter(queries[3][0], e.lattice.levels)))
    return queries


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 20),
    st.sampled_from([{"bounds": (-1, 1)}, {"bounds": (-1, 5)}, {"data_norm": 1.0}]),
    st.sampled_from([1, 1, 3]),
)
def test_no_pair_moves_an_answer_further_than_the_noise_hides(seed, p, domain, rows_per_person):
    rng = np.random.default_rng(seed)
    domain = gv.Domain(**domain, rows_per_person=rows_per_person, n_features=p)
    common = rng.normal(size=(4, p))
    one, other = (np.vstack([common, wild_rows(rng, rows_per_person, p)]) for _ in range(2))
    for query, make in random_queries(rng, p, RowGrid.of(domain, None)):
        move, encoder = squared_move(one, other, domain, query, make)
        assert move <= hidden(query, encoder, p, rows_per_person), type(query).__name__


@pytest.mark.parametrize("p", [1, 2, 7])
@pytest.mark.parametrize("person", [1, 3])
def test_opposite_corners_attain_the_bound_of_the_means(p, person):
    domain = gv.Domain(bounds=(-1, 1), n_features=p, rows_per_person=person)
    span = np.full(p, float(RowGrid.of(domain, None).levels))
    query = ColumnMeans(-span, span, np.arange(1.0, p + 1), np.arange(float(p)))
    rows = np.full((person, p), 9.0)
    move, encoder = squared_move(rows, -rows, domain, query, lambda e: ColumnTotals(-span, span))
    assert 1 - 1e-8 <= move / hidden(query, encoder, p, person) <= 1


@pytest.mark.parametrize("p", [1, 2, 7])
@pytest.mark.parametrize("person", [1, 3])
def test_the_far_corner_and_the_centre_attain_the_bound_of_the_squares(p, person):
    domain = gv.Domain(bounds=(-1, 1), n_features=p, rows_per_person=person)
    levels = RowGrid.of(domain, None).levels
    span, centre = np.full(p, float(levels)), np.full(p, float(levels // 3))
    query = ColumnSquares(-span, span, centre, np.arange(1.0, p + 1), np.arange(float(p)))
    far, near = np.full((person, p), -9.0), np.full((person, p), (levels // 3) / levels)
    move, encoder = squared_move(far, near, domain, query, lambda e: ColumnTotals(-span, span))
    assert 1 - 1e-8 <= move / hidden(query, encoder, p, person) <= 1


def columns_of_a_ball(p):
    """A domain with a norm alone, its largest coordinate, and weights of which the first is small."""
    domain = gv.Domain(data_norm=1.0, n_features=p)
    span = np.full(p, float(math.isqrt(RowGrid.of(domain, None).row_square)))
    return domain, span, np.append(1.0, np.full(p - 1, 9.0)), np.arange(float(p))


@pytest.mark.parametrize("p", [4, 9])
def test_opposite_rows_attain_the_bound_of_the_means_in_a_ball(p):
    domain, span, weights, which = columns_of_a_ball(p)
    query = ColumnMeans(-span, span, weights, which)
    rows = np.eye(p)[-1:]
    move, encoder = squared_move(rows, -rows, domain, query, lambda e: ColumnTotals(-span, span))
    assert 1 - 1e-4 <= move / hidden(query, encoder, p, 1) <= 1


@pytest.mark.parametrize("p", [4, 9])
def test_orthogonal_rows_attain_the_bound_of_the_squares_in_a_ball(p):
    domain, span, weights, which = columns_of_a_ball(p)
    query = ColumnSquares(-span, span, np.zeros(p), weights, which)
    one, other = np.eye(p)[-2:]
    move, encoder = squared_move(one[None], other[None], domain, query, lambda e: ColumnTotals(-span, span))
    assert 1 - 1e-4 <= move / hidden(query, encoder, p, 1) <= 1


@pytest.mark.parametrize("p", [25, 40])
def test_a_centre_on_the_sphere_counts_in_the_bound_of_the_squares(p):
    """The row opposite to the centre against the centre itself: half of the squared bound, four times that of c = 0."""
    domain, span, weights, which = columns_of_a_ball(p)
    rows = np.eye(p)[-1:]
    query = ColumnSquares(-span, span, -span * rows[0], weights, which)
    move, encoder = squared_move(rows, -rows, domain, query, lambda e: ColumnTotals(-span, span))
    assert 0.5 - 1e-4 <= move / hidden(query, encoder, p, 1) <= 0.5


@pytest.mark.parametrize("person", [1, 3])
def test_two_rows_in_different_bins_attain_the_bound_of_the_counts(person):
    domain = gv.Domain(bounds=(-1, 1), n_features=1, rows_per_person=person)
    span = np.full(1, float(RowGrid.of(domain, None).levels))
    query = NormCounts(np.array([0.5]), RowMap.of(np.eye(1) / span, np.zeros(1), -span, span))
    one, other = np.ones((person, 1)), np.zeros((person, 1))
    move, encoder = squared_move(one, other, domain, query, lambda e: NormCounter(query))
    assert move == 2 * person**2 == round(hidden(query, encoder, 1, person))
    cells = CellCounts(np.zeros(1))
    move, encoder = squared_move(one, -one, domain, cells, lambda e: CellCounter(cells, e.lattice.levels))
    assert move == 2 * len(CELL_LEVELS) * person**2 == round(hidden(cells, encoder, 1, person))


def test_squares_expand_to_the_direct_sum():
    rng = np.random.default_rng(0)
    rows = rng.integers(-50, 51, size=(300, 4)).astype(float)
    low, high = np.array([-50.0, -20, -50, -5]), np.array([50.0, 30, 50, 50])
    totals = ColumnTotals(low, high)
    totals.update(rows[:100])
    totals.update(rows[100:])
    centre, weights, which = np.array([3.0, -7, 50, 0]), np.array([5.0, 9.0]), np.array([1.0, 3.0])
    direct = ((np.clip(rows, low, high) - centre) ** 2).sum(axis=0)[[1, 3]] * weights
    found = totals.answer(ColumnSquares(low, high, centre, weights, which))["squares"]
    np.testing.assert_array_equal(found.astype(float), direct)


def test_cells_are_counts_of_the_lattice():
    domain = gv.Domain(bounds=(-1, 1), n_features=1)
    rows = np.random.default_rng(1).uniform(-1, 1, size=(5000, 1))
    query = CellCounts(np.zeros(1))
    _, (statistic,), _, _ = exact_sums(rows, domain, lambda e: [CellCounter(query, e.lattice.levels)])
    counts, start = statistic.answer(query)["cells"].astype(float), 0
    for level in CELL_LEVELS:
        expected, _ = np.histogram(rows, bins=2**level, range=(-1, 1))
        assert np.abs(np.cumsum(counts[start : start + 2**level]) - np.cumsum(expected)).max() <= 3  # rounding at edges
        start += 2**level


def test_cells_are_counted_between_bounds_alone():
    """Of rows that have a norm instead, a coordinate could be beyond the last cell."""
    lattice = RowGrid.of(gv.Domain(data_norm=1.0, n_features=1), None)
    space = RowSpace(1, lattice, MomentLayout(1, None))
    with pytest.raises(GuaranteeError, match="between bounds"):
        step_for(CellCounts(np.zeros(1)), space, 1, MU, 2.0**-70)


def test_questions_that_are_not_proved_are_refused():
    one = np.ones(1)
    for make in (
        lambda: ColumnMeans(-one, one, one * 0.5, one * 0),
        lambda: ColumnMeans(-one, one, one * 2.0**21, one * 0),
        lambda: ColumnMeans(-one, one, one, one),
        lambda: ColumnMeans(one, -one, one, one * 0),
        lambda: ColumnMeans(-one, one, np.ones(2), np.zeros(2)),  # a column twice: the ball's bound counts it once
        lambda: ColumnSquares(-one, one, one * 5, one, one * 0),
        lambda: ColumnSquares(-one, one, one * 0.5, one, one * 0),
        lambda: NormCounts(np.array([2.0, 1.0]), RowMap.of(np.eye(1), 0 * one, -one, one)),
    ):
        with pytest.raises(InvalidParameter):
            make()
