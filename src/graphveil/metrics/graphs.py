"""How well the graph of an estimate is found: its edges, and the ranking of pairs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil.exceptions import InvalidParameter
from graphveil.metrics._checks import check_same_size, check_symmetric

__all__ = [
    "RocCurve",
    "SupportRecovery",
    "partial_correlations",
    "roc_auc",
    "roc_curve",
    "roc_curve_of_path",
    "support_recovery",
]


def partial_correlations(precision: ArrayLike) -> NDArray[np.float64]:
    """Correlation of each pair of variables given all others, −θ_ij/√(θ_ii θ_jj).

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Symmetric, with positive diagonal; where it is not positive definite a result may exceed 1.

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
    theta = check_symmetric("precision", precision)
    diagonal = np.diag(theta)
    if (diagonal <= 0).any():
        size = f"{len(theta)} x {len(theta)}, not so"
        raise InvalidParameter.of("precision", "a matrix with positive diagonal", size)
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
    matrix, graph = check_same_size(name, value, "truth", truth)
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
        Non-decreasing.
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
