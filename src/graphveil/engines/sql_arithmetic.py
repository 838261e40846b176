"""Expressions of SQL that have the same bits in every database, and that no value can make fail.

Only +, -, ×, ÷, √, floor and comparisons of IEEE doubles are used, in the order of ``rows/encoding.py``, and integers
of 64 bits that cannot overflow. Rounding is written out, because databases disagree on halves.

PostgreSQL raises an error where a product or a quotient of doubles becomes zero or infinite and its operands were not.
Such an error would depend on a value: whoever sees it learns something about a record. Everything that could come near
is therefore decided by a comparison first, with the same result: a factor below which a product is zero is known from
the other factor, which is public.

Proof: ``privacy/proofs/statements.md`` (theorem 17).
"""

import math
from collections.abc import Iterable, Sequence

from sqlglot import expressions as exp

__all__ = [
    "INFINITY",
    "add_all",
    "as_double",
    "as_integer",
    "bin_number",
    "case",
    "clamp",
    "column",
    "greater",
    "identifier",
    "least_factor",
    "number",
    "product",
    "round_half_even",
    "square_norm",
    "truncate",
    "unless_small",
]

INFINITY = exp.Cast(this=exp.Literal.string("inf"), to=exp.DataType.build("double"))
_LANES = 8  # of `_square_norm` in rows/encoding.py
_LEAST_SQUARED = math.sqrt(0.5) * 2.0**-537  # the smallest double above 2^-537.5: the square of any below is zero


def identifier(name: str) -> exp.Identifier:
    """A name, in the quotation marks of whatever dialect it is written in."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str) -> exp.Column:
    """A column, by its quoted name."""
    return exp.Column(this=identifier(name))


def number(value: float) -> exp.Expr:
    """A public number: an integer as it is, anything else as the shortest text that reads back as the same double."""
    if value < 0:
        return exp.Neg(this=number(-value))
    if math.isinf(value):
        return INFINITY.copy()
    if value == int(value) and value < 2**53:
        return exp.Literal.number(int(value))
    return as_double(exp.Literal.string(repr(float(value))))


def as_double(value: exp.Expr) -> exp.Expr:
    """Cast to a double."""
    return exp.Cast(this=value, to=exp.DataType.build("double"))


def as_integer(value: exp.Expr) -> exp.Expr:
    """A double that is an integer becomes an integer of 64 bits."""
    return exp.Cast(this=value, to=exp.DataType.build("bigint"))


def add_all(terms: Iterable[exp.Expr]) -> exp.Expr:
    """A sum that no order changes; nested as a tree, so that no parser runs out of stack."""
    level = list(terms)
    while len(level) > 1:
        pairs = [level[start : start + 2] for start in range(0, len(level), 2)]
        level = [exp.Add(this=pair[0], expression=pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0] if level else number(0)


def product(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Left × right."""
    return exp.Mul(this=left, expression=right)


def greater(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Left > right."""
    return exp.GT(this=left, expression=right)


def case(*branches: tuple[exp.Expr, exp.Expr], otherwise: exp.Expr) -> exp.Expr:
    """The value of the first branch whose condition holds."""
    if not branches:
        return otherwise
    chosen = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=chosen, default=otherwise)


def clamp(name: str, low: float, high: float) -> exp.Expr:
    """A column inside [low, high]."""
    below = exp.LT(this=column(name), expression=number(low))
    above = greater(column(name), number(high))
    return case((below, number(low)), (above, number(high)), otherwise=column(name))


def least_factor(factor: float) -> float:
    """The smallest positive double whose product with ``factor`` is not zero."""
    least = max(math.ulp(0.0) / factor / 2.0, math.ulp(0.0))  # right but for the rounding of this line
    while least * factor == 0.0:
        least = math.nextafter(least, math.inf)
    while (smaller := math.nextafter(least, 0.0)) * factor != 0.0:
        least = smaller
    return least


def unless_small(name: str, least: float, value: exp.Expr) -> exp.Expr:
    """``value``, or 0 where the column is closer to zero than ``least``."""
    small = exp.LT(this=exp.Abs(this=column(name)), expression=number(least))
    return case((small, number(0)), otherwise=value)


def round_half_even(name: str) -> exp.Expr:
    """The integer next to a column below 2⁵⁰, the even one of two: half an integer more than a floor is exact."""

    def floor() -> exp.Expr:
        return exp.Floor(this=column(name))

    half = exp.Literal.number("0.5")
    middle = exp.Add(this=floor(), expression=half)
    above, below = greater(column(name), middle), exp.LT(this=column(name), expression=middle.copy())
    up = exp.Add(this=floor(), expression=number(1))
    quarter = exp.Add(this=product(column(name), half.copy()), expression=exp.Literal.number("0.25"))
    even = product(number(2), exp.Floor(this=quarter))
    return case((above, up), (below, floor()), otherwise=even)


def truncate(value: exp.Expr, sign_of: str) -> exp.Expr:
    """An expression without its fraction, where a column tells its sign."""
    negative = exp.LT(this=column(sign_of), expression=number(0))
    upwards = exp.Neg(this=exp.Floor(this=exp.Neg(this=exp.Paren(this=value))))
    return case((negative, upwards), otherwise=exp.Floor(this=value.copy()))


def square_norm(names: Sequence[str], *, tiny: bool) -> exp.Expr:
    """Σ x² in the eight lanes, and in the order, of ``rows/encoding.py``; ``tiny``: some squares may underflow."""

    def square(name: str) -> exp.Expr:
        value = product(column(name), column(name))
        return unless_small(name, _LEAST_SQUARED, value) if tiny else value

    lanes: list[exp.Expr | None] = [None] * _LANES
    whole = len(names) - len(names) % _LANES
    for place, name in enumerate(names):
        lane = place % _LANES if place < whole else 0
        before = lanes[lane]
        lanes[lane] = square(name) if before is None else exp.Add(this=before, expression=square(name))
    a, b, c, d, e, f, g, h = (None if lane is None else exp.Paren(this=lane) for lane in lanes)
    return _plus(_plus(_plus(a, b), _plus(c, d)), _plus(_plus(e, f), _plus(g, h))) or number(0)


def _plus(left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    """In parentheses, because the order counts; an empty lane is zero, which changes nothing."""
    if left is None or right is None:
        return left or right
    return exp.Paren(this=exp.Add(this=left, expression=right))


def bin_number(name: str, edges: Sequence[float], values: Sequence[float] | None = None) -> exp.Expr:
    """How many of the rising ``edges`` a column reaches, by halving; or the one of ``values`` that has this number."""

    def between(first: int, last: int) -> exp.Expr:
        if first == last:
            return number(first if values is None else values[first])
        middle = (first + last) // 2
        below = exp.LT(this=column(name), expression=number(edges[middle]))
        return case((below, between(first, middle)), otherwise=between(middle + 1, last))

    return between(0, len(edges))
