"""Sources of noise: the operating system's random words, or a seed, which is not private.

A float Gaussian leaks: its low bits reveal which value was added (Mironov 2012). Both sources here give integers.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphveil import _validation
from graphveil.exceptions import GuaranteeError
from graphveil.privacy.discrete_gaussian import LARGEST_SCALE, draw_discrete_gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NoiseSource", "SecureSource", "SimulationSource", "noise_source"]

_CHUNK = 2**15  # integers per call of the sampler: long enough to hide the call, short enough to share among threads


class NoiseSource(Protocol):
    """Draws discrete Gaussians."""

    seeded: bool

    def discrete_gaussian(self, scale: float, size: int) -> "NDArray[np.int64]":
        """``size`` independent integers with probability proportional to exp(-k²/2 scale²)."""
        ...


def noise_source(random_state: Any) -> NoiseSource:
    """None: entropy of the operating system. An int: a simulation, marked as not private."""
    if random_state is None:
        return SecureSource()
    return SimulationSource(_validation.integer("random_state", random_state, 0))


class SecureSource:
    """Exact discrete Gaussians of the operating system's random words.

    Guarantee
    ---------
    No seed and no state: every draw asks the system anew, so a process, its forks and its clones never share noise.
    Proof: ``privacy/proofs/sampler.md`` (theorem 16).
    """

    seeded = False

    def discrete_gaussian(self, scale: float, size: int) -> "NDArray[np.int64]":
        """Draw on all cores (the sampler releases the interpreter lock)."""
        _check_request(scale, size)
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self._draw(int(scale), size, workers)

    @staticmethod
    def _draw(scale: int, size: int, workers: int) -> "NDArray[np.int64]":
        counts = [min(_CHUNK, size - start) for start in range(0, size, _CHUNK)]
        if len(counts) > 1:
            with ThreadPoolExecutor(workers) as pool:
                noise = np.concatenate(list(pool.map(partial(draw_discrete_gaussian, scale), counts)))
        else:
            noise = draw_discrete_gaussian(scale, size)
        if noise.shape != (size,):
            raise GuaranteeError("The noise sampler returned a wrong number of values; nothing is released.")
        return noise


class SimulationSource:
    """A seeded numpy generator rounded to the same lattice: for simulation and tests, never private."""

    seeded = True

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def discrete_gaussian(self, scale: float, size: int) -> "NDArray[np.int64]":
        """Rounded normals."""
        _check_request(scale, size)
        return np.rint(scale * self._generator.standard_normal(size)).astype(np.int64)


def _check_request(scale: float, size: int) -> None:
    if not (1.0 <= scale <= LARGEST_SCALE and scale == int(scale)) or size < 0:  # NaN is in no interval
        raise GuaranteeError("The requested noise is outside the range for which the sampler is proved.")
