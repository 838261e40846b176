"""A sparse precision matrix from a release, with penalties that follow the noise; their scale is chosen for free.

The penalty of an entry is κ times the standard deviation of its noise, times a weight that is 1 if an edge could be
noise and nearly 0 if it could not. Weights come from two rounds of the same fit: one step of the local linear
approximation to a folded penalty (Zou and Li 2008, SCAD), and another. So clear edges are not shrunk, and the others
are set to zero.

κ is chosen by *thinning* (data thinning, Neufeld et al. 2024, for Gaussian noise of known distribution): with G an
independent copy of the noise, Y + G and Y - G are independent. Fit on the first, score -log det Θ + tr((Y - G)Θ) on the
second; the score is linear in Y - G, so it does not matter that this is indefinite. No budget is spent.

Below two effective records per column the denoised matrix D has the broad shape better than Y, but has spread every
edge over all pairs. A few fits to mixtures of the two compete, from D alone to Y alone with weights, all with the
variances of D. With half the information the choice would differ, so thinning is uneven there: Y + G/2 and Y - 2G are
independent too, and the first has nearly all information of Y.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from graphveil._linalg import is_positive_definite
from graphveil._typing import Matrix
from graphveil.exceptions import NotConverged, UnboundedProblem
from graphveil.metrics import negative_log_likelihood
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.recovery.shrinkage import denoise, refined_trace_sd
from graphveil.solvers._graphical_lasso import graphical_lasso
from graphveil.solvers.solution import Solution

__all__ = [
    "RELIABLE",
    "Network",
    "find_network",
    "network_path",
    "refit",
    "repair_diagonal",
    "thinned_losses",
    "with_weak_edges",
]

_SCALES = 4.0 * 2.0 ** (-0.5 * np.arange(9.0))  # κ from 4 down to 0.25
_DRAWS, _ENTRIES = 4, 40_000  # draws of noise: fewer for large matrices, whose losses average over more entries
_WORSE_SCALES = 2  # scales in a row that are worse before the search ends
_PLAIN, _FOLDED = 0.7, 2.0  # κ of the fits from which weights come
_LARGE = 200  # from so many columns on dense fits are avoided (see `_scales`) or reached step by step
_SURE, _UNSURE = 4.0, 2.0  # partial correlations, in standard deviations, beyond and below which an edge is (un)sure
_LEAST_WEIGHT = 0.02
# Nats a column, of the fit and of those on the way: noise costs a hundred times more than the latter. Given for one
# effective record a column, they fall with the number of these, down to the finest and from the roughest.
_FINE_TOL, _ROUGH_TOL = 1e-3, 3e-3
_FINEST_TOL, _ROUGHEST_TOL = 1e-5, 1e-3
RELIABLE = 2.0  # effective records per column below which single entries carry no information
_CAUTIOUS = 0.5  # κ of the fit to the denoised matrix
# Shares of the noisy matrix in mixtures with the denoised one, and κ of the fits to them, in units of that share.
_MIXTURES = ((0.3, (1.2, 0.85, 0.6)), (0.6, (1.5, 1.1)))
_SPARSE = (2.8, 2.0, 1.5)  # κ of the fits to the noisy matrix alone
_UNEVEN = 0.5  # part of G in what is fitted
_MORE = 1.0 + _UNEVEN**2  # times the variance of the noise
_EVIDENCE = 1.0  # nats by which another fit must beat that to the denoised matrix: less is the noise of thinning
_VAGUE = 0.5  # noise of a variance, as a share of it, beyond which correlations with its column may be anything
_IMPLAUSIBLE = 0.25  # of the denoised variance in some direction; fits that hold have 0.28 or more
_EBIC_GAMMA = 0.5
_WEAK = 0.7  # of the penalties
_ABOVE, _BELOW = 20, 6  # points of a path on either side of the chosen one


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
    matrix : (p, p) array
        What it was fitted to.
    is_broad : bool
        Single entries of the noisy matrix say nothing by themselves: there are no intervals.
    """

    solution: Solution
    penalties: Matrix
    scale: float
    matrix: Matrix
    is_broad: bool = False


def find_network(noisy: NoisyCovariance, n_eff: float, choice: str, generator: np.random.Generator) -> Network:
    """Fit with κ chosen by ``choice``, "auto" (thinning) or "ebic"; where records are few, by thinning."""
    p = len(noisy.matrix)
    if n_eff < RELIABLE * p:
        return _fit_few_records(noisy, n_eff, generator)
    S, sd = repair_diagonal(noisy.matrix, noisy), noisy.entry_sd
    weights, near = _adaptive_weights(S, sd, n_eff)
    losses: Iterator[list[float]]
    if choice == "ebic":
        losses = ([_ebic(solution, S, n_eff)] for solution in _decreasing_path(S, sd, n_eff, near))
    else:
        losses = _thinning_losses(S, noisy, n_eff, near, generator)
    chosen = _best_scale(_scales(S), losses)
    solution, scale = _raise_penalty_until_solvable(S, sd * weights, chosen, near, _tol(_FINE_TOL, S, n_eff))
    # Edges that looked certain contradict each other, or leave a direction without variance: they are noise.
    if scale > chosen or not is_positive_definite(solution.covariance - _IMPLAUSIBLE * noisy.denoised):
        return _fit_denoised(noisy.denoised, sd)
    return Network(solution, _zero_diagonal(scale * sd * weights), scale, S)


def _fit_denoised(denoised: Matrix, sd: Matrix) -> Network:
    """Noise hides single entries, but the denoised matrix still has the broad shape."""
    return _fit_broad(denoised, sd, _CAUTIOUS, None, _FINEST_TOL)


def _fit_broad(S: Matrix, sd: Matrix, scale: float, near: Solution | None, tol: float = _ROUGHEST_TOL) -> Network:
    penalties = _zero_diagonal(scale * sd)
    return Network(_solve(S, penalties, near, tol), penalties, scale, S, is_broad=True)


def _fit_few_records(noisy: NoisyCovariance, n_eff: float, generator: np.random.Generator) -> Network:
    """Of fits from dense to sparse, the one that thinning finds best; the first where some variance is vague.

    There entries are noisier than their law says, as those of rare events are, and thinning would believe them.
    """
    if (noisy.entry_sd.diagonal() > _VAGUE * noisy.denoised.diagonal()).any():
        return _fit_denoised(noisy.denoised, noisy.entry_sd)
    fits = {
        name: fit
        for name, fit in _mixed_fits(noisy.matrix, noisy.denoised, noisy.entry_sd, n_eff)
        if is_positive_definite(fit.solution.covariance - _IMPLAUSIBLE * noisy.denoised)
    }
    losses: dict[tuple[float, float], list[float]] = {name: [] for name in fits}
    draws, sd = _draws(noisy.matrix), np.sqrt(_MORE) * noisy.entry_sd
    for train, denoised, test in _thin_unevenly(noisy, draws, generator):
        for name, fit in _mixed_fits(train, denoised, sd, n_eff / _MORE):
            if name in losses:
                losses[name].append(negative_log_likelihood(fit.solution.precision, test))
    means = {name: float(np.mean(values)) for name, values in losses.items() if len(values) == draws}
    if not means:
        return _fit_denoised(noisy.denoised, noisy.entry_sd)
    dense = (0.0, _CAUTIOUS)
    if dense in means:
        means[dense] -= _EVIDENCE
    best = fits[min(means, key=means.__getitem__)]
    return replace(best, solution=_solve(best.matrix, best.penalties, best.solution))


def thinned_losses(
    noisy: NoisyCovariance, fits: Callable[[Matrix], Iterable[Matrix]], draws: int, generator: np.random.Generator
) -> Matrix:
    """Losses of several fits to the denoised Y + G/2 on Y - 2G: a row for each draw of G."""
    thinned = _thin_unevenly(noisy, draws, generator)
    return np.array([[negative_log_likelihood(fit, test) for fit in fits(denoised)] for _, denoised, test in thinned])


def _thin_unevenly(
    noisy: NoisyCovariance, draws: int, generator: np.random.Generator
) -> Iterator[tuple[Matrix, Matrix, Matrix]]:
    """Y + G/2, the same denoised, and Y - 2G with the variances that are known already."""
    for _ in range(draws):
        noise = noisy.draw(generator)
        train, test = noisy.matrix + _UNEVEN * noise, noisy.matrix - noise / _UNEVEN
        np.fill_diagonal(test, noisy.denoised.diagonal())
        yield train, _denoise_again(noisy, train, _MORE), test


def _mixed_fits(
    noisy: Matrix, denoised: Matrix, sd: Matrix, n_eff: float
) -> Iterator[tuple[tuple[float, float], Network]]:
    """Fits to mixtures of the noisy and the denoised matrix, named by the share of the noisy one and by κ."""
    S = noisy.copy()
    np.fill_diagonal(S, denoised.diagonal())
    yield (0.0, _CAUTIOUS), _fit_broad(denoised, sd, _CAUTIOUS, None)
    for share, scales in _MIXTURES:
        with suppress(UnboundedProblem, NotConverged):
            near: Solution | None = None
            for scale in scales:
                fit = _fit_broad(share * S + (1.0 - share) * denoised, share * sd, scale, near)
                yield (share, scale), fit
                near = fit.solution
    with suppress(UnboundedProblem, NotConverged):
        near = _fit_broad(S, sd, _FOLDED, None).solution
        weighted = sd * _weights(near.precision, n_eff)
        for scale in _SPARSE:
            fit = _fit_broad(S, weighted, scale, near)
            yield (1.0, scale), fit
            near = fit.solution


def _denoise_again(noisy: NoisyCovariance, matrix: Matrix, more: float) -> Matrix:
    """A matrix whose noise has ``more`` times the variance, denoised, with the variances that are known already."""
    p, sd = len(matrix), float(np.sqrt(sum(size**2 for _, size in noisy.privacy)))
    back = np.linalg.cholesky(sum((size / sd) ** 2 * b @ b.T for b, size in noisy.privacy))
    there = np.linalg.solve(back, np.linalg.solve(back, matrix).T)
    sd *= np.sqrt(more)
    found = back @ denoise((there + there.T) / 2.0, sd, trace_sd=refined_trace_sd(sd, p)).matrix @ back.T
    scale = np.sqrt(noisy.denoised.diagonal() / found.diagonal())
    return np.asarray((found + found.T) / 2.0 * np.outer(scale, scale))


def network_path(network: Network, most_edges: int) -> list[Network]:
    """The same fit at other κ, from where there is no edge down; ``network`` itself is among them.

    The path ends at an eighth of its κ, where there are more than ``most_edges``, or where there is no minimiser.
    """
    S, base = network.matrix, network.penalties / network.scale
    off = base > 0
    # A diagonal matrix is the solution as soon as every penalty exceeds its entry; edges appear about one by one below.
    ratios = np.sort(np.abs(S[off]) / base[off])[::-1]
    ratios = ratios[ratios > 1.01 * network.scale]
    ranks = np.unique(np.geomspace(1, max(ratios.size, 1), _ABOVE).round().astype(int))[: ratios.size]
    up = [*ratios[:1] * (1.0 + 1e-9), *ratios[ranks - 1] * (1.0 - 1e-3)]
    down = network.scale * 2.0 ** (-0.5 * np.arange(1, _BELOW + 1))
    path: list[Network] = []
    warm: Solution | None = None
    for scale in [*up, network.scale, *down]:
        chosen = scale == network.scale
        try:
            warm = network.solution if chosen else _solve(S, scale * base, warm)
        except (UnboundedProblem, NotConverged):
            if scale < network.scale:
                break
            continue
        if scale < network.scale and warm.n_edges > most_edges:
            break
        path.append(network if chosen else Network(warm, scale * base, float(scale), S, network.is_broad))
    return path


def with_weak_edges(network: Network, noisy: NoisyCovariance, n_eff: float) -> Solution:
    """The same fit with a smaller penalty: for simulation, a truth that has edges too weak to be found.

    Not for large matrices: it would take longer than all the rest.
    """
    if len(noisy.matrix) >= _LARGE:
        return network.solution
    try:
        S = repair_diagonal(noisy.matrix, noisy)
        return _solve(S, _WEAK * network.penalties, network.solution, _tol(_ROUGH_TOL, S, n_eff))
    except (UnboundedProblem, NotConverged):
        return network.solution


def refit(network: Network, S: Matrix, noisy: NoisyCovariance, n_eff: float) -> Matrix:
    """The same fit to another matrix with the same law of noise: for simulation."""
    weights, near = _adaptive_weights(S, noisy.entry_sd, n_eff, network.solution)
    return _raise_penalty_until_solvable(S, noisy.entry_sd * weights, network.scale, near, _tol(_ROUGH_TOL, S, n_eff))[
        0
    ].precision


def _scales(S: Matrix) -> Matrix:
    """The κ to choose from, falling; fewer for large matrices."""
    return _SCALES if len(S) < _LARGE else _SCALES[(_SCALES < 4.0) & (_SCALES >= 1.0)]


def _best_scale(scales: Matrix, losses: Iterable[list[float]]) -> float:
    """The κ of least mean loss; smaller ones, which make dense and slow fits, are not tried once it has risen."""
    best, least, risen = scales[0], np.inf, 0
    for scale, values in zip(scales, losses, strict=False):
        loss = float(np.mean(values))
        best, least, risen = (scale, loss, 0) if loss < least else (best, least, risen + 1)
        if risen == _WORSE_SCALES:
            break
    return float(best)


def _thinning_losses(
    S: Matrix, noisy: NoisyCovariance, n_eff: float, near: Solution, generator: np.random.Generator
) -> Iterator[list[float]]:
    """For each κ, the losses of fits to Y + G on Y - G for a few draws of G."""
    noises = [noisy.draw(generator) for _ in range(_draws(S))]
    wide = np.sqrt(2.0) * noisy.entry_sd
    fits = [_decreasing_path(repair_diagonal(S + noise, noisy), wide, n_eff / 2.0, near) for noise in noises]
    for solutions in zip(*fits, strict=False):
        yield [
            negative_log_likelihood(solution.precision, S - noise)
            for solution, noise in zip(solutions, noises, strict=True)
        ]


def _draws(S: Matrix) -> int:
    return int(np.clip(_ENTRIES // S.size, 1, _DRAWS))


def _decreasing_path(S: Matrix, sd: Matrix, n_eff: float, near: Solution) -> Iterator[Solution]:
    """Fits for falling κ, down to where there is no minimiser any more."""
    weights, warm = _adaptive_weights(S, sd, n_eff, near)
    for scale in _scales(S):
        try:
            warm = _solve(S, _zero_diagonal(scale * sd * weights), warm, _tol(_ROUGH_TOL, S, n_eff))
        except (UnboundedProblem, NotConverged):
            return
        yield warm


def _adaptive_weights(S: Matrix, sd: Matrix, n_eff: float, near: Solution | None = None) -> tuple[Matrix, Solution]:
    """Of each entry, from a plain fit and then from a weighted one, which is returned too."""
    tol = _tol(_ROUGH_TOL, S, n_eff)
    plain, _ = _raise_penalty_until_solvable(S, sd, _PLAIN if len(S) < _LARGE else _FOLDED, near, tol)
    weighted, _ = _raise_penalty_until_solvable(S, sd * _weights(plain.precision, n_eff), _FOLDED, plain, tol)
    return _weights(weighted.precision, n_eff), weighted


def _raise_penalty_until_solvable(
    S: Matrix, penalties: Matrix, scale: float, near: Solution | None, tol: float
) -> tuple[Solution, float]:
    """Solve with κ, or with the first multiple of it that has a solution; and say which.

    ``near`` is where to start, if anything is known: at best a solution for about the same penalties at κ = 2.
    """
    while True:
        try:
            warm = near
            if near is not None and len(S) >= _LARGE:
                for step in _SCALES[(scale < _SCALES) & (_SCALES < _FOLDED)]:
                    warm = _solve(S, _zero_diagonal(step * penalties), warm, _ROUGHEST_TOL)
            return _solve(S, _zero_diagonal(scale * penalties), warm, tol), scale
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
    fit = n_eff * negative_log_likelihood(solution.precision, S)
    return float(fit + solution.n_edges * (np.log(n_eff) + 4.0 * _EBIC_GAMMA * np.log(len(S))))


def _tol(of_one: float, S: Matrix, n_eff: float) -> float:
    """Nats a column; twice as many for large matrices, whose fits take long."""
    return float(np.clip(of_one * len(S) / n_eff, _FINEST_TOL, _ROUGHEST_TOL)) * (1.0 if len(S) < _LARGE else 2.0)


def _solve(S: Matrix, penalties: Matrix, warm: Solution | None = None, tol: float = _FINEST_TOL) -> Solution:
    return graphical_lasso(S, penalties, penalize_diagonal=False, tol=tol, warm_start=warm)


def repair_diagonal(matrix: Matrix, noisy: NoisyCovariance) -> Matrix:
    """A noisy covariance, with denoised variances where its own are far too small."""
    S = matrix.copy()
    own, safe = S.diagonal(), noisy.denoised.diagonal()
    np.fill_diagonal(S, np.where(own > 0.5 * safe, own, safe))
    return S


def _zero_diagonal(penalties: Matrix) -> Matrix:
    penalties = penalties.copy()
    np.fill_diagonal(penalties, 0.0)
    return penalties
