"""Networks of few effective records: sparse where the truth is, dense where it is, and never by trust in noise."""

import warnings

import numpy as np
import pytest

import graphveil as gv
from graphveil.metrics import relative_loss
from graphveil.recovery.network import RELIABLE, _fit_denoised, find_network, network_path
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.recovery.shrinkage import denoise, refined_trace_sd

P = 40
FEW = 1.9 * P  # effective records


def pairs():
    return np.kron(np.eye(P // 2), np.array([[1.0, 0.7], [0.7, 1.0]]))


def broad():
    vectors = np.linalg.qr(np.random.default_rng(3).normal(size=(P, P)))[0]
    return np.linalg.inv((vectors * np.geomspace(0.1, 3.0, P)) @ vectors.T)


def observe(precision, n_eff, seed, vague=None):
    """A covariance of unit variances with noise as n_eff records have it, and its law; one column noisier, if any."""
    covariance = np.linalg.inv(precision)
    sd = np.sqrt(np.diag(covariance))
    covariance, precision = covariance / np.outer(sd, sd), precision * np.outer(sd, sd)
    back = np.eye(P)
    if vague is not None:
        back[vague, vague] = 3.0
    size = np.sqrt(2.0 / n_eff)
    half = np.random.default_rng(seed).normal(size=(P, P)) * size / 2.0
    matrix = covariance + back @ (half + half.T) @ back
    denoised = denoise(matrix, size, trace_sd=refined_trace_sd(size, P)).matrix
    scale = np.diag(denoised) ** -0.5  # variances are known far better than correlations
    return NoisyCovariance(matrix, ((back, size),), denoised * np.outer(scale, scale), 1e-9), precision


def gain(precision, seed):
    """Error of the network, as a multiple of that of a fit to the denoised matrix."""
    noisy, truth = observe(precision, FEW, seed)
    fits = find_network(noisy, FEW, "auto", np.random.default_rng(seed)), _fit_denoised(noisy.denoised, noisy.entry_sd)
    found, dense = (relative_loss(fit.solution.precision, truth) for fit in fits)
    return found / dense


def test_a_sparse_truth_gains():
    """By a quarter where thinning is sure by a nat: in two releases of ten. By nothing in the others."""
    gains = [gain(pairs(), seed) for seed in (20, 21, 22)]
    assert min(gains) < 0.9
    assert max(gains) < 1.05


def test_a_dense_truth_loses_nothing():
    assert max(gain(broad(), seed) for seed in (20, 21)) < 1.05


def test_vague_variances_leave_the_denoised_matrix():
    noisy, _ = observe(pairs(), FEW, 20, vague=7)
    found = find_network(noisy, FEW, "auto", np.random.default_rng(20))
    np.testing.assert_array_equal(found.matrix, noisy.denoised)
    assert found.is_broad


def test_its_path_goes_through_it():
    found = find_network(observe(pairs(), FEW, 20)[0], FEW, "auto", np.random.default_rng(20))
    path = network_path(found, 10**6)
    assert found in path
    edges = [one.solution.n_edges for one in path]
    assert edges[0] == 0
    assert edges[-1] >= found.solution.n_edges


@pytest.mark.parametrize("alpha", ["auto", "ebic"])
def test_a_release_of_few_records_has_a_network_without_intervals(alpha):
    rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=20), 1500, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-8, 8), alpha=alpha, random_state=0).fit(rows)
    assert model.n_eff_ < RELIABLE * 20
    assert (np.linalg.eigvalsh(model.precision_) > 0.0).all()
    assert "effective records" in model.edge_intervals().reason
