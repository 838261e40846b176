"""Theorem 18: whatever weights a person's rows have, the person moves no answer farther than one row does."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.rows import weights as weights_module
from graphveil.rows.accumulators import WeightTotals, statistic_for
from graphveil.rows.encoding import Encoder
from graphveil.rows.evaluator import Evaluator
from graphveil.rows.ids import Hasher
from graphveil.rows.people import People
from graphveil.rows.sources import open_source
from graphveil.rows.weights import RowWeights, WeightEncoder, own_weights
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import PERSON_WEIGHT, MomentLayout
from graphveil.spec.queries import ColumnMeans, ObservedPairs, TotalWeight
from graphveil.spec.row_space import RowSpace
from helpers.people import hidden, queries_for, squared_move, wild_rows

LARGEST = 10.0
ODD = [np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 5e-324, 1e-300, 10.0, 10.0000001, 1e300]
CELL = st.one_of(st.sampled_from(ODD), st.floats(0.0, 12.0))


def setting(p):
    domain = gv.Domain(bounds=(-1.0, 1.0), n_features=p, person="id", weight=gv.Weight("w", LARGEST))
    encoder = Encoder(domain, None, shift=True)
    return encoder, RowSpace(p, encoder.lattice, MomentLayout(p, None), weighs=True, hides_total=True)


def answer(query, space, encoder, rows, cells):
    """What all rows of one person come to: counted, weighed, encoded and summed as a release does it."""
    table = np.column_stack([rows, cells])
    keys = Hasher().keys_of(np.full(len(rows), 7))
    people = People()
    people.add(keys)
    if isinstance(query, TotalWeight):
        encoder = WeightEncoder(LARGEST)
    encoded = np.empty((len(rows), encoder.width))
    encoder.encode(table, None, encoded)
    statistic = statistic_for(query, space)
    statistic.update(encoded, RowWeights(people, LARGEST).weigh(table, keys)[0])
    return statistic.answer(query)


def farthest(query, space, pairs, encoder):
    """The largest share of what noise hides that a pair of people moves the answer by, squared."""
    moves = [squared_move(query, *(answer(query, space, encoder, *one) for one in pair)) for pair in pairs]
    return max(Fraction(move) for move in moves) / hidden(query, space)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.lists(CELL, max_size=20),
    st.lists(CELL, max_size=20),
)
def test_people_with_weights_move_no_answer_farther_than_one_row(seed, p, ours, theirs):
    rng = np.random.default_rng(seed)
    encoder, space = setting(p)
    pair = [(wild_rows(rng, len(cells), p), np.array(cells)) for cells in (ours, theirs)]
    queries = [TotalWeight(), ObservedPairs(np.arange(p, dtype=float)), *queries_for(rng, p, encoder.lattice)]
    for query in queries:
        assert farthest(query, space, [pair], encoder) <= 1, type(query).__name__


@pytest.mark.parametrize("m", [1, 2, 3, 1000])
def test_somebody_of_the_largest_weight_moves_the_total_that_far(m):
    encoder, space = setting(1)
    nothing, all_of_it = (np.zeros((m, 1)), np.zeros(m)), (np.zeros((m, 1)), np.full(m, LARGEST))
    reached = farthest(TotalWeight(), space, [(nothing, all_of_it)], encoder)
    assert 1 >= reached > 1 - 4 * Fraction(m, 2**20)


def test_one_row_of_a_huge_weight_moves_what_one_of_the_largest_does():
    rng = np.random.default_rng(0)
    encoder, space = setting(2)
    rows = wild_rows(rng, 3, 2)
    for query in (TotalWeight(), *queries_for(rng, 2, encoder.lattice)):
        huge, largest = (answer(query, space, encoder, rows, np.full(3, w)) for w in (1e300, LARGEST))
        assert squared_move(query, huge, largest) == 0


@pytest.mark.parametrize("largest", [2.0**-490, 0.3, 1.0, 10.0, 1e6, 2.0**490])
def test_own_weights_are_the_floors_of_exact_quotients(largest):
    rng = np.random.default_rng(0)
    cells = np.concatenate([ODD, largest * rng.random(2000), largest * np.arange(65) / 64])
    found = own_weights(cells, largest)
    for cell, weight in zip(cells, found.tolist(), strict=True):
        if np.isnan(cell) or cell <= 0.0:
            assert weight == 0
        else:
            share = min(Fraction(1), Fraction(min(cell, largest)) / Fraction(largest))
            # The quotient is rounded to 53 bits, so it may reach an integer from below.
            assert 0 <= weight - share * PERSON_WEIGHT + 1 <= 1 + Fraction(1, 2**32)
            assert weight <= PERSON_WEIGHT


# ------------------------------------------------------------------ bugs that would be found
def worst_of_all(encoder, space):
    people = [(np.ones((m, 2)), np.full(m, w)) for m, w in ((1, 0.0), (7, 4.0), (3, LARGEST / 3), (7, LARGEST))]
    queries = [TotalWeight(), *queries_for(np.random.default_rng(1), 2, encoder.lattice)]
    pairs = list(combinations(people, 2))
    return max(farthest(query, space, pairs, encoder) for query in queries)


def test_without_a_bug_none_of_these_pairs_is_too_far_apart():
    assert worst_of_all(*setting(2)) <= 1


@pytest.mark.parametrize("bug", ["not divided", "rounded up", "not clipped", "steeper parabola"])
def test_a_planted_bug_is_found(bug, monkeypatch):
    weigh = People.weigh
    if bug == "not divided":
        monkeypatch.setattr(People, "weigh", lambda self, keys, own: (own, 0))
    elif bug == "rounded up":
        monkeypatch.setattr(People, "weigh", lambda self, keys, own: (weigh(self, keys, own)[0] + 1, 0))
    elif bug == "not clipped":
        monkeypatch.setattr(
            weights_module, "own_weights", lambda cells, largest: (cells / 2.0 * PERSON_WEIGHT).astype(np.int64)
        )
    else:
        exact = WeightTotals.answer
        steeper = np.array([1, 2], dtype=object)
        monkeypatch.setattr(
            WeightTotals, "answer", lambda self, query: {"totals": exact(self, query)["totals"] * steeper}
        )
    assert worst_of_all(*setting(2)) > 1


# ------------------------------------------------------------------ the whole private side
def tables():
    """Two tables that differ in all rows of one person."""
    rng = np.random.default_rng(5)
    ids = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    common = pd.DataFrame({"a": rng.normal(size=ids.size), "b": rng.normal(size=ids.size), "id": ids})
    common["w"] = rng.choice([1.0, 3.0, 9.0, -1.0, np.nan, 50.0], size=ids.size)
    ours = pd.DataFrame({"a": [9.0] * 30, "b": [9.0] * 30, "id": 99, "w": [1e300, 10.0] * 15})
    theirs = pd.DataFrame({"a": [np.nan, -9.0], "b": [9.0, -9.0], "id": 99, "w": [0.1, 9.0]})
    return [pd.concat([common, more], ignore_index=True) for more in (ours, theirs)]


@pytest.mark.parametrize("person", [None, "id"])
def test_whole_tables_of_neighbours_differ_by_one_row(person):
    k = 1 if person else 30
    domain = gv.Domain(
        {"a": (-1, 1), "b": (-1, 1)}, person=person, rows_per_person=k, weight=gv.Weight("w", largest=LARGEST)
    )
    evaluators = [Evaluator(open_source(table, domain, None), domain, Constant(), adaptive=True) for table in tables()]
    space = evaluators[0].space
    for query in (TotalWeight(), *queries_for(np.random.default_rng(2), 2, space.known_lattice)[:-1]):
        exact = [evaluator.evaluate([query])[0].answer(query) for evaluator in evaluators]
        assert squared_move(query, *exact) <= k**2 * hidden(query, space), type(query).__name__


def test_the_total_is_what_is_released_and_nothing_else_depends_on_it(monkeypatch):
    """The protocol is told what was released: two tables with the same answer to it are asked the same."""
    asked = []

    class ToldError(Exception):
        pass

    def tell(inputs):
        asked.append(inputs)
        raise ToldError

    monkeypatch.setattr("graphveil.strategies.adaptive_rounds", tell)
    told = np.array([5000, 3000], dtype=object) * PERSON_WEIGHT**2
    monkeypatch.setattr(WeightTotals, "answer", lambda self, query: {"totals": told})
    domain = gv.Domain(bounds=(-1, 1), n_features=2, weight=gv.Weight("w", largest=LARGEST))
    for weight in (0.1, LARGEST):
        with pytest.raises(ToldError):
            gv.release(
                np.zeros((9000, 2)),
                domain=domain,
                budget=gv.Budget(1.0, 1e-6),
                weight=np.full(9000, weight),
                random_state=0,
            )
    assert asked[0] == asked[1]


def test_means_count_from_the_point_of_the_window_next_to_zero():
    _, space = setting(1)
    query = ColumnMeans(np.array([5.0]), np.array([11.0]), np.ones(1), np.zeros(1))
    totals = statistic_for(query, space)
    assert totals.answer(query)["means"] == [0]
    totals.update(np.array([[7.0]]), np.array([100]))
    assert totals.answer(query)["means"] == [200]
