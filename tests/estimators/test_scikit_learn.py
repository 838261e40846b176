"""Estimators among scikit-learn's tools: nothing is spent silently. The table of docs/estimators.md, line by line."""

import copy
import pickle
import warnings
from inspect import signature

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphveil as gv
from graphveil.exceptions import BudgetExceeded, GraphveilError, GuaranteeError, PrivacyWarning

THETA = gv.simulate.paper_model(3, 5)
ROWS = gv.simulate.gaussian_rows(THETA, 20_000, random_state=0)
GRID = {"alpha": [0.01, 0.1]}


class Ledger:
    """Counts charges."""

    def __init__(self):
        self.charges = 0

    def charge(self, dataset, event):
        self.charges += 1


def network(**options):
    return gv.PrivateGraphicalLasso(1.0, 1e-6, **{"alpha": 0.1, "bounds": (-8, 8)} | options)


def ledgered(ledger):
    return network(ledger=ledger, dataset="people")


# ---------------------------------------------------------------------- searches
@pytest.fixture
def releases(monkeypatch):
    """How many releases the estimators make in this process."""
    from graphveil.estimators import base

    made, release = [], base.release
    monkeypatch.setattr(base, "release", lambda *args, **options: made.append(1) or release(*args, **options))
    return made


@pytest.mark.parametrize(
    "search",
    [
        lambda: GridSearchCV(network(), GRID, cv=3).fit(ROWS),
        lambda: GridSearchCV(network(), GRID, cv=2, error_score="raise").fit(ROWS),
        lambda: cross_val_score(network(), ROWS, cv=3),
        lambda: cross_val_score(make_pipeline(FunctionTransformer(), network()), ROWS, cv=3),
        lambda: cross_val_score(gv.PrivateLDA(1.0, 1e-6, classes=[False, True], bounds=(-8, 8)), ROWS, ROWS[:, 0] > 0),
    ],
    ids=["grid search", "grid search that raises", "cross-validation", "of a pipeline", "of a classifier"],
)
def test_searches_without_a_ledger_are_refused_before_anything_is_spent(search, releases):
    with pytest.raises(ValueError, match=r"nothing was spent(.|\n)*\(ten at \(1, 1e-06\) are \(3\.\d+, 1e-06\)"):
        search()
    assert not releases


def test_a_search_in_other_processes_is_refused_too():
    with pytest.raises(GuaranteeError, match="nothing was spent"):
        GridSearchCV(network(), GRID, cv=2, n_jobs=2, error_score="raise").fit(ROWS)


def test_a_ledger_charges_every_fit_of_a_search_and_its_scores_are_warned_about(tmp_path):
    ledger = Ledger()
    with pytest.warns(PrivacyWarning, match="exact number that no guarantee covers"):
        GridSearchCV(ledgered(ledger), GRID, cv=3).fit(ROWS)
    assert ledger.charges == 7
    real = gv.Ledger(tmp_path / "ledger.db")
    real.create("people", gv.Budget(2.0, 1e-6))
    search = GridSearchCV(ledgered(real), GRID, cv=3, error_score="raise")
    with pytest.raises(BudgetExceeded), pytest.warns(PrivacyWarning):
        search.fit(ROWS)
    assert len(real.history("people")) == 3


def test_simulations_are_searched_in_peace():
    found = GridSearchCV(network(random_state=0), GRID, cv=2).fit(ROWS)
    assert found.best_estimator_.release_.seeded


# ---------------------------------------------------------------------- several fits
def test_the_total_of_several_fits_is_said_at_the_second_the_fourth_and_so_on():
    totals = []
    for k in range(8):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (clone(network()) if k % 2 else network()).fit(ROWS)
        totals += [(k + 1, str(warning.message)) for warning in caught]
    assert [k for k, _ in totals] == [2, 4, 8]
    for k, said in totals:
        assert said.startswith(f"{k} releases with these bounds were made in this process without a ledger. If they")
    # μ√8, by hand.
    assert gv.Budget(float(totals[-1][1].split("they are (")[1].split(",")[0]), 1e-6).mu == pytest.approx(
        np.sqrt(8) * gv.Budget(1.0, 1e-6).mu, rel=0.01
    )


def test_ordinary_use_is_left_in_peace():
    """Two tables with other bounds, fits of one release, a ledger, simulations: a warning would be an error here."""
    first = network().fit(ROWS)
    network(bounds=(-9, 9)).fit(ROWS + 1.0)
    for alpha in GRID["alpha"]:
        network(alpha=alpha).fit_release(first.release_)
    ledger = Ledger()
    for _ in range(2):
        ledgered(ledger).fit(ROWS)
        network(random_state=0).fit(ROWS)
    assert ledger.charges == 2


def test_a_release_is_kept_where_the_warning_is_an_error():
    network().fit(ROWS)
    model = network()
    with pytest.raises(PrivacyWarning):
        model.fit(ROWS)
    assert model.fit_release(model.release_).precision_.shape == (5, 5)


def test_a_score_of_as_many_rows_as_were_fitted_is_warned_about():
    model = network().fit(ROWS)
    with pytest.warns(PrivacyWarning, match="exact number that no guarantee covers"):
        model.score(ROWS)
    model.score(ROWS[:100])
    network(random_state=0).fit(ROWS).score(ROWS)
    y = ROWS[:, 0] + np.random.default_rng(1).normal(size=len(ROWS))
    line = gv.PrivateLinearRegression(1.0, 1e-6, bounds=(-8, 8), outcome_bounds=(-10, 10)).fit(ROWS, y)
    classes = gv.PrivateLDA(1.0, 1e-6, classes=[False, True], bounds=(-8, 8)).fit(ROWS, y > 0)
    for other, truth in ((line, y), (classes, y > 0)):
        with pytest.warns(PrivacyWarning, match="exact number that no guarantee covers"):
            other.score(ROWS, truth)


# ---------------------------------------------------------------------- pipelines, copies, kinds of rows
class OfNothing(TransformerMixin, BaseEstimator):
    """Learns something, as far as one can tell."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_steps_that_learn_from_the_rows_are_warned_about():
    ledger = Ledger()
    with pytest.warns(PrivacyWarning, match="StandardScaler, OfNothing in this pipeline learns exact numbers"):
        make_pipeline(StandardScaler(), OfNothing(), StandardScaler(), ledgered(ledger)).fit(ROWS)
    inner = make_pipeline(OfNothing(), ledgered(ledger))
    with pytest.warns(PrivacyWarning, match="OfNothing in this pipeline"):
        make_pipeline("passthrough", inner).fit(ROWS)
    make_pipeline(FunctionTransformer(np.tanh), "passthrough", ledgered(ledger)).fit(ROWS)
    make_pipeline(Normalizer(), ledgered(ledger)).fit(ROWS)
    assert ledger.charges == 4
    assert make_pipeline(StandardScaler(), network(random_state=0)).fit(ROWS)[-1].release_.seeded


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), lambda model: _through_joblib(model)],
    ids=["deepcopy", "pickle", "joblib"],
)
def test_copies_are_fitted_and_spend_nothing(again):
    ledger = Ledger()
    model = ledgered(ledger).fit(ROWS)
    other = again(model.set_params(ledger=None))
    np.testing.assert_array_equal(other.precision_, model.precision_)
    assert other.release_ == model.release_
    assert clone(other).get_params() == other.get_params()
    assert not hasattr(clone(other), "release_")
    assert ledger.charges == 1


def test_a_clone_with_other_parameters_has_the_same_ledger():
    ledger = Ledger()
    model = ledgered(ledger).fit(ROWS)
    other = clone(model).set_params(alpha=0.2)
    assert other.ledger is ledger
    assert not hasattr(other, "precision_")
    assert other.fit(ROWS).alpha_ == 0.2
    assert ledger.charges == 2


def _through_joblib(model):
    (found,) = joblib.Parallel(n_jobs=2)([joblib.delayed(copy.copy)(model)])
    return found


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (scipy.sparse.csr_matrix(ROWS), "sparse|csr"),
        (ROWS[:, 0], "dimension"),
        (ROWS[None], "dimension"),
        (ROWS[:0], "no rows"),
        (ROWS[:, :0], "no columns"),
        (ROWS.astype(object), "astype"),
        (ROWS[:20].tolist(), "list"),
    ],
    ids=["sparse", "one dimension", "three", "no rows", "no columns", "object", "list"],
)
def test_rows_of_another_kind_are_refused_before_anything_is_spent(rows, says):
    ledger = Ledger()
    with pytest.raises(GraphveilError, match=says):
        ledgered(ledger).fit(rows)
    labels = np.zeros(rows.shape[0] if hasattr(rows, "shape") else len(rows), dtype=int)
    classifier = gv.PrivateLDA(1.0, 1e-6, classes=[0, 1], bounds=(-8, 8), ledger=ledger, dataset="people")
    with pytest.raises(GraphveilError):
        classifier.fit(rows, labels)
    assert ledger.charges == 0


def test_float32_and_integers_are_fitted():
    single, double = (network(random_state=0).fit(ROWS.astype(kind)) for kind in (np.float32, np.float64))
    np.testing.assert_allclose(single.precision_, double.precision_, atol=1e-3)
    assert single.precision_.dtype == np.float64
    assert network(random_state=0).fit(np.rint(ROWS).astype(int)).precision_.shape == (5, 5)


# ---------------------------------------------------------------------- the interface of covariance estimators
@pytest.mark.parametrize("kind", [gv.PrivatePrecision, gv.PrivateRidgePrecision, gv.PrivateGraphicalLasso])
def test_the_interface_of_scikit_learns_covariance_estimators(kind):
    model = kind(1.0, 1e-6, bounds=(-8, 8), random_state=0).fit(ROWS)
    peer = EmpiricalCovariance()
    peer.location_, peer.covariance_, peer.precision_ = model.location_, model.covariance_, model.precision_
    np.testing.assert_array_equal(model.get_precision(), peer.get_precision())
    np.testing.assert_allclose(model.mahalanobis(ROWS[:50]), peer.mahalanobis(ROWS[:50]))
    assert model.score(ROWS[:50]) == pytest.approx(peer.score(ROWS[:50]))
    sigma = np.linalg.inv(THETA)
    for options in ({}, {"norm": "spectral", "scaling": False}, {"squared": False}):
        assert model.error_norm(sigma, **options) == pytest.approx(peer.error_norm(sigma, **options))


# ---------------------------------------------------------------------- scikit-learn's own checks of a classifier
REFUSED = {
    "check_estimators_nan_inf": "NaN and infinities are clipped, never refused: an error would tell about values",
    "check_supervised_y_no_nan": "a label that is none of the classes is never refused, for the same reason",
    "check_classifiers_regression_target": "the same",
    "check_dtype_object": "object arrays have no schema: converting them would fail or not because of a value",
    "check_classifier_data_not_an_array": "nor have objects of unknown types",
    "check_classifiers_train": "nor have lists",
    "check_supervised_y_2d": "labels of two dimensions are refused, not flattened",
    "check_complex_data": "complex arrays are refused by dtype, in other words than scikit-learn's",
    "check_estimators_empty_data_messages": "empty data are refused, in other words than scikit-learn's",
    "check_classifiers_classes": "classes are declared, never read off the data; the check changes them",
    "check_decision_proba_consistency": "the same: it expects two classes, and three are declared",
}
RUN_THEM = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}


@parametrize_with_checks(
    [gv.PrivateLDA(epsilon=5.0, delta=1e-6, classes=[0, 1, 2], bounds=(-10, 10), random_state=0)],
    expected_failed_checks=lambda estimator: REFUSED,
    **RUN_THEM,
)
def test_scikit_learns_contract_of_a_classifier(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the checks use a handful of rows
        check(estimator)
