"""PrivateRidgePrecision: the paper's Algorithm 1 as printed, and the targeted ridge on the denoised release."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import GuaranteeError, InvalidParameter

THETA = gv.simulate.paper_model(3, 8)
ROWS = gv.simulate.gaussian_rows(THETA, 5000, random_state=0)
NORM = 1.25 * np.sqrt(np.trace(np.linalg.inv(THETA)))
PRINTED = {"mechanism": "paper", "data_norm": NORM, "assume_centered": True}


def test_papers_algorithm_1_as_printed():
    """Noise of sd √2R²√(2 ln(1.25/δ))/(nε) on every entry of the triangle, then equation 3.1."""
    model = gv.PrivateRidgePrecision(0.8, 1e-4, alpha=0.05, **PRINTED, random_state=0).fit(ROWS)
    step = model.release_.answers[0].step
    beta = np.sqrt(2) * NORM**2 / len(ROWS) * np.sqrt(2 * np.log(1.25 / 1e-4)) / 0.8
    for group in ("diagonal", "off_diagonal"):
        assert model.release_.answers[0].sd(group) == pytest.approx(beta, rel=1e-5)
    assert step.sd("trace") is None
    noisy = model.release_.second_moment
    theta = model.precision_
    np.testing.assert_allclose(noisy @ theta + 2 * 0.05 * theta @ theta, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(model.covariance_ @ theta, np.eye(8), atol=1e-9)
    assert model.alpha_ == 0.05
    assert not model.location_.any()


def test_the_noise_of_the_papers_tables_is_root_two_times_that_of_its_text():
    text, tables = (
        gv.PrivateRidgePrecision(0.8, 1e-4, alpha=0.05, **PRINTED, noise_factor=factor, random_state=0).fit(ROWS)
        for factor in (1.0, np.sqrt(2))
    )
    for group in ("diagonal", "off_diagonal"):
        wider, sd = (model.release_.answers[0].sd(group) for model in (tables, text))
        assert wider == pytest.approx(np.sqrt(2) * sd, rel=1e-5)
    assert tables.privacy_.budget.epsilon == 0.8 / np.sqrt(2)
    assert tables.privacy_.mu == pytest.approx(text.privacy_.mu / np.sqrt(2), rel=1e-5)
    for options in (PRINTED | {"noise_factor": 0.5}, {"data_norm": NORM, "noise_factor": 2.0}):
        with pytest.raises(InvalidParameter, match="noise_factor must be"):
            gv.PrivateRidgePrecision(0.8, 1e-4, alpha=0.05, **options).fit(ROWS)


def test_of_several_penalties_thinning_chooses_on_one_release():
    settings = {"epsilon": 1.0, "delta": 1e-6, "data_norm": NORM}
    model = gv.PrivateRidgePrecision(**settings, alpha=[1e-4, 1e-2, 1.0, 100.0], random_state=0).fit(ROWS)
    losses = [
        gv.metrics.kullback_leibler(
            gv.PrivateRidgePrecision(**settings, alpha=alpha).fit_release(model.release_).precision_, THETA
        )
        for alpha in model.cv_results_["alphas"]
    ]
    assert losses[model.cv_results_["mean_test_score"].argmax()] < 1.5 * min(losses) < 0.5 * max(losses)
    with pytest.raises(InvalidParameter, match='alpha must be a number with mechanism="paper"'):
        gv.PrivateRidgePrecision(0.8, 1e-4, alpha=[0.1, 0.2], **PRINTED).fit(ROWS)


def test_papers_calibration_beyond_its_proof_must_be_asked_for():
    with pytest.raises(GuaranteeError, match="allow_unproven"):
        gv.PrivateRidgePrecision(2.0, 1e-4, alpha=0.05, **PRINTED).fit(ROWS)
    model = gv.PrivateRidgePrecision(2.0, 1e-4, alpha=0.05, allow_unproven=True, **PRINTED).fit(ROWS)
    assert model.privacy_.mechanism == "paper"


def test_targeted_ridge_lies_between_the_dense_estimate_and_independence():
    settings = {"epsilon": 1.0, "delta": 1e-6, "data_norm": NORM, "random_state": 0}
    dense = gv.PrivatePrecision(**settings).fit(ROWS)
    little = gv.PrivateRidgePrecision(**settings, alpha=1e-9).fit_release(dense.release_)
    much = gv.PrivateRidgePrecision(**settings, alpha=1e9).fit_release(dense.release_)
    auto = gv.PrivateRidgePrecision(**settings).fit_release(dense.release_)
    np.testing.assert_allclose(little.precision_, dense.precision_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(much.precision_, np.diag(1 / np.diag(dense.covariance_)), atol=1e-7)
    assert auto.alpha_ == pytest.approx(8 / auto.n_eff_)
    assert gv.metrics.relative_loss(auto.precision_, THETA) < 0.3


def test_the_result_follows_the_units_of_the_columns():
    scale = 10.0 ** np.arange(-4, 4)
    plain, scaled = (
        gv.PrivateRidgePrecision(1.0, 1e-6, alpha=0.1, bounds=(-8 * s, 8 * s), random_state=0).fit(ROWS * s)
        for s in (np.ones(8), scale)
    )
    np.testing.assert_allclose(scaled.precision_ * np.outer(scale, scale), plain.precision_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": 0}, 'alpha must be a positive number, a list of them or "auto"'),
        ({"alpha": "much"}, 'alpha must be a positive number, a list of them or "auto"'),
        ({"mechanism": "papers"}, "mechanism must be"),
        ({"mechanism": "paper", "alpha": 0.1}, "set assume_centered=True"),
        ({"mechanism": "paper", "assume_centered": True}, 'alpha must be a number with mechanism="paper"'),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_spent(options, says):
    class Ledger:
        def charge(self, dataset, event):
            raise AssertionError("charged")

    model = gv.PrivateRidgePrecision(0.5, 1e-6, data_norm=NORM, ledger=Ledger(), dataset="d", **options)
    with pytest.raises(InvalidParameter, match=says):
        model.fit(ROWS)
