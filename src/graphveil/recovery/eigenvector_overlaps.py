"""How eigenvectors of a noisy matrix overlap with those of the matrix behind it.

Let Y = C + E, where C has eigenvalues τ_j and E is a symmetric Gaussian matrix with E_ii ~ N(0, s²), E_ij ~ N(0, s²/2).
With v = s²p/2, the resolvent of Y at z is that of C at ω(z), where

    ω + (v/p) Σ_j 1/(ω − τ_j) = z,  Im ω ≥ Im z > 0

(free additive convolution with a semicircle; Biane 1997). The squared overlap of an eigenvector of Y at l with one
of C at τ_j is proportional to -Im 1/(ω(l + i0) - τ_j) (Allez and Bouchaud 2014; Bun et al. 2016).

The solution is unique: ω ↦ z - v·mean 1/(ω - τ) maps the upper half-plane into {Im ≥ Im z}. Newton's method finds it in
a few steps; a step that would leave that half-plane is replaced by the map itself, which always converges.
"""

import numpy as np
from numba import c16, f8, void
from numpy.typing import NDArray

from graphveil._compiled import compiled

__all__ = ["expected_eigenvalues"]

_STEPS = 200
_TOLERANCE = 1e-10


@compiled(void(c16[::1], f8[::1], f8, c16[::1]))
def _subordinate(z, tau, v, omega):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Solve ω + v·mean 1/(ω - τ) = z for every z; neighbours start from each other's solution."""
    p = tau.size
    start = z[0] + 1j * np.sqrt(v)
    for i in range(z.size):
        w = start if i == 0 else omega[i - 1] + (z[i] - z[i - 1])
        for _ in range(_STEPS):
            first = 0j
            second = 0j
            for j in range(p):
                inverse = 1.0 / (w - tau[j])
                first += inverse
                second += inverse * inverse
            image = z[i] - v * first / p
            newton = w - (w - image) / (1.0 - v * second / p)
            # `image` lies in the right half-plane always, Newton's point mostly; halfway to the image damps cycles.
            new = newton if newton.imag >= z[i].imag else 0.5 * (w + image)
            change = abs(new - w)
            w = new
            if change <= _TOLERANCE * abs(w):
                break
        omega[i] = w


def expected_eigenvalues(noisy: NDArray[np.float64], tau: NDArray[np.float64], sd: float) -> NDArray[np.float64]:
    """Mean of vᵀCv over the noise, for each eigenvector v of Y: what to put in place of its noisy eigenvalue.

    Parameters
    ----------
    noisy : (p,) array
        Eigenvalues of Y, ascending.
    tau : (p,) array
        Eigenvalues of C.
    sd : float
        Standard deviation s of the diagonal noise, positive.
    """
    p = noisy.size
    v = sd * sd * p / 2.0
    # Half the typical spacing of eigenvalues smooths over single ones; an isolated eigenvalue is as wide as that.
    z = noisy + 0.5j * np.sqrt(v / p)
    omega = np.empty(p, dtype=np.complex128)
    _subordinate(z, tau, v, omega)
    weights = -np.imag(1.0 / (omega[:, None] - tau))
    return np.asarray((weights @ tau) / weights.sum(axis=1))
