"""Labels and units in place of names; how what was declared is known."""

import numpy as np
import pandas as pd

import graphveil as gv

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
    assert "1 of 3 variables say how they are known" in page
