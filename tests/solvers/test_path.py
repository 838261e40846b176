"""The path: equal to single solves, in any order, with the grid that it makes itself."""

import numpy as np
import pytest

from graphveil.exceptions import InvalidParameter, UnboundedProblem
from graphveil.solvers import graphical_lasso, graphical_lasso_path
from graphveil.solvers.objectives import alpha_max, duality_gap
from helpers.problems import assert_certified, make


@pytest.mark.parametrize("kind", ["definite", "singular", "indefinite", "block"])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_equals_single_solves(kind, penalize_diagonal):
    S = make(kind, 40, 6)
    alphas = alpha_max(S) * np.array([0.45, 1.1, 0.7, 0.55, 0.95])
    path = graphical_lasso_path(S, alphas, penalize_diagonal=penalize_diagonal, tol=1e-13)
    assert len(path) == 5
    assert path.alpha_max == alpha_max(S)
    for alpha, point, edges, value in zip(alphas, path, path.n_edges, path.objectives, strict=True):
        assert_certified(point, S, alpha, penalize_diagonal, 1e-13)
        single = graphical_lasso(S, alpha, penalize_diagonal=penalize_diagonal, tol=1e-13)
        assert np.abs(point.precision - single.precision).max() <= 1e-5
        assert edges == single.n_edges == point.n_edges
        assert value == point.objective == pytest.approx(single.objective, abs=1e-10)


def test_default_grid():
    S = make("definite", 30, 1)
    path = graphical_lasso_path(S, n_alphas=7, ratio=0.05)
    assert np.allclose(path.alphas, alpha_max(S) * np.geomspace(1, 0.05, 7))
    assert path[0].n_edges == 0
    assert path[-1].n_edges > 0
    assert path[1:3] == path.solutions[1:3]
    assert repr(path).startswith("Path(7 penalties from ")


def test_a_diagonal_matrix_has_one_point():
    path = graphical_lasso_path(np.diag([1.0, 4.0]))
    assert path.alphas.tolist() == [0.0]
    assert path.alpha_max == 0.0
    assert np.array_equal(path[0].precision, np.diag([1.0, 0.25]))


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
def test_a_fine_grid_takes_one_sweep_a_point_unless_that_is_not_enough(tol):
    S = make("definite", 60, 2)
    alphas = alpha_max(S) * np.geomspace(0.9, 0.3, 30)
    path = graphical_lasso_path(S, alphas, tol=tol)
    for alpha, point in zip(alphas, path, strict=True):
        gap = duality_gap(point.precision, point.dual, S, alpha)
        assert gap - 1e-12 * 60 <= point.gap <= tol * 60
    if tol == 1e-4:
        assert np.mean([point.n_iter == 1 for point in path]) > 0.8


def test_repeated_penalties_and_variances_that_change_scale():
    """The penalty of the diagonal dominates S at first, so that the units of the scaled problem change on the way."""
    S = make("definite", 30, 4) * 1e-2
    alphas = np.repeat(alpha_max(S) * np.geomspace(30, 0.3, 12), 2)
    path = graphical_lasso_path(S, alphas, tol=1e-9)
    for alpha, point in zip(alphas, path, strict=True):
        assert_certified(point, S, alpha, True, 1e-9)


def test_stops_at_the_first_penalty_without_a_minimiser():
    S = make("indefinite", 30, 8)
    with pytest.raises(UnboundedProblem):
        graphical_lasso_path(S, [0.9 * alpha_max(S), 1e-3 * alpha_max(S)])


def test_a_variance_that_only_a_penalty_makes_positive():
    S = np.array([[1.0, 0.3], [0.3, -0.5]])
    path = graphical_lasso_path(S, [1.5, 1.0])
    assert_certified(path[1], S, 1.0, True, 1e-6)
    with pytest.raises(UnboundedProblem):
        graphical_lasso_path(S, [1.5, 0.4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alphas": []}, "alphas must be a non-empty one-dimensional array"),
        ({"alphas": [0.1, -0.1]}, "alphas must be a non-empty one-dimensional array"),
        ({"alphas": [[0.1]]}, "alphas must be a non-empty one-dimensional array"),
        ({"ratio": 1.0}, r"ratio must be a number in \(0, 1\)"),
        ({"n_alphas": 0}, "n_alphas must be an integer of at least 1"),
        ({"tol": 0}, "tol must be a finite number > 0"),
    ],
)
def test_refused_arguments(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        graphical_lasso_path(np.eye(2), **arguments)
