"""The root that the alternating directions need, from one matrix to the next."""

import numpy as np
import pytest

from graphveil.solvers import _quadratic_root
from graphveil.solvers._quadratic_root import QuadraticRoot


def symmetric(rng, p, scale=1.0):
    A = rng.normal(scale=scale, size=(p, p))
    return A + A.T


def residual(theta, M, rho):
    """Of ρΘ − Θ⁻¹ = M, multiplied by Θ."""
    size = np.linalg.norm(rho * theta @ theta) + np.linalg.norm(M @ theta) + 1
    return np.linalg.norm(rho * theta @ theta - M @ theta - np.eye(len(M))) / size


@pytest.mark.parametrize("rho", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("turn", [0.0, 1e-6, 1e-2, 1.0, 100.0])
def test_is_the_root_however_far_the_matrix_turns(rho, turn):
    rng = np.random.default_rng(0)
    root = QuadraticRoot()
    M = symmetric(rng, 30)
    for _ in range(5):
        theta = root(M, rho)
        assert residual(theta, M, rho) < 1e-12
        assert np.array_equal(theta, theta.T)
        assert np.linalg.eigvalsh(theta)[0] > 0
        M = M + symmetric(rng, 30, turn * np.sqrt(rho) / 30)


def test_turning_a_little_needs_no_eigendecomposition(monkeypatch):
    rng = np.random.default_rng(1)
    M = symmetric(rng, 30)
    root = QuadraticRoot()
    root(M, 1.0)

    def refuse(_):
        raise AssertionError("an eigendecomposition")

    monkeypatch.setattr(_quadratic_root.np.linalg, "eigh", refuse)
    root(M + symmetric(rng, 30, 1e-4), 1.0)
    with pytest.raises(AssertionError):
        root(M + symmetric(rng, 30, 10.0), 1.0)
