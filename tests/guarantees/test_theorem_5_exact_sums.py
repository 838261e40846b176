"""Theorem 5: moments are exact integers, the same to the last bit whatever the order, batches, merges or dtype."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import GuaranteeError
from graphveil.rows.exact_sums import ExactMoments, join_words, split_words
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import EXACT_ROWS, MAX_SQUARE
from helpers.exact_sums import encoded, exact_moments, exact_total

DOMAINS = [gv.Domain(bounds=(-3, 3)), gv.Domain(bounds=(-3, 4), data_norm=1.5), gv.Domain(data_norm=2.5)]


def python_total(rows, domain, augment=None, codes=None):
    """The same sum in Python integers, the slow and obvious way."""
    integers = np.array([[int(v) for v in row] for row in encoded(rows, domain, augment, codes)], dtype=object)
    return integers.T @ integers


@pytest.mark.parametrize("domain", DOMAINS, ids=["box", "box+ball", "ball"])
@pytest.mark.parametrize("augment", [None, Constant()], ids=["plain", "mean"])
def test_equal_to_python_integers(domain, augment):
    rows = np.random.default_rng(1).normal(size=(200, 7))
    np.testing.assert_array_equal(exact_total(rows, domain, augment), python_total(rows, domain, augment))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 300), st.sampled_from(DOMAINS))
def test_permutations_and_batches(seed, p, n, domain):
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(2, size=(n, p))
    expected = exact_total(rows, domain)
    size = int(rng.integers(1, n + 1))
    batches = [rows[start : start + size] for start in range(0, n, size)]
    rng.shuffle(batches)
    for other in (rows[rng.permutation(n)], batches, np.asfortranarray(rows), rows[::-1], np.repeat(rows, 2, 0)[::2]):
        np.testing.assert_array_equal(exact_total(other, domain), expected)


def test_every_batch_size_from_one_to_n():
    rows = np.random.default_rng(2).normal(size=(37, 5))
    expected = exact_total(rows, DOMAINS[0])
    for size in range(1, 38):
        batches = [rows[start : start + size] for start in range(0, 37, size)]
        np.testing.assert_array_equal(exact_total(batches, DOMAINS[0]), expected)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_merges_in_any_tree(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 4))
    expected = exact_total(rows, DOMAINS[1])
    cuts = np.sort(rng.integers(0, 61, size=6))
    parts = [exact_moments(piece, DOMAINS[1])[0] for piece in np.split(rows, cuts)]
    while len(parts) > 1:
        i, j = rng.choice(len(parts), size=2, replace=False)
        parts[i].merge(parts[j])
        del parts[j]
    np.testing.assert_array_equal(parts[0].total(), expected)


def test_dtypes_and_layouts_that_hold_the_same_values():
    rows = np.random.default_rng(3).integers(-3, 4, size=(100, 6))
    expected = exact_total(rows.astype(float), DOMAINS[2])
    same = [rows.astype(kind) for kind in ("f2", "f4", "f8", ">f8", "i1", "i2", "i4", "i8", ">i4", "longdouble")]
    same += [np.asfortranarray(rows), np.ma.array(rows), rows.view(np.matrix), np.lib.stride_tricks.as_strided(rows)]
    packed = np.empty(100, dtype=[("pad", "u1"), ("x", "f8", 6)])  # unaligned float64
    packed["x"] = rows
    same.append(packed["x"])
    read_only = rows.astype(float)
    read_only.flags.writeable = False
    for other in [*same, read_only]:
        np.testing.assert_array_equal(exact_total(other, DOMAINS[2]), expected)
    positive = np.abs(rows)
    for kind in ("u1", "u8"):
        np.testing.assert_array_equal(
            exact_total(positive.astype(kind), DOMAINS[2]), exact_total(positive.astype(float), DOMAINS[2])
        )
    flags = rows > 0
    np.testing.assert_array_equal(exact_total(flags, DOMAINS[0]), exact_total(flags.astype(float), DOMAINS[0]))


class Refilled:
    """Batches that all live in the same array, one after the other."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        array = np.empty_like(self.batches[0])
        for batch in self.batches:
            array[:] = batch
            yield array
        array[:] = 3.0


def test_every_row_counts_once_when_the_source_refills_an_array():
    rows = np.random.default_rng(6).normal(size=(50, 2000, 3))
    for domain in DOMAINS:
        np.testing.assert_array_equal(exact_total(Refilled(rows), domain), exact_total(rows.reshape(-1, 3), domain))


def test_wide_rows_take_the_other_path_to_the_same_bits():
    rows = np.random.default_rng(4).normal(size=(50, 1100))
    domain = gv.Domain(bounds=(-3, 3))
    expected = encoded(rows, domain)
    np.testing.assert_array_equal(exact_total(rows, domain).astype(float), expected.T @ expected)


def test_partial_sums_reach_the_last_exact_integer():
    """The worst case: 2¹³ rows of squared norm 2⁴⁰ sum to 2⁵³, and one row more must be counted right too."""
    assert EXACT_ROWS * MAX_SQUARE <= 2**53
    moments = ExactMoments(1)
    moments.update(np.full((EXACT_ROWS, 1), 2.0**20))
    moments.update(np.array([[1.0]]))
    assert moments.total()[0, 0] == EXACT_ROWS * MAX_SQUARE + 1


@pytest.mark.parametrize("seed", range(10))
def test_long_sums_of_odd_numbers_are_exact(seed):
    """Odd products near 2⁴⁰, in blocks of every size: one bit lost anywhere would show."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [2.0**20 - 1 - 2 * rng.integers(0, 50, size=40_000), 2.0 * rng.integers(0, 9, size=40_000) + 1]
    )
    moments, start = ExactMoments(2), 0
    while start < len(rows):
        size = int(rng.integers(1, EXACT_ROWS + 1))
        moments.update(rows[start : start + size])
        start += size
    integers = rows.astype(np.int64).astype(object)
    np.testing.assert_array_equal(moments.total(), integers.T @ integers)


def test_totals_beyond_two_to_the_23_rows_and_beyond_int64():
    block = np.tile([[2.0**20, 0.0], [-(2.0**19), 2.0**19]], (EXACT_ROWS // 2, 1))
    integers = block.astype(np.int64).astype(object)
    one = integers.T @ integers
    moments = ExactMoments(2)
    for _ in range(2100):  # 17 million rows: the diagonal passes 2⁶³
        moments.update(block)
    assert 2100 * EXACT_ROWS > 2**23
    np.testing.assert_array_equal(moments.total(), one * 2100)
    assert moments.total()[0, 0] > 2**63
    assert moments.total()[0, 1] < -(2**61)
    for _ in range(20):
        moments.merge(moments)
    np.testing.assert_array_equal(moments.total(), one * 2100 * 2**20)


def test_second_moment_is_close_to_the_float_one():
    """Quantization is harmless: noise-free moments agree with floats to 1e-5 relative."""
    rows = np.clip(np.random.default_rng(5).normal(size=(5000, 20)), -3, 3)
    moments, encoder, _ = exact_moments(rows, DOMAINS[0])
    scaled = moments.total().astype(float) * encoder.lattice.unit**2 * 9 / len(rows)
    np.testing.assert_allclose(scaled, rows.T @ rows / len(rows), atol=1e-5)


def test_unreleased_moments_stay_inside():
    import copy
    import pickle

    moments = exact_moments(np.full((10, 2), 0.123), DOMAINS[0])[0]
    assert repr(moments) == str(moments) == "<ExactMoments: unreleased, not shown>"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GuaranteeError, match="cannot be pickled or copied"):
            leak(moments)


# ------------------------------------------------------------------ sums that travel
def test_words_of_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    rows = np.rint(rng.uniform(-(2**19), 2**19, size=(5000, 3)))
    words, whole = 0, ExactMoments(3)
    for part in np.array_split(rows, 7):
        moments = ExactMoments(3)
        moments.update(part)
        words = words + moments.to_words()
    whole.add_from_words(words)
    exact = rows.astype(np.int64).astype(object)
    np.testing.assert_array_equal(whole.total(), exact.T @ exact)
    whole.update(rows)  # and it goes on from there
    np.testing.assert_array_equal(whole.total(), 2 * (exact.T @ exact))


def test_low_words_of_four_million_parts_are_carried():
    moments = ExactMoments(1)
    moments.add_from_words(np.array([-5, (2**40 - 1) * 2**22]))
    assert moments.total()[0, 0] == -5 * 2**40 + (2**40 - 1) * 2**22


def test_split_and_join_are_inverse():
    values = np.array([0, 1, -1, 2**40, -(2**40), 2**100 - 1, -(2**100), 2**62], dtype=object)
    assert join_words(split_words(values)).tolist() == values.tolist()
    assert join_words(2 * split_words(values)).tolist() == (2 * values).tolist()
