"""How far an estimated precision matrix is from the true one, and how well its graph is found.

- matrix losses: `relative_loss` in the paper's three norms;
- likelihood losses: `entropy_loss` (Stein), `kullback_leibler`, `quadratic_loss`, `negative_log_likelihood`;
- edges: `partial_correlations`, `support_recovery` of one estimate, `roc_curve` and `roc_auc` of a ranking,
  `roc_curve_of_path` of a sequence of estimates.

An edge is an unordered pair i ≠ j whose entry is not zero; diagonals never count. Nothing here is random, and nothing
here is private: a loss against an estimate from the raw rows is a number computed from them, not to be published.

Examples
--------
>>> import graphveil as gv
>>> truth = gv.simulate.paper_model(3, p=20)
>>> rows = gv.simulate.gaussian_rows(truth, n_samples=2000, random_state=0)
>>> estimate = np.linalg.inv(rows.T @ rows / 2000)
>>> bool(relative_loss(estimate, truth, norm="F") < 0.2)
True
>>> roc_auc(partial_correlations(estimate), truth) > 0.99
True
"""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil._linalg import log_determinant
from graphveil.exceptions import InvalidParameter

__all__ = [
    "RocCurve",
    "SupportRecovery",
    "entropy_loss",
    "kullback_leibler",
    "negative_log_likelihood",
    "partial_correlations",
    "quadratic_loss",
    "relative_loss",
    "roc_auc",
    "roc_curve",
    "roc_curve_of_path",
    "support_recovery",
]

# ── matrices and their losses ─────────────────────────────────────────────────────────────────────────────────────────


def _symmetric(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a finite symmetric matrix, freed of the asymmetry that rounding leaves, or refuse it by name.

    It may be the caller's own: not to be written to.
    """
    rule = "a symmetric matrix of finite numbers"
    matrix = None
    with suppress(TypeError, ValueError):  # the error below carries no context: numpy's would quote an entry
        matrix = np.asarray(value, dtype=np.float64)
    if matrix is None:
        raise InvalidParameter.of(name, rule, value, "Pass the matrix itself, such as estimate.precision.")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidParameter.of(name, rule, matrix.shape)
    if not np.isfinite(matrix).all():
        raise InvalidParameter.of(name, rule, "infinite or missing entries")
    if np.array_equal(matrix, matrix.T):
        return matrix
    if np.abs(matrix - matrix.T).max() > 1e-6 * np.abs(matrix).max():
        raise InvalidParameter.of(
            name, rule, "an asymmetric one", "Pass (A + A.T) / 2 if the asymmetry is only rounding."
        )
    return (matrix + matrix.T) / 2


def _same_size(
    name: str, value: ArrayLike, other: str, reference: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both as symmetric matrices of one size."""
    first, second = _symmetric(name, value), _symmetric(other, reference)
    if first.shape != second.shape:
        raise InvalidParameter.of(name, f"of the same shape as {other}, {second.shape}", first.shape)
    return first, second


def relative_loss(estimate: ArrayLike, truth: ArrayLike, norm: Literal["l1", "F", "l2"] = "F") -> float:
    """Relative error of a matrix, ‖Θ̂ − Θ‖ / ‖Θ‖, in one of the paper's three norms.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric; in the paper's tables the private estimate.
    truth : array-like of shape (p, p)
        Symmetric, not zero: what is divided by. In the paper's tables this is *not* the Θ that made the data but the
        non-private estimate with the same penalty.
    norm : {"l1", "F", "l2"}, default="F"
        ``"l1"`` is the largest column sum of absolute values, ``"F"`` the Frobenius and ``"l2"`` the spectral norm (the
        largest absolute eigenvalue).

    Returns
    -------
    float
        0 at the truth; an estimate of 0 scores 1.

    Examples
    --------
    >>> relative_loss([[3.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]], norm="l2")
    0.5
    """
    orders: dict[str, Literal[1, 2, "fro"]] = {"l1": 1, "F": "fro", "l2": 2}
    if norm not in orders:
        raise InvalidParameter.of("norm", "'l1', 'F' or 'l2'", norm)
    theta_hat, theta = _same_size("estimate", estimate, "truth", truth)
    size = float(np.linalg.norm(theta, orders[norm]))
    if size == 0:
        raise InvalidParameter.of("truth", "other than zero", "the zero matrix", "Nothing is relative to zero.")
    return float(np.linalg.norm(theta_hat - theta, orders[norm])) / size


def _log_determinant(matrix: NDArray[np.float64]) -> float:
    """Return log det of a positive definite matrix, −∞ of any other: −log det is convex, and +∞ outside its domain."""
    value = log_determinant(matrix)
    return -math.inf if value is None else value


def _relative_eigenvalues(theta_hat: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvalues of Σ^½(Θ̂ − Θ)Σ^½, from (Θ̂ − Θ)v = eΘv: no inverse, no cancellation near the truth."""
    from scipy.linalg import LinAlgError, eigh

    try:
        return np.asarray(eigh(theta_hat - theta, theta, eigvals_only=True), dtype=np.float64)
    except LinAlgError:
        raise InvalidParameter.of("truth", "positive definite", f"{len(theta)} x {len(theta)}, not so") from None


def entropy_loss(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Stein's loss of a precision matrix, with Σ = Θ⁻¹.

        tr(ΣΘ̂) − log det(ΣΘ̂) − p = Σ_i e_i − log(1 + e_i),

    where 1 + e_i are the eigenvalues of ΣΘ̂.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric.
    truth : array-like of shape (p, p)
        Θ, symmetric positive definite.

    Returns
    -------
    float
        0 at the truth, infinite if the estimate is not positive definite; unchanged if both become AΘAᵀ.

    Examples
    --------
    >>> entropy_loss(2 * np.eye(3), np.eye(3))  # 3(2 - log 2 - 1)
    0.920...
    """
    theta_hat, theta = _same_size("estimate", estimate, "truth", truth)
    e = _relative_eigenvalues(theta_hat, theta)
    if e[0] > -0.5:
        return float(np.sum(e - np.log1p(e)))
    # 1 + e has lost digits, or is negative; far from the truth the determinants themselves are accurate enough.
    return float(e.sum()) + _log_determinant(theta) - _log_determinant(theta_hat)


def kullback_leibler(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Kullback–Leibler divergence of N(0, Θ̂⁻¹) from N(0, Θ⁻¹), the truth, in nats.

        E_Θ log(f_Θ(x) / f_Θ̂(x)) = ½ {tr(ΣΘ̂) − log det(ΣΘ̂) − p},

    half of `entropy_loss`: what a row costs, on average, when it is coded by the estimate.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric.
    truth : array-like of shape (p, p)
        Θ, symmetric positive definite.

    Returns
    -------
    float
        0 at the truth, infinite if the estimate is not positive definite.

    Examples
    --------
    >>> kullback_leibler([[4.0]], [[1.0]])  # (4 - log 4 - 1)/2
    0.806...
    """
    return entropy_loss(estimate, truth) / 2


def quadratic_loss(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Quadratic loss of a precision matrix, tr (ΣΘ̂ − I)², with Σ = Θ⁻¹.

    It equals ‖Σ^½ Θ̂ Σ^½ − I‖²_F and is twice `entropy_loss` to second order at the
    truth. Unlike the Frobenius loss it does not depend on the units of the variables.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric.
    truth : array-like of shape (p, p)
        Θ, symmetric positive definite.

    Returns
    -------
    float
        0 at the truth, p for an estimate of 0; unchanged if both become AΘAᵀ.

    Examples
    --------
    >>> round(quadratic_loss(3 * np.eye(2), np.eye(2)), 12)
    8.0
    """
    e = _relative_eigenvalues(*_same_size("estimate", estimate, "truth", truth))
    return float(e @ e)


def negative_log_likelihood(precision: ArrayLike, second_moment: ArrayLike) -> float:
    """The paper's negative log-likelihood, −log det Θ + tr(SΘ).

    Twice the average over rows of −log f_Θ(x), less the constant p log 2π.

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Θ, symmetric.
    second_moment : array-like of shape (p, p)
        S, symmetric; XᵀX/n of other rows, or a noisy release of it (it need not be positive definite).

    Returns
    -------
    float
        Infinite if Θ is not positive definite.

    Examples
    --------
    >>> negative_log_likelihood(np.eye(2), [[3.0, 1.0], [1.0, 5.0]])
    8.0
    """
    theta, S = _same_size("precision", precision, "second_moment", second_moment)
    return float(np.vdot(S, theta)) - _log_determinant(theta)


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def partial_correlations(precision: ArrayLike) -> NDArray[np.float64]:
    """Correlation of each pair of variables given all others, −θ_ij/√(θ_ii θ_jj).

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Symmetric, of positive diagonal; where it is not positive definite a result may exceed 1.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, with 1 on the diagonal; free of the units of the variables, so it is what edges are ranked by.

    Examples
    --------
    >>> partial_correlations([[4.0, -1.0], [-1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    theta = _symmetric("precision", precision)
    diagonal = np.diag(theta)
    if (diagonal <= 0).any():
        raise InvalidParameter.of("precision", "of positive diagonal", f"{len(theta)} x {len(theta)}, not so")
    root = np.sqrt(diagonal)
    correlations: NDArray[np.float64] = 0.0 - theta / np.outer(root, root)  # 0 - 0 is 0, not -0
    np.fill_diagonal(correlations, 1.0)
    return correlations


@dataclass(frozen=True)
class SupportRecovery:
    """How the edges of an estimate agree with the true ones: counts of pairs, and the usual ratios.

    A ratio without anything to count, such as the precision of an empty graph, is NaN.

    Attributes
    ----------
    true_positives : int
        True edges that were found.
    false_positives : int
        Pairs that were joined by mistake.
    false_negatives : int
        True edges that were missed.
    true_negatives : int
        Pairs rightly left apart.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def true_positive_rate(self) -> float:
        """Share of the true edges that were found: TP/(TP + FN)."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def false_positive_rate(self) -> float:
        """Share of the pairs to be left apart that were joined: FP/(FP + TN)."""
        return _ratio(self.false_positives, self.false_positives + self.true_negatives)

    @property
    def precision(self) -> float:
        """Share of the edges found that are true: TP/(TP + FP)."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """The true positive rate under its other name."""
        return self.true_positive_rate

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall: 2TP/(2TP + FP + FN)."""
        both = 2 * self.true_positives
        return _ratio(both, both + self.false_positives + self.false_negatives)

    @property
    def matthews_correlation(self) -> float:
        """Correlation of the two 0/1 vectors of edges, in [−1, 1]; 0 where one of them is constant."""
        tp, fp, fn, tn = self.true_positives, self.false_positives, self.false_negatives, self.true_negatives
        variances = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(variances) if variances else 0.0


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _pairs(name: str, value: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return |entry| of every pair i < j, and whether it is a true edge."""
    matrix, graph = _same_size(name, value, "truth", truth)
    above = np.triu_indices(len(graph), k=1)
    return np.abs(matrix[above]), graph[above] != 0


def _pairs_of_both_kinds(
    name: str, value: ArrayLike, truth: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return `_pairs`, or refuse a true graph for which a rate is 0/0."""
    sizes, is_edge = _pairs(name, value, truth)
    if is_edge.all() or not is_edge.any():
        raise InvalidParameter.of(
            "truth",
            "a graph with both joined and separate pairs",
            "pairs of one kind only",
            "A ROC curve compares the two kinds; use support_recovery for the counts.",
        )
    return sizes, is_edge


def support_recovery(estimate: ArrayLike, truth: ArrayLike, threshold: float = 0.0) -> SupportRecovery:
    """Compare the edges of an estimate with those of the true graph.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric: a precision matrix, partial correlations or a graph. A pair is joined if |entry| > threshold.
    truth : array-like of shape (p, p)
        Symmetric: the true precision matrix or graph. A pair is joined if its entry is not zero.
    threshold : float, default=0
        At least 0.

    Returns
    -------
    SupportRecovery
        Each pair is counted once.

    Examples
    --------
    >>> chain = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> found = support_recovery([[1.0, 0.6, 0.2], [0.6, 1.0, 0.0], [0.2, 0.0, 1.0]], chain, threshold=0.1)
    >>> found
    SupportRecovery(true_positives=1, false_positives=1, false_negatives=1, true_negatives=0)
    >>> found.f1
    0.5
    """
    if not threshold >= 0:
        raise InvalidParameter.of("threshold", "a number of at least 0", threshold)
    sizes, is_edge = _pairs("estimate", estimate, truth)
    joined = sizes > threshold
    return SupportRecovery(
        true_positives=int(np.sum(joined & is_edge)),
        false_positives=int(np.sum(joined & ~is_edge)),
        false_negatives=int(np.sum(~joined & is_edge)),
        true_negatives=int(np.sum(~joined & ~is_edge)),
    )


@dataclass(frozen=True)
class RocCurve:
    """Points of a ROC curve, from (0, 0) to (1, 1).

    Attributes
    ----------
    false_positive_rate : ndarray of shape (k,)
        Never falling.
    true_positive_rate : ndarray of shape (k,)
    """

    false_positive_rate: NDArray[np.float64]
    true_positive_rate: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Area under the straight lines that join the points."""
        return float(np.trapezoid(self.true_positive_rate, self.false_positive_rate))


def roc_curve(scores: ArrayLike, truth: ArrayLike) -> RocCurve:
    """ROC curve of a ranking of the pairs: one point for each threshold on |score|.

    Parameters
    ----------
    scores : array-like of shape (p, p)
        Symmetric; the larger |score|, the sooner the pair is joined. `partial_correlations` rank a precision matrix
        without regard to units.
    truth : array-like of shape (p, p)
        Symmetric: the true precision matrix or graph, with both joined and separate pairs.

    Returns
    -------
    RocCurve
        Tied pairs are joined together, so ties are straight lines and ``.area`` equals `roc_auc`.

    Examples
    --------
    >>> chain = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> curve = roc_curve([[1.0, 0.6, 0.2], [0.6, 1.0, 0.0], [0.2, 0.0, 1.0]], chain)
    >>> curve.false_positive_rate, curve.true_positive_rate
    (array([0., 0., 1., 1.]), array([0. , 0.5, 0.5, 1. ]))
    """
    edges, others = _tallies(scores, truth)
    return RocCurve(
        false_positive_rate=np.append(0, np.cumsum(others[::-1])) / others.sum(),
        true_positive_rate=np.append(0, np.cumsum(edges[::-1])) / edges.sum(),
    )


def roc_auc(scores: ArrayLike, truth: ArrayLike) -> float:
    """Area under the ROC curve of a ranking: P(s_edge > s_other) + ½ P(s_edge = s_other).

    The Mann–Whitney statistic, counted in whole numbers: exact, ties included.

    Parameters
    ----------
    scores : array-like of shape (p, p)
        Symmetric; the larger |score|, the sooner the pair is joined.
    truth : array-like of shape (p, p)
        Symmetric: the true precision matrix or graph, with both joined and separate pairs.

    Returns
    -------
    float
        1 if every edge ranks above every other pair, ½ for a constant score.

    Examples
    --------
    >>> chain = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> roc_auc([[1.0, 0.6, 0.2], [0.6, 1.0, 0.0], [0.2, 0.0, 1.0]], chain)
    0.5
    """
    edges, others = _tallies(scores, truth)
    below = np.cumsum(others) - others
    twice_wins = int(np.sum(edges * (2 * below + others)))
    return twice_wins / (2 * int(edges.sum()) * int(others.sum()))


def _tallies(scores: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many edges, and how many other pairs, have each of the distinct |scores|, smallest first."""
    sizes, is_edge = _pairs_of_both_kinds("scores", scores, truth)
    values, place = np.unique(sizes, return_inverse=True)
    edges = np.bincount(place[is_edge], minlength=values.size)
    others = np.bincount(place[~is_edge], minlength=values.size)
    return edges, others


def roc_curve_of_path(estimates: Iterable[ArrayLike], truth: ArrayLike) -> RocCurve:
    """ROC curve of a sequence of estimates, one point for each: the paper's, where the penalty varies.

    Parameters
    ----------
    estimates : iterable of array-likes of shape (p, p)
        Symmetric; a pair is joined where its entry is not zero. Their order does not matter.
    truth : array-like of shape (p, p)
        Symmetric: the true precision matrix or graph, with both joined and separate pairs.

    Returns
    -------
    RocCurve
        Sorted by false, then by true positive rate. (0, 0), the empty graph, and (1, 1), the complete one, are added:
        where a path ends early, the straight line to them is what guessing among the remaining pairs would give.

    Examples
    --------
    >>> chain = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> curve = roc_curve_of_path([np.eye(3), chain, np.ones((3, 3))], chain)
    >>> curve.area
    1.0
    """
    points = [(0.0, 0.0), (1.0, 1.0)]
    for estimate in estimates:
        sizes, is_edge = _pairs_of_both_kinds("estimates", estimate, truth)
        joined = sizes > 0
        points.append((float(joined[~is_edge].mean()), float(joined[is_edge].mean())))
    false_positive_rate, true_positive_rate = np.array(sorted(points)).T
    return RocCurve(false_positive_rate=false_positive_rate, true_positive_rate=true_positive_rate)
