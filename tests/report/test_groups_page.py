"""The report of several groups: each group's numbers, one layout, and the differences that `gv.compare` finds."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import graphveil as gv
from graphveil.report.page import report_html
from graphveil.report.privacy_card import privacy_card
from helpers.reports import HOSTILE

BUDGET = gv.Budget(2.0, 1e-6)
NAMES = ["age", "bmi", "sugar <1>"]


def released(levels, columns=NAMES, n=3000, budget=BUDGET):
    """Groups of the same network, whose last variable has means that are one apart."""
    theta = np.eye(len(columns))
    theta[0, 1] = theta[1, 0] = -0.4
    rows = gv.simulate.gaussian_rows(theta, n * len(levels), random_state=1)
    codes = np.repeat(np.arange(len(levels)), n)
    rows[:, -1] += codes
    domain = gv.Domain(columns=columns, bounds=(-6, 8))
    source = (rows, np.array(levels, dtype=object)[codes])
    return gv.release(source, domain=domain, budget=budget, by={"arm": levels}, random_state=2)


@pytest.fixture(scope="module")
def groups():
    return released(["A", "B & C"])


@pytest.fixture(scope="module")
def html(groups):
    return report_html(groups, title="<i>")


def drawings(html):
    svg = re.findall(r'<svg class="still".*?</svg>', html, re.DOTALL)
    return [ElementTree.fromstring(text) for text in svg]


def test_each_group_has_its_numbers_and_its_network(html):
    assert html.count('<section class="strip"') == 2
    assert "<h2>arm = B &amp; C</h2>" in html
    assert html.count("<b>3,000</b>") == 2
    drawn = drawings(html)
    assert len(drawn) == 3, "both groups and their difference"
    places = [[(node.get("cx"), node.get("cy")) for node in one.iter("circle")] for one in drawn]
    assert places[0] == places[1] == places[2]
    for one in drawn[:2]:
        assert "age — bmi" in {line.find("title").text.partition(":")[0] for line in one.iter("path")}
    assert not any(text.startswith("age — bmi") for text in drawn[2].itertext()), "which is the same in both"


def test_what_differs_is_what_compare_finds(groups, html):
    found = gv.compare(groups["A"], groups["B & C"])
    rows = re.findall(r'<tr><th scope="row"><small>(.*?)</small> (.*?)</th>', html)
    expected = {(kind.what, kind.labels[k]) for kind in found.kinds for k in np.flatnonzero(found.differ(kind))}
    assert len(rows) == len(expected)
    assert set(rows) == {(what, label.replace("<", "&lt;").replace(">", "&gt;")) for what, label in expected}
    assert rows[0] == ("mean", "sugar &lt;1&gt;"), "the surest first"


def test_the_card_is_of_all_groups_together(groups):
    card = dict(privacy_card(groups).facts)
    assert "who belongs to the group arm = A or arm = B &" in card["Public facts"]
    assert "3,000 and 3,000" in card["Public facts"]
    assert groups.checksum in card["Fingerprint"]
    assert "of the same group" in card["Against what"]


def test_all_pairs_of_three_groups_are_compared_and_one_is_unfolded():
    html = report_html(released([1, 2, 3], n=2000))
    assert re.findall(r'<details class="pair-of-groups"( open)?><summary>(.*?):', html) == [
        (" open", "2 compared with 1"),
        ("", "3 compared with 1"),
        ("", "3 compared with 2"),
    ]
    assert len(drawings(html)) == 6


def test_the_page_holds_no_script_and_loads_nothing(html):
    assert "<script" not in html
    assert "&lt;i&gt;" in html
    assert "default-src 'none'" in html
    assert not re.search(r"https?://|\son\w+=|\sstyle=|<(link|img|iframe|object|embed|base|form)\b", html)


def test_names_are_text_and_nothing_else():
    html = report_html(released(["<b onload=x>", "y"], columns=HOSTILE, n=800))
    assert not any("pwned" in tag or "onload" in tag for tag in re.findall(r"<[a-z][^>]*>", html))
    assert len(drawings(html)) == 3


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_groups_without_intervals_say_why():
    html = report_html(released(["A", "B"], columns=[f"x{k}" for k in range(8)], n=200, budget=gv.Budget(0.2, 1e-6)))
    assert "No partial correlations are compared" in html
    assert "Every edge could be noise" in html


def test_a_forecast_is_of_one_release(groups, forecast):
    with pytest.raises(gv.exceptions.InvalidParameter, match="one release"):
        report_html(groups, forecast)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen(html, visit, width):
    page = visit(html, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for table in page.query_selector_all(".scroll"):
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth"), "nothing is cut off"
