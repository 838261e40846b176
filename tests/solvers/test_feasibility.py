"""Problems without a minimiser, problems with one, and the boundary between them."""

import time

import numpy as np
import pytest

from graphveil._linalg import is_positive_definite
from graphveil.exceptions import NotConverged, UnboundedProblem
from graphveil.solvers import _graphical_lasso, graphical_lasso
from graphveil.solvers.feasibility import (
    Recession,
    interior_point,
    point_in_box,
    recession_value,
    safe_shift,
    soft_threshold,
)
from helpers.problems import assert_certified, assert_proves_unbounded, correlation, make, symmetric_noise


def noisy(p, sigma, seed):
    rng = np.random.default_rng(seed)
    return correlation(rng, p, 2 * p) + sigma * symmetric_noise(rng, p)


def assert_above(safe_alpha, alpha):
    assert safe_alpha > alpha


def box(S, alpha):
    penalty = np.full(S.shape, alpha)
    np.fill_diagonal(penalty, 0.0)
    return penalty


@pytest.mark.parametrize("c", [1.0, 1.5, 10.0])
def test_two_variables_on_both_sides(c):
    """[[1, c], [c, 1]] has a minimiser if and only if c − alpha < 1 (1 + alpha with the diagonal penalised)."""
    S = np.array([[1.0, c], [c, 1.0]])
    edge = c - 1
    assert_certified(graphical_lasso(S, edge + 1e-3, penalize_diagonal=False), S, edge + 1e-3, False, 1e-6)
    for alpha in (edge, edge * 0.999, 0.0):
        with pytest.raises(UnboundedProblem) as caught:
            graphical_lasso(S, alpha, penalize_diagonal=False)
        assert_proves_unbounded(caught.value, S, alpha, False)
        assert edge < caught.value.safe_alpha <= edge + 0.3 * c
    edge = max((c - 1) / 2, 0.0)
    assert_certified(graphical_lasso(S, edge + 1e-3), S, edge + 1e-3, True, 1e-6)
    with pytest.raises(UnboundedProblem):
        graphical_lasso(S, edge * 0.999)


@pytest.mark.parametrize("p", [3, 5, 30])
def test_negative_equicorrelation_on_both_sides(p):
    """S_ij = −c: the best W has −(c − alpha) everywhere and is definite if and only if (p − 1)(c − alpha) < 1.

    The certificate is the all-ones matrix, not visible in any pair of variables.
    """
    c = 0.9
    S = np.full((p, p), -c) + (1 + c) * np.eye(p)
    edge = c - 1 / (p - 1)
    for alpha in (edge * 1.01, edge + 0.01):
        assert_certified(graphical_lasso(S, alpha, penalize_diagonal=False), S, alpha, False, 1e-6)
    for alpha in (edge * 0.99, edge * 0.5):
        with pytest.raises(UnboundedProblem) as caught:
            graphical_lasso(S, alpha, penalize_diagonal=False)
        assert_proves_unbounded(caught.value, S, alpha, False)
        assert caught.value.safe_alpha > edge


@pytest.mark.parametrize("p", [20, 60])
@pytest.mark.parametrize("sigma", [0.1, 0.3])
def test_noise_has_one_threshold(p, sigma):
    """From small alpha to large: refused with proofs, at most one undecided, then solved with certificates."""
    S = noisy(p, sigma, p)
    outcomes = []
    for alpha in sigma * np.linspace(0.05, 2.5, 25):
        try:
            solution = graphical_lasso(S, alpha, penalize_diagonal=False)
        except UnboundedProblem as error:
            assert_proves_unbounded(error, S, alpha, False)
            assert_above(error.safe_alpha, alpha)
            outcomes.append("refused")
        except NotConverged:
            outcomes.append("undecided")
        else:
            assert_certified(solution, S, alpha, False, 1e-6)
            outcomes.append("solved")
    assert outcomes == sorted(outcomes, key=["refused", "undecided", "solved"].index)
    assert outcomes.count("undecided") <= 1
    assert {"refused", "solved"} <= set(outcomes)


@pytest.mark.parametrize("share", [0.40, 0.42])
def test_a_trial_start_that_breaks_down_is_not_the_last_word(share):
    """Sparse enough to be tried without proof, so far from definite that the descent overflows: still refused."""
    S = make("indefinite", 78, 1595784082)
    alpha = share * np.abs(S - np.diag(S.diagonal())).max()
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S, alpha, penalize_diagonal=False)
    assert_proves_unbounded(caught.value, S, alpha, False)


def test_safe_alpha_is_safe_and_useful():
    S = noisy(50, 0.3, 3)
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S, 0.05)
    safe = caught.value.safe_alpha
    assert f"alpha ≥ {safe:.6g}" in str(caught.value)
    assert graphical_lasso(S, safe, tol=1e-3).n_edges > 0
    weights = np.full((50, 50), 0.05)
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S, weights)
    assert caught.value.safe_alpha.shape == (50, 50)
    assert graphical_lasso(S, caught.value.safe_alpha, tol=1e-3).n_edges > 0


def test_only_the_bad_block_is_blamed():
    good, bad = make("definite", 10, 0), noisy(10, 1.0, 0)
    S = np.zeros((20, 20))
    S[:10, :10], S[10:, 10:] = good, bad
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S, 0.01)
    assert_proves_unbounded(caught.value, S, 0.01, True)
    assert not caught.value.certificate[:10].any()
    mixed = np.arange(20).reshape(2, 10).T.ravel()
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S[np.ix_(mixed, mixed)], 0.01)
    assert_proves_unbounded(caught.value, S[np.ix_(mixed, mixed)], 0.01, True)
    assert not caught.value.certificate[mixed < 10].any()


@pytest.mark.parametrize("variance", [0.0, -0.5])
def test_a_variance_that_is_not_positive(variance):
    S = np.diag([1.0, variance, 2.0])
    with pytest.raises(UnboundedProblem, match="No alpha helps") as caught:
        graphical_lasso(S, 0.1, penalize_diagonal=False)
    assert caught.value.safe_alpha is None
    assert_proves_unbounded(caught.value, S, 0.1, False)
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S, 0.0)
    assert caught.value.safe_alpha > -variance
    assert_certified(graphical_lasso(S, caught.value.safe_alpha), S, caught.value.safe_alpha, True, 1e-6)


def test_the_zero_matrix():
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(np.zeros((3, 3)), 0.0)
    assert caught.value.safe_alpha > 0
    assert np.allclose(graphical_lasso(np.zeros((3, 3)), 0.5).precision, 2 * np.eye(3))


def test_a_singular_matrix_without_penalty():
    S = make("singular", 20, 0)
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(S, 0.0)
    assert_proves_unbounded(caught.value, S, 0.0, True)
    assert_certified(graphical_lasso(S, 1e-3), S, 1e-3, True, 1e-6)


def test_units_do_not_matter():
    S = noisy(20, 0.4, 1)
    d = 10.0 ** np.random.default_rng(0).uniform(-30, 30, 20)
    scaled = S * d[:, None] * d
    scaled = (scaled + scaled.T) / 2
    alpha = 0.05 * d[:, None] * d
    with pytest.raises(UnboundedProblem) as caught:
        graphical_lasso(scaled, alpha, penalize_diagonal=False)
    assert_proves_unbounded(caught.value, scaled, alpha, False)


def test_work_is_bounded_at_the_boundary():
    """Bisection into the boundary: every answer is one of the three, and none takes long."""
    S = noisy(40, 0.2, 5)
    low, high = 0.02, 0.6
    for _ in range(12):
        middle = (low + high) / 2
        before = time.process_time()
        try:
            graphical_lasso(S, middle, penalize_diagonal=False, max_iter=200)
            high = middle
        except UnboundedProblem as error:
            assert_proves_unbounded(error, S, middle, False)
            low = middle
        except NotConverged:
            break
        assert time.process_time() - before < 5
    assert high - low < 0.05


@pytest.mark.parametrize(("p", "sigma", "alpha"), [(100, 0.05, 0.06), (100, 0.05, 0.03), (150, 0.1, 0.1)])
def test_a_definite_start_outside_the_box_saves_the_search(p, sigma, alpha, monkeypatch):
    """No point of the box is known at first, and none is looked for."""
    S = noisy(p, sigma, 1)
    assert np.linalg.eigvalsh(S)[0] < -0.3
    assert point_in_box(S, box(S, alpha), np.empty_like(S), np.empty_like(S)) is None
    monkeypatch.setattr(_graphical_lasso, "interior_point", None)
    assert_certified(graphical_lasso(S, alpha, penalize_diagonal=False), S, alpha, False, 1e-6)


def test_interior_point_is_in_the_box():
    for seed in range(10):
        S = noisy(25, 0.15, seed)
        penalty = box(S, 0.2)
        found = interior_point(S, penalty)
        assert isinstance(found, np.ndarray)
        assert np.linalg.eigvalsh(found)[0] > 0
        assert np.all(np.abs(found - S) <= penalty + 1e-15)


def test_recession_value_is_the_largest_over_the_box():
    S, D = noisy(6, 0.5, 0), make("definite", 6, 1)
    penalty = box(S, 0.3)
    value, rounding = recession_value(S, penalty, D)
    corner = S + penalty * np.sign(D)
    assert abs(value - np.sum(corner * D)) <= rounding
    rng = np.random.default_rng(0)
    for _ in range(100):
        U = rng.uniform(-1, 1, (6, 6))
        assert np.sum((S + penalty * (U + U.T) / 2) * D) <= value


def test_safe_shift_has_a_minimiser():
    S = noisy(30, 0.4, 2)
    penalty = box(S, 0.05)
    units = np.ones((30, 30))
    shift = safe_shift(S, penalty, units)
    assert isinstance(interior_point(S, penalty), Recession)
    assert isinstance(interior_point(S + shift * np.eye(30), box(S, 0.05 + shift)), np.ndarray)


def test_soft_threshold_is_the_nearest_to_zero():
    S = np.array([[1.0, 0.5, -0.5], [0.5, 1.0, 0.1], [-0.5, 0.1, 1.0]])
    expected = np.array([[1.0, 0.3, -0.3], [0.3, 1.0, 0.0], [-0.3, 0.0, 1.0]])
    assert np.allclose(soft_threshold(S, box(S, 0.2)), expected, atol=1e-16)


def test_positive_definiteness_agrees_with_the_eigenvalues():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = int(rng.integers(2, 12))
        S = np.eye(p) + rng.uniform(0, 0.6) * symmetric_noise(rng, p)
        assert is_positive_definite(S) == (np.linalg.eigvalsh(S)[0] > 0)
    assert not is_positive_definite(np.ones((3, 3)))
