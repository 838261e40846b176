"""Theorem 14: one person more moves every answer by at most the claim, and how many there are stays secret."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import GuaranteeError, InvalidParameter, LedgerError
from graphveil.privacy import mechanisms
from graphveil.protocol.stages.count import Count
from graphveil.report.privacy_card import PrivacyCard, privacy_card
from graphveil.rows.accumulators import statistic_for
from graphveil.rows.encoding import Encoder
from graphveil.rows.evaluator import Evaluator
from graphveil.rows.sources import open_source
from graphveil.spec import sensitivity
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.quantization import MomentLayout
from graphveil.spec.queries import CellCounts, ColumnMeans, Moments, NormCounts, RowCount, RowMap
from graphveil.spec.row_space import RowSpace
from helpers.people import answer, hidden, queries_for, squared_move, visits, wild_rows

BUDGET = gv.Budget(1.0, 1e-6)
DOMAIN = gv.Domain(bounds=(-5, 8), neighbours="add-remove")


def setting(p):
    domain = gv.Domain(bounds=(-1.0, 1.0), n_features=p, person="id", neighbours="add-remove")
    encoder = Encoder(domain, None, shift=True)
    return encoder, RowSpace(p, encoder.lattice, MomentLayout(p, None), weighs=True, hides_count=True)


def added(query, space, encoder, rows):
    """What somebody with these rows adds to an answer, in exact integers, and nobody adds."""
    found = answer(query, space, encoder, rows)
    nothing = answer(query, space, encoder, rows[:0], m=1)
    for group, values in nothing.items():
        assert not values.any(), f"without rows, {group} is zero"
    return {name: found[name] for name in found if name != "trace"}, {n: v for n, v in nothing.items() if n != "trace"}


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 50))
def test_one_person_more_moves_no_answer_farther_than_claimed(seed, p, m):
    rng = np.random.default_rng(seed)
    encoder, space = setting(p)
    rows = wild_rows(rng, m, p)
    for query in queries_for(rng, p, encoder.lattice):
        assert squared_move(query, *added(query, space, encoder, rows)) <= hidden(query, space), type(query).__name__


@pytest.mark.parametrize("m", [1, 3, 1000])
def test_some_people_move_answers_that_far(m):
    encoder, space = setting(2)
    span = float(encoder.lattice.levels)
    window = (np.full(2, -span), np.full(2, span))
    row_map = RowMap.of(np.eye(2) / span, np.zeros(2), *window)
    far = np.tile([1.0, 1.0], (m, 1))
    for query in (
        ColumnMeans(*window, np.ones(2), np.arange(2.0)),
        CellCounts(np.arange(2.0)),
        NormCounts(np.array([0.5]), row_map),
        Moments(1.4, 0.0, row_map),
    ):
        move = squared_move(query, *added(query, space, encoder, far))
        assert float(move) >= float(hidden(query, space)) * (1.0 - 1e-4 - 4 * m / 2**20), type(query).__name__


def test_noise_is_that_of_one_person_more():
    """√2 less than for replacing on moments and counts; the trace is left out, because it would cost that again."""
    _, space = setting(3)
    plain = replace(space, hides_count=False)
    for query in (Moments(math.sqrt(3.0)), CellCounts(np.arange(3.0)), NormCounts(np.array([1.0]))):
        less, more = (mechanisms.step_for(query, s, 1, 0.3, 2.0**-70) for s in (space, plain))
        assert less.groups[0].sd * math.sqrt(2.0) == pytest.approx(more.groups[0].sd, rel=1e-9)
        assert "trace" not in {group.name for group in less.groups}


def test_without_a_trace_the_total_variance_is_least():
    for p in (2, 5, 50):
        d = p * (p + 1) // 2
        total = [(1.0 + t**2) * (d - 1.0 + 1.0 / (1.0 + p * t**2)) for t in np.linspace(0.0, 2.0, 50)]
        assert np.argmin(total) == 0


# ------------------------------------------------------------------ the number of people is secret
def exact_words(made):
    """Everything that is published about a release, as text."""
    card = privacy_card(made)
    assert isinstance(card, PrivacyCard)
    said = [repr(made), made.guarantee, made._repr_html_(), made.event.to_json(), made.domain.to_json(), str(card)]
    return "\n".join([*said, json.dumps(made._header)])


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("by_person", [True, False])
def test_the_exact_number_is_published_nowhere(by_person, adaptive, tmp_path):
    rows, ids = visits(0, n_people=7919)
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("visits", gv.Budget(3.0, 1e-5))
    options = {"person": ids} if by_person else {}
    made = gv.release(rows, domain=DOMAIN, budget=BUDGET, adaptive=adaptive, ledger=ledger, dataset="visits", **options)
    n = 7919 if by_person else len(rows)
    # That the noise is a multiple of its lattice and exactly zero has probability 10⁻¹³; rounded, one in 75.
    if made.n_samples != n:
        assert not re.search(rf"(?<![0-9a-f])({n}|{n:,})(?![0-9a-f])", exact_words(made))
    assert made.event.n_samples is None
    assert abs(made.n_samples - n) < 6.0 * made.count_sd
    assert made.count_sd == pytest.approx(1.0 / (BUDGET.mu * math.sqrt(0.02)), rel=1e-3)
    assert "adding or removing one" in made.guarantee
    assert "secret" in str(ledger.history("visits"))
    assert gv.Release.from_bytes(made.to_bytes()) == made
    assert gv.recover(made).covariance.shape == (3, 3)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("options", [{}, {"adaptive": False}, {"person": True}], ids=["adaptive", "one", "person"])
def test_an_empty_table_is_released_like_any_other(n, options):
    """Whether there is a first row at all is a secret too."""
    options = options | ({"person": np.arange(n)} if "person" in options else {})
    for seed in range(3):
        made = gv.release(np.ones((n, 2)), domain=DOMAIN, budget=BUDGET, random_state=seed, **options)
        assert made.n_samples >= 1


@pytest.mark.parametrize("adaptive", [True, False])
def test_rows_that_must_be_read_to_be_counted_are_released(adaptive):
    """A frame does not know how long it is: an error in the pass that counts would say it."""
    rows = np.ones((731, 2))
    frame = pa.table({"a": rows[:, 0], "b": rows[:, 1]})
    domain = gv.Domain({"a": (-1, 1), "b": (-1, 1)}, neighbours="add-remove")
    made = [
        gv.release(source, domain=domain, budget=BUDGET, adaptive=adaptive, random_state=0) for source in (frame, rows)
    ]
    assert made[0].n_samples == made[1].n_samples
    assert (made[0].second_moment == made[1].second_moment).all()


def test_no_warning_depends_on_the_number(recwarn):
    """δ is large against 1/n, which is only said where n is public."""
    rows = np.zeros((50, 2))
    gv.release(rows, domain=DOMAIN, budget=gv.Budget(1.0, 0.1), adaptive=False)
    assert not recwarn.list


def test_queries_depend_on_the_released_number_alone(monkeypatch):
    """Two tables of very different sizes whose released numbers agree are asked the same first questions."""
    asked = []

    class Told(Exception):
        pass

    def tell(inputs):
        asked.append(inputs)
        raise Told

    monkeypatch.setattr("graphveil.strategies.adaptive_rounds", tell)
    monkeypatch.setattr("graphveil.rows.accumulators.Count.answer", lambda self, query: {"count": np.array([5000])})
    for n in (10, 20_000):
        with pytest.raises(Told):
            gv.release(np.zeros((n, 2)), domain=DOMAIN, budget=BUDGET, random_state=0)
    assert asked[0] == asked[1]
    assert asked[0].n_samples != 10


def test_windows_that_do_not_hold_zero_still_add_nothing_without_rows():
    _, space = setting(1)
    query = ColumnMeans(np.array([5.0]), np.array([11.0]), np.ones(1), np.zeros(1))
    totals = statistic_for(query, space)
    assert totals.answer(query)["means"] == [0]
    totals.update(np.array([[100.0]]), np.array([2**20]))
    assert totals.answer(query)["means"] == [3 * 2**20]
    assert mechanisms.step_for(query, space, 1, 1.0, 2.0**-70).sensitivity >= 3 * 2**20


def test_released_means_and_variances_count_the_noise_of_the_number():
    rng = np.random.default_rng(0)
    rows = rng.normal(4.0, 0.5, size=(4000, 2))
    found = []
    for seed in range(60):
        made = gv.release(rows, domain=DOMAIN, budget=BUDGET, adaptive=False, random_state=seed)
        error = (made.location - rows.mean(axis=0)) / np.sqrt(np.diag(made.location_noise))
        spread = (made.second_moment - np.cov(rows.T, bias=True)) / made.noise_sd
        found.append([*error, *spread[np.triu_indices(2)]])
    assert 0.75 < np.std(found) < 1.25


# ------------------------------------------------------------------ what does not go together
def test_ledger_does_not_add_two_relations(tmp_path):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("d", gv.Budget(6.0, 1e-5))
    rows = np.zeros((100, 2))
    options = {"budget": BUDGET, "ledger": ledger, "dataset": "d"}
    gv.release(rows, domain=DOMAIN, **options)
    gv.release(rows, domain=replace(DOMAIN, rows_per_person=3), **options)
    spent = ledger.spent("d")
    assert spent.epsilon > 2.9, "three times the first, for people with three rows"
    for other in (replace(DOMAIN, neighbours="replace"), replace(DOMAIN, person="id")):
        given = {"person": np.arange(100)} if other.person else {}
        with pytest.raises(LedgerError, match="cannot be added up"):
            gv.release(rows, domain=other, **given, **options)
    assert ledger.spent("d") == spent
    ledger.verify()


def test_a_ledger_of_people_says_what_would_fit(tmp_path):
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("d", gv.Budget(1.1, 1e-6))
    options = {"person": np.arange(2000), "budget": BUDGET, "ledger": ledger, "dataset": "d"}
    gv.release(np.zeros((2000, 2)), domain=gv.Domain(bounds=(-5, 8)), **options)
    with pytest.raises(gv.exceptions.BudgetExceeded, match="would fit"):
        gv.release(np.zeros((2000, 2)), domain=gv.Domain(bounds=(-5, 8)), **options)


REFUSED = {
    "labels": ({"labels": gv.Labels(["a", "b"]), "adaptive": False}, "labels must be None"),
    "the paper's mechanism": ({"mechanism": "paper", "assume_centered": True, "adaptive": False}, "mechanism must be"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_kept_is_refused_by_name(kind):
    options, message = REFUSED[kind]
    with pytest.raises(InvalidParameter, match=message):
        gv.release((np.zeros((9, 2)), ["a"] * 9), domain=DOMAIN, budget=BUDGET, **options)


def test_norms_sites_and_batches_are_refused_by_name():
    with pytest.raises(InvalidParameter, match="data_norm must be a number"):
        gv.Domain(data_norm="private", neighbours="add-remove")
    parts = [gv.release(np.zeros((9, 2)), domain=DOMAIN, budget=BUDGET, random_state=seed) for seed in (0, 1)]
    with pytest.raises(InvalidParameter, match="cannot be merged"):
        gv.merge_releases(parts)
    facts = {"budget": BUDGET, "mu": 0.2, "eta": 0.0, "mechanism": "default", "rounds": "one", "rows_per_person": 1}
    for n, neighbours in ((5, "add-remove"), (None, "replace")):
        with pytest.raises(InvalidParameter, match="number of records"):
            ReleaseEvent(**facts, n_samples=n, neighbours=neighbours, seeded=False)


def test_people_who_are_too_many_for_their_ids_are_refused_from_the_noisy_number(monkeypatch):
    monkeypatch.setattr(
        "graphveil.rows.accumulators.Count.answer", lambda self, query: {"count": np.array([2**31], dtype=object)}
    )
    with pytest.raises(InvalidParameter, match="for so many people"):
        gv.release(np.zeros((9, 2)), person=np.arange(9), domain=DOMAIN, budget=BUDGET)


def test_queries_without_a_proof_are_refused():
    class Unproven(CellCounts):
        """Counts that somebody adds later."""

    with pytest.raises(GuaranteeError, match="no proof"):
        mechanisms.step_for(Unproven(np.zeros(1)), setting(1)[1], 1, 0.3, 2.0**-70)


def test_files_with_a_person_column(tmp_path):
    rows, ids = visits(3)
    pa.parquet.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1], "id": ids}), tmp_path / "rows.parquet")
    bounds = {"a": (-5, 8), "b": (-5, 8)}
    for variation in ("total", "between", "within"):
        domain = gv.Domain(bounds=bounds, person="id", variation=variation, neighbours="add-remove")
        options = {"domain": domain, "budget": gv.Budget(4.0, 1e-6), "random_state": 0}
        made = gv.release(tmp_path / "rows.parquet", **options)
        assert abs(made.n_samples - 500) < 6.0 * made.count_sd
        again = gv.release(rows[:, :2], person=ids, **(options | {"domain": replace(domain, columns=("a", "b"))}))
        assert again.answers[-1].values["diagonal"].tolist() == made.answers[-1].values["diagonal"].tolist()


# ------------------------------------------------------------------ planted bugs are found
def test_planted_bug__the_trace_comes_along():
    encoder, space = setting(2)
    query = Moments(math.sqrt(2.0))
    with_trace = answer(query, space, encoder, np.ones((1, 2)))
    nothing = {name: np.zeros_like(values) for name, values in with_trace.items()}
    assert squared_move(query, with_trace, nothing) > hidden(query, space)


def test_planted_bug__means_that_are_not_about_the_middle():
    encoder, space = setting(1)
    span = float(encoder.lattice.levels)
    query = ColumnMeans(np.array([span / 2]), np.array([span]), np.ones(1), np.zeros(1))
    plain = replace(space, hides_count=False)
    moved = answer(query, plain, encoder, np.ones((1, 1)))
    assert int(moved["means"][0]) ** 2 > hidden(query, space)


def test_planted_bug__the_noise_of_replacing_a_person_by_half(monkeypatch):
    """A count that moves by two: somebody counted once for each of two rows."""
    monkeypatch.setattr(sensitivity, "added_count_sensitivity", lambda rows_per_person: 0.5)
    step = mechanisms.step_for(RowCount(), setting(1)[1], 1, 0.3, 2.0**-70)
    assert step.sensitivity < 1.0


def test_planted_bug__rows_counted_instead_of_people():
    rows, ids = visits(8)
    domain = gv.Domain(bounds=(-5, 8), n_features=3, person="id", neighbours="add-remove")
    evaluator = Evaluator(open_source(rows, domain, None, person=ids), domain, None, adaptive=True)
    (count,) = evaluator.evaluate([RowCount()])
    assert count.answer(RowCount())["count"] == [500]


def test_shares_leave_what_was_spent():
    spent = 1.0 - Count().mu_after(1.0) ** 2
    ((query, share),) = next(Count().ask(DOMAIN))
    assert isinstance(query, RowCount)
    assert share <= spent
