"""Theorem 9: a norm found in private costs what it says, is safe, and is refused where it would not be."""

import warnings

import numpy as np
import pytest
from scipy import stats

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.protocol.stages.norm import Norm
from graphveil.rows.accumulators import NormCounter
from graphveil.rows.encoding import IdentityEncoder
from graphveil.rows.parallel import accumulate
from graphveil.rows.sources import open_source
from graphveil.spec.queries import NormCounts

BUDGET = gv.Budget(1.0, 1e-6)
PRIVATE = gv.Domain(data_norm="private")
EDGES = np.ldexp(1.0, np.arange(-128, 129, 2))


def counts(rows, edges=EDGES):
    query = NormCounts(edges)
    blocks = open_source(rows, PRIVATE, None)
    _, (found,) = accumulate(blocks, IdentityEncoder(rows.shape[1]), lambda: [NormCounter(query)])
    return found.answer(query)["counts"].astype(int)


def test_every_row_is_in_exactly_one_bin_whatever_it_holds():
    rng = np.random.default_rng(0)
    wild = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, 1e40, 1e-200], size=(5000, 7))
    total = counts(wild)
    assert total.sum() == 5000
    for row in wild[:200]:
        assert counts(row[None, :]).sum() == 1
    one = wild.copy()
    one[17] = rng.normal(size=7)
    assert np.abs(counts(one) - total).sum() in (0, 2), "replacing a row moves two counts by one"


def test_the_histograms_are_part_of_the_one_charge():
    rows = gv.simulate.gaussian_rows(np.eye(5), 5000, random_state=0)
    for adaptive in (False, True):
        charged = []

        class Ledger:
            def charge(self, dataset, event):
                charged.append(event)  # noqa: B023

        item = gv.release(
            rows, domain=PRIVATE, budget=BUDGET, ledger=Ledger(), dataset="d", assume_centered=True, adaptive=adaptive
        )
        assert charged == [item.event]
        assert item.norm_is_private
        assert all(isinstance(a.query, NormCounts) for a in item.answers[: len(Norm.asked)])
        spent = sum(a.step.mu**2 for a in item.answers)
        assert 0.99 * item.event.mu**2 < spent <= item.event.mu**2
        assert item.event.keeps_budget
        for answer in item.answers[: len(Norm.asked)]:
            assert answer.step.sd("counts") * answer.step.mu >= np.sqrt(2.0)


def test_the_counts_really_have_their_noise():
    """Unseeded releases; chi-square with controls: 0.8 and 1.25 of the declared noise are rejected."""
    rows = gv.simulate.gaussian_rows(np.eye(3), 5000, random_state=0)
    noise = []
    for _ in range(20):
        for answer in gv.release(rows, domain=PRIVATE, budget=BUDGET, assume_centered=True, adaptive=False).answers[
            : len(Norm.asked)
        ]:
            exact = counts(rows, answer.query.edges)
            noise.append((answer.values["counts"] - exact) / answer.step.sd("counts"))
    z = np.concatenate(noise)
    law, total = stats.chi2(z.size), (z**2).sum()
    assert 1e-7 < law.cdf(total) < 1 - 1e-7
    assert law.sf(total / 0.8**2) < 1e-6
    assert law.cdf(total / 1.25**2) < 1e-6


def test_the_noise_of_the_counts_hides_all_rows_of_a_person():
    rows = gv.simulate.gaussian_rows(np.eye(3), 20_000, random_state=0)
    domain = gv.Domain(data_norm="private", rows_per_person=4)
    item = gv.release(rows, domain=domain, budget=BUDGET, assume_centered=True, adaptive=False)
    for answer in item.answers[: len(Norm.asked)]:
        assert answer.step.sd("counts") * answer.step.mu >= 4 * np.sqrt(2.0)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e15])
@pytest.mark.parametrize("kind", ["gaussian", "t", "spread", "half of them zero"])
def test_the_norm_cuts_little_and_is_not_far_too_large(scale, kind):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4000, 10))
    if kind == "t":
        rows /= np.sqrt(rng.chisquare(5, size=(4000, 1)) / 5)
    elif kind == "spread":
        rows *= 10.0 ** rng.uniform(-2, 2, size=10)
    elif kind == "half of them zero":
        rows[::2] = 0.0
    norms = np.linalg.norm(rows, axis=1)
    for seed in range(10):
        item = gv.release(
            rows * scale, domain=PRIVATE, budget=BUDGET, random_state=seed, assume_centered=True, adaptive=False
        )
        assert np.mean(norms * scale > item.domain.data_norm) < 0.1
        assert item.domain.data_norm < 8 * scale * norms.max()


@pytest.mark.filterwarnings("ignore:Rows fill data_norm")
def test_it_is_within_a_tenth_of_the_best_public_norm():
    theta = gv.simulate.paper_model(4, 30, random_state=0)
    size = np.sqrt(np.trace(np.linalg.inv(theta)))
    errors = {}
    for norm in ("private", size, 1.25 * size, 2 * size):
        for seed in range(12):
            rows = gv.simulate.gaussian_rows(theta, 8000, random_state=seed)
            item = gv.release(
                rows, domain=gv.Domain(data_norm=norm), budget=BUDGET, random_state=seed, assume_centered=True
            )
            errors.setdefault(norm, []).append(gv.metrics.relative_loss(gv.recover(item).precision, theta))
    best = min(np.median(values) for norm, values in errors.items() if norm != "private")
    assert np.median(errors["private"]) < 1.1 * best


def test_too_few_rows_are_refused_before_anything_is_charged():
    class Ledger:
        def charge(self, dataset, event):
            raise AssertionError("charged")

    rows = np.random.default_rng(0).normal(size=(1000, 4))
    with pytest.raises(InvalidParameter, match=r"needs at least \d+ records at this budget, and there are 1000"):
        gv.release(
            rows, domain=PRIVATE, budget=BUDGET, ledger=Ledger(), dataset="d", assume_centered=True, adaptive=False
        )


def test_where_a_private_norm_makes_no_sense():
    with pytest.raises(InvalidParameter, match="data_norm must be a number or None where there are bounds"):
        gv.Domain(bounds=(-1, 1), data_norm="private")
    with pytest.raises(InvalidParameter, match='or "private"'):
        gv.Domain(data_norm="privat")
    with pytest.raises(InvalidParameter, match='a number with mechanism="paper"'):
        gv.release(
            np.ones((9, 2)), domain=PRIVATE, budget=BUDGET, mechanism="paper", assume_centered=True, adaptive=False
        )


def test_a_release_with_a_private_norm_survives_its_file(tmp_path):
    rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, 6), 5000, random_state=0)
    item = gv.release(rows, domain=PRIVATE, budget=BUDGET, random_state=0)
    item.save(tmp_path / "x.release")
    again = gv.Release.load(tmp_path / "x.release")
    assert again == item
    assert again.norm_is_private
    np.testing.assert_array_equal(gv.recover(again).precision, gv.recover(item).precision)
    assert gv.Domain.from_json(PRIVATE.to_json()) == PRIVATE


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 1e300, 1e-300])
def test_rows_of_one_value_never_crash(value):
    rows = np.full((3000, 3), value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
        for adaptive in (False, True):
            item = gv.release(rows, domain=PRIVATE, budget=BUDGET, random_state=0, adaptive=adaptive)
            assert np.isfinite(gv.recover(item).precision).all()
