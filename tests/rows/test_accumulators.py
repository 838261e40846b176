"""What every statistic owes, whatever it sums: one suite, which each of them runs on queries of real releases."""

import copy
import inspect
import pickle
from functools import reduce

import numpy as np
import pytest

from graphveil.exceptions import GuaranteeError
from graphveil.rows.accumulators import Count, statistic_for
from graphveil.rows.statistic import Statistic
from graphveil.rows.weights import own_weights
from graphveil.spec.queries import Moments, NormCounts, TotalWeight
from graphveil.spec.row_space import RowSpace
from helpers.exact_sums import encoded
from helpers.reference_releases import EVERY_KIND, EXPECTED, ROWS, WEIGHTS

ADAPTIVE, NORM, GAPS = (EXPECTED[name] for name in ("adaptive", "a private norm", "missing values"))
PLAIN = RowSpace.of(ADAPTIVE.domain, None, None)
UNKNOWN_NORM = RowSpace(4, None, PLAIN.layout)


def cases_of(made):
    """The queries of a release on its encoded rows, by name."""
    space, rows = RowSpace.of(made.domain, made.augment, None), encoded(ROWS, made.domain, marks_gaps=True)
    asked = [answer.query for answer in made.answers if not is_raw(answer.query)]
    return {f"{type(query).__name__} {number}": (query, space, rows) for number, query in enumerate(asked)}


def is_raw(query):
    """Whether a query is about rows whose norm is not known yet."""
    return isinstance(query, NormCounts) and query.row_map is None


CASES = {
    "plain moments": (Moments(ADAPTIVE.domain.radius), PLAIN, encoded(ROWS, ADAPTIVE.domain)),
    "raw norms": (NORM.answers[0].query, UNKNOWN_NORM, np.nan_to_num(ROWS)),
    **{f"adaptive: {name}": case for name, case in cases_of(ADAPTIVE).items()},
    **{f"missing values: {name}": case for name, case in cases_of(GAPS).items()},
    **{f"private norm: {name}": case for name, case in cases_of(NORM).items()},
    "weights": (TotalWeight(), PLAIN, own_weights(WEIGHTS, 3.0)[:, None].astype(np.float64)),
}

every_statistic = pytest.mark.parametrize("case", CASES)


def sum_up(case, *blocks):
    query, space, _ = CASES[case]
    statistic = statistic_for(query, space)
    for block in blocks:
        weights = block[:, 0].astype(np.int64) // 3 if isinstance(query, TotalWeight) else None
        statistic.update(np.ascontiguousarray(block), weights)
    return statistic


def assert_same(statistic, other, case):
    query = CASES[case][0]
    one, two = statistic.answer(query), other.answer(query)
    assert one.keys() == two.keys()
    for name in one:
        assert one[name].tolist() == two[name].tolist()  # integers of any size
        assert all(type(value) is int for value in one[name].tolist())


def test_every_statistic_is_here():
    assert {type(query) for query, _, _ in CASES.values()} == EVERY_KIND
    direct = Statistic.__subclasses__()
    every = [*direct, *(kind for base in direct for kind in base.__subclasses__())]
    ours = {kind for kind in every if kind.__module__.startswith("graphveil.") and not inspect.isabstract(kind)}
    assert {type(sum_up(case)) for case in CASES} | {Count} == ours  # which holds a number, and sums nothing


@every_statistic
def test_order_and_batches_change_nothing(case):
    rows = CASES[case][2]
    shuffled = rows[np.random.default_rng(0).permutation(len(rows))]
    assert_same(sum_up(case, rows), sum_up(case, *np.array_split(shuffled, 13), rows[:0]), case)


@every_statistic
def test_merged_parts_are_the_whole(case):
    rows = CASES[case][2]
    parts = [sum_up(case, part) for part in (rows[:1], rows[1:1], rows[1:2000], rows[2000:])]

    def merge(one, other):
        one.merge(other)
        return one

    assert_same(sum_up(case, rows), reduce(merge, reversed(parts)), case)


@every_statistic
def test_parts_that_travelled_as_words_are_the_whole(case):
    rows = CASES[case][2]
    words = sum(sum_up(case, part).to_words() for part in np.array_split(rows, 5))
    assert words.dtype == np.int64
    whole = sum_up(case)
    whole.add_from_words(words)
    assert_same(sum_up(case, rows), whole, case)


@every_statistic
def test_a_few_rows_more_are_noticed(case):
    """The control: the comparison above sees the farthest rows, one of which reaches beyond what clipping cuts off."""
    rows = CASES[case][2]
    farthest = sorted({*np.argmax(rows, axis=0), *np.argmin(rows, axis=0)})
    with pytest.raises(AssertionError):
        assert_same(sum_up(case, rows), sum_up(case, rows, rows[farthest]), case)


@every_statistic
def test_nothing_unreleased_is_shown_or_leaves(case):
    statistic = sum_up(case, CASES[case][2])
    assert repr(statistic) == str(statistic) == f"<{type(statistic).__name__}: unreleased, not shown>"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GuaranteeError, match="cannot be pickled or copied"):
            leak(statistic)
