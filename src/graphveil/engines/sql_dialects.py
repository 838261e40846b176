"""Differences between databases that sqlglot does not handle."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import expressions as exp

from graphveil.engines.sql_arithmetic import as_double, case, column, identifier, number
from graphveil.engines.sql_ids import form_of
from graphveil.exceptions import InvalidParameter

__all__ = ["DIALECTS", "Column", "Dialect", "dialect_named"]

_NOT_PLAIN_TEXT = ("bpchar", "ENUM")  # what PostgreSQL calls char(n); a type that lists its values
_ID_BYTES = 256  # as in rows/ids.py: a longer id counts as missing
_ARGUMENTS = 100  # of a function of PostgreSQL, at most


@dataclass(frozen=True)
class Column:
    """A column of the rows: its name, and what it holds ("integer", "float", "decimal", "boolean", "text", "bytes").

    ``kind`` is empty for anything else; ``declared`` is what the database calls the type.
    """

    name: str
    kind: str
    declared: str


@dataclass(frozen=True)
class Dialect:
    """A database.

    Attributes
    ----------
    name : str
        As sqlglot calls it.
    most_text : int
        Characters of a statement, at most.
    exact_type : str or None
        To which integers are cast before they are added, where the sum of 64-bit integers has 64 bits or is not exact.
    fence : {"", "weights", "all"}
        Which nested selects must be kept apart by ``OFFSET 0``: none; that of the weights of people, which DuckDB would
        compute by a join, and plan for minutes; or all (see :class:`~graphveil.engines.sql_layers.Layers`).
    text : {"plain", "collate", "encode"}
        How text is made to compare by its bytes alone: it does, in a collation of its own, or as bytes.
    digest : tuple of str
        Functions, the outermost first, that make an integer of columns of any types, and of which no planner knows what
        they return.
    """

    name: str
    most_text: int
    digest: tuple[str, ...]
    exact_type: str | None = None
    fence: str = ""
    text: str = "plain"

    def add_up(self, value: exp.Expr) -> exp.Expr:
        """A sum of 64-bit integers that cannot overflow; 0 of no rows."""
        if self.exact_type is not None:
            value = exp.Cast(this=value, to=exp.DataType.build(self.exact_type))
        return exp.Coalesce(this=exp.Sum(this=value), expressions=[number(0)])

    def read(self, source: Column) -> exp.Expr:
        """A column as a double: no value can make this fail, and none is dropped."""
        value: exp.Expr = column(source.name)
        if source.kind == "boolean":
            value = exp.Cast(this=value, to=exp.DataType.build("int"))
        if source.kind == "decimal" and self.name == "postgres":
            return _read_numeric(source.name)
        return value if source.declared in ("float8", "DOUBLE") else as_double(value)

    def has_read(self, columns: Sequence[Column]) -> exp.Expr:
        """True of every row, which no planner can tell without reading these columns.

        Whether they are NULL would not do: DuckDB knows of many expressions that they are not, and reads nothing then.
        """
        parts = [columns[start : start + _ARGUMENTS] for start in range(0, len(columns), _ARGUMENTS)]
        return exp.and_(*(exp.NEQ(this=self._parity(part), expression=number(2)) for part in parts), copy=False)

    def _parity(self, columns: Sequence[Column]) -> exp.Expr:
        arguments: list[exp.Expr] = [column(source.name) for source in columns]
        for function in reversed(self.digest):
            arguments = [exp.Anonymous(this=function, expressions=arguments)]
        return exp.Mod(this=arguments[0], expression=number(2))

    def exact_text(self, source: Column) -> exp.Expr:
        """Text that is the same only if all of its bytes are, whatever the collation of its column.

        Text of a fixed length loses the blanks that fill it up: as such a type, "a" and "a " would be the same.
        """
        plain: exp.Expr = column(source.name)
        if source.declared in _NOT_PLAIN_TEXT:
            plain = exp.Cast(this=plain, to=exp.DataType.build("text"))
        if self.text == "encode":
            return exp.Anonymous(this="ENCODE", expressions=[plain])
        return exp.Collate(this=plain, expression=identifier("C")) if self.text == "collate" else plain

    def person(self, source: Column) -> exp.Expr:
        """Whose row it is; NULL for nobody's."""
        if source.kind == "integer":
            return column(source.name)
        plain: exp.Expr = exp.Cast(this=column(source.name), to=exp.DataType.build("text"))
        if self.text == "collate":
            plain = exp.Collate(this=plain, expression=identifier("C"))  # PostgreSQL, whose text has no NUL
        else:
            nul = exp.Chr(expressions=[number(0)])
            plain = exp.Trim(this=plain, expression=nul, position="TRAILING")
        form = form_of(plain)
        if self.text == "encode":
            form = exp.Anonymous(this="ENCODE", expressions=[form])
        length = exp.Anonymous(this="OCTET_LENGTH", expressions=[form.copy()])
        usual = exp.Between(this=length, low=number(1), high=number(_ID_BYTES))
        return exp.Case(ifs=[exp.If(this=usual, true=form)])


def _read_numeric(name: str) -> exp.Expr:
    """PostgreSQL's numeric reaches far beyond doubles on both ends, and its conversion fails there."""
    far, near = exp.Literal.number("1e300"), exp.Literal.number("1e-302")  # beyond any bound; below 2^-1000
    not_a_number = exp.Cast(this=exp.Literal.string("NaN"), to=exp.DataType.build("decimal"))
    return case(
        (exp.EQ(this=column(name), expression=not_a_number), exp.Null()),
        (exp.GT(this=column(name), expression=far), as_double(far.copy())),
        (exp.LT(this=column(name), expression=exp.Neg(this=far.copy())), as_double(exp.Neg(this=far.copy()))),
        (exp.LT(this=exp.Abs(this=column(name)), expression=near), number(0)),
        otherwise=as_double(column(name)),
    )


# Limits: BigQuery 1,024k characters, Snowflake 1 MB. PostgreSQL and DuckDB have none that matters, but parse and plan
# what they are sent in memory.
DIALECTS = {
    "postgres": Dialect("postgres", 8_000_000, ("NUM_NULLS",), fence="all", text="collate"),
    "duckdb": Dialect("duckdb", 8_000_000, ("HASH",), fence="weights", text="encode"),
    "snowflake": Dialect("snowflake", 1_000_000, ("HASH",), "decimal(38, 0)"),
    "bigquery": Dialect("bigquery", 1_000_000, ("FARM_FINGERPRINT", "TO_JSON_STRING", "STRUCT"), "decimal(38, 0)"),
    "databricks": Dialect("databricks", 8_000_000, ("XXHASH64",), "decimal(38, 0)"),
}


def dialect_named(name: str) -> Dialect:
    """A dialect by its name."""
    if name not in DIALECTS:
        raise InvalidParameter.of("dialect", "one of " + ", ".join(sorted(DIALECTS)), name)
    return DIALECTS[name]
