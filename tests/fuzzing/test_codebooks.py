"""Random codebooks, random columns and damaged descriptions: a row, a domain or a sentence, and never a value in it.

200 codebooks and 900 damaged files run every time, always the same; ``make nightly`` runs 10,000 codebooks and 60,000
files that were never tried before. A failure names its case: ``numbered(case, 1)`` repeats it.
"""

import json
import os
import sys
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import graphveil as gv
from graphveil.exceptions import GraphveilError, InvalidParameter
from graphveil.rows.encoding import Encoder
from graphveil.spec.augmentation import Constant
from helpers.exact_sums import everything_said, exact_total
from helpers.mutations import mutated_bytes, mutated_json, numbered

BUDGET = gv.Budget(3.0, 1e-6)
CANARY = 271828.25
SAID = ("271828", "2.71828", "canary")
ROWS = 12
NAMES = ["a", "b c", "größe", "x[1]", "log(x)", "1", "=1+1", "x" * 300, "名"]
WORDS = ["F", "M", "never", " often", "always ", "ä", "0", "nan", "true", "1,5", "🂡", "x" * 90]
EXTREMES = [0.0, -0.0, 1.0, 2.0, 3.0, 999.0, -9.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan, CANARY]


def random_kind(rng):
    """Any kind that can be declared."""
    missing = rng.random() < 0.4
    said = {"label": rng.choice(WORDS)} if rng.random() < 0.3 else {}
    which = rng.randrange(5)
    if which == 0:
        low = rng.choice([-(2.0**200), -5.0, 0.0, 3, 1e9])
        return low, low + abs(low) + rng.choice([1, 7.5, 1e6])
    if which == 1:
        scale = rng.choice(["linear", "log", "sqrt"])
        low = rng.choice([2.0**-188, 0.5, 3, 1e9])
        codes = rng.choice([missing, [999], [-9, 0.1], [CANARY]])
        high = low * rng.choice([1.001, 2, 1e6])
        return gv.Number(low, high, missing=codes, scale=scale, integer=rng.random() < 0.5, **said)
    text = rng.sample(WORDS, rng.randrange(2, len(WORDS)))
    numbers = sorted(rng.sample([-9, 0, 1, 2, 2.5, 3, 7, 999, 2**53], rng.randrange(2, 9)))
    levels = rng.choice([text, numbers, [False, True], range(rng.randrange(2, 60))])
    if which == 2:
        return gv.Ordinal(levels, missing=missing, **said)
    return gv.Category(levels, missing=rng.choice([missing, "level"]), **said)


def random_column(rng, kind):
    """Cells of one of the types that tables have, most often one that can hold this kind."""
    levels = [*getattr(kind, "levels", [])]
    text = [*WORDS, "canary", "", None, *(level for level in levels if isinstance(level, str))]
    numbers = [*EXTREMES, *(float(level) for level in levels if not isinstance(level, str))]
    makers = [
        lambda: np.array(rng.choices(numbers, k=ROWS)),
        lambda: np.clip(rng.choices(numbers, k=ROWS), -3e38, 3e38).astype(np.float32),
        lambda: np.array(rng.choices([0, 1, 2**63 - 1, -(2**63), 271828], k=ROWS)),
        lambda: np.array(rng.choices([0, 1, 2**64 - 1], k=ROWS), dtype=np.uint64),
        lambda: np.array(rng.choices([True, False], k=ROWS)),
        lambda: pd.array(rng.choices([0, 1, 271828, None], k=ROWS), dtype="Int64"),
        lambda: pd.array(rng.choices([True, False, None], k=ROWS), dtype="boolean"),
        lambda: pd.array(rng.choices(text, k=ROWS), dtype="string"),
        lambda: pd.Series(rng.choices(text, k=ROWS), dtype="category"),
        lambda: pd.Series(rng.choices(numbers, k=ROWS)).astype("category"),
        lambda: pd.Series(rng.choices(text, k=ROWS), dtype=object),
        lambda: pd.Series(rng.choices([*text, *numbers, b"canary", Decimal("2.71828"), {}], k=ROWS), dtype=object),
        lambda: pd.Series([datetime(2026, 1, 1, tzinfo=UTC)] * ROWS),
        lambda: pd.Series([[CANARY]] * ROWS, dtype=object),
        lambda: pd.Series([None] * ROWS, dtype=object),
    ]
    fitting = makers[7:9] if getattr(kind, "is_text", False) else makers[:2]
    return rng.choice(fitting if rng.random() < 0.7 else makers)()


def as_source(rng, frame, folder):
    """One of the forms in which a table can be given; some cannot hold some columns."""
    make = rng.choice(
        [
            lambda: frame,
            lambda: [frame[:5], frame[5:]],
            lambda: pl.from_pandas(frame),
            lambda: pa.Table.from_pandas(frame),
            lambda: _written(frame, folder / "rows.csv"),
        ]
    )
    try:
        return make()
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
        return frame


def _written(frame, path):
    frame.to_csv(path, index=False)
    return path


def attempt(action, allowed, case):
    """What comes of it, or the sentence that refuses it."""
    try:
        return action(), None
    except allowed as error:
        return None, error
    except Exception as error:
        raise AssertionError(f"case {case}: {type(error).__name__}: {error}") from error


def codebook_cases(start, count, folder):
    """Sum rows of random columns by random codebooks; how many could be summed, and how many were released."""
    summed = released = 0
    for case, rng in numbered(start, count):
        names = rng.sample(NAMES, rng.randrange(1, 6))
        kinds = {name: random_kind(rng) for name in names}
        domain, refused = attempt(lambda kinds=kinds: gv.Domain(kinds), InvalidParameter, case)
        if domain is None:
            assert "distinct" in str(refused), case  # the names of two columns of numbers can meet
            continue
        source = as_source(rng, pd.DataFrame({name: random_column(rng, kinds[name]) for name in names}), folder)
        augment = rng.choice([None, Constant()])
        actions = [lambda s=source, d=domain, a=augment: exact_total(s, d, a)]
        if rng.random() < 0.02:
            adaptive = rng.random() < 0.9
            options = {"domain": domain, "budget": BUDGET, "adaptive": adaptive}
            actions.append(lambda s=source, o=options: gv.recover(gv.release(s, **o)).covariance)
        found = [attempt(action, GraphveilError, case) for action in actions]
        summed += found[0][0] is not None
        released += len(found) == 2 and found[1][0] is not None
        for _, error in found:
            said = "" if error is None else everything_said(error)
            assert not any(planted in said for planted in SAID), (case, said)
        array = np.array([[rng.choice(EXTREMES) for _ in names] for _ in range(ROWS)])
        encoder = Encoder(domain, augment, shift=augment is not None)
        rows = np.empty((ROWS, encoder.width))
        encoder.encode(array, None, rows)
        integers = rows.astype(np.int64)
        assert (integers == rows).all(), case
        assert (integers**2).sum(axis=1).max() <= encoder.lattice.total_square <= 2**40, case
    return summed, released


TOML = {
    "person": "id",
    "variation": "total",
    "columns": {
        "age": [0, 110],
        "body mass": {
            "low": 10.5,
            "high": 60,
            "scale": "log",
            "missing": [999],
            "label": "BMI",
            "unit": "kg",
            "source": "manual",
        },
        "ward": {"levels": ["A", "B"], "missing": "level"},
        "mood": {"levels": [1, 2, 5], "ordered": True, "label": "Mood"},
    },
}
FRICTIONLESS = {
    "resources": [
        {
            "schema": {
                "fields": [
                    {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 110}},
                    {"name": "ward", "type": "string", "constraints": {"enum": ["A", "B"]}, "source": "map"},
                    {"name": "mood", "type": "integer", "categories": [{"value": 1}, 2], "categoriesOrdered": True},
                    {"name": "smoker", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
                ],
                "missingValues": ["", "NA", "-9"],
            }
        }
    ]
}
CSVW = {
    "tables": [
        {
            "tableSchema": {
                "columns": [
                    {
                        "name": "hba1c",
                        "titles": {"en": ["HbA1c"]},
                        "datatype": {"base": "decimal", "minimum": "3", "maximum": 20},
                        "null": "999",
                    },
                    {"name": "sex", "titles": ["Sex"], "datatype": {"base": "string", "format": "F|M"}},
                    {"name": "x", "datatype": {"base": "int", "minInclusive": -1, "maxInclusive": 1e3}},
                ]
            }
        }
    ]
}


def in_toml(value):
    """Values in the words of TOML, which has no null."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {in_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(in_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return "[]" if value is None else json.dumps(value)


def as_toml(content):
    if not isinstance(content, dict):
        return f"columns = {in_toml(content)}"
    return "\n".join(f"{json.dumps(key)} = {in_toml(item)}" for key, item in content.items())


FORMATS = {"toml": (TOML, as_toml), "frictionless": (FRICTIONLESS, json.dumps), "csvw": (CSVW, json.dumps)}


def damaged(kind, rng):
    """Other types and numbers in any place; one file in five is damaged as text."""
    good, write = FORMATS[kind]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # what is nested four times over is deeper than these writers of ours can go
    try:
        text = write(mutated_json(good, rng)).encode("utf-8", "surrogatepass")
    finally:
        sys.setrecursionlimit(limit)
    return mutated_bytes(text, rng) if rng.random() < 0.2 else text


def file_cases(kind, start, count, path):
    """Read damaged descriptions; how many still said something."""
    read = 0
    for case, rng in numbered(start, count):
        path.write_bytes(damaged(kind, rng))
        domain, error = attempt(lambda: gv.Domain.read(path, person="id"), InvalidParameter, case)
        if domain is None:
            assert 0 < len(str(error)) < 2000, case
            assert error.__cause__ is None, case
        else:
            read += 1
            assert gv.Domain.from_json(domain.to_json()) == domain, case
    return read


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")  # so few rows
def test_random_codebooks(tmp_path):
    summed, released = codebook_cases(0, 200, tmp_path)
    assert summed > 100
    assert released > 0


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_many_random_codebooks(tmp_path):
    summed, _ = codebook_cases(int.from_bytes(os.urandom(6)), 10_000, tmp_path)
    assert summed > 5000


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_descriptions(kind, tmp_path):
    assert file_cases(kind, 0, 300, tmp_path / "x") > 10


@pytest.mark.nightly
@pytest.mark.parametrize("kind", FORMATS)
def test_many_damaged_descriptions(kind, tmp_path):
    assert file_cases(kind, int.from_bytes(os.urandom(6)), 20_000, tmp_path / "x") > 300
