"""The statements of a release as text, for somebody who has to approve them."""

from collections.abc import Iterator

import numpy as np

from graphveil.engines.sql_dialects import Dialect
from graphveil.engines.sql_statements import Statement, Statements, Table, encoder_of
from graphveil.released.release import Release
from graphveil.spec.augmentation import Augment, Constant
from graphveil.spec.domain import Domain
from graphveil.spec.quantization import MAX_SQUARE
from graphveil.spec.queries import (
    CellCounts,
    ClippedTail,
    ColumnMeans,
    ColumnSquares,
    Moments,
    NormCounts,
    ObservedPairs,
    Query,
    RowCount,
    RowMap,
)
from graphveil.spec.row_space import RowSpace

__all__ = ["explain_domain", "explain_release"]


def explain_release(release: Release, table: Table, dialect: Dialect) -> str:
    """The statements sent for each answer of a release."""
    adaptive = release.event.rounds == "adaptive"
    asked = [answer.query for answer in release.answers]
    return _explain(asked, release.domain, release.augment, table, dialect, adaptive=adaptive)


def explain_domain(domain: Domain, table: Table, dialect: Dialect) -> str:
    """What an adaptive release may send: one statement of each kind, with a map that changes nothing.

    The numbers of a map, and the radius to which mapped rows are shortened, come from earlier noisy answers.
    """
    p = domain.require_n_features()
    if domain.wants_private_norm:
        return _explain([NormCounts(np.ldexp(1.0, np.arange(3)))], domain, Constant(), table, dialect, adaptive=True)
    edge, every, ones = np.full(p, np.sqrt(MAX_SQUARE)), np.arange(p, dtype=np.float64), np.ones(p)
    unchanged = RowMap(-edge, edge, np.zeros(p), np.eye(p), np.zeros(p))
    radius = float(edge[0])
    queries: list[Query] = [
        ColumnMeans(-edge, edge, ones, every),
        ColumnSquares(-edge, edge, np.zeros(p), ones, every),
        NormCounts(radius * np.array([0.25, 0.5, 1.0]), unchanged),
        Moments(radius / 2, radius / 8, unchanged),
        ClippedTail(unchanged, radius / 2, radius),
    ]
    if domain.data_norm is None:
        queries.insert(2, CellCounts(every))
    if domain.gaps:
        queries.insert(0, ObservedPairs(np.array([columns[0] for columns in domain.gaps], dtype=np.float64)))
    if domain.hides_count:
        queries.insert(0, RowCount())
    augment = None if domain.variation == "within" else Constant()
    return _explain(queries, domain, augment, table, dialect, adaptive=True)


def _explain(
    queries: list[Query], domain: Domain, augment: Augment, table: Table, dialect: Dialect, *, adaptive: bool
) -> str:
    appended = None if adaptive else augment
    found = Statements(table, dialect)
    lines = ["-- the schema, and the number of rows"]
    lines += _lines((found.describe(), found.count()))
    for query in queries:
        lines.append(f"-- {query.description}")
        if isinstance(query, RowCount):
            lines += _lines((found.count() if table.person is None else found.count_people(),))
            continue
        space = RowSpace.of(domain, augment, appended)
        raw = isinstance(query, NormCounts) and query.row_map is None
        encoder = None if raw else encoder_of(domain, augment, appended)
        lines += _lines(Statements(table, dialect, space, encoder).plan(query).statements)
    return "\n".join(lines) + "\n"


def _lines(statements: tuple[Statement, ...]) -> Iterator[str]:
    for statement in statements:
        if statement.parameters:
            yield "-- parameters: " + ", ".join(map(repr, statement.parameters))
        yield f"{statement.text};"
