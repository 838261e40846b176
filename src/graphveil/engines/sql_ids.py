"""Ids inside a database, in the form in which ``rows/ids.py`` compares them. No value can make this fail.

Proof: ``privacy/proofs/statements.md`` (theorem 17).
"""

from functools import reduce

from sqlglot import expressions as exp

from graphveil.engines.sql_arithmetic import case, number

__all__ = ["form_of"]

_BLANKS = " \t\n\v\f\r"
# What stands for no id, in small letters; as in rows/ids.py.
_NO_IDS = ("", "nan", "+nan", "-nan", "nat", "na", "<na>", "n/a", "#n/a", "none", "null", "\\n")
_NUMBER = "^[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]{1,3})?$"
_UUID = (
    "^([uU][rR][nN]:[uU][uU][iI][dD]:)?[{]?([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})[}]?$"
)
_NIL = "0" * 32  # a UUID without a digit is nobody's


def form_of(text: exp.Expr) -> exp.Expr:
    """Text as it is compared: a number as 1.5e7, a UUID as its digits, anything else without blanks; NULL for none."""
    plain = exp.Trim(this=text, expression=_text(_BLANKS), position="BOTH")
    is_nobodys = exp.In(this=exp.Lower(this=plain.copy()), expressions=[_text(word) for word in _NO_IDS])
    return case(
        (is_nobodys, exp.Null()),
        (_matches(plain, _UUID), _digits_of_uuid(plain)),
        (_matches(plain, _NUMBER), _number(plain)),
        otherwise=plain.copy(),
    )


def _digits_of_uuid(plain: exp.Expr) -> exp.Expr:
    closed = exp.Trim(this=exp.Lower(this=plain.copy()), expression=_text("}"), position="TRAILING")
    digits = exp.Right(this=_replace(closed, "-", ""), expression=number(32))
    return exp.Nullif(this=digits, expression=_text(_NIL))


def _number(plain: exp.Expr) -> exp.Expr:
    """The sign, the first digit that is not zero, a point, the others without zeros at the end, and the exponent; or 0.

    The exponent is the place of that digit, and what is said behind an e.
    """
    unsigned = exp.Lower(this=_replace(_trim(plain, "+-", "LEADING"), ",", "."))
    mantissa, said = _part(unsigned, "e", 1), _part(unsigned, "e", 2)
    whole, fraction = _trim(_part(mantissa, ".", 1), "0", "LEADING"), _part(mantissa, ".", 2)
    zeros = exp.Sub(this=_length(fraction), expression=_length(_trim(fraction, "0", "LEADING")))
    below = exp.Sub(this=exp.Neg(this=exp.Paren(this=zeros)), expression=number(1))
    above = exp.Sub(this=_length(whole), expression=number(1))
    place = case((exp.EQ(this=whole.copy(), expression=_text("")), below), otherwise=above)
    exponent = exp.Add(this=place, expression=exp.Paren(this=_exponent(said)))
    digits = _trim(_replace(mantissa, ".", ""), "0", "BOTH")
    parts = [
        case((_begins_with_minus(plain), _text("-")), otherwise=_text("")),
        exp.Left(this=digits.copy(), expression=number(1)),
        _text("."),
        exp.Substring(this=digits.copy(), start=number(2)),
        _text("e"),
        exp.Cast(this=exponent, to=exp.DataType.build("text")),
    ]
    whole_text = reduce(_join, parts)
    return case((exp.EQ(this=digits, expression=_text("")), _text("0")), otherwise=whole_text)


def _exponent(said: exp.Expr) -> exp.Expr:
    """An integer of up to three digits, digit by digit: a cast of text could fail."""
    digits = exp.Right(this=_join(_text("000"), _trim(said, "+-", "LEADING")), expression=number(3))
    value = exp.Paren(
        this=exp.Add(
            this=exp.Add(this=_times(digits, 1, 100), expression=_times(digits, 2, 10)), expression=_times(digits, 3, 1)
        )
    )
    return case(
        (exp.EQ(this=said.copy(), expression=_text("")), number(0)),  # nearly every number
        (_begins_with_minus(said), exp.Neg(this=value)),
        otherwise=value.copy(),
    )


def _times(digits: exp.Expr, place: int, factor: int) -> exp.Expr:
    digit = exp.Substring(this=digits.copy(), start=number(place), length=number(1))
    return exp.Mul(this=exp.StrPosition(this=_text("123456789"), substr=digit), expression=number(factor))


def _begins_with_minus(value: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.Left(this=value.copy(), expression=number(1)), expression=_text("-"))


def _join(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.DPipe(this=one, expression=other, safe=True)


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=value.copy(), expression=_text(pattern))


def _trim(value: exp.Expr, what: str, position: str) -> exp.Expr:
    return exp.Trim(this=value.copy(), expression=_text(what), position=position)


def _replace(value: exp.Expr, what: str, by: str) -> exp.Expr:
    return exp.Anonymous(this="REPLACE", expressions=[value.copy(), _text(what), _text(by)])


def _part(value: exp.Expr, separator: str, place: int) -> exp.Expr:
    return exp.SplitPart(this=value.copy(), delimiter=_text(separator), part_index=number(place))


def _length(value: exp.Expr) -> exp.Expr:
    return exp.Length(this=value.copy())
