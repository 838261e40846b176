"""Differences from a shared start: their law is that of the noise, and what both groups share is no difference."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from graphveil.inference.shared_start import SharedStart
from graphveil.metrics import partial_correlations
from graphveil.recovery.noise_model import NoisyCovariance
from helpers.nested import ward_covariance

WARDS, CHAPTERS = range(5), range(5, 16)


def group(covariance, noise, matrix=None, n_eff=1000.0, lost=None):
    """What an estimate says that the start reads, of a covariance that is known or noisy."""
    noisy = NoisyCovariance(covariance if matrix is None else matrix, ((noise, 1.0),), covariance, 1e-9)
    lost = np.zeros(len(covariance)) if lost is None else lost
    return SimpleNamespace(comparable=noisy, n_eff=n_eff, given_back_sd=lost)


@pytest.fixture(scope="module")
def truth():
    return ward_covariance()


@pytest.fixture(scope="module")
def noise(truth):
    """As of a whitened round, in which a correlation of independent columns would have the standard deviation 0.02."""
    return np.sqrt(0.02 * np.sqrt(2.0)) * np.linalg.cholesky(truth)


def test_of_nested_categories_the_statistic_is_chi2(truth, noise):
    """The start is a rough estimate, the same for both groups; the law holds whatever it is."""
    rng, p_values = np.random.default_rng(1), []
    rough = truth * (1.0 + 0.1 * rng.standard_normal(truth.shape))
    rough = (rough + rough.T) / 2.0 + 0.02 * np.eye(len(truth))
    for _ in range(300):
        pair = []
        for _ in range(2):
            law = group(truth, noise)
            own = group(rough, noise, truth + law.comparable.draw(rng))
            pair.append(own)
        start = SharedStart.of(*pair, overlap=False)
        difference = (start.correlations[1] - start.correlations[0])[np.ix_(WARDS, CHAPTERS)].ravel()
        covariance = start.covariance(WARDS, CHAPTERS)
        p_values.append(chi2.sf(difference @ np.linalg.solve(covariance, difference), difference.size))
        assert start.sd[np.ix_(WARDS, CHAPTERS)].ravel() ** 2 == pytest.approx(np.diag(covariance))
    assert kstest(p_values, "uniform").pvalue > 1e-3


def test_scales_of_columns_do_not_matter(truth, noise):
    there = SharedStart.of(group(truth, noise), group(truth, noise), overlap=False)
    factor = np.linspace(0.5, 2.0, len(truth))
    scaled = group(truth * np.outer(factor, factor), factor[:, None] * noise)
    here = SharedStart.of(group(truth, noise), scaled, overlap=False)
    assert here.correlations[1] == pytest.approx(there.correlations[1])
    assert here.sd == pytest.approx(there.sd)


def test_a_known_difference_is_what_partial_correlations_differ_by(truth, noise):
    """To first order, with the standard deviations of all columns changed as well."""
    rng = np.random.default_rng(2)
    moved = rng.standard_normal(truth.shape)
    moved = truth + 1e-5 * np.sqrt(np.outer(np.diag(truth), np.diag(truth))) * (moved + moved.T)
    start = SharedStart.of(group(truth, noise), group(moved, noise), overlap=False)
    expected = partial_correlations(np.linalg.inv(moved)) - partial_correlations(np.linalg.inv(truth))
    found = start.correlations[1] - start.correlations[0]
    off = ~np.eye(len(truth), dtype=bool)
    assert found[off] == pytest.approx(expected[off], rel=0.02, abs=2e-7)


def test_what_both_groups_may_have_lost_is_no_error_of_a_difference(truth, noise):
    lost = np.linspace(0.0, 0.3, len(truth))
    neither = SharedStart.of(group(truth, noise), group(truth, noise), overlap=False)
    both = SharedStart.of(group(truth, noise, lost=lost), group(truth, noise, lost=lost), overlap=False)
    one = SharedStart.of(group(truth, noise, lost=lost), group(truth, noise), overlap=False)
    assert both.sd == pytest.approx(neither.sd)
    off = np.triu_indices(len(truth), 1)
    assert (one.sd[off] > neither.sd[off]).all()


def test_with_people_in_both_groups_errors_add_up(truth, noise):
    pair = group(truth, noise), group(truth, noise)
    apart, either = (SharedStart.of(*pair, overlap=overlap) for overlap in (False, True))
    assert either.sd == pytest.approx(np.sqrt(2.0) * apart.sd)
    assert either.covariance(WARDS, CHAPTERS) == pytest.approx(2.0 * apart.covariance(WARDS, CHAPTERS))
