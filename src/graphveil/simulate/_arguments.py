"""Checks of arguments: real numbers, a seed."""

import math
import sys

import numpy as np

from graphveil import _validation
from graphveil.exceptions import InvalidParameter

RandomState = int | np.random.Generator | None


def real_number(name: str, value: object, above: float, at_most: float = sys.float_info.max) -> float:
    """Return ``value`` as a finite float in (above, at_most], or refuse it by name."""
    rule = f"a finite number above {above:g}" + (f" and at most {at_most:g}" if at_most < sys.float_info.max else "")
    return _validation.number(name, value, rule, math.nextafter(above, math.inf), at_most)


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
