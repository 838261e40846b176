"""What each answer should be before noise, a second time: from the descriptions in ``spec/queries.py`` alone.

In plain floats and without any code of ``rows/``, so that it does not share its mistakes.
"""

import numpy as np

from graphveil.spec.augmentation import Constant, Labels
from graphveil.spec.quantization import CELL_LEVELS, PERSON_WEIGHT, MomentLayout, RowGrid
from graphveil.spec.queries import (
    CellCounts,
    ClippedTail,
    ColumnMeans,
    ColumnSquares,
    Moments,
    NormCounts,
    RowCount,
    TotalWeight,
)


def expected_answers(release, known):
    """The answers to every question that was asked, in units of the integer sums."""
    appended = None if release.event.rounds == "adaptive" else release.augment
    lattice = RowGrid.of(release.domain, appended)
    steps = np.rint(_scaled_rows(release, known.rows) / lattice.unit)
    return [_answer(answer.query, known, steps, lattice, release) for answer in release.answers]


def _weights(known, own):
    """Of every row: one over the number of rows of its person, in units of 2²⁰; or 1 where nobody has several."""
    if known.people is None:
        return np.ones(len(known.rows))
    _, place, counts = np.unique(known.people, return_inverse=True, return_counts=True)
    return PERSON_WEIGHT * own / counts[place]


def _own_weights(known, domain):
    """Survey weights as shares of the largest; 1 without any."""
    if domain.weight is None:
        return np.ones(len(known.rows))
    return np.clip(known.weights, 0.0, domain.weight.largest) / domain.weight.largest


def _scaled_rows(release, rows):
    """Rows in the box and in the ball, NaN as zero."""
    centre, half, (low, high) = release.domain.scaling(shift=release.augment is not None)
    scaled = np.nan_to_num(np.clip((rows - centre) / half, low, high))
    return _shortened(scaled, release.domain.radius)


def _shortened(rows, radius):
    return rows * np.minimum(1.0, radius / np.maximum(_norms(rows), 1e-300))[:, None]


def _norms(rows):
    largest = np.maximum(np.abs(rows).max(axis=1), 1e-300)
    return np.asarray(largest * np.linalg.norm(rows / largest[:, None], axis=1))


def _answer(query, known, steps, lattice, release):
    own = _own_weights(known, release.domain)
    p, augment, weights = steps.shape[1], release.augment, _weights(known, own)
    root = np.sqrt(weights / (PERSON_WEIGHT if known.people is not None else 1))[:, None]
    if isinstance(query, RowCount):
        return {"count": np.array([float(len(steps) if known.people is None else len(np.unique(known.people)))])}
    if isinstance(query, TotalWeight):
        return {"totals": PERSON_WEIGHT * np.array([weights.sum(), 3.0 * weights @ (1.0 - own)])}
    if isinstance(query, ColumnMeans | ColumnSquares):
        which = query.columns.astype(np.intp)
        inside = np.clip(steps, query.low, query.high)[:, which]
        if isinstance(query, ColumnMeans):
            middle = query.middle[which] if release.domain.neighbours == "add-remove" else 0.0
            return {"means": query.weights * (weights @ (inside - middle))}
        return {"squares": query.weights * (weights @ (inside - query.centre[which]) ** 2)}
    if isinstance(query, CellCounts):
        places = (steps[:, query.columns.astype(np.intp)] + lattice.levels) / (2 * lattice.levels + 1)
        counts = [
            np.bincount((place * 2**level).astype(np.intp), weights, minlength=2**level)
            for place in places.T
            for level in CELL_LEVELS
        ]
        return {"cells": np.concatenate(counts).astype(np.float64)}
    if isinstance(query, Moments) and query.row_map is None:
        return _moments(root * _augmented(steps, known, lattice.constant, augment), MomentLayout(p, augment))
    row_map = query.row_map
    if row_map is None:
        mapped = np.nan_to_num(known.rows)
    else:
        mapped = (np.clip(steps, row_map.low, row_map.high) - row_map.centre) @ row_map.matrix
    if isinstance(query, NormCounts):
        bins = np.searchsorted(query.edges, _norms(mapped), side="right")
        return {"counts": np.bincount(bins, weights, minlength=query.edges.size + 1).astype(np.float64)}
    if isinstance(query, ClippedTail):
        norms = _norms(mapped)
        kept = np.sqrt(np.maximum(np.minimum(norms, query.outer) ** 2 - query.inner**2, 0.0))
        beyond = mapped * (kept / np.maximum(norms, 1e-300))[:, None]
        return _moments(root * beyond / query.lattice(p).unit, MomentLayout(p, None))
    assert isinstance(query, Moments)
    fine, constant = query.lattice(p), Constant() if query.constant else None
    whitened = _shortened(mapped, query.radius) / fine.unit
    return _moments(root * _augmented(whitened, known, fine.constant, constant), MomentLayout(p, constant))


def _augmented(steps, known, constant, augment):
    n = len(steps)
    if isinstance(augment, Labels):
        assert known.codes is not None
        return np.hstack([steps, constant * np.eye(augment.width)[known.codes]])
    return steps if augment is None else np.hstack([steps, np.full((n, 1), float(constant))])


def _moments(rows, layout):
    diagonal, off_diagonal = layout.split(rows.T @ rows)
    return {"diagonal": diagonal, "off_diagonal": off_diagonal, "trace": diagonal.sum(keepdims=True)}
