"""Two releases side by side: what differs is found, what does not is not, and what cannot be compared is refused."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import chi2, norm

import graphveil as gv
from graphveil.inference.differences import Differences, add_covariances, calibrate, subtract, subtract_logs
from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.spec.augmentation import Constant
from helpers.mixed import KINDS, mixed_rows
from helpers.nested import hospital, hospital_domain

BUDGET = gv.Budget(2.0, 1e-6)
NAMES = ("age", "bmi", "pressure", "sugar")
DOMAIN = gv.Domain(columns=NAMES, bounds=(-6, 6))
# Chains in which bmi and pressure are associated in one group and not in the other.
APART, JOINED = np.eye(4), np.eye(4)
APART[0, 1] = APART[1, 0] = JOINED[0, 1] = JOINED[1, 0] = -0.4
JOINED[1, 2] = JOINED[2, 1] = -0.3

THREE = ("pressure — sugar", "age — pressure", "age — sugar")


def released(theta, seed, n=8000, shift=0.0, scale=1.0, domain=DOMAIN, **options):
    rows = gv.simulate.gaussian_rows(theta, n, random_state=seed) * scale + shift
    return gv.release(rows, domain=domain, budget=BUDGET, random_state=seed, **options)


@pytest.fixture(scope="module")
def one():
    return released(APART, 0)


@pytest.fixture(scope="module")
def other():
    return released(JOINED, 1, shift=np.array([0.0, 0.0, 0.0, 0.5]), scale=np.array([1.0, 1.0, 1.0, 1.5]))


def test_what_differs_is_found_with_the_right_sign(one, other):
    found = gv.compare(one, other, names=("before", "after"))
    edges = dict(zip(found.partial_correlations.labels, found.differ(found.partial_correlations), strict=True))
    assert [label for label, differs in edges.items() if differs] == ["bmi — pressure"]
    k = found.partial_correlations.labels.index("bmi — pressure")
    assert found.partial_correlations.lower[k] < 0.3 < found.partial_correlations.upper[k]
    means, sds = found.means, found.standard_deviations
    assert found.differ(means)[3]
    assert means.lower[3] < 0.5 < means.upper[3]
    assert found.differ(sds)[3]
    assert sds.lower[3] < 0.5 < sds.upper[3]
    assert means.global_p_value < 1e-6 > sds.global_p_value


def test_exchanging_the_groups_changes_signs_and_nothing_else(one, other):
    there, back = gv.compare(one, other), gv.compare(other, one)
    for a, b in zip(there.kinds, back.kinds, strict=True):
        assert a.difference == pytest.approx(-b.difference)
        assert a.lower == pytest.approx(-b.upper)
        assert a.p_value == pytest.approx(b.p_value)
        assert (a.lower < a.difference).all()
        assert (a.difference < a.upper).all()


def test_numbers_are_those_of_the_estimate_and_the_edge_intervals(one, other):
    found = gv.compare(one, other)
    estimate = gv.recover(one)
    assert found.means.first == pytest.approx(estimate.location)
    assert found.standard_deviations.first == pytest.approx(np.sqrt(np.diag(estimate.covariance)))
    edges = gv.PrivateGraphicalLasso(2.0, 1e-6).fit_release(one).edge_intervals()
    assert found.partial_correlations.first == pytest.approx(edges.estimate[np.triu_indices(4, 1)], abs=0.01)
    half = (np.arctanh(edges.upper[0, 1]) - np.arctanh(edges.lower[0, 1])) / 2
    assert edges.fisher_z_sd[0, 1] == pytest.approx(half / norm.isf(0.025))


@pytest.mark.parametrize("overlap", [False, True])
def test_intervals_agree_with_p_values(one, other, overlap):
    found = gv.compare(one, other, outcome="age", overlap=overlap)
    for kind in (found.means, found.partial_correlations, found.coefficients):
        assert kind.difference == pytest.approx(kind.second - kind.first)
        assert kind.upper - kind.lower == pytest.approx(2 * norm.isf(0.025) * kind.std_err)
        assert kind.p_value == pytest.approx(2 * norm.sf(np.abs(kind.difference) / kind.std_err))


def test_intervals_of_logarithms_are_uneven():
    logs, sds = np.array([0.0, 0.5]), np.array([0.1, 0.2])
    apart = subtract_logs("standard deviation", ("x", "y"), (logs, sds), (logs, sds), level=0.95, overlap=False)
    low, high = np.exp(logs) - np.exp(logs - norm.isf(0.025) * sds), np.exp(logs + norm.isf(0.025) * sds) - np.exp(logs)
    assert apart.upper == pytest.approx(np.hypot(low, high))
    same = subtract_logs("standard deviation", ("x", "y"), (logs, sds), (logs, sds), level=0.95, overlap=True)
    assert same.upper == pytest.approx(low + high)


def test_two_releases_of_one_distribution_rarely_differ(one):
    """Without a difference every p-value is below 5% in one case of twenty; benchmarks/comparison.py has the rates."""
    p_values = []
    for seed in range(4):
        found = gv.compare(released(APART, 100 + seed, n=3000), one)
        p_values += [kind.p_value for kind in found.kinds]
    assert sum(int((values < 0.05).sum()) for values in p_values) <= 9  # of 56: more in 1 of 1,000
    assert min(values.min() for values in p_values) > 1e-5


def test_differences_as_large_as_promised_are_mostly_detected(one):
    """`smallest_difference` is what a single test detects four times out of five."""
    promised = gv.compare(one, released(APART, 1)).smallest_difference
    theta = APART.copy()
    theta[2, 3] = theta[3, 2] = theta[0, 2] = theta[2, 0] = theta[0, 3] = theta[3, 0] = -promised
    found = [gv.compare(one, released(theta, 100 + seed)).partial_correlations for seed in range(3)]
    seen = [kind.p_value[kind.labels.index(pair)] < 0.05 for kind in found for pair in THREE]
    assert sum(seen) >= 4  # fewer of 9 with probability 0.003


def test_summary_frame_and_html_say_the_same(one, other):
    found = gv.compare(one, other, names=("north <1>", "south"))
    frame = found.to_frame()
    assert len(frame) == 6 + 4 + 4
    assert frame["differs"].sum() == sum(int(found.differ(kind).sum()) for kind in found.kinds)
    assert frame["p_value"].is_monotonic_increasing
    text = found.summary()
    assert "south compared with north <1>" in text
    assert "nobody's records are in both" in text
    assert "bmi — pressure" in text
    html = found._repr_html_()
    assert "north &lt;1&gt;" in html
    assert "bmi — pressure" in html
    assert "Comparison of north <1> and south" in repr(found)


def test_a_regression_is_compared_term_by_term(one, other):
    found = gv.compare(one, other, outcome="pressure", on=["bmi", "age"])
    tables = [gv.regression(release, "pressure", ["bmi", "age"]) for release in (one, other)]
    terms = found.coefficients
    assert terms.labels == ("const", "bmi", "age")
    assert terms.first == pytest.approx(tables[0].terms.value)
    assert terms.second == pytest.approx(tables[1].terms.value)
    assert terms.std_err == pytest.approx(np.hypot(tables[0].terms.std_err, tables[1].terms.std_err))
    assert terms.upper - terms.difference == pytest.approx(norm.isf(0.025) * terms.std_err)
    assert terms.p_value == pytest.approx(2 * norm.sf(np.abs(terms.difference) / terms.std_err))
    assert [label for label, differs in zip(terms.labels, found.differ(terms), strict=True) if differs] == ["bmi"]
    assert terms.lower[1] < 0.3 < terms.upper[1]
    text = found.summary()
    assert "1 of 3 coefficients of the regression of pressure differs" in text
    assert all(f"  {label}" in text for label in terms.labels), "all of what was asked for is listed"
    frame = found.to_frame()
    assert frame[frame["what"] == "coefficient"]["of"].iloc[0] == "bmi", "the surest first"
    wider = gv.compare(one, other, outcome="pressure", on=["bmi", "age"], overlap=True).coefficients
    assert wider.std_err == pytest.approx(tables[0].terms.std_err + tables[1].terms.std_err)
    assert gv.compare(one, other).coefficients is None


@pytest.fixture(scope="module")
def wards():
    """Two groups: in the first bmi is larger in ward D, in the second it is in ward B, by as much."""
    first = mixed_rows(8000)
    second = mixed_rows(8000, seed=2)
    second["bmi"] += 1.5 * (second["ward"] == "B") - 1.5 * (second["ward"] == "D")
    domain = gv.Domain(KINDS)
    return [gv.release(rows, domain=domain, budget=gv.Budget(4.0, 1e-6), random_state=0) for rows in (first, second)]


def test_a_category_has_one_place_and_one_test(wards):
    found = gv.compare(*wards, outcome="bmi", on=["age", "ward", "sex"])
    terms, tables = found.coefficients, [gv.regression(made, "bmi", ["age", "ward", "sex"]) for made in wards]
    assert terms.labels == ("const", "age", "ward", "sex[M]")
    assert terms.df.tolist() == [1, 1, 3, 1]
    assert terms.levels.labels == ("ward[B]", "ward[C]", "ward[D]")
    assert terms.levels.owners.tolist() == [2, 2, 2]
    d = (tables[1].coef - tables[0].coef)[1:4]
    a, b = (table.spread.total[2:5, 2:5] for table in tables)
    assert terms.p_value[2] == pytest.approx(chi2.sf(d @ np.linalg.solve(a + b, d), 3), rel=1e-6)
    assert terms.levels.difference == pytest.approx(d)
    assert np.isnan(terms.difference[2])
    assert np.nanmin(terms.q_value) == pytest.approx(4 * np.min(terms.p_value), rel=1e-6), "four tests, not six"
    either = gv.compare(*wards, outcome="bmi", on=["age", "ward", "sex"], overlap=True).coefficients
    assert (either.p_value >= terms.p_value).all()
    assert found.means.labels == tuple(found.variables)
    assert found.standard_deviations.labels == ("bmi", "age"), "shares tell those of levels"
    text = found.summary()
    assert "for 3 coefficients together" in text
    assert "    ward[B]" in text
    frame = found.to_frame()
    assert set(frame["of"][frame["what"] == "coefficient of a level"]) == set(terms.levels.labels)
    assert not frame[frame["what"].str.endswith("of a level")]["differs"].any()


def test_strengths_that_are_alike_do_not_hide_levels_that_differ(wards):
    found = gv.compare(*wards)
    pairs = found.partial_correlations
    k = pairs.labels.index("ward — bmi")
    assert len(pairs.labels) == 6 * 5 // 2
    assert pairs.df[k] == 3
    assert pairs.p_value[k] < 1e-6
    assert found.differ(pairs)[k]
    edges = [gv.PrivateGraphicalLasso(4.0, 1e-6).fit_release(made).edge_intervals() for made in wards]
    assert [pairs.first[k], pairs.second[k]] == pytest.approx([one.estimate[0, 4] for one in edges])
    assert np.isnan(pairs.difference[k]), "the test is of the levels, not of the strengths"
    drawn = found.panels[2].weights
    largest = np.abs(pairs.levels.difference[pairs.levels.owners == k]).max()
    assert drawn[0, 4] == drawn[4, 0] == pytest.approx(largest)
    assert largest > abs(pairs.second[k] - pairs.first[k])


def test_two_covariances_add_up_to_what_no_dependence_exceeds():
    rng = np.random.default_rng(0)
    a, b = (root @ root.T for root in rng.normal(size=(2, 3, 3)))
    most = add_covariances(a, b, overlap=True)
    for turn in (np.eye(3), -np.eye(3), np.linalg.qr(rng.normal(size=(3, 3)))[0]):
        cross = np.linalg.cholesky(a) @ turn @ np.linalg.cholesky(b).T  # as dependent as can be
        assert np.linalg.eigvalsh(most - (a + b - cross - cross.T))[0] > -1e-12
    one = add_covariances(np.array([[4.0]]), np.array([[9.0]]), overlap=True)
    assert one == pytest.approx(np.array([[25.0]])), "as of a single number"


def test_what_has_no_interval_in_a_group_is_compared_without_one():
    first, second, std_err = np.array([1.0, 2.0, 3.0]), np.array([4.0, 2.0, 3.0]), np.array([0.1, np.nan, 0.1])
    found = subtract("coefficient", ("x", "y", "z"), first, second, std_err, 0.9)
    assert np.isnan(found.p_value).tolist() == np.isnan(found.q_value).tolist() == [False, True, False]
    assert found.q_value[0] == pytest.approx(2 * found.p_value[0]), "of the two that are known"
    assert found.global_p_value == found.q_value[0]


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_no_difference_is_invented_between_nested_categories():
    """Sex says nothing of ward and chapter. From two networks, each with a start of its own, p was 9e-13 here."""
    kinds = dict(zip(hospital_domain().codebook.names, hospital_domain().codebook.kinds, strict=True))
    domain, budget = gv.Domain(kinds, person="patient"), gv.Budget(1.0, 1e-6)
    groups = gv.release(hospital(14_000, 10_000), domain=domain, budget=budget, by="sex", random_state=7000)
    found = gv.compare(groups["F"], groups["M"])
    pairs = found.partial_correlations
    k = pairs.labels.index("ward — chapter")
    assert pairs.p_value[k] > 0.01
    assert not found.differ(pairs)[k]
    assert pairs.df[k] < 55, "some levels are too rare to be known in both groups"
    assert "tests of partial correlations leave" in found.summary()
    unknown = np.isnan(pairs.levels.p_value[pairs.levels.owners == k])
    assert pairs.df[k] == np.count_nonzero(~unknown)


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_groups_are_compared_where_no_network_can_be_drawn(one, monkeypatch):
    """Edges of one group may contradict each other: the test needs no network."""
    broad = "Edges that look certain contradict each other."

    def none(noisy, network, *rest):
        nothing = np.full(noisy.matrix.shape, np.nan)
        return EdgeIntervals(nothing, nothing, nothing, nothing, 0.95, broad, NAMES)

    other = released(JOINED, 1)
    expected = gv.compare(one, other).partial_correlations
    monkeypatch.setattr("graphveil.recovery.analysis.edge_intervals", none)
    found = gv.compare(one, other)
    assert found.partial_correlations.p_value == pytest.approx(expected.p_value)
    assert found.networks is None
    assert f"No networks are drawn. {broad}" in found.summary()


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_the_notes_of_a_regression_name_its_group(one):
    rows = gv.simulate.gaussian_rows(APART, 250, random_state=5)
    poor = gv.release(rows, domain=DOMAIN, budget=gv.Budget(0.1, 1e-6), random_state=5)
    found = gv.compare(one, poor, names=("many", "few"), outcome="age")
    assert np.isnan(found.coefficients.p_value).all()
    assert found.coefficients.global_p_value == 1.0
    assert "few: No intervals" in found.summary()
    assert "(no interval)" in found.summary()


def test_networks_and_their_difference_have_one_layout(one, other, monkeypatch):
    found = gv.compare(one, other, names=("a & b", "after"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    tag = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(found.plot().svg)
    titles = [text.text for text in root.iter(f"{tag}text") if text.get("class") == "title"]
    assert titles == ["a & b", "after", "after \N{MINUS SIGN} a & b: 1 pair differs"]
    nodes = [(node.get("cx"), node.get("cy")) for node in root.iter(f"{tag}circle")]
    assert nodes[:4] == nodes[4:8] == nodes[8:]
    assert len(set(nodes)) == 4
    titles = [line.find(f"{tag}title") for line in root.iter(f"{tag}path")]  # lines of the legend have none
    edges = [title.text for title in titles if title is not None]
    assert edges[-1].startswith("bmi — pressure: +0."), "the only pair that differs"
    assert sum(edge.startswith("bmi — pressure") for edge in edges) == 2, "in one group, and in the difference"
    assert sum(edge.startswith("age — bmi") for edge in edges) == 2, "in both groups"


def test_the_same_picture_with_matplotlib(one, other):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = gv.compare(one, other, names=("$before", "after")).plot()
    assert [axes.get_title() for axes in figure.axes][:2] == [r"\$before", "after"]
    figure.canvas.draw()
    matplotlib.pyplot.close(figure)


def test_what_does_not_mean_the_same_is_refused(one):
    wider = released(APART, 3, domain=gv.Domain(columns=NAMES, bounds=(-8, 8)))
    renamed = released(APART, 3, domain=gv.Domain(columns=NAMES[::-1], bounds=(-6, 6)))
    for wrong, field in ((wider, "bounds"), (renamed, "columns")):
        with pytest.raises(gv.exceptions.InvalidParameter, match=f"the {field} of both releases must be the same"):
            gv.compare(one, wrong)
    with pytest.raises(gv.exceptions.InvalidParameter, match="both have released the mean"):
        gv.compare(one, released(APART, 3, assume_centered=True))
    with pytest.raises(gv.exceptions.InvalidParameter, match="b must be a gv"):
        gv.compare(one, "other.release")


def test_the_same_people_twice_are_refused_unless_declared(one, other):
    with pytest.raises(gv.exceptions.InvalidParameter, match="overlap=True"):
        gv.compare(one, one)
    with pytest.raises(gv.exceptions.InvalidParameter, match="different people"):
        gv.compare(one, gv.merge_releases([one, other]))
    found = gv.compare(one, other, overlap=True)
    assert "may be in both" in found.summary()
    assert found.smallest_difference > gv.compare(one, other).smallest_difference


def test_centred_releases_have_no_means_to_compare():
    pair = [released(JOINED, seed, assume_centered=True) for seed in (0, 1)]
    assert all(not isinstance(release.augment, Constant) for release in pair)
    found = gv.compare(*pair)
    assert found.means is None
    assert [kind.what for kind in found.kinds] == ["partial correlation", "standard deviation"]


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_without_intervals_the_reason_is_given():
    rows = np.random.default_rng(0).normal(size=(300, 12))
    domain, budget = gv.Domain(bounds=(-4, 4)), gv.Budget(0.3, 1e-6)
    pair = [gv.release(rows, domain=domain, budget=budget, random_state=seed) for seed in (0, 1)]
    found = gv.compare(*pair)
    assert found.partial_correlations is None
    assert found.smallest_difference is None
    assert found.reason in found.summary()
    with pytest.raises(gv.exceptions.InvalidParameter, match="no networks to draw"):
        found.plot()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"names": ("a",)}, "names must be two names"),
        ({"names": ("a", "a")}, "names must be"),
        ({"level": 1.0}, "level must be"),
        ({"fdr": 0.0}, "fdr must be"),
        ({"overlap": "no"}, "overlap must be"),
        ({"method": "exact"}, "method must be"),
        ({"draws": 3}, "draws must be"),
        ({"on": ["age"]}, "on needs an outcome"),
        ({"outcome": "weight"}, "outcome must be"),
        ({"outcome": "age", "on": ["age"]}, "not the outcome"),
    ],
)
def test_parameters_are_checked(one, other, options, match):
    with pytest.raises(gv.exceptions.InvalidParameter, match=match):
        gv.compare(one, other, **options)


def test_one_column_is_compared_too():
    domain = gv.Domain(columns=["x"], bounds=(-6, 6))
    pair = [
        gv.release(np.random.default_rng(s).normal(s, 1, (3000, 1)), domain=domain, budget=BUDGET, random_state=s)
        for s in (0, 1)
    ]
    found = gv.compare(*pair)
    assert found.differ(found.means).all()
    assert found.partial_correlations.labels == ()
    assert found.smallest_difference is None


def test_errors_are_as_large_as_simulated_ones():
    rng = np.random.default_rng(0)
    ones = np.ones(2)

    def drawn(scale):
        return subtract("mean", ("x", "y"), np.zeros(2), scale * rng.standard_normal(2), ones, 0.95)

    found = subtract("mean", ("x", "y"), np.zeros(2), np.array([3.0, 0.0]), ones, 0.95)
    wider = calibrate(found, [drawn(2.0) for _ in range(2000)])
    assert wider.std_err == pytest.approx([2.0, 2.0], rel=0.1)
    assert wider.upper - wider.difference == pytest.approx(norm.isf(0.025) * wider.std_err)
    assert wider.p_value == pytest.approx(2 * norm.sf(np.abs(found.difference) / wider.std_err))


def test_a_joint_test_follows_its_simulated_statistic():
    """Of a statistic that is twice a χ², half of it is one."""
    rng, df = np.random.default_rng(0), 5

    def with_statistic(value):
        numbers = np.full(1, np.nan)
        p_value = np.array([chi2.sf(value, df)])
        return Differences("mean", ("x",), *(numbers,) * 6, p_value, p_value, np.array([df]))

    wider = calibrate(with_statistic(20.0), [with_statistic(2.0 * rng.chisquare(df)) for _ in range(4000)])
    assert wider.p_value[0] == pytest.approx(chi2.sf(10.0, df), rel=0.15)


def test_a_bootstrap_of_gaussian_records_agrees_with_the_law():
    pair = [released(APART, seed, n=3000, domain=gv.Domain(columns=NAMES, bounds=(-4, 4))) for seed in (0, 1)]
    done = []
    found = gv.compare(*pair, method="bootstrap", draws=20, progress=lambda count, total: done.append((count, total)))
    law = gv.compare(*pair)
    assert done[-1] == (20, 20)
    assert found.draws == 20
    assert "20 drawn pairs" in found.summary()
    for kind, by_law in ((found.partial_correlations, law.partial_correlations), (found.means, law.means)):
        assert kind.difference == pytest.approx(by_law.difference)
        ratios = kind.std_err / by_law.std_err
        assert 0.7 < np.sqrt(np.mean(ratios**2)) < 1.4  # of 80 simulated numbers and more: ±0.08


def test_a_bootstrap_draws_categories_and_what_is_missing(wards):
    found = gv.compare(*wards, method="bootstrap", draws=20)
    law = gv.compare(*wards)
    k = found.partial_correlations.labels.index("ward — bmi")
    assert found.partial_correlations.p_value[k] < 1e-4 > law.partial_correlations.p_value[k]
    assert (np.isnan(found.partial_correlations.p_value) == np.isnan(law.partial_correlations.p_value)).all()


def test_a_bootstrap_refuses_what_it_cannot_draw(one):
    rows = np.c_[np.random.default_rng(0).normal(size=(2000, 2)), np.ones(2000)]
    domain = gv.Domain(columns=("x", "y"), bounds=(-4, 4), weight=gv.Weight("w", largest=2))
    weighted = [
        gv.release(rows[:, :2], weight=rows[:, 2], domain=domain, budget=BUDGET, random_state=seed) for seed in (0, 1)
    ]
    with pytest.raises(gv.exceptions.InvalidParameter, match="does not know survey weights"):
        gv.compare(*weighted, method="bootstrap")
