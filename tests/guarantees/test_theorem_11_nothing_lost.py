"""Theorem 11: whatever the public settings, a release is made, or refused before the charge; and can be used then."""

import random
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil import strategies
from graphveil.exceptions import GraphveilError, InvalidParameter, LedgerWarning, PrivacyWarning
from helpers.random_settings import random_setting

ROWS = pd.DataFrame({"x": np.linspace(-3.0, 3.0, 2000), "w": 1.0, "who": np.arange(2000)})
CODES = ROWS.assign(c=np.arange(2000) % 40)


class Recording:
    """A ledger that only counts charges."""

    def __init__(self):
        self.charges = 0

    def charge(self, dataset, event):
        self.charges += 1


def release(source, call):
    """The release, or None where it is refused; it must be refused before the charge."""
    ledger = Recording()
    try:
        return gv.release(source, **call, ledger=ledger, dataset="d")
    except GraphveilError:
        assert ledger.charges == 0, call
        return None


def watch_plans(monkeypatch):
    """Compare every question that is asked with what was planned for it before the charge."""
    ask = strategies.Strategy._ask

    def watched(self, asked):
        answers = ask(self, asked)
        planned = strategies.planned_steps(self._options, self._rows.domain_at_first)
        for answer in answers:
            numbers, share = sum(group.count for group in answer.step.groups), (answer.step.mu / self._plan.mu) ** 2
            assert any(step.numbers >= numbers and step.share * strategies._NEARLY <= share for step in planned), (
                answer.query,
                share,
                planned,
            )
        return answers

    init = strategies.Strategy.__init__

    def remembers(self, rows, options, plan):
        rows.domain_at_first = rows.domain
        init(self, rows, options, plan)

    monkeypatch.setattr(strategies.Strategy, "__init__", remembers)
    monkeypatch.setattr(strategies.Strategy, "_ask", watched)


def use(made, path, *, report):
    """Everything that can be computed from a release for free."""
    made.save(path)
    again = gv.Release.load(path)
    path.unlink()
    if again.event.rounds == "one" and isinstance(again.augment, gv.Labels):
        return
    estimate = gv.recover(again)
    assert np.isfinite(estimate.covariance).all()
    assert repr(again)
    assert repr(estimate)
    if again.domain.columns is not None and len(estimate.covariance) > 1:
        with suppress(InvalidParameter):  # what the first column is, or all others are, may not be explained
            repr(gv.regression(again, again.domain.columns[0]))
    if report:
        page = path.with_suffix(".html")
        gv.write_report(again, page)
        page.unlink()


def search(cases, monkeypatch, folder, *, used):
    watch_plans(monkeypatch)
    released = 0
    for case in cases:
        source, call = random_setting(random.Random(case))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (PrivacyWarning, LedgerWarning):
                warnings.simplefilter("ignore", kind)
            try:
                made = release(source, call)
                released += made is not None
                if made is not None and case % used == 0:
                    for number, part in enumerate(getattr(made, "parts", [made])[:3]):
                        use(part, folder / f"{case}-{number}.release", report=case % 10 == 0)
            except Exception as error:
                error.add_note(f"random_setting(random.Random({case}))")
                raise
    return released


def test_some_settings_are_released_and_used_or_refused_before_the_charge(monkeypatch, tmp_path):
    assert search(range(120), monkeypatch, tmp_path, used=4) > 25


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(8))
def test_thirty_two_thousand_settings_are_released_or_refused_before_the_charge(part, monkeypatch, tmp_path):
    assert search(range(1000 + 4000 * part, 1000 + 4000 * (part + 1)), monkeypatch, tmp_path, used=8) > 800


EXTREME = {
    "a count before the only round": (
        ROWS[["x"]],
        gv.Budget(0.1, 1e-30),
        {"domain": gv.Domain({"x": (-4, 4)}, neighbours="add-remove"), "adaptive": False},
    ),
    "people who could be too many": (
        ROWS[["x", "who"]],
        gv.Budget(30, 1e-12),
        {"domain": gv.Domain({"x": (-4, 4)}, neighbours="add-remove", person="who"), "adaptive": False},
    ),
    "shares of later rounds": (
        CODES[["x", "w", "c"]],
        gv.Budget(1e-6, 1e-12),
        {"domain": gv.Domain({"x": (-4, 4), "c": gv.Category(range(40))}, weight=gv.Weight("w", largest=10))},
    ),
    "the second of two groups, with too few records for a norm": (
        ROWS[["x"]].assign(arm=np.where(ROWS.who < 1990, "A", "B")),
        gv.Budget(8, 1e-6),
        {"domain": gv.Domain(columns=["x"], data_norm="private"), "by": {"arm": ["A", "B"]}},
    ),
}


@pytest.mark.parametrize("name", EXTREME)
def test_what_cannot_be_kept_is_refused_before_the_charge(name):
    source, budget, call = EXTREME[name]
    assert release(source, call | {"budget": budget}) is None


@pytest.mark.parametrize(("low", "high"), [(1e15, 1e15 + 64), (-1.0 - 2.0**-41, -1.0), (-(2.0**20) - 1e-9, -(2.0**20))])
def test_bounds_with_too_few_floats_to_count_ranks_in_are_refused(low, high):
    with pytest.raises(GraphveilError, match=r"further apart .* Subtract a public number first"):
        gv.Number(low, high, scale="rank")
    assert gv.Number(low, high).high == high
    assert gv.Number(0, high - low, scale="rank").high == high - low


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("bounds", [{"x": (-(2.0**200), 2.0**200)}, {"x": (0, 2.0**-199)}])
def test_a_norm_and_bounds_are_not_both_extreme(bounds, adaptive):
    norm = 1e9 if bounds["x"][1] > 1.0 else 1e-9
    with pytest.raises(GraphveilError, match="data_norm must be closer to 1 with these bounds"):
        gv.Domain(bounds, data_norm=norm)
    assert release(
        ROWS[["x"]], {"domain": gv.Domain(bounds, data_norm=1.0), "budget": gv.Budget(1, 1e-6), "adaptive": adaptive}
    )
