"""Theorem 19: normal scores of ranks cost what they say, and are a function of one record and of published numbers."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import graphveil as gv
from graphveil.engines.sql_recoding import check_kinds
from graphveil.exceptions import InvalidParameter, SourceError
from graphveil.protocol.stages.ranks import with_normal_scores
from graphveil.rows.accumulators import CellCounter
from graphveil.rows.recoding import Recoder
from graphveil.spec.augmentation import Constant
from graphveil.spec.codebook import Codebook
from graphveil.spec.quantization import RowGrid
from graphveil.spec.queries import CellCounts
from graphveil.spec.sensitivity import cell_sensitivity
from helpers.exact_sums import encoded

BUDGET = gv.Budget(8.0, 1e-6)
N = 4000
DOMAIN = gv.Domain(
    {
        "cost": gv.Number(0.01, 1e4, scale="rank"),
        "age": gv.Number(-5, 110, scale="rank", missing=[999]),
        "mood": gv.Ordinal(["low", "middle", "high"], scale="rank"),
        "ward": gv.Category(["A", "B"]),
    }
)


def frame(seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((N, 3)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(3)).T
    return pd.DataFrame(
        {
            "cost": np.exp(2 * z[:, 0]),
            "age": np.where(rng.random(N) < 0.2, 999.0, 40 + 12 * z[:, 1]),
            "mood": np.array(["low", "middle", "high"])[np.digitize(z[:, 2], [-1.0, 1.5])],
            "ward": rng.choice(["A", "B"], N),
        }
    )


RELEASE = gv.release(frame(), domain=DOMAIN, budget=BUDGET, random_state=0)


def test_the_counts_are_part_of_the_one_charge():
    first = RELEASE.answers[0]
    assert isinstance(first.query, CellCounts)
    np.testing.assert_array_equal(first.query.columns, [0, 1, 2])
    assert first.step.mu * first.step.groups[0].sd >= cell_sensitivity(3, 1)
    spent = sum(answer.step.mu**2 for answer in RELEASE.answers)
    assert 0.99 * RELEASE.event.mu**2 < spent <= RELEASE.event.mu**2


def test_curves_are_made_of_published_numbers_alone():
    """From the answer in the release the same domain comes out again, and its file has it."""
    assert with_normal_scores(DOMAIN, RELEASE.answers[0]) == RELEASE.domain
    again = gv.Release.from_bytes(RELEASE.to_bytes())
    assert again == RELEASE
    assert RELEASE.columns == ("rank(cost)", "rank(age)", "rank(mood)", "ward[B]")
    np.testing.assert_array_equal(gv.recover(again).covariance, gv.recover(RELEASE).covariance)


def test_scores_are_near_those_of_the_true_distributions():
    """Of a standard normal variable; the noise is seeded."""
    recoder = Recoder(RELEASE.domain.codebook)
    cells = np.array([[math.exp(2 * z), 40 + 12 * z, 0.0, 0.0] for z in (-1.5, -0.5, 0.0, 0.5, 1.5)])
    found = recoder.recode(cells)
    np.testing.assert_allclose(found[:, :2], [[z, z] for z in (-1.5, -0.5, 0.0, 0.5, 1.5)], atol=0.2)
    np.testing.assert_allclose(RELEASE.domain.codebook.kinds[2].normal_scores, [-1.53, 0.17, 1.94], atol=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_any_row_stays_in_the_ball_and_depends_on_itself_alone(seed):
    rng = np.random.default_rng(seed)
    extreme = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, 0.01, 1e4, 999.0, 40.0, 1.0, 2.0]
    rows = rng.choice(extreme, size=(300, 4))
    found = encoded(rows, RELEASE.domain)
    levels = np.abs(encoded(np.array([[1e4, 110.0, 2.0, 1.0]]), RELEASE.domain)).max()
    assert np.abs(found).max() <= levels
    for number in range(0, 300, 50):
        np.testing.assert_array_equal(encoded(rows[number : number + 1], RELEASE.domain)[0], found[number])


def test_scores_rise_with_values():
    kind = RELEASE.domain.codebook.kinds[0]
    values = np.exp(np.linspace(math.log(0.001), math.log(1e5), 4001))
    scores = Recoder(Codebook.of({"a": kind})).recode(values[:, None])[:, 0]
    assert (np.diff(scores) >= 0.0).all()
    assert scores[0] == kind.normal_scores[0][1]
    assert scores[-1] == kind.normal_scores[-1][1]


def test_one_record_moves_the_counts_by_no_more_than_theirs():
    """Over all pairs of a few records, the bound is reached and never broken."""
    records = [[0.01, -5.0], [1e4, 110.0], [3.0, 40.0], [3.0, np.nan]]
    domain = gv.Domain({"cost": DOMAIN.codebook.kinds[0], "age": DOMAIN.codebook.kinds[1]})
    query, counted = CellCounts(np.arange(2.0)), []
    for record in records:
        counter = CellCounter(query, RowGrid.of(domain, None).levels)
        counter.update(encoded(np.array([record]), domain, Constant(), marks_gaps=True))
        counted.append(counter.answer(query)["cells"].astype(float))
    moved = [np.linalg.norm(one - other) for one, other in itertools.combinations(counted, 2)]
    assert max(moved) <= cell_sensitivity(2, 1)
    assert max(moved) == pytest.approx(cell_sensitivity(2, 1))


def test_scores_of_an_earlier_release_cost_nothing():
    again = gv.release(frame(1), domain=RELEASE.domain, budget=BUDGET, random_state=1)
    assert again.domain == RELEASE.domain
    assert not isinstance(again.answers[0].query, CellCounts)
    assert gv.recover(again).columns == RELEASE.columns


def test_sources_that_must_be_counted_first_are_encoded_anew():
    """What was summed while rows were counted is not used for scores."""
    parts = [frame()[:1000], frame()[1000:]]
    assert gv.release(parts, domain=DOMAIN, budget=BUDGET, random_state=0) == RELEASE


def test_synthetic_rows_have_the_distribution_of_the_column():
    rows = gv.sample(RELEASE, 4000, random_state=0).to_frame()
    assert np.log(rows["cost"]).std() == pytest.approx(2.0, rel=0.15)
    assert (rows["mood"] == "high").mean() == pytest.approx(0.067, abs=0.04)


@pytest.mark.parametrize("kind", [gv.Number(1, 9, scale="rank"), gv.Ordinal([1, 2], scale="rank")])
def test_databases_refuse_ranks_by_name(kind):
    with pytest.raises(SourceError, match=r'scale="rank"\) is not computed by databases yet'):
        check_kinds(Codebook.of({"a": kind}))


NAMED = {"cost": gv.Number(1, 9, scale="rank"), "b": (0, 1)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gv.Number(0, 1, scale="rank", normal_scores=((0.0, 1.0), (1.0, 0.0))), "normal_scores must be"),
        (lambda: gv.Number(0, 1, scale="rank", normal_scores=((0.0, 1.0), (2.0, 2.0))), "within the bounds"),
        (lambda: gv.Number(0, 1, normal_scores=((0.0, 1.0), (1.0, 2.0))), "normal_scores must be"),
        (lambda: gv.Number(0, 1, scale="rank", normal_scores=((0.0, -99.0), (1.0, 0.0))), "normal_scores must be"),
        (lambda: gv.Ordinal([1, 2, 3], scale="rank", normal_scores=(0.0, 1.0)), "one score for every level"),
        (lambda: gv.Ordinal([1, 2], scale="log"), "one of 'scores', 'rank'"),
        (lambda: gv.Ordinal(range(2000), scale="rank"), "at most 1024"),
        (lambda: gv.Domain(NAMED, person="id", variation="between"), 'other than "rank" with variation="between"'),
        (lambda: gv.Domain(NAMED, data_norm=1.0), 'data_norm must be None with scale="rank"'),
        (lambda: gv.Domain(NAMED, person="id", variation="within"), 'other than "rank" with variation="within"'),
        (lambda: released(adaptive=False), 'adaptive must be True with scale="rank"'),
        (lambda: released(assume_centered=True), 'assume_centered must be False with scale="rank"'),
        (lambda: released(by={"g": ["x", "y"]}), 'by must be None with scale="rank"'),
        (lambda: gv.PrivatePrecision(1, 1e-6, bounds=NAMED).partial_fit(np.ones((9, 2))), "rows are collected batch"),
    ],
)
def test_refusals(make, message):
    with pytest.raises((InvalidParameter, SourceError), match=message):
        make()


def released(**options):
    return gv.release(np.ones((9, 2)), domain=gv.Domain(NAMED), budget=BUDGET, **options)


def test_ranks_are_the_same_bits_in_partitions():
    """With gaps and weights, and of people: what is counted, and every sum of scores, are exact integers."""
    dask = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(1)
    table = frame()[:1500].assign(w=rng.uniform(0.5, 4.0, 1500), id=rng.integers(0, 900, 1500))
    domain = replace(DOMAIN, weight=gv.Weight("w", largest=4.0), person="id")
    asked = {"domain": domain, "budget": BUDGET, "random_state": 0}
    assert gv.release(dask.from_pandas(table, npartitions=3), **asked) == gv.release(table, **asked)


def strata(seed):
    """Half of the rows lie low and go together, half lie high and do not; the first count eight times as much."""
    rng = np.random.default_rng(seed)
    low = rng.random(6000) < 0.5
    z = rng.standard_normal((6000, 2))
    z[:, 1] = np.where(low, 0.9, -0.9) * z[:, 0] + np.sqrt(0.19) * z[:, 1]
    rows = np.exp(z + np.where(low, 0.0, 1.0)[:, None])
    return pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "w": np.where(low, 4.0, 0.5)})


def weighted_scores(values, weights):
    """Without privacy: the normal score of the weighted rank of each value."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2.0
    scores = np.empty(len(values))
    scores[order] = norm.ppf(below / weights.sum())
    return scores


def test_ranks_are_those_of_the_weighted_population():
    table = strata(0)
    kind = gv.Number(1e-3, 1e3, scale="rank")
    domain = gv.Domain({"a": kind, "b": kind}, weight=gv.Weight("w", largest=4.0))
    found = gv.recover(gv.release(table, domain=domain, budget=BUDGET, random_state=0))
    weights = table["w"].to_numpy()
    scores = [weighted_scores(table[name].to_numpy(), weights) for name in "ab"]
    reference = np.cov(scores, aweights=weights)
    plain = np.cov([weighted_scores(table[name].to_numpy(), np.ones(6000)) for name in "ab"])
    assert plain[0, 1] < reference[0, 1] - 0.4, "weights matter here"
    assert np.abs(found.covariance - reference).max() < 0.3
    assert np.abs(found.location).max() < 0.2
