"""The posterior of columns' variances: what each answer can say, and what none can."""

import numpy as np
import pytest

from graphveil.recovery.column_variances import RoundView, settle_variances, variance_prior

P, RADIUS = 12, 5.0
TYPICAL = np.sqrt(P)


def left_of(share_far, squares):
    """What clipping to the radius leaves of a column that has a share of its variance at D²/b = ``squares``."""
    return 1.0 - share_far * (1.0 - min(1.0, RADIUS**2 / (squares + TYPICAL**2)))


def view(shares, scale=None, sd=0.02, lost=0.02, **more):
    """A round in which the columns, of variance 1, have these shares left."""
    scale = np.ones(P) if scale is None else scale
    return RoundView(
        variance=np.asarray(shares, dtype=float),
        sd=sd * scale,
        scale=scale,
        radius=RADIUS,
        typical=TYPICAL,
        gaussian=0.0,
        lost=lost,
        **more,
    )


def settled(own, own_sd, views, reach=1000.0):
    own, own_sd = (np.broadcast_to(np.asarray(x, dtype=float), P).copy() for x in (own, own_sd))
    return settle_variances(own, own_sd, variance_prior(own, own_sd), np.full(P, reach), views)


def test_before_any_round_the_squares_are_all_there_is():
    known = settled(np.linspace(0.5, 1.5, P), 0.05, [])
    np.testing.assert_allclose(known.variance, np.linspace(0.5, 1.5, P), rtol=0.05)
    assert (known.scale > known.variance).all()
    np.testing.assert_allclose(known.relative_sd, 0.05 / np.linspace(0.5, 1.5, P), rtol=0.25)


def test_a_sharp_round_of_dense_columns_is_believed():
    known = settled(1.0, 0.3, [view(np.full(P, 0.99))])
    np.testing.assert_allclose(known.variance, 1.0, atol=0.04)
    assert (known.doubtful < 0.01).all()


def test_squares_that_noise_made_too_large_do_not_spoil_one_column_among_good_ones():
    """A laboratory value in a codebook's bounds: 2.5 ± 1.1 before, 1.00 ± 0.04 in rounds in which little is lost."""
    own, own_sd = np.ones(P), np.full(P, 0.05)
    own[0], own_sd[0] = 2.5, 1.1
    known = settled(own, own_sd, [view(np.ones(P), sd=0.05), view(np.ones(P), sd=0.04)])
    assert known.variance[0] == pytest.approx(1.0, abs=0.15)
    assert known.doubtful[0] < 0.1


def test_it_is_known_which_columns_have_their_variance_far_out():
    own, shares = np.ones(P), np.ones(P)
    shares[0] = left_of(1.0, 100.0)
    known = settled(own, 0.1, [view(shares), view(shares)])
    assert known.far[0] > 0.95
    assert (known.far[1:] < 0.2).all()
    assert not settled(own, 0.1, []).far.any()


def test_a_rare_column_keeps_what_its_squares_say():
    """All of its variance at D² = 100: the rounds have a quarter of it, and say so twice."""
    shares = np.ones(P)
    shares[0] = left_of(1.0, 100.0)
    known = settled(1.0, 0.1, [view(shares), view(shares)])
    assert known.variance[0] == pytest.approx(1.0, abs=0.2)
    np.testing.assert_allclose(known.variance[1:], 1.0, atol=0.05)
    assert known.fourth[0] > 20.0 > known.fourth[1:].max()


def test_rounds_of_different_scales_tell_a_rare_column_from_wide_bounds():
    """Its squares say nothing. Scaled by 4 and then by 1/2, a rare column loses, a dense one has the same in both."""
    own, own_sd = np.ones(P), np.full(P, 0.1)
    own_sd[0] = 5.0
    scales = [np.append(4.0, np.ones(P - 1)), np.append(0.5, np.ones(P - 1))]
    rare = [view(np.append(left_of(1.0, 100.0 / b[0]), np.ones(P - 1)), scale=b) for b in scales]
    dense = [view(np.append(left_of(1.0, 100.0 / 4.0), np.ones(P - 1)), scale=b) for b in scales]
    found, wide = settled(own, own_sd, rare), settled(own, own_sd, dense)
    assert found.variance[0] == pytest.approx(1.0, rel=0.5)
    assert wide.variance[0] == pytest.approx(dense[0].variance[0], rel=0.25)
    assert found.doubtful[0] > 0.1


def test_a_loss_that_all_columns_share_is_given_back_to_all():
    known = settled(1.0, 0.1, [view(np.full(P, 0.8), lost=0.2), view(np.full(P, 0.8), lost=0.2)])
    np.testing.assert_allclose(known.variance, 1.0, atol=0.05)
    assert known.common == pytest.approx(0.2, abs=0.05)
    assert known.part > 0.6


def test_the_excess_shows_whose_the_loss_was():
    """Squares know a column to within its half; the excess has what its round has lost."""
    shares, excess = np.ones(P), np.zeros(P)
    shares[0] = left_of(1.0, 50.0)
    excess[0] = 1.0 - shares[0]
    asked = {"outer": 10.0, "within": 0.02, "excess": excess, "excess_sd": np.full(P, 0.03)}
    lost, dense = (settled(1.0, 0.5, [view(shares, **asked | {"excess": seen})]) for seen in (excess, 0.0 * excess))
    assert lost.variance[0] == pytest.approx(1.0, abs=0.2)
    assert dense.variance[0] < 0.75 * lost.variance[0]


def test_what_nobody_can_know_is_doubtful():
    """Nothing was seen of a column, neither by its squares nor by the round."""
    shares, own_sd = np.ones(P), np.full(P, 0.1)
    shares[0], own_sd[0] = 0.0, 3.0
    known = settled(1.0, own_sd, [view(shares, sd=0.3)])
    assert known.doubtful[0] > 0.5
    assert known.variance[0] > 0.2


def test_where_nothing_was_asked_the_round_is_all_there_is():
    known = settled(1.0, np.inf, [view(np.linspace(0.3, 5.0, P), lost=0.0)])
    np.testing.assert_allclose(known.variance, np.linspace(0.3, 5.0, P), rtol=0.02)


def test_a_tail_ends_where_the_bounds_do():
    """Bounds at two standard deviations leave no room for rows far out: a round that has half of it is believed."""
    shares = np.ones(P)
    shares[0] = 0.5
    near, far = (settled(1.0, 0.2, [view(shares)], reach=reach) for reach in (4.0, 1000.0))
    assert far.variance[0] > 1.2 * near.variance[0]


def test_sizes_are_learnt_from_the_other_columns():
    """Squares that are all noise, of columns that are alike: nine tell what the tenth may be."""
    rng = np.random.default_rng(0)
    alike = settled(1.0 + 0.5 * rng.standard_normal(P), 0.5, [])
    assert np.std(np.log(alike.variance)) < 0.25
    assert alike.variance == pytest.approx(1.0, abs=0.45)
    wide = 10.0 ** np.linspace(-3, 0, P)
    np.testing.assert_allclose(settled(wide, 0.05 * wide, []).variance, wide, rtol=0.05)
