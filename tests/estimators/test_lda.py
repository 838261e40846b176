"""PrivateLDA: one release of rows and labels, declared classes, and what scikit-learn's LDA would say."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError

import graphveil as gv
from graphveil.exceptions import InvalidParameter, PrivacyWarning, SourceError

RNG = np.random.default_rng(0)
MEANS = {"a": [0, 0, 0], "b": [2, 1, 0], "c": [0, 2, -1]}
LABELS = RNG.choice(["a", "b", "c"], size=20_000, p=[0.5, 0.3, 0.2])
ROWS = np.array([MEANS[name] for name in LABELS]) + RNG.normal(size=(20_000, 3)) @ np.array(
    [[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1]]
)
SETTINGS = {"epsilon": 2.0, "delta": 1e-6, "classes": ["a", "b", "c"], "bounds": (-8, 8)}


def test_it_agrees_with_scikit_learn_where_there_are_many_rows():
    model = gv.PrivateLDA(**SETTINGS, random_state=0).fit(ROWS, LABELS)
    peer = LinearDiscriminantAnalysis(store_covariance=True).fit(ROWS, LABELS)
    np.testing.assert_allclose(model.priors_, peer.priors_, atol=0.02)
    np.testing.assert_allclose(model.means_, peer.means_, atol=0.1)
    np.testing.assert_allclose(model.covariance_, peer.covariance_, atol=0.1)
    assert np.mean(model.predict(ROWS) == peer.predict(ROWS)) > 0.97
    np.testing.assert_allclose(model.predict_proba(ROWS).sum(axis=1), 1.0)
    assert model.score(ROWS, LABELS) > peer.score(ROWS, LABELS) - 0.01
    assert model.decision_function(ROWS).shape == (20_000, 3)


def test_two_classes_names_and_frames():
    frame = pd.DataFrame(ROWS, columns=["u", "v", "w"])
    binary = LABELS == "b"
    model = gv.PrivateLDA(2.0, 1e-6, classes=[False, True], bounds=(-8, 8), random_state=0).fit(frame, binary)
    assert model.decision_function(ROWS).shape == (20_000,)
    assert ((model.decision_function(ROWS) > 0) == model.predict(ROWS)).all()
    assert list(model.feature_names_in_) == ["u", "v", "w"]
    assert model.to_frame().shape == (3, 3)
    assert model.score(ROWS, binary) > 0.8


def test_rows_and_labels_are_one_release_and_one_charge(tmp_path):
    events = []

    class Ledger:
        def charge(self, dataset, event):
            events.append(event)

    model = gv.PrivateLDA(**SETTINGS, ledger=Ledger(), dataset="d").fit(ROWS, LABELS)
    assert events == [model.privacy_]
    assert model.privacy_.keeps_budget
    model.release_.save(tmp_path / "x.release")
    again = gv.PrivateLDA(**SETTINGS).fit_release(gv.Release.load(tmp_path / "x.release"))
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_an_unknown_label_counts_in_equal_parts_for_all_classes():
    from graphveil.rows.class_indicators import append_class_indicators

    source, wide = append_class_indicators(
        (np.zeros((4, 2)), ["a", "c", "?", None]), gv.Domain(bounds=(-1, 1)), gv.Labels(["a", "b", "c"])
    )
    (rows, _), *_ = source.read()
    np.testing.assert_allclose(rows[:, 2:], [[1, 0], [0, 0], [1 / 3, 1 / 3], [1 / 3, 1 / 3]])
    assert wide.bounds == ((-1.0, -1.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0))
    strange = LABELS.astype(object)
    strange[::50] = "unheard of"
    assert gv.PrivateLDA(**SETTINGS, random_state=0).fit(ROWS, strange).score(ROWS, LABELS) > 0.7


def test_indicators_are_a_function_of_their_own_record_alone():
    """Replacing one row and its label changes that row of the wide table and no other."""
    from graphveil.rows.class_indicators import append_class_indicators

    def wide(rows, labels):
        source, _ = append_class_indicators((rows, labels), gv.Domain(bounds=(-8, 8)), gv.Labels(["a", "b", "c"]))
        return np.vstack([block for block, _ in source.read()])

    before = wide(ROWS[:50], list(LABELS[:50]))
    for strange in ("b", "c", "?", None, float("nan"), 7):
        labels, rows = list(LABELS[:50]), ROWS[:50].copy()
        labels[17], rows[17] = strange, np.nan
        after = wide(rows, labels)
        np.testing.assert_array_equal(np.delete(after, 17, axis=0), np.delete(before, 17, axis=0))
        assert ((after[:, 3:] >= 0) & (after[:, 3:] <= 1)).all()
        assert after[17, 3:].sum() <= 1


def test_real_data_private_end_to_end():
    data = load_breast_cancer()
    upper = np.ceil(data.data.max(axis=0) / 10 ** np.floor(np.log10(data.data.max(axis=0)))) * 10 ** np.floor(
        np.log10(data.data.max(axis=0))
    )
    scores = []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(569)
        train, test = order[:455], order[455:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            model = gv.PrivateLDA(8.0, 1e-4, classes=[0, 1], bounds=(np.zeros(30), upper), random_state=seed)
            scores.append(model.fit(data.data[train], data.target[train]).score(data.data[test], data.target[test]))
    assert np.mean(scores) > 0.88


def test_what_is_refused():
    with pytest.raises(InvalidParameter, match="at least two classes"):
        gv.PrivateLDA(1, 1e-6, classes=["a"], bounds=(-8, 8)).fit(ROWS, LABELS)
    with pytest.raises(InvalidParameter, match="classes must be"):
        gv.PrivateLDA(1, 1e-6, classes=["a", "a"], bounds=(-8, 8)).fit(ROWS, LABELS)
    with pytest.raises(InvalidParameter, match="needs bounds"):
        gv.PrivateLDA(1, 1e-6, classes=["a", "b"]).fit(ROWS, LABELS)
    with pytest.raises(InvalidParameter, match="requires y"):
        gv.PrivateLDA(**SETTINGS).fit(ROWS)
    with pytest.raises(SourceError, match="labels"):
        gv.PrivateLDA(**SETTINGS).fit(ROWS, LABELS[:-1])
    with pytest.raises(NotFittedError):
        gv.PrivateLDA(**SETTINGS).predict(ROWS)
    with pytest.raises(InvalidParameter, match="X must have 2 dimensions"):
        gv.PrivateLDA(**SETTINGS, random_state=0).fit(ROWS, LABELS).predict(ROWS[0])
    model = clone(gv.PrivateLDA(**SETTINGS))
    assert model.get_params()["classes"] == ["a", "b", "c"]


def test_what_needs_one_gaussian_or_one_pass_is_not_there():
    model = gv.PrivateLDA(**SETTINGS, random_state=0).fit(ROWS, LABELS)
    absent = {"partial_fit", "release", "sample", "conditional_mean", "minimum_variance_weights", "mahalanobis"}
    assert not absent & set(dir(model))
    assert absent <= set(dir(gv.PrivatePrecision))
