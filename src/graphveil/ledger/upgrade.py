"""From version 1 to version 2: every release that is stored gets its line in the chain.

Version 1 did not chain what was stored. What is there is taken as it is, if it can be read and its event is the one
that was charged: later changes show, earlier ones cannot.
"""

import secrets

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from graphveil.exceptions import GraphveilError, LedgerDamaged
from graphveil.ledger.hash_chain import checksum_of
from graphveil.ledger.schema import SCHEMA_VERSION, datasets, events, ledgers, releases, versions_of
from graphveil.ledger.transactions import intact_chain, row_of, seal_release
from graphveil.released.release import Release

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    """Bring a ledger of version 1 to version 2, or raise and change nothing."""
    connection.execute(sa.select(ledgers).with_for_update())
    if versions_of(connection) == [SCHEMA_VERSION]:
        return  # another process was faster
    names = connection.execute(sa.select(datasets.c.name).order_by(datasets.c.number)).scalars().all()
    for name in names:
        charges = intact_chain(connection, row_of(connection, name, lock=True)).charges
        stored = connection.execute(
            sa.select(releases)
            .join_from(releases, events, releases.c.key == events.c.key)
            .where(events.c.dataset == name)
            .order_by(events.c.number)
        ).all()
        for row in stored:
            try:
                charged = Release.from_bytes(row.content).event == charges.get(row.key)
            except GraphveilError:
                charged = False
            if not charged:
                raise LedgerDamaged(
                    f"The release under key {row.key!r} is damaged, or is not the one that was charged. The ledger "
                    f"was not upgraded to version {SCHEMA_VERSION}; nothing was changed. Restore it from a copy."
                )
            account = row_of(connection, name, lock=True)  # its head has moved on
            seal_release(connection, account, row.key, checksum_of(row.content), secrets.token_hex(16))
    connection.execute(ledgers.update().values(version=SCHEMA_VERSION))
