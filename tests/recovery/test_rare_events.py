"""What clipping takes from other columns where rare events happen."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.recovery.column_variances import VariancePosterior
from graphveil.recovery.rare_events import errors_of_lost, lost_beside, lost_covariances, restoring, single_errors

SHARE, KEPT = 0.03, 0.6  # of the rows; what clipping leaves of their squares and products


def clipped(shifts):
    """Covariance of an event and of columns that it moves, what clipping takes of it, and what is left of the event."""
    direction = np.array([1.0, *shifts])
    event = SHARE * (1.0 - SHARE) * np.outer(direction, direction)
    covariance = event + np.diag([0.0, *[1.0] * len(shifts)])
    # Where the event happens, the mean is (1 - q) times the direction away from that of all rows.
    lost = (1.0 - KEPT) * SHARE * (1.0 - SHARE) ** 2 * np.outer(direction, direction)
    return covariance, lost, 1.0 - lost[0, 0] / covariance[0, 0]


def posterior(left, relative_sd=0.1):
    """Of columns of which clipping left so much."""
    none, some = np.zeros(left.size), np.full(left.size, relative_sd)
    return VariancePosterior(none, none, some, none, none, left, none, 0.0, 0.0, 0.0)


def given_back(covariance, left, events, sd=0.0, seed=0, relative_sd=0.1):
    """What is given back where the noise of covariances has this standard deviation, and that of variances √2 times."""
    noise = sd * np.random.default_rng(seed).normal(size=covariance.shape)
    noisy = covariance + np.tril(noise) + np.tril(noise, -1).T
    law = sd * np.eye(len(covariance))
    return lost_beside(covariance, noisy, law, posterior(left, relative_sd), events)


def test_what_an_event_moves_is_given_back_exactly():
    covariance, lost, left = clipped([2.0, -1.0, 0.0])
    found, unsure = given_back(covariance, np.array([left, 1.0, 1.0, 1.0]), np.ones(4))
    np.testing.assert_allclose(found[1:, 1:], lost[1:, 1:], rtol=1e-12)
    assert not found[0].any()  # the event itself has its variance back
    assert not unsure.any()


def test_events_that_meet_take_it_once():
    covariance, lost, left = clipped([2.0, 1.0])
    twice, kept = covariance[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])], np.array([left, left, 1.0, 1.0])
    twice[0, 1] = twice[1, 0] = 0.999 * covariance[0, 0]
    found, _ = given_back(twice, kept, np.ones(4))
    np.testing.assert_allclose(found[2:, 2:], lost[1:, 1:], rtol=0.02)


def test_long_tails_take_part_of_it_and_are_unsure():
    covariance, lost, left = clipped([2.0])
    found, unsure = given_back(covariance, np.array([left, 1.0]), np.array([0.1, 0.1]))
    assert 0.2 * lost[1, 1] < found[1, 1] < 0.8 * lost[1, 1]
    assert 0.5 * found[1, 1] < unsure[1, 1] < found[1, 1]  # θ = 0.6 ± 0.3


@pytest.mark.parametrize("power", [0.9, 1.3])
def test_another_column_lost_in_the_long_rows_of_a_tail_what_their_covariance_says(power):
    """By clipping rows: θ is what the covariance lost, of what the variance lost, both of what is left."""
    generator = np.random.default_rng(0)
    u, noise = generator.normal(size=(2, 400_000))
    rows = np.column_stack([np.exp(1.3 * u), np.exp(power * u) + noise, generator.normal(size=(u.size, 4))])
    rows -= rows.mean(axis=0)
    covariance = np.cov(rows.T)
    norms = np.linalg.norm(rows @ np.linalg.inv(np.linalg.cholesky(covariance)).T, axis=1)
    shortened = rows * np.minimum(1.0, 3.4 / norms)[:, None]
    share = shortened.T @ shortened / u.size / covariance
    share /= np.median(share.diagonal()[2:])
    left = np.array([share[0, 0], 1.0])
    theta = (1.0 / share[0, 1] - 1.0) / (1.0 / share[0, 0] - 1.0)
    assert 0.6 < theta <= 1.01
    found, _ = given_back(covariance[:2, :2], left, np.array([theta, 0.0]))
    assert found[1, 1] == pytest.approx((1.0 - share[1, 1]) * covariance[1, 1], rel=0.2)


@pytest.mark.parametrize("kept", [np.ones(3), np.full(3, 0.5), np.array([0.96, 1.0, 1.0])])
def test_nothing_is_given_back_where_nobody_or_everybody_lost_or_hardly_anything(kept):
    covariance = clipped([2.0, 1.0])[0]
    assert not np.any(given_back(covariance, kept, np.ones(3)))


def test_noise_explains_no_more_of_a_column_than_there_is():
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    noisy = np.array([[1.0, 1.5], [1.5, 1.0]])
    left = np.array([0.05, 1.0])
    found, _ = lost_beside(covariance, noisy, np.zeros((2, 2)), posterior(left), np.ones(2))
    assert found[1, 1] <= 0.95 + 1e-12


def test_noise_is_not_given_back():
    """What noise alone would explain of columns that have nothing to do with an event, and an error for the rest."""
    covariance, left = np.diag([0.03, 1.0, 1.0, 1.0]), np.array([0.3, 1.0, 1.0, 1.0])
    variances, stated = [], []
    for seed in range(400):
        found, unsure = given_back(covariance, left, np.ones(4), sd=0.04, seed=seed)
        variances.append(np.diag(found)[1:])
        stated.append(np.diag(unsure)[1:])
    added = 0.7 * 0.04**2 / 0.03  # ℓ of the noise's square over the event's variance
    assert np.mean(np.array(variances) == 0.0) > 0.6
    assert np.mean(variances) < 0.5 * added
    assert np.sqrt(np.mean(np.square(variances))) < 1.3 * np.sqrt(np.mean(np.square(stated)))


def test_nothing_is_given_back_beside_a_column_that_is_nearly_all_noise():
    covariance, _, left = clipped([2.0, 1.0])
    assert not np.any(given_back(covariance, np.array([left, 1.0, 1.0]), np.ones(3), relative_sd=0.6))


@pytest.mark.filterwarnings("ignore:The variance of these columns is within its noise")
@pytest.mark.filterwarnings("ignore:Some directions lie within the noise")
@pytest.mark.parametrize("share", [0.0, 0.002])
def test_a_column_of_hardly_anything_leaves_the_others_alone(share):
    """Constant, or an event of 0.2%, beside five unrelated columns: these correlated by up to 0.3 without a word."""
    correlations, off = [], []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        rows = np.column_stack([generator.normal(size=(4000, 5)), generator.random(4000) < share])
        domain = gv.Domain(bounds=([-5.0] * 5 + [0.0], [5.0] * 5 + [1.0]))
        found = gv.recover(gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=seed))
        intervals = found.correlation_intervals()
        correlations.append(np.abs(intervals.estimate[:5, :5][np.triu_indices(5, 1)]))
        off.append(np.abs(np.log(np.diag(found.covariance)[:5])))
    assert np.max(correlations) < 0.15
    assert np.max(off) < 0.25


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


def test_an_event_and_a_dense_column_have_what_clipping_took_of_both():
    covariance, lost, left = clipped([2.0])
    kept = np.array([left, 1.0])
    restored = (covariance - lost) / np.sqrt(np.outer(kept, kept)) * restoring(1.0 / kept, kept)
    assert restored[0, 1] == pytest.approx(covariance[0, 1], rel=0.1)


def test_two_columns_that_lost_the_same_rows_lost_them_once():
    kept = np.full(2, 0.25)
    assert restoring(1.0 / kept, kept) == pytest.approx(np.ones((2, 2)))


def test_dense_columns_that_lost_nothing_have_no_errors_but_those_of_gaussian_rows():
    covariance = np.array([[1.0, 0.3], [0.3, 2.0]])
    assert not single_errors(covariance, np.full(2, 3.0), 1000.0).any()
    assert not errors_of_lost(covariance, np.zeros(2)).any()


def test_events_that_meet_in_few_rows_have_the_sampling_error_of_their_number():
    """Beyond that of Gaussian rows, which is (v_i v_j + c²)/n."""
    n, share, both = 2000, 0.01, 0.008
    found = np.random.default_rng(0).binomial(n, both, 4000) / n
    variance, covariance = share * (1.0 - share), both - share**2
    of_gaussian = (variance**2 + covariance**2) / n
    matrix = np.array([[variance, covariance], [covariance, variance]])
    beyond = single_errors(matrix, np.full(2, 3.0 + 1.0 / variance), float(n))[0, 1]
    assert np.var(found) == pytest.approx(of_gaussian + beyond, rel=0.1)
