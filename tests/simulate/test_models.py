"""The paper's Models 1 to 4, entry by entry against section 5.1."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter

PS = [1, 2, 3, 7, 20, 60]
ALL = [(number, p, seed) for number in (1, 2, 3, 4) for p in PS for seed in (0, 1, 2)]


@pytest.mark.parametrize(("number", "p", "seed"), ALL)
def test_symmetric_and_positive_definite(number, p, seed):
    theta = gv.simulate.paper_model(number, p, seed)
    assert theta.shape == (p, p)
    assert theta.dtype == np.float64
    np.testing.assert_array_equal(theta, theta.T)
    np.linalg.cholesky(theta)


@pytest.mark.parametrize("p", PS)
def test_model_1_is_the_gram_matrix_of_ten_thousand_normals(p):
    W = np.random.default_rng(5).standard_normal((p, 10_000))
    np.testing.assert_allclose(gv.simulate.paper_model(1, p, 5), W @ W.T / 10_000, rtol=1e-12)


def test_model_1_has_the_moments_of_a_wishart_matrix():
    """E θ_ij = 1{i=j}; 10⁴ Var θ_ij = 1 off the diagonal and 2 on it."""
    theta = gv.simulate.wishart_precision(100, random_state=0)
    off = theta[np.triu_indices(100, k=1)]  # 4950 uncorrelated entries
    assert abs(off.mean()) < 4 * 0.01 / np.sqrt(4950)
    assert 1e4 * off.var() == pytest.approx(1, rel=5 * np.sqrt(2 / 4950))
    assert np.diag(theta).mean() == pytest.approx(1, abs=4 * 0.01 * np.sqrt(2 / 100))


@pytest.mark.parametrize("p", PS)
def test_model_2_entries_and_spectrum(p):
    theta = gv.simulate.paper_model(2, p)
    expected = [[1.0 if i == j else 0.5 for j in range(p)] for i in range(p)]
    np.testing.assert_array_equal(theta, expected)
    np.testing.assert_allclose(np.linalg.eigvalsh(theta), [0.5] * (p - 1) + [(p + 1) / 2], rtol=1e-12)


@pytest.mark.parametrize("p", PS)
def test_model_3_entries_and_spectrum(p):
    theta = gv.simulate.paper_model(3, p)
    entry = {0: 1.0, 1: 0.5, 2: 0.25}
    expected = [[entry.get(abs(i - j), 0.0) for j in range(p)] for i in range(p)]
    np.testing.assert_array_equal(theta, expected)
    spectrum = np.linalg.eigvalsh(theta)
    assert spectrum[0] > 0.25
    assert spectrum[-1] < 2.5


@pytest.mark.parametrize("p", [2, 3, 7, 20, 60])
@pytest.mark.parametrize("seed", range(5))
def test_model_4_has_condition_number_p_unit_diagonal_and_one_size_of_edge(p, seed):
    theta = gv.simulate.paper_model(4, p, seed)
    np.testing.assert_array_equal(np.diag(theta), 1)
    off = theta[~np.eye(p, dtype=bool)]
    if not off.any():
        np.testing.assert_array_equal(theta, np.eye(p))
        return
    assert np.unique(off[off != 0]).size == 1
    assert off.max() > 0
    assert np.linalg.cond(theta) == pytest.approx(p, rel=1e-9)


def test_model_4_undone_gives_back_the_printed_matrix():
    """Θ·α = A + αI with entries 0.5: α = 0.5/θ_edge solves the paper's condition on A itself."""
    theta = gv.simulate.paper_model(4, 20, 0)
    alpha = 0.5 / theta[theta < 1].max()
    A = alpha * (theta - np.eye(20))
    assert set(np.round(A.ravel(), 12)) == {0.0, 0.5}
    spectrum = np.linalg.eigvalsh(A + alpha * np.eye(20))
    assert spectrum[-1] / spectrum[0] == pytest.approx(20)


def test_model_4_with_two_variables_in_closed_form():
    """The one edge, if there: λ(A) = ±½, α = (½ + 2·½)/(2 − 1) = 3/2, θ_12 = ½/α = 1/3."""
    values = {round(float(gv.simulate.paper_model(4, 2, seed)[0, 1]), 12) for seed in range(60)}
    assert values == {0.0, round(1 / 3, 12)}


def test_model_4_joins_a_tenth_of_the_pairs():
    rng = np.random.default_rng(0)
    joined = sum(np.count_nonzero(np.triu(gv.simulate.paper_model(4, 30, rng), 1)) for _ in range(50))
    pairs = 50 * 30 * 29 / 2
    assert abs(joined / pairs - 0.1) < 4 * np.sqrt(0.09 / pairs)


@pytest.mark.parametrize("number", [1, 4])
def test_random_state(number):
    first, again, other = (gv.simulate.paper_model(number, 20, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(gv.simulate.paper_model(number, 20, np.random.default_rng(1)), first)
    assert (gv.simulate.paper_model(number, 20) != gv.simulate.paper_model(number, 20)).any()


def test_a_generator_moves_on():
    rng = np.random.default_rng(1)
    assert (gv.simulate.paper_model(1, 3, rng) != gv.simulate.paper_model(1, 3, rng)).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5), "number must be an integer of at least 1 and at most 4, got 0"),
        ((5, 5), "number must be"),
        (("3", 5), "number must be"),
        ((True, 5), "number must be"),
        ((2, 0), "p must be an integer of at least 1, got 0"),
        ((3, 2.0), "p must be"),
        ((1, 10_001), "p must be an integer of at least 1 and at most 10000, got 10001"),
        ((4, 5, -1), "random_state must be None, an int of at least 0 or a numpy.random.Generator, got -1"),
        ((4, 5, "seed"), "random_state must be"),
        ((4, 5, True), "random_state must be"),
        ((1, 5, np.random.RandomState(0)), "default_rng"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        gv.simulate.paper_model(*arguments)
