"""Losses in closed form and under their invariances; ROC and AUC against scikit-learn, ties included."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as peer

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.metrics import (
    SupportRecovery,
    entropy_loss,
    kullback_leibler,
    negative_log_likelihood,
    partial_correlations,
    quadratic_loss,
    relative_loss,
    roc_auc,
    roc_curve,
    roc_curve_of_path,
    support_recovery,
)

NORMS = ["l1", "F", "l2"]
LIKELIHOOD = [entropy_loss, kullback_leibler, quadratic_loss]
PS = [1, 2, 5, 20]


def positive_definite(p, seed):
    root = np.random.default_rng(seed).standard_normal((p, p + 3))
    return root @ root.T / p


def pairs(matrix):
    return np.asarray(matrix)[np.triu_indices(len(matrix), k=1)]


def random_graph(p, rng, density=0.3):
    """A symmetric graph with at least one edge and one separate pair."""
    graph = np.triu(rng.random((p, p)) < density, k=1)
    graph[0, 1], graph[0, 2] = True, False
    return graph | graph.T


# ── matrix losses ──


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", PS)
def test_relative_loss_is_zero_at_the_truth_one_at_zero_and_homogeneous(norm, p):
    theta, other = positive_definite(p, 0), positive_definite(p, 1)
    assert relative_loss(theta, theta, norm) == 0
    assert relative_loss(np.zeros((p, p)), theta, norm) == pytest.approx(1)
    assert relative_loss(3.5 * theta, theta, norm) == pytest.approx(2.5)
    assert relative_loss(1e6 * other, 1e6 * theta, norm) == pytest.approx(relative_loss(other, theta, norm))


def test_relative_loss_in_each_norm_by_hand():
    """Difference [[1, 1], [1, 0]] over truth [[2, 0], [0, 1]]; the difference has the eigenvalues (1 ± √5)/2."""
    truth, estimate = [[2, 0], [0, 1]], [[3, 1], [1, 1]]
    assert relative_loss(estimate, truth, "l1") == pytest.approx(2 / 2)
    assert relative_loss(estimate, truth, "F") == pytest.approx(math.sqrt(3 / 5))
    assert relative_loss(estimate, truth, "l2") == pytest.approx((1 + math.sqrt(5)) / 2 / 2)


def test_relative_loss_divides_by_the_second_argument():
    assert relative_loss([[4.0]], [[1.0]]) == 3
    assert relative_loss([[1.0]], [[4.0]]) == 0.75


def test_l1_is_the_largest_column_sum_not_the_sum_of_all_entries():
    assert relative_loss(2 * np.ones((3, 3)), np.eye(3), "l1") == pytest.approx(5)  # columns 1, 2, 2: 5 over 1


@pytest.mark.parametrize("norm", NORMS)
def test_relative_loss_is_free_of_the_order_of_the_variables(norm):
    theta, other = positive_definite(8, 0), positive_definite(8, 1)
    order = np.random.default_rng(0).permutation(8)
    same = relative_loss(other[np.ix_(order, order)], theta[np.ix_(order, order)], norm)
    assert same == pytest.approx(relative_loss(other, theta, norm))


# ── likelihood losses ──


@pytest.mark.parametrize("loss", LIKELIHOOD)
@pytest.mark.parametrize("p", PS)
def test_likelihood_losses_are_zero_at_the_truth_and_positive_elsewhere(loss, p):
    theta = positive_definite(p, 0)
    assert loss(theta, theta) == 0
    assert loss(positive_definite(p, 1), theta) > 0


@pytest.mark.parametrize("p", PS)
def test_likelihood_losses_of_a_multiple_in_closed_form(p):
    theta, c = positive_definite(p, 0), 1.7
    assert entropy_loss(c * theta, theta) == pytest.approx(p * (c - math.log(c) - 1))
    assert kullback_leibler(c * theta, theta) == pytest.approx(p * (c - math.log(c) - 1) / 2)
    assert quadratic_loss(c * theta, theta) == pytest.approx(p * (c - 1) ** 2)


@pytest.mark.parametrize("p", PS)
def test_likelihood_losses_match_their_definitions(p):
    theta, other = positive_definite(p, 0), positive_definite(p, 1)
    product = np.linalg.inv(theta) @ other
    stein = np.trace(product) - np.linalg.slogdet(product)[1] - p
    assert entropy_loss(other, theta) == pytest.approx(stein, rel=1e-8)
    deviation = product - np.eye(p)
    assert quadratic_loss(other, theta) == pytest.approx(np.trace(deviation @ deviation), rel=1e-8)


def test_kullback_leibler_is_the_expected_log_ratio_of_densities():
    from scipy.stats import multivariate_normal

    theta, other = gv.simulate.autoregressive_precision(3), 3 * gv.simulate.full_precision(3)
    rows = gv.simulate.gaussian_rows(theta, 100_000, random_state=0)
    log_ratio = multivariate_normal(cov=np.linalg.inv(theta)).logpdf(rows)
    log_ratio -= multivariate_normal(cov=np.linalg.inv(other)).logpdf(rows)
    standard_error = log_ratio.std() / math.sqrt(len(rows))
    assert abs(kullback_leibler(other, theta) - log_ratio.mean()) < 4 * standard_error
    assert abs(kullback_leibler(theta, other) - log_ratio.mean()) > 10 * standard_error  # the direction matters


@pytest.mark.parametrize("loss", LIKELIHOOD)
def test_likelihood_losses_are_free_of_any_change_of_coordinates(loss):
    theta, other = positive_definite(6, 0), positive_definite(6, 1)
    A = np.random.default_rng(2).standard_normal((6, 6))
    assert loss(A @ other @ A.T, A @ theta @ A.T) == pytest.approx(loss(other, theta), rel=1e-6)


def test_small_losses_do_not_drown_in_rounding():
    """At (1 + h)Θ the entropy loss is p(h − log(1 + h)) ≈ ph²/2: here 2e-14; log(1 + h) would be off by 1e-16."""
    theta, h = positive_definite(4, 0), 1e-7
    assert entropy_loss(theta * (1 + h), theta) == pytest.approx(4 * h**2 / 2, rel=1e-5, abs=0)
    assert quadratic_loss(theta * (1 + h), theta) == pytest.approx(4 * h**2, rel=1e-5, abs=0)


@pytest.mark.parametrize("c", [0.6, 0.4, 1e-3, 1e-14, 1e-20, 1e-200, 1e100])
def test_large_losses_keep_their_digits_too(c):
    """Both sides of the switch of formulas, and multiples whose 1 + e rounds to 0."""
    theta = positive_definite(4, 0)
    assert entropy_loss(c * theta, theta) == pytest.approx(4 * (c - math.log(c) - 1), rel=1e-10)


@pytest.mark.parametrize("loss", [entropy_loss, kullback_leibler])
@pytest.mark.parametrize("seed", range(20))
def test_an_estimate_that_is_no_precision_matrix_costs_infinity(loss, seed):
    theta = positive_definite(3, seed)
    assert loss(np.zeros((3, 3)), theta) == math.inf
    assert loss(-theta, theta) == math.inf
    assert loss(theta - 2 * np.linalg.eigvalsh(theta)[0] * np.eye(3), theta) == math.inf


def test_quadratic_loss_of_zero_is_the_dimension():
    assert quadratic_loss(np.zeros((7, 7)), positive_definite(7, 0)) == pytest.approx(7)


@pytest.mark.parametrize("p", PS)
def test_negative_log_likelihood_definition_and_minimum(p):
    S = positive_definite(p, 0)
    best = np.linalg.inv(S)
    at_best = negative_log_likelihood(best, S)
    assert at_best == pytest.approx(p + np.linalg.slogdet(S)[1])
    other = positive_definite(p, 1)
    assert negative_log_likelihood(other, S) == pytest.approx(np.trace(S @ other) - np.linalg.slogdet(other)[1])
    # The excess over the minimum is Stein's loss, with S in the place of the truth's covariance.
    assert negative_log_likelihood(other, S) - at_best == pytest.approx(entropy_loss(other, best), rel=1e-6)


def test_negative_log_likelihood_of_indefinite_arguments():
    assert negative_log_likelihood(np.diag([1.0, -1.0]), np.eye(2)) == math.inf
    assert negative_log_likelihood(np.eye(2), np.diag([3.0, -1.0])) == 2


# ── partial correlations ──


@pytest.mark.parametrize("p", PS)
def test_partial_correlations_are_correlations_of_residuals(p):
    """ρ_ij is the correlation of what is left of x_i and x_j after regression on all others."""
    theta = positive_definite(p, 0)
    rho, sigma = partial_correlations(theta), np.linalg.inv(theta)
    np.testing.assert_array_equal(np.diag(rho), 1)
    np.testing.assert_array_equal(rho, rho.T)
    for i, j in itertools.islice(itertools.combinations(range(p), 2), 20):
        rest = [k for k in range(p) if k not in (i, j)]
        ij = [i, j]
        residual = sigma[np.ix_(ij, ij)] - sigma[np.ix_(ij, rest)] @ np.linalg.solve(
            sigma[np.ix_(rest, rest)], sigma[np.ix_(rest, ij)]
        )
        assert rho[i, j] == pytest.approx(residual[0, 1] / math.sqrt(residual[0, 0] * residual[1, 1]), abs=1e-8)


def test_partial_correlations_are_free_of_units_and_keep_zeros_plain():
    theta = gv.simulate.autoregressive_precision(5)
    D = np.diag([1e-3, 1.0, 1e4, 5.0, 0.1])
    np.testing.assert_allclose(partial_correlations(D @ theta @ D), partial_correlations(theta), rtol=1e-12)
    rho = partial_correlations(theta)
    assert not np.signbit(rho[theta == 0]).any()
    np.testing.assert_array_equal(rho[theta != 1], -theta[theta != 1])


# ── support, ROC, AUC ──


@pytest.mark.parametrize("seed", range(10))
def test_support_recovery_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, found = random_graph(12, rng), random_graph(12, rng, 0.4)
    result = support_recovery(found * rng.choice([-0.3, 2.0]), truth)
    y, z = pairs(truth), pairs(found)
    (tn, fp), (fn, tp) = peer.confusion_matrix(y, z)
    assert result == SupportRecovery(tp, fp, fn, tn)
    assert result.precision == pytest.approx(peer.precision_score(y, z))
    assert result.recall == result.true_positive_rate == pytest.approx(peer.recall_score(y, z))
    assert result.false_positive_rate == pytest.approx(1 - peer.recall_score(~y, ~z))
    assert result.f1 == pytest.approx(peer.f1_score(y, z))
    assert result.matthews_correlation == pytest.approx(peer.matthews_corrcoef(y, z))


def test_support_recovery_threshold_is_strict_and_ignores_sign_and_diagonal():
    estimate = np.array([[9.0, -0.5, 0.2], [-0.5, 0.0, 0.1], [0.2, 0.1, -3.0]])
    truth = np.ones((3, 3))
    found = [support_recovery(estimate, truth, t).true_positives for t in (0, 0.1, 0.15, 0.2, 0.5, math.inf)]
    assert found == [3, 2, 2, 1, 0, 0]


def test_support_recovery_without_anything_to_count():
    nothing = support_recovery(np.eye(3), np.eye(3))
    assert nothing == SupportRecovery(0, 0, 0, 3)
    assert math.isnan(nothing.true_positive_rate)
    assert math.isnan(nothing.precision)
    assert math.isnan(nothing.f1)
    assert nothing.false_positive_rate == 0
    assert nothing.matthews_correlation == 0
    assert support_recovery([[1.0]], [[2.0]]) == SupportRecovery(0, 0, 0, 0)


def test_matthews_correlation_does_not_overflow_on_large_graphs():
    half = 10**6
    assert SupportRecovery(half, 0, 0, 10**12).matthews_correlation == pytest.approx(1)
    assert SupportRecovery(0, half, half, 0).matthews_correlation == -1


@given(
    st.integers(3, 9).flatmap(
        lambda p: st.tuples(
            st.just(p),
            st.lists(st.integers(-4, 4), min_size=p * (p - 1) // 2, max_size=p * (p - 1) // 2),
            st.lists(st.booleans(), min_size=p * (p - 1) // 2, max_size=p * (p - 1) // 2).filter(
                lambda edges: any(edges) and not all(edges)
            ),
        )
    )
)
def test_auc_equals_scikit_learn_with_many_ties(problem):
    p, values, edges = problem
    scores, truth = np.zeros((p, p)), np.zeros((p, p))
    above = np.triu_indices(p, k=1)
    scores[above], truth[above] = values, edges
    scores, truth = scores + scores.T, truth + truth.T
    auc = roc_auc(scores, truth)
    assert auc == pytest.approx(peer.roc_auc_score(edges, np.abs(values)), abs=1e-14)
    curve = roc_curve(scores, truth)
    assert curve.area == pytest.approx(auc, abs=1e-14)
    fpr, tpr, _ = peer.roc_curve(edges, np.abs(values), drop_intermediate=False)
    np.testing.assert_allclose(curve.false_positive_rate, fpr, atol=1e-15)
    np.testing.assert_allclose(curve.true_positive_rate, tpr, atol=1e-15)


def test_auc_is_an_exact_fraction():
    """Edges score 1, 1, 0; others 1, 0, 0: of 9 comparisons 4 won, 4 tied, 1 lost."""
    scores, truth = np.zeros((4, 4)), np.zeros((4, 4))
    above = np.triu_indices(4, k=1)
    scores[above], truth[above] = [1, -1, 0, 1, 0, 0], [1, 1, 1, 0, 0, 0]
    assert roc_auc(scores + scores.T, truth + truth.T) == 6 / 9


def test_auc_is_free_of_order_sign_diagonal_and_monotone_scale():
    rng = np.random.default_rng(0)
    truth = random_graph(15, rng)
    scores = np.round(rng.standard_normal((15, 15)), 1)
    scores = scores + scores.T
    auc = roc_auc(scores, truth)
    order = rng.permutation(15)
    assert roc_auc(scores[np.ix_(order, order)], truth[np.ix_(order, order)]) == auc
    assert roc_auc(-scores, truth) == auc
    assert roc_auc(np.abs(scores) ** 3 * 1e-5, truth) == auc
    assert roc_auc(scores + 100 * np.eye(15), truth) == auc
    assert roc_auc(scores, ~truth) == pytest.approx(1 - auc, abs=1e-15)
    assert roc_auc(scores, truth * -0.2) == auc


def test_auc_of_perfect_useless_and_inverted_scores():
    truth = gv.simulate.autoregressive_precision(10)
    assert roc_auc(truth, truth) == 1
    assert roc_auc(np.ones((10, 10)), truth) == 0.5
    assert roc_auc(truth == 0, truth) == 0


def test_curve_of_a_path_of_thresholds_is_the_curve_of_the_ranking():
    """Cutting the scores at each of their values is a path; its points are those of the ranking."""
    rng = np.random.default_rng(1)
    truth, scores = random_graph(8, rng), np.round(rng.random((8, 8)), 1)
    scores = (scores + scores.T) / 2
    path = [np.where(scores > t, scores, 0) for t in np.unique(scores)]
    rng.shuffle(path)
    curve = roc_curve_of_path(path, truth)
    assert curve.area == pytest.approx(roc_auc(scores, truth))
    assert (np.diff(curve.false_positive_rate) >= 0).all()
    assert (curve.false_positive_rate[0], curve.true_positive_rate[0]) == (0, 0)
    assert (curve.false_positive_rate[-1], curve.true_positive_rate[-1]) == (1, 1)


def test_curve_of_a_path_has_the_rates_of_support_recovery():
    rng = np.random.default_rng(2)
    truth, estimate = random_graph(9, rng), random_graph(9, rng)
    curve, support = roc_curve_of_path(iter([estimate]), truth), support_recovery(estimate, truth)
    assert curve.false_positive_rate.tolist() == [0, support.false_positive_rate, 1]
    assert curve.true_positive_rate.tolist() == [0, support.true_positive_rate, 1]
    # one point: the area of the two triangles is (1 + TPR − FPR)/2
    assert curve.area == pytest.approx((1 + support.true_positive_rate - support.false_positive_rate) / 2)
    assert roc_curve_of_path([], truth).area == 0.5


def test_rounding_asymmetry_is_forgiven():
    theta = gv.simulate.autoregressive_precision(6)
    skewed = theta + 1e-12 * np.triu(np.ones((6, 6)))
    assert relative_loss(skewed, theta) < 1e-11
    assert roc_auc(skewed, theta) == 1


# ── refusals ──

TWO_ARGUMENTS = [
    relative_loss,
    entropy_loss,
    kullback_leibler,
    quadratic_loss,
    negative_log_likelihood,
    support_recovery,
    roc_curve,
    roc_auc,
]
FIRST = "estimate|precision|scores"


@pytest.mark.parametrize("function", TWO_ARGUMENTS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones((2, 3)), rf"({FIRST}) must be a symmetric matrix of finite numbers, got \(2, 3\)"),
        (np.ones(3), f"({FIRST}) must be"),
        (np.ones((0, 0)), f"({FIRST}) must be"),
        (np.eye(2), rf"({FIRST}) must be of the same shape as (truth|second_moment), \(3, 3\), got \(2, 2\)"),
        (np.full((3, 3), np.nan), f"({FIRST}) must be .* missing"),
        (np.triu(np.ones((3, 3))), f"({FIRST}) must be .* asymmetric"),
    ],
)
def test_bad_matrices_are_refused(function, bad, message):
    with pytest.raises(InvalidParameter, match=message):
        function(bad, gv.simulate.autoregressive_precision(3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: relative_loss(np.eye(2), np.eye(2), norm="max"), "norm must be 'l1', 'F' or 'l2', got 'max'"),
        (lambda: relative_loss(np.eye(2), np.zeros((2, 2))), "truth must be other than zero"),
        (lambda: entropy_loss(np.eye(2), np.diag([1.0, -1.0])), "truth must be positive definite"),
        (lambda: quadratic_loss(np.eye(2), np.zeros((2, 2))), "truth must be positive definite"),
        (lambda: partial_correlations(np.diag([1.0, 0.0])), "precision must be a matrix with positive diagonal"),
        (lambda: partial_correlations(np.ones((2, 3))), "precision must be a symmetric matrix"),
        (lambda: support_recovery(np.eye(2), np.eye(2), -1.0), "threshold must be a number of at least 0, got -1.0"),
        (lambda: support_recovery(np.eye(2), np.eye(2), math.nan), "threshold must be"),
        (lambda: roc_curve(np.eye(3), np.eye(3)), "truth must be a graph with both .* support_recovery"),
        (lambda: roc_auc(np.eye(3), np.ones((3, 3))), "truth must be a graph with both"),
        (lambda: roc_auc(np.eye(1), np.eye(1)), "truth must be a graph with both"),
        (lambda: roc_curve_of_path([np.eye(3)], np.eye(3)), "truth must be a graph with both"),
        (lambda: roc_curve_of_path([np.eye(2)], np.eye(3)), "estimates must be of the same shape"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        call()
    assert caught.value.__cause__ is None


def test_no_message_holds_a_number_of_the_matrices():
    secret = np.array([[1.0, 123.456], [0.0, 1.0]])
    with pytest.raises(InvalidParameter) as caught:
        relative_loss(secret, np.eye(2))
    assert "123" not in str(caught.value)


def test_import_loads_neither_scipy_nor_sklearn():
    code = "import sys, graphveil as gv; gv.metrics, gv.simulate; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "graphveil.metrics" in out
    assert "graphveil.simulate" in out
    assert not {"scipy", "sklearn"} & set(out)
