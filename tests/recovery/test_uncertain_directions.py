"""What is published of directions whose variance is hardly known."""

import numpy as np
import pytest

from graphveil.protocol.parameters import PROTOCOL
from graphveil.recovery.uncertain_directions import least_risky_variance, raise_uncertain_directions


@pytest.mark.parametrize(("found", "sd"), [(0.0, 0.3), (0.2, 0.3), (1.0, 0.3), (2.0, 0.01), (0.01, 1.0)])
def test_the_expected_squared_relative_error_is_least(found, sd):
    """Of λ > 0 near ``found``: no other number of a grid has a smaller mean of (λ/c - 1)²."""
    (published,) = least_risky_variance(np.array([found]), np.array([sd]))
    grid = np.linspace(1e-6, found + 8.0 * sd, 100_000)
    weight = np.exp(-0.5 * ((grid - found) / sd) ** 2)
    risks = [np.average((grid / c - 1.0) ** 2, weights=weight) for c in published * np.array([1.0, 0.98, 1.02])]
    assert np.argmin(risks) == 0


def test_a_variance_that_is_nothing_but_noise_is_its_half_normal_mean():
    assert least_risky_variance(np.zeros(1), np.ones(1)) == pytest.approx(np.sqrt(np.pi / 2.0))


def test_nothing_moves_where_noise_is_that_of_most_columns_and_nothing_is_missing():
    correlated = 0.2 + 0.8 * np.eye(5)
    assert raise_uncertain_directions(correlated, np.full(5, 0.3), np.zeros(5)) is correlated


def test_two_columns_of_which_much_is_missing_do_not_look_like_one():
    scale = np.array([10.0, 0.1, 1.0, 1.0])
    correlation = np.eye(4)
    correlation[0, 1] = correlation[1, 0] = 0.999
    covariance = correlation * np.outer(scale, scale)
    raised = raise_uncertain_directions(covariance, np.zeros(4), np.array([0.8, 0.8, 0.0, 0.0]))
    assert np.diag(raised) == pytest.approx(scale**2)
    # Of (1, -1)/√2 the sd is c·ℓ: a pair's correlation may be off by that.
    lost = PROTOCOL.lost_correlation * 0.8
    expected = least_risky_variance(np.array([0.001]), np.array([lost]))
    assert 1.0 - raised[0, 1] / (scale[0] * scale[1]) == pytest.approx(expected[0], rel=0.1)
    assert raised[2, 3] == raised[0, 2] == 0.0


def test_columns_that_noise_hides_do_not_look_like_one():
    correlation = np.array([[1.0, 0.99, 0.0, 0.0], [0.99, 1.0, 0.0, 0.0], [0, 0, 1.0, 0.0], [0, 0, 0, 1.0]])
    noise = np.array([0.5, 0.5, 0.01, 0.01])
    raised = raise_uncertain_directions(correlation, np.r_[noise[:2], np.full(2, 0.01)], np.zeros(4))
    assert raised[0, 1] < 0.6
    one = raise_uncertain_directions(np.eye(1), np.ones(1), np.ones(1))
    assert one == pytest.approx(np.eye(1))


def test_singular_correlations_become_definite():
    ones = np.ones((3, 3))
    raised = raise_uncertain_directions(ones + 1e-14 * np.eye(3), np.zeros(3), np.zeros(3))
    assert np.linalg.eigvalsh(raised)[0] > 0.0
