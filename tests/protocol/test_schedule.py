"""One order of queries for whoever asks, answers, forecasts or checks them."""

import math
from dataclasses import replace

import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.protocol.schedule import ORDER, Schedule
from graphveil.protocol.stages.count import Count
from graphveil.protocol.stages.norm import Norm
from graphveil.protocol.stages.ranks import Ranks
from graphveil.protocol.stages.weight import TotalOfWeights
from graphveil.spec.case import Case
from helpers.frozen import CLEAR, DELTA, FRAME, GAP, PLAIN, RANKS, WEIGHT

BUDGET = gv.Budget(CLEAR, DELTA)
NUMBERS = FRAME[["a", "b", "c", "d"]].to_numpy()
CASES = {
    "nothing first": (NUMBERS, gv.Domain(bounds=(-9, 9)), []),
    "count": (NUMBERS, gv.Domain(bounds=(-9, 9), neighbours="add-remove"), [Count]),
    "weight": (FRAME, gv.Domain(PLAIN, weight=WEIGHT), [TotalOfWeights]),
    "norm": (NUMBERS, gv.Domain(data_norm="private"), [Norm]),
    "count, ranks": (FRAME, gv.Domain(RANKS, neighbours="add-remove"), [Count, Ranks]),
    "weight, ranks": (FRAME, gv.Domain({**RANKS, "f": GAP}, weight=WEIGHT, person="person"), [TotalOfWeights, Ranks]),
}


def release(name):
    source, domain, _ = CASES[name]
    return gv.release(source, domain=domain, budget=BUDGET, random_state=0)


def queries_of(made):
    return [answer.query for answer in made.answers]


@pytest.mark.parametrize("name", CASES)
def test_what_was_asked_is_the_schedule_of_the_domain(name):
    _, domain, stages = CASES[name]
    made, expected = release(name), Schedule.of(domain)
    assert [type(stage) for stage in expected.stages] == stages
    assert Schedule.recorded(made.domain, queries_of(made)) == expected
    assert expected.begins(queries_of(made))


@pytest.mark.parametrize("name", CASES)
def test_stages_and_moments_cost_what_was_charged(name):
    made = release(name)
    schedule = Schedule.recorded(made.domain, queries_of(made))
    asked = sum(len(stage.asked) for stage in schedule.stages)
    spent = [math.fsum(answer.step.mu**2 for answer in part) for part in (made.answers[:asked], made.answers[asked:])]
    left = schedule.mu_left(made.event.mu)
    assert spent[0] == pytest.approx(made.event.mu**2 - left**2, rel=1e-9, abs=1e-15)
    assert 0.8 * left**2 < spent[1] <= left**2


def test_stages_are_recorded_by_what_was_asked_and_not_by_where():
    """Cells that are counted later locate a column, and histograms of mapped rows find a radius."""
    made = gv.release(
        NUMBERS, domain=gv.Domain(bounds=([-9, -9, -9e4, -9], [9, 9, 9e4, 9])), budget=BUDGET, random_state=0
    )
    assert "CellCounts" in {type(query).__name__ for query in queries_of(made)}
    assert Schedule.recorded(made.domain, queries_of(made)).stages == ()


@pytest.mark.parametrize("name", ["count", "weight", "count, ranks"])
def test_a_release_in_another_order_is_refused(name):
    made = release(name)
    first, *others = made.answers
    for answers in (tuple(others), (*others, first)):
        with pytest.raises(InvalidParameter, match="must be those of its domain"):
            replace(made, answers=answers)


def test_a_plan_leaves_what_a_release_leaves():
    for neighbours in ("replace", "add-remove"):
        case = Case(n=1000, p=3, budget=BUDGET, neighbours=neighbours)
        domain = gv.Domain(bounds=(-9, 9), neighbours=neighbours)
        assert Schedule.of(case.domain) == Schedule.of(domain)


def test_every_stage_is_planned_as_it_asks():
    """As many steps as queries, and shares that add up to that of the stage."""
    for kind in ORDER:
        stage = Ranks((0, 2)) if kind is Ranks else kind()
        assert len(stage.planned()) == len(stage.asked)
        assert math.fsum(step.share for step in stage.planned()) == pytest.approx(stage.share)
