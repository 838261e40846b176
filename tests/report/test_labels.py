"""Labels and units in place of names; how what was declared is known."""

import json
import re
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.report.page import report_html
from helpers.mixed import KINDS as KINDS_OF_MIXED
from helpers.mixed import mixed_release, mixed_rows

KINDS = {
    "hba1c": gv.Number(3, 20, label="HbA1c", unit="%", source="laboratory manual, p. 12"),
    "mdvis": gv.Number(1, 80, scale="log", label="Visits to a doctor"),
    "sex": gv.Category(["F", "M"]),
}


def made():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"hba1c": rng.normal(6, 1, 3000), "mdvis": rng.exponential(4, 3000) + 1})
    frame["sex"] = rng.choice(["F", "M"], 3000)
    return gv.release(frame, domain=gv.Domain(KINDS), budget=gv.Budget(2.0, 1e-6), random_state=0)


def test_labels_are_shown_and_names_stay_names():
    release = made()
    assert release.column_labels == ("HbA1c (%)", "log(Visits to a doctor)", "sex[M]")
    assert release.column_names == ("hba1c", "log(mdvis)", "sex[M]")
    twice = gv.Domain({"a": gv.Number(0, 1, label="x"), "b": gv.Number(0, 1, label="x")})
    assert twice.codebook.labels == ("a", "b")


def test_the_report_has_labels_and_sources(tmp_path):
    gv.write_report(made(), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "HbA1c (%)" in page
    assert "laboratory manual, p. 12" in page
    assert "with a source for 1 of 3 variables" in page


def test_a_category_is_one_node_of_the_report():
    release = mixed_release()
    html = report_html(release)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["names"] == ["Ward of the patient", "region", "diet", "sex[M]", "bmi", "age"]
    assert data["widths"] == [3, 2, 2, 1, 1, 1]
    assert data["columns"][0] == "Ward of the patient[B]"
    assert "<b>6</b><span>variables</span>" in html
    assert "no sign (dash-dot)" in html
    packed = {name: np.frombuffer(b64decode(text), "<f4") for name, text in data["regressions"].items()}
    coef, tests = packed["coef"].reshape(10, 10), packed["tests"].reshape(10, 6, 2)
    assert np.isnan(coef[0, :3]).all(), "levels of one category do not explain each other"
    table = gv.regression(release, "bmi")
    assert coef[8, :8] == pytest.approx(table.coef[:8], rel=1e-6)
    assert tests[8, :3, 0] == pytest.approx([test.chi2 for test in table.tests], rel=1e-6)
    assert np.isnan(tests[8, 3:]).all()


def test_numbers_alone_say_nothing_of_categories():
    html = report_html(mixed_release(only=("bmi", "age")))
    assert "<li hidden>" in html
    assert '"tests"' not in html


def test_several_groups_have_a_category_as_one_node():
    rows = mixed_rows(6000)
    men = rows["sex"] == "M"
    rows.loc[men & (rows["ward"] == "A") & (rows.index % 2 == 0), "ward"] = "B"
    rows["bmi"] += 10.0 * men
    kinds = {name: kind for name, kind in KINDS_OF_MIXED.items() if name != "sex"}
    kinds["bmi"] = gv.Number(10, 60, label="Body mass index", unit="kg/m²")
    made = gv.release(
        rows,
        domain=gv.Domain(kinds),
        budget=gv.Budget(4.0, 1e-6),
        by={"sex": ["F", "M"]},
        random_state=0,
    )
    html = report_html(made)
    assert "Private networks of 5 variables" in html
    networks = re.findall(r'<svg class="still".*?</svg>', html, re.DOTALL)
    assert all(one.count("<circle") == 5 for one in networks)
    assert 'class="edge joint"' in networks[0]
    found = gv.compare(made["F"], made["M"])
    assert [panel.weights.shape for panel in found.panels] == [(5, 5)] * 3
    assert len(found.partial_correlations.labels) == 5 * 4 // 2
    assert found.differ(found.means)[[found.means.labels.index(name) for name in ("ward", "bmi")]].all()
    rows = re.findall(r'<tr><th scope="row"><small>(.*?)</small> (.*?)</th>(.*?)</tr>', html)
    shown = {(what, of): cells for what, of, cells in rows}
    assert ("mean", "Body mass index (kg/m²)") in shown, "the label, as in the network"
    assert "3 levels together" in shown["mean", "Ward of the patient"]
    assert ("mean of a level", "Ward of the patient[B]") in shown
    assert not any(of in ("bmi", "ward") for _, of in shown)
