"""P-values from simulated scores; categories as one variable."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

import graphveil as gv
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.edge_intervals import EdgeIntervals, _tail_probability
from graphveil.recovery.estimate import estimate_release
from helpers.collinear import LOST, collinear_release
from helpers.mixed import mixed_release
from helpers.nested import bank, bank_domain


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
    assert few.by_level.reason == few.reason, "it is there, whatever it can say"
    assert few.by_level.columns == found.by_level.columns
    assert few.smallest_edge is None


def test_pairs_of_collinear_columns_have_no_interval():
    """With two scores and their total given, noise made a partial correlation of -0.47 ± 0.1 out of -0.89."""
    found = intervals(collinear_release())
    assert found.reason is None
    assert found.note == "No intervals between collinear columns: ward[b], in_b; math, reading, total."
    assert found.note in repr(found)
    assert "11 pairs" in repr(found)
    frame = found.to_frame()
    numbers = frame[["estimate", "lower", "upper", "p_value"]]
    assert set(zip(frame.source, frame.target, strict=True)) >= LOST
    without = numbers.isna().all(axis=1)
    assert set(zip(frame.source[without], frame.target[without], strict=True)) == LOST
    assert not numbers[~without].isna().any(axis=None)
    assert without.iloc[-len(LOST) :].all()
    assert not frame.edge[without].any()
    assert frame.edge[(frame.source == "lunch") & (frame.target == "ward")].all()
    assert 0.0 < found.smallest_edge < 0.2
    apart = found.by_level
    assert set(zip(*np.nonzero(np.isnan(np.triu(apart.estimate, 1))), strict=True)) == {(0, 1), (0, 2), (1, 2), (4, 6)}


def test_false_discoveries_are_counted_among_pairs_that_are_tested():
    p_value = np.full((4, 4), np.nan)
    for (i, j), value in zip([(0, 1), (0, 2), (1, 2)], [0.001, 0.03, 0.6], strict=True):
        p_value[i, j] = p_value[j, i] = value
    tested = EdgeIntervals(p_value, p_value, p_value, p_value, 0.95, None)
    alone = EdgeIntervals(*[p_value[:3, :3]] * 4, 0.95, None)
    assert (tested.select()[:3, :3] == alone.select()).all()
    assert alone.select().sum() == 4
    assert not tested.select()[3].any()


def test_no_edge_is_chosen_that_noise_would_make_more_often_than_the_rate():
    """Where 13 of 15 pairs are certain edges, Storey's estimate alone lets p-values up to 0.75 pass."""
    p_value = np.ones((6, 6))
    p_value[np.triu_indices(6, 1)] = [1e-9] * 13 + [0.08, 0.44]
    found = EdgeIntervals(*[np.minimum(p_value, p_value.T)] * 4, 0.95, None)
    assert found.select()[np.triu_indices(6, 1)].tolist() == [True] * 14 + [False]
    assert found.select(0.5).sum() == 30
    assert "14 edges at a false discovery rate of 10%" in repr(found)


def test_joint_tests_leave_out_levels_of_which_nothing_is_known():
    """One of five products has 0.5% of the customers."""
    release = gv.release(bank(14_000, 0), domain=bank_domain(), budget=gv.Budget(1.0, 1e-6), random_state=0)
    estimate = estimate_release(release)
    vague = np.array(release.column_names)[estimate.undetermined]
    assert "product[trust]" in vague
    found = intervals(release)
    region, product = (found.columns.index(name) for name in ("region", "product"))
    left = [sum(name.startswith(start) for name in vague) for start in ("region[", "product[")]
    assert found.df[region, product] == (7 - left[0]) * (4 - left[1])
    assert "leave out levels" in found.note
    assert "product[trust]" in found.note
    assert np.isfinite(found.by_level.estimate).all(), "its own pairs have their intervals"


def test_the_surest_pairs_are_first_not_the_largest_estimates():
    p_value = np.array([[1.0, 0.2, 0.001], [0.2, 1.0, np.nan], [0.001, np.nan, 1.0]])
    estimate = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, np.nan], [0.1, np.nan, 1.0]])
    found = EdgeIntervals(estimate, estimate - 0.1, estimate + 0.1, p_value, 0.95, None, ("a", "b", "c"))
    assert found.to_frame().target.tolist() == ["c", "b", "c"]
    assert found.to_frame().source.tolist() == ["a", "a", "b"]
    none = np.full((3, 3), np.nan)
    strong = EdgeIntervals(estimate, none, none, none, 0.95, "a reason")
    assert strong.to_frame().target.tolist() == ["x1", "x2", "x2"]


def test_where_all_pairs_are_collinear_there_is_a_reason():
    x = np.random.default_rng(0).normal(size=20_000)
    domain = gv.Domain(bounds={"here": (-6, 6), "there": (-6, 6)})
    found = intervals(gv.release(np.c_[x, x], domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0))
    assert "these columns are collinear: here, there" in found.reason
    assert np.isnan(found.estimate).all()
