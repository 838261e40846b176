"""What clipping took from Gaussian rows is known: their moments come back."""

import warnings

import numpy as np
import pytest

import graphveil as gv
from graphveil.recovery.blind_clipping import unclip_axes, unclip_moments

warnings.filterwarnings("ignore", category=gv.exceptions.PrivacyWarning)


def shortened(variance, mean, radius, n=200_000):
    """Gaussian rows, shortened to a radius."""
    rows = mean + np.random.default_rng(0).normal(size=(n, len(variance))) * np.sqrt(variance)
    return rows * np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]


@pytest.mark.parametrize(
    ("variance", "mean", "radius"),
    [
        ([1.0], [0.4], 1.5),
        ([1.6, 0.4], [0.5, -0.3], 2.1),
        ([2.0, 1.0, 0.7, 0.4], [0.9, 0.3, -0.5, 0.0], 3.0),
        (np.full(30, 1.0), np.full(30, 0.5), 8.2),
    ],
)
def test_means_and_variances_come_back(variance, mean, radius):
    variance, mean = np.array(variance), np.array(mean)
    rows = shortened(variance, mean, radius)
    lost_mean = np.linalg.norm(rows.mean(axis=0) - mean)
    lost_variance = np.linalg.norm(rows.var(axis=0) - variance)
    found_mean, found_variance = unclip_moments(rows.mean(axis=0), rows.var(axis=0), radius)
    assert np.linalg.norm(found_mean - mean) < max(0.25 * lost_mean, 0.02)
    assert np.linalg.norm(found_variance - variance) < max(0.25 * lost_variance, 0.03)


@pytest.mark.parametrize("values", [[1.0], [1.6, 0.4], [2.5, 0.9, 0.4, 0.2], [3.5, 0.3, 0.1, 0.1]])
def test_axes_come_back(values):
    """Also where one has nearly everything, and the Gamma law has a shape below 1."""
    radius = 1.5 * np.sqrt(len(values))
    rows = shortened(values, np.zeros(len(values)), radius)
    found = np.mean(rows**2, axis=0)
    assert found[0] < 0.9 * values[0]
    np.testing.assert_allclose(unclip_axes(found, radius), values, rtol=0.02)


def test_what_was_not_clipped_stays():
    mean, variance = np.array([0.1, -0.2]), np.array([1.0, 2.0])
    for found, given in zip(unclip_moments(mean, variance, 50.0), (mean, variance), strict=True):
        np.testing.assert_allclose(found, given, rtol=1e-9)


def test_one_round_knows_how_far_its_means_and_variances_are_off():
    """Bounds at ±5 standard deviations: a first mean is off by a third of one, and rows about it are clipped."""
    errors, ratios = [], []
    for seed in range(40):
        rows = np.random.default_rng(seed).normal(3.0, 2.0, size=(1000, 1))
        made = gv.release(rows, domain=gv.Domain(bounds=(-7, 13)), budget=gv.Budget(1.0, 1e-6), random_state=seed)
        found = gv.recover(made)
        errors.append((found.location[0] - 3.0) / found.location_sd[0])
        ratios.append(found.covariance[0, 0] / 4.0)
    assert np.sqrt(np.mean(np.square(errors))) < 1.3  # 1.8 if clipping is not counted
    assert np.mean(np.abs(np.log(ratios))) < 0.2  # 0.35
