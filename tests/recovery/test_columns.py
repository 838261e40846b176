"""What is known of a column's variance, weighed against what a round of clipped rows says."""

import numpy as np
import pytest

from graphveil.recovery.columns import Columns


def columns(variance, sd):
    nothing = np.zeros(len(variance))
    return Columns(
        location=nothing,
        variance=np.array(variance, dtype=float),
        sd=np.array(sd, dtype=float),
        lowest=nothing,
        highest=nothing,
        low=nothing,
        high=nothing,
        rebounded=nothing.astype(bool),
    )


def test_a_sharp_round_is_believed_where_nothing_was_cut():
    settled = columns([1.0, 2.0], [0.1, 0.2]).weighed_against(np.array([1.05, 1.9]), np.array([0.01, 0.01]), 0.0)
    assert settled == pytest.approx([1.05, 1.9], rel=0.01)


def test_a_round_that_cut_a_rare_column_is_not_believed():
    """True variance 1: the round shows a tenth of it, which is far outside the noise of what was known before."""
    known = columns([1.0] * 10, [0.1] * 10)
    settled = known.weighed_against(np.array([0.1] + [1.0] * 9), np.full(10, 0.01), 0.1)
    assert settled[0] == pytest.approx(1.0, abs=0.15)
    assert settled[1:] == pytest.approx(1.0, abs=0.05)


def test_an_unlucky_variance_is_not_taken_at_its_word():
    """True variance 1 again, but noise made both too small: no precision more than three times too large."""
    unlucky = columns([0.43, 0.03, -0.13] + [1.0] * 14, [0.30, 0.41, 0.43] + [0.1] * 14)
    rounds = np.array([0.08, 0.25, 0.33] + [1.0] * 14)
    settled = unlucky.weighed_against(rounds, np.full(17, 0.03), 0.8)
    assert (settled[:3] > 1 / 3).all()


def test_where_nothing_was_asked_the_round_is_all_there_is():
    settled = columns([1.0, 1.0], [np.inf, np.inf]).weighed_against(np.array([0.3, 5.0]), np.array([0.1, 0.1]), 0.0)
    assert settled == pytest.approx([0.3, 5.0])


def test_where_most_of_a_variance_is_gone_the_larger_one_is_taken():
    """True variance 1, known to be 0.4 ± 0.4; a round has 0.08 of it. It made errors of up to 8 on one survey."""
    known = columns([0.4] + [1.0] * 16, [0.4] + [0.1] * 16)
    settled = known.weighed_against(np.array([0.08] + [1.0] * 16), np.array([0.01] + [0.03] * 16), 0.1)
    assert 0.4 < settled[0] < 2.0
    assert settled[1:] == pytest.approx(1.0, abs=0.05)


def test_what_clipping_took_evenly_is_not_feared():
    """Heavy tails: a tenth is cut, but no column disagrees by more than the noise of what was known."""
    rng = np.random.default_rng(0)
    known = columns(1.0 + 0.2 * rng.standard_normal(20), [0.2] * 20)
    rounds = 1.0 + 0.03 * rng.standard_normal(20)
    settled = known.weighed_against(rounds, np.full(20, 0.03), 0.17)
    assert np.std(settled) < 0.5 * np.std(known.variance)


def test_a_round_that_has_more_than_was_known_is_believed():
    """Clipping takes away. True variance 1; what was known is three standard deviations too small."""
    known = columns([0.86] + [1.0] * 9, [0.046] * 10)
    settled = known.weighed_against(np.array([1.02] + [1.0] * 9), np.full(10, 0.02), 0.04)
    assert settled[0] > 0.94


def test_a_variance_that_noise_made_negative_leaves_room_for_a_large_one():
    known = columns([-0.06] + [1.0] * 16, [0.3] + [0.1] * 16)
    settled = known.weighed_against(np.array([0.065] + [1.0] * 16), np.array([0.007] + [0.03] * 16), 0.1)
    assert settled[0] > 0.3


def test_where_all_columns_are_known_badly_the_round_is_what_there_is():
    known = columns([2.2, 0.1, 1.5, 0.4, 1.9], [1.0] * 5)
    settled = known.weighed_against(np.full(5, 1.0), np.full(5, 0.1), 0.05)
    assert settled == pytest.approx(1.0, abs=0.2)


LARGE_OR_SMALL = np.geomspace(0.01, 100.0, 20)


def lost(shares, noise=0.05):
    """What is feared of a round that has these shares of variances over four decades."""
    draws = np.random.default_rng(0).standard_normal(20)
    known = columns(LARGE_OR_SMALL * (1.0 + noise * draws), noise * LARGE_OR_SMALL)
    seen = shares * LARGE_OR_SMALL
    return known.unevenness(seen, 0.01 * seen, 0.1)


def test_a_loss_that_all_columns_share_is_hardly_feared():
    assert lost(np.full(20, 0.75)) < 0.4


@pytest.mark.parametrize("hit", [1, 5, 10])
def test_a_loss_of_some_columns_is_feared(hit):
    shares = np.ones(20)
    shares[:hit] = 0.5
    assert lost(shares) == 1.0


def test_a_loss_is_feared_where_noise_could_hide_where_it_went():
    assert lost(np.full(20, 0.75), noise=1.0) == 1.0


def test_a_loss_is_feared_where_little_is_known():
    few, nothing_asked = columns([1.0] * 9, [0.01] * 9), columns([1.0] * 20, [np.inf] * 20)
    assert few.unevenness(np.full(9, 0.75), np.full(9, 0.01), 0.1) == 1.0
    assert nothing_asked.unevenness(np.full(20, 0.75), np.full(20, 0.01), 0.1) == 1.0


def test_a_loss_too_small_to_matter_is_left_as_it_is():
    assert columns([1.0] * 20, [0.01] * 20).unevenness(np.full(20, 0.99), np.full(20, 0.01), 0.02) == 1.0


def test_the_common_factor_is_what_all_columns_lost():
    known = columns(LARGE_OR_SMALL, 0.1 * LARGE_OR_SMALL)
    seen = 0.7 * LARGE_OR_SMALL
    assert known.common_factor(seen, 0.01 * seen) == pytest.approx(0.7, abs=0.005)
    assert known.common_factor(1.3 * LARGE_OR_SMALL, seen) == 1.0
    assert columns(LARGE_OR_SMALL, 9.0 * LARGE_OR_SMALL).common_factor(seen, seen) == 1.0  # may be noise
    assert columns([-1.0, -2.0], [9.0, 9.0]).common_factor(np.ones(2), np.ones(2)) == 1.0
