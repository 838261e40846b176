"""Principal components: exact where nothing is hidden, covered where something is, silent where noise mixes them."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, PrivacyWarning

LOADINGS = np.array([[0.8, 0.0], [0.8, 0.1], [0.7, 0.0], [0.0, 0.7], [0.1, 0.6], [0.0, 0.7]])
TRUTH = LOADINGS @ LOADINGS.T
np.fill_diagonal(TRUTH, 1.0)
NAMES = tuple("abcdef")


def released(n, seed, epsilon=2.0, matrix=TRUTH):
    rows = np.random.default_rng(seed).multivariate_normal(np.zeros(len(matrix)), matrix, n)
    domain = gv.Domain(columns=NAMES, bounds=(-5, 5))
    return gv.release(rows, domain=domain, budget=gv.Budget(epsilon, 1e-6), random_state=seed)


def decomposed(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1] * np.sqrt(values[::-1])


@pytest.fixture(scope="module")
def found():
    return gv.components(released(20_000, 0))


def test_they_are_the_eigenvectors_of_the_correlations(found):
    values, loadings = decomposed(TRUTH)
    assert found.variance.value == pytest.approx(values, abs=0.06)
    for k in (0, 1):
        aligned = loadings[:, k] * np.sign(loadings[:, k] @ found.loadings[:, k])
        assert found.loadings[:, k] == pytest.approx(aligned, abs=0.06)
    assert found.variance.value.sum() == pytest.approx(6.0, abs=0.01)
    assert (found.loadings[np.argmax(np.abs(found.loadings), axis=0), range(6)] > 0).all()


def test_intervals_cover():
    values, loadings = decomposed(TRUTH)
    variances, hits = [], []
    for seed in range(60):
        found = gv.components(released(4000, seed))
        variances.append((found.variance.lower <= values) & (values <= found.variance.upper))
        truth = loadings * np.sign(np.sum(loadings * found.loadings, axis=0))
        given = np.isfinite(found.loadings_sd)
        hits.append(((found.lower <= truth) & (truth <= found.upper))[given].mean())
    assert np.mean(hits) > 0.88
    assert np.mean(variances) > 0.88


def test_two_factors_stand_out_and_the_rest_is_noise(found):
    assert found.above_noise == 2
    assert gv.components(released(20_000, 0, matrix=np.eye(6))).above_noise <= 1
    assert repr(found).startswith("<Components of 6 columns: 2 above noise")


def test_components_that_noise_mixes_have_no_intervals(found):
    """Four eigenvalues are about equal: a direction among them is not a finding."""
    alike = gv.components(released(20_000, 1, matrix=np.eye(6)))
    assert np.isnan(alike.loadings_sd).any()
    assert "does not separate" in alike.summary()
    assert np.isfinite(found.loadings_sd[:, :2]).all()


def test_few_records_give_no_intervals():
    with pytest.warns(PrivacyWarning):
        found = gv.components(released(40, 0, epsilon=0.5))
    assert found.above_noise == 0
    assert np.isnan(found.variance.std_err).all()
    assert "No intervals" in found.summary()


def test_the_table_names_columns_and_components(found):
    text = found.summary()
    assert "PC1" in text
    assert "PC2" in text
    assert "2 of 6 components" in text
    frame = found.to_frame()
    assert frame.loc[("a", 1), "loading"] == found.loadings[0, 0]
    assert len(frame) == 36
    assert "<td>" in found._repr_html_()
    assert r"\toprule" in found.to_latex()
    with pytest.raises(InvalidParameter, match="level must be"):
        gv.components(released(200, 0), level=2)
