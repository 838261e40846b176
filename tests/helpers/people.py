"""People with any rows, and what they add to each kind of answer, in exact integers."""

import math
from fractions import Fraction

import numpy as np

from graphveil.privacy.mechanisms import step_for
from graphveil.rows.accumulators import statistic_for
from graphveil.spec.quantization import PERSON_WEIGHT
from graphveil.spec.queries import CellCounts, ClippedTail, ColumnMeans, ColumnSquares, Moments, NormCounts, RowMap

MU = 0.25


def queries_for(rng, p, grid):
    """One of each kind, with windows that need not contain zero."""
    span = float(grid.levels)
    ends = np.sort(np.floor(rng.uniform(-span, span, size=(2, p))), axis=0)
    low, high = np.where(rng.random(p) < 0.5, ends, [[-span], [span]])
    every, weights = np.arange(p, dtype=float), np.floor(2.0 ** rng.uniform(0, 20, size=p))
    row_map = RowMap.of(rng.normal(size=(p, p)) / span, np.zeros(p), np.full(p, -span), np.full(p, span))
    return [
        ColumnMeans(low, high, weights, every),
        ColumnSquares(low, high, np.floor((low + high) / 2), weights, every),
        CellCounts(every),
        NormCounts(np.geomspace(0.01, 10, 20), row_map),
        Moments(1.5, 0.7, row_map),
        ClippedTail(row_map, 0.5, 2.0),
        Moments(math.sqrt(p)),
    ]


def answer(query, space, encoder, rows, m=None):
    """What the rows of one person with ``m`` rows (all of these) come to, in exact integers."""
    statistic = statistic_for(query, space)
    encoded = np.empty((len(rows), encoder.width))
    encoder.encode(np.ascontiguousarray(rows, dtype=float), None, encoded)
    statistic.update(encoded, np.full(len(rows), PERSON_WEIGHT // max(m or len(rows), 1)))
    return statistic.answer(query)


def squared_move(query, one, other):
    """In the norm of the sensitivity: entries above the diagonal count twice."""
    total = 0
    for name, values in one.items():
        total += (2 if name == "off_diagonal" else 1) * int(((values - other[name]) ** 2).sum())
    return total


def hidden(query, space):
    """How far the answer may move, squared: (sd·μ)² of the first group."""
    step = step_for(query, space, 1, MU, 2.0**-70)
    return (Fraction(step.groups[0].sd) * Fraction(MU)) ** 2


def wild_rows(rng, count, p):
    kinds = [
        rng.normal(size=(count, p)),
        rng.choice([-1.0, 1.0], size=(count, p)),
        np.tile(rng.normal(size=p), (count, 1)),
    ]
    rows = kinds[rng.integers(3)] * 10.0 ** rng.uniform(-2, 2)
    return np.where(rng.random((count, p)) < 0.1, rng.choice([np.nan, np.inf, -np.inf], size=(count, p)), rows)


def visits(seed, n_people=500, most=9, p=3):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(n_people), rng.integers(1, most + 1, n_people)))
    return rng.normal(size=(len(ids), p)) + ids[:, None] % 3, ids
