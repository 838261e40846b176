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
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphveil.exceptions import (
    GuaranteeError,
    InvalidParameter,
    LedgerError,
    LedgerWarning,
    PrivacyWarning,
    SourceError,
    warn_caller,
)
from graphveil.spec import validate
from graphveil.spec.augment import Augment, Constant, Labels, checked_augment
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, NoiseGroup, ReleaseEvent
from graphveil.spec.lattice import CELL_LEVELS, MomentLayout, RowLattice
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, Excess, Moments, NormCounts, Query
from graphveil.spec.released import Release
from graphveil.spec.request import Request
from graphveil.spec.rounds import Round

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.privacy.randomness import NoiseSource
    from graphveil.rows.blocks import Blocks
    from graphveil.rows.clipping import Encoder, RawRows
    from graphveil.rows.collection import Collection
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
    rounds: Any = 1,
    augment: Any = None,
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
    rounds : 1 or "auto", default 1
        One noisy second moment; or several rounds in one event, of which later ones centre, whiten and clip the rows as
        earlier answers suggest. "auto" reads the rows about eight times and is far more accurate once there are enough
        rows; :func:`graphveil.recover` makes the most of either.
    augment : None, "mean", Constant or Labels
        "mean" releases the mean in the same event; :class:`~graphveil.Labels` class counts and class means (one round).
        With None rows are taken to have mean zero: bounds scale them and do not shift, and must contain zero.
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
        report when a pass is complete.
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
    if not isinstance(domain, Domain):
        raise InvalidParameter.of("domain", "a gv.Domain", type(domain).__name__)
    if not isinstance(budget, Budget):
        raise InvalidParameter.of("budget", "a gv.Budget", budget)
    augment = checked_augment(augment)
    validate.choice("mechanism", mechanism, ["default", "paper"])
    validate.flag("allow_unproven", allow_unproven)
    adaptive = _checked_rounds(rounds, mechanism, augment)
    if mechanism == "paper" and domain.seeks_norm:
        raise InvalidParameter.of("data_norm", 'a number with mechanism="paper"', domain.data_norm)
    if (ledger is None) != (dataset is None):
        raise InvalidParameter("ledger and dataset go together: a charge needs to know which data it is for.")
    if ledger is not None and not hasattr(ledger, "charge"):
        raise InvalidParameter.of("ledger", "a gv.Ledger", ledger)
    request = None
    if key is not None:
        if ledger is None or dataset is None or not hasattr(ledger, "store"):
            raise InvalidParameter("key needs ledger=gv.Ledger(...): that is where the release is kept.")
        request = Request(key, dataset, domain, budget, augment, rounds, mechanism, allow_unproven, random_state)
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

    noise, versions = noise_source(random_state), dict(_versions())
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

    if augment is None:
        _check_centred(domain)
    gate = _Gate(blocks, domain, augment, budget, noise, charge, progress, adaptive=adaptive)
    lost = None
    try:
        if domain.seeks_norm:
            domain = gate.find_norm()
        if adaptive:
            gate.ask_adaptively()
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
        raise InvalidParameter.of("rounds", "1 for rows that were collected batch by batch", "auto")
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
                f"The bounds of column {name} do not contain 0, but augment=None takes rows to have mean zero. Use "
                'augment="mean", which releases the mean too, or subtract a public centre from the column.'
            )


def _checked_rounds(rounds: Any, mechanism: str, augment: Augment) -> bool:
    """Whether several rounds were asked for."""
    if not isinstance(rounds, int | str) or isinstance(rounds, bool) or rounds not in (1, "auto"):
        raise InvalidParameter.of("rounds", '1 or "auto"', rounds)
    if mechanism == "paper" and augment is not None:
        raise InvalidParameter.of("augment", 'None with mechanism="paper"', augment)
    if rounds == "auto" and mechanism == "paper":
        raise InvalidParameter.of("rounds", '1 with mechanism="paper"', rounds)
    if rounds == "auto" and augment not in (None, Constant()):
        raise InvalidParameter.of("augment", 'None or "mean" with rounds="auto"', augment)
    return bool(rounds == "auto")


class _Gate:
    """Answers questions about the rows with noise, and keeps count. Lives for one call of :func:`release`."""

    def __init__(
        self,
        blocks: "Blocks | Collection",
        domain: Domain,
        augment: Augment,
        budget: Budget,
        noise: "NoiseSource",
        charge: Callable[[ReleaseEvent], None],
        progress: Callable[[int], None] | None,
        *,
        adaptive: bool,
    ) -> None:
        from graphveil.privacy.calibration import analytic_mu, lattice_allowance

        self.rounds: list[Round] = []
        self.event: ReleaseEvent | None = None  # from the charge on
        self.mu, self._eta = analytic_mu(budget), lattice_allowance(budget)
        self._blocks, self._domain, self._budget, self._noise = blocks, domain, budget, noise
        self._charge, self._progress, self._adaptive, self._augment = charge, progress, adaptive, augment
        self._whole = (self.mu, self._eta) if adaptive or domain.seeks_norm else None
        self._encoder = self._encoder_for(domain)
        self._layout = MomentLayout(blocks.n_features, augment)
        self._n_rows = 0
        self._totals: dict[bytes, Statistic] = {}
        if self._whole is not None:
            self._check_lattice()

    def _check_lattice(self) -> None:
        """Refuse a budget that a later round could not keep: after the charge it would be lost."""
        from graphveil.privacy.calibration import lattice_step

        p = self._blocks.n_features
        cells = p * sum(2**level for level in CELL_LEVELS) if self._domain.bounds is not None else 0
        most = max((p + 1) * (p + 2) // 2 + 1, cells)
        groups = (NoiseGroup("largest", 1, math.sqrt(2.0)), NoiseGroup("smallest", most, 1.0))
        lattice_step(1.0, groups, self.mu, self._eta / _MOST_STEPS)

    def _encoder_for(self, domain: Domain) -> "Encoder | RawRows":
        from graphveil.rows.clipping import Encoder, RawRows

        if domain.seeks_norm:
            return RawRows(self._blocks.n_features)
        # Adaptive rounds append their constant to mapped rows; the rows of the domain stay as they are.
        appended = None if self._adaptive else self._augment
        return Encoder(domain, appended, shift=self._augment is not None)

    def find_norm(self) -> Domain:
        """Spend a little on a bound of the rows' norm; return the domain that has it."""
        from graphveil.recovery.norm import check_enough_rows, mu_after_norm, norm_rounds
        from graphveil.recovery.recipe import follow

        check_enough_rows(self.count(), self.mu, self._domain.rows_per_person)
        norm = follow(norm_rounds(), self.ask)
        self._domain = replace(self._domain, data_norm=norm)
        self._encoder = self._encoder_for(self._domain)
        self.mu = mu_after_norm(self.mu)
        return self._domain

    def count(self) -> int:
        """Number of rows, before anything is asked; every later pass must find as many."""
        from graphveil.rows.accumulate import accumulate
        from graphveil.rows.collection import Collection
        from graphveil.rows.statistics import ColumnTotals

        blocks, lattice = self._blocks, self._lattice
        if self._n_rows > 0:
            return self._n_rows
        if isinstance(blocks, Collection) or blocks.counted or lattice is None:
            self._saw(blocks.count())
        else:
            # A pass is needed to count: let it answer the first question about columns too, whatever that will be.
            edge = np.full(blocks.n_features, lattice.edge)
            make = partial(_made, [partial(ColumnTotals, -edge, edge)])
            n_rows, (totals,) = accumulate(blocks, self._encoder, make, self._progress)
            self._saw(n_rows)
            self._totals[_window_key(-edge, edge)] = totals
        return self._n_rows

    def ask_adaptively(self) -> None:
        """Follow the recipe; an engine may keep the rows at hand meanwhile."""
        from graphveil.recovery.columns import Setting
        from graphveil.recovery.recipe import adaptive_rounds, follow
        from graphveil.rows.blocks import Blocks

        assert isinstance(self._blocks, Blocks)
        with self._blocks.kept():
            p, n, domain = self._blocks.n_features, self.count(), self._domain
            lattice, person = RowLattice.of(domain, None), domain.rows_per_person
            setting = Setting(p, n, lattice, domain.radius, self.mu, person, centred=self._augment is None)
            follow(adaptive_rounds(setting), self.ask)

    def ask(self, asked: list[tuple[Query, float]]) -> list[Round]:
        """Answer questions, each with a share of μ², in one pass over the rows."""
        from graphveil.privacy.mechanisms import step_for

        base, person = self._lattice, self._domain.rows_per_person
        steps = []
        for query, share in asked:
            lattice, layout = self._geometry(query)
            mu = self.mu * math.sqrt(share)
            steps.append(step_for(query, lattice, layout, base, person, mu, self._eta / _MOST_STEPS))
        return self._answer([query for query, _ in asked], steps, "default")

    def ask_paper(self, *, allow_unproven: bool) -> None:
        """The paper's Algorithm 1."""
        from graphveil.privacy.mechanisms import paper_step

        query = Moments(self._domain.radius)
        lattice, person = self._lattice, self._domain.rows_per_person
        assert lattice is not None
        step = paper_step(lattice, self._layout, person, self._budget, allow_unproven=allow_unproven)
        self._answer([query], [step], "paper")

    def _answer(self, queries: list[Query], steps: list[GaussianStep], mechanism: str) -> list[Round]:
        statistics = self._summed(queries, steps)
        if not self.rounds:
            self._charge_once(steps[0], mechanism)
        self._check_spending(steps)
        answers = [self._noisy(*each) for each in zip(queries, steps, statistics, strict=True)]
        self.rounds += answers
        return answers

    def _summed(self, queries: list[Query], steps: list[GaussianStep]) -> "list[Statistic]":
        """A statistic for every question, in one pass over the rows (none, if earlier sums have the answer)."""
        from graphveil.rows.accumulate import accumulate
        from graphveil.rows.collection import Collection

        if isinstance(self._blocks, Collection):
            self.count()
            return [self._blocks.moments()]
        keys = [_window(query) for query in queries]
        missing = [i for i, key in enumerate(keys) if key is None or key not in self._totals]
        made: list[Statistic] = []
        if missing:
            n_rows, made = accumulate(
                self._blocks,
                self._encoder,
                partial(_made, [self._maker(queries[i], steps[i]) for i in missing]),
                self._progress,
            )
            self._saw(n_rows)
        found = dict(zip(missing, made, strict=True))
        self._totals |= {key: found[i] for i, key in enumerate(keys) if key is not None and i in found}
        return [found[i] if key is None else self._totals[key] for i, key in enumerate(keys)]

    def _saw(self, n_rows: int) -> None:
        if n_rows == 0:
            raise SourceError("The source has no rows.")
        if self._n_rows not in (0, n_rows):
            raise SourceError("The source changed between two passes over its rows: it has another number of them.")
        self._n_rows = n_rows

    def _maker(self, query: Query, step: GaussianStep) -> "Callable[[], Statistic]":
        """What makes an empty statistic for a question: of public facts alone, because engines send it to the rows."""
        from graphveil.rows import statistics

        if isinstance(query, ColumnMeans | ColumnSquares):
            return partial(statistics.ColumnTotals, query.low, query.high)
        if isinstance(query, CellCounts):
            return partial(statistics.CellCounter, query, self._encoder.lattice.levels)  # type: ignore[union-attr]
        edge = math.inf if self._lattice is None else self._lattice.edge
        if isinstance(query, NormCounts):
            return partial(statistics.NormCounter, query, edge)
        lattice, layout = self._geometry(query)
        if isinstance(query, Moments) and query.row_map is None:
            return partial(statistics.RowMoments, layout, trace=step.sd("trace") is not None)
        return partial(statistics.MappedMoments, query, lattice, layout, edge)  # type: ignore[arg-type]

    @property
    def _lattice(self) -> RowLattice | None:
        """Of the rows of the domain; None while their norm is not known."""
        return getattr(self._encoder, "lattice", None)

    def _geometry(self, query: Query) -> tuple[RowLattice | None, MomentLayout]:
        """Lattice and layout of the rows whose moments are asked for."""
        p = self._blocks.n_features
        if isinstance(query, Moments) and query.row_map is not None:
            return query.lattice(p), MomentLayout(p, Constant() if query.constant else None)
        if isinstance(query, Excess):
            return query.lattice(p), MomentLayout(p, None)
        return self._lattice, self._layout

    def _charge_once(self, first: GaussianStep, mechanism: str) -> None:
        mu, eta = self._whole or (first.mu, first.eta)
        rounds = "adaptive" if self._adaptive else "one"
        person, neighbours = self._domain.rows_per_person, self._domain.neighbours
        self.event = ReleaseEvent(
            self._budget, mu, eta, mechanism, rounds, self._n_rows, person, neighbours, seeded=self._noise.seeded
        )
        self._charge(self.event)

    def _noisy(self, query: Query, step: GaussianStep, statistic: "Statistic") -> Round:
        """Add noise to exact integers; floats are made from the noisy ones only."""
        from graphveil.privacy.mechanisms import draw_noise

        # Drawn first: should the sampler fail, no exact number stands in a variable that a reporter could print.
        drawn = draw_noise(step, self._noise)
        exact = statistic.answer(query)
        factor = self._factor(query)
        values = {}
        try:
            for group in step.groups:
                noisy = _on_lattice(exact[group.name], step.lattice) + drawn[group.name].astype(object)
                values[group.name] = noisy.astype(float) * 2.0**step.lattice * factor
        finally:
            exact.clear()  # nor after an interruption here
        return Round(query, step, factor, values)

    def _factor(self, query: Query) -> float:
        """From integer sums to averages in scaled units; counts stay counts."""
        if isinstance(query, NormCounts | CellCounts):
            return 1.0
        lattice, _ = self._geometry(query)
        assert lattice is not None
        unit = lattice.unit
        power = 1 if isinstance(query, ColumnMeans) else 2
        return float(unit**power / self._n_rows)

    def _check_spending(self, coming: list[GaussianStep]) -> None:
        """Σ μ² and Σ η of what was drawn and what comes now stay within what was charged, in exact arithmetic."""
        steps = [a_round.step for a_round in self.rounds] + coming
        mu_square = sum(Fraction(step.mu) ** 2 for step in steps)
        eta = sum(Fraction(step.eta) for step in steps)
        assert self.event is not None
        if mu_square > Fraction(self.event.mu) ** 2 or eta > Fraction(self.event.eta):
            raise GuaranteeError("The rounds would cost more than was charged; nothing is released.")


def _on_lattice(exact: "NDArray[Any]", exponent: int) -> "NDArray[Any]":
    """Integers in multiples of 2^exponent, rounded down where they are not multiples."""
    return exact << -exponent if exponent <= 0 else exact >> exponent


def _window(query: Query) -> bytes | None:
    """What identifies the column sums that answer a question; None for other questions."""
    if isinstance(query, ColumnMeans | ColumnSquares):
        return _window_key(query.low, query.high)
    return None


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


def _window_key(low: "NDArray[np.float64]", high: "NDArray[np.float64]") -> bytes:
    return low.tobytes() + high.tobytes()


def _made(makers: "list[Callable[[], Statistic]]") -> "list[Statistic]":
    return [make() for make in makers]


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

    from graphveil.recovery.recipe import RECIPE

    return {name: version(name) for name in ("graphveil", "numpy", "opendp")} | {"recipe": RECIPE}
