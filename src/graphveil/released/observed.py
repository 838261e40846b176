"""How often values and pairs of values are observed, from the noisy answer to :class:`ObservedPairs`."""

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Vector
from graphveil.released.answers import Answer

__all__ = ["LEAST_SHARE", "gap_inflation", "observed_shares"]

LEAST_SHARE = 0.02  # of records: what is there less often is not known; its moments would be divided by noise


def observed_shares(answer: Answer, gaps: tuple[range, ...], n_features: int, n_samples: float) -> Vector:
    """Share of the records in which both columns of a pair are there; on the diagonal, of single columns.

    Noise is cut where no table could have it: a share lies between 0 and 1, that of a pair is at most either of its
    columns', and at least what both leave no room for.
    """
    signs, m = answer.values["signs"] / n_samples, len(gaps)
    single, pairs = signs[:m], np.zeros((m, m))
    pairs[np.triu_indices(m, 1)] = signs[m:]
    alone = np.clip((1.0 + single) / 2.0, LEAST_SHARE, 1.0)
    both = (1.0 + single[:, None] + single + pairs + pairs.T) / 4.0
    least = np.maximum(alone[:, None] + alone - 1.0, LEAST_SHARE)
    both = np.clip(both, least, np.minimum(alone[:, None], alone))
    np.fill_diagonal(both, alone)
    # A last row and column for all that is never missing.
    known = np.ones((m + 1, m + 1))
    known[:m, :m], known[:m, m], known[m, :m] = both, alone, alone
    return np.asarray(known[np.ix_(*[_variables(gaps, n_features)] * 2)])


def gap_inflation(observed: Vector) -> float:
    """By how much gaps make the variances of correlations larger, on average over pairs."""
    share = np.diag(observed)
    pairs = np.triu_indices(share.size, 1)
    factor = np.outer(share, share) / observed**2
    return float(np.mean(factor[pairs])) if pairs[0].size else 1.0


def _variables(gaps: tuple[range, ...], n_features: int) -> NDArray[np.intp]:
    """Which of the variables with gaps each column belongs to; their number for none."""
    found = np.full(n_features, len(gaps), dtype=np.intp)
    for number, columns in enumerate(gaps):
        found[columns] = number
    return found
