"""What clipping takes from other columns where rare events happen."""

import numpy as np
import pytest

from graphveil.recovery.rare_events import lost_beside, lost_covariances

SHARE, KEPT = 0.03, 0.6  # of the rows; what clipping leaves of their squares and products


def clipped(shifts):
    """Covariance of an event and of columns that it moves, what clipping takes of it, and what is left of the event."""
    direction = np.array([1.0, *shifts])
    event = SHARE * (1.0 - SHARE) * np.outer(direction, direction)
    covariance = event + np.diag([0.0, *[1.0] * len(shifts)])
    # Where the event happens, the mean is (1 - q) times the direction away from that of all rows.
    lost = (1.0 - KEPT) * SHARE * (1.0 - SHARE) ** 2 * np.outer(direction, direction)
    return covariance, lost, 1.0 - lost[0, 0] / covariance[0, 0]


def as_settled(covariance, left):
    """Covariances have lost what the one lost that lost more, and then columns were brought to their variances."""
    return covariance * np.minimum.outer(left, left) / np.sqrt(np.outer(left, left))


def test_what_an_event_moves_is_given_back_exactly():
    covariance, lost, left = clipped([2.0, -1.0, 0.0])
    kept = np.array([left, 1.0, 1.0, 1.0])
    found, unsure = lost_beside(as_settled(covariance, kept), 1.0 / kept, kept, np.ones(4))
    np.testing.assert_allclose(found[1:, 1:], lost[1:, 1:], rtol=1e-12)
    assert not found[0].any()  # the event itself has its variance back
    assert not unsure.any()


def test_events_that_meet_take_it_once():
    covariance, lost, left = clipped([2.0, 1.0])
    twice, kept = covariance[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])], np.array([left, left, 1.0, 1.0])
    twice[0, 1] = twice[1, 0] = 0.999 * covariance[0, 0]
    found, _ = lost_beside(as_settled(twice, kept), 1.0 / kept, kept, np.ones(4))
    np.testing.assert_allclose(found[2:, 2:], lost[1:, 1:], rtol=0.02)


def test_long_tails_take_part_of_it_and_are_unsure():
    covariance, lost, left = clipped([2.0])
    kept = np.array([left, 1.0])
    given = 1.0 + 0.6 * (1.0 / kept - 1.0)
    found, unsure = lost_beside(as_settled(covariance, kept), given, kept, np.array([0.1, 0.1]))
    assert 0.2 * lost[1, 1] < found[1, 1] < 0.5 * lost[1, 1]
    assert unsure[1, 1] == pytest.approx(found[1, 1])  # θ² with θ = 0.6 ± 0.3


@pytest.mark.parametrize("kept", [np.ones(3), np.full(3, 0.5), np.array([0.96, 1.0, 1.0])])
def test_nothing_is_given_back_where_nobody_or_everybody_lost_or_hardly_anything(kept):
    covariance = clipped([2.0, 1.0])[0]
    assert not np.any(lost_beside(covariance, 1.0 / kept, kept, np.ones(3)))


def test_noise_explains_no_more_of_a_column_than_there_is():
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    kept = np.array([0.05, 1.0])
    found, _ = lost_beside(covariance, 1.0 / kept, kept, np.ones(2))
    assert found[1, 1] <= 0.95 + 1e-12


def test_what_clipping_took_of_a_covariance_is_within_its_error_however_another_column_follows():
    """Of what clipping takes of a lognormal column it takes θ of a covariance: 1 of a line's, a fifth of a step's."""
    left = np.array([0.5])
    given, unsure = lost_covariances(left, np.zeros(1), np.zeros(1))
    for theta in (0.2, 0.4, 1.0):
        true = 1.0 + theta * (1.0 / left - 1.0)
        assert abs(true / given - 1.0) < 1.4 * unsure
    assert unsure < 0.3


def test_events_lose_their_covariances_with_their_variance():
    given, unsure = lost_covariances(np.array([0.25]), np.ones(1), np.zeros(1))
    assert given == pytest.approx(4.0)
    assert unsure == 0.0


def test_a_tail_that_nobody_sees_adds_what_a_scale_does_not_account_for():
    """If a variance is larger by e than it seems, and a covariance by θe, a correlation is off by (θ - 1/2)e."""
    seen, hidden = np.ones(1), np.array([0.2])
    for events in (np.zeros(1), np.ones(1)):
        _, unsure = lost_covariances(seen, events, hidden)
        theta, theta_sd = (1.0, 0.0) if events else (0.6, 0.3)
        assert unsure == pytest.approx(hidden * np.hypot(theta - 0.5, theta_sd))
