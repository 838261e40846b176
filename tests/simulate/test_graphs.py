"""Graph families: edges as defined, positive definite, conditioned as asked."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter

FAMILIES = {
    "hub": gv.simulate.hub_precision,
    "scale-free": gv.simulate.scale_free_precision,
    "small-world": gv.simulate.small_world_precision,
    "block": gv.simulate.block_precision,
}
PS = [1, 2, 3, 5, 12, 40]


def edges_of(theta):
    return (theta != 0) & ~np.eye(len(theta), dtype=bool)


def n_edges(theta):
    return int(edges_of(theta).sum()) // 2


def is_connected(edges):
    reached = np.linalg.matrix_power(edges.astype(float) + np.eye(len(edges)), len(edges))
    return bool((reached > 0).all())


def check_precision(theta, p, condition_number):
    np.testing.assert_array_equal(theta, theta.T)
    np.testing.assert_array_equal(np.diag(theta), 1)
    assert theta.shape == (p, p)
    np.linalg.cholesky(theta)
    expected = condition_number if edges_of(theta).any() else 1
    assert np.linalg.cond(theta) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize("condition_number", [1.5, 10, 1e6])
def test_condition_number_is_the_one_asked_for(family, p, condition_number):
    for seed in range(3):
        theta = FAMILIES[family](p, condition_number=condition_number, random_state=seed)
        check_precision(theta, p, condition_number)
        again = FAMILIES[family](p, condition_number=condition_number, random_state=seed)
        np.testing.assert_array_equal(theta, again)


@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize("bandwidth", [0, 1, 2, 5])
@pytest.mark.parametrize("condition_number", [1.5, 10, 1e6])
def test_band(p, bandwidth, condition_number):
    theta = gv.simulate.band_precision(p, bandwidth, condition_number=condition_number)
    check_precision(theta, p, condition_number)
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    np.testing.assert_array_equal(edges_of(theta), (distance > 0) & (distance <= bandwidth))
    for k in range(1, min(bandwidth, p - 1)):  # each diagonal is half of the one before
        np.testing.assert_allclose(theta[0, k + 1], theta[0, k] / 2, rtol=1e-12)


def test_band_tends_to_the_third_model_of_the_paper():
    theta, model = gv.simulate.band_precision(300), gv.simulate.paper_model(3, 300)
    np.testing.assert_allclose(theta, model, atol=1e-3)


def test_largest_condition_number_is_still_positive_definite():
    for family in FAMILIES.values():
        np.linalg.cholesky(family(100, condition_number=1e10, random_state=0))


@pytest.mark.parametrize(("p", "n_hubs"), [(1, 1), (30, 1), (30, 3), (31, 4), (5, 5)])
def test_hub_is_a_forest_of_stars(p, n_hubs):
    theta = gv.simulate.hub_precision(p, n_hubs, random_state=0)
    degrees = np.sort(edges_of(theta).sum(axis=0))
    sizes = [len(group) for group in np.array_split(np.arange(p), n_hubs)]
    assert n_edges(theta) == p - n_hubs
    assert degrees[-1] == max(sizes) - 1
    assert (theta[0, 1 : sizes[0]] != 0).all()


def test_hub_edges_have_the_size_that_the_condition_number_fixes():
    """A star's A has the eigenvalues ±‖a‖, so (1 + t)/(1 − t) = κ for t = ‖θ_hub,leaves‖: t = (κ − 1)/(κ + 1)."""
    theta = gv.simulate.hub_precision(30, condition_number=10, random_state=3)
    assert np.linalg.norm(theta[0, 1:]) == pytest.approx(9 / 11)


@pytest.mark.parametrize(("p", "m"), [(2, 1), (40, 1), (40, 2), (40, 5), (6, 5)])
def test_scale_free_counts(p, m):
    theta = gv.simulate.scale_free_precision(p, m, random_state=0)
    assert n_edges(theta) == m * (m + 1) // 2 + m * (p - m - 1)
    assert edges_of(theta).sum(axis=0).min() >= m
    assert is_connected(edges_of(theta))


def test_scale_free_attaches_by_degree():
    """Mean of the largest degree over seeds: 27 or so for a preferential tree on 200, about 7 for a uniform one."""
    largest = [edges_of(gv.simulate.scale_free_precision(200, random_state=s)).sum(axis=0).max() for s in range(20)]
    assert 16 < np.mean(largest) < 36


@pytest.mark.parametrize(("p", "k"), [(1, 2), (2, 2), (3, 4), (5, 4), (6, 4), (40, 2), (40, 6)])
def test_small_world_without_rewiring_is_the_ring(p, k):
    theta = gv.simulate.small_world_precision(p, k, rewiring=0, random_state=0)
    ring = np.zeros((p, p), dtype=bool)
    for i in range(p):
        for step in range(1, k // 2 + 1):
            if (i + step) % p != i:
                ring[i, (i + step) % p] = ring[(i + step) % p, i] = True
    np.testing.assert_array_equal(edges_of(theta), ring)


@pytest.mark.parametrize("rewiring", [0.1, 0.5, 1.0])
def test_small_world_rewires_the_share_asked_for(rewiring):
    ring = edges_of(gv.simulate.small_world_precision(200, rewiring=0, random_state=0))
    theta = gv.simulate.small_world_precision(200, rewiring=rewiring, random_state=0)
    assert n_edges(theta) == 400
    assert edges_of(theta).sum(axis=0).min() >= 2  # each keeps its own two clockwise edges, wherever they lead
    moved = 1 - (edges_of(theta) & ring).sum() / ring.sum()
    assert moved == pytest.approx(rewiring, abs=0.08)


@pytest.mark.parametrize(("p", "size"), [(1, 10), (12, 5), (10, 1), (9, 3)])
def test_block_inverse_is_block_diagonal_too(p, size):
    theta = gv.simulate.block_precision(p, size, random_state=0)
    block = np.arange(p) // size
    same = np.equal.outer(block, block)
    np.testing.assert_array_equal(theta != 0, same)
    assert np.abs(np.linalg.inv(theta)[~same]).max(initial=0) < 1e-14


def test_precision_from_graph_keeps_the_edges_and_ignores_the_diagonal():
    rng = np.random.default_rng(0)
    for p in PS:
        graph = np.triu(rng.random((p, p)) < 0.3, k=1)
        graph = graph | graph.T
        theta = gv.simulate.precision_from_graph(graph, random_state=1)
        np.testing.assert_array_equal(edges_of(theta), graph)
        check_precision(theta, p, 10)
        np.testing.assert_array_equal(gv.simulate.precision_from_graph(graph + 7.0 * np.eye(p), random_state=1), theta)


def test_edges_have_both_signs_and_sizes_within_a_factor_of_two():
    theta = gv.simulate.block_precision(40, 40, random_state=0)
    off = theta[np.triu_indices(40, k=1)]
    assert abs((off > 0).mean() - 0.5) < 4 * 0.5 / np.sqrt(off.size)
    assert np.abs(off).max() <= 2 * np.abs(off).min()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gv.simulate.hub_precision(5, 6),
            "n_hubs must be an integer of at least 1 and at most 5, got 6",
        ),
        (lambda: gv.simulate.hub_precision(0), "p must be"),
        (
            lambda: gv.simulate.scale_free_precision(5, 5),
            "edges_per_node must be an integer of at least 1 and at most 4, got 5",
        ),
        (lambda: gv.simulate.small_world_precision(9, 3), "n_neighbours must be even"),
        (lambda: gv.simulate.small_world_precision(9, 0), "n_neighbours must be"),
        (lambda: gv.simulate.small_world_precision(9, rewiring=1.5), "rewiring must be .* at most 1, got 1.5"),
        (lambda: gv.simulate.small_world_precision(9, rewiring=-0.1), "rewiring must be"),
        (lambda: gv.simulate.small_world_precision(9, rewiring=np.nan), "rewiring must be"),
        (lambda: gv.simulate.block_precision(9, 0), "block_size must be"),
        (lambda: gv.simulate.band_precision(9, -1), "bandwidth must be"),
        (lambda: gv.simulate.band_precision(9, condition_number=1), "condition_number must be .* above 1 .* got 1"),
        (lambda: gv.simulate.band_precision(1, condition_number=0), "condition_number must be"),
        (lambda: gv.simulate.hub_precision(9, condition_number=np.inf), "condition_number must be"),
        (lambda: gv.simulate.hub_precision(9, condition_number=1e11), "at most 1e\\+10"),
        (lambda: gv.simulate.hub_precision(9, condition_number="ten"), "condition_number must be"),
        (lambda: gv.simulate.precision_from_graph(np.ones((2, 3))), "graph must be a square matrix"),
        (lambda: gv.simulate.precision_from_graph(np.ones((0, 0))), "graph must be a square matrix"),
        (lambda: gv.simulate.precision_from_graph(np.triu(np.ones((3, 3)))), "graph must be symmetric .* G.T"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()
