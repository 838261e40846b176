"""P-values from simulated scores."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from graphveil.recovery.edge_intervals import _tail_probability


def test_p_values_are_uniform_and_continue_beyond_all_simulated_scores():
    rng = np.random.default_rng(0)
    simulated, scores = np.abs(rng.normal(size=20_000)), np.abs(rng.normal(size=5000))
    assert kstest(_tail_probability(scores, simulated), "uniform").pvalue > 0.01
    far = np.array([3.0, 4.0, 5.0, 6.0])
    assert np.log10(_tail_probability(far, simulated)) == pytest.approx(np.log10(2.0 * norm.sf(far)), abs=0.6)
    grid = np.linspace(0.0, 8.0, 1000)
    assert (np.diff(_tail_probability(grid, simulated)) <= 1e-4).all()
