"""The releases that every source must reproduce to the last bit: together they ask every kind of question."""

from dataclasses import replace

import numpy as np
import pandas as pd

import graphveil as gv
from graphveil.spec.queries import (
    CellCounts,
    ClippedTail,
    ColumnMeans,
    ColumnSquares,
    Moments,
    NormCounts,
    ObservedPairs,
    TotalWeight,
)

NAMES = ["age", "income", "x y", "d"]
RNG = np.random.default_rng(7)
ROWS = RNG.standard_t(3.0, size=(3000, 4)) @ np.array([[1, 0.5, 0, 0], [0, 1, 0, 0.2], [0, 0, 1, 0], [0, 0, 0, 0.01]])
ROWS[::97, 2] = np.nan
FRAME = pd.DataFrame(ROWS, columns=NAMES).assign(text="t", label=np.where(ROWS[:, 0] > 0, "up", "down"))
FRAME = FRAME.astype({"text": "string", "label": "string"})  # pandas 2 would make objects of "str"

# 900 people with up to ten rows, and some rows of nobody, whose ids are missing, empty, or too long to be one.
PERSON = [f"person {number:x}" for number in RNG.integers(0, 900, 3000)]
PERSON = [[None, "", "x" * 300][i % 3] if i % 41 == 0 else name for i, name in enumerate(PERSON)]
FRAME = FRAME.assign(person=pd.array(PERSON, dtype="string"), number=RNG.integers(-400, 400, 3000))

WEIGHTS = RNG.lognormal(size=3000)
WEIGHTS[::13] = RNG.choice([np.nan, -1.0, 0.0, np.inf, 1e300], size=WEIGHTS[::13].size)
FRAME = FRAME.assign(w=WEIGHTS)

MAYBE = gv.Number(-40, 40, missing=True)
# Seeded, so that the same exact sums give the same file and other ones do not.
CALLS = {
    "adaptive": {
        # One column is lost in its bounds, so that its cells are counted.
        "domain": gv.Domain(columns=NAMES, bounds=([-40, -40, -4000, -40], [40, 40, 4000, 40])),
        "budget": gv.Budget(2.0, 1e-6),  # at which rounds ask for what clipping cut off
        "random_state": 1,
    },
    "a private norm": {
        "domain": gv.Domain(columns=NAMES, data_norm="private"),
        "budget": gv.Budget(2.0, 1e-6),  # at which rounds ask for what clipping cut off
        "random_state": 2,
    },
    "missing values": {
        "domain": gv.Domain(
            {"age": (-40, 40), "income": gv.Number(-40, 40, missing=[-1.25]), "x y": MAYBE, "d": MAYBE}
        ),
        "budget": gv.Budget(2.0, 1e-6),
        "random_state": 4,
    },
    "labels": {
        "domain": gv.Domain(columns=NAMES, bounds=(-9, 9), data_norm=1.5),
        "budget": gv.Budget(1.0, 1e-6),
        "labels": gv.Labels(["down", "up", "gone"], column="label"),
        "adaptive": False,
        "random_state": 3,
    },
}
BY_PERSON = {
    name: CALLS["adaptive"] | {"domain": replace(CALLS["adaptive"]["domain"], person=person, variation=variation)}
    for name, person, variation in [
        ("total", "person", "total"),
        ("between", "person", "between"),
        ("within", "person", "within"),
        ("total, by number", "number", "total"),
    ]
}
BY_PERSON["one round"] = BY_PERSON["total"] | {"adaptive": False}
# Calls that need a column of weights.
WEIGHED = {
    name: CALLS["missing values"]
    | {"domain": replace(CALLS["missing values"]["domain"], person=person, weight=gv.Weight("w", largest=3.0))}
    for name, person in [("weighted rows", None), ("weighted people", "person")]
}
WEIGHED["weighted rows, one round"] = CALLS["adaptive"] | {
    "domain": replace(CALLS["adaptive"]["domain"], weight=gv.Weight("w", largest=3.0)),
    "adaptive": False,
}
EVERY_CALL = CALLS | BY_PERSON | WEIGHED
EXPECTED = {name: gv.release(FRAME, **options) for name, options in EVERY_CALL.items()}
ASKED = {type(answer.query) for made in EXPECTED.values() for answer in made.answers}
EVERY_KIND = {CellCounts, ColumnMeans, ColumnSquares, ClippedTail, Moments, NormCounts, ObservedPairs, TotalWeight}


def assert_same_bits(source, calls=CALLS):
    """Whatever is asked, the file of the release is the same."""
    for name in calls:
        assert gv.release(source, **EVERY_CALL[name]) == EXPECTED[name], name


class Ledger:
    """Remembers what was charged."""

    def __init__(self):
        self.charged = []

    def charge(self, dataset, event):
        self.charged.append(event)
