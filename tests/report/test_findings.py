"""The first paragraph of a report: no link that is not there, none in the wrong direction."""

import re

import numpy as np
import pytest

import graphveil as gv
from graphveil.report.findings import describe_findings, word_for
from graphveil.report.page import report_html
from graphveil.report.report_data import collect_report_data
from helpers.reports import simulated


def findings(release):
    return describe_findings(release, collect_report_data(release))


@pytest.mark.parametrize("seed", range(4))
def test_every_link_that_is_named_exists_and_has_its_direction(seed):
    p = 8
    truth = gv.metrics.partial_correlations(gv.simulate.small_world_precision(p, 2, random_state=seed))
    found = findings(simulated(p, n=20_000, epsilon=1.0, seed=seed))
    assert 1 <= len(found.links) <= 4
    for said, numbers in found.links:
        sign, i, j = re.fullmatch(
            r"the higher variable (\d), the (higher|lower) variable (\d), (?:strong|clear|moderate|weak)ly", said
        ).group(2, 1, 3)
        assert np.sign(truth[int(i), int(j)]) == (1 if sign == "higher" else -1)
        middle, low, high = map(float, re.findall(r"-?[\d.]+", numbers.replace("\N{MINUS SIGN}", "-")))
        assert low <= middle <= high
        assert low * high > 0.0


def test_links_are_ordered_by_what_they_are_at_least():
    found = findings(simulated(8, n=30_000))
    nearer = []
    for _, numbers in found.links:
        _, low, high = (abs(float(x)) for x in re.findall(r"[\d.]+", numbers))
        nearer.append(min(low, high))
    assert nearer == sorted(nearer, reverse=True)


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        (0.5, 0.9, "strongly"),
        (-0.9, -0.49, "clearly"),
        (0.1, 0.3, "moderately"),
        (0.001, 0.3, "weakly"),
        (-0.01, 0.3, "not certain alone"),
        (np.nan, np.nan, "not certain alone"),
    ],
)
def test_a_word_says_what_a_link_is_at_least(lower, upper, word):
    assert word_for(lower, upper) == word


def test_kinds_of_variables_have_sentences_of_their_own():
    generator = np.random.default_rng(3)
    n = 20_000
    sex, ward = generator.integers(0, 2, n), generator.integers(0, 3, n)
    chapter = np.where(generator.random(n) < 0.8, ward, generator.integers(0, 3, n))
    cost = 2.0 * sex - ward + generator.normal(size=n)
    import pandas as pd

    table = pd.DataFrame(
        {"sex": np.array(["F", "M"])[sex], "ward": np.array(["A", "B", "C"])[ward], "cost": cost}
        | {"chapter": np.array(["x", "y", "z"])[chapter]}
    )
    domain = gv.Domain(
        {
            "sex": gv.Category(["F", "M"]),
            "ward": gv.Category(["A", "B", "C"]),
            "cost": (-8, 8),
            "chapter": gv.Category(["x", "y", "z"]),
        }
    )
    made = gv.release(table, domain=domain, budget=gv.Budget(2.0, 1e-6), random_state=1)
    found = findings(made)
    sentences = dict(found.links)
    assert sentences["ward and chapter are strongly related"] == "", "the strength of two categories is a word"
    assert any(re.match("where sex is M, cost is higher, (clearly|strongly)", said) for said in sentences)
    assert found.lead.startswith(
        "This report shows how 4 variables of 20,000 records go together. Nothing here is private"
    )


def test_what_noise_hides_is_not_told():
    rows = np.random.default_rng(0).normal(size=(300, 12))
    made = gv.release(rows, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(0.3, 1e-6))
    found = findings(made)
    assert found.links == ()
    assert "No link can be told from noise." in found.lead
    assert "(ε = 0.3)" in found.lead


def test_the_paragraph_comes_first_and_hostile_names_are_text():
    names = ["<script>alert(1)</script>", "b & c", "x", "y"]
    html = report_html(simulated(4, n=30_000, columns=names))
    assert html.index('id="findings"') < html.index('id="network"')
    assert "<script>alert(1)" not in html
