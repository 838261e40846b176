"""What gaps add to sampling noise, against simulated tables with gaps."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.recovery import gap_noise

P, N = 4, 500
SHARES = np.array([0.6, 0.8, 1.0, 0.5])
H = 1.0 / SHARES - 1.0
_RNG = np.random.default_rng(0)
_ROOT = _RNG.normal(size=(P, P))
C = _ROOT @ _ROOT.T + np.eye(P)
L = np.linalg.cholesky(C)
THETA = np.linalg.inv(C)
W = _RNG.normal(size=(P, P))
W = W + W.T
A, U = _RNG.normal(size=(2, P)), _RNG.normal(size=P)


@pytest.fixture(scope="module")
def pairwise():
    """Pairwise covariances of many tables with gaps."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(4000):
        there = (rng.random((N, P)) < SHARES).astype(float)
        filled = rng.normal(size=(N, P)) @ L.T * there
        found.append(filled.T @ filled / (there.T @ there))
    return np.array(found)


def test_of_entries(pairwise):
    expected = (np.outer(np.diag(C), np.diag(C)) + C**2 + gap_noise.gap_noise_of_entries(H, C)) / N
    np.testing.assert_allclose(pairwise.var(axis=0), expected, rtol=0.12)


def test_of_a_trace(pairwise):
    expected = (2.0 * np.trace(W @ C @ W @ C) + gap_noise.gap_noise_of_trace(W, H, C)) / N
    assert np.var(np.sum(pairwise * W, axis=(1, 2))) == pytest.approx(expected, rel=0.1)


def test_of_products(pairwise):
    complete = A @ C @ A.T * (U @ C @ U) + np.outer(A @ C @ U, A @ C @ U)
    expected = (complete + gap_noise.gap_noise_of_products(A, U, H, C)) / N
    np.testing.assert_allclose(np.cov((pairwise @ U @ A.T).T), expected, rtol=0.12)
    one = gap_noise.gap_noise_of_products(A[:1], U, H, C)[0, 0]
    sides = np.outer(A[0], U)
    assert one == pytest.approx(gap_noise.gap_noise_of_trace((sides + sides.T) / 2.0, H, C))


def test_of_an_inverse(pairwise):
    complete = np.outer(np.diag(THETA), np.diag(THETA)) + THETA**2
    expected = (complete + gap_noise.gap_noise_of_precision(THETA, H, C)) / N
    np.testing.assert_allclose((THETA @ pairwise @ THETA).var(axis=0), expected, rtol=0.15)


def test_draws_have_that_law():
    rng = np.random.default_rng(2)
    drawn = np.array([gap_noise.draw_gap_noise(rng, H, C, L) for _ in range(20_000)])
    off = W - np.diag(np.diag(W))
    assert np.var(np.sum(drawn * off, axis=(1, 2))) == pytest.approx(gap_noise.gap_noise_of_trace(off, H, C), rel=0.05)


def test_complete_columns_add_nothing():
    nothing = np.zeros(P)
    assert gap_noise.gap_noise_of_trace(W, nothing, C) == 0.0
    assert not gap_noise.gap_noise_of_products(A, U, nothing, C).any()
    assert not gap_noise.gap_noise_of_precision(THETA, nothing, C).any()


def test_a_regression_with_gaps_has_the_standard_errors_of_what_is_there():
    """At a large ε sampling is all there is. It was counted as if every record were complete."""
    pd = pytest.importorskip("pandas")
    C = np.array([[1.0, 0.5, 0.3], [0.5, 1.0, 0.4], [0.3, 0.4, 1.0]])
    beta = np.linalg.solve(C[1:, 1:], C[1:, 0])
    domain = gv.Domain({name: gv.Number(-5, 5, missing=True) for name in "abc"})
    scores = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = rng.multivariate_normal(np.zeros(3), C, size=8000)
        rows[rng.random(rows.shape) < 0.4] = np.nan
        frame = pd.DataFrame(rows, columns=list("abc"))
        made = gv.release(frame, domain=domain, budget=gv.Budget(20.0, 1e-6), random_state=seed)
        table = gv.regression(made, outcome="a", on=["b", "c"])
        scores.append((table.coef - beta) / table.std_err)
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.35  # 24 numbers of standard deviation 1; it was 1.8
