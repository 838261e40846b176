"""From a release to a precision matrix, for free."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.exceptions import InvalidParameter
from graphveil.recovery.columns import Setting
from graphveil.recovery.denoise import denoise
from graphveil.recovery.recipe import adaptive_rounds
from graphveil.spec.lattice import RowLattice
from graphveil.spec.released import Release

__all__ = ["Recovered", "recover"]

_DETECTION = 2.5  # one round: believe a spread of the spectrum only when it exceeds its noise by this many sd


@dataclass(frozen=True)
class Recovered:
    """An estimate in user's units.

    Attributes
    ----------
    precision, covariance : (p, p) arrays
        Positive definite and inverse to each other.
    location : (p,) array
        The point about which the covariance is taken.
    n_eff : float
        Rows that would give as noisy an estimate without privacy. Below p, edges are not reliable.
    undetermined : (p,) array of bool
        Columns whose variance is within its noise: only an upper guess. Narrower public bounds would help.
    rebounded : (p,) array of bool
        Columns that were clamped to a narrower, privately found window; the estimate describes them as clamped.
    flat : bool
        The release shows no structure above its noise.
    unresolved : bool
        Some directions lie within the noise; partial correlations along them are not to be read.
    """

    precision: NDArray[np.float64]
    covariance: NDArray[np.float64]
    location: NDArray[np.float64]
    n_eff: float
    undetermined: NDArray[np.bool_]
    rebounded: NDArray[np.bool_]
    flat: bool
    unresolved: bool


def recover(release: Release) -> Recovered:
    """Estimate the covariance and its inverse from a release.

    Noisy second moments are denoised in coordinates in which their noise is the same in all directions, and brought
    back. The result is always positive definite. After several rounds, the recipe that asked the questions is run
    again on the answers.

    Parameters
    ----------
    release : Release

    Returns
    -------
    Recovered

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=5), 20_000, random_state=0)
    >>> out = gv.release(
    ...     rows, domain=gv.Domain(bounds=(-6, 6)), budget=gv.Budget(1.0, 1e-6), rounds="auto", random_state=0
    ... )
    >>> gv.recover(out).precision.shape
    (5, 5)
    """
    if not isinstance(release, Release):
        raise InvalidParameter.of("release", "a gv.Release", type(release).__name__)
    centre, half = release.frame
    scale = np.outer(half, half)
    if release.event.rounds == "adaptive":
        estimate = _replay(release)
        return Recovered(
            precision=estimate.precision / scale,
            covariance=estimate.covariance * scale,
            location=centre + half * estimate.location,
            n_eff=estimate.n_eff,
            undetermined=estimate.columns.undetermined,
            rebounded=estimate.columns.rebounded,
            flat=estimate.denoised.flat,
            unresolved=estimate.denoised.unresolved,
        )
    p, sd = half.size, release.noise_scale
    trace_sd = sd * np.sqrt(p / (p + 1.0)) if "trace" in release.rounds[-1].values else sd * np.sqrt(p)
    result = denoise(
        release.second_moment / scale, sd, trace_sd=trace_sd, n_samples=release.n_samples, detection=_DETECTION
    )
    precision = np.linalg.inv(result.matrix)
    return Recovered(
        precision=(precision + precision.T) / 2.0 / scale,
        covariance=result.matrix * scale,
        location=release.origin,
        n_eff=release.n_eff,
        undetermined=np.zeros(p, dtype=bool),
        rebounded=np.zeros(p, dtype=bool),
        flat=result.flat,
        unresolved=result.unresolved,
    )


def _replay(release: Release):  # type: ignore[no-untyped-def]
    """Run the recipe on recorded answers."""
    domain = release.domain
    setting = Setting(
        domain._known_features(),
        release.n_samples,
        RowLattice.of(domain, None),
        domain.radius,
        release.event.mu,
        release.event.rows_per_person,
        centred=release.augment is None,
    )
    recipe = adaptive_rounds(setting)
    answers = list(release.rounds)
    asked = next(recipe)
    while asked:
        count = len(asked)
        same = [type(query) for query, _ in asked] == [type(a.query) for a in answers[:count]]
        if not same:
            raise InvalidParameter("the rounds of this release do not follow the recipe of this version of graphveil.")
        asked, answers = recipe.send(answers[:count]), answers[count:]
    try:
        next(recipe)
    except StopIteration as end:
        return end.value
    raise InvalidParameter("the recipe did not come to an end.")
