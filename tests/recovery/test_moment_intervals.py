"""Intervals of means, standard deviations and correlations."""

import numpy as np
import pytest

import graphveil as gv
from graphveil._tables import decimals, fixed
from graphveil.exceptions import InvalidParameter

SIGMA = np.array([[1.0, 0.5, 0.0], [0.5, 4.0, -0.6], [0.0, -0.6, 1.0]])
MEAN = np.array([0.5, -1.0, 0.0])
DOMAIN = gv.Domain(columns=["a", "b", "c"], bounds=([-5, -10, -5], [5, 10, 5]))


def estimated(seed, n=4000, rows=None):
    rows = np.random.default_rng(seed).multivariate_normal(MEAN, SIGMA, n) if rows is None else rows
    return gv.recover(gv.release(rows, domain=DOMAIN, budget=gv.Budget(2.0, 1e-6), random_state=seed))


def test_intervals_cover():
    """Nominal 95%; benchmarks/regression_intervals.py counts more."""
    sd = np.sqrt(np.diag(SIGMA))
    upper, r = np.triu_indices(3, 1), SIGMA / np.outer(sd, sd)
    means, scales, pairs = [], [], []
    for seed in range(25):
        found = estimated(seed)
        columns, between = found.to_frame(), found.correlation_intervals()
        means.append((columns.lower <= MEAN) & (columns.upper >= MEAN))
        scales.append((columns.sd_lower <= sd) & (columns.sd_upper >= sd))
        pairs.append(((between.lower <= r) & (between.upper >= r))[upper])
    for hits in (means, scales, pairs):
        assert np.mean(hits) > 0.85


def test_the_summary_shows_means_and_standard_deviations():
    found = estimated(0)
    text = found.summary()
    assert [line.split()[0] for line in text.splitlines()[6:9]] == ["a", "b", "c"]
    assert "[0.05" in found.summary(level=0.9)
    assert found.to_frame()["mean"].to_numpy() == pytest.approx(found.location)
    assert (found.to_frame(0.99).lower < found.to_frame(0.9).lower).all()
    with pytest.raises(InvalidParameter, match="level must be"):
        found.summary(level=95)


def test_a_scale_that_is_undetermined_has_no_interval():
    rows = np.random.default_rng(0).multivariate_normal(MEAN, SIGMA, 4000)
    rows[:, 2] *= 0.0001
    with pytest.warns(gv.exceptions.PrivacyWarning, match="within its noise"):
        found = estimated(0, rows=rows)
    columns = found.to_frame()
    assert columns.sd_lower.isna().tolist() == found.undetermined.tolist() == [False, False, True]
    assert "factor of 1.2" in found.summary()


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_a_number_without_an_interval_has_two_digits():
    """It had the most of all: a standard deviation of 1140.7747 that could have been 800 or 1500."""
    found = estimated(0, n=600)
    cells = [line.split() for line in found.summary().splitlines()[6:9]]
    shown = [float(row[5]) for row in cells]
    assert shown == [float(f"{sd:.2g}") for sd in np.sqrt(np.diag(found.covariance))]
    assert [decimals(np.nan, number) for number in (1140.7747, 102.8846, 10.2, 0.01234, -0.5, 0.0)] == [
        -2,
        -1,
        0,
        3,
        2,
        0,
    ]
    assert [fixed(number, places) for number, places in ((1140.7747, -2), (-0.01234, 3))] == ["1100", "-0.012"]
    assert decimals(22.0, 1140.7747) == 0


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_few_records_within_wide_bounds_leave_scales_without_an_interval():
    found = estimated(0, n=600)
    assert found.hidden_tails.all()
    assert found.to_frame().sd_lower.isna().all()
    assert found.to_frame().lower.notna().all(), "means keep theirs"
    assert not estimated(0).hidden_tails.any()


def test_long_tails_within_wide_bounds_leave_scales_without_an_interval():
    """Of Student's t with 4 degrees of freedom, clipping takes rows that the release does not see."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 3)) / np.sqrt(rng.chisquare(4, (20_000, 1)) / 4)
    wide, narrow = (
        gv.recover(gv.release(rows, domain=gv.Domain(bounds=(-end, end)), budget=gv.Budget(2.0, 1e-6), random_state=1))
        for end in (18, 5)
    )
    assert wide.hidden_tails.all()
    assert "the bounds allow tails" in " ".join(wide.summary().split())
    assert not narrow.hidden_tails.any(), "bounds that end the tails are known"
    pair = [gv.release(part, domain=gv.Domain(bounds=(-18, 18)), budget=gv.Budget(2.0, 1e-6), random_state=1)
            for part in (rows[::2], rows[1::2])]  # fmt: skip
    found = gv.compare(*pair)
    assert np.isnan(found.standard_deviations.p_value).all()
    assert found.standard_deviations.global_p_value == 1.0
    assert "is not known well enough" in found.summary()


def test_what_clipping_may_have_moved_a_mean_by_is_counted():
    """Of a rare event, clipping takes rows that all lie on one side: without that, no interval held the mean."""
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=(20_000, 2)), np.where(rng.random(20_000) < 0.005, 5.0, 0.0)]
    truth, hits, shifts = rows.mean(axis=0)[2], [], []
    for seed in range(6):
        found = estimated(seed, rows=rows)
        hits.append(abs(found.location[2] - truth) < 2.0 * found.location_sd[2])
        shifts.append(found.location_shift / np.sqrt(np.diag(found.covariance)))
    assert np.mean(hits) > 0.8
    assert np.mean(shifts, axis=0)[2] > 3.0 * np.mean(shifts, axis=0)[:2].max()


def test_correlations_are_not_shrunk():
    found = estimated(0)
    between = found.correlation_intervals()
    assert between.columns == ("a", "b", "c")
    assert (between.lower <= found.correlation + 1e-9).all()
    assert (found.correlation <= between.upper + 1e-9).all()
    assert np.diag(between.p_value) == pytest.approx(1.0)
    assert between.p_value[0, 1] < 1e-6


def test_indicators_that_are_complements_but_in_a_few_rows_have_intervals_that_cover():
    """In 1.3% of 30,000 rows, which norms do not show: one of twenty was covered."""
    covered = []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        one, free = generator.random(30_000) < 0.41, generator.random(30_000) < 0.013
        other = np.where(free, generator.random(30_000) < 0.5, ~one)
        rows = np.column_stack([one, other, generator.normal(size=(30_000, 3)) + 0.3 * one[:, None]])
        domain = gv.Domain(bounds=([0.0, 0.0, -6.0, -6.0, -6.0], [1.0, 1.0, 6.0, 6.0, 6.0]))
        found = gv.recover(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=seed))
        between = found.correlation_intervals()
        covered.append(between.lower[0, 1] <= -0.9865 <= between.upper[0, 1])
        assert -0.3 < between.lower[2, 3] < between.upper[2, 3] < 0.3
    assert np.mean(covered) > 0.85


@pytest.mark.filterwarnings("ignore")
def test_no_correlation_is_certain_because_noise_made_it_larger_than_one():
    """Two events of 0.6% and a long tail, all unrelated: three of 40 releases had [1, 1] with p = 0."""
    left_out = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        rows = np.column_stack(
            [
                generator.normal(size=(6000, 2)),
                np.exp(generator.normal(3.2, 0.6, 6000)),
                generator.random((6000, 2)) < 0.006,
            ]
        )
        domain = gv.Domain(bounds=([-5.0, -5.0, 0.0, 0.0, 0.0], [5.0, 5.0, 3000.0, 1.0, 1.0]), columns=list("abcde"))
        found = gv.recover(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=seed))
        between = found.correlation_intervals()
        given = between.estimate[np.triu_indices(5, 1)]
        assert not (np.abs(given) > 0.999).any()
        left_out += np.isnan(given).any()
        if np.isnan(given).any():
            assert between.note.startswith("No correlation")
            assert not between.select()[np.isnan(between.p_value)].any()
    assert left_out > 0


def test_correlations_say_that_they_assume_what_the_release_cannot_see():
    rows = np.random.default_rng(0).normal(size=(8000, 3))
    domain = gv.Domain(bounds=([-20.0, -4.0, -4.0], [20.0, 4.0, 4.0]), columns=["a", "b", "c"])
    found = gv.recover(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0))
    assert found.correlation_intervals().note.endswith("no long tails where bounds allow them unseen: a.")
    assert estimated(0).correlation_intervals().note is None


@pytest.mark.filterwarnings("ignore:The variance of these columns is within its noise")
def test_a_mean_that_clipping_may_have_moved_anywhere_has_no_interval():
    """An event of 1.2% of 8,000 records, within its noise, came out as 0.2 ± 0.35%."""
    for seed in range(6):
        generator = np.random.default_rng(seed)
        rows = np.column_stack([generator.normal(size=(4000, 4)), generator.random(4000) < 0.004])
        domain = gv.Domain(bounds=([-5.0] * 4 + [0.0], [5.0] * 4 + [1.0]), columns=list("abcde"))
        found = gv.recover(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=seed))
        frame = found.to_frame()
        drowned = found.undetermined & (found.relative_sd > 0.5)
        assert (frame["lower"].isna() == drowned).all()
        assert drowned[4] or frame["lower"].iloc[4] <= 0.004 <= frame["upper"].iloc[4]
        assert not drowned[:4].any()
