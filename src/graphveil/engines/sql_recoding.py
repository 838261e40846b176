"""Cells become numbers as a codebook says: ``rows/recoding.py`` as nested selects, operation by operation.

A missing value is NULL here, where it is NaN there. Proof: ``privacy/proofs/statements.md`` (theorem 17).
"""

import math
from collections.abc import Sequence

from sqlglot import expressions as exp

from graphveil.engines.sql_arithmetic import INFINITY, as_double, bin_number, case, column, number, product
from graphveil.engines.sql_layers import Layers
from graphveil.exceptions import SourceError
from graphveil.rows.recoding import LN2_HIGH, LN2_LOW, ODD_NUMBERS, SQRT_HALF, missing_codes
from graphveil.spec.codebook import Codebook
from graphveil.spec.kinds import RANK, Category, Kind, Number, Ordinal

__all__ = ["check_kinds", "levels_of", "recode"]

_SMALLEST = 2.0**-490  # of which a logarithm is taken: the power of two that it is multiplied by is a double


def check_kinds(codebook: Codebook) -> None:
    """Refuse what no statement computes, by name."""
    for name, kind in zip(codebook.names, codebook.kinds, strict=True):
        what = ""
        if type(kind) not in (Number, Category, Ordinal):
            what = f"gv.{type(kind).__name__}"
        elif isinstance(kind, Number | Ordinal) and kind.scale == RANK:
            what = f'gv.{type(kind).__name__}(scale="{RANK}")'
        elif isinstance(kind, Number) and kind.scale == "log" and kind.low < _SMALLEST:
            what = f'gv.Number(low={kind.low:g}, scale="log")'
        if what:
            raise SourceError(
                f"Column {name!r}: {what} is not computed by databases yet. Give the rows themselves instead of gv.sql."
            )


def levels_of(kind: Kind) -> list[tuple[float, float]]:
    """What a cell can be, with the number that it becomes: the score of an ordinal, the place of a category's level."""
    if isinstance(kind, Ordinal):
        return list(zip(kind.values, kind.scores, strict=True))
    return [(value, float(place)) for place, value in enumerate(kind.values)]


def recode(layers: Layers, codebook: Codebook) -> None:
    """Cells s of the source become columns x of the release."""
    kinds = {f"s{i}": kind for i, kind in enumerate(codebook.kinds)}
    layers.add({name: _cell(name, kind) for name, kind in kinds.items()})
    scales = {name: kind.scale for name, kind in kinds.items() if isinstance(kind, Number)}
    _take_logarithms(layers, kinds, [name for name, scale in scales.items() if scale == "log"])
    columns: dict[str, exp.Expr] = {}
    for (name, kind), place in zip(kinds.items(), codebook.places, strict=True):
        if isinstance(kind, Category):
            columns |= {f"x{j}": as_double(_indicator(name, kind, 1 + j - place.start)) for j in place}
        elif scales.get(name) == "sqrt":
            columns[f"x{place.start}"] = exp.Sqrt(this=column(name))
        else:
            columns[f"x{place.start}"] = as_double(column(name))
    layers.add(columns)


def _cell(name: str, kind: Kind) -> exp.Expr:
    """What a cell is, NULL if it is missing; a number that will be transformed is clamped to its bounds."""
    if kind.is_text:  # places, or scores, already
        found: exp.Expr = column(name)
    elif not isinstance(kind, Number):
        found = case(*((_equals(name, cell), number(value)) for cell, value in levels_of(kind)), otherwise=exp.Null())
    else:
        missing = [(_equals(name, code), exp.Null()) for code in missing_codes(kind)]
        return case(*missing, otherwise=column(name) if kind.scale == "linear" else _inside(name, kind))
    if isinstance(kind, Category) and kind.missing_is_level:
        return exp.Coalesce(this=found, expressions=[number(len(kind.levels))])
    return found


def _equals(name: str, value: float) -> exp.Expr:
    return exp.EQ(this=column(name), expression=number(value))


def _inside(name: str, kind: Number) -> exp.Expr:
    """Clamped; what is not a number fails every comparison."""
    below = (exp.LT(this=column(name), expression=number(kind.low)), number(kind.low))
    between = (exp.LTE(this=column(name), expression=number(kind.high)), column(name))
    above = (exp.LTE(this=column(name), expression=INFINITY.copy()), number(kind.high))
    return case(below, between, above, otherwise=exp.Null())


def _indicator(name: str, kind: Category, place: int) -> exp.Expr:
    """1 for a level, 0 for others; of a missing one NULL if that is declared, else an equal part."""
    fill = exp.Null() if kind.nullable else number(1.0 / kind.n_levels)
    missing = exp.Is(this=column(name), expression=exp.Null())
    return case((missing, fill), (_equals(name, place), number(1)), otherwise=number(0))


def _take_logarithms(layers: Layers, kinds: dict[str, Kind], names: Sequence[str]) -> None:
    """``logarithm`` of some cells: x = m·2ᵉ with √½ ≤ m < √2, where e is found by comparing with public numbers."""
    if not names:
        return

    others = [name for name in kinds if name not in names]
    exponents = {}
    for name in names:
        kind = kinds[name]
        assert isinstance(kind, Number)
        every = range(_exponent(kind.low), _exponent(kind.high) + 1)
        edges = [math.ldexp(SQRT_HALF, e) for e in every[1:]]
        exponents[f"e{name}"] = bin_number(name, edges, every)
        exponents[f"f{name}"] = bin_number(name, edges, [math.ldexp(1.0, -e) for e in every])
    layers.add(exponents, [*others, *names])
    kept = [*others, *(f"e{name}" for name in names)]
    layers.add({f"m{name}": product(column(name), column(f"f{name}")) for name in names}, kept)
    layers.add({f"q{name}": _quotient(f"m{name}") for name in names}, kept)
    squares = {f"f{name}": product(column(f"q{name}"), column(f"q{name}")) for name in names}
    layers.add(squares, [*kept, *(f"q{name}" for name in names)])
    layers.add({name: _series(f"e{name}", f"q{name}", f"f{name}") for name in names}, others)


def _exponent(x: float) -> int:
    m, e = math.frexp(x)
    return e - 1 if m < SQRT_HALF else e


def _quotient(name: str) -> exp.Expr:
    one = number(1)
    below = exp.Paren(this=exp.Add(this=column(name), expression=one.copy()))
    return exp.Div(this=exp.Paren(this=exp.Sub(this=column(name), expression=one)), expression=below, typed=True)


def _series(e: str, s: str, square: str) -> exp.Expr:
    """E·ln 2 + 2 atanh s, in the order of ``logarithm``."""
    first, *others = ODD_NUMBERS
    series = product(number(1.0 / first), column(square))
    for k in others:
        series = product(exp.Paren(this=exp.Add(this=series, expression=number(1.0 / k))), column(square))
    twice = product(number(2), column(s))
    low = exp.Add(this=product(twice, exp.Paren(this=series)), expression=product(column(e), number(LN2_LOW)))
    rest = exp.Add(this=product(number(2), column(s)), expression=exp.Paren(this=low))
    return exp.Add(this=product(column(e), number(LN2_HIGH)), expression=exp.Paren(this=rest))
