"""Missing values that are declared: means, variances and partial correlations of complete rows."""

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.diagnostics import warnings_for
from graphveil.recovery.estimate import estimate_release
from graphveil.recovery.missing_values import complete
from graphveil.recovery.noise_model import NoisyCovariance

BUDGET = gv.Budget(1.0, 1e-6)
P, N = 10, 20_000
COVARIANCE = np.linalg.inv(gv.simulate.paper_model(3, p=P))
SD = np.sqrt(np.diag(COVARIANCE))
CORRELATION = COVARIANCE / np.outer(SD, SD)
TRUTH = gv.metrics.partial_correlations(np.linalg.inv(CORRELATION))
PAIRS = np.triu_indices(P, 1)
MEAN = np.linspace(-1, 1, P)


def rows(share, seed):
    """Gaussian rows, values of the first five columns missing at random."""
    generator = np.random.default_rng(seed)
    complete_rows = generator.standard_normal((N, P)) @ np.linalg.cholesky(CORRELATION).T + MEAN
    complete_rows[:, :5][generator.random((N, 5)) < share] = np.nan
    return complete_rows


def released(share, kind, seed=0):
    domain = gv.Domain({f"x{i}": kind if i < 5 else (-6, 6) for i in range(P)})
    return gv.release(rows(share, seed), domain=domain, budget=BUDGET, random_state=seed)


DECLARED = gv.Number(-6, 6, missing=True)


@pytest.mark.parametrize(("share", "largest"), [(0.0, 0.035), (0.1, 0.04), (0.4, 0.065)])
def test_estimates_are_those_of_complete_rows(share, largest):
    made = released(share, DECLARED)
    estimate = gv.recover(made)
    assert np.abs(estimate.partial_correlations - TRUTH)[PAIRS].max() < largest
    np.testing.assert_allclose(np.diag(estimate.covariance), 1.0, atol=0.06)
    np.testing.assert_allclose(estimate.location, MEAN, atol=0.06)
    np.testing.assert_allclose(list(made.missing_shares.values()), share, atol=0.02)
    np.testing.assert_allclose(made.location, MEAN, atol=0.1)
    np.testing.assert_allclose(np.diag(made.second_moment), 1.0, atol=0.1)
    found = Analysis(made, estimate).find_intervals(0.95)
    inside = (found.lower <= TRUTH) & (found.upper >= TRUTH)
    assert inside[PAIRS].mean() > 0.85


def test_without_a_declaration_gaps_distort():
    """The control: what a missing value in the middle of wide bounds does."""
    estimate = gv.recover(released(0.4, (-6, 6)))
    assert np.abs(estimate.partial_correlations - TRUTH)[PAIRS].max() > 0.1
    assert np.diag(estimate.covariance)[:5].max() < 0.9


def test_gaps_cost_records_and_a_declaration_alone_costs_little():
    n_eff = [released(share, kind).n_eff for share, kind in ((0.0, (-6, 6)), (0.0, DECLARED), (0.4, DECLARED))]
    assert n_eff[0] > n_eff[1] > 0.96 * n_eff[0]
    assert n_eff[2] < 0.6 * n_eff[0]


def test_what_is_missing_together_is_known_together():
    """A panel that was not taken: as if there were fewer records, not as if pairs were fewer still."""
    generator = np.random.default_rng(1)
    values = rows(0.0, 1)
    values[:, :5][generator.random(N) < 0.4] = np.nan
    domain = gv.Domain({f"x{i}": DECLARED if i < 5 else (-6, 6) for i in range(P)})
    made = gv.release(values, domain=domain, budget=BUDGET, random_state=1)
    np.testing.assert_allclose(made.observed[:5, :5], 0.6, atol=0.02)
    assert np.abs(gv.recover(made).partial_correlations - TRUTH)[PAIRS].max() < 0.05


def test_a_survey_with_codes_gaps_and_categories():
    """Hours of television, a third of them missing, in bounds of a day: 5.8 instead of 2.9 when nothing is declared."""
    generator = np.random.default_rng(2)
    n = 15_000
    educ = generator.normal(13, 3, n).clip(0, 20)
    hours = (5.2 - 0.18 * educ + generator.exponential(2.0, n) - 0.1).clip(0, 24)
    status = np.where(generator.random(n) < 0.3, "divorced", np.where(generator.random(n) < 0.5, "single", "married"))
    frame = pd.DataFrame({"educ": educ, "tvhours": hours, "status": status})
    frame.loc[generator.random(n) < 0.31, "tvhours"] = np.nan
    frame.loc[generator.random(n) < 0.1, "educ"] = 99
    frame.loc[generator.random(n) < 0.05, "status"] = "iap"
    kinds = {
        "educ": gv.Number(0, 20, missing=[98, 99]),
        "tvhours": gv.Number(0, 24, missing=True),
        "status": gv.Category(["married", "single", "divorced"], missing=True),
    }
    made = gv.release(frame, domain=gv.Domain(kinds), budget=BUDGET, random_state=3)
    estimate = gv.recover(made)
    found = dict(zip(estimate.columns, estimate.location, strict=True))
    assert found["tvhours"] == pytest.approx(hours.mean(), abs=0.1)
    assert found["educ"] == pytest.approx(educ.mean(), abs=0.15)
    assert found["status[divorced]"] == pytest.approx(0.3, abs=0.02)
    assert estimate.correlation[0, 1] == pytest.approx(np.corrcoef(educ, hours)[0, 1], abs=0.04)
    assert made.missing_shares == pytest.approx({"educ": 0.1, "tvhours": 0.31, "status": 0.05}, abs=0.01)
    assert gv.Release.from_bytes(made.to_bytes()) == made


def test_a_column_that_is_hardly_ever_there_is_told():
    values = rows(0.0, 0)
    values[:, 0][np.random.default_rng(0).random(N) < 0.97] = np.nan
    domain = gv.Domain({f"x{i}": DECLARED if i < 1 else (-6, 6) for i in range(P)})
    made = gv.release(values, domain=domain, budget=BUDGET, random_state=0)
    assert any("almost always missing" in said and "x0." in said for said in warnings_for(made, estimate_release(made)))


def test_completing_undoes_a_product_with_shares():
    observed = np.array([[0.5, 0.3, 0.5], [0.3, 0.6, 0.6], [0.5, 0.6, 1.0]])
    noisy = NoisyCovariance(CORRELATION[:3, :3] * observed, ((np.eye(3), 1e-3),), CORRELATION[:3, :3] * observed, 1e-12)
    found = complete(noisy, observed)
    np.testing.assert_allclose(found.denoised, CORRELATION[:3, :3])
    expected = 1e-3 / np.sqrt(2.0) / observed
    np.testing.assert_allclose(found.entry_sd[PAIRS[0][:2], [1, 2]], expected[0, 1:], rtol=0.02)


def test_completed_covariances_are_positive_definite():
    """Shares of pairs that are off can make a matrix indefinite; its eigenvalues end at the noise."""
    matrix = np.full((4, 4), 0.35) + 0.3 * np.eye(4)
    observed = np.full((4, 4), 0.36) + 0.24 * np.eye(4)
    found = complete(NoisyCovariance(matrix, ((np.eye(4), 0.02),), matrix, 1e-4), observed)
    assert np.linalg.eigvalsh(matrix / observed)[0] < 0.12
    assert np.linalg.eigvalsh(found.denoised)[0] > 0.0
    np.testing.assert_allclose(np.diag(found.denoised), np.diag(matrix / observed))
