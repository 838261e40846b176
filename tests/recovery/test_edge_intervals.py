"""P-values from simulated scores; categories as one variable."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from graphveil.recovery.analysis import Analysis
from graphveil.recovery.edge_intervals import _tail_probability
from graphveil.recovery.estimate import estimate_release
from helpers.mixed import mixed_release


def test_p_values_are_uniform_and_continue_beyond_all_simulated_scores():
    rng = np.random.default_rng(0)
    simulated, scores = np.abs(rng.normal(size=20_000)), np.abs(rng.normal(size=5000))
    assert kstest(_tail_probability(scores, simulated), "uniform").pvalue > 0.01
    far = np.array([3.0, 4.0, 5.0, 6.0])
    assert np.log10(_tail_probability(far, simulated)) == pytest.approx(np.log10(2.0 * norm.sf(far)), abs=0.6)
    grid = np.linspace(0.0, 8.0, 1000)
    assert (np.diff(_tail_probability(grid, simulated)) <= 1e-4).all()


@pytest.fixture(scope="module")
def found():
    return intervals(mixed_release())


def intervals(release):
    return Analysis(release, estimate_release(release)).find_intervals(0.95)


def test_a_category_is_one_variable(found):
    assert found.columns == ("ward", "region", "diet", "sex[M]", "bmi", "age")
    assert found.df[0].tolist() == [9, 6, 6, 3, 3, 3]
    assert found.df[3, 4] == 1
    chosen = found.select()
    assert [found.columns[k] for k in np.flatnonzero(chosen[0])] == ["diet", "bmi"]
    assert not chosen[1].any()
    off = ~np.eye(6, dtype=bool) & (found.df > 1)
    assert ((found.estimate >= found.lower) & (found.lower >= 0.0))[off].all()
    for name in ("estimate", "lower", "upper", "p_value"):
        assert (getattr(found, name) == getattr(found, name).T).all()
    frame = found.to_frame()
    assert len(frame) == 15
    assert set(frame.df) == {1, 2, 3, 4, 6}


def test_the_levels_are_there_on_demand_and_numbers_are_the_same_there(found):
    apart = found.by_level
    assert apart.columns[:5] == ("ward[B]", "ward[C]", "ward[D]", "region[south]", "region[west]")
    assert apart.columns[5:] == ("diet[vegan]", "diet[other]", "sex[M]", "bmi", "age")
    assert apart.by_level is None
    for name in ("estimate", "lower", "upper", "p_value"):
        assert (getattr(found, name)[3:, 3:] == getattr(apart, name)[7:, 7:]).all()
    assert found.smallest_edge == apart.smallest_edge


def test_only_numbers_are_as_ever():
    found = intervals(mixed_release(only=("bmi", "age")))
    assert found.df is None
    assert found.by_level is None
    assert "df" not in found.to_frame().columns


def test_one_category_alone_and_too_few_records(found):
    alone = intervals(mixed_release(only=("ward",)))
    assert alone.columns == ("ward",)
    assert alone.estimate.tolist() == [[1.0]]
    assert not alone.select().any()
    few = intervals(mixed_release(200, 0.1))
    assert few.reason is not None
    assert few.estimate.shape == (6, 6)
    assert few.columns == found.columns
