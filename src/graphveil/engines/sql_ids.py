"""Ids inside a database, in the form in which ``rows/ids.py`` compares them. No value can make this fail.

Proof: ``privacy/proofs/statements.md`` (theorem 17).
"""

from sqlglot import expressions as exp

from graphveil.engines.sql_arithmetic import case, number

__all__ = ["form_of"]

_BLANKS = " \t\n\v\f\r"
_NAN = "^[+-]?[nN][aA][nN]$"
_PLAIN = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)$"
_FLOAT = "^[+-]?[0-9]([.][0-9]*)?[eE][+-]?[0-9]{1,2}$"
_UUID = (
    "^([uU][rR][nN]:[uU][uU][iI][dD]:)?[{]?([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})[}]?$"
)
_NIL = "0" * 32  # a UUID without a digit is nobody's


def form_of(text: exp.Expr) -> exp.Expr:
    """Text as it is compared: a number as 1.5e7, a UUID as its digits, anything else without blanks; NULL for none."""
    plain = exp.Trim(this=text, expression=_text(_BLANKS), position="BOTH")
    is_nobodys = exp.or_(_matches(plain, _NAN), exp.EQ(this=plain.copy(), expression=_text("")))
    return case(
        (is_nobodys, exp.Null()),
        (_matches(plain, _UUID), _digits_of_uuid(plain)),
        (_matches(plain, _PLAIN), _plain_number(plain)),
        (_matches(plain, _FLOAT), _float(plain)),
        otherwise=plain.copy(),
    )


def _digits_of_uuid(plain: exp.Expr) -> exp.Expr:
    closed = exp.Trim(this=exp.Lower(this=plain.copy()), expression=_text("}"), position="TRAILING")
    digits = exp.Right(this=_without(closed, "-"), expression=number(32))
    return exp.Nullif(this=digits, expression=_text(_NIL))


def _plain_number(plain: exp.Expr) -> exp.Expr:
    """The place of the first digit that is not zero is its exponent."""
    unsigned = _trim(plain, "+-", "LEADING")
    whole = _trim(_part(unsigned, ".", 1), "0", "LEADING")
    fraction = _part(unsigned, ".", 2)
    zeros = exp.Sub(this=_length(fraction), expression=_length(_trim(fraction, "0", "LEADING")))
    below = exp.Sub(this=exp.Neg(this=exp.Paren(this=zeros)), expression=number(1))
    above = exp.Sub(this=_length(whole), expression=number(1))
    exponent = case((exp.EQ(this=whole.copy(), expression=_text("")), below), otherwise=above)
    return _number(plain, _without(unsigned, "."), exp.Cast(this=exponent, to=exp.DataType.build("text")))


def _float(plain: exp.Expr) -> exp.Expr:
    """One digit stands before the point: the exponent is what it says, without a plus and zeros before it."""
    unsigned = exp.Lower(this=_trim(plain, "+-", "LEADING"))
    said = _part(unsigned, "e", 2)
    digits = _trim(said, "+-0", "LEADING")
    is_small = exp.EQ(this=exp.Left(this=said.copy(), expression=number(1)), expression=_text("-"))
    exponent = case(
        (exp.EQ(this=digits.copy(), expression=_text("")), _text("0")),
        (is_small, exp.DPipe(this=_text("-"), expression=digits.copy(), safe=True)),
        otherwise=digits.copy(),
    )
    return _number(plain, _without(_part(unsigned, "e", 1), "."), exponent)


def _number(plain: exp.Expr, digits: exp.Expr, exponent: exp.Expr) -> exp.Expr:
    """The sign, the first digit, a point, the others without zeros at the end, and the exponent; or 0."""
    kept = _trim(digits, "0", "BOTH")
    is_negative = exp.EQ(this=exp.Left(this=plain.copy(), expression=number(1)), expression=_text("-"))
    first = exp.Left(this=kept.copy(), expression=number(1))
    others = exp.Substring(this=kept.copy(), start=number(2))
    parts = [case((is_negative, _text("-")), otherwise=_text("")), first, _text("."), others, _text("e"), exponent]
    whole: exp.Expr = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part, safe=True)
    return case((exp.EQ(this=kept, expression=_text("")), _text("0")), otherwise=whole)


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=value.copy(), expression=_text(pattern))


def _trim(value: exp.Expr, what: str, position: str) -> exp.Expr:
    return exp.Trim(this=value.copy(), expression=_text(what), position=position)


def _without(value: exp.Expr, what: str) -> exp.Expr:
    return exp.Anonymous(this="REPLACE", expressions=[value.copy(), _text(what), _text("")])


def _part(value: exp.Expr, separator: str, place: int) -> exp.Expr:
    return exp.SplitPart(this=value.copy(), delimiter=_text(separator), part_index=number(place))


def _length(value: exp.Expr) -> exp.Expr:
    return exp.Length(this=value.copy())
