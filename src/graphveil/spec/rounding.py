"""Conservative rounding of the numbers on which a guarantee is based: square roots, floats and their text."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

__all__ = [
    "float_round_down",
    "float_round_up",
    "format_exact",
    "format_round_down",
    "format_round_up",
    "sqrt_round_up",
]


def float_round_up(value: Fraction) -> float:
    """The smallest float that is at least ``value``."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def float_round_down(value: Fraction) -> float:
    """The largest float that is at most ``value``."""
    return -float_round_up(-value)


def sqrt_round_up(square: Fraction | int) -> float:
    """The smallest float that is at least √``square``; √(x²) is x."""
    square = Fraction(square)
    if square == 0:
        return 0.0
    # An integer root of 60 bits or more: no overflow, no underflow, whatever the size of the fraction.
    shift = max(0, 120 - (square.numerator.bit_length() - square.denominator.bit_length()))
    shift += shift % 2
    scaled = math.isqrt((square.numerator << shift) // square.denominator)
    root = math.nextafter(float_round_up(Fraction(scaled, 2 ** (shift // 2))), 0.0)
    while not math.isinf(root) and Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def format_exact(value: float) -> str:
    """A number that somebody declared, an ε or a δ: all of its digits, but no superfluous ``.0``."""
    return repr(float(value)).removesuffix(".0")


def format_round_up(value: float, digits: int = 5) -> str:
    """What was spent or is promised: ``digits`` digits, rounded up. Read as a float it is at least ``value``."""
    return _format(value, digits, ROUND_CEILING)


def format_round_down(value: float, digits: int = 5) -> str:
    """What is left: ``digits`` digits, rounded down, so that it can be asked for."""
    return _format(value, digits, ROUND_FLOOR)


def _format(value: float, digits: int, direction: str) -> str:
    if math.isinf(value):
        return "∞"
    # From the shortest text that reads as this float: 0.1, a little above a tenth in binary, is written 0.1.
    rounded = Context(prec=digits, rounding=direction).create_decimal(repr(float(value))).normalize()
    return f"{rounded:f}" if abs(rounded.adjusted()) <= digits + 3 else str(rounded)
