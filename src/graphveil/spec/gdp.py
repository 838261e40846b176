"""The exchange between μ-GDP and (ε, δ), always rounded conservatively.

A mechanism is μ-GDP when telling two neighbouring data sets apart from its output is at least as hard as telling
N(0, 1) from N(μ, 1). It is then (ε, δ)-private exactly for δ at least

    δ_μ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)

(Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 2.13). With u = ε/μ - μ/2 and w = ε/μ + μ/2 we have
w² - u² = 2ε, hence e^ε Φ(-w) = ½ erfcx(w/√2) e^{-u²/2}: nothing overflows, and the difference is taken between two
numbers of moderate size instead of in the exponent.

Composition is exact here: μ² adds, also when later steps are chosen after seeing earlier outputs (Dong, Roth, Su,
corollary 3.3). The lattice on which noise is drawn costs a total variation η on top, counted once for everything:
δ(ε) = δ_μ(ε) + (1 + e^ε) η (``privacy/proofs/lattice.md``).

Each function returns a bound that holds after its own rounding errors: δ and ε a little too large, μ a little too
small (relative: δ by less than 1e-8, ε and μ by less than 1e-9). Proof: ``privacy/proofs/calibration.md``.
"""

import math
from collections.abc import Callable

__all__ = ["delta_from_mu", "epsilon_from_mu", "mu_from_epsilon_delta"]

# Relative error allowed to `erfcx`, `erfc` and `exp` together; the worst seen against 50 digits is 1.4e-15.
_FUNCTION_ERROR = 1e-14


def delta_from_mu(mu: float, epsilon: float, eta: float = 0.0) -> float:
    """Least δ for which μ-GDP with lattice term η is (ε, δ)-private, rounded up.

    Examples
    --------
    >>> round(delta_from_mu(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import erfcx

    if mu == 0.0:
        return (1.0 + _exp(epsilon)) * eta if eta else 0.0
    ratio = epsilon / mu
    u, w = ratio - mu / 2.0, ratio + mu / 2.0
    scale = 0.5 * math.exp(-0.5 * u * u)
    near = scale * float(erfcx(u / math.sqrt(2.0))) if u >= 0.0 else 0.5 * math.erfc(u / math.sqrt(2.0))
    far = scale * float(erfcx(w / math.sqrt(2.0)))
    # u and w are each off by at most 2⁻⁵²w; -u²/2 and log erfcx change by at most (|u| + 2) times that.
    error = (near + far) * (_FUNCTION_ERROR + (abs(u) + 2.0) * w * 2.0**-51)
    lattice = (1.0 + _exp(epsilon)) * eta * (1.0 + 2.0**-50) if eta else 0.0
    # A δ too small for a float is not zero: the smallest float is above it.
    return min(1.0, max(near - far + error + lattice, math.ulp(0.0)))


def mu_from_epsilon_delta(epsilon: float, delta: float) -> float:
    """Largest μ whose mechanism is (ε, δ)-private, rounded down."""
    low, high = 0.0, 1.0
    while delta_from_mu(high, epsilon) <= delta:
        low, high = high, 2.0 * high
    if low == 0.0:
        low = high
        while delta_from_mu(low, epsilon) > delta:
            low, high = 0.5 * low, low
    return _bisect(lambda mu: delta_from_mu(mu, epsilon) <= delta, inside=low, outside=high)


def epsilon_from_mu(mu: float, delta: float, eta: float = 0.0) -> float:
    """Least ε for which μ-GDP with lattice term η is (ε, δ)-private, rounded up; infinite when there is none."""
    if math.isinf(mu):
        return math.inf
    if delta_from_mu(mu, 0.0, eta) <= delta:
        return 0.0
    high = 1.0
    while delta_from_mu(mu, high, eta) > delta:
        high *= 2.0
        if (1.0 + _exp(high)) * eta > delta or math.isinf(high):
            return math.inf
    low = 0.5 * high
    while delta_from_mu(mu, low, eta) <= delta:
        low, high = 0.5 * low, low
    return _bisect(lambda epsilon: delta_from_mu(mu, epsilon, eta) <= delta, inside=high, outside=low)


def _bisect(private: Callable[[float], bool], inside: float, outside: float) -> float:
    """Move ``inside``, where ``private`` holds, towards ``outside`` until the floats between are used up."""
    while True:
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            return inside
        if private(middle):
            inside = middle
        else:
            outside = middle


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf
