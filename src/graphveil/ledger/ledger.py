"""The ledger: the budget of every data set, the charges, and the releases that have a key."""

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import InvalidParameter, LedgerDamaged
from graphveil.ledger.database import Store
from graphveil.ledger.hash_chain import heads_of, problems
from graphveil.ledger.history import History
from graphveil.ledger.transactions import (
    account_of,
    append_event,
    check_fits,
    find_release,
    keep_release,
    lines_of,
    open_account,
    row_of,
    statement_of,
)
from graphveil.privacy.composition import (
    Balance,
    PrivacySpend,
    check_room_for_releases,
    compute_remaining,
    compute_spent,
)
from graphveil.released.grouped import GroupedRelease
from graphveil.released.release import Release
from graphveil.spec.budget import Budget
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.names import check_name
from graphveil.spec.request import Request

if TYPE_CHECKING:
    import os

    from sqlalchemy.engine import Connection

__all__ = ["Ledger"]


class Ledger:
    """Tracks what was spent on every data set, in a file or a PostgreSQL database.

    Give it to :func:`graphveil.release` or an estimator, with the name of the data set. A release is charged before
    its noise is drawn: a crash may lose budget, never a guarantee. There is no refund.

    Parameters
    ----------
    url : str or path, default "ledger.db"
        A path or ``sqlite:///path``, or ``postgresql://user@host/database`` (needs ``graphveil[postgres]``). Nothing is
        opened or created until it is used; a file can be read only by its owner.

    Guarantee
    ---------
    For every data set, all releases that were charged to it, together, are (ε, δ)-private for the budget that it was
    created with, unless one of them is seeded. Where records are replaced and some are releases of groups (``by=``),
    they are replaced by others of the same groups. Any number of processes may share a ledger. Proof:
    ``privacy/proofs/ledger.md``. The ledger identifies data by name: if the same people are registered under two names,
    each name starts from zero.

    Examples
    --------
    >>> import tempfile, numpy as np, graphveil as gv
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/ledger.db")
    >>> ledger.create("survey", gv.Budget(2.0, 1e-6))
    >>> rows = np.random.default_rng(0).normal(size=(5000, 3))
    >>> ask = dict(domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6), ledger=ledger, dataset="survey")
    >>> release = gv.release(rows, **ask, key="first")
    >>> gv.release(rows, **ask, key="first") == release  # the same key: the same release, and no second charge
    True
    >>> print(ledger.spent("survey"))
    epsilon = 0.999949 at delta = 1e-06 (mu = 0.236694)
    >>> print(ledger.remaining("survey"))
    epsilon = 1.67327 at delta = 1e-06 (mu = 0.38074)
    >>> folder.cleanup()
    """

    def __init__(self, url: "str | os.PathLike[str]" = "ledger.db") -> None:
        self._store = Store(url)

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    # ------------------------------------------------------------------ for people
    def create(self, dataset: str, budget: Budget) -> None:
        """Create an account: ``budget`` is the total that may ever be spent on ``dataset``.

        Parameters
        ----------
        dataset : str
            A name for these people's records, whichever file they come from.
        budget : Budget
            Its δ must be large enough for a hundred releases: for ε = 1 at least 1e-15, for ε = 10 at least 1e-11.
        """
        name = check_name("dataset", dataset)
        if not isinstance(budget, Budget):
            raise InvalidParameter.of("budget", "a gv.Budget", budget)
        check_room_for_releases(budget)
        token = secrets.token_hex(16)
        self._store.create()
        self._store.write(lambda connection: open_account(connection, name, budget, token))

    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, in the order in which they were created."""
        return tuple(self._store.read(heads_of))

    def budget(self, dataset: str) -> Budget:
        """The total budget of ``dataset``."""
        return self._statement(dataset)[0]

    def spent(self, dataset: str) -> PrivacySpend:
        """What was spent, with ε at the data set's δ, rounded up."""
        budget, balance = self._statement(dataset)
        return compute_spent(balance, budget)

    def remaining(self, dataset: str) -> PrivacySpend:
        """The largest release that still fits, at the data set's δ, rounded down; nothing after a seeded release."""
        budget, balance = self._statement(dataset)
        return compute_remaining(balance, budget)

    def history(self, dataset: str) -> History:
        """All charges in the order in which they were made, which may differ from the order of their times."""
        lines = self._store.read(lambda connection: lines_of(connection, account_of(connection, dataset)))
        return History(line for line in lines if line.is_charge)

    def verify(self, heads: Mapping[str, str] | None = None) -> dict[str, str]:
        """Check every line, every sum and every stored release, or raise ``LedgerDamaged`` with what is wrong.

        Parameters
        ----------
        heads : mapping, optional
            What an earlier call returned, kept elsewhere: the ledger must continue from there. Without it, a ledger
            that was rewritten from end to end, or replaced by an old copy, looks intact.

        Returns
        -------
        dict
            For every data set the number of its last line and that line's hash, as text.
        """
        return self._store.read(lambda connection: self._verify_chains(connection, heads or {}))

    def export(self) -> dict[str, Any]:
        """Everything but the stored releases, verified, as plain dictionaries that ``json.dump`` writes."""

        def work(connection: "Connection") -> list[dict[str, Any]]:
            return [
                {
                    "dataset": name,
                    "budget": statement_of(connection, row_of(connection, name))[0].to_dict(),
                    "events": [line.to_dict() for line in lines_of(connection, row_of(connection, name))],
                    "head": head,
                }
                for name, head in self._verify_chains(connection, {}).items()
            ]

        return {"ledger": self._store.name, "datasets": self._store.read(work)}

    # ------------------------------------------------------------------ for the gate
    def charge(self, dataset: str, event: ReleaseEvent, request: Request | None = None) -> None:
        """Count ``event`` durably, or raise; noise is drawn after this returns.

        Guarantee
        ---------
        When this returns, the event is on disk, and the data set is still within its budget (or the event is seeded,
        and the data set is marked). Proof: ``privacy/proofs/ledger.md``.
        """
        if not isinstance(event, ReleaseEvent):
            raise InvalidParameter.of("event", "a ReleaseEvent", event)
        token = secrets.token_hex(16)
        self._store.write(lambda connection: append_event(connection, dataset, event, request, token))

    def check_affordable(self, dataset: str, event: ReleaseEvent) -> None:
        """Raise as :meth:`charge` would if the data set or the budget is missing, and change nothing."""
        self._store.read(lambda connection: check_fits(connection, account_of(connection, dataset), event))

    def stored(self, request: Request) -> Release | GroupedRelease | None:
        """The release under the request's key; None for a new key. Keys of other requests, or lost, are refused."""

        def work(connection: "Connection") -> Release | GroupedRelease | None:
            account_of(connection, request.dataset)
            return find_release(connection, request)

        return self._store.read(work)

    def store(self, request: Request, release: Release | GroupedRelease) -> None:
        """Keep a release under the key that it was charged with."""
        token = secrets.token_hex(16)
        self._store.write(lambda connection: keep_release(connection, request, release, token))

    def _statement(self, dataset: str) -> tuple[Budget, Balance]:
        return self._store.read(lambda connection: statement_of(connection, account_of(connection, dataset)))

    def _verify_chains(self, connection: "Connection", heads: Mapping[str, str]) -> dict[str, str]:
        found = list(dict.fromkeys(problems(connection, heads)))
        if found:
            more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
            raise LedgerDamaged(f"The ledger in {self._store.name} is not intact: {'; '.join(found[:5])}{more}.")
        return heads_of(connection)
