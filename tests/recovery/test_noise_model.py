"""The law of a released covariance: entry by entry, and of draws."""

import numpy as np
import pytest

import graphveil as gv
from graphveil._random import generator_for
from graphveil.recovery.estimate import estimate_release
from graphveil.recovery.noise_model import NoisyCovariance

RNG = np.random.default_rng(0)
BACK = RNG.normal(size=(4, 4))
COVARIANCE = np.cov(RNG.normal(size=(9, 4)).T)
LAW = NoisyCovariance(COVARIANCE, ((BACK, 0.3),), COVARIANCE, 0.02)


def precision_sd(law, theta):
    """Standard deviations of the entries of Θ(Y - Σ)Θ."""
    noise = law.precision_noise(theta)
    return np.sqrt(sum(size * (np.outer(gram.diagonal(), gram.diagonal()) + gram**2) for gram, size in noise))


def test_draws_have_the_declared_standard_deviations():
    draws = np.array([LAW.draw(generator_for(str(i))) for i in range(4000)])
    np.testing.assert_allclose(draws.std(axis=0), LAW.entry_sd, rtol=0.06)
    assert np.abs(draws.mean(axis=0) / LAW.entry_sd).max() < 5 / np.sqrt(4000)
    theta = np.linalg.inv(COVARIANCE)
    np.testing.assert_allclose((theta @ draws @ theta).std(axis=0), precision_sd(LAW, theta), rtol=0.06)


def test_some_columns_have_the_law_of_all():
    some = LAW.select([2, 0])
    np.testing.assert_allclose(some.entry_sd, LAW.entry_sd[np.ix_([2, 0], [2, 0])], rtol=1e-12)


def test_columns_whose_noise_is_nearly_the_same_are_selected():
    """To the rounding of BB' one determines the other, and it has no Cholesky factor."""
    nearly = BACK.copy()
    nearly[1] = nearly[0] * (1.0 + 1e-12)
    some = NoisyCovariance(COVARIANCE, ((nearly, 0.3),), COVARIANCE, 0.02).select([1, 0])
    (gram, _), *_ = some.privacy_grams
    np.testing.assert_allclose(gram, (nearly @ nearly.T)[:2, :2], rtol=1e-10)


def test_draws_are_symmetric_and_reproducible():
    one, other = (LAW.draw(generator_for("a", "b")) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, one.T)
    assert (LAW.draw(generator_for("a", "c")) != one).any()


@pytest.mark.parametrize("adaptive", [False, True])
def test_released_covariances_follow_their_law(adaptive):
    """Over replications of rows and noise: (Y - Σ)/sd has mean zero and variance one, entry by entry."""
    theta = gv.simulate.paper_model(3, 6)
    sigma = np.linalg.inv(theta)
    scores = []
    for seed in range(60):
        rows = gv.simulate.gaussian_rows(theta, 8000, random_state=seed)
        item = gv.release(
            rows,
            domain=gv.Domain(data_norm=2.5 * np.sqrt(np.trace(sigma))),
            budget=gv.Budget(1.0, 1e-6),
            random_state=seed,
            assume_centered=True,
            adaptive=adaptive,
        )
        noisy = gv.recover(item).noisy
        same_scale = noisy.matrix * np.trace(sigma) / np.trace(noisy.matrix)  # clipping costs a little of the scale
        scores.append((same_scale - sigma) / noisy.entry_sd)
    off = np.array(scores)[:, *np.triu_indices(6, 1)]
    assert np.abs(off.mean(axis=0)).max() < 0.6
    assert 0.85 < np.sqrt(np.mean(off**2)) < 1.2


def test_a_mean_that_is_far_from_the_centre_brings_its_own_noise():
    """Few rows are asked about once, in coordinates whose centre is only roughly their mean."""
    theta = gv.simulate.band_precision(10)
    sigma = np.linalg.inv(theta)
    bound = 4.5 * np.sqrt(np.diag(sigma))
    unjoined = np.triu(theta == 0, 1)
    scores = []
    for seed in range(40):
        item = gv.release(
            gv.simulate.gaussian_rows(theta, 1500, random_state=seed),
            domain=gv.Domain(bounds=(-bound, bound)),
            budget=gv.Budget(1.0, 1e-6),
            random_state=seed,
        )
        noisy = estimate_release(item).noisy
        scale = np.sqrt(noisy.denoised.diagonal() / sigma.diagonal())
        scaled = theta / np.outer(scale, scale)
        scores.append((scaled @ noisy.matrix @ scaled / precision_sd(noisy, scaled))[unjoined])
    assert 0.8 < np.sqrt(np.mean(np.square(scores))) < 1.1
