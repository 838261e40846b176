"""Shrinkage of a noisy symmetric matrix whose noise distribution is known: never invert a noisy spectrum.

Y = C + E with E a symmetric Gaussian matrix (standard deviation s on the diagonal, s/√2 off it), its trace known
better. The noise is invariant under rotations and says nothing about directions, so the eigenvectors of Y are kept and
its eigenvalues are replaced by the expected values of C along them. That needs the spectrum of C, which is estimated
from Y: its first two moments without bias, because the noise variance is public; its shape by the formula of Bun,
Allez, Bouchaud and Potters (2016). If the second moment shows no signal, the estimate is a multiple of the identity.

One eigendecomposition; no Monte Carlo.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.protocol.parameters import PROTOCOL
from graphveil.recovery.eigenvector_overlaps import expected_eigenvalues

__all__ = ["Denoised", "denoise", "positive_upward_biased", "refined_trace_sd"]


@dataclass(frozen=True)
class Denoised:
    """A positive definite estimate of C.

    Attributes
    ----------
    matrix : (p, p) array
    flat : bool
        The spectrum shows no signal: the matrix is a multiple of the identity.
    unresolved : bool
        The smallest noisy eigenvalue lies within the noise: some directions are not known.
    relative_sd : float
        s over the mean eigenvalue: the noise in units of the signal.
    """

    matrix: NDArray[np.float64]
    flat: bool
    unresolved: bool
    relative_sd: float


def refined_trace_sd(sd: float, p: int) -> float:
    """Standard deviation of the trace of the noise, where the trace was released beside the matrix."""
    return float(sd * np.sqrt(p / (p + 1.0)))


def denoise(
    noisy: NDArray[np.float64],
    sd: float,
    *,
    trace_sd: float,
    n_samples: float | None = None,
    detection: float = 0.0,
    last: bool = True,
) -> Denoised:
    """Estimate C from Y = C + E.

    Parameters
    ----------
    noisy : (p, p) array
        Y, symmetric.
    sd : float
        Standard deviation of the noise on the diagonal; off it, sd/√2.
    trace_sd : float
        Standard deviation of the trace of the noise.
    n_samples : float, optional
        Count the sampling noise of n Gaussian rows too, as an additional noise of variance 2·(mean eigenvalue)²/n.
    detection : float, default 0
        How many standard deviations the spread of the spectrum must exceed before it is believed.
    last : bool, default True
        The result will be inverted, not only looked at more closely: be careful with what noise hides.
    """
    p = len(noisy)
    # Fourth powers are taken below: in any unit they are doubles. Powers of two change no bit.
    unit = np.ldexp(1.0, np.frexp(max(float(np.abs(noisy).max()), sd))[1] - 1)
    noisy, sd, trace_sd = noisy / unit, sd / unit, trace_sd / unit
    values, vectors = np.linalg.eigh(noisy)
    mean_sd = trace_sd / p
    mean = float(positive_upward_biased(float(np.trace(noisy)) / p, mean_sd))
    if n_samples is not None:
        sd = float(np.hypot(sd, np.sqrt(2.0 / n_samples) * max(mean, mean_sd)))
    edge = sd * np.sqrt(2.0 * p)  # largest eigenvalue of the noise
    spectrum = _spectrum(values, mean, sd, mean_sd, detection)
    shrunk = np.full(p, mean) if spectrum is None else _nearest_increasing(expected_eigenvalues(values, spectrum, sd))
    if last:
        shrunk = np.maximum(shrunk, PROTOCOL.shrinkage.resolution * min(edge, 0.75 * mean))
    matrix = (vectors * shrunk) @ vectors.T
    return Denoised(
        matrix=(matrix + matrix.T) / 2.0 * unit,
        flat=spectrum is None,
        unresolved=bool(values[0] < edge),
        relative_sd=sd / max(mean, mean_sd),
    )


def positive_upward_biased(mean: NDArray[np.float64] | float, sd: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """A positive mean that errs upwards when little is known: an inverse suffers far more from one that is too small.

    Close to ``mean`` + 2sd²/``mean`` when that is well above its noise, and never below √2·sd.
    """
    known = np.maximum(mean, 0.0)
    return np.maximum((known + np.sqrt(known**2 + 8.0 * np.square(sd))) / 2.0, np.finfo(float).tiny)


def _spectrum(
    values: NDArray[np.float64], mean: float, sd: float, mean_sd: float, detection: float
) -> NDArray[np.float64] | None:
    """Eigenvalues of C, ascending; None where nothing stands out from the noise."""
    p = values.size
    # E‖Y‖² = ‖C‖² + s²(p(p+1)/2 - 1) + p·Var(mean): subtract what is known.
    second = (np.sum(values**2) - sd**2 * (p * (p + 1) / 2.0 - 1.0)) / p - mean_sd**2
    spread_sd = np.sqrt(sd**4 * (p + 1) / p + 4.0 * sd**2 * max(second, mean**2) / p)
    isolated, spikes = _find_spikes(values, sd) if mean_sd < 0.2 * mean else (np.zeros(p, dtype=bool), np.empty(0))
    if 4 * spikes.size > p and second - mean**2 > detection * spread_sd:
        isolated, spikes = np.zeros(p, dtype=bool), np.empty(0)  # a broad spectrum, not a bulk with a few spikes
    spikes = np.maximum(spikes, PROTOCOL.shrinkage.floor * mean)
    rest = p - spikes.size
    if rest == 0:
        return np.sort(spikes)
    bulk_mean = float(
        positive_upward_biased(
            (mean * p - spikes.sum()) / rest, np.hypot(p * mean_sd, sd * np.sqrt(spikes.size)) / rest
        )
    )
    spread = float((second * p - np.sum(spikes**2)) / rest - bulk_mean**2)
    bulk = None
    if spread > detection * spread_sd and bulk_mean > 0.0:
        gaps = values[:, None] - values
        pulled = values - sd**2 * (gaps / (gaps**2 + sd**2 / 2.0)).sum(axis=1)
        bulk = _positive_spectrum(_nearest_increasing(np.sort(pulled[~isolated])), bulk_mean, spread)
    if bulk is None:
        if not spikes.size:
            return None
        bulk = np.full(rest, max(bulk_mean, PROTOCOL.shrinkage.floor * mean))
    return np.sort(np.concatenate([bulk, spikes]))


def _find_spikes(values: NDArray[np.float64], sd: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which eigenvalues stand apart from a bulk as narrow as the noise makes it, and where those of C are.

    An eigenvalue of C at distance x from a flat bulk appears at x + v/x (Baik, Ben Arous, Péché 2005, additive form).
    """
    p = values.size
    v = sd**2 * p / 2.0
    edge = 2.0 * np.sqrt(v) * (1.0 + 2.5 * p ** (-2.0 / 3.0))
    outside = np.zeros(p, dtype=bool)
    for _ in range(3):
        centre = values[~outside].mean() if not outside.all() else values.mean()
        outside = np.abs(values - centre) > edge
    distance = values[outside] - centre
    return outside, np.asarray(centre + (distance + np.sign(distance) * np.sqrt(distance**2 - 4.0 * v)) / 2.0)


def _positive_spectrum(shape: NDArray[np.float64], mean: float, spread: float) -> NDArray[np.float64] | None:
    """A spectrum of the given shape, mean and variance, kept positive; None if the shape has no width."""
    shape = shape - shape.mean()
    width = float(np.sqrt(np.mean(shape**2)))
    if width < 1e-9 * mean:
        return None
    stretch = np.sqrt(spread) / width
    spectrum = mean + stretch * shape
    if spectrum[0] < PROTOCOL.shrinkage.floor * mean:
        skewed = _skewed_spectrum(shape / width, mean, spread) if stretch > PROTOCOL.shrinkage.widest_stretch else None
        spectrum = skewed if skewed is not None else np.maximum(spectrum, PROTOCOL.shrinkage.floor * mean)
    return np.asarray(spectrum)


def _skewed_spectrum(shape: NDArray[np.float64], mean: float, spread: float) -> NDArray[np.float64] | None:
    """A positive spectrum mean·exp(t·shape)/average with the wanted variance; None if no moderate t reaches it."""
    from scipy.optimize import brentq

    score = np.clip(shape, -4.0, 4.0)

    def candidate(t: float) -> NDArray[np.float64]:
        weight = np.exp(t * score)
        return np.asarray(mean * weight / weight.mean())

    def excess(t: float) -> float:
        return float(np.mean(candidate(t) ** 2) - mean**2 - spread)

    return candidate(brentq(excess, 0.0, 6.0)) if excess(6.0) > 0.0 else None


def _nearest_increasing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest non-decreasing sequence."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values).x)
