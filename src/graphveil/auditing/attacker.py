"""The attacker knows the code, every parameter and both data sets: all but which of the two was released."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graphveil.auditing.neighbours import Known, Pair
from graphveil.released.answers import Round
from graphveil.released.release import Release
from graphveil.rows.evaluator import Evaluator
from graphveil.rows.sources import open_source
from graphveil.spec.domain import Domain
from graphveil.spec.queries import NormCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Answer = dict[str, NDArray[np.float64]]

__all__ = ["Attacker", "exact_answers"]


class Attacker:
    """Computes how much likelier a release is with the record than without it, by the declared law of the noise."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._always: list[list[Answer]] | None = None  # where every release answers the same questions

    def log_likelihood_ratio(self, release: Release) -> float:
        """Over all rounds together: the questions of later rounds depend on earlier answers alone, which are known."""
        sides = self._always or [
            exact_answers(release, self._pair, known) for known in (self._pair.without, self._pair.within)
        ]
        if len(release.rounds) == 1:
            self._always = sides
        total = 0.0
        for a_round, without, within in zip(release.rounds, *sides, strict=True):
            for group, noisy in a_round.values.items():
                unit = a_round.factor / a_round.sd(group)
                middle = (without[group] + within[group]) / 2.0
                moved = (within[group] - without[group]) * unit
                total += float((noisy / a_round.factor - middle) @ moved * unit)
        return total


def exact_answers(release: Release, pair: Pair, known: Known) -> "list[Answer]":
    """What the gate would have answered without noise, computed by the gate itself, mistakes included.

    Of made-up records only: nothing else can be put into a :class:`Pair`.
    """
    raw = [_is_raw(a_round) for a_round in release.rounds]
    answers: dict[int, Answer] = {}
    for kind in {*raw}:
        # Norms of raw rows were counted before a norm was known.
        domain = replace(release.domain, data_norm="private") if kind else release.domain
        places = [place for place, is_raw in enumerate(raw) if is_raw == kind]
        answers |= zip(
            places, _evaluate(release, [release.rounds[i] for i in places], domain, pair, known), strict=True
        )
    return [answers[place] for place in range(len(raw))]


def _evaluate(release: Release, rounds: list[Round], domain: Domain, pair: Pair, known: Known) -> "list[Answer]":
    source = open_source(pair.rows_of(known), domain, release.augment)
    evaluator = Evaluator(source, domain, release.augment, adaptive=release.event.rounds == "adaptive")
    statistics = evaluator.evaluate([a_round.query for a_round in rounds])
    exact = [statistic.answer(a_round.query) for statistic, a_round in zip(statistics, rounds, strict=True)]
    return [{group: values.astype(np.float64) for group, values in answer.items()} for answer in exact]


def _is_raw(a_round: Round) -> bool:
    return isinstance(a_round.query, NormCounts) and a_round.query.row_map is None
