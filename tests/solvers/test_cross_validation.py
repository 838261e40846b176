"""The choice of a penalty by cross-validation, as the paper's tables have it."""

import numpy as np
import pytest
from sklearn.covariance import GraphicalLassoCV

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.solvers import choose_alpha, graphical_lasso_path, ridge_precision


def test_the_chosen_penalty_has_the_least_held_out_loss():
    rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, 8), 62, random_state=0)
    grid, losses = np.geomspace(1e-4, 1, 9), np.zeros(9)
    for fold in np.array_split(np.arange(62), 5):
        kept, held_out = np.delete(rows, fold, axis=0), rows[fold]
        for k, alpha in enumerate(grid):
            theta = ridge_precision(kept.T @ kept / len(kept), alpha)
            losses[k] += gv.metrics.negative_log_likelihood(theta, held_out.T @ held_out / len(held_out))
    assert 0 < losses.argmin() < 8
    assert choose_alpha(rows, grid, ridge_precision) == grid[losses.argmin()]
    assert choose_alpha(rows, grid, lambda S, alphas: [ridge_precision(S, a) for a in alphas]) == grid[losses.argmin()]


def test_it_agrees_with_scikit_learn():
    rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, 8), 500, random_state=0)
    grid = np.geomspace(0.5, 1e-3, 20)
    ours = choose_alpha(rows, grid, graphical_lasso_path)
    theirs = GraphicalLassoCV(alphas=grid, assume_centered=True, cv=5).fit(rows).alpha_
    assert abs(np.log(ours / theirs)) < np.log(4)  # an unpenalised diagonal: near, not equal


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rows": np.ones(5)}, "rows must be"),
        ({"alphas": [0.1, 0.0]}, "alphas must be"),
        ({"folds": 1}, "folds must be"),
        ({"folds": 41}, "folds must be"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong, says):
    options = {"rows": np.ones((40, 2)), "alphas": [0.1], "solver": ridge_precision} | wrong
    with pytest.raises(InvalidParameter, match=says):
        choose_alpha(**options)
