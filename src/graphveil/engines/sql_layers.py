"""The clip of ``rows/encoding.py`` as nested selects: every layer computes from the columns of the one below.

A value that is needed twice has a layer of its own, so that it is computed once. What each layer does to a row is what
the compiled clip does, operation by operation; ``sql_arithmetic`` says why no value can make one fail.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlglot import expressions as exp

from graphveil.engines.sql_arithmetic import (
    INFINITY,
    add_all,
    as_double,
    as_integer,
    case,
    clamp,
    column,
    greater,
    identifier,
    least_factor,
    number,
    product,
    round_half_even,
    square_norm,
    truncate,
    unless_small,
)
from graphveil.exceptions import SourceError
from graphveil.rows.encoding import Encoder
from graphveil.spec.domain import UNBOUNDED
from graphveil.spec.quantization import PERSON_WEIGHT, RowGrid
from graphveil.spec.queries import RowMap

__all__ = ["Layers"]

_NEGLIGIBLE = 2.0**-1000  # as in rows/encoding.py
_RANGE = (2.0**-490, 2.0**490)  # of norms: squares and quotients stay far from underflow and overflow
_EXPONENTS = (-440, 530)  # of a map of rows whose squares do


class Layers:
    """A select on top of selects.

    Parameters
    ----------
    rows : exp.Select
        With columns x0, x1, …, and perhaps others that are carried along.
    n_features : int
    carried : sequence of str
        Columns that every layer hands on: the weight of a row, what is appended to it.
    fence : {"", "weights", "all"}
        Which layers are to be kept apart, as :class:`~graphveil.engines.sql_dialects.Dialect` has it: PostgreSQL would
        otherwise merge them, and compute everything anew wherever it is used, which takes exponential time.
    """

    def __init__(self, rows: exp.Select, n_features: int, carried: Sequence[str], *, fence: str) -> None:
        self.top, self._p, self._carried = rows, n_features, tuple(carried)
        self._fence, self._fence_windows = fence == "all", bool(fence)

    def names(self, letter: str) -> list[str]:
        """Columns of one kind."""
        return [f"{letter}{j}" for j in range(self._p)]

    def add(self, columns: Mapping[str, exp.Expr], keep: Sequence[str] = ()) -> None:
        """Select these from what was selected so far."""
        kept = {name: column(name) for name in (*keep, *self._carried)}
        self.top = self.select({**kept, **columns})

    def select(self, columns: Mapping[str, exp.Expr]) -> exp.Select:
        """Columns, computed from those of the topmost layer."""
        chosen = [exp.Alias(this=value, alias=identifier(name)) for name, value in columns.items()]
        return exp.Select(expressions=chosen).from_(self.below(), copy=False)

    def below(self) -> exp.Subquery:
        """The topmost layer as a table."""
        if self._fence:
            self.keep_apart()
        return exp.Subquery(this=self.top, alias=exp.TableAlias(this=identifier("rows")))

    def keep_apart(self) -> None:
        """Tell the planner not to merge the topmost layer with those above; it changes nothing else."""
        self.top.set("offset", exp.Offset(expression=number(0)))

    def carry(self, columns: Mapping[str, exp.Expr], keep: Sequence[str]) -> None:
        """Further columns that every layer hands on from now on."""
        self.add(columns, keep)
        self._carried = (*self._carried, *columns)

    # ------------------------------------------------------------------ the total clip
    def keep_finite(self) -> None:
        """Rows as they are, but for what is missing (0) and what is longer than any edge: u."""
        self.add({f"u{j}": _bounded(f"x{j}", 0.0, UNBOUNDED) for j in range(self._p)})

    def clip(self, encoder: Encoder) -> None:
        """Integer rows in a ball: k."""
        p, lattice, (centre, scale, ends, norm) = self._p, encoder.lattice, encoder.box
        low, high = ends
        if centre.any():
            self.add({f"x{j}": exp.Sub(this=column(f"x{j}"), expression=number(centre[j])) for j in range(p)})
        # What is this far from the centre is outside of the bounds, and no product of it overflows.
        far = np.where(np.abs(ends).max(axis=0) <= 1.0, 4.0 / scale, UNBOUNDED)
        least = [max(_NEGLIGIBLE, least_factor(float(factor))) for factor in scale]
        self.add({f"v{j}": _bounded(f"x{j}", least[j], float(far[j])) for j in range(p)})
        if (scale != 1.0).any():
            self.add({f"v{j}": product(column(f"v{j}"), number(scale[j])) for j in range(p)})
        inside = {f"u{j}": clamp(f"v{j}", low[j], high[j]) for j in range(p)}
        if norm is not None:
            self.add(inside)
            self.shorten(lattice, 0.0, norm, tiny=True)
            return
        self.add({f"t{j}": product(inside[f"u{j}"], number(lattice.levels)) for j in range(p)})
        self._round()

    def shorten(self, lattice: RowGrid, inner: float, norm: float, *, tiny: bool) -> None:
        """Rows u, shortened to a norm and rounded: k. With ``inner``, only what reaches beyond that norm counts."""
        if not _RANGE[0] <= (inner or norm) <= norm <= _RANGE[1]:
            raise SourceError("The norm of the rows is too extreme to be computed by a database: rescale the columns.")
        u, ball = self.names("u"), lattice.ball
        self.add({"r": exp.Sqrt(this=square_norm(u, tiny=tiny))}, u)
        self.add({"f": _factor(inner, norm, ball)}, u)
        # Closer to zero than this, a product rounds to zero, and it might underflow.
        least = 0.25 * (inner or norm) / ball
        scaled = {f"t{j}": unless_small(f"u{j}", least, product(column(f"u{j}"), column("f"))) for j in range(self._p)}
        self.add(scaled)
        self._round()
        self._check(number(lattice.row_square))

    def _round(self) -> None:
        self.add({f"k{j}": round_half_even(f"t{j}") for j in range(self._p)})

    def _check(self, most: exp.Expr) -> None:
        """A row that were longer than its bound would be zero: none is, so the bound holds whatever a database does."""
        names = self.names("k")
        self.add({"s": add_all(product(column(name), column(name)) for name in names)}, names)
        too_long = greater(column("s"), most)
        self.add({name: case((too_long.copy(), number(0)), otherwise=column(name)) for name in names})

    # ------------------------------------------------------------------ missing values
    def note_gaps(self, gaps: Sequence[range]) -> None:
        """Whether each variable that may be missing is there, before the clip puts the centre in its place: g."""
        there = [exp.LTE(this=column(f"x{columns[0]}"), expression=INFINITY.copy()) for columns in gaps]
        self.carry(
            {f"g{i}": case((one, number(1)), otherwise=number(0)) for i, one in enumerate(there)}, self.names("x")
        )

    def mark_gaps(self, gaps: Sequence[range]) -> None:
        """Integer rows k with NULL for what is missing."""
        owner = {j: i for i, columns in enumerate(gaps) for j in columns}
        self.add({f"k{j}": _where_there(f"k{j}", owner.get(j)) for j in range(self._p)})

    def fill_gaps(self, gaps: Sequence[range], centre: Any) -> None:
        """Rows in which missing values are where a map has its centre."""
        filled = {
            f"k{j}": exp.Coalesce(this=column(f"k{j}"), expressions=[as_double(number(centre[j]))])
            for columns in gaps
            for j in columns
        }
        self.add({name: filled.get(name, column(name)) for name in self.names("k")})

    # ------------------------------------------------------------------ what queries do to integer rows
    def window(self, low: Any, high: Any, edge: float) -> None:
        """Rows k inside a window, unless that changes nothing."""
        if (low > -edge).any() or (high < edge).any():
            self.add({f"k{j}": clamp(f"k{j}", low[j], high[j]) for j in range(self._p)})

    def map(self, row_map: RowMap, edge: float) -> None:
        """Mapped rows u: sums of products of integers below 2⁵³, then a power of two, all of it exact."""
        exponents = row_map.exponents
        if exponents.min() < _EXPONENTS[0] or exponents.max() > _EXPONENTS[1]:
            raise SourceError("A map of the rows is too extreme to be computed by a database: rescale the columns.")
        self.window(row_map.low, row_map.high, edge)
        integers = [[int(value) for value in line] for line in row_map.integers.T]
        centre = [int(value) for value in row_map.centre]
        columns = {}
        for i, line in enumerate(integers):
            terms = [product(column(f"k{j}"), number(value)) for j, value in enumerate(line) if value]
            offset = sum(a * b for a, b in zip(centre, line, strict=True))
            total = add_all([*terms, number(-offset)] if offset else terms)
            columns[f"u{i}"] = product(exp.Paren(this=total), number(math.ldexp(1.0, -int(exponents[i]))))
        self.add(columns)

    def weigh(self, lattice: RowGrid) -> None:
        """Rows k times the roots of their weights w, as ``weigh_rows`` does it: Σ k² ≤ ``row_square``·w/2²⁰."""
        names = self.names("k")
        share = exp.Div(this=column("w"), expression=number(PERSON_WEIGHT), typed=True)
        self.add({"f": exp.Sqrt(this=share), "m": _share_of(lattice.row_square)}, names)
        self.add({f"t{j}": product(column(f"k{j}"), column("f")) for j in range(self._p)}, ["m"])
        self.add({f"k{j}": round_half_even(f"t{j}") for j in range(self._p)}, ["m"])
        self._keep_within()

    def _keep_within(self) -> None:
        """Integer rows k of Σ k² ≤ m, as ``_shorten`` makes them."""
        names = self.names("k")
        self.add({"s": add_all(product(column(name), column(name)) for name in names)}, ["m", *names])
        # By Cauchy–Schwarz one step is enough: what it cuts off is more than what its own rounding adds.
        quotient = exp.Sqrt(this=exp.Div(this=column("m"), expression=column("s"), typed=True))
        shorter = product(quotient, number(1.0 - 2.0**-40))
        too_long = greater(column("s"), column("m"))
        self.add({"f": case((too_long, shorter), otherwise=number(1))}, ["m", "s", *names])
        cut = {name: truncate(product(column(name), column("f")), name) for name in names}
        long = greater(column("s"), column("m"))
        self.add({name: case((long.copy(), cut[name]), otherwise=column(name)) for name in names}, ["m"])
        self.add({"s": add_all(product(column(name), column(name)) for name in names)}, ["m", *names])
        self.add({name: case((long.copy(), number(0)), otherwise=column(name)) for name in names})

    def average_by_person(self, lattice: RowGrid) -> None:
        """One row for everybody, whose rows have the same o: the mean of their integer rows k, rounded, in the ball."""
        whose = column("o")
        means = {f"t{j}": _mean(exp.Sum(this=as_integer(column(f"k{j}")))) for j in range(self._p)}
        self._carried = ()
        self.add(means)
        self.top.set("group", exp.Group(expressions=[whose]))
        self._round_in_ball(lattice)

    def subtract_means(self, lattice: RowGrid) -> None:
        """Half of what rows k are away from the mean of their person, rounded, in the ball."""
        names = self.names("k")

        def over(value: exp.Expr) -> exp.Expr:
            return exp.Window(this=value, partition_by=[column("o")])

        self.add({f"t{j}": _mean(exp.Sum(this=as_integer(column(name))), over) for j, name in enumerate(names)}, names)
        if self._fence_windows:
            self.keep_apart()
        away = {j: exp.Paren(this=exp.Sub(this=column(f"k{j}"), expression=column(f"t{j}"))) for j in range(self._p)}
        self.add({f"t{j}": product(away[j], exp.Literal.number("0.5")) for j in range(self._p)})
        self._round_in_ball(lattice)

    def _round_in_ball(self, lattice: RowGrid) -> None:
        most = {"m": as_double(number(lattice.row_square))}
        self.add({f"k{j}": round_half_even(f"t{j}") for j in range(self._p)} | most)
        self._keep_within()

    def append(self, constant: int, *, weighted: bool) -> None:
        """One more column: the constant, or what its share of the weight allows."""
        value = exp.Floor(this=exp.Sqrt(this=_share_of(constant**2))) if weighted else number(constant)
        self.add({f"k{self._p}": value}, self.names("k"))

    def make_integers(self, names: Sequence[str]) -> None:
        """Doubles that are integers become integers of 64 bits, whose products are exact."""
        self.add({name: as_integer(column(name)) for name in names})


def _mean(total: exp.Expr, over: Callable[[exp.Expr], exp.Expr] = lambda value: value) -> exp.Expr:
    """Of integers, whose sum is exact."""
    return exp.Div(this=as_double(over(total)), expression=as_double(over(exp.Count(this=exp.Star()))), typed=True)


def _where_there(name: str, gap: int | None) -> exp.Expr:
    """A column, NULL where its variable is missing."""
    if gap is None:
        return column(name)
    there = exp.EQ(this=column(f"g{gap}"), expression=number(1))
    return case((there, column(name)), otherwise=exp.Null())


def _bounded(name: str, least: float, far: float) -> exp.Expr:
    """A column in [-far, far]; zero if it is missing, not a number, or closer to zero than ``least``.

    Databases put NaN above infinity, or compare it with nothing; either way it fails each of these comparisons.
    """
    below = (exp.LT(this=column(name), expression=number(-far)), number(-far))
    small = (exp.LT(this=exp.Abs(this=column(name)), expression=number(least)), number(0))
    inside = (exp.LTE(this=column(name), expression=number(far)), column(name))
    above = (exp.LTE(this=column(name), expression=INFINITY.copy()), number(far))
    return case(below, *([small] if least else []), inside, above, otherwise=number(0))


def _factor(inner: float, norm: float, ball: float) -> exp.Expr:
    """As ``_factor`` in rows/encoding.py, of a row of length r."""
    if inner == 0.0:
        longer = case((greater(column("r"), number(norm)), column("r")), otherwise=number(norm))
        return exp.Div(this=number(ball), expression=longer, typed=True)
    reach = math.sqrt((norm - inner) * (norm + inner))

    def kept() -> exp.Expr:
        return case((greater(column("r"), number(norm)), number(norm)), otherwise=column("r"))

    beyond = product(
        exp.Paren(this=exp.Sub(this=kept(), expression=number(inner))),
        exp.Paren(this=exp.Add(this=kept(), expression=number(inner))),
    )
    share = exp.Div(this=exp.Sqrt(this=beyond), expression=column("r"), typed=True)
    share = exp.Div(this=share, expression=number(reach), typed=True)
    longer = greater(column("r"), number(inner))
    return case((longer, product(number(ball), exp.Paren(this=share))), otherwise=number(0))


def _share_of(square: int) -> exp.Expr:
    """⌊square · w / 2²⁰⌋ of an integer of at most 2⁴⁰, in doubles that hold every step exactly."""
    upper, lower = divmod(square, PERSON_WEIGHT)
    rest = exp.Div(this=product(number(lower), column("w")), expression=number(PERSON_WEIGHT), typed=True)
    return exp.Add(this=product(number(upper), column("w")), expression=exp.Floor(this=rest))
