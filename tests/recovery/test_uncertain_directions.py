"""What is published of directions whose variance is hardly known."""

import numpy as np
import pytest

from graphveil.recovery.parameters import PROTOCOL
from graphveil.recovery.uncertain_directions import least_risky, raise_uncertain_directions


@pytest.mark.parametrize("found", [0.0, 0.7, 3.0, 200.0])
def test_the_expected_squared_relative_error_is_least(found):
    """Of λ > 0 near ``found``: no other number has a smaller mean of (λ/c - 1)²."""
    (published,) = least_risky(np.array([found]))
    grid = np.linspace(1e-6, found + 8.0, 100_000)
    weight = np.exp(-0.5 * (grid - found) ** 2)
    risks = [np.average((grid / c - 1.0) ** 2, weights=weight) for c in published * np.array([1.0, 0.98, 1.02])]
    assert np.argmin(risks) == 0


def test_nothing_but_noise_is_its_half_normal_mean():
    assert least_risky(np.zeros(1)) == pytest.approx(np.sqrt(np.pi / 2.0))


def test_nothing_moves_where_noise_is_that_of_most_columns_and_nothing_is_missing():
    correlated = 0.2 + 0.8 * np.eye(5)
    assert raise_uncertain_directions(correlated, np.full(5, 0.3), np.zeros(5)) is correlated


@pytest.mark.parametrize("reason", ["missing", "noise"])
def test_two_columns_that_are_hardly_known_do_not_look_like_one(reason):
    """Of (1, -1)/√2 nothing was found but s: √(π/2) s is published, and the other pairs stay."""
    scale = np.array([1e3, 1e-3, 1.0, 1.0, 1.0, 1.0])
    correlation = np.kron(np.eye(3), [[1.0, 0.9], [0.9, 1.0]])
    correlation[:2, :2] = 0.999_99 + 0.000_01 * np.eye(2)
    few = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    missing, noise = (0.8 * few, np.zeros(6)) if reason == "missing" else (np.zeros(6), 0.16 * few)
    raised = raise_uncertain_directions(correlation * np.outer(scale, scale), noise, missing)
    assert np.diag(raised) == pytest.approx(scale**2)
    s, found = PROTOCOL.lost_correlation * 0.8, raised / np.outer(scale, scale)
    assert s == pytest.approx(0.16)
    assert (1.0 - found[0, 1]) / (1.0 + found[0, 1]) == pytest.approx(s * np.sqrt(np.pi / 2.0) / 2.0, rel=0.05)
    np.testing.assert_allclose(found[2:, 2:], correlation[2:, 2:], atol=1e-9)
    np.testing.assert_allclose(found[:2, 2:], 0.0, atol=1e-9)


def test_rounding_decides_nothing():
    """Eigenvectors of equal eigenvalues are arbitrary; what is published does not depend on them."""
    generator = np.random.default_rng(0)
    tiny = 1e-15 * generator.normal(size=(5, 5))
    raised = raise_uncertain_directions(np.eye(5) + tiny + tiny.T, np.full(5, 0.4), np.array([0.0, 1.0, 0.1, 0.5, 0.4]))
    np.testing.assert_allclose(raised, np.eye(5), atol=1e-12)


def test_one_column_keeps_its_variance_and_singular_correlations_become_definite():
    assert raise_uncertain_directions(4.0 * np.eye(1), np.ones(1), np.ones(1)) == pytest.approx(4.0 * np.eye(1))
    raised = raise_uncertain_directions(np.ones((3, 3)), np.zeros(3), np.zeros(3))
    assert np.linalg.eigvalsh(raised)[0] > 0.0
