"""The graphical lasso: certificates on random problems, closed forms, peers, invariances."""

import csv
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import graphical_lasso as sklearn_graphical_lasso

from graphveil.exceptions import InvalidParameter, NotConverged, UnboundedProblem
from graphveil.solvers import _graphical_lasso, admm, graphical_lasso
from graphveil.solvers.objectives import alpha_max
from helpers.problems import assert_certified, assert_proves_unbounded, correlation, make, penalised, problems

REFERENCES = Path(__file__).parents[1] / "reference_data"


@settings(max_examples=300)
@given(problems())
def test_solved_with_a_certificate_or_refused_with_one(problem):
    S, alpha, penalize_diagonal = problem
    try:
        solution = graphical_lasso(S, alpha, penalize_diagonal=penalize_diagonal, tol=1e-8)
    except UnboundedProblem as error:
        assert_proves_unbounded(error, S, alpha, penalize_diagonal)
        if error.safe_alpha is None:
            assert not penalize_diagonal
            assert S.diagonal().min() <= 0
        else:
            graphical_lasso(S, error.safe_alpha, penalize_diagonal=penalize_diagonal, tol=1e-3)
    except NotConverged:  # on the boundary between both, where rounding decides: a little farther away it is solved
        graphical_lasso(S, 1.05 * alpha, penalize_diagonal=penalize_diagonal, tol=1e-3)
    else:
        assert_certified(solution, S, alpha, penalize_diagonal, 1e-8)


@settings(max_examples=40)
@given(problems(max_p=40))
def test_exact_inverse_pair_and_exact_zeros(problem):
    S, alpha, _ = problem
    try:
        solution = graphical_lasso(S, alpha)
    except UnboundedProblem:
        return
    precision, covariance = solution.precision, solution.covariance
    assert np.array_equal(covariance, covariance.T)
    d = np.sqrt(precision.diagonal())
    correlations = precision / d[:, None] / d
    scaled = covariance * d[:, None] * d
    assert np.abs(correlations @ scaled - np.eye(len(S))).max() <= 1e-14 * len(S) * np.linalg.cond(correlations)
    # Variables that no path of |S_ij| > alpha_ij joins are not joined in the answer.
    penalty = penalised(S, alpha, True)[1]
    reach = (np.abs(S) > penalty) | np.eye(len(S), dtype=bool)
    for _ in range(6):
        reach = (reach.astype(float) @ reach) > 0
    assert not precision[~reach].any()


def test_one_variable():
    for S, alpha, diagonal, expected in ((2.0, 0.5, True, 1 / 2.5), (2.0, 0.5, False, 0.5), (-1.0, 1.5, True, 2.0)):
        solution = graphical_lasso([[S]], alpha, penalize_diagonal=diagonal)
        assert solution.precision.item() == pytest.approx(expected, rel=1e-15)
        assert solution.objective == pytest.approx(1 - np.log(expected))
        assert solution.gap == 0.0


def test_diagonal_matrix():
    S = np.diag([1.0, 4.0, 0.25])
    solution = graphical_lasso(S, 0.5)
    assert np.allclose(solution.precision, np.diag(1 / (S.diagonal() + 0.5)), rtol=1e-15, atol=0)
    assert solution.n_edges == 0


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-0.99, 0.99), st.floats(0, 1))
def test_two_variables(a, b, r, alpha):
    """W is S with its off-diagonal entry moved towards zero by alpha, Θ the inverse of that."""
    c = r * np.sqrt(a * b)
    solution = graphical_lasso([[a, c], [c, b]], alpha, penalize_diagonal=False, tol=1e-13)
    w = np.sign(c) * max(abs(c) - alpha, 0.0)
    expected = np.array([[b, -w], [-w, a]]) / (a * b - w * w)
    assert np.abs(solution.precision - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("p", [2, 10, 58])
def test_equicorrelation(p):
    """S_ij = c, S_ii = v: soft thresholding gives W, whose inverse is known (and rows are as collinear as they get)."""
    v, c, alpha = 2.0, 1.9, 0.1
    S = np.full((p, p), c) + (v - c) * np.eye(p)
    solution = graphical_lasso(S, alpha, penalize_diagonal=False, tol=1e-12)
    w = c - alpha
    expected = (np.eye(p) - w / (v - w + p * w)) / (v - w)
    assert np.allclose(solution.precision, expected, atol=1e-5 * np.abs(expected).max())


def test_no_penalty_gives_the_inverse():
    S = correlation(np.random.default_rng(0), 20, 80)
    solution = graphical_lasso(S, 0.0, tol=1e-12)
    assert np.allclose(solution.precision, np.linalg.inv(S), rtol=1e-5, atol=1e-5)


def test_a_penalty_of_alpha_max_leaves_no_edge_and_less_leaves_one():
    S = make("definite", 15, 3)
    top = alpha_max(S)
    assert graphical_lasso(S, top).n_edges == 0
    # An edge is in the answer as soon as leaving it out would cost more than the tolerance.
    assert graphical_lasso(S, top * (1 - 1e-6), tol=1e-14).n_edges == 1
    assert graphical_lasso(S, top * (1 - 1e-3)).n_edges == 1


@pytest.mark.parametrize("p", [5, 30, 60])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_agrees_with_scikit_learn(p, share):
    S = correlation(np.random.default_rng(p), p, 4 * p)
    alpha = share * alpha_max(S)
    _, theirs = sklearn_graphical_lasso(S, alpha, tol=1e-12, enet_tol=1e-12, max_iter=2000)
    ours = graphical_lasso(S, alpha, penalize_diagonal=False, tol=1e-15).precision
    assert np.abs(ours - theirs).max() <= 1e-7


def stored_cases():
    with (REFERENCES / "glasso.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row for row in rows if row["case"] == name] for name in dict.fromkeys(row["case"] for row in rows)}


@pytest.mark.parametrize("name", stored_cases())
def test_agrees_with_r_glasso(name):
    rows = stored_cases()[name]
    p = 1 + max(int(row["i"]) for row in rows)
    S, alpha, theirs = np.empty((p, p)), np.empty((p, p)), np.empty((p, p))
    for row in rows:
        at = int(row["i"]), int(row["j"])
        S[at], alpha[at], theirs[at] = float(row["s"]), float(row["alpha"]), float(row["theta"])
    penalize_diagonal = rows[0]["diagonal"] == "1"
    ours = graphical_lasso(S, alpha, penalize_diagonal=penalize_diagonal, tol=1e-15).precision
    assert np.abs(ours - theirs).max() <= 1e-7 * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("kind", ["definite", "singular", "indefinite", "block", "zero variance"])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_admm(kind, weighted):
    p = 20
    S = make(kind, p, 5)
    alpha = 0.5 * alpha_max(S)
    if weighted:
        alpha = alpha * (1 + 0.3 * np.cos(np.add.outer(np.arange(p), np.arange(p))))
    ours = graphical_lasso(S, alpha, tol=1e-15)
    theirs = admm(S, alpha, adaptive=True, tol=1e-12, max_iter=20000)
    assert np.abs(ours.precision - theirs.precision).max() <= 1e-7


def nearly_collinear(kind, p):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4 * p, p))
    if kind == "chain":
        for j in range(1, p):
            X[:, j] = 0.999 * X[:, j - 1] + np.sqrt(1 - 0.999**2) * X[:, j]
    elif kind == "factors":
        X = 0.1 * X + X[:, :2] @ rng.standard_normal((2, p))
    S = np.corrcoef(X, rowvar=False)
    if kind == "pairs":
        S[0, 1] = S[1, 0] = 1 - 1e-5
        S[2, 3] = S[3, 2] = 3e-5 - 1
        S[:4, 4:] = S[4:, :4] = S[:2, 2:4] = S[2:4, :2] = 0
    return S


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize(("kind", "p", "alpha"), [("chain", 60, 0.002), ("factors", 60, 0.001), ("pairs", 20, 1e-6)])
def test_nearly_collinear_variables(kind, p, alpha, tol):
    """A definite S of condition 1e5 to 1e6: rows that are solved roughly leave the box for good."""
    S = nearly_collinear(kind, p)
    assert np.linalg.cond(S) > 5e4
    assert np.linalg.eigvalsh(S)[0] > 0
    assert_certified(graphical_lasso(S, alpha, penalize_diagonal=False, tol=tol), S, alpha, False, tol)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-10])
def test_single_precision_shows_nowhere(tol):
    """Variances that it cannot hold, penalties beyond its range, and a gap below its rounding."""
    S = make("definite", 40, 8)
    S[np.diag_indices(40)] += 1e-9 * np.arange(40)
    alpha = np.full((40, 40), 0.05)
    alpha[:20, 20:] = alpha[20:, :20] = 1e300
    solution = graphical_lasso(S, alpha, penalize_diagonal=False, tol=tol)
    assert_certified(solution, S, alpha, False, tol)
    assert np.array_equal(solution.dual.diagonal(), S.diagonal())
    assert not solution.precision[:20, 20:].any()
    huge = np.eye(3)
    huge[0, 1] = huge[1, 0] = 3e39
    assert graphical_lasso(huge, 4e39, penalize_diagonal=False, tol=tol).n_edges == 0
    with pytest.raises(UnboundedProblem):
        graphical_lasso(huge, 2e39, penalize_diagonal=False, tol=tol)


@settings(max_examples=30)
@given(problems(max_p=30), st.randoms(use_true_random=False))
def test_permuting_the_variables_permutes_the_answer(problem, random):
    S, alpha, _ = problem
    order = list(range(len(S)))
    random.shuffle(order)
    at = np.ix_(order, order)
    moved = alpha if np.ndim(alpha) == 0 else alpha[at]
    try:
        one = graphical_lasso(S, alpha, tol=1e-12)
    except UnboundedProblem:
        with pytest.raises(UnboundedProblem):
            graphical_lasso(S[at], moved)
        return
    other = graphical_lasso(S[at], moved, tol=1e-12)
    d = np.sqrt(one.precision.diagonal()[order])
    assert np.abs((one.precision[at] - other.precision) / d[:, None] / d).max() <= 1e-4
    assert one.objective == pytest.approx(other.objective, abs=3e-12 * len(S) + 1e-9)


@pytest.mark.parametrize("factor", [1e-150, 1e-3, 7.0, 1e150])
@pytest.mark.parametrize("kind", ["definite", "singular", "indefinite"])
def test_scaling_the_matrix_scales_the_answer(factor, kind):
    S = make(kind, 25, 11)
    alpha = 0.4 * alpha_max(S)
    one = graphical_lasso(S, alpha, tol=1e-12)
    other = graphical_lasso(factor * S, factor * alpha, tol=1e-12)
    assert np.allclose(one.precision, factor * other.precision, rtol=1e-4, atol=1e-5)
    assert other.objective == pytest.approx(one.objective + 25 * np.log(factor), abs=1e-9)


def test_powers_of_two_scale_exactly():
    S = make("definite", 25, 11)
    alpha = 0.3 * alpha_max(S)
    d = 2.0 ** np.random.default_rng(0).integers(-20, 20, 25)
    one = graphical_lasso(S, alpha * np.ones_like(S))
    other = graphical_lasso(S * d[:, None] * d, alpha * d[:, None] * d)
    assert np.array_equal(one.precision, other.precision * d[:, None] * d)
    assert one.gap == other.gap


@pytest.mark.parametrize("kind", ["definite", "indefinite"])
@pytest.mark.parametrize("p", [7, 60])
def test_copies_of_a_problem_are_solved_as_one(kind, p):
    """Uncoupled copies: below the packing size they share a block, above it each is its own."""
    S = make(kind, p, 2)
    alpha = 0.5 * alpha_max(S)
    one = graphical_lasso(S, alpha, tol=1e-10)
    three = graphical_lasso(np.kron(np.eye(3), S), alpha, tol=1e-10)
    assert np.allclose(three.precision, np.kron(np.eye(3), one.precision), atol=1e-4)
    assert not three.precision[:p, p:].any()
    assert three.objective == pytest.approx(3 * one.objective, abs=1e-8)


def test_warm_start_gives_the_same_answer_in_fewer_sweeps():
    S = make("definite", 60, 4)
    top = alpha_max(S)
    cold = graphical_lasso(S, 0.2 * top, tol=1e-9)
    again = graphical_lasso(S, 0.2 * top, tol=1e-9, warm_start=cold)
    assert again.n_iter < cold.n_iter
    for other in (0.15, 0.19, 0.3, 0.9):
        for penalize_diagonal in (True, False):
            start = graphical_lasso(S, other * top, penalize_diagonal=not penalize_diagonal)
            warm = graphical_lasso(S, 0.2 * top, penalize_diagonal=penalize_diagonal, tol=1e-9, warm_start=start)
            assert_certified(warm, S, 0.2 * top, penalize_diagonal, 1e-9)


def test_warm_start_on_an_indefinite_matrix():
    S = make("indefinite", 40, 9)
    alpha = 0.5 * alpha_max(S)
    far = graphical_lasso(S, 1.5 * alpha)
    assert_certified(graphical_lasso(S, alpha, warm_start=far, tol=1e-9), S, alpha, True, 1e-9)


def test_warm_start_of_another_size_is_refused():
    start = graphical_lasso(np.eye(3), 0.1)
    with pytest.raises(InvalidParameter, match="warm_start must be a solution for 2 variables"):
        graphical_lasso(np.eye(2), 0.1, warm_start=start)


def test_warm_start_without_a_certificate_is_refused():
    S = make("indefinite", 20, 7)
    start = admm(S, 1e-3 * alpha_max(S), tol=None, max_iter=1)
    with pytest.raises(InvalidParameter, match="warm_start must be a solution with a finite gap"):
        graphical_lasso(S, 0.5 * alpha_max(S), warm_start=start)


def test_sweeps_of_a_start_that_fails_count():
    """A sparse start that is not definite is given up; what it cost is in n_iter and under max_iter."""
    S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, -0.9], [0.0, -0.9, 1.0]])
    S = np.kron(np.eye(12), S)
    S[0, 3] = S[3, 0] = 0.3
    solution = graphical_lasso(S, 0.1, tol=1e-10)
    assert_certified(solution, S, 0.1, True, 1e-10)
    with pytest.raises(NotConverged, match="max_iter = 2 sweeps"):
        graphical_lasso(S, 0.1, tol=1e-10, max_iter=2)


def test_penalised_diagonal_is_a_larger_variance():
    S = make("definite", 20, 8)
    one = graphical_lasso(S, 0.1, tol=1e-12)
    shifted = graphical_lasso(S + 0.1 * np.eye(20), 0.1, penalize_diagonal=False, tol=1e-12)
    assert np.array_equal(one.precision, shifted.precision)


def test_penalties_of_single_pairs():
    """Zero penalty on one pair keeps that pair; a huge penalty removes it."""
    S = make("definite", 10, 8)
    alpha = np.full((10, 10), 0.5 * alpha_max(S))
    alpha[0, 1] = alpha[1, 0] = 0.0
    assert graphical_lasso(S, alpha).precision[0, 1] != 0
    alpha[0, 1] = alpha[1, 0] = 1e6
    assert graphical_lasso(S, alpha).precision[0, 1] == 0


def test_the_gap_bounds_the_suboptimality():
    S = make("indefinite", 40, 21)
    alpha = 0.3 * alpha_max(S)
    best = graphical_lasso(S, alpha, tol=1e-13).objective
    for tol in (1e-2, 1e-4, 1e-6):
        solution = graphical_lasso(S, alpha, tol=tol)
        assert -1e-10 <= solution.objective - best <= solution.gap + 1e-10


def test_not_converged_says_what_to_do():
    S = make("indefinite", 60, 1)
    with pytest.raises(NotConverged, match=r"max_iter = 1 sweeps\. Raise max_iter, raise tol, or raise alpha"):
        graphical_lasso(S, 0.3 * alpha_max(S), max_iter=1, tol=1e-12)
    with pytest.raises(NotConverged, match="double precision"):
        graphical_lasso(S, 0.3 * alpha_max(S), tol=1e-300)


def test_solution_is_frozen_and_travels():
    S = make("definite", 6, 0)
    solution = graphical_lasso(S, 0.1)
    assert solution.covariance is solution.covariance
    for array in (solution.precision, solution.covariance, solution.dual):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    copy = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(copy.precision, solution.precision)
    assert np.array_equal(copy.covariance, solution.covariance)
    assert repr(solution).startswith("Solution(p=6, edges=")


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("S", [[1.0, 2.0]], "S must be a square matrix"),
        ("S", np.zeros((0, 0)), "S must be a square matrix"),
        ("S", [[1.0, np.nan], [np.nan, 1.0]], "S must be finite"),
        ("S", [[1.0, 0.5], [0.4, 1.0]], "S must be symmetric"),
        ("S", [["a"]], "S must be a matrix of real numbers"),
        ("alpha", -0.1, "alpha must be a finite number ≥ 0"),
        ("alpha", np.inf, "alpha must be a finite number ≥ 0"),
        ("alpha", "much", "alpha must be a finite number ≥ 0"),
        ("alpha", np.full((2, 2), -1.0), "alpha must be ≥ 0 in every entry"),
        ("alpha", [[0.0, 1.0], [2.0, 0.0]], "alpha must be symmetric"),
        ("alpha", np.ones((3, 3)), "alpha must be a number or a matrix of shape"),
        ("tol", 0.0, "tol must be a finite number > 0"),
        ("tol", np.nan, "tol must be a finite number > 0"),
        ("max_iter", 0, "max_iter must be an integer of at least 1"),
        ("max_iter", 1.5, "max_iter must be an integer of at least 1"),
        ("max_iter", True, "max_iter must be an integer of at least 1"),
    ],
)
def test_refused_arguments(argument, value, message):
    arguments = {"S": np.eye(2), "alpha": 0.1} | {argument: value}
    with pytest.raises(InvalidParameter, match=message):
        graphical_lasso(**arguments)


def test_scales_too_far_apart_are_refused():
    S = np.array([[1e-300, 1e10], [1e10, 1e-300]])
    with pytest.raises(InvalidParameter, match="comparable scale"):
        graphical_lasso(S, 0.0)


def test_rounding_asymmetry_is_averaged():
    S = make("definite", 5, 0)
    S[0, 1] *= 1 + 1e-15
    assert_certified(graphical_lasso(S, 0.1), (S + S.T) / 2, 0.1, True, 1e-6)


@pytest.mark.parametrize("p", [2, 7, 50, 120])
@pytest.mark.parametrize("largest", [0.3, 0.7])
@pytest.mark.parametrize("unit", [1.0, 1e-5])
@pytest.mark.parametrize("warm", [False, True])
def test_a_small_problem_has_the_same_solution_at_once_and_the_general_way(p, largest, unit, warm, monkeypatch):
    rng = np.random.default_rng(p)
    S = unit * correlation(rng, p, 2 * p)
    alpha = largest * alpha_max(S) * rng.uniform(0.9, 1.1, (p, p))
    alpha = (alpha + alpha.T) / 2
    start = graphical_lasso(S, 1.1 * alpha, penalize_diagonal=False) if warm else None
    general, calls = _graphical_lasso.solve, []
    monkeypatch.setattr(_graphical_lasso, "solve", lambda *given: calls.append(given) or general(*given))
    at_once = graphical_lasso(S, alpha, penalize_diagonal=False, warm_start=start)
    assert not calls
    monkeypatch.setattr(_graphical_lasso, "_AT_ONCE", 0)
    other = graphical_lasso(S, alpha, penalize_diagonal=False, warm_start=start)
    assert calls
    assert_certified(at_once, S, alpha, False, 1e-6)
    assert at_once.objective == pytest.approx(other.objective, abs=2e-6 * p)


@pytest.mark.parametrize("penalize_diagonal", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e-5])
def test_variables_that_nothing_is_joined_to_change_no_bit_of_the_others(penalize_diagonal, unit):
    rng = np.random.default_rng(3)
    block = unit * correlation(rng, 9, 30)
    places, S = np.sort(rng.permutation(40)[:9]), np.diag(unit * rng.uniform(0.5, 2.0, 40))
    S[np.ix_(places, places)] = block
    alpha = 0.2 * alpha_max(block)
    alone = graphical_lasso(block, alpha, penalize_diagonal=penalize_diagonal)
    among = graphical_lasso(S, alpha, penalize_diagonal=penalize_diagonal)
    others = np.setdiff1d(np.arange(40), places)
    variances = S.diagonal()[others] + (alpha if penalize_diagonal else 0.0)
    for found, expected, exact in (
        (among.precision, alone.precision, 1.0 / variances),
        (among.dual, alone.dual, variances),
    ):
        assert np.array_equal(found[np.ix_(places, places)], expected)
        assert np.array_equal(found[np.ix_(others, others)], np.diag(exact))
        assert not found[np.ix_(places, others)].any()
    assert among.gap == alone.gap
    assert among.objective == pytest.approx(alone.objective + np.sum(1.0 + np.log(variances)), rel=1e-12)
    again = graphical_lasso(S, 1.1 * alpha, penalize_diagonal=penalize_diagonal, warm_start=among)
    assert_certified(again, S, 1.1 * alpha, penalize_diagonal, 1e-6)


def test_a_warm_start_joins_nothing_that_the_problem_leaves_apart():
    S = np.array([[1.0, 0.6, 0.3, 0.0], [0.6, 1.0, 0.0, 0.3], [0.3, 0.0, 1.0, 0.6], [0.0, 0.3, 0.6, 1.0]])
    joined = graphical_lasso(S, 0.1)
    assert joined.precision[:2, 2:].any()
    apart = graphical_lasso(S, 0.4, warm_start=joined)
    assert apart.precision[0, 1] != 0
    assert not apart.precision[:2, 2:].any()
