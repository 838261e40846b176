"""Theorem 6: mapped rows are exact, so that each depends on its own record alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.rows.accumulators import MappedMoments, NormCounter, _Mapped
from graphveil.rows.encoding import project_to_ball
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import MomentLayout, RowGrid
from graphveil.spec.queries import ClippedTail, Moments, NormCounts, RowMap
from helpers.exact_sums import encoded, exact_sums

BASE = gv.Domain(bounds=(-3, 3))


def edge(p):
    return float(RowGrid.of(gv.Domain(bounds=(-1, 1), n_features=p), None).levels)


def random_map(rng, p, high=None):
    """A map of wild scales; unless the window is given, with some narrow ones."""
    scale = 10.0 ** rng.uniform(-6, 3, size=(p, 1))
    high = np.where(rng.random(p) < 0.7, edge(p), np.floor(edge(p) / 7)) if high is None else high
    centre = rng.uniform(-0.1, 0.1, size=p) * edge(p)
    return RowMap.of(rng.normal(size=(p, p)) * scale / 2**20, centre, -high, high)


def mapped(rows, row_map, known_edge=np.inf):
    return np.vstack([exact.copy() for _, exact in _Mapped(row_map, known_edge).pieces(rows)])


def integers(values):
    return values.astype(np.int64).astype(object)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_the_product_equals_python_integers(seed, p):
    rng = np.random.default_rng(seed)
    row_map = random_map(rng, p)
    rows = encoded(rng.choice([-9.0, 9.0, 0.3, np.nan], size=(20, p)), BASE)
    inside = np.clip(rows, row_map.low, row_map.high) - row_map.centre
    product = np.ldexp(mapped(rows, row_map), row_map.exponents.astype(int))
    np.testing.assert_array_equal(product.astype(object), integers(inside) @ integers(row_map.integers))
    assert np.abs(product).max() <= 2**52


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([{"bounds": (-3, 3)}, {"data_norm": 2.0}]))
def test_a_clip_that_is_left_out_would_have_changed_nothing(seed, p, limits):
    rng = np.random.default_rng(seed)
    domain = gv.Domain(**limits, n_features=p)
    known_edge = RowGrid.of(domain, None).edge
    rows = encoded(rng.choice([-9.0, 9.0, 0.3, np.nan], size=(20, p)), domain)
    assert np.abs(rows).max() <= known_edge
    wide = random_map(rng, p, np.full(p, known_edge))
    assert not wide.cuts(known_edge)
    np.testing.assert_array_equal(mapped(rows, wide, known_edge), mapped(rows, wide))
    narrow = random_map(rng, p, np.where(np.arange(p) == 0, 9.0, edge(p)))
    assert narrow.cuts(known_edge)
    np.testing.assert_array_equal(mapped(rows, narrow, known_edge), mapped(rows, narrow))


def test_a_map_that_overflows_makes_zeros():
    """Squares beyond float64: the norm is infinite, and the row keeps the ball."""
    row_map = RowMap.of(np.eye(2) * 1e240, np.zeros(2), np.full(2, -edge(2)), np.full(2, edge(2)))
    for query in (Moments(1.0, 0.0, row_map), ClippedTail(row_map, 1.0, 2.0)):
        rows = encoded(np.array([[3.0, 1.0], [0.0, 0.0]]), BASE)
        statistic = MappedMoments(query, query.lattice(2), MomentLayout(2, None))
        statistic.update(rows)
        assert statistic.answer(query)["trace"] == 0


def encode(rows, query, p):
    """Integer rows of a question about moments."""
    lattice = query.lattice(p)
    inner, norm = (query.inner, query.outer) if isinstance(query, ClippedTail) else (0.0, query.radius)
    out = np.empty((len(rows), p))
    project_to_ball(mapped(encoded(rows, BASE), query.row_map), inner, norm, lattice.ball, lattice.row_square, out)
    return out, lattice


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans())
def test_a_mapped_row_depends_on_its_own_record_alone_and_keeps_the_ball(seed, p, excess):
    rng = np.random.default_rng(seed)
    row_map = random_map(rng, p)
    query = ClippedTail(row_map, 0.5, 2.0) if excess else Moments(2.0, 1.0, row_map)
    rows = rng.standard_t(2, size=(33, p))
    together, lattice = encode(rows, query, p)
    alone = np.vstack([encode(rows[i : i + 1], query, p)[0] for i in range(33)])
    np.testing.assert_array_equal(together, alone)
    assert (integers(together) ** 2).sum(axis=1).max() <= lattice.row_square


@pytest.mark.parametrize("p", [1, 3, 12])
def test_rows_at_the_centre_and_on_the_inner_sphere_have_no_excess(p):
    """Norm zero, and norm equal to the inner radius: both encode to zero, never to NaN."""
    span = edge(p)
    row_map = RowMap.of(np.eye(p) / 2.0**20, np.zeros(p), np.full(p, -span), np.full(p, span))
    rows = np.zeros((3, p))
    rows[1, 0], rows[2, 0] = 1.0, np.nan
    (norm,) = np.linalg.norm(mapped(encoded(rows[1:2], BASE), row_map), axis=1)
    out, _ = encode(rows, ClippedTail(row_map, float(norm), 2.0 * float(norm)), p)
    np.testing.assert_array_equal(out, np.zeros((3, p)))


def test_the_appended_constant_is_the_one_that_the_sensitivity_counts():
    row_map = RowMap.of(np.eye(2) / 2.0**20, np.zeros(2), np.full(2, -edge(2)), np.full(2, edge(2)))
    query = Moments(0.5, 0.5, row_map)
    rows, lattice = encode(np.array([[3.0, 1.0]]), query, 2)
    statistic = MappedMoments(query, lattice, MomentLayout(2, Constant()))
    statistic.update(encoded(np.array([[3.0, 1.0]]), BASE))
    np.testing.assert_array_equal(statistic.answer(query)["off_diagonal"][1:].astype(float), rows[0] * lattice.constant)
    assert (rows**2).sum() + lattice.constant**2 <= lattice.total_square


def test_the_ball_is_kept_whatever_the_margin():
    """Rounding outwards without a margin, or a length far too long: the exact check shortens the row."""
    rows = np.random.default_rng(0).normal(size=(200, 7))
    for ball, row_square in ((100.0, 100.0**2), (1e5, 50.0**2), (2.0**20, 0.0)):
        out = np.empty_like(rows)
        project_to_ball(rows, 0.0, 1e-3, ball, row_square, out)
        assert (integers(out) ** 2).sum(axis=1).max() <= row_square


def test_excess_and_moments_add_up_to_the_longer_radius():
    """What is cut off at R and what is kept make up what is kept at R₂, in every direction."""
    rng = np.random.default_rng(0)
    rows = rng.standard_t(3, size=(4000, 4))
    p, span = 4, edge(4)
    row_map = RowMap.of(np.eye(p) / span * 3, np.zeros(p), np.full(p, -span), np.full(p, span))
    parts = []
    for query in (Moments(1.0, 0.0, row_map), ClippedTail(row_map, 1.0, 3.0), Moments(3.0, 0.0, row_map)):
        out, lattice = encode(rows, query, p)
        parts.append(out.T @ out * lattice.unit**2)
    np.testing.assert_allclose(parts[0] + parts[1], parts[2], atol=1e-2)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_every_statistic_is_the_same_for_any_order_and_batches(seed, p):
    rng = np.random.default_rng(seed)
    row_map = random_map(rng, p)
    rows = rng.standard_t(2, size=(500, p))
    moments, excess = Moments(2.0, 1.0, row_map), ClippedTail(row_map, 0.5, 2.0)
    norms = NormCounts(np.geomspace(1e-3, 1e3, 30), row_map)
    queries = [moments, excess, norms]

    def make(_):
        return [
            MappedMoments(moments, moments.lattice(p), MomentLayout(p, Constant())),
            MappedMoments(excess, excess.lattice(p), MomentLayout(p, None)),
            NormCounter(norms),
        ]

    def answers(source):
        _, found, _, _ = exact_sums(source, BASE, make)
        return [statistic.answer(query) for statistic, query in zip(found, queries, strict=True)]

    expected = answers(rows)
    size = int(rng.integers(1, 500))
    for source in (rows[rng.permutation(500)], [rows[i : i + size] for i in range(0, 500, size)]):
        for one, other in zip(answers(source), expected, strict=True):
            for name in other:
                np.testing.assert_array_equal(one[name], other[name])
    assert expected[2]["counts"].sum() == 500, "every row is in exactly one bin"


def test_the_integer_matrix_is_close_to_the_one_that_was_meant():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 30)) * 10.0 ** rng.uniform(-200, 200, size=30)
    row_map = RowMap.of(matrix, np.zeros(30), np.full(30, -9.0), np.full(30, 9.0))
    np.testing.assert_allclose(row_map.matrix, matrix, atol=0, rtol=1e-5)
    assert np.sqrt((row_map.integers**2).sum(axis=0)).min() > 2**29


ONES = np.ones(2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RowMap.of(np.zeros((2, 2)), 0 * ONES, -ONES, ONES), "norms between"),
        (lambda: RowMap.of(np.eye(2) * np.nan, 0 * ONES, -ONES, ONES), "finite"),
        (lambda: RowMap.of(np.eye(2), np.zeros(3), -ONES, ONES), "of its height"),
        (lambda: RowMap.of(np.eye(2), ONES * 2.0**20, -ONES, ONES), "in the ball"),
        (lambda: RowMap.of(np.eye(2) * 1e-300, 0 * ONES, -ONES, ONES), "norms between"),
        (lambda: RowMap.of(np.eye(2), 0 * ONES, ONES, -ONES), "window"),
        (lambda: RowMap.of(np.eye(2), 0 * ONES, -ONES, ONES * 2.0**21), "window"),
        (lambda: RowMap(-ONES, ONES, 0 * ONES, np.eye(2) * 2.0**32, 0 * ONES), "too long"),
        (lambda: RowMap(-ONES, ONES, 0 * ONES, np.eye(2) * 0.5, 0 * ONES), "made of integers"),
        (lambda: RowMap(-ONES, ONES, 0 * ONES, np.eye(2), 1000 * ONES), "too extreme"),
        (lambda: RowMap(-ONES, ONES, 0 * ONES, np.eye(3), 0 * ONES), "vectors of length p"),
    ],
)
def test_maps_that_would_not_be_exact_are_refused(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_a_window_outside_of_the_ball_is_refused():
    """Products are exact only for rows in the ball: a window must lie in it, or be so wide that it changes nothing."""
    whole, matrix = np.full(4, 2.0**20), np.eye(4)
    RowMap.of(matrix, np.zeros(4), -whole, whole)
    RowMap.of(matrix, np.zeros(4), -whole / 2, whole / 2)
    for low, high in [(-whole, whole / 2), (whole, whole), (-whole - 1, whole + 1), (-0.6 * whole, 0.6 * whole)]:
        with pytest.raises(InvalidParameter, match="must lie in the ball of the rows"):
            RowMap.of(matrix, np.zeros(4), np.rint(low), np.rint(high))
