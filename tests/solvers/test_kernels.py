"""The compiled loops: one signature each, and what every sweep keeps."""

import numpy as np
import pytest

from graphveil.solvers import admm, graphical_lasso, graphical_lasso_path, kernels, ridge_precision
from graphveil.solvers.feasibility import interior_point
from helpers.problems import correlation, make, symmetric_noise

COMPILED = [getattr(kernels, name) for name in kernels.__all__ if name.islower()]


@pytest.mark.parametrize("kernel", COMPILED, ids=lambda kernel: kernel.py_func.__name__)
def test_signatures_are_cached(kernel):
    """Another one would compile at run time, and again in every process."""
    assert 1 <= len(kernel.signatures) <= 2
    assert not kernel._can_compile
    assert kernel.stats.cache_path is not None


def box(S, alpha):
    penalty = np.full(S.shape, alpha)
    np.fill_diagonal(penalty, 0.0)
    return penalty


@pytest.mark.parametrize("care", [kernels.ROUGH, kernels.CAREFUL])
@pytest.mark.parametrize("kind", ["definite", "singular", "indefinite", "constant"])
def test_sweeps_keep_w_definite_and_end_at_the_dual_optimum(kind, care):
    S = make(kind, 40, 3)
    penalty = box(S, 0.4 * np.abs(S - np.diag(S.diagonal())).max())
    W, B, status = interior_point(S, penalty), np.zeros_like(S), np.empty(1)
    best = graphical_lasso(S, penalty, penalize_diagonal=False, tol=1e-10).objective - 40
    for _ in range(20):
        assert kernels.descend(S, penalty, W, B, 1e-14, 1, care, status) == 1
        assert np.array_equal(W, W.T)
        assert np.array_equal(W.diagonal(), S.diagonal())
        assert np.linalg.eigvalsh(W)[0] > 0
    assert np.linalg.slogdet(W)[1] == pytest.approx(best, abs=1e-6)
    assert np.all(np.abs(W - S) <= penalty + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_guard_keeps_an_infeasible_start_definite(seed):
    """From W = diag S, outside the box, on problems with and without a minimiser."""
    rng = np.random.default_rng(seed)
    S = correlation(rng, 25, 50) + 0.4 * symmetric_noise(rng, 25)
    W, B, status = np.diag(S.diagonal()), np.zeros_like(S), np.empty(1)
    for _ in range(10):
        kernels.descend(S, box(S, 0.05 * seed), W, B, 1e-12, 1, kernels.ON_TRIAL, status)
        assert np.linalg.eigvalsh(W)[0] > 0


def test_components():
    S = np.eye(6)
    S[0, 3] = S[3, 0] = -0.5
    S[3, 5] = S[5, 3] = 0.5
    S[1, 2] = S[2, 1] = 0.2
    labels = np.empty(6, np.int64)
    assert kernels.label_components(S, box(S, 0.3), labels) == 4
    assert labels[0] == labels[3] == labels[5]
    assert len(set(labels)) == 4
    assert kernels.label_components(S, box(S, 0.1), labels) == 3
    assert labels[1] == labels[2]


def test_take_and_put_are_fancy_indexing():
    M = np.arange(49.0).reshape(7, 7)
    index = np.array([5, 0, 2])
    part = np.empty((3, 3))
    kernels.gather_block(M, index, part)
    assert np.array_equal(part, M[np.ix_(index, index)])
    other = np.zeros((7, 7))
    kernels.scatter_block(part, index, other)
    assert np.array_equal(other[np.ix_(index, index)], part)
    assert np.count_nonzero(other) == np.count_nonzero(part)


@pytest.mark.parametrize("p", [1, 31, 32, 33, 70])
def test_symmetrise(p):
    M = np.random.default_rng(p).standard_normal((p, p))
    mean = np.empty((p, p))
    asymmetry = kernels.symmetrise(M, mean)
    assert np.array_equal(mean, 0.5 * M + 0.5 * M.T)
    assert asymmetry == pytest.approx(np.abs(M - mean).max() / np.abs(M).max())
    M[0, p - 1] = np.inf
    assert np.isnan(kernels.symmetrise(M, mean))


@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_soft_threshold_share(share):
    S = make("indefinite", 12, 0)
    shrunken = np.empty_like(S)
    count = kernels.soft_threshold_share(S, box(S, 0.3), share, shrunken)
    off = ~np.eye(12, dtype=bool)
    by = np.minimum(share * np.abs(S), 0.3)
    assert np.allclose(shrunken[off], (np.sign(S) * (np.abs(S) - by))[off], atol=1e-16)
    assert np.array_equal(shrunken.diagonal(), S.diagonal())
    assert count == np.count_nonzero(shrunken[off])


def test_one_row_stands_for_equal_penalties():
    """Bit for bit, whatever stands on the diagonal."""
    rng = np.random.default_rng(5)
    for p in (1, 2, 9, 40):
        S = correlation(rng, p, 2 * p)
        one, all_of_them = np.full((1, p), 0.2), np.full((p, p), 0.2)
        np.fill_diagonal(all_of_them, rng.uniform(0, 3, p))
        results = []
        for limits in (one, all_of_them):
            W, B, precision, dual = (np.zeros((p, p)) for _ in range(4))
            labels, status = np.empty(p, np.int64), np.empty(1)
            results.append(
                [
                    kernels.soft_threshold_share(S, limits, 1.0, W),
                    kernels.label_components(S, limits, labels),
                    labels,
                    kernels.descend(S, limits, W, B, 1e-9, 9, kernels.CAREFUL, status),
                    kernels.assemble(S, limits, W, B, 0.75, precision, dual),
                    *(W, B, precision, dual),
                ]
            )
        assert all(np.array_equal(x, y) for x, y in zip(*results, strict=True))


@pytest.mark.parametrize("p", [1, 7, 8, 9, 40])
def test_is_symmetric(p):
    M = np.random.default_rng(p).standard_normal((p, p))
    M += M.T
    assert kernels.is_symmetric(M)
    for i, j in {(0, 0), (p - 1, p - 1), (0, p - 1), (p // 2, p // 3)}:
        for wrong in (np.nan, np.inf, -np.inf):
            other = M.copy()
            other[i, j] = other[j, i] = wrong
            assert not kernels.is_symmetric(other)
        if i != j:
            other = M.copy()
            other[i, j] = np.nextafter(other[i, j], np.inf)
            assert not kernels.is_symmetric(other)
    assert kernels.is_symmetric(M * 5e-324)  # subnormal


def test_a_callers_matrix_is_not_changed():
    for p in (1, 5, 30):
        S = np.corrcoef(np.random.default_rng(p).standard_normal((4 * p + 2, p)), rowvar=False).reshape(p, p)
        S = (S + S.T) / 2
        before = S.copy()
        graphical_lasso(S, 0.1)
        graphical_lasso_path(S, [0.2, 0.1])
        admm(S, 0.1, start=(S, S))
        ridge_precision(S, 0.1, target=S)
        np.testing.assert_array_equal(S, before)
