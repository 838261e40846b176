"""Random symmetric matrices of every kind that a solver may meet, and what must hold of an answer."""

import numpy as np
from hypothesis import strategies as st

from graphveil.exceptions import UnboundedProblem
from graphveil.solvers.objectives import alpha_max, duality_gap, kkt_residual

KINDS = ("definite", "singular", "indefinite", "block", "constant", "zero variance", "scales")


def correlation(rng, p, n):
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)) / np.sqrt(p))
    S = X.T @ X / n
    d = np.sqrt(S.diagonal())
    S = S / d[:, None] / d
    np.fill_diagonal(S, 1.0)
    return (S + S.T) / 2


def symmetric_noise(rng, p):
    N = np.triu(rng.standard_normal((p, p)), 1)
    return N + N.T


def make(kind, p, seed):
    rng = np.random.default_rng(seed)
    if kind == "singular":
        return correlation(rng, p, max(p // 2, 1))
    if kind == "indefinite":
        return correlation(rng, p, 2 * p) + rng.uniform(0.05, 0.5) * symmetric_noise(rng, p)
    if kind == "block":
        S = np.zeros((p, p))
        half = p // 2
        S[:half, :half] = correlation(rng, half, p + 1) if half else 0.0
        S[half:, half:] = correlation(rng, p - half, p + 1)
        return S
    if kind == "constant":
        return np.full((p, p), rng.uniform(0.1, 2.0))
    S = correlation(rng, p, 3 * p)
    if kind == "zero variance":
        flat = rng.random(p) < 0.3
        S[flat], S[:, flat] = 0.0, 0.0
    if kind == "scales":
        d = 10.0 ** rng.uniform(-4, 4, p)
        S = S * d[:, None] * d
        S = (S + S.T) / 2
    return S


@st.composite
def problems(draw, max_p=60):
    """(S, alpha, penalize_diagonal): alpha a number from well below to above alpha_max, or a matrix of such numbers."""
    kind = draw(st.sampled_from(KINDS))
    p = draw(st.integers(1, max_p))
    seed = draw(st.integers(0, 2**32 - 1))
    S = make(kind, p, seed)
    top = alpha_max(S) or 1.0
    alpha = draw(st.floats(0.05, 1.2)) * top
    if draw(st.booleans()):
        rng = np.random.default_rng(seed + 1)
        weights = rng.uniform(0.5, 1.5, (p, p))
        alpha = alpha * (weights + weights.T) / 2
    return S, alpha, draw(st.booleans())


def assert_certified(solution, S, alpha, penalize_diagonal, tol):
    """Everything that a `Solution` promises, checked by other arithmetic than the solver's."""
    precision, p = solution.precision, len(S)
    assert np.array_equal(precision, precision.T)
    d = np.sqrt(precision.diagonal())
    assert np.linalg.eigvalsh(precision / d[:, None] / d)[0] > 0
    assert 0.0 <= solution.gap <= tol * p
    gap = duality_gap(precision, solution.dual, S, alpha, penalize_diagonal=penalize_diagonal)
    assert abs(gap - solution.gap) <= 1e-10 * p
    # W is optimal for the signs of Θ and ‖Θ^½ W Θ^½ − I‖² is about twice the gap, so this bounds what KKT lacks
    # (variances are at most 2 in the units of the residual; 1e-5 is rounding at the condition numbers met here).
    residual = kkt_residual(precision, S, alpha, penalize_diagonal=penalize_diagonal)
    assert residual <= 4 * np.sqrt(2 * solution.gap) + 1e-5


def penalised(S, alpha, penalize_diagonal):
    """S with the penalty of its diagonal folded in, and the penalty of the rest."""
    penalty = np.broadcast_to(np.asarray(alpha, float), S.shape).copy()
    folded = S + np.diag(penalty.diagonal()) * penalize_diagonal
    np.fill_diagonal(penalty, 0.0)
    return folded, penalty


def assert_proves_unbounded(error: UnboundedProblem, S, alpha, penalize_diagonal):
    """The certificate is positive semidefinite and its recession value is not positive, by plain arithmetic."""
    D = error.certificate
    folded, penalty = penalised(S, alpha, penalize_diagonal)
    assert np.array_equal(D, D.T)
    assert np.isclose(np.trace(D), 1.0)
    used = D.diagonal() > 0
    d = np.sqrt(D.diagonal()[used])
    assert np.linalg.eigvalsh(D[np.ix_(used, used)] / d[:, None] / d)[0] >= -1e-10
    assert not D[~used].any()
    size = np.sum(np.abs(folded) * np.abs(D)) + np.sum(penalty * np.abs(D))
    value = np.sum(folded * D) + np.sum(penalty * np.abs(D))
    assert value <= 1e-13 * size
    assert np.isclose(value, error.recession, rtol=1e-6, atol=1e-12 * size)
