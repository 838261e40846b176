"""What every function here asks of its arguments: whole numbers, real numbers, a seed."""

import math

import numpy as np

from graphveil.exceptions import InvalidParameter

RandomState = int | np.random.Generator | None


def whole_number(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as an int in [minimum, maximum], or refuse it by name."""
    rule = f"a whole number of at least {minimum}"
    if maximum is not None:
        rule = f"a whole number from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidParameter.of(name, rule, value)
    if value < minimum or (maximum is not None and value > maximum):
        raise InvalidParameter.of(name, rule, int(value))
    return int(value)


def real_number(name: str, value: object, above: float, at_most: float = math.inf) -> float:
    """Return ``value`` as a finite float in (above, at_most], or refuse it by name."""
    rule = f"a finite number above {above:g}" + (f" and at most {at_most:g}" if at_most < math.inf else "")
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidParameter.of(name, rule, value)
    if not (math.isfinite(value) and above < value <= at_most):
        raise InvalidParameter.of(name, rule, float(value))
    return float(value)


def generator(random_state: object) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for.

    Parameters
    ----------
    random_state : int, numpy.random.Generator or None
        An int gives the same numbers every time; a generator is used as it is, and moves on; None takes the operating
        system's entropy.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InvalidParameter.of(
            "random_state",
            "None, an int of at least 0 or a numpy.random.Generator",
            random_state,
            "Make a generator with numpy.random.default_rng(seed).",
        )
    return np.random.default_rng(int(random_state))
