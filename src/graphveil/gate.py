"""The gate: the only place where records meet noise.

Order of events, on which the guarantee rests (``privacy/proofs/spending.md``, theorem 11):

1. validate every parameter and the schema;
2. evaluate: read, clip and sum the rows, exactly;
3. charge the whole event to the ledger, durably;
4. add noise to the exact integers, and only then make floats;
5. with several rounds, answer the next queries, which depend on earlier answers alone: 2 and 4 again
   (``privacy/proofs/composition.md``);
6. with a key, store the release under it, so that the same request gets it again (``privacy/proofs/ledger.md``).

Up to 3 a failure or an interruption spends nothing; from 3 on everything stays spent. It shows nothing, whenever it
comes: what reads or sums rows or draws noise is behind a door that no frame of a traceback passes
(:func:`graphveil.rows.sanitized_errors.leave_no_frames`).
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

from graphveil._memory import check_memory
from graphveil.exceptions import SourceError
from graphveil.ledger.account import Account, GroupAccount, LedgerLike
from graphveil.released.answers import Answer, released_count, unit_factor
from graphveil.released.grouped import GroupedRelease
from graphveil.released.release import Release
from graphveil.rows.sanitized_errors import leave_no_frames
from graphveil.spec.augmentation import Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.queries import Query

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from graphveil.privacy.noise import NoiseSource
    from graphveil.rows.sources import RowSource
    from graphveil.rows.statistic import Statistic
    from graphveil.rows.streaming import StreamedMoments
    from graphveil.spec.options import By, ReleaseKeywords
    from graphveil.spec.row_space import RowSpace

    Rows = RowSource | StreamedMoments

__all__ = ["release"]


@overload
def release(
    source: Any, *, domain: Domain, budget: Budget, by: None = None, **options: "Unpack[ReleaseKeywords]"
) -> Release: ...
@overload
def release(
    source: Any, *, domain: Domain, budget: Budget, by: "By", **options: "Unpack[ReleaseKeywords]"
) -> GroupedRelease: ...
def release(
    source: Any,
    *,
    domain: Domain,
    budget: Budget,
    assume_centered: bool = False,
    adaptive: bool = True,
    labels: Labels | None = None,
    person: Any = None,
    weight: Any = None,
    by: "By | None" = None,
    mechanism: str = "default",
    allow_unproven: bool = False,
    ledger: LedgerLike | None = None,
    dataset: str | None = None,
    key: str | None = None,
    progress: Callable[[int], None] | None = None,
    random_state: int | None = None,
) -> Release | GroupedRelease:
    """Publish the second moment of records under differential privacy.

    Parameters
    ----------
    source : array, data frame, path, or collection of batches
        The records, one row each: a numpy array; a frame of pandas, polars, pyarrow, DuckDB, Dask or Spark; the path of
        Parquet, CSV or Arrow files, a list of paths, a directory, a pattern or a URI; a list of arrays or frames, or a
        function that starts an iteration over them (see *Data sources* in the documentation). With
        :class:`~graphveil.Labels` without a column: a pair ``(rows, labels)``.
    domain, budget : Domain and Budget
        Public facts about the rows, and the guarantee to provide.
    assume_centered : bool, default False
        Assume rows with mean zero, and release no mean. Bounds must contain zero, and scale rows without shifting them.
    adaptive : bool, default True
        Spend the budget in several rounds, of which later ones centre, whiten and clip rows as earlier answers suggest:
        far more accurate, in about eight passes over the rows. If False, release one noisy second moment.
    labels : Labels, optional
        Release class counts and class means too, in one round (``adaptive=False``).
    person, weight : arrays or series, optional
        The id of the person of each row, and its survey weight, if the source has no columns for them; otherwise
        ``Domain`` names the columns. The largest weight is part of the domain in any case.
    by : str or mapping, optional
        Release each group separately, for one charge: the name of a :class:`~graphveil.Category` of the domain, or a
        column and its declared levels, ``{"arm": ["A", "B"]}``; with an array, the source is a pair ``(rows, levels)``.
        Rows with other levels are not used. Group membership is public, unless ``neighbours="add-remove"`` keeps it
        secret.
    mechanism : {"default", "paper"}
        "paper" is the noise of the paper's Algorithm 1 as printed, for comparison: more, for the same guarantee.
    allow_unproven : bool, default False
        Let ``mechanism="paper"`` run at ε > 1, where its calibration has no proof; the exact guarantee is charged.
    ledger, dataset : Ledger and str, optional
        The ledger to which the release is charged, before noise is drawn, and the name of the account. A
        :class:`~graphveil.Ledger`, or any object with a method ``charge(dataset, event)``.
    key : str, optional
        A name for this release in the ledger. Called again with the same key and parameters, it returns the stored
        release, reads nothing and charges nothing. Other parameters are an error; other rows are not noticed, since
        nothing about them is kept. If a release was charged and lost, its key stays spent.
    progress : callable, optional
        Called with the number of rows read so far in each pass; engines (Dask, Spark) report complete passes. Do not
        publish these numbers: they reveal how long the records of a file are.
    random_state : int, optional
        None draws from the operating system's entropy. An int is for simulation only: the result is marked as seeded
        and not private, and charged as μ = ∞.

    Returns
    -------
    Release, or GroupedRelease with ``by``

    Guarantee
    ---------
    Unless seeded, the result is (ε, δ)-differentially private against replacing all rows of one person, in exact
    integer arithmetic, with n public; with ``neighbours="add-remove"``, against adding or removing one person. No
    message, warning, repr or frame of a traceback contains a number computed from rows before noise.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(5000, 3))
    >>> out = release(rows, domain=Domain(bounds=(-4, 4)), budget=Budget(1.0, 1e-6))
    >>> out.second_moment.shape
    (3, 3)
    >>> print(out.guarantee)
    (1, 1e-06)-differentially private against replacing one record; the number of records, 5000, is public.
    """
    options = ReleaseOptions.of(
        domain,
        person=person,
        weight=weight,
        by=by,
        budget=budget,
        assume_centered=assume_centered,
        adaptive=adaptive,
        labels=labels,
        mechanism=mechanism,
        allow_unproven=allow_unproven,
        random_state=random_state,
    )
    if options.domain.n_features is not None:
        check_memory(options.domain.n_features)
    account = Account(ledger, dataset, key, options)
    found = account.stored()
    if found is not None:
        return found
    account.check_affordable()

    from graphveil.engines import open_rows  # heavy modules load after the cheap refusals
    from graphveil.privacy.noise import noise_source
    from graphveil.protocol.parameters import software_versions
    from graphveil.strategies import Plan, Strategy

    noise, versions = noise_source(options.random_state), dict(software_versions())
    source, domain = open_rows(source, options, person, weight)
    with closing(source):
        check_memory(source.n_features)
        if assume_centered:
            domain.check_contains_zero()

        def ask(rows: "Rows", own: Account | GroupAccount) -> Release:
            gate = _Gate(rows, domain, options, own, noise, progress)
            Strategy(gate, options, Plan.of(options, domain, gate.count, own.allowance)).run()
            return Release(own.charged(), gate.domain, options.augment, tuple(gate.answers), versions)

        made = failure = None
        try:
            made = ask(source, account) if options.by is None else _ask_groups(source, options, domain, account, ask)
        except SourceError as error:
            failure = account.source_error(error)
        if failure is not None:  # raised here, outside of the except block, so that no context comes along
            raise failure
        assert made is not None
    account.store(made)
    return made


def _ask_groups(source: "Rows", options: ReleaseOptions, domain: Domain, account: Account, ask: Any) -> GroupedRelease:
    """One release of each group: all are counted, unless that is a secret, planned, charged once, and drawn in turn."""
    from graphveil.rows.groups import count_groups, split_groups
    from graphveil.strategies import Plan

    groups = split_groups(source, options)
    shares = account.open_groups(*count_groups(source, groups, options))
    for own, count in zip(shares, shares[0].whole.counts or [0] * len(shares), strict=True):
        Plan.of(options, domain, partial(int, count), own.allowance)
    return GroupedRelease(shares[0].whole, tuple(map(ask, groups, shares)))


class _Gate:
    """Answers the queries of one release: evaluates, charges once, adds noise. A strategy asks it."""

    def __init__(
        self,
        source: "Rows",
        domain: Domain,
        options: ReleaseOptions,
        account: Account | GroupAccount,
        noise: "NoiseSource",
        progress: Callable[[int], None] | None,
    ) -> None:
        from graphveil.rows.evaluator import Evaluator

        self.domain, self.answers = domain, list[Answer]()
        self._options, self._account, self._noise = options, account, noise
        self._evaluator = Evaluator(source, domain, options.augment, adaptive=options.adaptive, progress=progress)

    @property
    def space(self) -> "RowSpace":
        return self._evaluator.space

    def count(self) -> int:
        return released_count(self.answers)[0] if self.domain.hides_count else self._evaluator.count()

    def use(self, domain: Domain) -> None:
        self.domain = domain
        self._evaluator.use(domain)

    def cached(self) -> "AbstractContextManager[None]":
        return self._evaluator.cached()

    def answer(self, queries: list[Query], steps: list[GaussianStep]) -> list[Answer]:
        """Evaluate, charge if nothing was charged yet, check that the charge covers this too, add noise."""
        statistics = self._evaluator.evaluate(queries)
        if not self.answers:
            self._charge_once(steps[0])
        self._account.check_covers([answer.step for answer in self.answers] + steps)
        answers = [self._add_noise(*each) for each in zip(queries, steps, statistics, strict=True)]
        self.answers += answers
        return answers

    def _charge_once(self, first: GaussianStep) -> None:
        """Charge the whole release, before its first draw."""
        from graphveil.privacy.calibration import whole_release

        n = None if self.domain.hides_count else self.count()
        event = whole_release(
            self._options,
            self.domain,
            n_samples=n,
            allowance=self._account.allowance,
            first=first,
            seeded=self._noise.seeded,
        )
        self._account.charge(event)

    @leave_no_frames
    def _add_noise(self, query: Query, step: GaussianStep, statistic: "Statistic") -> Answer:
        """Add noise to exact integers; floats are made from the noisy ones only."""
        from graphveil.privacy.mechanisms import draw_noise, on_lattice

        drawn, exact = draw_noise(step, self._noise), statistic.answer(query)
        factor, values = unit_factor(query, self.space, self.answers, self.count), {}
        for group in step.groups:
            noisy = on_lattice(exact[group.name], step) + drawn[group.name].astype(object)
            values[group.name] = noisy.astype(float) * 2.0**step.lattice * factor
        return Answer(query, step, factor, values)
