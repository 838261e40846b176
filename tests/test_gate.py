"""The gate as a whole: right numbers, right laws, and the corners of its inputs."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.exceptions import GuaranteeError, InvalidParameter, PrivacyWarning, SourceError
from graphveil.spec.augmentation import Constant
from helpers.exact_sums import asked

BUDGET = gv.Budget(1.0, 1e-6)
GENEROUS = gv.Budget(40.0, 1e-6)  # almost no noise
RNG = np.random.default_rng(11)
MIXING = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, -0.3], [0.0, 0.0, 0.5]])
ROWS = RNG.normal(size=(100_000, 3)) @ MIXING + [3.0, 0.0, -1.0]
WIDE = gv.Domain(bounds=([-4, -6, -6], [10, 6, 4]))


def test_second_moment_about_the_origin():
    item = gv.release(ROWS, domain=WIDE, budget=GENEROUS, assume_centered=True, adaptive=False)
    assert item.location is None
    np.testing.assert_array_equal(item.moment_center, np.zeros(3))
    np.testing.assert_allclose(item.second_moment, ROWS.T @ ROWS / len(ROWS), atol=5 * item.noise_sd.max() + 1e-3)
    np.testing.assert_array_equal(item.second_moment, item.second_moment.T)


def test_mean_and_covariance():
    item = gv.release(ROWS, domain=WIDE, budget=GENEROUS, adaptive=False)
    np.testing.assert_allclose(item.location, ROWS.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(item.second_moment, np.cov(ROWS.T), atol=5 * item.noise_sd.max() + 1e-3)
    np.testing.assert_array_equal(item.moment_center, item.location)


def test_class_counts_and_class_means():
    labels = np.where(ROWS[:, 0] > 4, "high", "low")
    labels[:1000] = "unheard of"
    for augment in (gv.Labels(["low", "high"]), gv.Labels(["low", "high"], weight=1.0)):
        item = gv.release((ROWS, labels), domain=WIDE, budget=GENEROUS, **asked(augment), adaptive=False)
        np.testing.assert_allclose(item.class_counts, [(labels == "low").sum(), (labels == "high").sum()], atol=20)
        means = [ROWS[labels == name].mean(axis=0) for name in ("low", "high")]
        np.testing.assert_allclose(item.class_locations, means, atol=5e-3)
        np.testing.assert_allclose(item.moment_center, [3, 0, -1])
        centred = ROWS - item.moment_center
        np.testing.assert_allclose(item.second_moment, centred.T @ centred / len(ROWS), atol=0.01)


def test_a_class_that_nobody_has_gives_nan_or_noise_but_no_error():
    item = gv.release(
        (ROWS[:50], ["a"] * 50),
        domain=WIDE,
        budget=BUDGET,
        random_state=3,
        labels=gv.Labels(["a", "b"]),
        adaptive=False,
    )
    assert item.class_counts.shape == (2,)
    assert np.isnan(item.class_locations[item.class_counts <= 0]).all()


@pytest.mark.parametrize("n", [100, 10_000])
@pytest.mark.parametrize("k", [1, 4])
def test_noise_scale_is_the_theorem(n, k):
    """σ = √2 R² k/(nμ) in scaled units, within the permille that the lattice costs."""
    domain = gv.Domain(bounds=(-1, 1), rows_per_person=k)
    item = gv.release(np.zeros((n, 5)), domain=domain, budget=BUDGET, assume_centered=True, adaptive=False)
    assert item.noise_scale == pytest.approx(math.sqrt(2) * 5 * k / (n * BUDGET.mu), rel=1e-3)
    assert item.noise_scale >= math.sqrt(2) * 5 * k / (n * BUDGET.mu) * (1 - 1e-5)  # the lattice's own reserve


def test_default_noise_is_smaller_than_the_papers():
    ours = gv.release(ROWS, domain=gv.Domain(data_norm=5.0), budget=BUDGET, assume_centered=True, adaptive=False)
    papers = gv.release(
        ROWS, domain=gv.Domain(data_norm=5.0), budget=BUDGET, mechanism="paper", assume_centered=True, adaptive=False
    )
    off_diagonal = ~np.eye(3, dtype=bool)
    assert (papers.noise_sd / ours.noise_sd)[off_diagonal].min() > 1.25 * math.sqrt(2) * 0.99
    assert (papers.noise_sd / ours.noise_sd).min() > 1.25


@pytest.mark.parametrize("k", [1, 4])
def test_papers_noise_hides_all_rows_of_a_person(k):
    """β = k √2 R²/n √(2 log(1.25/δ))/ε for k rows, and what is charged stays the same."""
    domain = gv.Domain(data_norm=5.0, rows_per_person=k)
    item = gv.release(
        ROWS[:1000], domain=domain, budget=BUDGET, mechanism="paper", assume_centered=True, adaptive=False
    )
    beta = k * math.sqrt(2) * 25 / 1000 * math.sqrt(2 * math.log(1.25e6))
    assert item.noise_scale == pytest.approx(beta, rel=1e-3)
    assert item.event.mu == pytest.approx(1 / math.sqrt(2 * math.log(1.25e6)), rel=1e-3)


def test_papers_mechanism_beyond_its_proof():
    domain = gv.Domain(data_norm=5.0)
    with pytest.raises(GuaranteeError, match=r"proved for epsilon ≤ 1 only, got epsilon=2\.0"):
        gv.release(
            ROWS, domain=domain, budget=gv.Budget(2.0, 1e-6), mechanism="paper", assume_centered=True, adaptive=False
        )
    kept = gv.release(
        ROWS,
        domain=domain,
        budget=gv.Budget(2.0, 1e-6),
        mechanism="paper",
        allow_unproven=True,
        assume_centered=True,
        adaptive=False,
    )
    assert kept.event.keeps_budget
    broken = gv.release(
        ROWS,
        domain=domain,
        budget=gv.Budget(10.0, 1e-6),
        mechanism="paper",
        allow_unproven=True,
        assume_centered=True,
        adaptive=False,
    )
    assert not broken.event.keeps_budget
    assert broken.event.epsilon(1e-6) > 10.0
    assert "(10.255, 1e-06)" in broken.guarantee


def test_the_sentence_never_says_more_than_holds():
    rows = ROWS[:100]
    item = gv.release(rows, domain=WIDE, budget=gv.Budget(1.00049, 1.00049e-6), assume_centered=True, adaptive=False)
    assert item.guarantee.startswith("(1.00049, 1.00049e-06)-")
    for epsilon in (9.0, 9.5, 10.0, 11.0):
        budget = gv.Budget(epsilon, 1e-6)
        item = gv.release(
            rows,
            domain=gv.Domain(data_norm=1.0),
            budget=budget,
            mechanism="paper",
            allow_unproven=True,
            assume_centered=True,
            adaptive=False,
        )
        said = float(item.guarantee[1:].partition(",")[0])
        assert item.event.delta(said) <= 1e-6
        assert said < 1.001 * item.event.epsilon(1e-6)


@pytest.mark.parametrize("adaptive", [False, True])
def test_an_event_that_does_not_keep_its_budget_is_refused_before_the_charge(adaptive, monkeypatch):
    from graphveil.privacy import calibration

    monkeypatch.setattr(calibration, "analytic_mu", lambda budget: 1.01 * budget.mu)

    class Ledger:
        def charge(self, dataset, event):
            raise AssertionError("charged")

    with pytest.raises(GuaranteeError, match="does not keep the budget"):
        gv.release(
            ROWS, domain=WIDE, budget=BUDGET, ledger=Ledger(), dataset="d", assume_centered=True, adaptive=adaptive
        )


def test_the_lattice_counts_in_what_an_event_keeps():
    item = gv.release(ROWS, domain=WIDE, budget=BUDGET, assume_centered=True, adaptive=False)
    assert item.event.keeps_budget
    assert not replace(item.event, eta=1e-6).keeps_budget


def test_papers_mechanism_takes_no_augmentation():
    with pytest.raises(InvalidParameter, match='assume_centered must be True with mechanism="paper"'):
        gv.release(ROWS, domain=WIDE, budget=BUDGET, mechanism="paper", adaptive=False)


@pytest.mark.parametrize("augment", [None, "mean"])
def test_one_row_one_column(augment):
    item = gv.release(
        np.array([[2.0]]), domain=gv.Domain(bounds=(-5, 5)), budget=BUDGET, **asked(augment), adaptive=False
    )
    assert item.second_moment.shape == item.noise_sd.shape == (1, 1)
    assert item.n_samples == 1
    assert 0 < item.n_eff <= 1


def test_constant_columns_and_extreme_bounds():
    rows = np.column_stack([np.zeros(500), np.full(500, 7.0), RNG.normal(size=500)])
    for bounds in ((-10, 10), (-(2.0**200), 2.0**200), (-(2.0**-200), 2.0**-200)):
        item = gv.release(rows, domain=gv.Domain(bounds=bounds), budget=BUDGET, adaptive=False)
        assert np.isfinite(item.second_moment).all()
        assert np.isfinite(item.location).all()
        assert (item.noise_sd > 0).all()


def test_n_eff_says_how_much_noise_there_is():
    free = gv.release(ROWS, domain=WIDE, budget=GENEROUS, random_state=0, adaptive=False)
    costly = gv.release(ROWS, domain=WIDE, budget=gv.Budget(0.01, 1e-6), random_state=0, adaptive=False)
    assert free.n_eff > 0.9 * len(ROWS)
    assert costly.n_eff < 100


def test_several_batches_and_frames_through_the_front_door():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    domain = gv.Domain(columns=["a", "b", "c"], bounds=WIDE.bounds)
    whole = gv.release(ROWS, domain=domain, budget=BUDGET, random_state=1, assume_centered=True, adaptive=False)
    assert (
        gv.release(frame, domain=domain, budget=BUDGET, random_state=1, assume_centered=True, adaptive=False) == whole
    )
    assert (
        gv.release(
            [frame[:10], frame[10:]], domain=domain, budget=BUDGET, random_state=1, assume_centered=True, adaptive=False
        )
        == whole
    )


def test_progress_counts_rows():
    seen = []
    gv.release(ROWS, domain=WIDE, budget=BUDGET, progress=seen.append, assume_centered=True, adaptive=False)
    assert seen == sorted(seen)
    assert seen[-1] == len(ROWS)


def test_a_source_that_shrinks_between_passes_is_refused():
    class Shrinking:
        def __init__(self):
            self.size = 1000

        def __iter__(self):
            self.size -= 10
            return iter([ROWS[: self.size]])

    with pytest.raises(SourceError, match="different number of rows on a later pass"):
        gv.release(Shrinking(), domain=WIDE, budget=BUDGET)


def test_bounds_without_zero_need_a_mean():
    domain = gv.Domain(bounds={"age": (18, 100), "change": (-5, 5)})
    with pytest.raises(InvalidParameter, match=r"bounds of column 'age' do not contain 0, .*mean"):
        gv.release(np.ones((10, 2)), domain=domain, budget=BUDGET, assume_centered=True, adaptive=False)
    gv.release(np.ones((10, 2)), domain=domain, budget=BUDGET, adaptive=False)


def test_an_empty_source_is_refused():
    with pytest.raises(SourceError, match="no rows"):
        gv.release(np.empty((0, 3)), domain=WIDE, budget=BUDGET, assume_centered=True, adaptive=False)
    with pytest.raises(SourceError, match="no columns"):
        gv.release(
            np.empty((3, 0)), domain=gv.Domain(bounds=(-1, 1)), budget=BUDGET, assume_centered=True, adaptive=False
        )


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_delta_of_one_over_n_is_warned_about_where_it_was_written(adaptive):
    with pytest.warns(PrivacyWarning) as caught:
        gv.release(ROWS[:10], domain=WIDE, budget=gv.Budget(1.0, 0.1), assume_centered=True, adaptive=adaptive)
    assert caught[0].filename == __file__


def test_warnings_of_a_fit_point_to_the_fit():
    with pytest.warns(PrivacyWarning) as caught:
        gv.PrivatePrecision(0.1, 0.1, bounds=(-4, 4)).fit(ROWS[:10])
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("labels", ["labels", 3, [1, 2], gv.Labels])
def test_labels_refusals(labels):
    with pytest.raises(InvalidParameter, match="labels must be a "):
        gv.release(ROWS, domain=WIDE, budget=BUDGET, labels=labels, adaptive=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": gv.Labels(["a"])}, "adaptive must be False with labels"),
        (
            {"labels": gv.Labels(["a"]), "adaptive": False, "assume_centered": True},
            "assume_centered must be False with",
        ),
        ({"mechanism": "paper"}, 'assume_centered must be True with mechanism="paper"'),
        ({"mechanism": "paper", "assume_centered": True}, 'adaptive must be False with mechanism="paper"'),
        ({"adaptive": "auto"}, "adaptive must be True or False"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(InvalidParameter, match=message):
        gv.release(ROWS, domain=WIDE, budget=BUDGET, **options)


def test_the_default_releases_the_mean_in_adaptive_rounds():
    """Rows far from zero: what a caller gets who asks for nothing is the accurate answer."""
    rows = np.random.default_rng(0).normal(3.0, [1.1, 1.2, 1.3], size=(20_000, 3))
    made = gv.release(rows, domain=gv.Domain(bounds=(-6, 12)), budget=gv.Budget(1.0, 1e-6), random_state=0)
    found = gv.recover(made)
    np.testing.assert_allclose(found.location, 3.0, atol=0.1)
    np.testing.assert_allclose(np.diag(found.covariance), [1.21, 1.44, 1.69], rtol=0.1)


@pytest.mark.parametrize("weight", [0.0, -1, 1.5, math.nan, "1", 1e-9])
def test_weight_refusals(weight):
    for make in (Constant, lambda weight: gv.Labels(["a"], weight=weight)):
        with pytest.raises(InvalidParameter, match="weight must be"):
            make(weight=weight)


@pytest.mark.parametrize("classes", ["ab", [], ["a", "a"], [1.5], [None], 3])
def test_classes_refusals(classes):
    with pytest.raises(InvalidParameter, match="classes must be"):
        gv.Labels(classes)
