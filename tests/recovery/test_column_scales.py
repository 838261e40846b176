"""Where the rows of a column lie, by noisy counts of cells."""

import numpy as np
import pytest

from graphveil.recovery.column_scales import _find_bulk
from graphveil.spec.quantization import CELL_LEVELS

N = 5000


def cells_of(values, noise, seed=0):
    """Counts of values in [-1, 1] on all levels, with noise."""
    rng = np.random.default_rng(seed)
    counts = [np.histogram(values, bins=2**level, range=(-1.0, 1.0))[0] for level in CELL_LEVELS]
    return np.concatenate([level + rng.normal(0.0, noise, level.size) for level in counts])


@pytest.mark.parametrize("seed", range(5))
def test_the_bulk_of_a_dense_column_is_found(seed):
    values = np.random.default_rng(seed).normal(0.3, 0.004, N)
    middle, half = _find_bulk(cells_of(values, 30.0, seed), N, 0.95)
    assert abs(middle - 0.3) < half < 0.04
    assert np.mean(np.abs(values - middle) < half) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_a_rare_event_has_no_bulk(seed):
    """Its variance lies away from the one point that holds most rows, however noisy the counts are together."""
    values = np.where(np.random.default_rng(seed).random(N) < 0.02, 0.9, -1.0)
    assert np.isnan(_find_bulk(cells_of(values, 100.0, seed), N, 0.9)).all()
