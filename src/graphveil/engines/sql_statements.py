"""Each query of the protocol becomes one statement, whose answer is integers: what ``rows/accumulators.py`` would sum.

Statements are trees, written out by sqlglot for each dialect. They hold public numbers and quoted names; the text of a
class is a parameter. One that is longer than a dialect allows is cut into several, which repeat the clip and share the
sums.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import expressions as exp

from graphveil.engines.sql_arithmetic import (
    as_double,
    as_integer,
    bin_number,
    case,
    column,
    identifier,
    number,
    product,
    square_norm,
)
from graphveil.engines.sql_dialects import Column, Dialect
from graphveil.engines.sql_layers import Layers
from graphveil.exceptions import SourceError
from graphveil.rows.encoding import Encoder
from graphveil.rows.exact_sums import split_words
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import UNBOUNDED
from graphveil.spec.quantization import CELL_LEVELS, PERSON_WEIGHT
from graphveil.spec.queries import CellCounts, ClippedTail, ColumnMeans, ColumnSquares, Moments, NormCounts, Query
from graphveil.spec.row_space import RowSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Results = list[list[tuple[Any, ...]]]  # the rows that each statement returned

__all__ = ["Plan", "Statement", "Statements", "Table"]

_CELLS = 2 ** CELL_LEVELS[0]
_COLUMNS_AT_A_TIME = 32  # whose cells one statement counts: so many tables of counts does the database hold meanwhile
_TERM_TEXT, _COLUMN_TEXT = 26, 3_500  # characters, at most: of an entry of a map, of what is done with a column besides
_LOST = "The database has lost a part of a sum; nothing from this pass is used."


@dataclass(frozen=True)
class Statement:
    """Text, and the values of its parameters: that of $1, of $2 and so on."""

    text: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What is sent for a query, and how the number of rows and the words of its statistic are read off the results."""

    statements: tuple[Statement, ...]
    read: "Callable[[Results], tuple[int, NDArray[np.int64]]]"


@dataclass(frozen=True)
class Table:
    """The rows of a release as the database has them.

    Attributes
    ----------
    query : exp.Query
        What the caller selects.
    features : tuple of Column
    label, person : Column or None
    labels : Labels or None
        With the classes of ``label``.
    """

    query: exp.Query
    features: tuple[Column, ...]
    label: Column | None = None
    person: Column | None = None
    labels: Labels | None = None


@dataclass(frozen=True)
class Statements:
    """Writes what is sent for each query.

    Parameters
    ----------
    table : Table
    dialect : Dialect
    space : RowSpace or None
        Where the integer rows live; None if there will be no query.
    encoder : Encoder or None
        What rows are clipped to; None while their norm is not known.
    """

    table: Table
    dialect: Dialect
    space: RowSpace | None = None
    encoder: Encoder | None = None

    def check_width(self) -> None:
        """Refuse more columns than the longest statement of an adaptive release has room for, before anything is read.

        It maps rows by a matrix, which cannot be cut: every sum needs the norm of a whole mapped row.
        """
        p, most = len(self.table.features), self.dialect.most_text
        if _TERM_TEXT * p**2 + _COLUMN_TEXT * p + len(self.count().text) > most:
            raise SourceError(
                f"{p} columns are too many for a statement of {self.dialect.name}, which may have {most:,} characters. "
                "Release fewer columns, or give the rows themselves instead of gv.sql."
            )

    def describe(self) -> Statement:
        """No rows, with the schema."""
        return self._write(exp.Select(expressions=[exp.Star()]).from_(self._source(), copy=False).limit(0, copy=False))

    def count(self) -> Statement:
        """How many rows there are."""
        return self._write(_counting(self._source()))

    def count_people(self) -> Statement:
        """How many people there are; all rows of nobody belong to one."""
        assert self.table.person is not None
        who = exp.Alias(this=self.dialect.person(self.table.person), alias=identifier("id"))
        people = exp.Select(expressions=[who]).from_(self._source(), copy=False).distinct(copy=False)
        return self._write(_counting(_as_table(people, "people")))

    def plan(self, query: Query) -> Plan:
        """What a query asks of the database."""
        return _PLANS[type(query)](self, query)

    # ------------------------------------------------------------------ sums
    def column_totals(self, query: ColumnMeans | ColumnSquares) -> Plan:
        """Σk and Σk² of every column, or Σw, Σwk and Σwk²."""

        def build() -> Layers:
            layers = self._clipped()
            layers.window(query.low, query.high, self._space.edge)
            layers.make_integers([*weight, *layers.names("k")])
            return layers

        weight = self._weight
        names = [f"k{j}" for j in range(self._space.n_features)]
        sums, squares = [(*weight, name) for name in names], [(*weight, name, name) for name in names]
        # A statistic counts the rows of every column, of which none is missing here.
        if weight:
            return self._sum(build, [("w",), *sums, *squares], lambda _, found: [found[0]] * len(names) + found[1:])
        return self._sum(build, [*sums, *squares], lambda n_rows, found: [n_rows] * len(names) + found)

    def moments(self, query: Moments | ClippedTail) -> Plan:
        """Σkkᵀ of rows, or of mapped and shortened rows, with what is appended to them."""
        lattice, layout = query.geometry(self._space)
        names = [f"k{j}" for j in range(layout.size)]

        def build() -> Layers:
            layers = self._clipped()
            if query.row_map is not None:
                layers.map(query.row_map, self._space.edge)
                inner, norm = (query.inner, query.outer) if isinstance(query, ClippedTail) else (0.0, query.radius)
                layers.shorten(lattice, inner, norm, tiny=False)
            if self._weight:
                layers.weigh(lattice)
            if isinstance(layout.augment, Labels):
                self._append_labels(layers)
            elif layout.augment is not None:
                layers.append(lattice.constant, weighted=bool(self._weight))
            layers.make_integers(names)
            return layers

        return self._sum(build, list(combinations_with_replacement(names, 2)))

    def _sum(
        self,
        build: Callable[[], Layers],
        terms: list[tuple[str, ...]],
        arrange: Callable[[int, list[int]], list[int]] = lambda n_rows, found: found,
    ) -> Plan:
        """Sums of products of columns, in as few statements as the dialect allows, arranged as a statistic has them."""

        def write(part: Sequence[tuple[str, ...]]) -> Statement:
            sums = exp.Array(expressions=[self.dialect.add_up(_multiply(names)) for names in part])
            return self._write(build().select({"n": exp.Count(this=exp.Star()), "sums": sums}))

        def cut(part: Sequence[tuple[str, ...]]) -> list[Statement]:
            statement = write(part)
            if len(statement.text) <= self.dialect.most_text:
                return [statement]
            assert len(part) > 1, "check_width has made sure that one sum fits"
            middle = len(part) // 2
            return cut(part[:middle]) + cut(part[middle:])

        def read(results: "Results") -> "tuple[int, NDArray[np.int64]]":
            seen = {int(n) for ((n, _),) in results}
            values = [int(value) for ((_, found),) in results for value in found]
            if len(seen) != 1 or len(values) != len(terms):
                raise SourceError(_LOST)
            (n_rows,) = seen
            return n_rows, split_words(np.array(arrange(n_rows, values), dtype=object))

        return Plan(tuple(cut(terms)), read)

    # ------------------------------------------------------------------ counts
    def norm_counts(self, query: NormCounts) -> Plan:
        """How many rows have a norm in each bin."""
        layers = self._clipped()
        if query.row_map is not None:
            layers.map(query.row_map, self._space.edge)
        elif query.edges[-1] > UNBOUNDED:
            raise SourceError("A norm is too extreme to be compared by a database: rescale the columns.")
        u = layers.names("u")
        layers.add({"r": exp.Sqrt(this=square_norm(u, tiny=query.row_map is None))})
        layers.add({"c0": as_integer(bin_number("r", [float(edge) for edge in query.edges]))})
        statement = self._count_by(layers, ["c0"])
        return Plan((statement,), lambda results: self._read_counts(results, [0], query.edges.size + 1))

    def cell_counts(self, query: CellCounts) -> Plan:
        """How many rows fall into each of the finest cells of some columns."""
        asked = [int(j) for j in query.columns]
        levels = self._space.known_lattice.levels
        starts = range(0, len(asked), _COLUMNS_AT_A_TIME)

        def write(part: list[int], first: int) -> Statement:
            layers = self._clipped()
            cells = {f"c{i}": _cell(f"k{j}", levels, first + i) for i, j in enumerate(part)}
            layers.add({name: as_integer(cell) for name, cell in cells.items()})
            return self._count_by(layers, list(cells))

        statements = tuple(write(asked[start : start + _COLUMNS_AT_A_TIME], start) for start in starts)
        return Plan(statements, lambda results: self._read_counts(results, range(len(asked)), _CELLS))

    def _count_by(self, layers: Layers, cells: list[str]) -> Statement:
        """How many rows are in each cell, for each of several columns of cells, whose numbers differ."""
        counted: list[exp.Expr] = [exp.Count(this=exp.Star())]
        counted += [self.dialect.add_up(as_integer(column("w"))) for _ in self._weight]
        key = column(cells[0]) if len(cells) == 1 else _coalesce(cells)
        top = exp.Select(expressions=[exp.Alias(this=key, alias=identifier("cell")), *counted])
        sets = exp.GroupingSets(expressions=[exp.Tuple(expressions=[column(name)]) for name in cells])
        grouped = exp.Group(expressions=[column(cells[0])]) if len(cells) == 1 else exp.Group(grouping_sets=[sets])
        top = top.from_(layers.below(), copy=False)
        top.set("group", grouped)
        return self._write(top)

    def _read_counts(self, results: "Results", groups: Iterable[int], size: int) -> "tuple[int, NDArray[np.int64]]":
        """Every row is in one cell of each group."""
        groups = list(groups)
        seen, counts = np.zeros((2, len(groups) * size), dtype=np.int64)
        for cell, n_rows, *weight in (row for rows in results for row in rows):
            seen[int(cell)] += int(n_rows)
            counts[int(cell)] += int(weight[0] if weight else n_rows)
        totals = seen.reshape(len(groups), size).sum(axis=1)
        if (totals != totals[0]).any():
            raise SourceError(_LOST)
        return int(totals[0]), counts

    # ------------------------------------------------------------------ rows
    def _clipped(self) -> Layers:
        """Integer rows k, or rows u as they are while no bound of them is known."""
        read = {f"x{j}": self.dialect.read(feature) for j, feature in enumerate(self.table.features)}
        read |= {name: self._row_weight() for name in self._weight}
        if isinstance(self._space.layout.augment, Labels) and self.encoder is not None:
            read["y"] = self._class_number()
        chosen = [exp.Alias(this=value, alias=identifier(name)) for name, value in read.items()]
        rows = exp.Select(expressions=chosen).from_(self._source(), copy=False)
        p = len(self.table.features)
        layers = Layers(rows, p, list(read)[p:], fence=self.dialect.fence == "all")
        if self._weight and self.dialect.fence:
            layers.keep_apart()
        if self.encoder is None:
            layers.keep_finite()
        else:
            layers.clip(self.encoder)
        return layers

    def _row_weight(self) -> exp.Expr:
        """⌊2²⁰/m⌋ of a row whose person has m rows: below 2²¹ the floor of a quotient of doubles is exact."""
        assert self.table.person is not None
        of_person = [self.dialect.person(self.table.person)]
        rows = exp.Window(this=exp.Count(this=exp.Star()), partition_by=of_person)
        return exp.Floor(this=exp.Div(this=number(PERSON_WEIGHT), expression=as_double(rows), typed=True))

    def _class_number(self) -> exp.Expr:
        """The number of the first class that a label is, -1 if it is none: no row can be of two."""
        labels, label = self.table.labels, self.table.label
        assert labels is not None
        assert label is not None
        same = [(self._is_class(label, name), number(code)) for code, name in enumerate(labels.classes)]
        return case(*((test, code) for test, code in same if test is not None), otherwise=number(-1))

    def _append_labels(self, layers: Layers) -> None:
        """The label, one-hot, times the constant of the lattice."""
        labels, constant = self.table.labels, number(self._space.known_lattice.constant)
        assert labels is not None
        p = len(self.table.features)
        is_class = [exp.EQ(this=column("y"), expression=number(code)) for code in range(len(labels.classes))]
        one_hot = {
            f"k{p + code}": case((same, constant.copy()), otherwise=number(0)) for code, same in enumerate(is_class)
        }
        layers.add(one_hot, layers.names("k"))

    def _is_class(self, label: Column, name: str | int) -> exp.Expr | None:
        """Whether a row has this label; None if no label of the column's type is that class."""
        if label.kind == "text":
            if name not in self._texts:
                return None
            sent: exp.Expr = exp.Parameter(this=exp.Literal.number(1 + self._texts.index(str(name))))
            if self.dialect.text == "encode":
                sent = exp.Anonymous(this="ENCODE", expressions=[sent])
            return exp.EQ(this=self.dialect.exact_text(label), expression=sent)
        if isinstance(name, str) or not -(2**63) < name < 2**63:
            return None
        held = exp.Cast(this=column(label.name), to=exp.DataType.build("int")) if label.kind == "boolean" else None
        return exp.EQ(this=held or column(label.name), expression=exp.Literal.number(int(name)))

    @property
    def _texts(self) -> tuple[str, ...]:
        """What is compared as text: the classes. Parameter $i stands for the i-th of them."""
        labels, label = self.table.labels, self.table.label
        if labels is None or label is None or label.kind != "text":
            return ()
        return tuple(name for name in labels.classes if isinstance(name, str) and _can_be_sent(name, self.dialect))

    @property
    def _weight(self) -> tuple[str, ...]:
        """The column of weights, if rows have some."""
        return () if self.table.person is None else ("w",)

    @property
    def _space(self) -> RowSpace:
        assert self.space is not None
        return self.space

    def _source(self) -> exp.Subquery:
        return _as_table(self.table.query.copy(), "source")

    def _write(self, tree: exp.Expr) -> Statement:
        """The text of a statement, with the parameters that it has; others a database would refuse."""
        texts = self._texts
        used = list(tree.find_all(exp.Parameter)) if texts else []
        places = sorted({int(node.name) for node in used})
        for node in used:
            node.set("this", exp.Literal.number(1 + places.index(int(node.name))))
        text = tree.sql(dialect=self.dialect.name, copy=False, comments=False)
        return Statement(text, tuple(texts[place - 1] for place in places))


_PLANS: dict[type[Query], Callable[[Statements, Any], Plan]] = {
    ColumnMeans: Statements.column_totals,
    ColumnSquares: Statements.column_totals,
    CellCounts: Statements.cell_counts,
    NormCounts: Statements.norm_counts,
    Moments: Statements.moments,
    ClippedTail: Statements.moments,
}


def _as_table(query: exp.Query, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(name)))


def _counting(table: exp.Subquery) -> exp.Select:
    return exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(table, copy=False)


def _multiply(names: Sequence[str]) -> exp.Expr:
    first, *others = names
    value: exp.Expr = column(first)
    for name in others:
        value = product(value, column(name))
    return value


def _coalesce(names: Sequence[str]) -> exp.Expr:
    first, *others = map(column, names)
    return exp.Coalesce(this=first, expressions=others)


def _cell(name: str, levels: int, place: int) -> exp.Expr:
    """The cell of a column, numbered on from those of the columns before: at 2³³ the floor of a quotient is exact."""
    steps = exp.Paren(this=exp.Add(this=column(name), expression=number(levels)))
    share = exp.Div(this=product(steps, number(_CELLS)), expression=number(2 * levels + 1), typed=True)
    return exp.Add(this=exp.Floor(this=share), expression=number(place * _CELLS))


def _can_be_sent(name: str, dialect: Dialect) -> bool:
    """Whether text of the database can be this: PostgreSQL has no character 0, and no database half a character."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name or dialect.name != "postgres"
