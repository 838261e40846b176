"""Private covariance matrices by others' methods, written from their papers: rows in, a precision matrix out.

All take rows whose columns lie in [-1, 1] and have mean zero, which is public, and a μ of Gaussian differential privacy
against replacing one row. They draw floating-point noise: for measuring alone. Where a method leaves something open, it
gets what suits it best; methods that return several answers are judged by the best.
"""

import numpy as np

from graphveil.exceptions import SolverError, UnboundedProblem
from graphveil.solvers import graphical_lasso

# Eigenvalues below this share of their mean are noise to methods that do not shrink. A mean this small is noise too:
# columns in [-1, 1] would hardly vary.
FLOOR, LEAST = 0.02, 1e-3
# Standard deviations of noise by which a completed covariance may differ from what was measured.
TOLERANCES = (0.0, 0.25, 1.0, 2.0)


def symmetric_noise(rng, p, scale):
    """Noise for a matrix that one row moves by at most `scale` in the Frobenius norm, for μ = 1."""
    noise = np.triu(rng.standard_normal((p, p)), 1) / np.sqrt(2.0)
    return scale * (noise + noise.T + np.diag(rng.standard_normal(p)))


def invert(covariance):
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, FLOOR * max(values.mean(), LEAST))
    return (vectors / values) @ vectors.T


def gaussian(rows, mu, rng):
    """Noise on the whole matrix at once."""
    n, p = rows.shape
    return invert(rows.T @ rows / n + symmetric_noise(rng, p, np.sqrt(2.0) * p / n / mu))


def separate(rows, mu, rng):
    """SeparateCov (Dong, Liang, Yi 2022): eigenvectors from a noisy matrix, eigenvalues with noise of their own."""
    n, p = rows.shape
    S, part, scale = rows.T @ rows / n, mu / np.sqrt(2.0), np.sqrt(2.0) * p / n
    vectors = np.linalg.eigh(S + symmetric_noise(rng, p, scale / part))[1]
    values = np.sort(np.linalg.eigvalsh(S) + scale / part * rng.standard_normal(p))
    return invert((vectors * values) @ vectors.T)


def coinpress(rows, mu, rng, rounds=3, beta=0.05):
    """CoinPress (Biswas, Dong, Kamath, Ullman 2020): whiten by the answer so far, clip to where Gaussian rows lie."""
    n, p = rows.shape
    shares = np.array([0.25, 0.25, 0.5]) * mu**2
    whiten = np.eye(p)  # of columns in [-1, 1]: the covariance is at most 1 in every direction of a column
    for share in shares[:rounds]:
        t = np.log(n / beta)
        radius = np.sqrt(p + 2.0 * np.sqrt(p * t) + 2.0 * t)
        moved = rows @ whiten.T
        norms = np.linalg.norm(moved, axis=1)
        moved *= np.minimum(1.0, radius / np.maximum(norms, 1e-300))[:, None]
        scale = np.sqrt(2.0) * radius**2 / n / np.sqrt(share)
        found = moved.T @ moved / n + symmetric_noise(rng, p, scale)
        back = np.linalg.inv(whiten)
        covariance = back @ found @ back.T
        # The next round must not stretch a direction that is all noise.
        upper = found + scale * np.sqrt(2.0 * p) * np.eye(p)
        values, vectors = np.linalg.eigh(upper)
        whiten = (vectors / np.sqrt(np.maximum(values, 1e-12))).T @ whiten
    return invert((covariance + covariance.T) / 2.0)


def entrywise(rows, mu, rng, rounds):
    """After the idea of PACE-GGM (Ferrando and others 2026): measure the worst entry, complete by maximum entropy.

    Variances first, with a fifth of the budget; then in each round an entry that the model so far gets most wrong is
    chosen by the exponential mechanism and measured, half of the round's budget each; the model is the Gaussian of
    largest entropy that agrees with what was measured, within the standard deviation of its noise. A budget of μ is
    taken as μ²/2 of zero-concentrated differential privacy, which is more than it is. Returns a precision matrix for
    each of `TOLERANCES`.
    """
    n, p = rows.shape
    S, rho = rows.T @ rows / n, mu**2 / 2.0
    variance_sd = np.sqrt(p) / n / np.sqrt(2.0 * 0.2 * rho)
    diagonal = plausible_variances(S.diagonal() + variance_sd * rng.standard_normal(p), variance_sd)
    each = 0.8 * rho / rounds
    entry_sd, selecting = 2.0 / n / np.sqrt(each), np.sqrt(4.0 * each)
    weight, total = np.zeros((p, p)), np.zeros((p, p))
    above = np.triu_indices(p, 1)
    model = np.diag(diagonal)
    for _ in range(rounds):
        wrong = np.abs(S - model)[above]
        score = selecting * wrong / (2.0 * 2.0 / n)
        chosen = int(np.argmax(score + rng.gumbel(size=score.size)))
        i, j = above[0][chosen], above[1][chosen]
        value = S[i, j] + entry_sd * rng.standard_normal()
        for a, b in ((i, j), (j, i)):
            weight[a, b] += 1.0
            total[a, b] += value
        mean = np.where(weight > 0.0, total / np.maximum(weight, 1.0), np.nan)
        slack = entry_sd / np.sqrt(np.maximum(weight, 1.0))
        model = complete(diagonal, mean, slack)[1]
    return [complete(diagonal, mean, tolerance * slack)[0] for tolerance in TOLERANCES]


def plausible_variances(noisy, sd):
    """Shrunk to their mean by James and Stein's rule: of many noisy variances one is far too small."""
    floor = 2.0 * sd / np.sqrt(noisy.size) + 1e-9
    mean = max(noisy.mean(), floor)
    kept = max(0.0, 1.0 - sd**2 / noisy.var(ddof=1))
    return np.maximum(mean + kept * (noisy - mean), floor)


def complete(variances, covariances, slack):
    """Precision and covariance of largest entropy within `slack` of the covariances that are known (not NaN).

    Where there is none, the slack is as large as it must be; where the solver gives up, columns are independent.
    """
    root = np.sqrt(variances)
    unit, known = np.outer(root, root), np.isfinite(covariances)
    S = np.clip(np.where(known, covariances, 0.0) / unit, -0.999, 0.999)
    penalty = np.where(known, slack / unit, 10.0)
    np.fill_diagonal(S, 1.0)
    np.fill_diagonal(penalty, 0.0)
    try:
        found = graphical_lasso(S, penalty, penalize_diagonal=False, tol=1e-4)
    except UnboundedProblem as error:
        found = graphical_lasso(S, error.safe_alpha, penalize_diagonal=False, tol=1e-4)
    except SolverError:
        return np.diag(1.0 / variances), np.diag(variances)
    return found.precision / unit, found.dual * unit
