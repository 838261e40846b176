"""Columns that add up to a constant are named, each set by itself."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import ortho_group

import graphveil as gv
from graphveil.exceptions import PrivacyWarning
from graphveil.recovery.collinearity import collinear_columns
from graphveil.recovery.noise_model import NoisyCovariance


def noisy(covariance, sd=1e-3, seed=0):
    """A covariance with so much noise on every entry."""
    p = len(covariance)
    noise = sd * np.random.default_rng(seed).normal(size=(p, p))
    return NoisyCovariance(
        covariance + (noise + noise.T) / 2.0, ((np.eye(p), sd),), covariance + 1e-6 * np.eye(p), 1e-4
    )


def indicators(shares):
    """Covariance of indicators of which exactly one is 1."""
    shares = np.array(shares)
    return np.diag(shares) - np.outer(shares, shares)


@pytest.mark.parametrize("seed", range(20))
def test_sets_of_indicators_are_told_apart(seed):
    """Their constant directions have the same variance, so that eigenvectors mix them."""
    covariance = block_diag(
        indicators([0.2, 0.3, 0.5]), np.eye(2), indicators([0.25] * 4), indicators([0.1, 0.2, 0.3, 0.4])
    )
    assert collinear_columns(noisy(covariance, seed=seed)) == ((0, 1, 2), (5, 6, 7, 8), (9, 10, 11, 12))


@pytest.mark.parametrize("seed", range(3))
def test_sets_of_indicators_in_a_release_are_told_apart(seed):
    """In seven of twelve releases at most one set was named without columns of the other."""
    generator = np.random.default_rng(seed)
    n, sets = 20_000, (4, 5)
    chosen = [generator.choice(k, size=n, p=np.arange(1, k + 1) / (k * (k + 1) / 2)) for k in sets]
    ones = [(level[:, None] == np.arange(k)).astype(float) for k, level in zip(sets, chosen, strict=True)]
    rows = np.hstack([*ones, np.clip(generator.normal(size=(n, 5)) + 0.4 * ones[0][:, :1], -5.0, 5.0)])
    domain = gv.Domain(bounds=([0.0] * 9 + [-5.0] * 5, [1.0] * 9 + [5.0] * 5))
    made = gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=seed)
    with pytest.warns(PrivacyWarning, match="collinear"):
        found = gv.recover(made)
    assert found.collinear == ((0, 1, 2, 3), (4, 5, 6, 7, 8))


def test_sums_that_share_columns_are_one_group():
    """x₂ = x₀ + x₁ and x₄ = x₂ + x₃: four columns and a fifth have three free directions."""
    weights = np.array([[1, 0, 1, 0, 1], [0, 1, 1, 0, 1], [0, 0, 0, 1, 1]], dtype=float)
    covariance = block_diag(weights.T @ weights, np.eye(3))
    assert collinear_columns(noisy(covariance)) == ((0, 1, 2, 3, 4),)


@pytest.mark.parametrize("seed", range(20))
def test_many_directions_in_few_columns_are_one_group(seed):
    """Twenty stations that four factors determine: nobody wants to read sixteen directions one by one."""
    loadings = ortho_group(20, seed=seed).rvs()[:, :4]
    covariance = block_diag(loadings @ loadings.T, np.eye(10))
    assert collinear_columns(noisy(covariance, sd=1e-4)) == (tuple(range(20)),)


@pytest.mark.parametrize("p", [1, 2, 6])
def test_columns_with_a_variance_of_their_own_are_not_collinear(p):
    assert collinear_columns(noisy(np.eye(p))) == ()


def test_directions_that_noise_hides_are_not_called_collinear():
    """With noise of a tenth of the variances, zero cannot be distinguished from a little."""
    assert collinear_columns(noisy(indicators([0.5, 0.5]) * 4.0, sd=0.2)) == ()


@pytest.mark.filterwarnings("ignore:Some directions lie within the noise")
@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_of_many_directions_is_not_collinear_because_noise_made_it_small(seed):
    """Forty columns of 5,000 records, no direction below 0.16: most of them were named."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(5000, 40)) + 0.7 * generator.normal(size=(5000, 1))
    domain = gv.Domain(bounds=(-5.0, 5.0), columns=[f"x{k}" for k in range(40)])
    assert gv.recover(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=seed)).collinear == ()
