"""The values and the residual that everything else is judged by."""

import numpy as np
import pytest

from graphveil.solvers import graphical_lasso
from graphveil.solvers.objectives import dual_objective, duality_gap, kkt_residual, objective
from helpers.problems import make, symmetric_noise


def test_objective_by_hand():
    S, theta = make("definite", 8, 0), np.linalg.inv(make("definite", 8, 1))
    theta = (theta + theta.T) / 2
    smooth = -np.linalg.slogdet(theta)[1] + np.trace(S @ theta)
    total = np.abs(theta).sum()
    assert objective(theta, S, 0.3) == pytest.approx(smooth + 0.3 * total)
    off = total - np.abs(theta.diagonal()).sum()
    assert objective(theta, S, 0.3, penalize_diagonal=False) == pytest.approx(smooth + 0.3 * off)


def test_outside_their_domains():
    S = np.eye(2)
    assert objective(-np.eye(2), S, 0.1) == np.inf
    assert kkt_residual(-np.eye(2), S, 0.1) == np.inf
    assert dual_objective(2 * np.eye(2), S, 0.1) == -np.inf
    assert dual_objective(1.1 * np.eye(2), S, 0.1) == pytest.approx(2 + 2 * np.log(1.1))
    assert duality_gap(np.eye(2) / 1.1, 1.1 * np.eye(2), S, 0.1) == pytest.approx(0, abs=1e-14)


def test_kkt_residual_is_zero_at_the_minimiser_and_not_elsewhere():
    S = make("definite", 10, 0)
    best = graphical_lasso(S, 0.1, tol=1e-13).precision
    assert kkt_residual(best, S, 0.1) < 1e-5
    assert kkt_residual(1.01 * best, S, 0.1) > 5e-3
    nudged = best + 0.01 * symmetric_noise(np.random.default_rng(0), 10)
    assert kkt_residual(nudged, S, 0.1) > 5e-3
