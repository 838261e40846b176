"""Rows inside a database, for one release: every pass is a few statements, all of them in one snapshot."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from sqlglot import expressions as exp

from graphveil.engines.sql_dialects import Column
from graphveil.engines.sql_recoding import check_kinds
from graphveil.engines.sql_sessions import Session
from graphveil.engines.sql_statements import Plan, Statements, Table, encoder_of
from graphveil.exceptions import SourceError
from graphveil.rows.accumulators import Questions
from graphveil.rows.arrow import Selection
from graphveil.rows.encoding import Encoder, IdentityEncoder
from graphveil.rows.parallel import Tally
from graphveil.rows.partitions import RemoteGroups
from graphveil.rows.statistic import Statistic
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain
from graphveil.spec.kinds import Level

if TYPE_CHECKING:
    from graphveil.rows.parallel import Encoding, Progress, Sums

__all__ = ["SqlRows", "table_of"]

_UNDERSTOOD = {
    "columns", "n_features", "bounds", "data_norm", "rows_per_person", "person", "variation", "codebook", "neighbours",
}  # fmt: skip
_LABELS = ("text", "integer", "boolean")
_IDS = ("text", "integer")
_NUMBERS = ("integer", "float", "decimal", "boolean")

Levels = tuple[str, tuple[Level, ...]]  # a column that makes groups, and what its groups are


class SqlRows(RemoteGroups):
    """The rows that a query returns, summed by the database.

    Parameters
    ----------
    session : Session
        Its transaction has begun, and is ended by :meth:`close`.
    table : Table
        What is summed.
    domain : Domain

    Guarantee
    ---------
    Every sum is over integer rows of norm at most ``row_square``, made by the operations of ``rows/encoding.py``; the
    last of them checks that norm in integers. What cannot be computed like this is refused here, before a row is read.
    Proof: ``privacy/proofs/statements.md`` (theorem 17).
    """

    def __init__(self, session: Session, table: Table, domain: Domain) -> None:
        self._session, self.table = session, table
        self.columns = tuple(feature.name for feature in table.features)
        self.n_features = len(self.columns)
        self.domain = domain.resolve(self.columns, self.n_features)

    @classmethod
    def of_query(
        cls, session: Session, query: exp.Query, domain: Domain, labels: Labels | None, levels: Levels | None = None
    ) -> "SqlRows":
        """Those that a query returns, its schema checked; ``labels`` have a column."""
        schema = session.describe(Statements(Table(query, ()), session.dialect).describe())
        rows = cls(session, table_of(schema, query, domain, labels, levels), domain)
        rows._statements().check_width()
        return rows

    def accumulate(
        self, encoder: "Encoding", statistics: Callable[[], list[Statistic]], progress: "Progress | None"
    ) -> "Sums":
        assert isinstance(statistics, Questions)
        known = None if isinstance(encoder, IdentityEncoder) else encoder
        assert known is None or isinstance(known, Encoder)
        if self.domain.variation != "total":
            known = encoder_of(self.domain, None, None)
        statements = Statements(self.table, self._session.dialect, statistics.space, known)
        counted, found = set(), statistics()
        for query, statistic in zip(statistics.queries, found, strict=True):
            n_rows, words = self._ask(statements.plan(query))
            counted.add(n_rows)
            statistic.add_from_words(words)
        if len(counted) != 1:
            raise SourceError("The rows changed while they were summed; nothing from this pass is used.")
        (n_rows,) = counted
        if progress is not None:
            progress(n_rows)
        return Tally(n_rows), found

    def _ask(self, plan: Plan) -> Any:
        return plan.read([self._session.fetch(statement) for statement in plan.statements])

    def count(self) -> int:
        ((n_rows,),) = self._session.fetch(self._statements().count())
        return int(n_rows)

    def count_people(self) -> int:
        ((n_people,),) = self._session.fetch(self._statements().count_people())
        return int(n_people)

    def group(self, code: int) -> "SqlRows":
        if self.domain.person is not None:
            raise SourceError(
                "by= with a person column is not computed by databases yet. Give the rows themselves instead of gv.sql."
            )
        return SqlRows(self._session, replace(self.table, group=code), self.domain)

    def _statements(self) -> Statements:
        return Statements(self.table, self._session.dialect)

    def close(self) -> None:
        self._session.close()


def table_of(
    columns: list[Column], query: exp.Query, domain: Domain, labels: Labels | None, levels: Levels | None = None
) -> Table:
    """The columns of a query that a release needs, found by name and judged by type; what is not known is refused."""
    for field in fields(domain):
        if field.name not in _UNDERSTOOD and getattr(domain, field.name) != field.default:
            raise SourceError(
                f"Domain({field.name}=...) is not computed by databases yet. Give the rows themselves, for instance a "
                "relation of DuckDB or a frame, instead of gv.sql."
            )
    names = [found.name for found in columns]
    selection = Selection(names, domain, labels, label=levels and levels[0])
    selection.check_names(names)
    by_name = {found.name: found for found in columns}
    features = tuple(by_name[name] for name in selection.features)
    if not features:
        raise SourceError("The source has no columns.")
    if domain.codebook is not None:
        check_kinds(domain.codebook)
    for feature in features:
        _check_type(feature, text=feature.name in selection.levels)
    codebook = None if domain.codebook is None or domain.codebook.is_plain else domain.codebook
    beside = None if selection.beside is None else by_name[selection.beside]
    if domain.person is not None and beside is not None:
        if beside.kind not in _IDS:
            raise SourceError(
                f"The person column {beside.name!r} has type {beside.declared}, which cannot hold ids: use integers or "
                "text, e.g. by a cast in the query."
            )
        return Table(query, features, person=beside, codebook=codebook, variation=domain.variation)
    if beside is not None and levels is not None:
        _check_type(beside, text=isinstance(levels[1][0], str))
        return Table(query, features, beside, classes=levels[1], codebook=codebook)
    if beside is not None and beside.kind not in _LABELS:
        raise SourceError(f"The label column {beside.name!r} has type {beside.declared}: use strings or integers.")
    return Table(query, features, beside, classes=() if labels is None else labels.classes, codebook=codebook)


def _check_type(column: Column, *, text: bool) -> None:
    """Refuse a column that does not hold the text, or the numbers, that it is declared to hold."""
    if text and column.kind != "text":
        raise SourceError(
            f"Column {column.name!r} has type {column.declared}, but its levels are text. Declare the levels as "
            "what they are in the source: numbers, or False and True."
        )
    if not text and column.kind not in _NUMBERS:
        raise SourceError(
            f"Column {column.name!r} has type {column.declared}, which cannot be read as a number. If it is a "
            'category, declare its levels, e.g. gv.Category(["F", "M"]). Otherwise convert it in the query, or '
            "leave it out: name the columns to use in bounds, or in Domain(columns=...)."
        )
