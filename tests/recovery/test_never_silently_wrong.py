"""What was once wrong without a word, on tables that nobody had tuned for: six kinds, simulated."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

import graphveil as gv

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "judges.py"
RELEASES = 8


@pytest.fixture(scope="module")
def judges():
    spec = importlib.util.spec_from_file_location("judges", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def released(family, n, seed, **estimator):
    """Rows, the estimate and the fitted network of one release at ε = 1."""
    draw, low, high = family
    rows = np.clip(draw(np.random.default_rng([3, seed]), n), low, high)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
        model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(low, high), random_state=seed, **estimator).fit(rows)
        return rows, gv.recover(model.release_), model


def off_by(rows, found):
    """How far standard deviations are off, as a factor of at least 1."""
    ratio = np.sqrt(np.diag(found.covariance) / rows.var(axis=0))
    return np.maximum(ratio, 1.0 / ratio)


def test_a_laboratory_value_in_a_codebooks_bounds_has_the_right_scale(judges):
    """It came out up to 3 times too large in 11 of 12 releases of this table, and nothing said so."""
    for seed in range(RELEASES):
        rows, found, _ = released(judges.clinic(), 5267, seed)
        assert (off_by(rows, found)[~found.undetermined] < 1.2).all()
        assert found.undetermined.sum() <= 1


def test_bounds_that_are_far_too_wide_change_no_question(judges):
    """Twelve and twenty times a codebook's, for one column: it drowned in six releases of eight, and in all of them."""
    for wide in (12.0, 20.0):
        right = 0
        for seed in range(RELEASES):
            rows, found, _ = released(judges.clinic(wide), 5267, seed)
            off = off_by(rows, found)
            assert (off[~found.undetermined] < 1.2).all()
            right += off[4] < 1.2
        assert right >= RELEASES // 2


def test_intervals_of_rare_pairs_cover(judges):
    """Indicators that are 1 in 2 or 3% of the rows: half to four fifths of their pairs used to be covered."""
    family = judges.rare_indicators([0.02, 0.02, 0.03, 0.03, 0.05], 5)
    draw, low, high = family
    many = np.clip(draw(np.random.default_rng(4), 400_000), low, high)
    truth = gv.metrics.partial_correlations(np.linalg.inv(np.cov(many.T)))
    rare = np.triu_indices(5, 1)
    covered = []
    for seed in range(RELEASES):
        intervals = released(family, 9000, seed)[2].edge_intervals()
        covered.append((intervals.lower[rare] <= truth[rare]) & (truth[rare] <= intervals.upper[rare]))
    assert np.mean(covered) > 0.9


def regression_errors(family, n, seeds, coef=None):
    """Errors of a coefficient of the last column on the first two, in standard errors, of releases at ε = 1.

    Beside ``coef``, or least squares on the same records.
    """
    draw, low, high = family
    errors = []
    for seed in seeds:
        rows = np.clip(draw(np.random.default_rng([5, seed]), n), low, high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
            domain, budget = gv.Domain(bounds=(low, high)), gv.Budget(1.0, 1e-6)
            release = gv.release(rows, domain=domain, budget=budget, random_state=seed)
            table = gv.regression(release, outcome=rows.shape[1] - 1, on=[0, 1])
        design = np.column_stack([np.ones(n), rows[:, :2]])
        true = np.linalg.lstsq(design, rows[:, -1], rcond=None)[0][-1] if coef is None else coef
        errors.append((table.coef[-1] - true) / table.std_err[-1])
    return np.array(errors)


def test_coefficients_of_rare_events_are_covered():
    """An event of 3% with a large effect: estimates were too small by 3.6 to 5.4 standard errors; now it is 0.7 to 1.2.

    As roots of mean squares, of three times six releases.
    """

    def draw(rng, n):
        age, event = rng.normal(size=n), rng.random(n) < 0.03
        others = rng.normal(size=(n, 5)) + 0.3 * age[:, None]
        return np.column_stack([age, event, others, 0.8 * age + 1.8 * event + rng.normal(0.0, 0.7, n)])

    bounds = np.array([5.0, 1.0, 6.0, 6.0, 6.0, 6.0, 6.0, 8.0])
    errors = regression_errors((draw, np.where(bounds == 1.0, 0.0, -bounds), bounds), 9000, range(6), 1.8)
    assert np.sqrt(np.mean(errors**2)) < 2.2
    assert np.mean(errors) > -1.7


def test_columns_that_a_rare_event_moves_keep_their_scale():
    """An event of 3% moves two of 17 columns by two standard deviations: their scales were 2.3% too small, three sd."""

    def draw(rng, n):
        event = rng.random(n) < 0.03
        others = rng.normal(size=(n, 17))
        others[:, 1] += 0.3 * others[:, 0]
        others[:, :2] += 2.0 * event[:, None]
        return np.column_stack([event, others])

    low, high = np.array([0.0, *[-6.0] * 17]), np.array([1.0, *[8.0] * 17])
    truth = np.sqrt(np.array([1.0, 1.09]) + 4.0 * 0.03 * 0.97)
    off = []
    for seed in range(RELEASES):
        rows = np.clip(draw(np.random.default_rng([6, seed]), 20_000), low, high)
        domain, budget = gv.Domain(bounds=(low, high)), gv.Budget(1.0, 1e-6)
        found = gv.recover(gv.release(rows, domain=domain, budget=budget, random_state=seed))
        off.append(np.sqrt(np.diag(found.covariance))[1:3] / truth - 1.0)
    assert abs(np.mean(off)) < 0.012


def test_coefficients_of_skewed_columns_are_covered():
    """A lognormal regressor: coefficients were too small by 1.9 to 2.4 standard errors; now it is 0.9 to 1.1."""

    def draw(rng, n):
        age = rng.normal(size=n)
        cost = np.minimum(np.exp(0.7 * (0.6 * age + 0.8 * rng.normal(size=n))), 9.0)
        others = rng.normal(size=(n, 8)) + 0.3 * age[:, None]
        return np.column_stack([age, cost, others, 0.5 * cost + 0.4 * age + rng.normal(0.0, 0.8, n)])

    low, high = np.array([-5.0, 0.0, *[-6.0] * 8, -8.0]), np.array([5.0, 9.0, *[6.0] * 8, 12.0])
    errors = regression_errors((draw, low, high), 20_000, range(6), 0.5)
    assert np.sqrt(np.mean(errors**2)) < 1.7


def test_a_skewed_column_keeps_its_variance(judges):
    """A quarter zeros, skewness 5: it used to be cut to narrower bounds, and had a seventh of its variance."""
    for seed in range(RELEASES):
        rows, found, _ = released(judges.spending(9, 0.25, 1.5), 5574, seed)
        off = off_by(rows, found)
        assert (off[1:] < 1.35).all()
        assert off[0] < 1.35 or found.undetermined[0]
        loss = gv.metrics.relative_loss(found.precision, np.linalg.inv(np.cov(rows.T)))
        assert loss < 1.0


def test_two_columns_of_zeros_do_not_look_more_collinear_than_they_are(judges):
    """Zero in 99% of the rows: they are undetermined, and their interval says that nothing is known of the pair."""
    family = judges.twins_of_zeros(0.01, 0.9, 11)
    for seed in range(RELEASES):
        rows, found, model = released(family, 27_000, seed)
        assert gv.metrics.relative_loss(found.precision, np.linalg.inv(np.cov(rows.T))) < 1.0
        assert found.undetermined[:2].all()
        assert (off_by(rows, found)[2:] < 1.2).all()
        intervals = model.edge_intervals()
        true = gv.metrics.partial_correlations(np.linalg.inv(np.cov(rows.T)))[0, 1]
        assert intervals.reason is not None or intervals.lower[0, 1] <= true <= intervals.upper[0, 1]


def test_columns_that_are_collinear_but_for_few_rows_keep_what_is_between_them(judges):
    """In 2% of 4,200 rows, too few to show among the norms: the error was above 1 in eleven of 16 releases."""
    for wide in (1.0, 4.0):
        for seed in range(RELEASES):
            rows, found, _ = released(judges.collinear_but_for_few(5, 0.99, 0.02, 1.4, wide), 4200, seed)
            assert gv.metrics.relative_loss(found.precision, np.linalg.inv(np.cov(rows.T))) < 1.0


def test_columns_that_add_up_to_one_are_named(judges):
    """Seven wards: it was said that 1,460 records are too few for 14 columns."""
    named = 0
    for seed in range(RELEASES):
        _, found, model = released(judges.clinic(wards=7), 6000, seed)
        reason = model.edge_intervals().reason
        groups = [set(group) for group in found.collinear]
        if reason is not None:
            assert "collinear" in reason
            assert "records a column" not in reason
        named += set(range(7, 14)) in groups
    assert named >= RELEASES - 1


def costs(follows):
    """A cost within bounds 50 standard deviations away, and an outcome that follows it."""

    def draw(rng, n):
        age = rng.normal(size=n)
        cost = np.where(rng.random(n) < 0.4, 0.0, np.exp(6.0 + 0.2 * age + 1.1 * rng.normal(size=n)))
        part = {"a logarithm": 0.3 * np.log1p(cost), "a line": cost / 2500.0, "a step": 0.8 * (cost > 350.0)}[follows]
        others = rng.normal(size=(n, 3)) + 0.3 * age[:, None]
        return np.column_stack([age, cost, others, part + 0.3 * age + rng.normal(size=n)])

    return draw, np.array([-5.0, 0.0, *[-6.0] * 3, -12.0]), np.array([5.0, 50_000.0, *[6.0] * 3, 25.0])


@pytest.mark.parametrize("follows", ["a logarithm", "a line", "a step"])
def test_coefficients_of_a_cost_are_covered_however_the_outcome_follows_it(follows):
    """Of the first and the last kind, two of eight were covered."""
    errors = regression_errors(costs(follows), 20_000, range(6))
    assert (np.abs(errors) < 1.96).all()


def test_a_standard_deviation_that_a_hidden_tail_may_put_off_is_flagged():
    """All eight are too small, by up to a sixth; three were flagged."""
    flagged = []
    for seed in range(RELEASES):
        rows, found, _ = released(costs("a logarithm"), 30_000, seed)
        assert (off_by(rows, found)[~found.undetermined] < 1.2).all()
        assert not np.delete(found.undetermined, 1).any()
        flagged.append(found.undetermined[1])
    assert np.mean(flagged) > 0.5
