"""PrivateGraphicalLasso: penalties that know the noise, the paper's Algorithm 2, and what it refuses."""

import sys
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, PrivacyWarning, UnboundedProblem

THETA = gv.simulate.paper_model(4, 20, random_state=1)
ROWS = gv.simulate.gaussian_rows(THETA, 4000, random_state=1)
NORM = 1.25 * np.sqrt(np.trace(np.linalg.inv(THETA)))
SETTINGS = {"epsilon": 1.0, "delta": 1e-4, "data_norm": NORM, "assume_centered": True}


def auc(precision, theta):
    return gv.metrics.roc_auc(np.abs(gv.metrics.partial_correlations(precision)), np.abs(theta) > 1e-9)


def test_it_beats_the_dense_estimate_by_far_and_finds_the_edges():
    sparse, dense, found = [], [], []
    for seed in range(5):
        model = gv.PrivateGraphicalLasso(**SETTINGS, random_state=seed).fit(ROWS)
        sparse.append(gv.metrics.relative_loss(model.precision_, THETA))
        dense.append(gv.metrics.relative_loss(gv.recover(model.release_).precision, THETA))
        found.append(auc(model.precision_, THETA))
    assert np.median(sparse) < 0.6 * np.median(dense)
    assert max(sparse) < 1.1 * min(dense)
    assert min(found) > 0.98


def test_the_same_release_always_gives_the_same_network():
    model = gv.PrivateGraphicalLasso(**SETTINGS).fit(ROWS)
    again = gv.PrivateGraphicalLasso(**SETTINGS).fit_release(model.release_)
    np.testing.assert_array_equal(model.precision_, again.precision_)
    np.testing.assert_allclose(model.precision_ @ model.covariance_, np.eye(20), atol=1e-8)
    assert model.alpha_.shape == (20, 20)
    np.testing.assert_array_equal(model.alpha_, model.alpha_.T)
    assert not model.alpha_.diagonal().any()


def test_the_network_does_not_depend_on_units():
    scale = 10.0 ** np.linspace(-3, 3, 20)
    one, other = (
        gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-6 * s, 6 * s), random_state=0).fit(ROWS * s)
        for s in (np.ones(20), scale)
    )
    # Penalties of correlations, as the parameter alpha: the units of the columns range over six decades. Thinning draws
    # other noise for another file, and may choose another factor for all of them.
    weighed = np.minimum(one.alpha_, other.alpha_) > 0.0
    ratio = other.alpha_[weighed] / one.alpha_[weighed]
    np.testing.assert_allclose(ratio, ratio[0], rtol=0.02)
    expected, found = (
        gv.PrivateGraphicalLasso(1.0, 1e-6, alpha=one.alpha_).fit_release(model.release_).precision_
        for model in (one, other)
    )
    np.testing.assert_allclose(found * np.outer(scale, scale), expected, atol=0.01 * np.abs(THETA).max())
    assert np.mean((found != 0) != (expected != 0)) < 0.02


def test_other_ways_to_choose_the_penalty():
    model = gv.PrivateGraphicalLasso(**SETTINGS, random_state=0).fit(ROWS)
    release = model.release_
    few = gv.PrivateGraphicalLasso(**SETTINGS, alpha="ebic").fit_release(release)
    assert np.count_nonzero(few.precision_) <= np.count_nonzero(model.precision_)
    found = gv.recover(release)
    for alpha in (0.1, np.full((20, 20), 0.1)):
        given = gv.PrivateGraphicalLasso(**SETTINGS, alpha=alpha).fit_release(release)
        sd = np.sqrt(np.diag(found.covariance))
        direct = gv.solvers.graphical_lasso(found.correlation, 0.1, penalize_diagonal=False).precision / np.outer(
            sd, sd
        )
        np.testing.assert_allclose(given.precision_, direct, atol=1e-3 * np.abs(direct).max())
    empty = gv.PrivateGraphicalLasso(**SETTINGS, alpha=10.0).fit_release(release)
    assert np.count_nonzero(empty.precision_) == 20


def test_of_several_penalties_thinning_chooses_on_one_release():
    model = gv.PrivateGraphicalLasso(**SETTINGS, alpha=np.geomspace(0.003, 0.5, 8), random_state=0).fit(ROWS)
    found = model.cv_results_
    assert found["alphas"][found["mean_test_score"].argmax()] == model.alpha_
    assert found["mean_test_score"].shape == found["std_test_score"].shape == (8,)
    losses = []
    for alpha in found["alphas"]:
        other = gv.PrivateGraphicalLasso(**SETTINGS, alpha=float(alpha)).fit_release(model.release_)
        losses.append(gv.metrics.kullback_leibler(other.precision_, THETA))
        if alpha == model.alpha_:
            np.testing.assert_array_equal(other.precision_, model.precision_)
    assert losses[found["mean_test_score"].argmax()] < 1.5 * min(losses) < 0.1 * max(losses)
    # The score is the log-likelihood of new rows, to within the noise of thinning.
    fresh = gv.simulate.gaussian_rows(THETA, 4000, random_state=9)
    assert found["mean_test_score"].max() == pytest.approx(model.score(fresh), abs=0.5)
    assert not hasattr(gv.PrivateGraphicalLasso(**SETTINGS).fit_release(model.release_), "cv_results_")


def test_papers_algorithm_2_as_printed():
    """ADMM on S + E with the given λ, ρ; every entry penalised, the diagonal too."""
    options = SETTINGS | {"epsilon": 0.9}
    model = gv.PrivateGraphicalLasso(**options, alpha=0.6, mechanism="paper", max_iter=5000, random_state=0).fit(ROWS)
    noisy = model.release_.second_moment
    assert model.privacy_.mechanism == "paper"
    expected = gv.solvers.graphical_lasso(noisy, 0.6, tol=1e-9)
    np.testing.assert_allclose(model.precision_, expected.precision, atol=2e-3 * np.abs(expected.precision).max())


def test_algorithm_2_stops_after_its_iterations_and_says_whether_it_converged():
    options = SETTINGS | {"epsilon": 0.05, "mechanism": "paper"}
    plain = gv.PrivateGraphicalLasso(**options, alpha=1e-4, max_iter=200, random_state=0).fit(ROWS[:500])
    S = plain.release_.second_moment
    with pytest.raises(UnboundedProblem, match="alpha") as caught:  # noise left no minimiser
        gv.solvers.admm(S, 1e-4, tol=1e-6, max_iter=200)
    expected = gv.solvers.admm(S, 1e-4, tol=None, max_iter=200).precision
    np.testing.assert_array_equal(plain.precision_, expected)
    assert (plain.n_iter_, plain.converged_) == (200, False)
    until = gv.PrivateGraphicalLasso(**options, alpha=1e-4, max_iter=200, tol=1e-6).fit_release(plain.release_)
    np.testing.assert_array_equal(until.precision_, expected)
    assert not until.converged_
    rho = np.abs(np.linalg.eigvalsh(S)).mean() ** 2
    options |= {"alpha": 2 * caught.value.safe_alpha, "rho": rho, "max_iter": 20_000}
    enough = gv.PrivateGraphicalLasso(**options, tol=1e-6).fit_release(plain.release_)
    assert enough.converged_
    assert enough.n_iter_ < 20_000


@pytest.mark.parametrize("cell", [(3, 30, 500, 0.5), (4, 10, 60, 0.1), (3, 5, 200, 1.0), (4, 40, 3000, 1.0)], ids=str)
def test_few_records_give_a_careful_answer(cell):
    model, p, n, epsilon = cell
    theta = gv.simulate.paper_model(model, p, random_state=0)
    norm = 1.25 * np.sqrt(np.trace(np.linalg.inv(theta)))
    for seed in range(5):
        rows = gv.simulate.gaussian_rows(theta, n, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            network = gv.PrivateGraphicalLasso(epsilon, 1e-6, data_norm=norm, random_state=seed).fit(rows)
            dense = gv.recover(network.release_).precision
        error, bound = (gv.metrics.relative_loss(found, theta) for found in (network.precision_, dense))
        assert error < min(1.0, 2 * bound)


@pytest.mark.parametrize("kind", ["constant", "duplicate", "binary", "missing"])
def test_hostile_columns_never_crash(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 5))
    rows[:, 0] = {
        "constant": np.ones(20_000),
        "duplicate": rows[:, 1],
        "binary": rng.random(20_000) < 0.01,
        "missing": np.full(20_000, np.nan),
    }[kind]
    drowns = "Do not interpret these columns: x0"
    said = {"constant": drowns, "missing": drowns, "duplicate": "collinear.*: x0, x1. Leave"}.get(kind)
    with nullcontext() if said is None else pytest.warns(PrivacyWarning, match=said):
        model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-5, 5), random_state=0).fit(rows)
    assert np.isfinite(model.precision_).all()
    assert np.linalg.eigvalsh(model.precision_)[0] > 0


@pytest.mark.parametrize("alpha", ["aut", -1.0, 0.0, np.nan, [[1.0, 2.0], [3.0, 1.0]], None, [], [0.1, -1.0]])
def test_wrong_penalties_are_refused_before_anything_is_spent(alpha):
    class Ledger:
        def charge(self, dataset, event):
            raise AssertionError("charged")

    model = gv.PrivateGraphicalLasso(**SETTINGS, alpha=alpha, ledger=Ledger(), dataset="d")
    with pytest.raises(InvalidParameter, match="alpha must be a positive number, a list of them, a symmetric matrix"):
        model.fit(ROWS)


def dense_network():
    """With a penalty so small that most of what it joins is noise."""
    return gv.PrivateGraphicalLasso(**SETTINGS, alpha=0.003, random_state=0).fit(ROWS)


def test_the_graph_of_significant_edges_is_what_the_intervals_select():
    model = dense_network()
    sure = model.edge_intervals().select()
    names = list(model.to_networkx())
    graph, fitted = model.to_networkx(significant=True), model.to_networkx()
    expected = {(a, b) for a, b in fitted.edges if sure[names.index(a), names.index(b)]}
    assert set(graph.edges) == expected
    assert list(graph) == names
    assert len(expected) < fitted.number_of_edges()
    assert graph.number_of_edges() > model.to_networkx(0.2, significant=True).number_of_edges() > 0


def test_the_plot_dots_what_could_be_noise(monkeypatch):
    model = dense_network()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    drawn = model.plot()._repr_svg_()
    edges = model.to_networkx().number_of_edges()
    sure = model.to_networkx(significant=True).number_of_edges()
    assert drawn.count('class="edge unsure"') == edges - sure + 1  # and in the legend
    printed = SETTINGS | {"epsilon": 0.9, "mechanism": "paper", "alpha": 0.6, "max_iter": 20}
    assert "unsure" not in gv.PrivateGraphicalLasso(**printed, random_state=0).fit(ROWS).plot()._repr_svg_()[600:]


# ---------------------------------------------------------------------- intervals
def covered(theta, n, epsilon, seeds, **domain):
    """Shares of pairs whose interval covers, and of chosen edges that are none."""
    upper = np.triu_indices(len(theta), 1)
    truth = gv.metrics.partial_correlations(theta)[upper]
    inside, false = [], []
    for seed in seeds:
        rows = gv.simulate.gaussian_rows(theta, n, random_state=seed)
        edges = gv.PrivateGraphicalLasso(epsilon, 1e-6, **domain, random_state=seed).fit(rows).edge_intervals()
        inside.append(np.mean((edges.lower[upper] <= truth) & (truth <= edges.upper[upper])))
        chosen = edges.select(0.1)[upper]
        false.append(np.sum(chosen & (truth == 0)) / max(chosen.sum(), 1))
    return np.mean(inside), np.mean(false)


@pytest.mark.parametrize("width", [0.0, 4.5])
def test_intervals_cover_and_false_discoveries_are_few(width):
    theta = gv.simulate.small_world_precision(20, random_state=2)
    sigma = np.linalg.inv(theta)
    bound = width * np.sqrt(np.diag(sigma))
    domain = {"bounds": (-bound, bound)} if width else {"data_norm": 1.4 * np.sqrt(np.trace(sigma))}
    inside, false = covered(theta, 4000, 1.0, range(10), **domain)
    assert 0.92 < inside < 0.98
    assert false < 0.16


def test_no_interval_is_given_where_none_could_be_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = gv.PrivateGraphicalLasso(0.1, 1e-6, data_norm=NORM, random_state=0).fit(ROWS[:1000])
    edges = model.edge_intervals()
    assert "no pair can be distinguished from noise" in edges.reason
    assert np.isnan(edges.lower).all()
    assert not edges.select().any()
    assert edges.reason in repr(edges)


def test_intervals_are_wider_at_a_higher_level_and_the_same_every_time():
    model = gv.PrivateGraphicalLasso(**SETTINGS, random_state=0).fit(ROWS)
    narrow, wide, again = (model.edge_intervals(level) for level in (0.8, 0.99, 0.8))
    off = ~np.eye(20, dtype=bool)
    assert (wide.lower[off] < narrow.lower[off]).all()
    assert (wide.upper[off] > narrow.upper[off]).all()
    np.testing.assert_array_equal(narrow.lower, again.lower)
    assert (narrow.estimate == narrow.estimate.T).all()
    assert repr(narrow).startswith("<EdgeIntervals: 190 pairs at level 0.8")
    assert narrow.select(0.01).sum() <= narrow.select(0.3).sum()
    for wrong in (0.0, 1.0, "all"):
        with pytest.raises(InvalidParameter, match="level must be"):
            model.edge_intervals(wrong)
    with pytest.raises(InvalidParameter, match="fdr must be"):
        narrow.select(0)


def test_intervals_belong_to_the_release_not_to_the_penalty():
    model = gv.PrivateGraphicalLasso(**SETTINGS, random_state=0).fit(ROWS)
    same = gv.PrivateGraphicalLasso(**SETTINGS, alpha=0.1).fit_release(model.release_)
    np.testing.assert_array_equal(same.edge_intervals().lower, model.edge_intervals().lower)
    printed = gv.PrivateGraphicalLasso(
        1.0, 1e-6, mechanism="paper", alpha=0.1, data_norm=NORM, assume_centered=True, random_state=0
    )
    with pytest.raises(InvalidParameter, match='need mechanism="default"'):
        printed.fit(ROWS).edge_intervals()


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
@pytest.mark.parametrize("seed", [1, 4, 5, 7])
def test_few_effective_records_do_not_explode(seed):
    """One to four effective records a column: the noisy matrix is indefinite, a sparse fit to it nearly singular."""
    precision = gv.simulate.small_world_precision(20, random_state=seed)
    scale = np.sqrt(np.linalg.inv(precision).diagonal())
    precision = precision * np.outer(scale, scale)
    rows = gv.simulate.gaussian_rows(precision, 5000, random_state=seed)
    model = gv.PrivateGraphicalLasso(0.25, 1e-6, bounds=(-4, 4), random_state=seed).fit(rows)
    assert 2 < model.n_eff_ / 20 < 5
    assert gv.metrics.relative_loss(model.precision_, precision) < 0.7  # it was 3 to 14
    assert "no pair can be distinguished" in model.edge_intervals().reason


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
@pytest.mark.parametrize("seed", [10, 16])
def test_edges_that_contradict_each_other_are_not_believed(seed):
    """Edges that look certain, and so are hardly penalised, but that no positive definite matrix has together."""
    precision = gv.simulate.block_precision(20, block_size=10, random_state=1000 + seed)
    bound = 4.5 * np.sqrt(np.linalg.inv(precision).diagonal())
    rows = gv.simulate.gaussian_rows(precision, 1600, random_state=70_000 + seed)
    model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-bound, bound), random_state=seed).fit(rows)
    dense = gv.recover(model.release_).precision
    wrong, reference = (gv.metrics.relative_loss(found, precision) for found in (model.precision_, dense))
    assert wrong < 1.2 * reference  # it was 2.5 and 1.6 times


def test_intervals_as_a_frame():
    data = gv.datasets.health_insurance()
    model = gv.PrivateGraphicalLasso(4.0, 1e-6, bounds=data.bounds, random_state=0).fit(data.rows)
    edges = model.edge_intervals()
    frame = edges.to_frame()
    assert len(frame) == 45
    assert list(frame.columns) == ["source", "target", "estimate", "lower", "upper", "p_value", "edge"]
    assert frame["p_value"].is_monotonic_increasing
    assert frame["edge"].sum() == edges.select().sum() // 2
    surest = frame.iloc[0]
    i, j = (data.columns.index(surest[end]) for end in ("source", "target"))
    assert surest["estimate"] == edges.estimate[i, j]
