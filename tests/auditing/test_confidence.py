"""The bounds that turn counts into a proof: exact, and on the safe side as often as they say."""

import numpy as np
import pytest
from scipy import stats

from graphveil.auditing.attacks import ATTACKS, AttackObservations, strength
from graphveil.auditing.confidence import mu_lower_bound, rate_lower_bound, rate_upper_bound


@pytest.mark.parametrize("runs", [1, 10, 20_000])
@pytest.mark.parametrize("alpha", [1e-4, 0.05])
def test_rates_are_those_of_clopper_and_pearson(runs, alpha):
    for count in {0, 1, runs // 3, runs - 1, runs}:
        exact = stats.binomtest(count, runs).proportion_ci(1 - 2 * alpha, method="exact")
        assert rate_lower_bound(count, runs, alpha) == pytest.approx(exact.low, abs=1e-12)
        assert rate_upper_bound(count, runs, alpha) == pytest.approx(exact.high, abs=1e-12)


@pytest.mark.parametrize(("mu", "threshold"), [(1.0, 0.5), (2.0, 1.7), (0.0, -1.0)])
def test_the_bound_is_above_the_truth_no_more_often_than_alpha(mu, threshold):
    """Exact probability over all pairs of counts, no simulation."""
    runs, alpha = 60, 0.1
    counts = np.arange(runs + 1)
    hits = stats.binom.pmf(counts, runs, stats.norm.sf(threshold - mu))
    alarms = stats.binom.pmf(counts, runs, stats.norm.sf(threshold))
    above = mu_lower_bound(counts[:, None], counts[None, :], runs, alpha) > mu
    wrong = float(hits @ above @ alarms)
    assert wrong <= alpha
    if mu:
        assert float(hits @ (mu_lower_bound(counts[:, None], counts[None, :], runs, alpha) > mu / 4) @ alarms) > wrong


def test_more_runs_prove_more_and_guessing_proves_nothing():
    rates = stats.norm.sf(np.array([-0.5, 0.5]))
    shown = [float(mu_lower_bound(*np.rint(rates * runs), runs, 1e-3)) for runs in (100, 1000, 10_000, 1_000_000)]
    assert shown == sorted(shown)
    assert 0.98 < shown[-1] < 1.0
    for count in (0, 500, 1000):
        assert mu_lower_bound(count, count, 1000, 1e-3) == 0.0


def noise_of_an_audit(rng, mu, runs):
    """What an attacker sees of noise that moves one of three numbers by ``mu`` of its standard deviations."""
    sides = []
    for moved in (0.0, mu):
        numbers = rng.standard_normal((runs, 3)) + np.array([moved, 0.0, 0.0])
        sides.append(AttackObservations((numbers[:, 0] - mu / 2.0) * mu, np.rint(1e6 * numbers)))
    return sides


def test_the_best_of_all_attacks_is_above_the_truth_no_more_often_than_one_audit_in_ten():
    """With a known cost: 1,000 audits at 90% confidence; and what costs twice the claim is found by most."""
    rng, alpha, audits, wrong, found = np.random.default_rng(0), 0.1 / len(ATTACKS), 1000, 0, 0
    for _ in range(audits):
        sides = noise_of_an_audit(rng, 1.0, 200)
        shown = max(strength(attack, *sides, alpha) for attack in ATTACKS)
        wrong, found = wrong + (shown > 1.0), found + (shown > 0.5)
    assert wrong <= 0.1 * audits
    assert found > audits / 2
