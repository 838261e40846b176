"""The bound on the duality gap: never below the gap, close to it, and infinite where a point is not feasible."""

import mpmath
import numpy as np
import pytest

from graphveil.solvers import certificate, graphical_lasso
from graphveil.solvers.certificate import certify, sparse_log_determinant
from graphveil.solvers.feasibility import soft_threshold
from graphveil.solvers.kernels import CAREFUL, assemble, descend, kkt_error_norm
from helpers.problems import correlation, symmetric_noise


def candidate(seed, p, share, sweeps):
    """Primal and dual point after a few sweeps from a start that may be outside the box."""
    rng = np.random.default_rng(seed)
    S = correlation(rng, p, 3 * p)
    off = np.abs(S - np.eye(p))
    penalty = np.full((p, p), np.quantile(off[off > 0], 1 - share))
    np.fill_diagonal(penalty, 0.0)
    W, B = (np.eye(p) if seed % 2 else soft_threshold(S, penalty)), np.zeros((p, p))
    descend(S, penalty, W, B, 0.0, sweeps, CAREFUL, np.empty(1))
    precision, dual = np.empty((p, p)), np.empty((p, p))
    linear, size, edges = assemble(S, penalty, W, B, 0.5, precision, dual)
    assert edges == np.count_nonzero(np.triu(precision, 1))
    return precision, dual, linear, size, edges


def exact_gap(precision, dual):
    """With fifty digits."""
    with mpmath.workdps(50):
        product = mpmath.matrix(precision.tolist()) * mpmath.matrix(dual.tolist())
        trace = sum(product[i, i] for i in range(len(precision)))
        return float(trace - len(precision) - mpmath.log(mpmath.det(product)))


def factored_gap(precision, dual):
    return np.vdot(precision, dual) - len(dual) - np.linalg.slogdet(precision)[1] - np.linalg.slogdet(dual)[1]


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("sweeps", [1, 2, 4])
def test_never_below_the_gap(seed, sweeps):
    p = 20 + seed % 60
    precision, dual, linear, size, edges = candidate(seed, p, 0.01 + 0.001 * (seed % 50), sweeps)
    gap = factored_gap(precision, dual)
    for allowed in (1e-9 * p, 1e-6 * p, 1e-2 * p):
        logdet, bound = certify(precision, dual, linear, size, edges, allowed, np.empty((p, p)))
        assert bound >= gap - 1e-12 * p
        assert logdet == pytest.approx(np.linalg.slogdet(precision)[1], abs=1e-12 * p)
        # The bound passes whenever the gap does, but for rounding.
        assert bound <= allowed or gap > allowed - 1e-12 * p
        assert bound <= gap / (1 - np.sqrt(4 * gap + 1e-9)) + 1e-12 * p or gap > 0.1


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("sweeps", [1, 2, 3, 4])
def test_never_below_the_gap_in_fifty_digits(seed, sweeps):
    """Where the gap is as small as 1e-20, the difference of two objectives would be rounding."""
    precision, dual, linear, size, edges = candidate(seed, 24, 0.03, sweeps)
    gap = exact_gap(precision, dual)
    square, error = kkt_error_norm(precision, dual, np.empty((24, 24)))
    E = precision @ dual - np.eye(24)
    assert square == pytest.approx(np.trace(E @ E), rel=1e-6, abs=1e-26)
    r = np.sqrt(square + error)
    assert r < 1
    assert gap <= (-r - np.log1p(-r)) * (1 + 1e-9) + 1e-30
    assert gap <= certify(precision, dual, linear, size, edges, 1e-6, np.empty((24, 24)))[1]


@pytest.mark.parametrize("apart", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_never_below_the_gap_of_nearly_equal_variables(apart, tol):
    """Entries of Θ are then as large as 1 / apart, and cancel."""
    rng = np.random.default_rng(1)
    S = correlation(rng, 12, 40)
    S[:, 1] = S[1] = (1 - apart) * S[0]
    S[1, 1] = 1.0
    alpha = apart / 10
    solution = graphical_lasso(S, alpha, penalize_diagonal=False, tol=tol)
    with mpmath.workdps(50):
        sigma, theta, W = (mpmath.matrix(M.tolist()) for M in (S, solution.precision, solution.dual))
        linear = mpmath.fsum(sigma[i, j] * theta[i, j] for i in range(12) for j in range(12))
        penalty = mpmath.mpf(alpha) * mpmath.fsum(abs(theta[i, j]) for i in range(12) for j in range(12) if i != j)
        gap = linear + penalty - mpmath.log(mpmath.det(theta)) - mpmath.log(mpmath.det(W)) - 12
        assert gap <= solution.gap


def test_rounding_of_the_misfit_is_bounded():
    rng = np.random.default_rng(0)
    for p in (5, 17, 40):
        M = correlation(rng, p, 2 * p)
        inverse = np.linalg.inv(M)
        inverse = (inverse + inverse.T) / 2
        with mpmath.workdps(50):
            E = mpmath.matrix(inverse.tolist()) * mpmath.matrix(M.tolist()) - mpmath.eye(p)
            square = float(sum((E * E)[i, i] for i in range(p)))
        computed, error = kkt_error_norm(inverse, M, np.empty((p, p)))
        assert abs(computed - square) <= error < 1e-20


def test_points_that_are_not_feasible():
    precision, dual, linear, size, edges = candidate(2, 50, 0.02, 3)
    workspace = np.empty((50, 50))
    worse = dual - 1.5 * np.linalg.eigvalsh(dual)[0] * np.eye(50)
    assert certify(precision, worse, linear, size, edges, 1e-6, workspace)[1] > 1e-6
    assert certify(precision, worse, linear, size, edges, 1e6, workspace)[1] == np.inf
    assert (
        certify(
            precision - 2 * np.linalg.eigvalsh(precision)[0] * np.eye(50), dual, linear, size, edges, 1.0, workspace
        )[1]
        == np.inf
    )
    dual[3, 4] = dual[4, 3] = np.nan
    assert certify(precision, dual, linear, size, edges, 1.0, workspace)[1] == np.inf


@pytest.mark.parametrize("p", [1, 2, 30, 90])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.1, 1.0])
def test_sparse_log_determinant(p, density):
    rng = np.random.default_rng(p)
    M = np.where(rng.random((p, p)) < density, symmetric_noise(rng, p), 0.0)
    M = np.triu(M, 1) + np.triu(M, 1).T
    smallest = np.linalg.eigvalsh(M)[0]
    workspace = np.empty((p, p))
    definite = M + (0.1 - smallest) * np.eye(p)
    before = definite.copy()
    assert sparse_log_determinant(definite, workspace) == pytest.approx(np.linalg.slogdet(definite)[1], abs=1e-10)
    assert np.array_equal(definite, before)
    assert sparse_log_determinant(M - (0.1 + smallest) * np.eye(p), workspace) is None
    definite[0, 0] = np.nan
    assert sparse_log_determinant(definite, workspace) is None


def test_a_chain_is_eliminated_without_fill():
    p = 200
    M = 2.0 * np.eye(p) - np.eye(p, k=1) - np.eye(p, k=-1)
    assert sparse_log_determinant(M, np.empty((p, p))) == pytest.approx(np.log(p + 1), rel=1e-12)


def test_a_sparse_solution_needs_no_factor_of_its_dual_point(monkeypatch):
    monkeypatch.setattr(certificate, "log_determinant", lambda *_: pytest.fail("the dual point was factored"))
    lag = np.abs(np.arange(160)[:, None] - np.arange(160))
    assert graphical_lasso(0.6**lag, 0.1, penalize_diagonal=False).n_edges < 400
