"""The gate: the only place where records meet noise.

Order of events, which is the guarantee's (``privacy/proofs/spending.md``, theorem 11):

1. check every parameter and the schema;
2. read, clip and sum the rows, exactly;
3. charge the whole event to the ledger, durably;
4. draw the noise, add it to the exact integers, and only then make floats;
5. with several rounds, ask the next question, which depends on earlier answers alone, and go on at 2 and 4
   (``privacy/proofs/composition.md``);
6. with a key, store the release under it, so that the same request gets it again (``privacy/proofs/ledger.md``).

Up to 3 a failure or an interruption spends nothing and shows nothing; from 3 on everything stays spent.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from graphveil.exceptions import (
    GuaranteeError,
    InvalidParameter,
    LedgerError,
    LedgerWarning,
    PrivacyWarning,
    SourceError,
    warn_caller,
)
from graphveil.spec.augment import Augment, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, ReleaseEvent
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.queries import Moments, Query
from graphveil.spec.released import Release
from graphveil.spec.request import Request
from graphveil.spec.rounds import Round

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.privacy.randomness import NoiseSource
    from graphveil.rows.blocks import Blocks
    from graphveil.rows.collection import Collection
    from graphveil.rows.evaluator import Evaluator
    from graphveil.rows.unreleased import Statistic

__all__ = ["LedgerLike", "collect", "column_kinds", "labelled_rows", "release"]

_MOST_STEPS = 32  # noisy vectors in one release; each may use this part of the lattice's allowance


class LedgerLike(Protocol):
    """What the gate asks of a ledger, :class:`graphveil.Ledger` or another; without keys ``charge`` is enough."""

    def charge(self, dataset: str, event: ReleaseEvent, request: Request | None = None) -> None:
        """Count ``event`` against ``dataset`` durably, or raise; noise is drawn after this returns."""
        ...

    def stored(self, request: Request) -> Release | None:
        """The release under the request's key, None for a new key; raise if it is another request's, or was lost."""
        ...

    def store(self, request: Request, release: Release) -> None:
        """Keep ``release`` under the key that was charged."""
        ...


def release(
    source: Any,
    *,
    domain: Domain,
    budget: Budget,
    assume_centered: bool = False,
    adaptive: bool = True,
    labels: Labels | None = None,
    mechanism: str = "default",
    allow_unproven: bool = False,
    ledger: LedgerLike | None = None,
    dataset: str | None = None,
    key: str | None = None,
    progress: Callable[[int], None] | None = None,
    random_state: int | None = None,
) -> Release:
    """Publish the second moment of records under differential privacy.

    Parameters
    ----------
    source : array, data frame, path, or collection of batches
        The records, one row each: a numpy array; a frame of pandas, polars, pyarrow, DuckDB, Dask or Spark; the path of
        Parquet, CSV or Arrow files, a list of paths, a directory, a pattern or a URI; a list of arrays or frames, or a
        function that starts an iteration over them (``docs/sources.md``). With :class:`~graphveil.Labels` without a
        column: a pair ``(rows, labels)``.
    domain : Domain
        What is assumed of a row, from public knowledge.
    budget : Budget
        The guarantee to keep.
    assume_centered : bool, default False
        Take the rows to have mean zero, and do not release a mean: bounds then scale rows without shifting them, and
        must contain zero.
    adaptive : bool, default True
        Spend the budget in several rounds of one event, of which later ones centre, whiten and clip the rows as earlier
        answers suggest. It reads the rows about eight times and is far more accurate once there are enough rows. False:
        one noisy second moment.
    labels : Labels, optional
        Release class counts and class means too, in one round (``adaptive=False``).
    mechanism : {"default", "paper"}
        "paper" is Algorithm 1's noise exactly as printed, for comparison: more noise for the same guarantee.
    allow_unproven : bool, default False
        Let ``mechanism="paper"`` run at ε > 1, where its calibration has no proof; the exact guarantee is charged.
    ledger, dataset : Ledger and str, optional
        Where the release is charged before noise is drawn, and under which name: :class:`~graphveil.Ledger`, or any
        object with a method ``charge(dataset, event)``.
    key : str, optional
        A name for this one release in the ledger. Asked again with the same parameters, the stored release comes back,
        nothing is read and nothing is charged: a script that was interrupted can be run again. With other parameters
        it is an error; other rows are not noticed, since nothing about them is kept. A key that was charged and whose
        release was lost stays spent.
    progress : callable, optional
        Called with the number of rows read so far; starts again with every pass over the rows. Engines (Dask, Spark)
        report when a pass is complete. Not to be published: it tells how long the records of a file are.
    random_state : int, optional
        None draws from the operating system's entropy. An int is for simulation only: the result is marked as seeded
        and not private, and charged as μ = ∞.

    Returns
    -------
    Release

    Guarantee
    ---------
    Unless seeded, the result is (ε, δ)-differentially private against replacing all rows of one person, in exact
    integer arithmetic, with n public. No message, warning or repr holds a number computed from rows before noise.

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
    options = ReleaseOptions(domain, budget, assume_centered, adaptive, labels, mechanism, allow_unproven, random_state)
    if (ledger is None) != (dataset is None):
        raise InvalidParameter("ledger and dataset go together: a charge needs to know which data it is for.")
    if ledger is not None and not hasattr(ledger, "charge"):
        raise InvalidParameter.of("ledger", "a gv.Ledger", ledger)
    request = None
    if key is not None:
        if ledger is None or dataset is None or not hasattr(ledger, "store"):
            raise InvalidParameter("key needs ledger=gv.Ledger(...): that is where the release is kept.")
        request = Request(key, dataset, options)
        found = ledger.stored(request)
        if found is not None:
            return found

    if ledger is not None and dataset is not None and mechanism == "default" and random_state is None:
        _foresee(ledger, dataset, budget, domain.rows_per_person)

    # Heavy modules load here, after the cheap refusals.
    from graphveil.engines import open_engine
    from graphveil.privacy.randomness import noise_source
    from graphveil.rows.blocks import open_source
    from graphveil.rows.collection import Collection
    from graphveil.rows.evaluator import Evaluator

    noise, versions, augment = noise_source(options.random_state), dict(_versions()), options.augment
    blocks: Blocks | Collection
    if isinstance(source, Collection):
        _check_collected(source, domain, augment, adaptive=adaptive)
        blocks, domain = source, source.domain
    else:
        elsewhere = open_engine(source, domain, augment)
        blocks = open_source(source, domain, augment) if elsewhere is None else elsewhere
        domain = domain.matched_to(blocks.columns, blocks.n_features)

    def charge(event: ReleaseEvent) -> None:
        _check_event(event, allow_unproven)
        if ledger is not None and dataset is not None:
            ledger.charge(dataset, event, *([] if request is None else [request]))

    if assume_centered:
        _check_centred(domain)
    evaluator = Evaluator(blocks, domain, augment, adaptive=adaptive, progress=progress)
    gate = _Gate(evaluator, domain, budget, noise, charge, adaptive=adaptive)
    lost = None
    try:
        if domain.seeks_norm:
            domain = gate.find_norm()
        if adaptive:
            gate.ask_adaptively(centred=assume_centered)
        elif mechanism == "paper":
            gate.ask_paper(allow_unproven=allow_unproven)
        else:
            gate.ask([(Moments(domain.radius), 1.0)])
    except SourceError as error:
        if ledger is None or gate.event is None:
            raise
        lost = str(error)
    if lost is not None:
        spent = "" if key is None else f" Key {key!r} is spent with it: choose another."
        raise SourceError(f"{lost} By then the release had been charged, and stays so.{spent}")
    assert gate.event is not None
    made = Release(gate.event, domain, augment, tuple(gate.rounds), versions)
    if ledger is not None and request is not None:
        _store(ledger, request, made)
    return made


def column_kinds(source: str) -> dict[str, bool]:
    """Columns of the first of some files, and whether each can hold numbers: from the schema, without a record."""
    from graphveil.rows.files import column_kinds

    return column_kinds(source)


def collect(domain: Domain, augment: Augment) -> "Collection":
    """An empty collection of rows to release later: batches are added with ``add``, and nothing is spent."""
    from graphveil.rows.collection import Collection

    return Collection(domain, augment)


def labelled_rows(source: Any, domain: Domain, labels: Labels) -> "tuple[Blocks, Domain]":
    """Rows with an indicator column for each class but the last, and the domain of all columns together.

    What comes back is a source for :func:`release`. The domain must have bounds.
    """
    from graphveil.rows.blocks import open_source
    from graphveil.rows.indicators import WithIndicators

    blocks = open_source(source, domain, labels)
    domain = domain.matched_to(blocks.columns, blocks.n_features)
    wide = WithIndicators(blocks, labels.classes)
    extra = wide.n_features - blocks.n_features
    bounds = tuple(
        [*(end if isinstance(end, tuple) else (end,) * blocks.n_features), *[value] * extra]
        for end, value in zip(domain.bounds, (0.0, 1.0), strict=True)
    )
    return wide, replace(domain, columns=wide.columns, n_features=wide.n_features, bounds=bounds)


def _check_collected(collection: "Collection", domain: Domain, augment: Augment, *, adaptive: bool) -> None:
    """Collected sums answer one question, and only about the rows that they were made of."""
    if adaptive:
        raise InvalidParameter.of("adaptive", "False for rows that were collected batch by batch", True)
    if collection.count() == 0:
        raise SourceError("The source has no rows.")
    same = domain.matched_to(collection.domain.columns, collection.n_features) == collection.domain
    if not same or augment != collection.augment:
        raise InvalidParameter("The domain or the mean setting has changed since the rows were collected.")


def _check_centred(domain: Domain) -> None:
    """Rows that are taken to have mean zero must be able to: their bounds contain zero."""
    if domain.bounds is None:
        return
    _, half, ends = domain.box(shift=False)
    for column in range(half.size):
        if ends[0, column] > 0.0 or ends[1, column] < 0.0:
            name = repr(domain.columns[column]) if domain.columns is not None else str(column)
            raise InvalidParameter(
                f"The bounds of column {name} do not contain 0, but assume_centered=True takes rows to have mean "
                "zero. Leave it out, and the mean is released too; or subtract a public centre from the column."
            )


class _Gate:
    """Asks the evaluator, adds noise, and keeps count. Lives for one call of :func:`release`."""

    def __init__(
        self,
        evaluator: "Evaluator",
        domain: Domain,
        budget: Budget,
        noise: "NoiseSource",
        charge: Callable[[ReleaseEvent], None],
        *,
        adaptive: bool,
    ) -> None:
        from graphveil.privacy.calibration import analytic_mu, lattice_allowance
        from graphveil.privacy.mechanisms import check_room

        self.rounds: list[Round] = []
        self.event: ReleaseEvent | None = None  # from the charge on
        self.mu, self._eta = analytic_mu(budget), lattice_allowance(budget)
        self._evaluator, self._domain, self._budget, self._noise = evaluator, domain, budget, noise
        self._charge, self._adaptive = charge, adaptive
        self._whole = (self.mu, self._eta) if adaptive or domain.seeks_norm else None
        if self._whole is not None:
            room = self._eta / _MOST_STEPS
            check_room(evaluator.space.n_features, cells=domain.bounds is not None, mu=self.mu, allowed_eta=room)

    def find_norm(self) -> Domain:
        """Spend a little on a bound of the rows' norm; return the domain that has it."""
        from graphveil.recovery.norm import check_enough_rows, mu_after_norm, norm_rounds
        from graphveil.recovery.recipe import follow

        check_enough_rows(self._evaluator.count(), self.mu, self._domain.rows_per_person)
        self._domain = replace(self._domain, data_norm=follow(norm_rounds(), self.ask))
        self._evaluator.use(self._domain)
        self.mu = mu_after_norm(self.mu)
        return self._domain

    def ask_adaptively(self, *, centred: bool) -> None:
        """Follow the recipe: it is sent noisy answers, and yields the next questions."""
        from graphveil.recovery.columns import Setting
        from graphveil.recovery.recipe import adaptive_rounds, follow

        with self._evaluator.kept():
            space, n, domain = self._evaluator.space, self._evaluator.count(), self._domain
            facts = (space.n_features, n, space.known_lattice, domain.radius, self.mu, domain.rows_per_person)
            follow(adaptive_rounds(Setting(*facts, centred=centred)), self.ask)

    def ask(self, asked: list[tuple[Query, float]]) -> list[Round]:
        """Answer questions, each with a share of μ², in one pass over the rows."""
        from graphveil.privacy.mechanisms import step_for

        space, person, eta = self._evaluator.space, self._domain.rows_per_person, self._eta / _MOST_STEPS
        steps = [step_for(query, space, person, self.mu * math.sqrt(share), eta) for query, share in asked]
        return self._answer([query for query, _ in asked], steps, "default")

    def ask_paper(self, *, allow_unproven: bool) -> None:
        """The paper's Algorithm 1."""
        from graphveil.privacy.mechanisms import paper_step

        query, person = Moments(self._domain.radius), self._domain.rows_per_person
        step = paper_step(query, self._evaluator.space, person, self._budget, allow_unproven=allow_unproven)
        self._answer([query], [step], "paper")

    def _answer(self, queries: list[Query], steps: list[GaussianStep], mechanism: str) -> list[Round]:
        statistics = self._evaluator.evaluate(queries)
        if not self.rounds:
            self._charge_once(steps[0], mechanism)
        self._check_spending(steps)
        answers = [self._add_noise(*each) for each in zip(queries, steps, statistics, strict=True)]
        self.rounds += answers
        return answers

    def _charge_once(self, first: GaussianStep, mechanism: str) -> None:
        mu, eta = self._whole or (first.mu, first.eta)
        rounds, n_rows = "adaptive" if self._adaptive else "one", self._evaluator.count()
        person, neighbours = self._domain.rows_per_person, self._domain.neighbours
        self.event = ReleaseEvent(
            self._budget, mu, eta, mechanism, rounds, n_rows, person, neighbours, seeded=self._noise.seeded
        )
        self._charge(self.event)

    def _check_spending(self, coming: list[GaussianStep]) -> None:
        """Σ μ² and Σ η of what was drawn and what comes now stay within what was charged, in exact arithmetic."""
        assert self.event is not None
        if not self.event.covers([a_round.step for a_round in self.rounds] + coming):
            raise GuaranteeError("The rounds would cost more than was charged; nothing is released.")

    def _add_noise(self, query: Query, step: GaussianStep, statistic: "Statistic") -> Round:
        """Add noise to exact integers; floats are made from the noisy ones only."""
        from graphveil.privacy.mechanisms import draw_noise

        # Drawn first: should the sampler fail, no exact number stands in a variable that a reporter could print.
        drawn = draw_noise(step, self._noise)
        exact = statistic.answer(query)
        factor = query.unit_factor(self._evaluator.space, self._evaluator.count())
        values = {}
        try:
            for group in step.groups:
                noisy = _on_lattice(exact[group.name], step.lattice) + drawn[group.name].astype(object)
                values[group.name] = noisy.astype(float) * 2.0**step.lattice * factor
        finally:
            exact.clear()  # nor after an interruption here
        return Round(query, step, factor, values)


def _on_lattice(exact: "NDArray[Any]", exponent: int) -> "NDArray[Any]":
    """Integers in multiples of 2^exponent, rounded down where they are not multiples."""
    return exact << -exponent if exponent <= 0 else exact >> exponent


def _foresee(ledger: LedgerLike, dataset: str, budget: Budget, rows_per_person: int) -> None:
    """Let a ledger that can say so refuse before any row is read; what counts is its answer to the charge."""
    from graphveil.privacy.calibration import analytic_mu, lattice_allowance

    if hasattr(ledger, "foresee"):
        mu, eta = analytic_mu(budget), lattice_allowance(budget)
        expected = ReleaseEvent(budget, mu, eta, "default", "one", 1, rows_per_person, "replace", seeded=False)
        ledger.foresee(dataset, expected)


def _store(ledger: LedgerLike, request: Request, made: Release) -> None:
    """Keep a release under its key. What was paid for is not thrown away because it cannot be kept twice."""
    try:
        ledger.store(request, made)
    except LedgerError as error:
        warn_caller(
            f"This release was charged and made, but could not be stored under key {request.key!r}: save it now, the "
            f"ledger will not give it again. {error}",
            LedgerWarning,
        )


def _check_event(event: ReleaseEvent, allow_unproven: bool) -> None:
    n, delta = event.n_samples, event.budget.delta
    if delta >= 1.0 / n:
        warn_caller(
            f"delta={delta:g} is at least 1/n for n={n} records: a mechanism that publishes one record at random would "
            "satisfy it. Choose delta well below 1/n.",
            PrivacyWarning,
        )
    unproven = allow_unproven and event.mechanism == "paper"
    if not event.seeded and not event.keeps_budget and not unproven:
        raise GuaranteeError("The noise does not keep the budget; nothing is released.")


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("graphveil", "numpy", "numba")}
