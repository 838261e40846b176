"""The forecast by rehearsal: the real release and the real network, on simulated records, with seeded noise.

Rows are drawn from public models (small worlds, standardised, Gaussian), and go through the same gate and the same
recovery as real ones.

A rehearsal with n rows does not need n rows. Noise depends on μn alone, so m < n rows with μ' = μn/m get the same, and
m rows can be given exactly the mean and the covariance that n would have had (:func:`_rows`). Only the sampling noise
that the release assumes must be corrected, and it is known.
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from graphveil._random import generator_for
from graphveil._threads import blas_threads_for
from graphveil.exceptions import PrivacyWarning
from graphveil.gate import release
from graphveil.metrics import partial_correlations, relative_loss, roc_auc
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.estimate import recover
from graphveil.simulate.graphs import small_world_precision
from graphveil.spec.budget import Budget
from graphveil.spec.case import Case
from graphveil.spec.domain import Domain
from graphveil.spec.forecast import ForecastPoint
from graphveil.spec.gdp import delta_from_mu

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["rehearse"]

_ROWS, _ROWS_A_COLUMN, _MOST_ROWS = 30_000, 30, 200_000  # simulated in one rehearsal
_LARGEST_MU = 8.0  # beyond it the sampler's lattice refuses; so many rows have hardly any privacy noise left
_WITH_INTERVALS = 4  # rehearsals whose intervals are looked at: they hardly differ


def rehearse(case: Case, replications: int) -> ForecastPoint:
    """Medians over some rehearsals."""
    runs = [_rehearse(case, seed, intervals=seed < _WITH_INTERVALS) for seed in range(replications)]
    smallest = float(np.median([run.smallest_edge for run in runs if run.smallest_edge is not None]))
    areas = [run.auc for run in runs if run.auc is not None]
    return ForecastPoint(
        n_samples=case.n,
        epsilon=case.budget.epsilon,
        n_eff=float(np.median([run.n_eff for run in runs])),
        noise_sd=float(np.median([run.noise_sd for run in runs])),
        error=float(np.median([run.error for run in runs])),
        auc=float(np.median(areas)) if areas else None,
        smallest_edge=smallest if smallest < 1.0 else None,
    )


@dataclass(frozen=True)
class _Run:
    n_eff: float
    noise_sd: float
    error: float
    auc: float | None
    smallest_edge: float | None  # None: not looked at; 1: nothing is seen


def _rehearse(case: Case, seed: int, *, intervals: bool) -> _Run:
    """One release of simulated records, and how well its network comes out."""
    with blas_threads_for(case.p):  # matrices of this size are slower with more
        return _release_and_compare(case, seed, intervals=intervals)


def _release_and_compare(case: Case, seed: int, *, intervals: bool) -> _Run:
    truth = _model(case.p, seed)
    m, budget = _smaller(case)
    rows = _rows(truth, case.n, m, generator_for("plan", str(case.n), str(case.p), str(seed)))
    bounds = (-case.bounds_in_sd, case.bounds_in_sd)
    domain = Domain(bounds=bounds, rows_per_person=case.rows_per_person, neighbours=case.neighbours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        made = release(rows, domain=domain, budget=budget, random_state=seed)
        found = recover(made)
    noisy = replace(found.noisy, sampling=found.noisy.sampling * m / case.n)
    n_eff = 1.0 / (1.0 / found.n_eff - 1.0 / m + 1.0 / case.n)
    analysis = Analysis(made, replace(found, noisy=noisy, n_eff=n_eff))
    pairs = np.triu_indices(case.p, 1)
    precision, joined = analysis.network.solution.precision, truth != 0
    spread = np.sqrt(np.diag(noisy.denoised))
    private = replace(noisy, sampling=0.0).entry_sd / np.outer(spread, spread)
    return _Run(
        n_eff=n_eff,
        noise_sd=float(np.median(private[pairs] if case.p > 1 else private)),
        error=relative_loss(precision, truth),
        auc=roc_auc(np.abs(partial_correlations(precision)), joined)
        if 0 < joined[pairs].sum() < pairs[0].size
        else None,
        smallest_edge=_smallest_edge(analysis) if intervals else None,
    )


def _smallest_edge(analysis: Analysis) -> float:
    found = analysis.find_intervals(0.95).smallest_edge
    return 1.0 if found is None else found


def _model(p: int, seed: int) -> "NDArray[np.float64]":
    """Precision matrix of standardised columns: a small world, of fewer neighbours where there are few columns."""
    theta = small_world_precision(p, 2 if p < 10 else 4, random_state=seed)
    spread = np.sqrt(np.diag(np.linalg.inv(theta)))
    return np.asarray(theta * np.outer(spread, spread))


def _smaller(case: Case) -> tuple[int, Budget]:
    """How many rows to draw, and the budget that gives them the noise of the case."""
    mu = case.budget.mu
    for_noise = min(math.ceil(mu * case.n / _LARGEST_MU), _MOST_ROWS)
    wanted = max(_ROWS, _ROWS_A_COLUMN * case.p, for_noise)
    if case.n <= wanted:
        return case.n, case.budget
    stronger = min(mu * case.n / wanted, _LARGEST_MU)
    epsilon = stronger**2 / 2.0  # where δ is moderate, so that the sampler's lattice has room
    return wanted, Budget(epsilon, delta_from_mu(stronger, epsilon))


def _rows(precision: "NDArray[np.float64]", n: int, m: int, generator: np.random.Generator) -> "NDArray[np.float64]":
    """``m`` Gaussian rows with the mean and the covariance that ``n`` would have had.

    The covariance of n rows about their mean is Wishart; its Cholesky factor has independent entries (Bartlett 1933).
    """
    p = len(precision)
    rows = generator.standard_normal((m, p))
    if m < n:
        rows -= rows.mean(axis=0)
        root = np.linalg.cholesky(rows.T @ rows / m)
        bartlett = np.tril(generator.standard_normal((p, p)), -1)
        np.fill_diagonal(bartlett, np.sqrt(generator.chisquare(n - 1 - np.arange(p))))
        mean = generator.standard_normal(p) / np.sqrt(n)
        rows = mean + rows @ np.linalg.solve(root.T, bartlett.T / np.sqrt(n))
    factor = np.linalg.cholesky(np.linalg.inv(precision))
    return np.ascontiguousarray(rows @ factor.T)
