"""Theorem 13: a person moves no answer farther than one row does, however many rows they have."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import InvalidParameter, LedgerError, SourceError
from graphveil.rows import accumulators
from graphveil.rows.accumulators import statistic_for
from graphveil.rows.encoding import Encoder
from graphveil.rows.ids import Hasher, _draw_point, _times
from graphveil.rows.people import People
from graphveil.rows.person_means import DeviationEncoder, PersonMeans
from graphveil.rows.sources import open_source
from graphveil.spec.events import collision_probability
from graphveil.spec.quantization import PERSON_WEIGHT, MomentLayout
from graphveil.spec.queries import CellCounts, ColumnMeans, Moments, NormCounts, RowMap
from graphveil.spec.row_space import RowSpace
from helpers.people import answer, hidden, queries_for, squared_move, visits, wild_rows

BUDGET = gv.Budget(1.0, 1e-6)


def setting(p):
    domain = gv.Domain(bounds=(-1.0, 1.0), n_features=p, person="id")
    encoder = Encoder(domain, None, shift=True)
    return encoder, RowSpace(p, encoder.lattice, MomentLayout(p, None), weighs=True, n_people=7)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 50), st.integers(0, 50))
def test_people_move_no_answer_farther_than_one_row(seed, p, m, other_m):
    rng = np.random.default_rng(seed)
    encoder, space = setting(p)
    ours, theirs = wild_rows(rng, m, p), wild_rows(rng, other_m, p)
    for query in queries_for(rng, p, encoder.lattice):
        move = squared_move(query, answer(query, space, encoder, ours), answer(query, space, encoder, theirs))
        assert move <= hidden(query, space), type(query).__name__


@pytest.mark.parametrize("m", [1, 2, 3, 16, 1000])
def test_some_people_move_answers_that_far(m):
    """Opposite corners, as often as one likes."""
    encoder, space = setting(2)
    span = float(encoder.lattice.levels)
    window = (np.full(2, -span), np.full(2, span))
    row_map = RowMap.of(np.eye(2) / span, np.zeros(2), *window)
    far, other = np.tile([1.0, 1.0], (m, 1)), np.tile([-1.0, -1.0], (m, 1))
    across = np.tile([1.0, -1.0], (m, 1))
    reached = {
        ColumnMeans(*window, np.ones(2), np.arange(2.0)): (far, other),
        CellCounts(np.arange(2.0)): (far, other),
        NormCounts(np.array([0.5]), row_map): (far, np.zeros((m, 2))),
        Moments(1.4, 0.0, row_map): (far, across),
    }
    for query, pair in reached.items():
        move = squared_move(query, *(answer(query, space, encoder, rows) for rows in pair))
        # Weights and scaled rows are rounded down: by a part in 2²⁰/m, and by m steps of 2²⁰/√m.
        assert float(move) >= float(hidden(query, space)) * (1.0 - 1e-4 - 4 * m / 2**20), type(query).__name__


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(2, 5))
def test_people_whose_rows_are_all_doubled_count_as_before(seed, m, times):
    """Up to the rounding of weights, which never adds anything."""
    rng = np.random.default_rng(seed)
    encoder, space = setting(3)
    rows = wild_rows(rng, m, 3)
    for query in queries_for(rng, 3, encoder.lattice):
        once, often = (answer(query, space, encoder, np.tile(rows, (k, 1))) for k in (1, times))
        assert squared_move(query, once, often) <= 1e-6 * float(hidden(query, space))


def test_people_with_a_million_rows_move_nothing_more():
    rng = np.random.default_rng(0)
    encoder, space = setting(3)
    for query in queries_for(rng, 3, encoder.lattice):
        rows = wild_rows(rng, 8192, 3)
        statistic = statistic_for(query, space)
        encoded = np.empty((len(rows), encoder.width))
        encoder.encode(np.ascontiguousarray(rows), None, encoded)
        for _ in range(128):  # 2²⁰ rows of one person
            statistic.update(encoded, np.full(len(rows), 1))
        nothing = {name: np.zeros_like(values) for name, values in statistic.answer(query).items()}
        if isinstance(query, ColumnMeans):  # about the public point next to zero
            nothing = statistic_for(query, space).answer(query)
        assert squared_move(query, statistic.answer(query), nothing) <= hidden(query, space)


# ------------------------------------------------------------------ ids
KINDS = {
    "integers": lambda ids: np.array(ids),
    "unsigned": lambda ids: np.array(ids, dtype=np.uint64),
    "text": lambda ids: np.array([f"patient {i:06d}" for i in ids]),
    "objects": lambda ids: np.array([f"{i}" for i in ids], dtype=object),
    "bytes": lambda ids: [b"%d" % i for i in ids],
    "a list": lambda ids: list(ids),
    "arrow": lambda ids: pa.array([f"{i}" for i in ids]),
    "chunks": lambda ids: pa.chunked_array([pa.array(ids[:10]), pa.array(ids[10:])]),
    "views": lambda ids: pa.array([f"{i}" for i in ids]).cast(pa.string_view()),
    "a slice": lambda ids: pa.array(["x", "y", *(f"{i}" for i in ids)])[2:],
    "a dictionary": lambda ids: pa.array([f"{i}" for i in ids]).dictionary_encode(),
    "uuids": lambda ids: pa.array([b"%016d" % i for i in ids], pa.binary(16)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_every_exact_type_are_counted_exactly(kind):
    rng = np.random.default_rng(3)
    ids = rng.permutation(np.repeat(np.arange(3000), rng.integers(1, 9, 3000))).tolist()
    keys = Hasher().keys_of(KINDS[kind](ids))
    people = People()
    for part in np.array_split(keys, 7):
        people.add(np.ascontiguousarray(part))
    counts = np.bincount(ids)
    assert people.count() == 3000
    np.testing.assert_array_equal(people.weigh(keys)[0], PERSON_WEIGHT // counts[ids])
    assert people.weigh(keys)[1] == people.checksum


@pytest.mark.filterwarnings("ignore::pandas.errors.DtypeWarning")
def test_ids_that_pandas_reads_as_integers_and_as_text_are_one(tmp_path):
    """A stretch of a file without a letter becomes integers, the next one text, in one column of objects."""
    lines = [f"0,{i % 1000}\n" for i in range(300_000)]
    (tmp_path / "ids.csv").write_text("".join(["x,id\n", *lines, "0,X1\n"]))
    frame = pd.read_csv(tmp_path / "ids.csv")
    assert {type(name) for name in frame["id"]} == {int, str}
    asked = {"domain": gv.Domain({"x": (-1, 1)}, person="id"), "budget": gv.Budget(1.0, 1e-4), "adaptive": False}
    assert gv.release(frame, **asked).n_samples == gv.release(tmp_path / "ids.csv", **asked).n_samples == 1001


def test_products_modulo_the_prime():
    rng = np.random.default_rng(0)
    prime = 2**61 - 1
    for _ in range(2000):
        a, b = (int(value) for value in rng.integers(0, prime, 2))
        a, b = (prime - 1 - a % 3, b) if rng.random() < 0.2 else (a, b)
        assert int(_times(np.uint64(a), np.uint64(b))) == a * b % prime


def test_points_are_drawn_anew_for_every_source():
    assert len({_draw_point() for _ in range(100)}) == 100
    text = np.array(["the same"])
    assert Hasher().keys_of(text).tolist() != Hasher().keys_of(text).tolist()


def test_similar_ids_are_told_apart():
    """Every change of one byte, every prefix, words that swap places, zeros inside."""
    text = bytes(range(1, 60))
    ids = {text[:end] for end in range(1, 60)} | {text[:i] + b"\0" + text[i + 1 :] for i in range(58)}
    ids |= {text + b"\0" * k + b"x" for k in range(1, 20)} | {text[7:14] + text[:7] + text[14:], text[::-1]}
    keys = Hasher().keys_of(sorted(ids))
    assert len({tuple(key) for key in keys.tolist()}) == len(ids)


# ------------------------------------------------------------------ the whole release
def test_release_by_person_says_so_and_hides_the_number_of_rows():
    rows, ids = visits(0)
    made = gv.release(rows, person=ids, domain=gv.Domain(bounds=(-5, 8)), budget=BUDGET)
    assert made.event.n_samples == 500
    assert "one person with all their records; the number of people, 500, is public." in made.guarantee
    _, _, content = made.to_bytes().decode("latin-1").split("\n", 2)  # after the format and the length of the header
    for text in (content, repr(made), made.guarantee, made.domain.to_json()):
        # As a number of its own: the same digits may stand inside of a checksum or a noisy number.
        assert not re.search(rf"(?<![0-9a-f.]){len(rows)}(?![0-9a-f.])", text)
    assert made.event.eta >= collision_probability(500)
    assert repr(made).startswith("<Release of 3 columns, 500 people: ")


def test_millions_of_people_are_not_too_many():
    """Their ids collide with less than a thousandth of δ, which is charged."""
    n = 3_000_000
    options = {"adaptive": False, "budget": gv.Budget(1.0, 1e-9), "random_state": 0}
    made = gv.release(np.zeros((n, 1)), person=np.arange(n), domain=gv.Domain(bounds=(-1, 1)), **options)
    assert made.event.n_samples == n
    assert collision_probability(n) < made.event.eta < 1e-3 * 1e-9 / (1.0 + math.e)


def test_a_budget_without_room_for_ids_that_collide_is_refused_as_what_it_is():
    """Thirty people are not too many: ε is too large."""
    rows = np.zeros((30, 2))
    with pytest.raises(InvalidParameter, match="epsilon = 60 is too large, or delta = 1e-06 too small"):
        gv.release(rows, person=np.arange(30), domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(60.0, 1e-6))


def test_release_by_person_is_the_release_of_everybodys_average():
    """With people of one row each: the same numbers, in other units."""
    rows, _ = visits(1, most=1)
    domain, rng = gv.Domain(bounds=(-5, 8)), np.random.default_rng(0)
    plain = gv.release(rows, domain=domain, budget=gv.Budget(30.0, 1e-6), random_state=3)
    named = gv.release(
        rows, person=rng.permutation(len(rows)), domain=domain, budget=gv.Budget(30.0, 1e-6), random_state=3
    )
    np.testing.assert_allclose(named.second_moment, plain.second_moment, atol=1e-3)
    np.testing.assert_allclose(named.location, plain.location, atol=1e-3)


def test_release_by_person_weighs_people_equally():
    """One person with most of the rows counts as one."""
    rng = np.random.default_rng(0)
    rows, ids = rng.normal(size=(3000, 2)), np.arange(3000)
    rows, ids = np.vstack([rows, np.full((50_000, 2), 4.0)]), np.append(ids, np.zeros(50_000, dtype=int))
    made = gv.release(rows, person=ids, domain=gv.Domain(bounds=(-5, 5)), budget=gv.Budget(20.0, 1e-6), random_state=0)
    np.testing.assert_allclose(made.second_moment, np.eye(2), atol=0.15)
    assert np.abs(made.location).max() < 0.1


def test_release_by_person_refuses_what_it_cannot_keep():
    rows, ids = visits(2)
    domain = gv.Domain(bounds=(-5, 8))
    with pytest.raises(SourceError, match="The number of ids must be the number of rows") as caught:
        gv.release(rows, person=ids[:-1], domain=domain, budget=BUDGET)
    assert not any(character.isdigit() for character in str(caught.value)), "the number of rows is secret"
    with pytest.raises(SourceError, match="pass the ids separately"):
        gv.release(rows, domain=gv.Domain(bounds=(-5, 8), person="id"), budget=BUDGET)
    with pytest.raises(InvalidParameter, match="rows_per_person must be 1"):
        gv.Domain(bounds=(-5, 8), rows_per_person=2, person="id")
    with pytest.raises(InvalidParameter, match="person"):
        gv.Domain(bounds={"id": (0, 1)}, person="id")
    labels = gv.Labels(classes=["a", "b"])
    with pytest.raises(InvalidParameter, match="person must be None with labels"):
        gv.release(rows, person=ids, labels=labels, adaptive=False, domain=domain, budget=BUDGET)


def test_rows_that_change_hands_between_passes_are_refused():
    rows, ids = visits(4)
    domain = gv.Domain(bounds={"a": (-5, 8), "b": (-5, 8)}, person="id")
    starts = []

    def changing():
        starts.append(0)
        shown = ids.copy()
        if len(starts) > 5:  # the schema, the count and the first pass are over
            shown[np.flatnonzero(ids == 0)[0]] = 1  # as many rows of as many people, one of them another's
        return [pa.table({"a": rows[:, 0], "b": rows[:, 1], "id": shown})]

    with pytest.raises(SourceError, match="belong to other people"):
        gv.release(changing, domain=domain, budget=BUDGET)


def test_ledger_does_not_add_people_and_records(tmp_path):
    rows, ids = visits(5)
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("visits", gv.Budget(3.0, 1e-5))
    options = {"domain": gv.Domain(bounds=(-5, 8)), "budget": BUDGET, "ledger": ledger, "dataset": "visits"}
    gv.release(rows, person=ids, **options)
    gv.release(rows, person=ids, **options)
    spent = ledger.spent("visits")
    assert 1.0 < spent.epsilon < 2.0
    with pytest.raises(LedgerError, match="cannot be added up"):
        gv.release(rows, **options)
    assert ledger.spent("visits") == spent
    ledger.verify()


# ------------------------------------------------------------------ between people, and within
def person_means(rows, ids, domain):
    source = open_source(rows, domain, None, person=ids)
    people = People()
    for keys in source.iter_people():
        people.add(keys)
    encoder = Encoder(replace(domain, n_features=rows.shape[1], variation="total"), None, shift=True)
    return PersonMeans(source, encoder, people), encoder, people, source


DOMAINS = {"bounds": gv.Domain(bounds=(-1, 1), person="id"), "a norm": gv.Domain(data_norm=1.0, person="id")}


@pytest.mark.parametrize("kind", DOMAINS)
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 30))
def test_average_rows_and_deviations_are_rows_of_their_own_person_alone(kind, seed, p, m):
    rng, domain = np.random.default_rng(seed), DOMAINS[kind]
    ours, found = wild_rows(rng, m, p), []
    for _ in range(2):  # among other people
        others = wild_rows(rng, int(rng.integers(1, 40)), p)
        rows = np.vstack([ours, others])
        ids = np.append(np.full(m, 7), rng.integers(8, 12, len(others)))
        order = rng.permutation(len(rows))
        means, encoder, people, source = person_means(rows[order], ids[order], domain)
        _, keys = next(source.read())
        deviations = np.empty((len(rows), p))
        DeviationEncoder(means, encoder, people).encode(np.ascontiguousarray(rows[order]), keys, deviations)
        assert (means.average_rows() ** 2).sum(axis=1).max() <= encoder.lattice.row_square
        assert (deviations**2).sum(axis=1).max() <= encoder.lattice.row_square
        mine = deviations[np.argsort(order)][:m]
        row = np.rint(means.means[people.place(keys)][np.argsort(order)][0])
        found.append((mine, row))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 30), st.integers(1, 30))
def test_deviations_of_people_move_no_answer_farther_than_one_row(seed, p, m, other_m):
    rng = np.random.default_rng(seed)
    domain = DOMAINS["bounds"]
    encoder, space = setting(p)
    levels = float(encoder.lattice.levels)
    row_map = RowMap.of(rng.normal(size=(p, p)) / levels, np.zeros(p), np.full(p, -levels), np.full(p, levels))
    answers = []
    for count in (m, other_m):
        rows = wild_rows(rng, count, p)
        means, _, people, source = person_means(rows, np.zeros(count, dtype=int), domain)
        _, keys = next(source.read())
        encoded = np.empty((count, p))
        DeviationEncoder(means, encoder, people).encode(np.ascontiguousarray(rows), keys, encoded)
        statistic = statistic_for(Moments(1.5, 0.0, row_map), space)
        statistic.update(encoded, people.weigh(keys)[0])
        answers.append(statistic.answer(Moments(1.5, 0.0, row_map)))
    assert squared_move(None, *answers) <= hidden(Moments(1.5, 0.0, row_map), space)


def test_variation_between_and_within_people_add_up():
    rng = np.random.default_rng(0)
    m = rng.integers(1, 9, 3000)
    ids = np.repeat(np.arange(3000), m)
    rows = (rng.normal(size=(3000, 2)) @ [[1.0, 0.8], [0.0, 0.6]])[ids] + rng.normal(size=(len(ids), 2)) + 1.0
    means = np.stack([np.bincount(ids, column) / m for column in rows.T], axis=1)
    centred, weights = rows - means[ids], 1.0 / m[ids]
    truth = {
        "between": np.cov(means.T, bias=True),
        "within": (centred * weights[:, None]).T @ centred / 3000,
    }
    truth["total"] = truth["between"] + truth["within"]
    for variation, covariance in truth.items():
        domain = gv.Domain(bounds=(-7, 9), person="id", variation=variation)
        made = gv.release(rows, person=ids, domain=domain, budget=gv.Budget(20.0, 1e-6), random_state=0)
        np.testing.assert_allclose(gv.recover(made).covariance, covariance, atol=0.08)
        assert made.event.n_samples == 3000


@pytest.mark.parametrize(
    "options", [{"adaptive": False}, {"assume_centered": True}], ids=["one round", "assumed to be centred"]
)
def test_variation_is_refused_by_name_where_it_cannot_be_had(options):
    rows, ids = visits(6)
    domain = gv.Domain(bounds=(-5, 8), person="id", variation="within")
    with pytest.raises(InvalidParameter, match='with variation="within"'):
        gv.release(rows, person=ids, domain=domain, budget=BUDGET, **options)
    with pytest.raises(InvalidParameter, match="variation"):
        gv.Domain(bounds=(-5, 8), variation="between")


# ------------------------------------------------------------------ planted bugs are found
def test_planted_bug__counts_that_forget_the_weights(monkeypatch):
    monkeypatch.setattr(
        accumulators,
        "_count_in_bins",
        lambda bins, weights, size: PERSON_WEIGHT * np.bincount(bins, minlength=size),
    )
    encoder, space = setting(2)
    query = CellCounts(np.arange(2.0))
    pair = (answer(query, space, encoder, np.tile(corner, (3, 1))) for corner in ([1.0, 1.0], [-1.0, -1.0]))
    assert squared_move(query, *pair) > hidden(query, space)


@pytest.mark.parametrize("kind", [CellCounts, ColumnMeans])
def test_planted_bug__weights_that_are_rounded_up(kind):
    encoder, space = setting(2)
    window = np.full(2, float(encoder.lattice.levels))
    query = kind(np.arange(2.0)) if kind is CellCounts else kind(-window, window, np.ones(2), np.arange(2.0))
    moves = []
    for weight in (PERSON_WEIGHT // 3, PERSON_WEIGHT // 3 + 1):
        found = []
        for corner in ([1.0, 1.0], [-1.0, -1.0]):
            statistic, encoded = statistic_for(query, space), np.empty((3, 2))
            encoder.encode(np.tile(corner, (3, 1)), None, encoded)
            statistic.update(encoded, np.full(3, weight))
            found.append(statistic.answer(query))
        moves.append(squared_move(query, *found))
    assert moves[0] <= int(hidden(query, space)) * (1 + 2**-28)
    assert moves[1] > moves[0]
    # The sensitivity has a reserve of 2⁻³⁰; a weight that is one too large in 2²⁰/3 exceeds it.
    assert moves[1] > hidden(query, space)


def test_planted_bug__ids_of_32_bits():
    """300,000 ids: of 32 bits each, about ten pairs would be taken for one."""
    keys = Hasher().keys_of([f"{i:x}" for i in np.random.default_rng(0).permutation(2**40 - np.arange(300_000) ** 3)])
    for mask, all_told_apart in ((2**64 - 1, True), (2**32 - 1, False)):
        people = People()
        people.add(np.ascontiguousarray(np.stack([keys[:, 0] * (mask > 2**32), keys[:, 1] & np.uint64(mask)], axis=1)))
        assert (people.count() == 300_000) == all_told_apart
