"""Each query of the protocol becomes one statement, whose answer is integers: what ``rows/accumulators.py`` would sum.

Statements are trees, written out by sqlglot for each dialect. They hold public numbers and quoted names; the text of a
class is a parameter. One that is longer than a dialect allows is cut into several, which repeat the clip and share the
sums.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement
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
from graphveil.engines.sql_recoding import levels_of, recode
from graphveil.exceptions import SourceError
from graphveil.rows.encoding import Encoder
from graphveil.rows.exact_sums import split_words
from graphveil.spec.augmentation import Augment, Labels
from graphveil.spec.codebook import Codebook
from graphveil.spec.domain import UNBOUNDED, Domain
from graphveil.spec.kinds import Category, Level, Ordinal
from graphveil.spec.quantization import CELL_LEVELS, PERSON_WEIGHT
from graphveil.spec.queries import (
    CellCounts,
    ClippedTail,
    ColumnMeans,
    ColumnSquares,
    Moments,
    NormCounts,
    ObservedPairs,
    Query,
    RowMap,
)
from graphveil.spec.row_space import RowSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Results = list[list[tuple[Any, ...]]]  # the rows that each statement returned

__all__ = ["Plan", "Statement", "Statements", "Table", "encoder_of"]

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
    classes : tuple of levels
        What ``label`` can be.
    codebook : Codebook or None
        What cells are, where they are not taken as the numbers that they hold.
    variation : {"total", "between", "within"}
        Which variation of people's rows is summed.
    group : int or None
        The number of the class to which rows are restricted.
    """

    query: exp.Query
    features: tuple[Column, ...]
    label: Column | None = None
    person: Column | None = None
    classes: tuple[Level, ...] = ()
    codebook: Codebook | None = None
    variation: str = "total"
    group: int | None = None


@dataclass(frozen=True)
class Statements:
    """Writes the statements of each query.

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
        p, most = self._width, self.dialect.most_text
        if _TERM_TEXT * p**2 + _COLUMN_TEXT * p + len(self._write(self._rows().top).text) > most:
            raise SourceError(
                f"{p} columns are too many for a statement of {self.dialect.name}, which may have {most:,} characters. "
                "Release fewer columns, or give the rows themselves instead of gv.sql."
            )

    def describe(self) -> Statement:
        """No rows, with the schema."""
        return self._write(exp.Select(expressions=[exp.Star()]).from_(self._query(), copy=False).limit(0, copy=False))

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
            whole = {name: as_integer(column(name)) for name in (*weight, *layers.names("k"))}
            counted = {f"h{j}": _sign(f"k{j}", 0) for j in range(self._space.n_features)} if self._space.gaps else {}
            layers.add(whole | counted)
            return layers

        weight = self._weight
        names = [f"k{j}" for j in range(self._space.n_features)]
        sums, squares = [(*weight, name) for name in names], [(*weight, name, name) for name in names]
        if self._space.gaps:  # sums leave out what is NULL
            return self._sum(build, [*((*weight, f"h{j}") for j in range(len(names))), *sums, *squares])
        # A statistic counts the rows of every column, of which none is missing here.
        if weight:
            return self._sum(
                build, [("w",), *sums, *squares], lambda _, found: _words([found[0]] * len(names) + found[1:])
            )
        return self._sum(build, [*sums, *squares], lambda n_rows, found: _words([n_rows] * len(names) + found))

    def observed_pairs(self, query: ObservedPairs) -> Plan:
        """Sums of signs, 1 for a value that is there and -1 for one that is not, and of their products."""
        weight, m = self._weight, query.columns.size
        signs = {f"h{i}": _sign(f"k{int(j)}", -1) for i, j in enumerate(query.columns)}

        def build() -> Layers:
            layers = self._clipped()
            layers.add({name: as_integer(column(name)) for name in weight} | signs)
            return layers

        def arrange(n_rows: int, found: list[int]) -> "NDArray[np.int64]":
            """All products of signs, and of a last one that is always 1."""
            total = found[0] if weight else n_rows
            matrix = np.full((m + 1, m + 1), total, dtype=np.int64)
            matrix[:m, m] = matrix[m, :m] = found[len(weight) : len(weight) + m]
            upper = np.triu_indices(m, 1)
            matrix[upper] = matrix[upper[::-1]] = found[len(weight) + m :]
            return matrix.ravel()

        pairs = [(*weight, *pair) for pair in combinations(signs, 2)]
        return self._sum(build, [*((name,) for name in weight), *((*weight, name) for name in signs), *pairs], arrange)

    def moments(self, query: Moments | ClippedTail) -> Plan:
        """Σkkᵀ of rows, or of mapped and shortened rows, with what is appended to them."""
        lattice, layout = query.geometry(self._space)
        names = [f"k{j}" for j in range(layout.size)]

        def build() -> Layers:
            layers = self._clipped()
            if query.row_map is not None:
                self._map(layers, query.row_map)
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
        arrange: "Callable[[int, list[int]], NDArray[np.int64]]" = lambda n_rows, found: _words(found),
    ) -> Plan:
        """Sums of products of columns, in as few statements as the dialect allows, arranged as a statistic's words."""

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
            return n_rows, arrange(n_rows, values)

        return Plan(tuple(cut(terms)), read)

    # ------------------------------------------------------------------ counts
    def norm_counts(self, query: NormCounts) -> Plan:
        """How many rows have a norm in each bin."""
        layers = self._clipped()
        if query.row_map is not None:
            self._map(layers, query.row_map)
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

        def read(results: "Results") -> "tuple[int, NDArray[np.int64]]":
            n_rows, counts = self._read_counts(results, range(len(asked)), _CELLS + 1)
            return n_rows, counts.reshape(-1, _CELLS + 1)[:, :-1].ravel()

        return Plan(statements, read)

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
        layers, gaps, variation = self._rows(), self._space.gaps, self.table.variation
        if self.encoder is None:
            layers.keep_finite()
            return layers
        if gaps:
            layers.note_gaps(gaps)
        layers.clip(self.encoder)
        if gaps:
            layers.mark_gaps(gaps)
        if variation == "between":
            layers.average_by_person(self.encoder.lattice)
        elif variation == "within":
            layers.subtract_means(self.encoder.lattice)
        return layers

    def _rows(self) -> Layers:
        """Columns x of the release, as numbers, with what is carried along."""
        codebook = self.table.codebook
        letter = "x" if codebook is None else "s"
        read = {f"{letter}{j}": self._read(j) for j in range(len(self.table.features))}
        carried = {name: self._row_weight() for name in self._weight}
        if self.table.person is not None and self.table.variation != "total":
            carried["o"] = self.dialect.person(self.table.person)
        if self.space is not None and isinstance(self.space.layout.augment, Labels) and self.encoder is not None:
            carried["y"] = self._class_number()
        chosen = [exp.Alias(this=value, alias=identifier(name)) for name, value in (read | carried).items()]
        rows = exp.Select(expressions=chosen).from_(self._source(), copy=False)
        layers = Layers(rows, self._width, list(carried), fence=self.dialect.fence)
        if self._weight and self.dialect.fence:
            layers.keep_apart()
        if codebook is not None:
            recode(layers, codebook)
        return layers

    def _read(self, place: int) -> exp.Expr:
        """A cell as a double; one that is text, as the number of its level, NULL for anything else."""
        feature, codebook = self.table.features[place], self.table.codebook
        kind = None if codebook is None else codebook.kinds[place]
        if not isinstance(kind, Category | Ordinal) or not kind.is_text:
            return self.dialect.read(feature)
        numbers = [value for _, value in levels_of(kind)]
        same = [self._is_text(feature, str(level)) for level in kind.levels]
        branches = [(test, number(value)) for test, value in zip(same, numbers, strict=True) if test is not None]
        return case(*branches, otherwise=exp.Null())

    def _map(self, layers: Layers, row_map: RowMap) -> None:
        if self._space.gaps:
            layers.fill_gaps(self._space.gaps, row_map.centre)
        layers.map(row_map, self._space.edge)

    def _row_weight(self) -> exp.Expr:
        """⌊2²⁰/m⌋ of a row whose person has m rows: below 2²¹ the floor of a quotient of doubles is exact."""
        assert self.table.person is not None
        of_person = [self.dialect.person(self.table.person)]
        rows = exp.Window(this=exp.Count(this=exp.Star()), partition_by=of_person)
        return exp.Floor(this=exp.Div(this=number(PERSON_WEIGHT), expression=as_double(rows), typed=True))

    def _class_number(self) -> exp.Expr:
        """The number of the first class that a label is, -1 if it is none: no row can be of two."""
        label = self.table.label
        assert label is not None
        same = [(self._is_class(label, name), number(code)) for code, name in enumerate(self.table.classes)]
        return case(*((test, code) for test, code in same if test is not None), otherwise=number(-1))

    def _append_labels(self, layers: Layers) -> None:
        """The label, one-hot, times the constant of the lattice."""
        p, constant = self._width, number(self._space.known_lattice.constant)
        is_class = [exp.EQ(this=column("y"), expression=number(code)) for code in range(len(self.table.classes))]
        one_hot = {
            f"k{p + code}": case((same, constant.copy()), otherwise=number(0)) for code, same in enumerate(is_class)
        }
        layers.add(one_hot, layers.names("k"))

    def _is_class(self, label: Column, name: Level) -> exp.Expr | None:
        """Whether a row has this label; None if no label of the column's type is that class."""
        if label.kind == "text":
            return self._is_text(label, name) if isinstance(name, str) else None
        if isinstance(name, str) or not -(2**63) < name < 2**63:
            return None
        if label.kind in ("float", "decimal"):
            return exp.EQ(this=self.dialect.read(label), expression=number(name))
        if name != int(name):
            return None
        held = exp.Cast(this=column(label.name), to=exp.DataType.build("int")) if label.kind == "boolean" else None
        return exp.EQ(this=held or column(label.name), expression=exp.Literal.number(int(name)))

    def _is_text(self, source: Column, text: str) -> exp.Expr | None:
        """Whether a cell is this text; None if no text of the database can be."""
        if text not in self._texts:
            return None
        sent: exp.Expr = exp.Parameter(this=exp.Literal.number(1 + self._texts.index(text)))
        if self.dialect.text == "encode":
            sent = exp.Anonymous(this="ENCODE", expressions=[sent])
        return exp.EQ(this=self.dialect.exact_text(source), expression=sent)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """What cells are compared with as text: classes and levels. Parameter $i stands for the i-th of them."""
        codebook = self.table.codebook
        texts = [name for name in self.table.classes if isinstance(name, str)]
        texts += [] if codebook is None else [name for levels in codebook.text_levels.values() for name in levels]
        return tuple(name for name in dict.fromkeys(texts) if _can_be_sent(name, self.dialect))

    @property
    def _weight(self) -> tuple[str, ...]:
        """The column of weights, if rows have some."""
        return () if self.table.person is None or self.table.variation == "between" else ("w",)

    @property
    def _width(self) -> int:
        """How many columns a row has."""
        return len(self.table.features if self.table.codebook is None else self.table.codebook.columns)

    @property
    def _space(self) -> RowSpace:
        assert self.space is not None
        return self.space

    def _source(self) -> exp.Subquery:
        """The rows, of which every statement reads every column that a release needs, whatever it asks itself.

        A database leaves out what a statement does not ask for, and a reader of files that drops lines which it cannot
        parse does not notice such a line then: two statements would see different rows, and a cell would decide whether
        a release succeeds.
        """
        table = self.table
        conditions = [self.dialect.has_read([one for one in (*table.features, table.label, table.person) if one])]
        if table.group is not None:
            conditions.append(exp.EQ(this=self._class_number(), expression=number(table.group)))
        rows = exp.Select(expressions=[exp.Star()]).from_(self._query(), copy=False).where(*conditions, copy=False)
        return _as_table(rows, "source")

    def _query(self) -> exp.Subquery:
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
    ObservedPairs: Statements.observed_pairs,
    Moments: Statements.moments,
    ClippedTail: Statements.moments,
}


def encoder_of(domain: Domain, augment: Augment, appended: Augment) -> Encoder:
    """What the rows of a table are clipped to, before averages of people's are taken, if that is asked for."""
    if domain.variation != "total":
        return Encoder(replace(domain, variation="total"), None, shift=True)
    return Encoder(domain, appended, shift=augment is not None)


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
    """The cell of a column, numbered on from those of the columns before: at 2³³ the floor of a quotient is exact.

    What is missing has a cell of its own, the last.
    """
    steps = exp.Paren(this=exp.Add(this=column(name), expression=number(levels)))
    share = exp.Div(this=product(steps, number(_CELLS)), expression=number(2 * levels + 1), typed=True)
    cell = exp.Coalesce(this=exp.Floor(this=share), expressions=[number(_CELLS)])
    return exp.Add(this=cell, expression=number(place * (_CELLS + 1)))


def _words(values: list[int]) -> "NDArray[np.int64]":
    return split_words(np.array(values, dtype=object))


def _sign(name: str, missing: int) -> exp.Expr:
    """1 where a column has a value."""
    there = exp.Is(this=column(name), expression=exp.Null())
    return case((there, number(missing)), otherwise=number(1))


def _can_be_sent(name: str, dialect: Dialect) -> bool:
    """Whether text of the database can be this: PostgreSQL has no character 0, and no database half a character."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name or dialect.name != "postgres"
