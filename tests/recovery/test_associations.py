"""Two variables of several columns: a strength that users know, a test whose size is right."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, kstest, norm

from graphveil.recovery import associations
from graphveil.recovery.associations import PrecisionNoise, association_strengths, strength_intervals, wald_scores
from graphveil.recovery.noise_model import NoisyCovariance

N = 20_000


def indicators(levels, count):
    return (levels[:, None] == np.arange(1, count)).astype(float)


def covariance(*parts):
    return np.cov(np.column_stack(parts).T, bias=True)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def two_categories(rng):
    first = rng.integers(3, size=N)
    second = np.where(rng.random(N) < 0.05, first, rng.integers(4, size=N))
    return first, second


def test_of_two_categories_the_strength_is_cramers_v(two_categories):
    first, second = two_categories
    theta = np.linalg.inv(covariance(indicators(first, 3), indicators(second, 4)))
    counts = np.histogram2d(first, second, [3, 4])[0]
    v = np.sqrt(chi2_contingency(counts, correction=False).statistic / N / 2)
    assert association_strengths(theta, (range(2), range(2, 5)))[0, 1] == pytest.approx(v, rel=1e-9)


def test_of_a_number_and_a_category_it_is_the_root_of_what_the_category_explains(rng, two_categories):
    ward, _ = two_categories
    y = rng.normal(size=N) + 0.3 * (ward == 2)
    theta = np.linalg.inv(covariance(indicators(ward, 3), y))
    means = np.array([y[ward == level].mean() for level in range(3)])
    explained = np.var(means[ward]) / np.var(y)
    assert association_strengths(theta, (range(2), range(2, 3)))[0, 1] == pytest.approx(np.sqrt(explained), rel=1e-9)


def test_it_does_not_depend_on_the_first_level_and_single_columns_keep_their_sign(rng, two_categories):
    ward, diet = two_categories
    y = rng.normal(size=N) + 0.2 * (diet == 1)
    x = rng.normal(size=N) - 0.4 * y
    found = []
    for shift in range(3):
        theta = np.linalg.inv(covariance(indicators((ward + shift) % 3, 3), indicators((diet + shift) % 4, 4), y, x))
        found.append(association_strengths(theta, (range(2), range(2, 5), range(5, 6), range(6, 7))))
    assert found[1] == pytest.approx(found[0], abs=1e-10)
    assert found[2] == pytest.approx(found[0], abs=1e-10)
    r = -theta[5, 6] / np.sqrt(theta[5, 5] * theta[6, 6])
    assert found[2][2, 3] == pytest.approx(r)
    assert r < -0.3
    assert (found[0] <= 1.0).all()


def test_without_privacy_the_test_is_pearsons(two_categories):
    """To first order, in a weak association."""
    first, second = two_categories
    S = covariance(indicators(first, 3), indicators(second, 4))
    noise = PrecisionNoise(np.linalg.inv(S), NoisyCovariance(S, (), S, 1.0 / N))
    pearson = chi2_contingency(np.histogram2d(first, second, [3, 4])[0], correction=False)
    (score,) = wald_scores(noise.precision, noise, (range(2), range(2, 5)))
    assert score == pytest.approx(norm.isf(pearson.pvalue / 2), rel=0.03)


PLACES = (range(3), range(3, 5), range(5, 6), range(6, 7))


@pytest.fixture
def law(rng):
    """A precision matrix without edges between its variables, and privacy noise that is uneven on purpose."""
    theta = np.eye(7)
    theta[:3, :3] += 0.4
    theta[3:5, 3:5] += 0.3
    back = np.eye(7) + 0.3 * rng.normal(size=(7, 7))
    sigma = np.linalg.inv(theta)
    return PrecisionNoise(theta, NoisyCovariance(sigma, ((back, 0.004),), sigma, 1.0 / N))


def draws(law, rng, count, factor=1.0):
    """Estimates that are off by noise of this law, to first order."""
    for _ in range(count):
        yield law.precision - factor * law.precision @ law.noisy.draw(rng) @ law.precision


def test_scores_have_the_law_they_claim_and_less_noise_shows(law, rng):
    def p_value(factor):
        scores = [wald_scores(estimate, law, PLACES) for estimate in draws(law, rng, 200, factor)]
        return kstest(np.ravel(scores), lambda x: 2.0 * norm.cdf(x) - 1.0).pvalue

    assert p_value(1.0) > 0.01
    assert p_value(0.8) < 1e-4
    assert p_value(1.25) < 1e-4


def test_errors_of_single_entries_count_too(law, rng):
    """They are taken to be independent after the way through Θ as well, which they are not quite."""
    noisy = NoisyCovariance(law.noisy.matrix, (), law.noisy.denoised, 1.0 / N, np.full((7, 7), 2e-5))
    found = PrecisionNoise(law.precision, noisy)
    scores = np.ravel([wald_scores(estimate, found, PLACES) for estimate in draws(found, rng, 200)])
    assert np.sqrt(np.mean(scores**2)) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("large", [1000, 1], ids=["all covariances", "one variance for all directions"])
def test_blocks_too_large_for_all_covariances_are_judged_about_the_same(law, rng, large, monkeypatch):
    monkeypatch.setattr(associations, "_LARGE", large)
    even = PrecisionNoise(law.precision, NoisyCovariance(law.noisy.matrix, (), law.noisy.denoised, 1.0 / N))
    scores = np.ravel([wald_scores(estimate, even, PLACES) for estimate in draws(even, rng, 200)])
    assert kstest(scores, lambda x: 2.0 * norm.cdf(x) - 1.0).pvalue > 0.01


@pytest.mark.parametrize("strength", [0.0, 0.02, 0.3])
def test_strengths_are_unbiased_in_the_square_and_intervals_cover(law, rng, strength):
    theta = law.precision.copy()
    theta[0, 3] = theta[3, 0] = strength
    theta[1, 5] = theta[5, 1] = -strength
    here = PrecisionNoise(theta, NoisyCovariance(np.linalg.inv(theta), law.noisy.privacy, np.linalg.inv(theta), 1 / N))
    truth = association_strengths(theta, PLACES)[[0, 0, 0, 1, 1], [1, 2, 3, 2, 3]]
    found = np.array([strength_intervals(one, here, PLACES, 1.96, 1.0) for one in draws(here, rng, 150)])
    middle, lower, upper = found.transpose(1, 0, 2)
    assert ((lower >= 0.0) & (lower <= middle) & (middle <= upper) & (upper <= 1.0)).all()
    covered = np.mean((lower <= truth + 1e-12) & (truth <= upper), axis=0)
    assert ((covered >= 0.9) & (covered < 1.0)).all(), "nominal 0.95, and 0.975 at zero, which has one side"
    if strength == 0.3:
        assert middle.mean(axis=0)[:2] == pytest.approx(truth[:2], rel=0.01)
