"""Shrinkage under a known noise law: closed forms, limits, invariances, and never worse than doing nothing useful."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.recovery.eigenvector_overlaps import expected_eigenvalues
from graphveil.recovery.shrinkage import denoise


def noise(rng, p, sd):
    """Symmetric Gaussian noise with the trace refined, as a release has it."""
    G = rng.normal(size=(p, p)) * sd / 2
    E = G + G.T
    return E + (-np.trace(E) / p + rng.normal() * sd / np.sqrt(p * (p + 1.0))) * np.eye(p)


def trace_sd(sd, p):
    return sd * np.sqrt(p / (p + 1.0))


def relative(estimate, truth):
    return np.linalg.norm(estimate - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("p", [1, 2, 5, 30])
def test_without_noise_nothing_changes(p):
    C = np.linalg.inv(gv.simulate.paper_model(3, p))
    result = denoise(C, 1e-9, trace_sd=1e-9)
    np.testing.assert_allclose(result.matrix, C, atol=1e-6)
    assert not result.unresolved


@pytest.mark.parametrize("p", [5, 20, 100])
def test_pure_noise_gives_a_multiple_of_the_identity(p):
    rng = np.random.default_rng(p)
    for _ in range(5):
        sd = 0.5
        result = denoise(np.eye(p) + noise(rng, p, sd), sd, trace_sd=trace_sd(sd, p), detection=2.5)
        assert result.flat
        assert result.unresolved
        np.testing.assert_allclose(result.matrix, result.matrix[0, 0] * np.eye(p), atol=1e-12)
        assert abs(result.matrix[0, 0] - 1) < 5 * sd / p


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(1e-3, 100.0))
def test_always_positive_definite_and_finite(seed, p, sd):
    rng = np.random.default_rng(seed)
    C = np.linalg.inv(gv.simulate.paper_model(4, p, random_state=seed))
    result = denoise(C + noise(rng, p, sd), sd, trace_sd=trace_sd(sd, p), n_samples=50, detection=2.5)
    assert np.isfinite(result.matrix).all()
    assert np.linalg.eigvalsh(result.matrix)[0] > 0
    np.testing.assert_array_equal(result.matrix, result.matrix.T)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_rotations_and_scales_commute_with_it(seed, p):
    rng = np.random.default_rng(seed)
    Y = np.linalg.inv(gv.simulate.paper_model(3, p)) + noise(rng, p, 0.2)
    Q, _ = np.linalg.qr(rng.normal(size=(p, p)))
    plain = denoise(Y, 0.2, trace_sd=trace_sd(0.2, p)).matrix
    np.testing.assert_allclose(denoise(Q @ Y @ Q.T, 0.2, trace_sd=trace_sd(0.2, p)).matrix, Q @ plain @ Q.T, atol=1e-6)
    np.testing.assert_allclose(denoise(7 * Y, 1.4, trace_sd=trace_sd(1.4, p)).matrix, 7 * plain, atol=1e-6)


@pytest.mark.parametrize("sd", [0.05, 0.2, 0.5, 2.0])
@pytest.mark.parametrize("model", [3, 4])
def test_better_than_the_noisy_matrix_and_near_the_best_rotation_invariant_one(model, sd):
    p, errors = 60, []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        C = np.linalg.inv(gv.simulate.paper_model(model, p, random_state=seed))
        sd_here = sd * np.trace(C) / p
        Y = C + noise(rng, p, sd_here)
        _, vectors = np.linalg.eigh(Y)
        oracle = (vectors * np.einsum("ij,ik,kj->j", vectors, C, vectors)) @ vectors.T
        found = denoise(Y, sd_here, trace_sd=trace_sd(sd_here, p), detection=2.5).matrix
        errors.append([relative(found, C), relative(oracle, C), relative(Y, C)])
    ours, best, raw = np.median(errors, axis=0)
    assert ours < raw
    assert ours < 1.12 * best + 0.01


def test_a_spike_is_found_where_theory_says():
    """C = I + 4vvᵀ: the spike is recovered to within noise, shrunk by its known overlap."""
    p, sd, rng = 200, 0.1, np.random.default_rng(0)
    v = np.ones(p) / np.sqrt(p)
    C = np.eye(p) + 4 * np.outer(v, v)
    result = denoise(C + noise(rng, p, sd), sd, trace_sd=trace_sd(sd, p), detection=2.5)
    variance = sd**2 * p / 2
    overlap = 1 - variance / 4**2
    top = np.linalg.eigvalsh(result.matrix)
    assert top[-1] == pytest.approx(1 + 4 * overlap, abs=0.25)
    assert relative(result.matrix, C) < 0.12


def test_overlaps_of_equal_eigenvalues_are_equal():
    tau = np.full(10, 3.0)
    np.testing.assert_allclose(expected_eigenvalues(np.linspace(2, 4, 10), tau, 0.3), tau)


def test_expected_eigenvalues_agree_with_simulation():
    """The formula against an average over draws, for two well separated groups of eigenvalues."""
    p, sd, rng = 80, 0.3, np.random.default_rng(1)
    tau = np.repeat([1.0, 4.0], p // 2)
    simulated, formula = [], []
    for _ in range(40):
        values, vectors = np.linalg.eigh(np.diag(tau) + noise(rng, p, sd))
        simulated.append(np.einsum("ij,i,ij->j", vectors, tau, vectors))
        formula.append(expected_eigenvalues(values, tau, sd))
    np.testing.assert_allclose(np.mean(formula, axis=0), np.mean(simulated, axis=0), atol=0.12)
