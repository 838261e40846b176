"""Theorem 3: the noise keeps (ε, δ) everywhere on a grid, checked with fifty digits, and agrees with a peer."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism as peer

import graphveil as gv
from graphveil.exceptions import GuaranteeError
from graphveil.privacy import calibration
from graphveil.privacy.mechanisms import step_for
from graphveil.spec.gdp import delta_from_mu, epsilon_from_mu, mu_from_epsilon_delta
from graphveil.spec.queries import Moments
from graphveil.spec.row_space import RowSpace

GRID = [
    (float(epsilon), float(delta)) for epsilon in np.geomspace(1e-3, 20.0, 26) for delta in np.geomspace(1e-12, 0.1, 23)
]


def exact_delta(mu, epsilon):
    """δ_μ(ε) with sixty digits."""
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        upper, lower = (mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (epsilon / mu - mu / 2, epsilon / mu + mu / 2))
        return upper - mpmath.exp(epsilon) * lower


def default_step(budget, p=20):
    space = RowSpace.of(gv.Domain(bounds=(-1, 1), n_features=p), None, None)
    mu, eta = calibration.analytic_mu(budget), calibration.grid_eta_budget(budget)
    return step_for(Moments(1.0), space, 1, mu, eta)


def test_own_delta_never_exceeds_delta_on_the_grid():
    for epsilon, delta in GRID:
        mu = mu_from_epsilon_delta(epsilon, delta)
        exact = exact_delta(mu, epsilon)
        assert exact <= delta, (epsilon, delta)
        assert exact >= delta * (1 - 1e-8), "private, but wasteful"


def test_release_noise_keeps_the_budget_lattice_included():
    for epsilon, delta in GRID:
        step = default_step(gv.Budget(epsilon, delta))
        with mpmath.workdps(60):
            mu = mpmath.mpf(step.sensitivity) / mpmath.mpf(step.sd("diagonal"))
            # The other groups, in units of the first: svec scales entries above the diagonal by √2.
            assert mpmath.sqrt(2) * mpmath.mpf(step.sd("off_diagonal")) >= mpmath.mpf(step.sd("diagonal"))
            assert step.sd("trace") >= step.sd("diagonal")
            spacing = mpmath.mpf(2) ** step.lattice
            eta = sum(g.count * (spacing / mpmath.mpf(g.sd)) ** 2 for g in step.groups) / 16
            assert mu <= step.mu
            assert eta <= step.eta
            assert exact_delta(mu, epsilon) + (1 + mpmath.exp(epsilon)) * eta <= delta, (epsilon, delta)
        assert delta_from_mu(step.mu, epsilon, step.eta) <= delta


def test_agrees_with_dp_accounting_before_the_lattice_term():
    for epsilon, delta in GRID:
        assert 1 / mu_from_epsilon_delta(epsilon, delta) == pytest.approx(
            peer.get_sigma_gaussian(epsilon, delta), rel=1e-9
        )


def test_mu_and_epsilon_invert_each_other():
    for epsilon, delta in GRID:
        assert epsilon_from_mu(mu_from_epsilon_delta(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


def test_a_release_pays_less_than_a_permille_for_its_lattice():
    for epsilon, delta in GRID:
        budget = gv.Budget(epsilon, delta)
        assert 0.999 * budget.mu <= calibration.analytic_mu(budget) <= budget.mu


@pytest.mark.parametrize("factor", [0.99, 0.8])
def test_less_noise_would_be_seen(factor):
    """A negative control for the grid tests: 1% less noise breaks δ everywhere."""
    assert all(exact_delta(mu_from_epsilon_delta(e, d) / factor, e) > d for e, d in GRID)


def test_the_lattice_term_is_counted():
    assert delta_from_mu(0.5, 1.0, eta=1e-3) == pytest.approx(delta_from_mu(0.5, 1.0) + (1 + math.e) * 1e-3)
    assert epsilon_from_mu(0.5, 1e-6, eta=1e-3) == math.inf
    assert epsilon_from_mu(0.5, 1e-6, eta=1e-12) > epsilon_from_mu(0.5, 1e-6)


def test_no_sensible_epsilon_is_refused_and_a_senseless_one_is():
    assert default_step(gv.Budget(1e-3, 1e-12)).mu > 0
    assert default_step(gv.Budget(30.0, 1e-12)).mu > 0
    with pytest.raises(GuaranteeError, match="cannot be kept in exact arithmetic"):
        default_step(gv.Budget(800.0, 1e-6))


def test_composition_adds_squares():
    """Two half budgets in μ² are one whole one."""
    whole = mu_from_epsilon_delta(1.0, 1e-6)
    half = whole / math.sqrt(2)
    assert epsilon_from_mu(math.hypot(half, half), 1e-6) == pytest.approx(1.0, rel=1e-9)


def test_known_values_of_the_literature():
    """σ per unit of sensitivity; Balle and Wang's algorithm as tabulated by an independent implementation."""
    table = {(0.1, 0.01): 9.5418, (1.2, 0.0025): 1.9916, (0.5, 1e-3): 4.6101, (2.0, 1e-6): 2.2305}
    for (epsilon, delta), sigma in table.items():
        assert 1 / mu_from_epsilon_delta(epsilon, delta) == pytest.approx(sigma, abs=6e-5)
