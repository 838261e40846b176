"""Consistency of a release: checked when it is made, and again when it is read from a file.

All checks use public facts: the rounds cost no more than was charged, every distribution has the noise that its μ
needs, queries and answers fit the columns, and every number is possible. A consistent forgery is not detected here, nor
is a sensitivity that is too small for its query, which only the proofs of ``privacy/`` can show.
"""

import math
from fractions import Fraction

import numpy as np

from graphveil.exceptions import InvalidParameter
from graphveil.protocol.schedule import Schedule
from graphveil.released.answers import Answer, released_count, released_weights
from graphveil.spec.augmentation import Augment
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, ReleaseEvent
from graphveil.spec.gdp import delta_from_mu
from graphveil.spec.queries import Moments, Query
from graphveil.spec.row_space import RowSpace

__all__ = ["check_release"]

_FARTHEST = 50.0  # standard deviations: a Gaussian goes beyond them with probability 10⁻⁵⁴⁵
_ROUNDING = 1e-9  # relative: factors are computed again, perhaps on another machine
_WORDS = 62  # bits that noise may have, in steps of its lattice


def check_release(event: ReleaseEvent, domain: Domain, augment: Augment, rounds: tuple[Answer, ...]) -> None:
    """Raise InvalidParameter where two parts of a release contradict each other."""
    _check_event(event, domain)
    if not event.covers(answer.step for answer in rounds):
        raise InvalidParameter("the rounds of a release must not cost more than was charged.")
    queries = [answer.query for answer in rounds]
    schedule = Schedule.recorded(domain, queries)
    if not schedule.begins(queries):
        asked = "; ".join(kind.description for stage in schedule.stages for kind in stage.asked) or "none"
        raise InvalidParameter(f"the queries with which a release begins must be those of its domain: {asked}.")
    n, count_sd = released_count(rounds) if event.n_samples is None else (event.n_samples, 0.0)
    divisor = n if domain.weight is None else released_weights(rounds).total
    people = event.n_samples if domain.weighs_rows else None
    space = RowSpace.of(domain, augment, None if event.rounds == "adaptive" else augment, people)
    for answer in rounds:
        query, step = answer.query, answer.step
        _check_law(step)
        _check_question(query, domain)
        sizes = query.sizes(space)
        without_trace = {name: count for name, count in sizes.items() if name != "trace"}
        if {group.name: group.count for group in step.groups} not in (sizes, without_trace):
            raise InvalidParameter("an answer does not have the size of its query.")
        factor = query.unit_factor(space, divisor)
        if not math.isclose(answer.factor, factor, rel_tol=_ROUNDING):
            raise InvalidParameter("the factor of an answer does not match its query and the number of records.")
        for group in step.groups:
            most = (n + _FARTHEST * count_sd) * query.largest_term(space)
            farthest = (most + _FARTHEST * group.sd) * factor
            if not (np.abs(answer.values[group.name]) <= farthest * (1.0 + _ROUNDING)).all():
                raise InvalidParameter("an answer has numbers that neither records nor noise could produce.")


def _check_event(event: ReleaseEvent, domain: Domain) -> None:
    said = (event.rows_per_person, event.neighbours, event.by_person)
    if said != (domain.rows_per_person, domain.neighbours, domain.person is not None):
        raise InvalidParameter(
            "the event and the domain of a release must agree on a person's rows, and on neighbours."
        )
    epsilon, delta = event.budget.epsilon, event.budget.delta
    if event.mechanism == "default":
        keeps = delta_from_mu(event.mu, epsilon, event.eta) <= delta
    else:  # the paper's noise need not keep its budget, but is never less than its formula says
        keeps = event.mu * math.sqrt(2.0 * math.log(1.25 / delta)) <= epsilon * (1.0 + _ROUNDING)
    if not keeps:
        raise InvalidParameter("the cost of a release must be within its requested budget.")


def _check_law(step: GaussianStep) -> None:
    """Enough noise for μ, a lattice fine enough for η, and words long enough for the noise, in exact arithmetic."""
    spacing, least = Fraction(2) ** step.lattice, Fraction(step.sensitivity) / Fraction(step.mu)
    eta = Fraction(0)
    for group in step.groups:
        sd = Fraction(group.sd)
        twice = 2 if group.name == "off_diagonal" else 1  # √2 times these entries are the coordinates of svec
        if twice * sd**2 < least**2:
            raise InvalidParameter("the noise of a round must be as large as its sensitivity and its μ demand.")
        if sd > spacing * 2**_WORDS:
            raise InvalidParameter("the noise of a round must fit into the words that it is drawn in.")
        eta += group.count * (spacing / sd) ** 2 / 16
    # Sums of integers move by at least 1, and a coarser lattice than the sensitivity would hide the answer.
    if eta > Fraction(step.eta) or step.sensitivity < 1.0 or spacing > max(Fraction(1), Fraction(step.sensitivity)):
        raise InvalidParameter("the lattice of a round must be as fine as its η demands.")


def _check_question(query: Query, domain: Domain) -> None:
    """Every question is about the columns of the domain, and about rows of its norm where it does not map them."""
    p = domain.require_n_features()
    row_map = getattr(query, "row_map", None)
    width = row_map.centre.size if row_map is not None else query.low.size if hasattr(query, "low") else p
    last = query.columns.max(initial=0.0) if hasattr(query, "columns") else 0.0
    if width != p or last >= p:
        raise InvalidParameter("a query must be about the columns of the domain.")
    if isinstance(query, Moments) and row_map is None and (query.radius, query.constant) != (domain.radius, 0.0):
        raise InvalidParameter("moments of the rows themselves must be taken at the norm of the domain.")
