r"""A sparse precision matrix from a release, with penalties that know the noise, their scale chosen for free.

The penalty of an entry is κ times the standard deviation of its noise, times a weight that is 1 where an edge could be
noise and nearly 0 where it could not. Weights come from two rounds of the same fit: one step of the local linear
approximation to a folded penalty (Zou and Li 2008, SCAD), and another. So edges that are certainly there are not
shrunk, and the rest is set to zero.

κ is chosen by *thinning* (data thinning, Neufeld et al. 2024, for Gaussian noise of known law): with G an independent
copy of the noise, Y + G and Y - G are independent. Fit on the first, score -log det Θ + tr((Y - G)Θ) on the second; the
score is linear in Y - G, so it does not matter that this is indefinite. No budget is spent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.exceptions import NotConverged, UnboundedProblem
from graphveil.recovery.law import NoisyCovariance
from graphveil.solvers.definite import log_determinant
from graphveil.solvers.descent import graphical_lasso
from graphveil.solvers.solution import Solution

__all__ = ["RELIABLE", "Network", "find_network", "fit_like", "safe_covariance"]

Matrix = NDArray[np.float64]

_SCALES = 0.25 * 2.0 ** (0.5 * np.arange(9.0))  # κ from 0.25 to 4
_DRAWS = 4
_PLAIN, _FOLDED = 0.7, 2.0  # κ of the fits from which weights come
_SURE, _UNSURE = 4.0, 2.0  # partial correlations, in standard deviations, beyond and below which an edge is (un)sure
_LEAST_WEIGHT = 0.02
_TOL = 1e-5
RELIABLE = 2.0  # effective records per column below which single entries say nothing
_CAUTIOUS = 0.5  # κ there
_EBIC_GAMMA = 0.5


@dataclass(frozen=True, eq=False)
class Network:
    """A sparse solution.

    Attributes
    ----------
    solution : Solution
    penalties : (p, p) array
        Of each entry, in the units of the covariance; 0 on the diagonal.
    scale : float
        κ.
    """

    solution: Solution
    penalties: Matrix
    scale: float


def find_network(noisy: NoisyCovariance, n_eff: float, choice: str, generator: np.random.Generator) -> Network:
    """Fit with κ chosen by ``choice``, "auto" (thinning) or "ebic"."""
    p = len(noisy.matrix)
    if n_eff < RELIABLE * p:
        # Single entries drown; the denoised matrix still knows the broad shape.
        penalties = _bare(_CAUTIOUS * noisy.entry_sd)
        return Network(_solved(noisy.denoised, penalties), penalties, _CAUTIOUS)
    S = safe_covariance(noisy.matrix, noisy)
    found = _fits(S, noisy.entry_sd, n_eff)
    if choice == "ebic":
        losses = {k: _ebic(fit.solution, S, n_eff) for k, fit in found.items()}
    else:
        losses = _thinned_losses(S, noisy, n_eff, list(found), generator)
    return found[min(losses, key=lambda k: losses[k])]


def fit_like(network: Network, S: Matrix, noisy: NoisyCovariance, n_eff: float) -> Matrix:
    """The same fit to another matrix with the same law of noise: for simulation."""
    weights = _learnt_weights(S, noisy.entry_sd, n_eff)
    return _strong_enough(S, noisy.entry_sd * weights, network.scale).precision


def _thinned_losses(
    S: Matrix, noisy: NoisyCovariance, n_eff: float, candidates: list[float], generator: np.random.Generator
) -> dict[float, float]:
    """Mean loss of every κ on the other half of Y; infinite where a half cannot be fitted."""
    losses = dict.fromkeys(candidates, 0.0)
    for _ in range(_DRAWS):
        noise = noisy.draw(generator)
        half = safe_covariance(S + noise, noisy)
        fits = _fits(half, np.sqrt(2.0) * noisy.entry_sd, n_eff / 2.0)
        for scale in candidates:
            fit = fits.get(scale)
            losses[scale] += np.inf if fit is None else _loss(fit.solution.precision, S - noise)
    if all(np.isinf(loss) for loss in losses.values()):
        losses[max(losses)] = 0.0  # halves are too noisy to be fitted at all: the strongest penalty
    return losses


def _fits(S: Matrix, sd: Matrix, n_eff: float) -> dict[float, Network]:
    """Fits by κ, from the strongest penalty down to where there is no minimiser any more."""
    weights = _learnt_weights(S, sd, n_eff)
    found: dict[float, Network] = {}
    warm: Solution | None = None
    for scale in _SCALES[::-1]:
        penalties = _bare(scale * sd * weights)
        try:
            warm = _solved(S, penalties, warm)
        except (UnboundedProblem, NotConverged):
            break
        found[float(scale)] = Network(warm, penalties, float(scale))
    if not found:  # weights have freed entries that S cannot do without
        scale = float(_SCALES[-1])
        found[scale] = Network(_strong_enough(S, sd, scale), _bare(scale * sd), scale)
    return found


def _learnt_weights(S: Matrix, sd: Matrix, n_eff: float) -> Matrix:
    """Of each entry, from a plain fit and then from a weighted one."""
    weights = np.ones_like(S)
    for scale in (_PLAIN, _FOLDED):
        weights = _weights(_strong_enough(S, sd * weights, scale).precision, n_eff)
    return weights


def _strong_enough(S: Matrix, penalties: Matrix, scale: float) -> Solution:
    """Solve with κ, or with the first multiple of it that has a solution."""
    while True:
        try:
            return _solved(S, _bare(scale * penalties))
        except (UnboundedProblem, NotConverged):
            if scale > 1e6:
                raise
            scale *= 1.5


def _weights(precision: Matrix, n_eff: float) -> Matrix:
    diagonal = np.sqrt(precision.diagonal())
    sure = np.abs(precision) / np.outer(diagonal, diagonal) * np.sqrt(n_eff)
    return np.asarray(np.clip((_SURE - sure) / (_SURE - _UNSURE), _LEAST_WEIGHT, 1.0))


def _ebic(solution: Solution, S: Matrix, n_eff: float) -> float:
    """Extended BIC (Foygel and Drton 2010) with the effective number of records."""
    fit = n_eff * _loss(solution.precision, S)
    return float(fit + solution.n_edges * (np.log(n_eff) + 4.0 * _EBIC_GAMMA * np.log(len(S))))


def _loss(precision: Matrix, S: Matrix) -> float:
    logdet = log_determinant(precision)
    assert logdet is not None
    return float(np.vdot(S, precision)) - logdet


def _solved(S: Matrix, penalties: Matrix, warm: Solution | None = None) -> Solution:
    return graphical_lasso(S, penalties, penalize_diagonal=False, tol=_TOL, warm_start=warm)


def safe_covariance(matrix: Matrix, noisy: NoisyCovariance) -> Matrix:
    """A noisy covariance, with denoised variances where its own are far too small."""
    S = matrix.copy()
    own, safe = S.diagonal(), noisy.denoised.diagonal()
    np.fill_diagonal(S, np.where(own > 0.5 * safe, own, safe))
    return S


def _bare(penalties: Matrix) -> Matrix:
    penalties = penalties.copy()
    np.fill_diagonal(penalties, 0.0)
    return penalties
