"""The ridge precision matrix: its optimality equation, its limits, its target form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.exceptions import InvalidParameter
from graphveil.solvers import ridge_precision
from helpers.problems import make


def spectral(p, seed, low, high):
    """A symmetric matrix with eigenvalues of both signs, spread in logarithm up to ±1e8."""
    rng = np.random.default_rng(seed)
    M, _ = np.linalg.qr(rng.standard_normal((p, p)))
    phi = rng.choice([-1.0, 1.0], p) * 10.0 ** rng.uniform(low, high, p)
    S = (M * phi) @ M.T
    return (S + S.T) / 2


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.floats(-8, 8), st.floats(-8, 8))
def test_optimality_equation(p, seed, size, log_alpha):
    """SΘ + 2αΘ² = I, for eigenvalues from −1e8 to 1e8."""
    S, alpha = spectral(p, seed, size - 3, size), 10.0**log_alpha
    theta = ridge_precision(S, alpha)
    norm = np.linalg.norm
    residual = norm(S @ theta + 2 * alpha * theta @ theta - np.eye(p), 2)
    assert residual <= 1e-13 * (norm(S, 2) * norm(theta, 2) + 2 * alpha * norm(theta, 2) ** 2)
    assert np.array_equal(theta, theta.T)


@pytest.mark.parametrize("phi", [-1e8, -1.0, -1e-12, 0.0, 1e-12, 1.0, 1e8])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e6])
def test_one_variable_has_the_positive_root(phi, alpha):
    """2αθ² + φθ − 1 = 0 has one positive root; φ < 0 is where the printed formula cancels."""
    theta = ridge_precision([[phi]], alpha).item()
    assert theta > 0
    assert abs(2 * alpha * theta**2 + phi * theta - 1) <= 4e-16 * (2 * alpha * theta**2 + abs(phi) * theta + 1)


def test_a_grid_equals_single_solves():
    S = make("indefinite", 20, 0)
    alphas = np.array([0.01, 0.1, 1.0, 10.0])
    stack = ridge_precision(S, alphas)
    assert stack.shape == (4, 20, 20)
    for alpha, theta in zip(alphas, stack, strict=True):
        assert np.array_equal(theta, ridge_precision(S, alpha))


def test_small_penalty_gives_the_inverse_and_large_gives_zero():
    S = make("definite", 15, 0)
    assert np.allclose(ridge_precision(S, 1e-12), np.linalg.inv(S), rtol=1e-8)
    # αΘ² → I/2 as α grows.
    assert np.allclose(ridge_precision(S, 1e12), np.eye(15) / np.sqrt(2e12), rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", ["definite", "singular", "indefinite"])
def test_target(kind):
    """Stationarity of −log det Θ + tr(SΘ) + α‖Θ − T‖²: S + 2α(Θ − T) = Θ⁻¹."""
    S = make(kind, 12, 1)
    T = np.linalg.inv(make("definite", 12, 2))
    T = (T + T.T) / 2
    theta = ridge_precision(S, 0.3, target=T)
    assert np.allclose(S + 2 * 0.3 * (theta - T), np.linalg.inv(theta), atol=1e-10)
    number = ridge_precision(S, [0.3, 0.7], target=2.0)
    matrix = ridge_precision(S, [0.3, 0.7], target=2.0 * np.eye(12))
    assert np.allclose(number, matrix, atol=1e-12)
    # van Wieringen and Peeters: a strong penalty gives the target itself.
    assert np.allclose(ridge_precision(S, 1e8, target=T), T, atol=1e-6)


def test_van_wieringen_peeters_formula():
    """Their λ is 2α: Θ = ([λI + ¼(S − λT)²]^½ + ½(S − λT))⁻¹."""
    S, T, lam = make("singular", 10, 3), np.eye(10), 0.4
    values, M = np.linalg.eigh(S - lam * T)
    expected = np.linalg.inv((M * (np.sqrt(lam + values**2 / 4) + values / 2)) @ M.T)
    assert np.allclose(ridge_precision(S, lam / 2, target=T), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("alpha", "target", "message"),
    [
        (0.0, None, "alpha must be a finite number > 0"),
        ([0.1, -1.0], None, "alpha must be a finite number > 0"),
        ([[0.1]], None, "alpha must be a finite number > 0"),
        (np.nan, None, "alpha must be a finite number > 0"),
        (0.1, np.inf, "target must be finite"),
        (0.1, np.eye(3), "target must be a number or a matrix of shape"),
        (0.1, [[1.0, 2.0], [3.0, 1.0]], "target must be symmetric"),
    ],
)
def test_refused_arguments(alpha, target, message):
    with pytest.raises(InvalidParameter, match=message):
        ridge_precision(np.eye(2), alpha, target)


@pytest.mark.parametrize("target", ["identity", float("nan"), float("inf"), [[1.0, 2.0]]])
def test_a_target_that_is_no_matrix_is_refused_by_name(target):
    with pytest.raises(InvalidParameter, match="target"):
        ridge_precision(np.eye(2), 0.1, target=target)
