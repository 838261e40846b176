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
from typing import TYPE_CHECKING, Any

from graphveil._memory import check_memory
from graphveil.exceptions import (
    GuaranteeError,
    PrivacyWarning,
    SourceError,
    warn_caller,
)
from graphveil.ledger.account import Account, LedgerLike
from graphveil.released.answers import Answer
from graphveil.released.release import Release
from graphveil.spec.augmentation import Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, ReleaseEvent
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.queries import Moments, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.privacy.noise import NoiseSource
    from graphveil.rows.sources import RowSource
    from graphveil.rows.statistic import Statistic
    from graphveil.rows.streaming import StreamedMoments

__all__ = ["release"]

_MOST_STEPS = 32  # noisy vectors in one release; each may use this part of the lattice's allowance


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
        function that starts an iteration over them (see *Data sources* in the documentation). With
        :class:`~graphveil.Labels` without a column: a pair ``(rows, labels)``.
    domain : Domain
        What a row can be, from public knowledge.
    budget : Budget
        The guarantee to provide.
    assume_centered : bool, default False
        Assume rows with mean zero, and release no mean. Bounds then scale rows without shifting them, and must contain
        zero.
    adaptive : bool, default True
        Spend the budget in several rounds of one event: later rounds centre, whiten and clip the rows as earlier
        answers suggest. This reads the rows about eight times, and is far more accurate if there are enough rows. If
        False, release one noisy second moment.
    labels : Labels, optional
        Release class counts and class means too, in one round (``adaptive=False``).
    mechanism : {"default", "paper"}
        "paper" is the noise of the paper's Algorithm 1 exactly as printed, for comparison: more noise for the same
        guarantee.
    allow_unproven : bool, default False
        Let ``mechanism="paper"`` run at ε > 1, where its calibration has no proof; the exact guarantee is charged.
    ledger, dataset : Ledger and str, optional
        Where the release is charged, before noise is drawn, and under which name: :class:`~graphveil.Ledger`, or any
        object with a method ``charge(dataset, event)``.
    key : str, optional
        A name for this release in the ledger. Called again with the same key and parameters, it returns the stored
        release, reads nothing and charges nothing, so an interrupted script can be run again. Other parameters are an
        error; other rows are not noticed, since nothing about them is kept. If a release was charged and lost, its key
        stays spent.
    progress : callable, optional
        Called with the number of rows read so far; starts again with every pass over the rows. Engines (Dask, Spark)
        report when a pass is complete. Do not publish these numbers: they reveal how long the records of a file are.
    random_state : int, optional
        None draws from the operating system's entropy. An int is for simulation only: the result is marked as seeded
        and not private, and charged as μ = ∞.

    Returns
    -------
    Release

    Guarantee
    ---------
    Unless seeded, the result is (ε, δ)-differentially private against replacing all rows of one person, in exact
    integer arithmetic, with n public. No message, warning or repr contains a number computed from rows before noise.

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
    if domain.n_features is not None:
        check_memory(domain.n_features)
    account = Account(ledger, dataset, key, options)
    found = account.stored()
    if found is not None:
        return found
    account.check_affordable()

    from graphveil.privacy.noise import noise_source  # heavy modules load after the cheap refusals

    noise, versions = noise_source(options.random_state), dict(_versions())
    source, domain = _open(source, options)
    check_memory(source.n_features)
    if assume_centered:
        domain.check_contains_zero()

    def charge(event: ReleaseEvent) -> None:
        _check_event(event, allow_unproven)
        account.charge(event)

    gate = _Gate(source, domain, options, noise, charge, progress)
    failure = None
    try:
        if domain.wants_private_norm:
            domain = gate.find_norm()
        if adaptive:
            gate.ask_adaptively()
        elif mechanism == "paper":
            gate.ask_paper()
        else:
            gate.ask([(Moments(domain.radius), 1.0)])
    except SourceError as error:
        failure = str(error)
    if failure is not None:  # raised here, outside of the except block, so that no context comes along
        raise SourceError(failure) if gate.event is None else account.lost(failure)
    assert gate.event is not None
    made = Release(gate.event, domain, options.augment, tuple(gate.answers), versions)
    account.store(made)
    return made


def _open(source: Any, options: ReleaseOptions) -> "tuple[RowSource | StreamedMoments, Domain]":
    """The source, with its schema checked, and the domain that has its columns."""
    from graphveil.engines import open_engine
    from graphveil.rows.sources import open_source
    from graphveil.rows.streaming import StreamedMoments

    domain, augment = options.domain, options.augment
    if isinstance(source, StreamedMoments):
        source.check_asked(domain, augment, adaptive=options.adaptive)
        return source, source.domain
    opened = open_engine(source, domain, augment) or open_source(source, domain, augment)
    return opened, domain.resolve(opened.columns, opened.n_features)


class _Gate:
    """Asks the evaluator, adds noise, and keeps count. Lives for one call of :func:`release`."""

    def __init__(
        self,
        source: "RowSource | StreamedMoments",
        domain: Domain,
        options: ReleaseOptions,
        noise: "NoiseSource",
        charge: Callable[[ReleaseEvent], None],
        progress: Callable[[int], None] | None,
    ) -> None:
        from graphveil.privacy.calibration import analytic_mu, grid_eta_budget
        from graphveil.privacy.mechanisms import check_room
        from graphveil.rows.evaluator import Evaluator

        self.answers: list[Answer] = []
        self.event: ReleaseEvent | None = None  # from the charge on
        self.mu, self._eta = analytic_mu(options.budget), grid_eta_budget(options.budget)
        self._domain, self._options, self._noise, self._charge = domain, options, noise, charge
        self._evaluator = Evaluator(source, domain, options.augment, adaptive=options.adaptive, progress=progress)
        self._whole = (self.mu, self._eta) if options.adaptive or domain.wants_private_norm else None
        if self._whole is not None:
            room = self._eta / _MOST_STEPS
            check_room(source.n_features, cells=domain.bounds is not None, mu=self.mu, allowed_eta=room)

    def find_norm(self) -> Domain:
        """Spend a little on a bound of the rows' norm; return the domain that has it."""
        from graphveil.recovery.private_norm import check_enough_rows, mu_after_norm, norm_rounds
        from graphveil.recovery.protocol import run_protocol

        check_enough_rows(self._evaluator.count(), self.mu, self._domain.rows_per_person)
        self._domain = replace(self._domain, data_norm=run_protocol(norm_rounds(), self.ask))
        self._evaluator.use(self._domain)
        self.mu = mu_after_norm(self.mu)
        return self._domain

    def ask_adaptively(self) -> None:
        """Follow the recipe: it is sent noisy answers, and yields the next questions."""
        from graphveil.recovery.adaptive_protocol import adaptive_rounds
        from graphveil.recovery.protocol import ProtocolInputs, run_protocol

        with self._evaluator.cached():
            space, n, domain = self._evaluator.space, self._evaluator.count(), self._domain
            facts = (space.n_features, n, space.known_lattice, domain.radius, self.mu, domain.rows_per_person)
            run_protocol(adaptive_rounds(ProtocolInputs(*facts, centred=self._options.assume_centered)), self.ask)

    def ask(self, asked: list[tuple[Query, float]]) -> list[Answer]:
        """Answer questions, each with a share of μ², in one pass over the rows."""
        from graphveil.privacy.mechanisms import step_for

        space, person, eta = self._evaluator.space, self._domain.rows_per_person, self._eta / _MOST_STEPS
        steps = [step_for(query, space, person, self.mu * math.sqrt(share), eta) for query, share in asked]
        return self._answer([query for query, _ in asked], steps, "default")

    def ask_paper(self) -> None:
        """The paper's Algorithm 1."""
        from graphveil.privacy.mechanisms import paper_step

        query, person, options = Moments(self._domain.radius), self._domain.rows_per_person, self._options
        space, allow = self._evaluator.space, options.allow_unproven
        step = paper_step(query, space, person, options.budget, allow_unproven=allow)
        self._answer([query], [step], "paper")

    def _answer(self, queries: list[Query], steps: list[GaussianStep], mechanism: str) -> list[Answer]:
        statistics = self._evaluator.evaluate(queries)
        if not self.answers:
            self._charge_once(steps[0], mechanism)
        self._check_spending(steps)
        answers = [self._add_noise(*each) for each in zip(queries, steps, statistics, strict=True)]
        self.answers += answers
        return answers

    def _charge_once(self, first: GaussianStep, mechanism: str) -> None:
        mu, eta = self._whole or (first.mu, first.eta)
        budget, rounds = self._options.budget, "adaptive" if self._options.adaptive else "one"
        person, neighbours = self._domain.rows_per_person, self._domain.neighbours
        self.event = ReleaseEvent(
            budget,
            mu,
            eta,
            mechanism,
            rounds,
            self._evaluator.count(),
            person,
            neighbours,
            seeded=self._noise.seeded,
        )
        self._charge(self.event)

    def _check_spending(self, coming: list[GaussianStep]) -> None:
        """Σ μ² and Σ η of what was drawn and what comes now stay within what was charged, in exact arithmetic."""
        assert self.event is not None
        if not self.event.covers([answer.step for answer in self.answers] + coming):
            raise GuaranteeError("The rounds would cost more than was charged; nothing is released.")

    def _add_noise(self, query: Query, step: GaussianStep, statistic: "Statistic") -> Answer:
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
        return Answer(query, step, factor, values)


def _on_lattice(exact: "NDArray[Any]", exponent: int) -> "NDArray[Any]":
    """Integers in multiples of 2^exponent, rounded down where they are not multiples."""
    return exact << -exponent if exponent <= 0 else exact >> exponent


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

    from graphveil.recovery.parameters import PROTOCOL

    return {name: version(name) for name in ("graphveil", "numpy", "numba")} | {"recipe": PROTOCOL.version}
