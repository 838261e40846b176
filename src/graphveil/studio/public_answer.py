"""The result without noise, for records that the user has declared public, to show the cost of privacy.

The one place outside of the gate that shows numbers of records as they are. :class:`graphveil.studio.session.Session`
calls it after a release, and only where somebody said that everybody may see these records.
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import InvalidParameter
from graphveil.metrics import partial_correlations
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.estimate import estimate_release
from graphveil.rows.recoding import Recoder
from graphveil.rows.sources import open_source
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.released.release import Release

__all__ = ["compare_with_public_records", "exact_partial_correlations"]

_SHOWN = 12


def compare_with_public_records(release: "Release", data: str, domain: Domain) -> list[dict[str, Any]]:
    """The surest pairs of a release beside their exact partial correlations."""
    exact = exact_partial_correlations(data, domain)
    found = estimate_release(release)
    intervals = Analysis(release, found).find_intervals(0.95)
    intervals = intervals.by_level or intervals
    released = found.partial_correlations
    lower = upper = p_value = np.full_like(released, np.nan)
    if intervals.reason is None:
        lower, upper, p_value = intervals.lower, intervals.upper, intervals.p_value
        released = np.where(np.isnan(intervals.estimate), released, intervals.estimate)
    names, (i, j) = release.column_labels, np.triu_indices(len(exact), 1)
    order = np.lexsort((-np.abs(released[i, j]), p_value[i, j]))[:_SHOWN]

    def number(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    return [
        {
            "first": names[i],
            "second": names[j],
            "released": float(released[i, j]),
            "lower": number(lower[i, j]),
            "upper": number(upper[i, j]),
            "exact": number(exact[i, j]),
        }
        for i, j in zip(i[order], j[order], strict=True)
    ]


def exact_partial_correlations(data: str, domain: Domain) -> "NDArray[np.float64]":
    """Of the clipped rows, in which every person counts once, of pairs of values that are there, as in a release."""
    source = open_source(os.path.expanduser(data), domain, None)
    shares: Any = None
    if domain.person is not None:
        keys = np.concatenate([*source.iter_people()])
        _, whose, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        shares = 1.0 / sizes[whose.ravel()]
    recoder = None if domain.codebook is None else Recoder(domain.codebook)
    lower, upper = np.array(domain.bounds)
    middle, p = (lower + upper) / 2.0, lower.size
    nullable = np.isin(np.arange(p), [column for place in domain.gaps for column in place])
    weight, first, second = np.zeros((3, p, p))
    seen = 0
    for rows, _ in source.read():
        numbers: NDArray[np.float64] = np.asarray(rows, dtype=np.float64)
        weights = np.ones(len(rows))
        if domain.weight is not None:  # they are the last column
            weights = np.clip(np.nan_to_num(numbers[:, -1]), 0.0, domain.weight.largest)
            numbers = numbers[:, :-1]
        numbers = np.ascontiguousarray(numbers)
        numbers = numbers if recoder is None else recoder.recode(numbers)
        numbers = np.clip(numbers, lower, upper) - middle
        there = ~(np.isnan(numbers) & nullable)
        numbers = np.nan_to_num(numbers)
        if shares is not None:
            weights *= shares[seen : seen + len(rows)]
        counted = there * weights[:, None]
        seen += len(rows)
        weight += counted.T @ there
        first += (counted * numbers).T @ there
        second += (counted * numbers).T @ numbers
    covariance = (second - first * first.T / weight) / weight
    spread = np.sqrt(np.diag(covariance))
    if not spread.all():
        raise InvalidParameter(
            "A column of these records has one value only: there is no exact answer to compare with."
        )
    return partial_correlations(np.linalg.pinv(covariance / np.outer(spread, spread), hermitian=True))
