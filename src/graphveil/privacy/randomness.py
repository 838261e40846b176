"""Where noise comes from: the operating system's entropy through OpenDP, or a seed, which is not private.

A float Gaussian leaks: its low bits tell which value was added (Mironov 2012). Both sources here give integers.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphveil.exceptions import GuaranteeError
from graphveil.spec import validate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NoiseSource", "SecureSource", "SimulationSource", "noise_source"]

_CHUNK = 8192  # integers per call of the sampler: long enough to hide the call, short enough to share among threads
_LARGEST_SCALE = 2.0**58  # 16 standard deviations stay inside int64


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
    return SimulationSource(validate.integer("random_state", random_state, 0))


class SecureSource:
    """OpenDP's exact sampler of the discrete Gaussian (Canonne, Kamath, Steinke 2020), fed by the operating system.

    Guarantee
    ---------
    No seed, no state of ours: two processes, or a process and its fork, never share noise. Draws run on all cores.
    """

    seeded = False

    def __init__(self) -> None:
        _enable_opendp()  # a broken installation fails here, before anything is charged

    def discrete_gaussian(self, scale: float, size: int) -> "NDArray[np.int64]":
        """Draw on all cores (the sampler releases the interpreter lock)."""
        _check_request(scale, size)
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self._draw(scale, size, workers)

    @staticmethod
    def _draw(scale: float, size: int, workers: int) -> "NDArray[np.int64]":
        counts = [min(_CHUNK, size - start) for start in range(0, size, _CHUNK)]
        samplers = {count: _opendp_measurement(scale, count) for count in {*counts}}

        def draw(count: int) -> "NDArray[np.int64]":
            return _opendp_draw(samplers[count], count)

        if len(counts) > 1:
            with ThreadPoolExecutor(workers) as pool:
                noise = np.concatenate(list(pool.map(draw, counts)))
        else:
            noise = draw(size) if size else np.empty(0, dtype=np.int64)
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
    # OpenDP checks none of this: NaN would pass for 0, and scale 0 returns the exact value.
    if not (np.isfinite(scale) and 1.0 <= scale <= _LARGEST_SCALE) or size < 0:
        raise GuaranteeError("The noise that was asked for is outside of what the sampler is proved for.")


def _opendp_draw(measurement: Any, count: int) -> "NDArray[np.int64]":
    return np.array(measurement([0] * count), dtype=np.int64)


@cache
def _enable_opendp() -> None:
    from opendp.mod import enable_features

    enable_features("contrib")  # OpenDP's name for components whose proof is not yet vetted by its second reader


@lru_cache(maxsize=64)  # a law, without state: drawing from it twice is as good as making it twice
def _opendp_measurement(scale: float, count: int) -> Any:
    # Submodules, because opendp.prelude imports scikit-learn.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return make_gaussian(vector_domain(atom_domain(T="i64"), size=count), l2_distance(T="f64"), scale=scale)
