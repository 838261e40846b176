"""What Python warns of is what the report and the command line say, each once and in the same words."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.exceptions import PrivacyWarning
from graphveil.recovery.diagnostics import diagnostics
from graphveil.recovery.estimate import estimate_release

SCORES = {"math": (-6, 6), "reading": (-6, 6), "total": (-10, 10), "absent": (-6, 6)}


def released(rows, names=SCORES, epsilon=1.0):
    domain = gv.Domain(bounds={name: SCORES[name] for name in names})
    return gv.release(rows, domain=domain, budget=gv.Budget(epsilon, 1e-6), random_state=0)


def scores(n=20_000):
    """A total is the sum of two scores."""
    math, reading, absent = np.random.default_rng(0).normal(size=(3, n))
    return np.c_[math, reading, math + reading, absent]


def heard(function):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = function()
    return result, [str(one.message) for one in said if issubclass(one.category, PrivacyWarning)]


@pytest.mark.parametrize(("p", "epsilon"), [(33, 1.0), (60, 0.5)])
def test_the_records_that_are_said_to_be_needed_are_needed(p, epsilon):
    """From one record on: it said 9, then with 9 records 73, and so on."""
    rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p), 10_000, random_state=0)
    asked = {"domain": gv.Domain(bounds=(-5, 5)), "budget": gv.Budget(epsilon, 1e-6), "random_state": 0}

    def needed(n):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gv.recover(gv.release(rows[:n], **asked))
        found = [re.search(r"About ([\d,]+) records, or a larger ε, are needed", str(each.message)) for each in caught]
        return [int(match[1].replace(",", "")) for match in found if match]

    (enough,) = needed(1)
    assert needed(enough) == []
    (still,) = needed(int(0.8 * enough))
    assert still == pytest.approx(enough, rel=0.15)


def test_collinear_columns_are_warned_of_once():
    release = released(scores())
    estimate, said = heard(lambda: gv.recover(release))
    assert estimate.collinear == ((0, 1, 2),)
    assert said == [
        "As far as the release can tell, these columns are collinear. Do not interpret partial correlations among "
        "them: math, reading, total. Leave at least one out."
    ]
    assert said == diagnostics(release, estimate)
    for model in (gv.PrivatePrecision, gv.PrivateRidgePrecision, gv.PrivateGraphicalLasso):
        assert heard(lambda model=model: model(1.0, 1e-6).fit_release(release))[1] == said


def test_directions_within_the_noise_are_warned_of_once():
    math, _, _, absent = scores(4000).T
    release = released(np.c_[math, 0.9999 * math + 0.014 * absent, absent], ("math", "reading", "absent"), 0.2)
    estimate, said = heard(lambda: gv.recover(release))
    assert estimate.unresolved
    assert sum("Some directions lie within the noise" in text for text in said) == 1
    assert set(said) <= set(diagnostics(release, estimate))


def test_a_regression_is_warned_of_nothing_that_its_notes_say():
    """Nobody who left a column out is told to leave one out."""
    release = released(scores())
    fitted, said = heard(lambda: gv.regression(release, "absent", ["math", "reading"]))
    assert np.isfinite(fitted.std_err).all()
    assert said == []
    fitted, said = heard(lambda: gv.regression(release, "absent"))
    assert "collinear" in fitted.notes[-1]
    assert said == []


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_table_without_fault_gives_no_warning(epsilon):
    math, reading, _, absent = scores().T
    release = released(np.c_[math, reading, absent - 0.5 * math], ("math", "reading", "absent"), epsilon)
    assert heard(lambda: gv.recover(release))[1] == []


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"x": (-6, 6)}, ": x. Is it constant, or text in a CSV file? Narrower public bounds would help, or taking"),
        ({"x": (0, 1)}, ": x. Is it constant? Ones or zeros may be too rare for ε = 1 and 3,000 records."),
        (
            {"x": gv.Category([1, 0])},
            ": x[0]. Is it constant? Ones or zeros may be too rare for ε = 1 and 3,000 records.",
        ),
    ],
)
def test_what_hides_a_column_is_asked_in_words_that_fit_it(kinds, words):
    """Narrower bounds or logarithms are no help for an indicator, and an array is not a CSV file."""
    table = pd.DataFrame({"y": np.random.default_rng(0).normal(size=3000), "x": np.ones(3000)})
    domain = gv.Domain({"y": (-6, 6)} | kinds)
    made = gv.release(table, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    (said,) = heard(lambda: gv.recover(made))[1]
    assert words in said
    assert said in diagnostics(made, estimate_release(made))


def test_columns_of_both_sorts_are_told_apart():
    rows = np.column_stack([np.random.default_rng(0).normal(size=3000), np.ones((3000, 2))])
    domain = gv.Domain(bounds=([-6, 0, -6], [6, 1, 6]))
    made = gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    (said,) = heard(lambda: gv.recover(made))[1]
    assert ": x1, x2. Are they constant? Narrower public bounds would help" in said
    assert "Ones or zeros in x1 may be too rare" in said
    table, _ = heard(lambda: gv.regression(made, "x1", ["x0"]))
    assert "is within its noise. Ones or zeros may be too rare for ε = 1 and 3,000 records." in table.notes[0]


def test_tails_that_bounds_allow_and_noise_hides_are_said_before_anything_is_read():
    """0.3% of the rows, 17 standard deviations away: the scale was a fifth too small without a word in the report."""
    rows = np.random.default_rng(0).normal(size=(8000, 3))
    made = gv.release(
        rows, domain=gv.Domain(bounds=([-20, -4, -4], [20, 4, 4])), budget=gv.Budget(1.0, 1e-6), random_state=0
    )
    (said,) = diagnostics(made, gv.recover(made))
    assert said.startswith("The bounds of these columns allow long tails that the release cannot see.")
    assert ": x0. Narrower public bounds would help" in said
