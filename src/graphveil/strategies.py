"""Strategies: which queries a release asks, in which order, and what share of the budget each gets.

A strategy sees public facts and noisy answers, and nothing else of the rows: it can import neither them nor the gate.

Guarantee
---------
A release is one event, whatever its queries: each gets its share of μ², and the next ones depend on earlier answers
alone. Proof: ``privacy/proofs/composition.md``.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, Self

from graphveil._threads import blas_threads_for
from graphveil.exceptions import InvalidParameter
from graphveil.privacy import calibration
from graphveil.privacy.mechanisms import check_room, paper_step, step_for
from graphveil.protocol.schedule import Schedule
from graphveil.protocol.stage import PlannedStep, QueryBatch, Stage, run_protocol
from graphveil.protocol.stages.count import Count
from graphveil.protocol.stages.norm import Norm
from graphveil.recovery.adaptive_protocol import adaptive_rounds, adaptive_steps, remember
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.released.answers import Answer, released_count, released_weights
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, collision_probability
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.quantization import PERSON_WEIGHT, MomentLayout
from graphveil.spec.queries import Moments, Query
from graphveil.spec.rounding import format_exact
from graphveil.spec.row_space import RowSpace

__all__ = ["Plan", "PrivateQueries", "Strategy", "planned_steps"]

_SURELY = 40.0  # standard deviations that a Gaussian exceeds with probability 2⁻¹¹⁵⁹
_FEWEST_PEOPLE = 2.0**20  # for whom there must be room where their number is a secret
_NEARLY = 1.0 - 2.0**-20  # of a share: what is left after several steps is rounded down
_MOST_STEPS = 32  # noisy vectors in one release; each may use this part of the lattice's allowance


class PrivateQueries(Protocol):
    """What a strategy may do with the rows: ask, and get noisy answers."""

    @property
    def domain(self) -> Domain:
        """What is assumed of a row."""
        ...

    @property
    def space(self) -> RowSpace:
        """The space of encoded rows."""
        ...

    def count(self) -> int:
        """Number of rows: public, or the one that was released."""
        ...

    def use(self, domain: Domain) -> None:
        """Encode rows by another domain from now on."""
        ...

    def cached(self) -> AbstractContextManager[None]:
        """While this is open, passes over the rows come one after the other."""
        ...

    def answer(self, queries: list[Query], steps: list[GaussianStep]) -> list[Answer]:
        """Answer queries in one pass, each with the noise of its step."""
        ...


@dataclass(frozen=True)
class Plan:
    """What the questions of one release may use, made from public facts before anything is charged.

    Attributes
    ----------
    mu : float
        For all of them together.
    eta : float
        For each.
    collisions : float
        The part of η for people who are taken for one.
    """

    mu: float
    eta: float
    collisions: float

    @classmethod
    def of(
        cls,
        options: ReleaseOptions,
        domain: Domain,
        count: Callable[[], int],
        allowance: Callable[[float], tuple[float, float]],
    ) -> Self:
        """Plan a release, or refuse what would be lost after the charge, whatever the answers are.

        Parameters
        ----------
        options : ReleaseOptions
            What the caller of :func:`graphveil.release` asked for.
        domain : Domain
            With its number of columns known.
        count : callable
            The number of people, or of rows; it is not called where that is a secret.
        allowance : callable
            The μ and the η that all queries together may use, where so much of η is for people who are taken for one.
        """
        collisions = 0.0
        if domain.person is not None:
            n = None if domain.hides_count else count()
            collisions = calibration.allowed_collisions(options.budget, n)
        mu, eta = allowance(collisions)
        # What two people taken for one may cost comes off first; then every step gets an equal part.
        plan = cls(mu, eta / (2.0 * _MOST_STEPS), collisions)
        if collisions > eta / 2.0:
            raise _ids_could_collide(options.budget)
        if options.mechanism != "paper":  # whose one step is checked when it is asked
            for step in planned_steps(options, domain):
                plan._check_room(step, domain)
        for stage in Schedule.of(domain).stages:
            if isinstance(stage, Count) and domain.person is not None:
                most = _FEWEST_PEOPLE + 2.0 * _SURELY / stage.mu_of(mu)
                if collision_probability(most) > collisions:
                    raise InvalidParameter(
                        f"epsilon = {format_exact(options.budget.epsilon)} or delta = "
                        f"{format_exact(options.budget.delta)} is too extreme where the number of people is secret: "
                        "ids of a million people, and of as many as noise makes of none, must not be mistaken for each "
                        "other. Choose a less extreme budget."
                    )
            if isinstance(stage, Norm):
                stage.check_enough_rows(count(), mu, domain.rows_per_person)
        return plan

    def _check_room(self, step: PlannedStep, domain: Domain) -> None:
        """Refuse a step that may not fit into its share."""
        whole = PERSON_WEIGHT if domain.weighs_rows else 1
        move = 2.0 * math.sqrt(step.numbers) * domain.rows_per_person * whole if step.counts else math.inf
        check_room(step.numbers, move, self.mu * math.sqrt(step.share) * _NEARLY, self.eta)


def planned_steps(options: ReleaseOptions, domain: Domain) -> list[PlannedStep]:
    """Every question that a release may ask, whatever the answers are, each with its share of the whole μ²."""
    p = domain.require_n_features()
    if options.adaptive:
        bounded, centred = domain.bounds is not None and domain.data_norm is None, options.augment is None
        return Schedule.of(domain).planned(adaptive_steps(p, len(domain.gaps), bounded=bounded, centred=centred))
    layout = MomentLayout(p, options.augment)
    numbers = layout.n_diagonal + layout.n_off_diagonal + 1
    return Schedule.of(domain).planned([PlannedStep(numbers, 1.0, counts=False)])


class Strategy:
    """The queries of one release.

    Parameters
    ----------
    rows : PrivateQueries
        What answers them.
    options : ReleaseOptions
        What the caller of :func:`graphveil.release` asked for.
    plan : Plan
        What they may use.
    """

    def __init__(self, rows: PrivateQueries, options: ReleaseOptions, plan: Plan) -> None:
        self._rows, self._options, self._plan = rows, options, plan
        self._answers = list[Answer]()
        self._mu = plan.mu  # that is left

    def run(self) -> None:
        """Ask everything."""
        options = self._options
        for stage in Schedule.of(self._rows.domain).stages:
            self._run_stage(stage)
        if options.adaptive:
            self._ask_adaptively()
        elif options.mechanism == "paper":
            self._ask_as_in_the_paper()
        else:
            self._ask([(Moments(self._rows.domain.radius), 1.0)])

    def _run_stage(self, stage: Stage) -> None:
        """Spend the share of a stage; from now on rows are encoded by the domain that its answers make."""
        rows = self._rows
        domain = run_protocol(stage.ask(rows.domain), self._ask)
        if isinstance(stage, Count) and domain.person is not None:
            n, sd = released_count(self._answers)
            if collision_probability(n + _SURELY * sd) > self._plan.collisions:
                raise _ids_could_collide(self._options.budget)
        if domain is not rows.domain:
            rows.use(domain)
        self._mu = stage.mu_after(self._mu)

    def _ask_adaptively(self) -> None:
        """Run the adaptive protocol: it is sent noisy answers, and yields the next queries."""
        rows, domain = self._rows, self._rows.domain
        with rows.cached():
            weights = None if domain.weight is None else released_weights(self._answers)
            inputs = ProtocolInputs.of(
                domain,
                self._options.augment,
                n_samples=rows.count() if weights is None else weights.total,
                mu=self._mu,
                n_kish=None if weights is None else weights.effective(rows.count()),
            )
            with blas_threads_for(inputs.n_features):
                remember(inputs, self._answers, run_protocol(adaptive_rounds(inputs), self._ask))

    def _ask(self, asked: QueryBatch) -> list[Answer]:
        """Ask queries, each with its share of μ², in one pass over the rows."""
        space, person = self._rows.space, self._rows.domain.rows_per_person
        steps = [step_for(query, space, person, self._mu * math.sqrt(share), self._plan.eta) for query, share in asked]
        answers = self._rows.answer([query for query, _ in asked], steps)
        self._answers += answers
        return answers

    def _ask_as_in_the_paper(self) -> None:
        """Ask one query, with the noise of the paper's Algorithm 1."""
        domain, options = self._rows.domain, self._options
        query = Moments(domain.radius)
        allow = options.allow_unproven
        step = paper_step(query, self._rows.space, domain.rows_per_person, options.budget, allow_unproven=allow)
        self._rows.answer([query], [step])


def _ids_could_collide(budget: Budget) -> InvalidParameter:
    return InvalidParameter(
        f"epsilon = {format_exact(budget.epsilon)} is too large, or delta = {format_exact(budget.delta)} too small, "
        "for so many people: the probability that two of their ids are mistaken for one, times e^epsilon, must be "
        "far below delta. Choose a smaller epsilon, or a larger delta."
    )
