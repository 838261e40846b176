"""The law of what an answer is off by, against draws of the errors themselves."""

import numpy as np
import pytest

from graphveil.inference.error_law import UncertainMoments
from graphveil.inference.uncertain import Spread
from graphveil.recovery.noise_model import NoisyCovariance

DRAWS = 6000


@pytest.fixture(scope="module")
def moments():
    """Five columns with noise from two sites, and errors of single entries."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(5, 9))
    covariance = factors @ factors.T / 9.0
    single = np.abs(rng.normal(size=(5, 5))) * 1e-3
    single = single + single.T
    np.fill_diagonal(single, 0.0)
    sites = ((rng.normal(size=(5, 5)), 0.02), (np.diag([1.0, 2.0, 0.5, 1.0, 3.0]), 0.03))
    noisy = NoisyCovariance(covariance, sites, covariance, 1e-3, single)
    nothing = Spread(np.zeros((5, 5)), np.zeros((5, 5)))
    flags = np.zeros(5, dtype=bool)
    return UncertainMoments(
        tuple("abcde"), noisy, None, nothing, np.zeros(5), np.zeros(5), flags, flags, flags, 1000.0, None
    )


@pytest.fixture(scope="module")
def errors(moments):
    """Draws of Δ."""
    generator = np.random.default_rng(1)
    return np.array([moments.noisy.draw(generator) for _ in range(DRAWS)])


def test_variance_of_a_trace(moments, errors):
    W = np.random.default_rng(2).normal(size=(5, 5))
    W = W + W.T
    found = np.einsum("nij,ij->n", errors, W).var()
    expected = sum(moments.variance_of_trace(W))
    assert found == pytest.approx(expected, rel=0.07)
    assert found != pytest.approx(0.8 * expected, rel=0.07)


def test_covariance_of_products(moments, errors):
    rng = np.random.default_rng(3)
    A, u = rng.normal(size=(3, 5)), rng.normal(size=5)
    found = np.cov((errors @ u) @ A.T, rowvar=False)
    expected = moments.covariance_of_products(A, u).total
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert found / scale == pytest.approx(expected / scale, abs=0.06)
    W = (np.outer(A[0], u) + np.outer(u, A[0])) / 2.0
    assert expected[0, 0] == pytest.approx(sum(moments.variance_of_trace(W)))


def test_a_column_that_is_off_moves_its_row_and_column(moments):
    """For f = tr(WΣ), Σ_ij(1 + e_i/2)(1 + e_j/2) has the derivative (WΣ)_ii with respect to e_i."""
    from dataclasses import replace

    W = np.random.default_rng(4).normal(size=(5, 5))
    W = W + W.T
    off = replace(moments, excess=np.array([0.0, 0.3, 0.0, 0.0, 0.1]))
    slopes, step = np.zeros(5), 1e-6
    for k in range(5):
        factor = 1.0 + step / 2.0 * (np.arange(5) == k)
        slopes[k] = np.sum(W * moments.noisy.denoised * (np.outer(factor, factor) - 1.0)) / step
    added = sum(off.variance_of_trace(W)) - sum(moments.variance_of_trace(W))
    assert added == pytest.approx(off.excess @ slopes**2, rel=1e-4)


def test_units_and_chosen_columns_change_nothing(moments):
    """The law of a chosen block is the block of the law, in any units."""
    chosen, factors = [3, 0, 4], np.array([2.0, 10.0, 0.1])
    A, u = np.random.default_rng(5).normal(size=(2, 3)), np.array([1.0, -2.0, 0.5])
    there = np.zeros((2, 5))
    there[:, chosen] = A
    full = np.zeros(5)
    full[chosen] = u
    plain, part = moments.covariance_of_products(there, full), moments.select(chosen)
    assert part.covariance_of_products(A, u).total == pytest.approx(plain.total)
    scaled = part.scaled(factors).covariance_of_products(A / factors, u / factors)
    assert scaled.total == pytest.approx(plain.total)
    assert scaled.sampling == pytest.approx(plain.sampling)
