"""PrivatePrecision: scikit-learn's contract where privacy allows it, and what a user expects of a covariance."""

import pickle
import warnings
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphveil as gv
from graphveil.exceptions import InvalidParameter, PrivacyWarning

THETA = gv.simulate.paper_model(3, 6)
ROWS = gv.simulate.gaussian_rows(THETA, 20_000, random_state=0) + 1.0
SETTINGS = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-7, 9)}

# Everything else of scikit-learn's contract holds.
REFUSED = {
    "check_estimators_nan_inf": "NaN and infinities are clipped, never refused: an error would tell about values",
    "check_dtype_object": "object arrays have no schema: converting them would fail or not because of a value",
    "check_complex_data": "complex arrays are refused by dtype, in other words than scikit-learn's",
    "check_estimators_empty_data_messages": "empty data are refused, in other words than scikit-learn's",
}


# Run what is expected to fail, and see that it does; older versions of scikit-learn always do.
RUN_THEM = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}


@parametrize_with_checks(
    [
        gv.PrivatePrecision(epsilon=5.0, delta=1e-6, data_norm=5.0, random_state=0),
        gv.PrivateRidgePrecision(epsilon=5.0, delta=1e-6, data_norm=5.0, random_state=0),
        gv.PrivateGraphicalLasso(epsilon=5.0, delta=1e-6, data_norm=5.0, random_state=0),
    ],
    expected_failed_checks=lambda estimator: REFUSED,
    **RUN_THEM,
)
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the checks use a handful of rows
        check(estimator)


def test_fit_is_release_and_recover():
    model = gv.PrivatePrecision(**SETTINGS, random_state=3).fit(ROWS)
    assert gv.metrics.relative_loss(model.precision_, THETA) < 0.1
    again = gv.recover(model.release_)
    np.testing.assert_array_equal(model.precision_, again.precision)
    np.testing.assert_allclose(model.location_, 1.0, atol=0.1)
    assert model.privacy_ is model.release_.event
    assert model.n_features_in_ == 6


def test_fit_release_costs_nothing_and_gives_the_same(tmp_path):
    model = gv.PrivatePrecision(**SETTINGS).fit(ROWS)
    model.release_.save(tmp_path / "x.release")
    other = gv.PrivatePrecision(**SETTINGS).fit_release(gv.Release.load(tmp_path / "x.release"))
    np.testing.assert_array_equal(other.precision_, model.precision_)


def test_every_fit_is_charged():
    class Ledger:
        def __init__(self):
            self.events = []

        def charge(self, dataset, event):
            self.events.append((dataset, event.budget.epsilon))

    ledger = Ledger()
    model = gv.PrivatePrecision(**SETTINGS, ledger=ledger, dataset="people")
    model.fit(ROWS).fit(ROWS)
    assert ledger.events == [("people", 1.0)] * 2


def test_two_fits_without_a_seed_differ_and_with_one_agree():
    private = gv.PrivatePrecision(**SETTINGS)
    first = private.fit(ROWS).precision_
    with pytest.warns(PrivacyWarning, match="2 releases"):
        assert (first != clone(private).fit(ROWS).precision_).any()
    seeded = gv.PrivatePrecision(**SETTINGS, random_state=1)
    np.testing.assert_array_equal(seeded.fit(ROWS).precision_, clone(seeded).fit(ROWS).precision_)
    assert seeded.release_.seeded


def test_names_frames_and_graphs():
    names = ["age", "bmi", "sbp", "dbp", "glucose", "pulse"]
    model = gv.PrivatePrecision(**SETTINGS).fit(pd.DataFrame(ROWS, columns=names))
    assert list(model.feature_names_in_) == names
    frame = model.to_frame()
    assert list(frame.columns) == names
    np.testing.assert_allclose(np.diag(frame), 1.0)
    np.testing.assert_array_equal(frame, model.partial_correlations_)
    np.testing.assert_array_equal(frame, gv.metrics.partial_correlations(model.precision_))
    graph = model.to_networkx(threshold=0.15)
    truth = gv.metrics.partial_correlations(THETA)
    assert graph.number_of_nodes() == 6
    assert graph.number_of_edges() == (np.abs(truth[np.triu_indices(6, 1)]) > 0.15).sum()
    assert gv.PrivatePrecision(**SETTINGS, random_state=0).fit(ROWS).to_frame().columns[0] == "x0"


def test_score_and_distances_are_those_of_scikit_learn():
    model = gv.PrivatePrecision(**SETTINGS, random_state=0).fit(ROWS)
    peer = EmpiricalCovariance()
    peer.location_, peer.covariance_, peer.precision_ = model.location_, model.covariance_, model.precision_
    np.testing.assert_allclose(model.mahalanobis(ROWS[:50]), peer.mahalanobis(ROWS[:50]))
    assert model.score(ROWS[:50]) == pytest.approx(peer.score(ROWS[:50]))


def test_a_model_survives_pickling_once_released():
    model = gv.PrivatePrecision(**SETTINGS).fit(ROWS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.precision_, model.precision_)
    assert again.release_ == model.release_


def test_too_few_records_are_warned_about_with_a_number():
    with pytest.warns(PrivacyWarning, match=r"as good as n_eff = .* for 6 columns.*About [\d,]+ records"):
        gv.PrivatePrecision(epsilon=0.1, delta=1e-6, bounds=(-7, 9), random_state=0).fit(ROWS[:200])


def test_rows_of_another_width_are_refused():
    model = gv.PrivatePrecision(**SETTINGS, random_state=0).fit(ROWS)
    for method in (model.score, model.mahalanobis):
        with pytest.raises(InvalidParameter, match="X has 2 features, but PrivatePrecision is expecting 6 features"):
            method(ROWS[:, :2])


def test_wrong_parameters_are_refused_at_fit():
    with pytest.raises(InvalidParameter, match="epsilon must be"):
        gv.PrivatePrecision(epsilon=0, delta=1e-6, bounds=(-7, 9)).fit(ROWS)
    with pytest.raises(InvalidParameter, match="needs bounds or data_norm"):
        gv.PrivatePrecision(epsilon=1, delta=1e-6).fit(ROWS)
    with pytest.raises(NotFittedError):
        gv.PrivatePrecision(**SETTINGS).partial_correlations_  # noqa: B018 - reading it raises


def test_samples_of_the_fitted_gaussian():
    model = gv.PrivatePrecision(**SETTINGS, random_state=0).fit(ROWS)
    rows = model.sample(50_000, random_state=1)
    np.testing.assert_allclose(rows.mean(axis=0), model.location_, atol=0.05)
    np.testing.assert_allclose(np.cov(rows.T), model.covariance_, atol=0.05 * np.abs(model.covariance_).max())
    assert (model.sample(5) != model.sample(5)).any()


def test_conditional_means_are_regressions():
    names = ["age", "bmi", "sbp", "dbp", "glucose", "pulse"]
    model = gv.PrivatePrecision(**SETTINGS, random_state=0).fit(pd.DataFrame(ROWS, columns=names))
    c, m = model.covariance_, model.location_
    given, others = [1, 4], [0, 2, 3, 5]
    slope = np.linalg.solve(c[np.ix_(given, given)], c[np.ix_(given, others)])
    expected = m[others] + (ROWS[:7][:, given] - m[given]) @ slope
    np.testing.assert_allclose(model.conditional_mean(ROWS[:7][:, given], ["bmi", "glucose"]), expected)
    np.testing.assert_allclose(model.conditional_mean(ROWS[:7][:, given], given), expected)
    for wrong in ([], ["weight"], ["bmi", "bmi"], [0, 1, 2, 3, 4, 5], [9]):
        with pytest.raises(InvalidParameter, match="given must be some but not all columns"):
            model.conditional_mean(ROWS[:7, : len(wrong)], wrong)


def test_minimum_variance_weights():
    model = gv.PrivatePrecision(**SETTINGS, random_state=0).fit(ROWS)
    best = model.minimum_variance_weights()
    assert best.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = best + 0.1 * (step := rng.normal(size=6)) - 0.1 * step.mean()
        assert best @ model.covariance_ @ best <= other @ model.covariance_ @ other
