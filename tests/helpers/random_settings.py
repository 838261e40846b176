"""Random public settings of a release, from the ordinary to the extreme, each with a small table that fits it."""

import numpy as np
import pandas as pd

import graphveil as gv
from graphveil.exceptions import GraphveilError

EPSILONS = [1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 300.0, 1000.0]
DELTAS = [1e-300, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.9]
BOUNDS = [
    (-4.0, 4.0),
    (0.0, 1.0),
    (1e15, 1e15 + 64),
    (1e9, 1e9 + 1e-5),
    (-(2.0**200), 2.0**200),
    (-(2.0**-199), 2.0**-199),
    (-1e-300, 1.0),
    (1.0, 1.0 + 2.0**-52),
]


def random_setting(rng):
    """A source and the keywords of ``gv.release``; drawn again where a parameter alone is refused already."""
    while True:
        try:
            return _draw(rng)
        except GraphveilError:
            continue


def _draw(rng):
    n = rng.choice([1, 2, 10, 200, 2000])
    table, kinds = {}, {}
    many = rng.random() < 0.05
    plain = rng.random() < 0.3
    for j in range(rng.choice([20, 60]) if many else rng.randint(1, 4)):
        kinds[f"c{j}"], table[f"c{j}"] = _column(rng, n, plain=plain)
    settings, call = {}, {"adaptive": rng.random() < 0.7, "assume_centered": rng.random() < 0.15}
    if rng.random() < 0.35:
        settings["neighbours"] = "add-remove"
    if rng.random() < 0.3:
        settings["person"] = "who"
        table["who"] = _numbers(rng, n).integers(0, max(1, n // rng.choice([1, 3])), n)
        if rng.random() < 0.3:
            settings["variation"], call["adaptive"] = rng.choice(["between", "within"]), True
    elif rng.random() < 0.2:
        settings["rows_per_person"] = rng.choice([2, 1000, 2**30])
    if rng.random() < 0.25:
        settings["weight"] = gv.Weight("w", largest=rng.choice([10, 1e-200, 1e200]))
        table["w"] = _numbers(rng, n).choice([0.0, 1.0, 1e200, np.nan], n)
    if rng.random() < 0.25:
        settings["data_norm"] = rng.choice([1.0, 2.0**200, 2.0**-200, 0.3])
    if rng.random() < 0.15:
        call["by"] = {"arm": ["A", "B"] if rng.random() < 0.7 else [f"g{i}" for i in range(40)]}
        table["arm"] = np.resize(call["by"]["arm"], n)
    if rng.random() < 0.1:  # a norm instead of bounds
        kinds = {name: kind for name, kind in kinds.items() if isinstance(kind, tuple)} or {"c0": (0, 1)}
        table["c0"] = _numbers(rng, n).standard_normal(n) * rng.choice([1.0, 2.0**100, 2.0**-100])
        settings["data_norm"] = rng.choice(["private", "private", 1.0, 2.0**200])
        settings["columns"] = list(kinds)
    else:
        settings["columns"] = kinds
    if rng.random() < 0.05:
        call |= {"labels": gv.Labels([1, 2, 3], column="lab"), "adaptive": False, "assume_centered": False}
        table["lab"] = _numbers(rng, n).integers(0, 5, n)
    elif rng.random() < 0.05:
        call |= {"mechanism": "paper", "adaptive": False, "assume_centered": True, "allow_unproven": rng.random() < 0.5}
    call |= {"domain": gv.Domain(**settings), "budget": gv.Budget(rng.choice(EPSILONS), rng.choice(DELTAS))}
    return pd.DataFrame(table), call


def _column(rng, n, *, plain):
    """A kind, and cells for it."""
    numbers, which = _numbers(rng, n), 0 if plain else rng.randrange(8)
    low, high = rng.choice(BOUNDS) if rng.random() < 0.4 else (-4.0, 4.0)
    cells = low + (high - low) * numbers.random(n)
    missing = rng.choice([False, False, True, [7.0]])
    if rng.random() < 0.1:
        cells[:] = rng.choice([low, high, np.nan, np.inf])
    if which <= 2:
        return (low, high), cells
    if which == 3:
        return gv.Number(low, high, scale=rng.choice(["linear", "log", "sqrt", "rank"]), missing=missing), cells
    if which == 4:
        return gv.Number(low, high, scale="rank"), cells
    if which == 5:
        levels = list(range(rng.choice([2, 3, 200, 1024])))
        scale = rng.choice(["rank", "scores"])
        return gv.Ordinal(levels, scale=scale, missing=missing is True), numbers.choice(levels, n).astype(float)
    levels = [f"L{i}" for i in range(rng.choice([2, 3, 40]))]
    chances = np.arange(1.0, len(levels) + 1.0) ** -rng.choice([0, 8])
    return (
        gv.Category(levels, missing=rng.choice([False, True, "level"])),
        numbers.choice(levels, n, p=chances / chances.sum()),
    )


def _numbers(rng, n):
    return np.random.default_rng(rng.randrange(2**32))
