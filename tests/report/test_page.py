"""What the page says is what the release says: the same numbers as the estimator's, escaped, and nothing else."""

import base64
import json
import re

import numpy as np
import pytest

import graphveil as gv
from graphveil.report.page import report_html
from graphveil.report.privacy_card import max_guess_accuracy, privacy_card
from graphveil.report.report_data import collect_report_data
from helpers.collinear import LOST, collinear_release
from helpers.reports import HOSTILE, payload, small

# Releases here are not seeded: by chance a column may drown, which is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")


def test_the_slider_stops_at_the_estimators_network(insurance):
    model = gv.PrivateGraphicalLasso(1.0, 1e-6).fit_release(insurance)
    data = payload(report_html(insurance))
    i, j, r = data["path"][data["chosen"]]
    weights = model.partial_correlations_
    assert sorted(zip(i, j, strict=True)) == list(zip(*np.nonzero(np.triu(model.precision_, 1)), strict=True))
    assert np.abs(r - weights[i, j]).max() <= 0.5e-4
    counts = [len(first) for first, _, _ in data["path"]]
    assert counts[0] == 0
    gone = -np.minimum(np.diff(counts), 0).sum()  # an edge may leave again as the penalty falls, but few do
    assert gone < 0.2 * max(counts)
    assert max(counts) > counts[data["chosen"]]


def test_intervals_are_the_estimators(insurance):
    found = gv.PrivateGraphicalLasso(1.0, 1e-6).fit_release(insurance).edge_intervals()
    data, pairs = payload(report_html(insurance)), np.triu_indices(10, 1)
    for name in ("estimate", "lower", "upper"):
        assert np.abs(data[name] - getattr(found, name)[pairs]).max() <= 0.5e-4
    assert np.array_equal(data["sure"][: pairs[0].size], found.select()[pairs])


def test_pairs_of_collinear_columns_have_an_estimate_and_no_interval():
    release = collinear_release()
    found, estimate = collect_report_data(release).intervals, gv.recover(release)
    data, pairs = payload(report_html(release)), np.triu_indices(6, 1)
    without = np.isnan(found.estimate[pairs])
    assert without.sum() == len(LOST)
    for name in ("lower", "upper"):
        assert (np.isnan(data[name]) == without).all()
    assert data["estimate"][0] == pytest.approx(estimate.partial_correlations[0, 1], abs=1e-4)
    assert not data["sure"][:15][without].any()


def test_the_page_says_of_skewed_columns_what_notes_say(insurance):
    """It said that their intervals are too narrow, beside notes that intervals account for it."""
    said = " ".join(report_html(insurance).split())
    assert "though not always in full, for what clipping may have removed from very skewed columns" in said
    assert "too narrow if" not in said


def test_the_same_release_gives_the_same_page(insurance, tmp_path):
    gv.write_report(insurance, tmp_path / "a.html")
    insurance.save(tmp_path / "x.release")
    gv.write_report(gv.Release.load(tmp_path / "x.release"), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_names_are_text_and_nothing_else():
    html = report_html(small(len(HOSTILE), columns=HOSTILE))
    assert payload(html)["names"] == HOSTILE
    outside = re.sub(r"<script[ >].*?</script>", "", html, flags=re.DOTALL)
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert "onerror='" not in outside
    assert not any("pwned" in tag for tag in re.findall(r"<[^>]*>", outside)), "names stand between tags only"


def test_nothing_can_be_loaded_or_run_but_what_is_inside(insurance):
    html = report_html(insurance)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html).group(1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b", html)
    assert not re.search(r"\son\w+=|\sstyle=", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))


@pytest.mark.parametrize("p", [1, 2, 3])
def test_few_columns(p):
    data = payload(report_html(small(p)))
    assert len(data["names"]) == p
    assert len(data["estimate"]) == p * (p - 1) // 2


def test_one_round_and_the_papers_mechanism_have_reports():
    rows, budget = np.random.default_rng(0).normal(size=(4000, 4)), gv.Budget(1.0, 1e-6)
    one = gv.release(rows, domain=gv.Domain(bounds=(-4, 4)), budget=budget, adaptive=False)
    papers = gv.release(
        rows, domain=gv.Domain(data_norm=4.0), budget=budget, mechanism="paper", assume_centered=True, adaptive=False
    )
    assert "one answer" in report_html(one)
    assert "Algorithm 1 of Su, Guo and Zhang" in report_html(papers)


def test_only_releases_and_forecasts_are_taken(insurance):
    with pytest.raises(gv.exceptions.InvalidParameter, match="release must be"):
        report_html(np.eye(3))
    with pytest.raises(gv.exceptions.InvalidParameter, match="forecast must be"):
        report_html(insurance, {"n": 1})
    labelled = gv.release(
        (np.zeros((100, 2)), ["a", "b"] * 50),
        domain=gv.Domain(bounds=(-1, 1)),
        budget=gv.Budget(1.0, 1e-6),
        labels=gv.Labels(classes=["a", "b"]),
        adaptive=False,
    )
    with pytest.raises(gv.exceptions.InvalidParameter, match="labels"):
        report_html(labelled)


def test_the_card_says_what_is_promised(insurance):
    card = privacy_card(insurance)
    facts = dict(card.facts)
    assert card.private
    assert card.headline == insurance.guarantee
    assert "however many there are" in facts["Who is protected"]
    assert "all records of one person" in facts["Against what"]
    assert "5,912" in facts["Public facts"]
    assert facts["Seeded"].startswith("No.")
    assert "0.2366" in facts["Other releases"]
    assert "everybody has one id" in facts["What the publisher is responsible for"]
    assert "a family" in facts["What is not guaranteed"]
    assert insurance.checksum in facts["Fingerprint"]
    html = report_html(insurance)
    assert (
        html.index("Privacy card") < html.index("The network") < html.index("The matrix") < html.index("The spectrum")
    )


def test_the_card_says_how_many_records_a_person_may_have():
    domain = gv.Domain(bounds=(-5, 5), rows_per_person=5)
    made = gv.release(np.zeros((500, 2)), domain=domain, budget=gv.Budget(1.0, 1e-6), adaptive=False)
    facts = dict(privacy_card(made).facts)
    assert "more than 5" in facts["Who is protected"]
    assert "more than 5 records" in facts["What the publisher is responsible for"]


def test_guesses_are_bounded_as_in_the_theory(insurance):
    """ε = 1: e/(1 + e) = 73.1%; μ = 0.2367: Φ(0.118) = 54.7%; rounded up."""
    promised, added = max_guess_accuracy(insurance.event)
    assert promised == pytest.approx(np.e / (1 + np.e), abs=1e-6)
    assert added == pytest.approx(0.54711, abs=1e-4)
    meaning = dict(privacy_card(insurance).facts)["What it means"]
    assert "right at most 548 times in 1,000" in meaning
    assert "alone would allow 732" in meaning
    assert "2.72" in meaning


def test_a_seeded_release_and_an_unproven_one_say_so():
    rows = np.random.default_rng(0).normal(size=(2000, 3))
    domain = gv.Domain(data_norm=4.0)
    seeded = gv.release(
        rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0, assume_centered=True, adaptive=False
    )
    html = report_html(seeded)
    assert "Not private" in html
    assert "this is a simulation" in html
    assert not privacy_card(seeded).private
    asked = {"mechanism": "paper", "allow_unproven": True}
    strong = gv.release(
        rows, domain=domain, budget=gv.Budget(8.0, 0.3e-3), **asked, assume_centered=True, adaptive=False
    )
    assert not strong.event.keeps_budget
    meaning = dict(privacy_card(strong).facts)["What it means"]
    assert float(re.search(r"ε = ([\d.]+)", meaning).group(1)) > 8.0


def test_a_release_that_says_nothing_is_shown_as_that(nothing):
    content = collect_report_data(nothing)
    assert content.intervals.reason is not None
    assert content.intervals.smallest_edge is None
    assert not content.sure.any()
    html = report_html(nothing)
    assert "Every edge could be noise" in html
    assert "edges are not reliable" in html
    assert payload(html)["lower"] is None


def test_the_spectrum_knows_the_reach_of_the_noise():
    """Without any structure the noisy eigenvalues of a correlation matrix lie within the edge around 1."""
    rows = np.random.default_rng(1).normal(size=(50_000, 30))
    made = gv.release(rows, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6))
    spectrum = collect_report_data(made).spectrum
    apart = np.abs(spectrum.before - 1.0).max()
    assert 0.6 * spectrum.edge < apart < 1.7 * spectrum.edge + 3.0 * np.sqrt(30 / 50_000)
    assert np.abs(spectrum.after - 1.0).max() < apart


def test_a_forecast_is_compared(insurance, forecast):
    html = report_html(insurance, forecast)
    assert "Compared with the plan" in html
    assert html.count('<svg class="chart"') == 5  # two of centrality, the spectrum, two of the plan
    assert "2,215" in html
    columns = f"<td>{forecast.n_features}</td><td>{len(insurance.column_names)}</td>"
    assert f'<th scope="row">columns</th>{columns}' in html, "a plan is made for columns, not for variables"
    assert "Compared with the plan" not in report_html(insurance)


def test_the_page_is_json_that_cannot_end_its_element(insurance):
    text = re.search(r'id="data">(.*?)</script>', report_html(insurance), re.DOTALL).group(1)
    assert not set("<>&") & set(text)
    assert base64.b64decode(json.loads(text)["estimate"])


def test_the_card_of_several_sites_counts_all_of_them():
    rows, budget = np.random.default_rng(0).normal(size=(6000, 3)), gv.Budget(1.0, 1e-6)
    parts = [
        gv.release(rows[part], domain=gv.Domain(bounds=(-4, 4), rows_per_person=m), budget=budget, adaptive=False)
        for part, m in ((slice(0, 2000), 1), (slice(2000, 6000), 2))
    ]
    facts = dict(privacy_card(gv.merge_releases(parts)).facts)
    one = dict(privacy_card(parts[0]).facts)["What was released"]
    assert int(facts["What was released"].split()[0]) == 2 * int(one.split()[0]) > 0
    assert "2,000 and 4,000" in facts["Public facts"]
    assert "1 or 2 records (depending on the site), at one of the 2 sites" in facts["Who is protected"]
    assert "2 sites, each with its own release and charge" in facts["Mechanism"]
