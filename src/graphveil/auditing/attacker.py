"""The attacker knows the code, every parameter and both data sets, but not which of the two was released."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graphveil.auditing.neighbours import KnownRows, Pair
from graphveil.released.answers import Answer
from graphveil.released.release import Release
from graphveil.rows.evaluator import Evaluator
from graphveil.rows.sources import open_source
from graphveil.spec.domain import Domain
from graphveil.spec.queries import NormCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    ExactAnswer = dict[str, NDArray[np.float64]]

__all__ = ["Attacker", "exact_answers"]


class Attacker:
    """Computes how much likelier a release is with the record than without it, by the declared law of the noise."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._always: list[list[ExactAnswer]] | None = None  # where every release answers the same questions

    def log_likelihood_ratio(self, release: Release) -> float:
        """Over all rounds together: the questions of later rounds depend on earlier answers alone, which are known."""
        sides = self._always or [
            exact_answers(release, self._pair, known) for known in (self._pair.without, self._pair.within)
        ]
        if len(release.answers) == 1:
            self._always = sides
        total = 0.0
        for answer, without, within in zip(release.answers, *sides, strict=True):
            for group, noisy in answer.values.items():
                unit = answer.factor / answer.sd(group)
                middle = (without[group] + within[group]) / 2.0
                moved = (within[group] - without[group]) * unit
                total += float((noisy / answer.factor - middle) @ moved * unit)
        return total


def exact_answers(release: Release, pair: Pair, known: KnownRows) -> "list[ExactAnswer]":
    """What the gate would have answered without noise, computed by the gate itself, mistakes included.

    Of made-up records only: nothing else can be put into a :class:`Pair`.
    """
    raw = [_is_raw(answer) for answer in release.answers]
    answers: dict[int, ExactAnswer] = {}
    for kind in {*raw}:
        # Norms of raw rows were counted before a norm was known.
        domain = replace(release.domain, data_norm="private") if kind else release.domain
        places = [place for place, is_raw in enumerate(raw) if is_raw == kind]
        answers |= zip(
            places, _evaluate(release, [release.answers[i] for i in places], domain, pair, known), strict=True
        )
    return [answers[place] for place in range(len(raw))]


def _evaluate(
    release: Release, answers: list[Answer], domain: Domain, pair: Pair, known: KnownRows
) -> "list[ExactAnswer]":
    source = open_source(pair.rows_of(known), domain, release.augment, known.people, known.weights)
    evaluator = Evaluator(source, domain, release.augment, adaptive=release.event.rounds == "adaptive")
    statistics = evaluator.evaluate([answer.query for answer in answers])
    exact = [statistic.answer(answer.query) for statistic, answer in zip(statistics, answers, strict=True)]
    return [{group: values.astype(np.float64) for group, values in answer.items()} for answer in exact]


def _is_raw(answer: Answer) -> bool:
    return isinstance(answer.query, NormCounts) and answer.query.row_map is None
