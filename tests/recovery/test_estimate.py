"""From a release to an estimate: several rounds, one round, files, flags and hostile columns."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.recovery import adaptive_protocol, estimate
from graphveil.recovery.clipping_radius import choose_radius, norm_edges
from graphveil.spec.queries import CellCounts, ClippedTail, Moments, NormCounts
from graphveil.spec.row_space import RowSpace
from helpers.exact_sums import asked

BUDGET = gv.Budget(1.0, 1e-6)
BOX = gv.Domain(bounds=(-8, 8))


def rows_of(model, p, n, seed=0, shift=0.0):
    theta = gv.simulate.paper_model(model, p, random_state=seed)
    return theta, gv.simulate.gaussian_rows(theta, n, random_state=seed) + shift


def recovered(rows, domain=BOX, budget=BUDGET, augment="mean", adaptive=True, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
        item = gv.release(rows, domain=domain, budget=budget, random_state=seed, **asked(augment), adaptive=adaptive)
        return gv.recover(item), item


def test_several_rounds_beat_one_by_far():
    theta, rows = rows_of(3, 20, 20_000, shift=0.5)
    many, _ = recovered(rows)
    one, _ = recovered(rows, adaptive=False)
    assert gv.metrics.relative_loss(many.precision, theta) < 0.1
    assert gv.metrics.relative_loss(many.precision, theta) < 0.25 * gv.metrics.relative_loss(one.precision, theta)
    np.testing.assert_allclose(many.location, 0.5, atol=0.1)


def test_the_estimate_is_a_pair_of_inverse_matrices():
    _, rows = rows_of(4, 12, 5000)
    for adaptive in (False, True):
        result, _ = recovered(rows, adaptive=adaptive)
        np.testing.assert_allclose(result.precision @ result.covariance, np.eye(12), atol=1e-8)
        np.testing.assert_array_equal(result.precision, result.precision.T)
        assert np.linalg.eigvalsh(result.precision)[0] > 0


def test_a_release_is_not_read_twice_by_the_process_that_made_it(monkeypatch):
    _, rows = rows_of(3, 4, 3_000)
    made = gv.release(rows, domain=BOX, budget=BUDGET, random_state=0)
    other = gv.release(rows, domain=BOX, budget=BUDGET, random_state=1)
    read = gv.recover(made)  # not the last one made here
    monkeypatch.setattr(estimate, "run_protocol", None)
    assert gv.recover(other).covariance.shape == (4, 4)
    with pytest.raises(TypeError):
        gv.recover(made)
    # Other facts or other answers are not what was concluded from.
    with pytest.raises(TypeError):
        gv.recover(replace(other, answers=(replace(other.answers[0]), *other.answers[1:])))
    monkeypatch.undo()
    gv.release(rows, domain=BOX, budget=BUDGET, random_state=0)
    assert np.array_equal(gv.recover(made).covariance, read.covariance)


def test_recovery_from_a_file_is_the_same(tmp_path):
    _, rows = rows_of(3, 6, 5000)
    result, item = recovered(rows)
    item.save(tmp_path / "x.release")
    again = gv.recover(gv.Release.load(tmp_path / "x.release"))
    np.testing.assert_array_equal(again.precision, result.precision)
    np.testing.assert_array_equal(again.location, result.location)


def test_one_event_covers_all_rounds():
    _, rows = rows_of(3, 6, 5000)
    _, item = recovered(rows)
    assert sum(answer.step.mu**2 for answer in item.answers) <= item.event.mu**2
    assert sum(answer.step.mu**2 for answer in item.answers) > 0.99 * item.event.mu**2
    assert sum(answer.step.eta for answer in item.answers) <= item.event.eta
    private = gv.release(rows, domain=BOX, budget=BUDGET)
    assert private.event.keeps_budget
    assert private.event.rounds == "adaptive"


def test_the_released_moment_in_users_units_is_near_the_truth():
    _, rows = rows_of(3, 5, 200_000, shift=1.0)
    for augment in ("mean", None):
        data = rows if augment else rows - 1.0
        _, item = recovered(data, augment=augment, budget=gv.Budget(8.0, 1e-6))
        truth = np.cov(data.T) if augment else data.T @ data / len(data)
        scale = np.sqrt(np.outer(np.diag(truth), np.diag(truth)))
        # Shortening whitened rows costs a few percent of the scale; `recover` corrects for it.
        assert np.abs((item.second_moment - truth) / scale).max() < 0.08
        assert (item.noise_sd / scale).max() < 0.01
        assert item.n_eff > 20_000


def test_a_norm_bound_alone_is_enough():
    theta, rows = rows_of(4, 20, 20_000)
    domain = gv.Domain(data_norm=1.25 * np.sqrt(np.trace(np.linalg.inv(theta))))
    for augment in (None, "mean"):
        result, item = recovered(rows, domain=domain, augment=augment)
        assert gv.metrics.relative_loss(result.precision, theta) < 0.15
        assert sum(isinstance(answer.query, NormCounts) for answer in item.answers) == 3


def test_too_few_rows_for_rounds_means_one_round_and_no_explosion():
    theta, rows = rows_of(1, 30, 60)
    domain = gv.Domain(data_norm=1.25 * np.sqrt(np.trace(np.linalg.inv(theta))))
    for seed in range(20):
        result, item = recovered(rows, domain=domain, augment=None, budget=gv.Budget(0.2, 1e-3), seed=seed)
        assert [type(answer.query) for answer in item.answers] == [Moments]
        assert gv.metrics.relative_loss(result.precision, theta) < 1.0
        assert result.n_eff < 30


def test_careless_bounds_cost_little():
    """All columns 50 times too wide: the radius finds their scale. One 250 times: counts tell where its rows are."""
    theta, rows = rows_of(3, 6, 50_000)
    result, item = recovered(rows, domain=gv.Domain(bounds=(-400, 400)))
    assert not any(isinstance(answer.query, CellCounts) for answer in item.answers)
    assert gv.metrics.relative_loss(result.precision, theta) < 0.1
    high = np.array([2000.0, 8, 8, 8, 8, 8])
    one, item = recovered(rows, domain=gv.Domain(bounds={f"c{k}": (-end, end) for k, end in enumerate(high)}))
    assert any(isinstance(answer.query, CellCounts) for answer in item.answers)
    assert gv.metrics.relative_loss(one.precision, theta) < 0.1


def test_standard_deviations_of_means_variances_and_correlations_hold():
    """Estimates of 30 tables, each from rows of its own: errors are as large as they are said to be."""
    theta = gv.simulate.paper_model(3, 5)
    truth = np.linalg.inv(theta)
    sd = np.sqrt(np.diag(truth))
    pairs = np.triu_indices(5, 1)
    scores = {"location": [], "variance": [], "correlation": []}
    for seed in range(30):
        rows = gv.simulate.gaussian_rows(theta, 5000, random_state=seed)
        found, _ = recovered(rows, domain=gv.Domain(bounds=(-8, 8)), seed=seed)
        scores["location"].append(found.location / found.location_sd)
        scores["variance"].append((np.diag(found.covariance) - sd**2) / found.variance_sd)
        errors = (found.correlation - truth / np.outer(sd, sd))[pairs]
        scores["correlation"].append(errors / found.correlation_sd[pairs])
    for name, values in scores.items():
        assert 0.6 < np.sqrt(np.mean(np.square(values))) < 1.4, name


def test_skewed_columns_do_not_run_away():
    rng = np.random.default_rng(3)
    theta = gv.simulate.paper_model(3, 8)
    rows = gv.simulate.lognormal_rows(theta, 40_000, log_standard_deviation=1.0, random_state=3)
    rows = np.clip(rows, -3, 20) + rng.normal(size=8)
    reference = np.linalg.inv(np.cov(rows.T))
    for seed in range(5):
        result, _ = recovered(rows, domain=gv.Domain(bounds=(-6, 22)), seed=seed)
        assert gv.metrics.relative_loss(result.precision, reference) < 0.5


@pytest.mark.parametrize("kind", ["constant", "binary", "duplicate", "missing", "huge"])
def test_hostile_columns_never_crash(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4))
    rows[:, 0] = {
        "constant": np.full(3000, 2.0),
        "binary": (rng.random(3000) < 0.02).astype(float),
        "duplicate": rows[:, 1],
        "missing": np.full(3000, np.nan),
        "huge": rng.choice([1e300, -1e300], size=3000),
    }[kind]
    for budget in (BUDGET, gv.Budget(0.05, 1e-6), gv.Budget(20.0, 1e-6)):
        result, _ = recovered(rows, budget=budget)
        assert np.isfinite(result.precision).all()
        assert np.linalg.eigvalsh(result.covariance)[0] > 0
        if kind in ("constant", "missing"):
            assert result.undetermined[0]


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("p", [1, 2, 6])
@pytest.mark.parametrize("domain", [BOX, gv.Domain(data_norm=3.0)], ids=["box", "norm"])
def test_tiny_data_sets(n, p, domain):
    rows = np.random.default_rng(0).normal(size=(n, p))
    for augment in (None, "mean"):
        for budget in (BUDGET, gv.Budget(20.0, 1e-6)):
            result, _ = recovered(rows, domain=domain, augment=augment, budget=budget)
            assert np.isfinite(result.precision).all()


def test_the_excess_is_asked_for_where_tails_are_heavy():
    theta = gv.simulate.paper_model(3, 10)
    rows = gv.simulate.student_rows(theta, 100_000, degrees_of_freedom=3, random_state=0)
    result, item = recovered(rows, domain=gv.Domain(bounds=(-60, 60)), budget=gv.Budget(3.0, 1e-6))
    assert any(isinstance(answer.query, ClippedTail) for answer in item.answers)
    reference = np.linalg.inv(np.cov(np.clip(rows, -60, 60).T))
    assert gv.metrics.relative_loss(result.precision, reference) < 0.2


def test_the_radius_keeps_nearly_everything_when_noise_is_small():
    p = 25
    norms = np.sqrt(np.random.default_rng(0).chisquare(p, size=100_000))
    edges = norm_edges(p, 100.0, 1e-6)
    counts = np.histogram(norms, np.concatenate([[0], edges.inner, [np.inf]]))[0].astype(float)
    quiet = choose_radius(counts, 1.0, edges, p, noise=1e-7)
    loud = choose_radius(counts, 1.0, edges, p, noise=1e-3)
    assert quiet.kept > 0.999
    assert quiet.value > loud.value
    exact = np.mean(np.minimum(norms, loud.value) ** 2) / np.mean(norms**2)
    assert loud.kept == pytest.approx(exact, abs=0.005)


def test_a_loss_that_all_columns_share_buys_less_noise(monkeypatch):
    """Rows of t with 5 degrees of freedom, whose last round may cut more, against the same with every loss feared."""
    theta = gv.simulate.paper_model(4, 20, random_state=0)
    spread = np.sqrt(np.diag(np.linalg.inv(theta)))

    def records(seed):
        rows = gv.simulate.student_rows(theta, 10_000, 5, random_state=seed) / spread
        return recovered(rows, gv.Domain(bounds=(-8, 8)), gv.Budget(1.0, 1e-6), seed=seed)[0].n_eff

    trusted = [records(seed) for seed in range(6)]
    monkeypatch.setattr(adaptive_protocol, "PROTOCOL", replace(adaptive_protocol.PROTOCOL, least_feared=1.0))
    assert np.median(trusted) > 1.2 * np.median([records(seed) for seed in range(6)])


def test_what_gaussian_rows_lose_is_known():
    p, rng = 25, np.random.default_rng(0)
    edges = norm_edges(p, 100.0, 1e-6)
    norms = np.sqrt(rng.chisquare(p, size=100_000))
    heavy = norms / np.sqrt(rng.chisquare(5, size=100_000) / 3)
    bins = np.concatenate([[0], edges.inner, [np.inf]])
    gaussian, student = (
        choose_radius(np.histogram(sizes, bins)[0].astype(float), 1.0, edges, p, noise=1e-3) for sizes in (norms, heavy)
    )
    assert gaussian.kept < 0.9
    assert gaussian.gaussian == pytest.approx(gaussian.lost, rel=0.1)
    assert student.gaussian < 0.7 * student.lost
    assert gaussian.typical == pytest.approx(np.median(norms), rel=0.03)
    for radius, sizes in ((gaussian, norms), (student, heavy)):
        exact = np.mean(np.minimum(sizes[:, None], radius.reach) ** 2, axis=0)
        np.testing.assert_allclose(radius.reached, exact / np.mean(sizes**2), atol=0.03)


def test_where_noise_hides_the_norms_all_that_is_lost_counts():
    p, rng = 25, np.random.default_rng(0)
    edges = norm_edges(p, 100.0, 1e-6)
    counts = np.histogram(np.sqrt(rng.chisquare(p, size=100_000)), [0, *edges.inner, np.inf])[0].astype(float)
    clear, hidden = (choose_radius(counts, sd, edges, p, noise=1e-3) for sd in (1.0, 500.0))
    assert clear.value < hidden.value


def test_an_even_loss_may_be_larger_but_not_nearly_everything():
    """Counts of t rows with 5 degrees of freedom and 20 columns, without noise to speak of."""
    rng = np.random.default_rng(0)
    norms = np.sqrt(rng.chisquare(20, 200_000) / rng.chisquare(5, 200_000) * 3.0)
    edges = norm_edges(20, 60.0, 1e-9)
    counts = np.histogram(norms, np.concatenate([[0.0], edges.inner, [np.inf]]))[0] / norms.size
    for noise in (1e-4, 1e-3, 1e-2, 1.0):
        all_feared, even = (choose_radius(counts, 1e-9, edges, 20, noise, feared) for feared in (1.0, 0.3))
        assert even.value <= all_feared.value or even.kept > 0.7 > all_feared.kept
        assert even.kept > 0.7 or even.value == all_feared.value
    assert choose_radius(counts, 1e-9, edges, 20, 3e-3, 0.3).value < choose_radius(counts, 1e-9, edges, 20, 3e-3).value


def test_a_release_of_another_protocol_is_refused():
    """Another radius keeps another share of the moments, which nothing else in the file would show."""
    _, item = recovered(rows_of(3, 5, 5000)[1])
    at = max(k for k, answer in enumerate(item.answers) if isinstance(answer.query, Moments))
    last = item.answers[at]
    query = replace(last.query, radius=1.1 * last.query.radius)
    space = RowSpace.of(item.domain, item.augment, None)
    other = replace(last, query=query, factor=query.unit_factor(space, item.n_samples))  # else it contradicts itself
    for rounds in ((*item.answers[:at], other, *item.answers[at + 1 :]), item.answers[:-1]):
        with pytest.raises(
            gv.exceptions.InvalidParameter, match=r"another version made it \(\d.*Recover it with that version"
        ):
            gv.recover(replace(item, answers=rounds))
    for versions in ({}, item.versions | {"recipe": "4"}):
        with pytest.raises(gv.exceptions.InvalidParameter, match="do not follow the protocol of this version"):
            gv.recover(replace(item, versions=versions))


def test_only_a_release_can_be_recovered():
    with pytest.raises(InvalidParameter, match=r"release must be a gv\.Release, got a ndarray.*gv\.Release\.load"):
        gv.recover(np.eye(3))
    item = gv.release(
        (np.zeros((50, 2)), ["a"] * 50), domain=BOX, budget=BUDGET, labels=gv.Labels(["a"]), adaptive=False
    )
    with pytest.raises(InvalidParameter, match="class counts and class means"):
        gv.recover(item)


def test_variances_are_as_good_as_the_last_round_knows_them():
    """Clean data in careless bounds: what was known of columns beforehand must not spoil what the rounds found."""
    rng = np.random.default_rng(0)
    centre, spread = np.array([52, 75, 130, 1.0]), np.array([14, 15, 17, 0.25])
    domain = gv.Domain(bounds=([18, 30, 70, 0.2], [100, 200, 220, 5]))
    errors = []
    for seed in range(8):
        rows = rng.normal(centre, spread, size=(20_000, 4))
        result, _ = recovered(rows, domain=domain, seed=seed)
        errors.append(np.diag(result.covariance) / rows.var(axis=0) - 1.0)
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < 0.08


def test_too_few_records_are_warned_about_with_a_number():
    item = gv.release(np.zeros((60, 6)), domain=BOX, budget=gv.Budget(0.1, 1e-6))
    with pytest.warns(gv.exceptions.PrivacyWarning, match=r"as good as n_eff = .* for 6 columns.*About [\d,]+ records"):
        result = gv.recover(item)
    assert (np.abs(result.location) <= 8).all(), "a mean of clamped rows lies within the bounds"


def test_an_estimate_shows_itself_shortly_and_knows_its_names():
    _, rows = rows_of(3, 3, 20_000)
    result, _ = recovered(rows, domain=gv.Domain(bounds={"a": (-8, 8), "b": (-8, 8), "c": (-8, 8)}))
    assert result.columns == ("a", "b", "c")
    assert repr(result).startswith("<Estimate: 3 columns, n_eff = ")
    np.testing.assert_allclose(result.partial_correlations, gv.metrics.partial_correlations(result.precision))
    np.testing.assert_allclose(np.diag(result.correlation), 1.0)


FEW_ROWS = [  # model, p, n, ε, bounds in standard deviations
    (3, 20, 2000, 1.0, 12),
    (4, 8, 1000, 1.0, 4),
    (3, 20, 1000, 1.0, 4),
    (4, 20, 500, 1.0, 4),
    (3, 5, 300, 1.0, 4),
    (3, 10, 3000, 0.3, 12),
    (4, 6, 50, 0.1, 4),
]


@pytest.mark.parametrize("cell", FEW_ROWS, ids=str)
def test_few_rows_in_wide_bounds_never_explode(cell):
    """Answering zero scores 1; an inverse of something too small scores anything."""
    model, p, n, epsilon, width = cell
    for seed in range(10):
        theta, rows = rows_of(model, p, n, seed=seed)
        bound = width * np.sqrt(np.diag(np.linalg.inv(theta)))
        found, _ = recovered(rows, domain=gv.Domain(bounds=(-bound, bound)), budget=gv.Budget(epsilon, 1e-6), seed=seed)
        assert gv.metrics.relative_loss(found.precision, theta) < 1.0


def test_rows_that_fill_their_norm_are_flagged():
    theta, rows = rows_of(3, 10, 20_000)
    size = np.sqrt(np.trace(np.linalg.inv(theta)))
    for adaptive in (False, True):
        for factor, flagged in ((0.5, True), (1.25, False), (3.0, False)):
            item = gv.release(
                rows, domain=gv.Domain(data_norm=factor * size), budget=BUDGET, random_state=0, adaptive=adaptive
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = gv.recover(item)
            assert found.saturated == flagged
            assert any("Rows fill data_norm" in str(w.message) for w in caught) == flagged


def test_a_rare_event_keeps_its_variance():
    """Clipping takes all of what it takes from the rare column; its variance known beforehand must count."""
    rng = np.random.default_rng(0)
    ratios = []
    for seed in range(10):
        rows = rng.normal(size=(20_000, 12))
        rows[:, 0] = rng.random(20_000) < 0.01
        low, high = np.full(12, -4.0), np.full(12, 4.0)
        low[0], high[0] = 0.0, 1.0
        found, _ = recovered(rows, domain=gv.Domain(bounds=(low, high)), seed=seed)
        ratios.append(found.covariance[0, 0] / rows[:, 0].var())
    assert 0.7 < np.median(ratios) < 1.5
    assert min(ratios) > 0.45


def test_a_false_alarm_far_out_does_not_upset_the_scale():
    p, sd = 100, 150.0
    norms = np.sqrt(np.random.default_rng(0).chisquare(p, size=100_000))
    edges = norm_edges(p, 1000.0, 1e-3)
    counts = np.histogram(norms, np.concatenate([[0], edges.inner, [np.inf]]))[0].astype(float)
    counts[-3] += 5 * sd  # noise, once in a few million bins; at norm 60 √p it would outweigh everything
    assert choose_radius(counts, sd, edges, p, noise=1e-4).kept > 0.97
    rare = counts.copy()
    rare[np.searchsorted(edges.inner, 5 * np.sqrt(p))] += 20 * sd  # a real tail
    assert choose_radius(rare, sd, edges, p, noise=1e-4).kept < 0.95


def test_pure_noise_is_worth_no_record():
    """The noise of a mean that is drowned passed for spread of the rows: 500 rows at ε = 0.001 were worth up to 60."""
    rows = np.random.default_rng(0).normal(size=(500, 5))
    for seed in range(4):
        drowned = gv.release(rows, domain=gv.Domain(bounds=(-5, 5)), budget=gv.Budget(0.001, 1e-6), random_state=seed)
        assert drowned.n_eff < 1.0


@pytest.mark.parametrize("units", [[200, 200, 200], [-200, -200, -200], [200, 0, -200]])
def test_units_change_nothing_up_to_the_limit_of_bounds(units):
    """Bounds of 2²⁰⁰ and of 2⁻²⁰⁰, together too: fourth powers of them are computed with."""
    rows = np.random.default_rng(0).normal(size=(2000, 3)) @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]] / 8.0
    unit = np.ldexp(1.0, units)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = []
        for factor in (np.ones(3), unit):
            domain = gv.Domain(bounds=(list(-factor), list(factor)))
            release = gv.release(rows * factor, domain=domain, budget=gv.Budget(3.0, 1e-6), random_state=0)
            model = gv.PrivateGraphicalLasso(3.0, 1e-6).fit_release(release)
            assert np.isfinite(model.edge_intervals().lower).all()
            found.append((gv.recover(release), gv.regression(release, outcome=0, on=[1, 2])))
    (plain, fit), (scaled, scaled_fit) = found
    assert np.allclose(scaled.covariance / unit / unit[:, None], plain.covariance, rtol=1e-6)
    assert np.allclose(scaled_fit.standardized, fit.standardized, rtol=1e-6)


def test_no_standard_deviation_is_above_half_the_distance_of_the_bounds():
    """An indicator's is at most a half; with 1,500 records noise made 0.58 of it."""
    for seed in range(8):
        rows = (np.random.default_rng(seed).random((1500, 5)) < 0.5).astype(float)
        domain, budget = gv.Domain(bounds=(0.0, 1.0), columns=list("abcde")), gv.Budget(1.0, 1e-6)
        found = gv.recover(gv.release(rows, domain=domain, budget=budget, random_state=seed))
        assert np.sqrt(np.diag(found.covariance)).max() < 0.501  # what keeps variances positive adds a little
