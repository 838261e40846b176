"""Alternating directions: as printed, with the options, and its certificate."""

import numpy as np
import pytest

from graphveil.exceptions import InvalidParameter, NotConverged, UnboundedProblem
from graphveil.solvers import admm, graphical_lasso
from graphveil.solvers.objectives import alpha_max
from helpers.problems import assert_certified, assert_proves_unbounded, make


def as_printed(S, alpha, rho, iterations):
    """Equations 2.7 to 2.9 word for word, each minimiser checked by its stationarity."""
    p = len(S)
    Z, U = np.zeros((p, p)), np.zeros((p, p))
    for _ in range(iterations):
        values, Q = np.linalg.eigh(rho * (Z - U) - S)
        theta = (Q * ((values + np.sqrt(values**2 + 4 * rho)) / (2 * rho))) @ Q.T
        assert np.allclose(S - np.linalg.inv(theta) + rho * (theta - Z + U), 0, atol=1e-8)
        Z = np.sign(theta + U) * np.maximum(np.abs(theta + U) - alpha / rho, 0)
        U = U + theta - Z
    return Z


@pytest.mark.parametrize("rho", [0.5, 1.0, 3.0])
def test_plain_is_as_printed(rho):
    S = make("indefinite", 15, 1)
    alpha = 0.5 * alpha_max(S)
    solution = admm(S, alpha, rho, tol=None, max_iter=25)
    assert solution.n_iter == 25
    assert solution.reason == "the given number of iterations is done"
    assert np.allclose(solution.precision, as_printed(S, alpha, rho, 25), atol=1e-12)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("relaxation", [1.0, 1.6])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_options_reach_the_same_minimiser(adaptive, relaxation, penalize_diagonal):
    S = make("definite", 20, 2)
    solution = admm(
        S,
        0.1,
        2.0,
        penalize_diagonal=penalize_diagonal,
        adaptive=adaptive,
        relaxation=relaxation,
        tol=1e-11,
        max_iter=9999,
    )
    assert_certified(solution, S, 0.1, penalize_diagonal, 1e-9)
    best = graphical_lasso(S, 0.1, penalize_diagonal=penalize_diagonal, tol=1e-15)
    assert np.abs(solution.precision - best.precision).max() <= 1e-7


def test_starting_at_the_end_takes_one_iteration():
    S = make("definite", 10, 2)
    best = graphical_lasso(S, 0.1, tol=1e-14)
    U = best.dual - S
    assert admm(S, 0.1, 1.0, start=(best.precision, U), tol=1e-6).n_iter == 1


def test_a_stopped_run_is_still_positive_definite_and_says_how_far_it_is():
    S = make("singular", 30, 3)
    for iterations in (1, 2, 5, 50):
        solution = admm(S, 0.05, tol=None, max_iter=iterations)
        assert np.linalg.eigvalsh(solution.precision)[0] > 0
        best = graphical_lasso(S, 0.05, tol=1e-12).objective
        assert solution.objective - best <= solution.gap + 1e-9


def test_gap_is_infinite_without_a_feasible_point():
    S = make("indefinite", 20, 7)
    assert admm(S, 1e-3 * alpha_max(S), tol=None, max_iter=1).gap == np.inf


def test_not_converged_and_unbounded():
    S = make("definite", 10, 0)
    with pytest.raises(NotConverged, match="after max_iter = 3 iterations"):
        admm(S, 0.1, tol=1e-12, max_iter=3)
    S = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(UnboundedProblem) as caught:
        admm(S, 0.1, max_iter=50)
    assert_proves_unbounded(caught.value, S, 0.1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rho": 0.0}, "rho must be a finite number > 0"),
        ({"relaxation": 2.0}, r"relaxation must be a number in \(0, 2\)"),
        ({"relaxation": 0.0}, r"relaxation must be a number in \(0, 2\)"),
        ({"tol": -1.0}, "tol must be None or a finite number > 0"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"start": (np.eye(3), np.eye(3))}, "start must be two matrices of shape"),
    ],
)
def test_refused_arguments(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        admm(np.eye(2), 0.1, **arguments)
