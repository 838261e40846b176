r"""Mean and covariance of a release and the distribution of their errors, on which all intervals here are based.

The released covariance is Y = Σ + Δ with errors Δ of known distribution (:mod:`graphveil.recovery.noise_model`), and an
answer f(Σ) is off by tr(WΔ) to first order, W being its gradient. For errors with cov(Δ_ij, Δ_kl) = s (G_ik G_jl + G_il
G_jk),

    Var tr(WΔ) = 2s tr(WGWG),    Cov(a'Δu, b'Δu) = s [(a'Gb)(u'Gu) + (a'Gu)(b'Gu)].

G is known exactly for privacy noise, and is Σ itself for sampling. Three errors that clipping makes are added to
privacy's part: some directions may have lost more than others (:mod:`graphveil.recovery.uneven_loss`), single entries
may be off, and so may the scale of a column as a whole, by more than noise explains.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from graphveil._tables import list_first
from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.inference.uncertain import Spread
from graphveil.recovery.diagnostics import drowned_columns, has_bounds_of_indicator
from graphveil.recovery.estimate import Estimate, recover_moments, require_covariance
from graphveil.recovery.gap_noise import gap_noise_of_products, gap_noise_of_trace
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.released.release import Release

__all__ = ["UncertainMoments", "moments_of"]


@dataclass(frozen=True, eq=False)
class UncertainMoments:
    """Mean and covariance of some columns, and the law of their errors.

    Attributes
    ----------
    names : tuple of str
    noisy : NoisyCovariance
        The covariance before and after denoising, and the law of its errors.
    location : (p,) array or None
        The mean; None where rows were assumed to have mean zero.
    location_spread : Spread
        Covariance of its errors.
    excess : (p,) array
        Variances of what the logarithms of the variances are off by, beyond noise and sampling.
    tail_sd : (p,) array
        The root of the part of it that is due to tails which the release cannot see.
    undetermined, hidden_tails, drowned : (p,) arrays of bool
        Columns whose standard deviation may be off by more than a factor of 1.2, those whose bounds allow tails that
        the release cannot see (an indicator has none), and those of which nothing is known.
    n_eff : float
        Number of noise-free rows that would be as good.
    release : Release
        Where all this comes from.
    """

    names: tuple[str, ...]
    noisy: NoisyCovariance
    location: Vector | None
    location_spread: Spread
    excess: Vector
    tail_sd: Vector
    undetermined: "np.ndarray[Any, np.dtype[np.bool_]]"
    hidden_tails: "np.ndarray[Any, np.dtype[np.bool_]]"
    drowned: "np.ndarray[Any, np.dtype[np.bool_]]"
    n_eff: float
    release: Release

    @classmethod
    def of(cls, release: Release, estimate: Estimate) -> "UncertainMoments":
        """What an estimate from a release knows."""
        covariance = estimate.covariance
        variance = np.diag(covariance)
        noise = sum((sd * np.sum(back**2, axis=1) / variance) ** 2 for back, sd in estimate.noisy.privacy)
        mean_privacy = release.location_noise + np.diag(estimate.location_shift**2)
        per_row = np.sqrt(np.maximum(estimate.location_sd**2 - np.diag(mean_privacy), 0.0) / variance)
        return cls(
            names=release.column_names,
            noisy=estimate.evened,
            location=None if release.location is None else estimate.location,
            location_spread=Spread(covariance * np.outer(per_row, per_row), mean_privacy),
            excess=np.maximum(estimate.relative_sd**2 - noise, 0.0) + estimate.tail_sd**2,
            tail_sd=estimate.tail_sd,
            undetermined=estimate.undetermined,
            hidden_tails=estimate.hidden_tails & ~has_bounds_of_indicator(release),
            drowned=drowned_columns(estimate),
            n_eff=estimate.n_eff,
            release=release,
        )

    def column_numbers(self, parameter: str, given: Sequence[str | int]) -> list[int]:
        """Numbers of columns that are given by name or number, or by the name of a variable that has several."""
        rule = "distinct columns of the release, by name or number"
        codebook = self.release.domain.codebook
        places = {} if codebook is None else dict(zip(codebook.names, codebook.places, strict=True))
        places |= {name: range(number, number + 1) for number, name in enumerate(self.names)}
        by_name = [places[item] if isinstance(item, str) and item in places else [item] for item in given]
        numbers: list[Any] = [number for found in by_name for number in found]
        known = all(type(item) is int and 0 <= item < len(self.names) for item in numbers)
        if not known or len(set(numbers)) != len(numbers):
            raise InvalidParameter(f"{parameter} must be {rule}. The columns are {list_first(self.names)}.")
        return [int(item) for item in numbers]

    def select(self, columns: Sequence[int]) -> "UncertainMoments":
        """The same of some columns, in this order."""
        chosen = list(columns)
        square = np.ix_(chosen, chosen)
        return replace(
            self,
            names=tuple(self.names[k] for k in chosen),
            noisy=self.noisy.select(chosen),
            location=None if self.location is None else self.location[chosen],
            location_spread=Spread(self.location_spread.sampling[square], self.location_spread.privacy[square]),
            excess=self.excess[chosen],
            tail_sd=self.tail_sd[chosen],
            undetermined=self.undetermined[chosen],
            hidden_tails=self.hidden_tails[chosen],
            drowned=self.drowned[chosen],
        )

    def scaled(self, factors: Vector) -> "UncertainMoments":
        """The same in other units: every column times its factor."""
        outer = np.outer(factors, factors)
        return replace(
            self,
            noisy=self.noisy.scaled(factors),
            location=None if self.location is None else self.location * factors,
            location_spread=Spread(self.location_spread.sampling * outer, self.location_spread.privacy * outer),
        )

    def variance_of_trace(self, W: Matrix) -> tuple[float, float]:
        """Variance of tr(WΔ) for a symmetric W, from sampling and from privacy."""
        noisy = self.noisy
        privacy = sum(2.0 * size * _square_trace(W @ gram) for gram, size in noisy.privacy_grams)
        privacy += 2.0 * float(np.sum(W**2 * noisy.single))
        # A column that is off by the factor 1 + e/2 moves every entry of its row and column by that.
        privacy += float(self.excess @ np.sum(W * noisy.denoised, axis=1) ** 2)
        sampling = 2.0 * _square_trace(W @ noisy.denoised)
        if noisy.gaps is not None:
            sampling += gap_noise_of_trace(W, noisy.gaps, noisy.denoised)
        return noisy.sampling * sampling, float(privacy)

    def covariance_of_products(self, A: Matrix, u: Vector) -> Spread:
        """Covariance of AΔu, from sampling and from privacy; without errors of a column's scale."""
        noisy, at = self.noisy, A * u
        privacy = np.sum([size * _products(A, u, gram) for gram, size in noisy.privacy_grams], axis=0)
        single = np.broadcast_to(noisy.single, noisy.matrix.shape)
        privacy = privacy + (A * (single @ u**2)) @ A.T + at @ single @ at.T
        sampling = _products(A, u, noisy.denoised)
        if noisy.gaps is not None:
            sampling = sampling + gap_noise_of_products(A, u, noisy.gaps, noisy.denoised)
        return Spread(noisy.sampling * sampling, privacy)


def moments_of(release: Release) -> UncertainMoments:
    """What a release knows; recovered once for many questions."""
    require_covariance(release)
    if release.event.mechanism == "paper":
        raise InvalidParameter(
            "A release by the paper's mechanism has a different noise distribution, for which no intervals are "
            "available: use the default mechanism."
        )
    return _find_moments(release)


@lru_cache(maxsize=8)
def _find_moments(release: Release) -> UncertainMoments:
    return UncertainMoments.of(release, recover_moments(release))


def _square_trace(matrix: Matrix) -> float:
    """tr(MM)."""
    return float(np.sum(matrix * matrix.T))


def _products(A: Matrix, u: Vector, gram: Matrix) -> Matrix:
    """Covariance of AΔu for an s of 1."""
    moved = A @ gram
    along = moved @ u
    return np.asarray(moved @ A.T * float(u @ gram @ u) + np.outer(along, along))
