"""Cells that hold none of the declared levels: many of them are noticed, from published numbers alone."""

import warnings

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.exceptions import PrivacyWarning
from graphveil.recovery.diagnostics import diagnostics
from graphveil.recovery.estimate import estimate_release
from graphveil.recovery.unknown_levels import unknown_levels

SHARES = {"north": 0.5, "south": 0.3, "east": 0.19, "west": 0.01}


def table(seed, n=6000):
    rng = np.random.default_rng(seed)
    region = rng.choice(list(SHARES), n, p=list(SHARES.values()))
    cost = np.exp(rng.normal(6, 1, n) + (region == "west"))
    visits = rng.integers(1, 4, n)
    return pd.DataFrame(
        {"region": region, "age": rng.normal(50, 12, n), "cost": cost, "id": np.arange(n) // 2, "visits": visits}
    )


def made(levels, seed=0, rows=None, **settings):
    budget, adaptive = settings.pop("budget", gv.Budget(1.0, 1e-6)), settings.pop("adaptive", True)
    kinds = {"region": levels, "age": (0, 110), "cost": (0, 100_000)}
    return gv.release(
        table(seed) if rows is None else rows,
        domain=gv.Domain(kinds, **settings),
        budget=budget,
        adaptive=adaptive,
        random_state=seed,
    )


def found(release):
    return unknown_levels(release, estimate_release(release))


SETTINGS = {
    "plain": {},
    "much noise": {"budget": gv.Budget(0.3, 1e-6)},
    "little noise": {"budget": gv.Budget(8.0, 1e-6)},
    "people": {"person": "id"},
    "weights": {"weight": gv.Weight("visits", largest=3)},
    "secret number": {"neighbours": "add-remove"},
    "one round": {"adaptive": False},
}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("seed", range(5))
def test_levels_that_are_all_declared_are_not_suspected(settings, seed):
    assert found(made(gv.Category(list(SHARES)), seed, **SETTINGS[settings])) == {}


@pytest.mark.parametrize("settings", sorted(set(SETTINGS) - {"much noise"}))
@pytest.mark.parametrize(("right", "wrong"), [("north", "North"), ("south", "Süd")])
def test_a_misspelt_level_is_noticed(settings, right, wrong):
    """Half of the records counted in equal parts for all regions, and nobody was told."""
    levels = gv.Category([wrong if level == right else level for level in SHARES])
    assert found(made(levels, **SETTINGS[settings]))["region"] == pytest.approx(SHARES[right], abs=0.1)


@pytest.mark.filterwarnings("ignore:As far as the release can tell")  # the levels that are left add up to nearly one
def test_it_is_a_warning_that_names_the_column():
    release = made(gv.Category(["North", "south", "east", "west"]))
    with pytest.warns(PrivacyWarning, match=r"none of the declared levels.*: region \(about 5\d%\)"):
        gv.recover(release)
    assert "Is a level misspelt?" in " ".join(diagnostics(release, estimate_release(release)))


def test_two_levels_are_enough_to_see_it():
    rows = table(0).assign(region=np.where(table(0)["region"] == "north", "f", "m"))
    assert found(made(gv.Category(["F", "m"]), rows=rows))["region"] == pytest.approx(0.5, abs=0.05)
    assert found(made(gv.Category(["f", "m"]), rows=rows)) == {}


def test_declared_gaps_and_averages_are_not_misspellings():
    assert found(made(gv.Category(["North", "south", "east", "west"], missing=True))) == {}
    assert found(made(gv.Category(list(SHARES)), person="id", variation="between")) == {}


@pytest.mark.parametrize(("n", "rounds"), [(400, "one"), (6000, "adaptive")])
def test_a_misspelt_class_is_noticed(n, rounds):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3))
    labels = np.where(rows[:, 0] > 0, "high", "low")
    heard = {}
    for classes in (["High", "low"], ["high", "low"]):
        model = gv.PrivateLDA(1.0, 1e-6, classes=classes, bounds=(-5, 5), random_state=0)
        with warnings.catch_warnings(record=True) as caught:  # of few records, too
            warnings.simplefilter("always")
            assert model.fit(rows, labels).release_.event.rounds == rounds
        heard[classes[0]] = " ".join(str(warning.message) for warning in caught)
    assert "label that is none of the classes" in heard["High"]
    assert "label that is none of the classes" not in heard["high"]
