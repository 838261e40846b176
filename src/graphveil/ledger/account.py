"""The account to which one release is charged: in a ledger, or none.

The events of a release are logged here (``logging.getLogger("graphveil")``, level INFO), with public facts only.
"""

import logging
from typing import Protocol

from graphveil.exceptions import (
    GuaranteeError,
    InvalidParameter,
    LedgerError,
    LedgerWarning,
    PrivacyWarning,
    SourceError,
    warn_caller,
)
from graphveil.released.grouped import GroupedRelease
from graphveil.released.release import Release
from graphveil.spec.budget import allows_a_record
from graphveil.spec.events import GaussianStep, ReleaseEvent
from graphveil.spec.grouping import GroupedEvent, GroupEvent, Level
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.request import Request
from graphveil.spec.rounding import format_exact

__all__ = ["Account", "GroupAccount", "LedgerLike"]

_LOG = logging.getLogger("graphveil")


class LedgerLike(Protocol):
    """What a release asks of a ledger, :class:`graphveil.Ledger` or another; without keys ``charge`` is enough."""

    def charge(self, dataset: str, event: ReleaseEvent, request: Request | None = None) -> None:
        """Count ``event`` against ``dataset`` durably, or raise; noise is drawn after this returns."""
        ...

    def stored(self, request: Request) -> Release | GroupedRelease | None:
        """The release under the request's key, None for a new key; raise if it is another request's, or was lost."""
        ...

    def store(self, request: Request, release: Release | GroupedRelease) -> None:
        """Keep ``release`` under the key that was charged."""
        ...


class Account:
    """The ledger, the data set and the key of one call of :func:`graphveil.release`, any of which may be missing."""

    def __init__(
        self, ledger: LedgerLike | None, dataset: str | None, key: str | None, options: ReleaseOptions
    ) -> None:
        if (ledger is None) != (dataset is None):
            raise InvalidParameter("ledger and dataset must be given together: a charge needs the name of the data.")
        if ledger is not None and not hasattr(ledger, "charge"):
            raise InvalidParameter.of("ledger", "a gv.Ledger", ledger, 'Open one: gv.Ledger("ledger.db").')
        if key is not None and not hasattr(ledger, "store"):
            raise InvalidParameter("key needs ledger=gv.Ledger(...): the release is stored there.")
        self._ledger, self._dataset, self._options = ledger, dataset or "", options
        self._request = None if key is None else Request(key, self._dataset, options)
        self._charged: ReleaseEvent | None = None

    def stored(self) -> Release | GroupedRelease | None:
        """The release already stored under the key."""
        if self._ledger is None or self._request is None:
            return None
        found = self._ledger.stored(self._request)
        if found is not None:
            _LOG.info("key %r: release %s comes from the ledger, nothing is charged", self._request.key, found.checksum)
        return found

    def check_affordable(self) -> None:
        """Let a ledger that can say so refuse before any row is read; what counts is its answer to the charge."""
        options, check_affordable = self._options, getattr(self._ledger, "check_affordable", None)
        if check_affordable is None or options.mechanism == "paper" or options.random_state is not None:
            return
        from graphveil.privacy.calibration import analytic_mu, grid_eta_budget

        expected = ReleaseEvent(
            budget=options.budget,
            mu=analytic_mu(options.budget),
            eta=grid_eta_budget(options.budget),
            mechanism="default",
            rounds="one",
            n_samples=None if options.domain.hides_count else 1,
            rows_per_person=options.domain.rows_per_person,
            neighbours=options.domain.neighbours,
            seeded=False,
            by_person=options.domain.person is not None,
        )
        check_affordable(self._dataset, expected)

    def charge(self, event: ReleaseEvent) -> None:
        """Count the whole event, durably, or raise.

        Guarantee
        ---------
        An event that does not keep its budget is refused. Proof: ``privacy/proofs/spending.md`` (theorem 11).
        """
        _warn_of_large_delta(event)
        unproven = self._options.allow_unproven and event.mechanism == "paper"
        if not event.seeded and not event.keeps_budget and not unproven:
            raise GuaranteeError("The noise does not keep the budget; nothing is released.")
        if self._ledger is not None:
            self._ledger.charge(self._dataset, event, *([] if self._request is None else [self._request]))
        self._charged = event
        where = f"dataset {self._dataset!r}" if self._ledger is not None else "no ledger"
        _LOG.info("charged to %s: %s", where, event.sentence)

    @property
    def has_charged(self) -> bool:
        """Whether the event is counted already."""
        return self._charged is not None

    def charged(self) -> ReleaseEvent:
        """The charge; it is an error to ask for it before it was made."""
        if self._charged is None:
            raise GuaranteeError("Nothing was charged; nothing is released.")
        return self._charged

    def allowance(self, collisions: float) -> tuple[float, float]:
        """The μ and the η that the release may use, where so much of η is for people who are taken for one."""
        from graphveil.privacy.calibration import analytic_mu, grid_eta_budget

        return analytic_mu(self._options.budget), grid_eta_budget(self._options.budget, collisions)

    def open_groups(self, counts: list[int] | None, groups_per_person: int) -> "list[GroupAccount]":
        """An account for each group; together they are charged what a person in the most groups costs.

        ``counts`` are those of the groups, None where they are secret.

        Guarantee
        ---------
        Proof: ``privacy/proofs/groups.md``.
        """
        from graphveil.privacy.calibration import allowed_collisions

        options, by_person = self._options, self._options.domain.person is not None
        assert options.by is not None
        if counts is not None and 0 in counts:
            level = options.by.levels[counts.index(0)]
            raise SourceError(f"There is no record with {options.by.column} = {level}: declare levels that exist.")
        n = None if counts is None else sum(counts)
        collisions = groups_per_person * allowed_collisions(options.budget, n) if by_person else 0.0
        mu, eta = self.allowance(collisions)
        whole = GroupedEvent(
            budget=options.budget,
            mu=mu,
            eta=eta,
            mechanism=options.mechanism,
            rounds="adaptive" if options.adaptive else "one",
            n_samples=n,
            rows_per_person=options.domain.rows_per_person,
            neighbours=options.domain.neighbours,
            seeded=options.random_state is not None,
            by_person=by_person,
            grouping=options.by,
            counts=None if counts is None else tuple(counts),
            groups_per_person=groups_per_person,
        )
        return [GroupAccount(self, whole, level) for level in options.by.levels]

    def check_covers(self, steps: list[GaussianStep]) -> None:
        """Refuse unless Σ μ² and Σ η of these steps stay within what was charged, in exact arithmetic.

        Guarantee
        ---------
        Proof: ``privacy/proofs/composition.md``.
        """
        if not self.charged().covers(steps):
            raise GuaranteeError("The rounds would cost more than was charged; nothing is released.")

    def store(self, release: Release | GroupedRelease) -> None:
        """Keep a release under its key. What was paid for is not thrown away because it cannot be kept twice."""
        _LOG.info("released %s", release.checksum)
        if self._ledger is None or self._request is None:
            return
        try:
            self._ledger.store(self._request, release)
        except LedgerError as error:
            warn_caller(
                f"This release was charged and made, but could not be stored under key {self._request.key!r}: save "
                f"it now, because the ledger cannot return it. {error}",
                LedgerWarning,
            )

    def source_error(self, failure: SourceError) -> SourceError:
        """A failure of the source, and its cost if it came after the charge."""
        if self._charged is None:
            return type(failure)(str(failure))
        spent = "" if self._request is None else f" Key {self._request.key!r} is spent with it: choose a new key."
        charged = "" if self._ledger is None else f" The release had already been charged and stays charged.{spent}"
        return SourceError(f"{failure}{charged}")


class GroupAccount:
    """The account of one group of a table: the first group to draw charges all of them, each is held to its own event.

    Parameters
    ----------
    account : Account
        Of the whole table.
    whole : GroupedEvent
        What all groups are charged together.
    level : str, int or bool
        Which group this is.

    Guarantee
    ---------
    Nothing is drawn before the whole is charged, and no group costs its people more than that. Proof:
    ``privacy/proofs/groups.md``.
    """

    def __init__(self, account: "Account", whole: GroupedEvent, level: Level) -> None:
        self._account, self.whole, self._group = account, whole, (whole.grouping.column, level)
        self._own: GroupEvent | None = None

    def charge(self, event: ReleaseEvent) -> None:
        """Charge the whole, unless another group has."""
        if not self.whole.allows(event):
            raise GuaranteeError("A group would cost more than all were charged; nothing is released.")
        if not self._account.has_charged:
            self._account.charge(self.whole)
        self._own = GroupEvent.of(event, self._group, self.whole.groups_per_person)

    def allowance(self, collisions: float) -> tuple[float, float]:
        """The group's share of the whole."""
        return self.whole.share

    def charged(self) -> GroupEvent:
        """What the group is held to; it is an error to ask before."""
        if self._own is None:
            raise GuaranteeError("Nothing was charged; nothing is released.")
        return self._own

    def check_covers(self, steps: list[GaussianStep]) -> None:
        """Refuse what would cost the group more than its event."""
        if not self.charged().covers(steps):
            raise GuaranteeError("The rounds would cost more than was charged; nothing is released.")


def _warn_of_large_delta(event: ReleaseEvent) -> None:
    n, delta = event.n_samples, event.budget.delta
    if isinstance(event, GroupedEvent) and event.counts is not None:
        n = min(event.counts)
    if n is not None and allows_a_record(delta, n):  # where it is secret, whether there is a warning would tell
        warn_caller(
            f"delta={format_exact(delta)} is at least 1/n for n={n} records: a mechanism that publishes one record at "
            "random would satisfy it. Choose delta well below 1/n.",
            PrivacyWarning,
        )
