"""Clipping may take more along one direction than along others: a tail tells how much, intervals count the rest."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.inference.error_law import moments_of
from graphveil.recovery.clipping_radius import Radius
from graphveil.recovery.noise_model import NoisyCovariance
from graphveil.recovery.uneven_loss import UnevenLoss

P = 5


def radius(lost=0.03, gaussian=0.01):
    return Radius(4.0, 1.0 - lost, gaussian, 2.0, 1.2, np.array([4.0]), np.array([1.0 - lost]))


def test_without_a_tail_all_of_it_may_be_missing_from_one_of_the_directions():
    found = UnevenLoss.of(radius(), 0.0, P, None, 0.0, 0.0)
    losses = np.r_[P * 0.02, np.zeros(P - 1)]  # whichever direction it is
    assert found.sd == pytest.approx(losses.std())
    assert not found.matrix.any()
    assert UnevenLoss.of(radius(), 0.025, P, None, 0.0, 0.0).sd == 0.0, "Gaussian rows lose evenly"
    assert UnevenLoss.of(radius(), 0.0, 1, None, 0.0, 0.0).sd == 0.0, "there is one direction only"


def test_a_tail_without_noise_says_it_all_and_one_that_is_all_noise_nothing():
    tail = np.diag([0.1, 0.02, 0.0, 0.0, 0.0])
    clear = UnevenLoss.of(radius(), 0.0, P, tail, 1e-9, 0.024)
    assert clear.sd < 1e-8
    assert np.diag(clear.matrix) == pytest.approx(0.03 / 0.024 * (np.diag(tail) - 0.024))
    assert np.trace(clear.matrix) == pytest.approx(0.0, abs=1e-12)
    vague = UnevenLoss.of(radius(), 0.0, P, tail, 1e6, 0.024)
    assert vague.sd == pytest.approx(np.sqrt(P - 1) * 0.02, rel=1e-6)
    assert np.abs(vague.matrix).max() < 1e-9


def test_what_is_given_back_changes_no_variance_of_a_column():
    rng = np.random.default_rng(0)
    back = rng.normal(size=(P, P))
    noisy = NoisyCovariance(back @ back.T, ((back, 0.01),), back @ back.T, 1e-4, 0.5)
    direction = np.linalg.qr(rng.normal(size=(P, P)))[0][0]
    loss = UnevenLoss(0.1 * (np.outer(direction, direction) - np.eye(P) / P), 0.02)
    found = loss.give_back(noisy, back, np.zeros((P, P)))
    assert np.diag(found.matrix) == pytest.approx(np.diag(noisy.matrix))
    assert [sd for _, sd in found.privacy] == [0.01, 0.02]
    u = np.linalg.solve(back.T, direction)  # what is missing from this combination of columns
    assert u @ found.matrix @ u > 1.02 * (u @ noisy.matrix @ u)


def test_regressions_are_made_of_it_and_networks_are_not():
    rows = np.random.default_rng(0).standard_t(5, size=(5000, 1)) * np.random.default_rng(1).normal(size=(5000, 3))
    domain, budget = gv.Domain(bounds=(-20, 20)), gv.Budget(2.0, 1e-6)
    sites = [gv.release(part, domain=domain, budget=budget, random_state=0) for part in (rows[::2], rows[1::2])]
    found = [gv.recover(site) for site in sites]
    for site, estimate in zip(sites, found, strict=True):
        assert len(estimate.noisy.privacy) == 1
        assert len(estimate.evened.privacy) == 2
        assert np.diag(estimate.evened.matrix) == pytest.approx(np.diag(estimate.noisy.matrix))
        assert np.array_equal(moments_of(site).noisy.matrix, estimate.evened.matrix)
    merged = gv.recover(gv.merge_releases(sites))
    added = [estimate.evened.matrix - estimate.noisy.matrix for estimate in found]
    assert merged.evened.matrix - merged.noisy.matrix == pytest.approx((added[0] + added[1]) / 2.0)
    assert len(merged.evened.privacy) == 4
