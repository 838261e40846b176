"""Forecasts hold: what was foreseen is what then happens."""

import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import graphveil as gv
from graphveil.planning import rehearsal
from graphveil.planning.closed_form import foresee
from graphveil.planning.rehearsal import _model, _rows, _smaller, rehearse
from graphveil.spec.case import Case

pytestmark = pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")


def what_happens(n, p, budget, seed, rows_per_person=1):
    """A release of fresh records with means and units of their own, through the public door."""
    rng = np.random.default_rng([n, p, seed])
    truth = gv.simulate.small_world_precision(p, 2 if p < 10 else 4, random_state=1000 + seed)
    rows = gv.simulate.gaussian_rows(truth, n, random_state=rng)
    spread = np.sqrt(np.diag(np.linalg.inv(truth)))
    mean, unit = rng.normal(size=p), 10.0 ** rng.uniform(-2, 2, size=p)
    lower, upper = (mean + end * spread for end in (-4.0, 4.0))
    model = gv.PrivateGraphicalLasso(
        budget.epsilon,
        budget.delta,
        bounds=(lower * unit, upper * unit),
        rows_per_person=rows_per_person,
        random_state=seed,
    ).fit((rows + mean) * unit)
    scale = np.outer(unit, unit)
    error = gv.metrics.relative_loss(
        model.precision_ * scale * np.outer(spread, spread), truth * np.outer(spread, spread)
    )
    return model.n_eff_, error, gv.metrics.roc_auc(np.abs(model.partial_correlations_), truth != 0)


@pytest.mark.parametrize(
    ("n", "p", "epsilon", "person", "repeats"),
    [
        (3000, 5, 1.0, 1, 12),
        (5000, 20, 1.0, 1, 5),
        (1000, 20, 1.0, 1, 15),
        pytest.param(20_000, 12, 2.0, 4, 12, marks=pytest.mark.nightly),
        pytest.param(120_000, 20, 0.5, 1, 8, marks=pytest.mark.nightly),
        pytest.param(30_000, 60, 1.0, 1, 5, marks=pytest.mark.nightly),
    ],
)
def test_forecasts_come_true(n, p, epsilon, person, repeats):
    budget = gv.Budget(epsilon, 1e-6)
    forecast = rehearse(Case(n, p, budget, person), repeats)
    seen = np.array([what_happens(n, p, budget, seed, person) for seed in range(repeats)])
    n_eff, error, auc = np.median(seen, axis=0)
    # Of both medians; 1.25 sd/√n is the standard error of one.
    chance = 3.0 * 1.25 * np.sqrt(2.0 / repeats) * seen.std(axis=0)
    assert abs(forecast.n_eff - n_eff) < 0.1 * n_eff + chance[0]
    assert abs(forecast.error - error) < 0.1 * error + chance[1]
    assert abs(forecast.auc - auc) < 0.02 + chance[2]


@pytest.mark.nightly
def test_the_smallest_edge_is_seen_four_times_out_of_five():
    """Pairs joined by exactly the partial correlation that was forecast, and nothing else."""
    n, p, budget = 8000, 10, gv.Budget(1.0, 1e-6)
    smallest = rehearse(Case(n, p, budget), 4).smallest_edge
    truth = np.eye(p)
    for first in range(0, p, 2):
        truth[first, first + 1] = truth[first + 1, first] = -smallest
    joined, seen = np.triu(truth, 1) != 0, []
    for seed in range(12):
        rows = gv.simulate.gaussian_rows(truth, n, random_state=seed)
        model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-4, 4), random_state=seed).fit(rows)
        edges = model.edge_intervals()
        seen += list((edges.lower > 0)[joined])
    assert 0.68 <= np.mean(seen) <= 0.93  # 60 pairs: 0.8 within two and a half standard errors


def test_the_whole_plan():
    budget, steps = gv.Budget(1.0, 1e-6), []
    plan = gv.plan(n=4000, p=8, budget=budget, rehearse=True, progress=lambda done, total: steps.append((done, total)))
    assert plan.rehearsed
    assert rehearse(Case(4000, 8, budget), 15) == plan.here  # the same question, the same answer
    assert gv.Forecast.from_json(plan.to_json()) == plan
    assert steps == [(i, 11) for i in range(1, 12)]
    assert plan.here in plan.by_epsilon
    assert plan.here in plan.by_records
    for points in (plan.by_epsilon, plan.by_records):
        assert len(points) == 5
        assert points[0].error > plan.here.error > points[-1].error
        assert all(a.n_eff < b.n_eff for a, b in pairwise(points))
    # What would do, does.
    for case in (Case(plan.records_needed, 8, budget), Case(4000, 8, gv.Budget(plan.epsilon_needed, 1e-6))):
        assert rehearse(case, 4).smallest_edge == pytest.approx(0.1, rel=0.25)


@pytest.mark.parametrize(
    ("n", "p", "epsilon", "person", "width"),
    [
        (2000, 10, 1.0, 1, 4.0),
        (10_000, 10, 1.0, 1, 12.0),
        (5000, 20, 1.0, 1, 4.0),
        (20_000, 12, 1.0, 4, 4.0),
        pytest.param(30_000, 60, 1.0, 1, 4.0, marks=pytest.mark.nightly),
        pytest.param(2000, 20, 3.0, 1, 4.0, marks=pytest.mark.nightly),
    ],
)
def test_the_formula_says_what_rehearsals_say(n, p, epsilon, person, width):
    case = Case(n, p, gv.Budget(epsilon, 1e-6), person, width)
    formula, rehearsed = foresee(case), rehearse(case, 6)
    for name in ("n_eff", "noise_sd", "smallest_edge", "error", "coefficient_sd"):
        assert getattr(formula, name) == pytest.approx(getattr(rehearsed, name), rel=0.25), name


def test_the_formula_knows_where_nothing_is_seen():
    """Too few records, or bounds so wide that the columns drown in them: no edge is promised."""
    for case in (Case(1000, 20, gv.Budget(1.0, 1e-6)), Case(1000, 10, gv.Budget(1.0, 1e-6), 1, 30.0)):
        formula, rehearsed = foresee(case), rehearse(case, 3)
        assert rehearsed.smallest_edge is None
        assert formula.smallest_edge is None
        assert formula.n_eff < 2 * case.p


def test_a_plan_at_once(monkeypatch):
    """The formula answers as the rehearsal does, without one, and its needs are met."""
    monkeypatch.setattr(rehearsal, "rehearse", lambda *_: pytest.fail("a slider would wait for a rehearsal"))
    budget = gv.Budget(1.0, 1e-6)
    plan = gv.plan(n=4000, p=8, budget=budget, target=0.1)
    assert not plan.rehearsed
    assert gv.Forecast.from_json(plan.to_json()) == plan
    for points in (plan.by_epsilon, plan.by_records):
        assert len(points) == 5
        assert plan.here in points
        assert all(a.n_eff < b.n_eff and a.error > b.error for a, b in pairwise(points))
    needed = Case(plan.records_needed, 8, budget), Case(4000, 8, gv.Budget(plan.epsilon_needed, 1e-6))
    for case in needed:
        assert foresee(case).smallest_edge == pytest.approx(0.1, rel=0.05)


def test_fewer_rows_stand_in_for_many():
    """A rehearsal with a tenth of the rows has the covariance of all of them, and so the same error."""
    n, p, m = 40_000, 6, 4000
    truth = _model(p, 0)
    gaps = {rows: [] for rows in (m, n)}
    for rows, errors in gaps.items():
        for seed in range(60):
            drawn = _rows(truth, n, rows, np.random.default_rng([rows, seed]))
            assert drawn.shape == (rows, p)
            errors.append(np.linalg.norm(np.cov(drawn.T) @ truth - np.eye(p)))
    assert np.mean(gaps[m]) == pytest.approx(np.mean(gaps[n]), rel=0.12)
    case = Case(3_000_000, 20, gv.Budget(1.0, 1e-6))
    drawn, budget = _smaller(case)
    assert drawn < case.n
    assert drawn * budget.mu == pytest.approx(case.n * case.budget.mu, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "p"), [(1, 1), (1, 3), (10, 2), (3000, 1), pytest.param(10**8, 2, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("rehearsed", [False, True])
def test_the_ends_of_the_range(n, p, rehearsed):
    plan = gv.plan(n=n, p=p, budget=gv.Budget(1.0, 1e-6), rehearse=rehearsed)
    assert 0.0 < plan.here.n_eff <= n * (1 + 1e-9)
    assert np.isfinite(plan.here.error)
    assert plan.sentences
    if p == 1:
        assert (plan.here.auc, plan.here.smallest_edge, plan.records_needed, plan.epsilon_needed) == (None,) * 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 0),
        ("n", 2.5),
        ("p", 0),
        ("p", 10**6),
        ("budget", 1.0),
        ("target", 0.0),
        ("target", 1.0),
        ("bounds_in_sd", 0.5),
    ],
)
def test_wrong_questions_are_refused_by_name(name, value):
    good = {"n": 1000, "p": 3, "budget": gv.Budget(1.0, 1e-6)}
    with pytest.raises(gv.exceptions.InvalidParameter, match=name):
        gv.plan(**good | {name: value})


@pytest.mark.filterwarnings("error")
def test_a_careless_delta_is_said_once():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gv.plan(n=100, p=1, budget=gv.Budget(1.0, 0.01))
    assert [w.category for w in said] == [gv.exceptions.PrivacyWarning]
    assert "1/n" in str(said[0].message)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_formula_knows_of_people(neighbours):
    """Who have three records each, and whose presence may be a secret: they count as records do."""
    rng = np.random.default_rng(0)
    n, p = 4000, 4
    columns = {f"x{j}": rng.normal(size=3 * n) for j in range(p)}
    domain = gv.Domain(dict.fromkeys(columns, (-4, 4)), person="id", neighbours=neighbours)
    table = pa.table(columns | {"id": np.repeat(np.arange(n), 3)})
    budget = gv.Budget(1.0, 1e-6)
    made = gv.recover(gv.release(table, domain=domain, budget=budget, random_state=0))
    forecast = gv.plan(n, p, budget, neighbours=neighbours)
    assert forecast.neighbours == neighbours
    assert forecast.here.n_eff == pytest.approx(made.n_eff, rel=0.15)
    assert gv.Forecast.from_json(forecast.to_json()) == forecast


def test_a_secret_presence_costs_less_noise():
    """A person who is added moves a sum less than one who is replaced by another."""
    plans = [gv.plan(5000, 10, gv.Budget(1.0, 1e-6), neighbours=name).here for name in ("replace", "add-remove")]
    assert plans[1].n_eff > 1.3 * plans[0].n_eff
    with pytest.raises(gv.exceptions.InvalidParameter, match="neighbours must be"):
        gv.plan(5000, 10, gv.Budget(1.0, 1e-6), neighbours="both")
