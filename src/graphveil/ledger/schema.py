"""The tables of a ledger, the same in both databases.

*Version 2* has the tables of version 1. What is new is a second kind of line among the events: the checksum of a
release, when it is stored under its key (``upgrade`` adds them to a ledger of version 1).
"""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

__all__ = ["SCHEMA_VERSION", "datasets", "events", "ledgers", "make_tables", "releases", "versions_of"]

SCHEMA_VERSION = 2
_SCHEMA_LOCK = 0x6772617068766569  # "graphvei": PostgreSQL's advisory lock while tables are made

_schema = sa.MetaData()
# One row: the version, and the head of the chain of data sets.
ledgers = sa.Table(
    "graphveil_ledger",
    _schema,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("datasets", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
)
# One row a data set: what it may spend, and the head of the chain of its lines.
datasets = sa.Table(
    "graphveil_datasets",
    _schema,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False, unique=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
)
# The lines of a data set: a charge, which may have a key, or the checksum of a release that was stored under one.
# Append only: no statement of graphveil changes or deletes a line.
events = sa.Table(
    "graphveil_events",
    _schema,
    sa.Column("dataset", sa.String(200), sa.ForeignKey(datasets.c.name), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("token", sa.String(32), nullable=False, unique=True),
    sa.Column("key", sa.String(200), nullable=True, unique=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
# Releases that can be asked for again by their key: public, noisy numbers.
releases = sa.Table(
    "graphveil_releases",
    _schema,
    sa.Column("key", sa.String(200), sa.ForeignKey(events.c.key), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)


def make_tables(connection: Connection) -> None:
    """Create the tables if there are none."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")
    if not sa.inspect(connection).has_table(ledgers.name):
        _schema.create_all(connection)
        connection.execute(ledgers.insert().values(version=SCHEMA_VERSION, datasets=0, head=""))


def versions_of(connection: Connection) -> list[int]:
    """What the ledger says of its version: one number, unless it is damaged."""
    return list(connection.execute(sa.select(ledgers.c.version)).scalars())
