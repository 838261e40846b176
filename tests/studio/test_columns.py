"""What is typed into the table of columns: every kind, imported or by hand, and back from the file that is saved."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.spec.codebook_text import kinds_of, python_of_domain, toml_of_domain
from graphveil.studio.columns import import_codebook, read_columns
from graphveil.studio.public_answer import compare_with_public_records, exact_partial_correlations
from helpers.mixed import KINDS as KINDS_OF_MIXED
from helpers.mixed import mixed_rows
from helpers.studios import draft

ENTERED = [
    {"name": "age", "role": "number", "lower": "0", "upper": "110"},
    {
        "name": "hba1c",
        "role": "number",
        "lower": "3",
        "upper": "20",
        "missing": "yes",
        "codes": "999; -1",
        "label": "HbA1c",
        "unit": "%",
        "source": "laboratory manual, p. 12",
    },
    {"name": "cost", "role": "number", "lower": "1", "upper": "1e6", "scale": "log", "missing": "yes", "codes": ""},
    {"name": "ward", "role": "category", "levels": "A, B, C", "missing": "level", "source": 'the "house"'},
    {"name": "arm", "role": "category", "levels": "1, 2, 3"},
    {"name": "town", "role": "category", "levels": "Rome, Italy; Rome, NY", "missing": "yes"},
    {"name": "mood", "role": "ordinal", "levels": "never, sometimes, often", "label": "Mood", "missing": "yes"},
    {"name": "patient id", "role": "person"},
    {"name": "w", "role": "weight", "largest": "2,5"},
    {"name": "note", "role": "out"},
]
KINDS = {
    "age": (0, 110),
    "hba1c": gv.Number(3, 20, missing=[999, -1], label="HbA1c", unit="%", source="laboratory manual, p. 12"),
    "cost": gv.Number(1, 1e6, missing=True, scale="log"),
    "ward": gv.Category(["A", "B", "C"], missing="level", source='the "house"'),
    "arm": gv.Category([1, 2, 3]),
    "town": gv.Category(["Rome, Italy", "Rome, NY"], missing=True),
    "mood": gv.Ordinal(["never", "sometimes", "often"], missing=True, label="Mood"),
}
DOMAIN = gv.Domain(KINDS, person="patient id", weight=gv.Weight("w", largest=2.5))


def test_every_kind_is_read():
    assert read_columns({"columns": ENTERED}, {}).domain == DOMAIN


def test_the_file_and_the_script_say_the_same(tmp_path):
    path = tmp_path / "codebook.toml"
    path.write_text(toml_of_domain(DOMAIN), encoding="utf-8")
    assert gv.Domain.read(path) == DOMAIN
    assert eval(python_of_domain(DOMAIN), {"gv": gv}) == DOMAIN
    plain = gv.Domain(bounds={"a\x7fb": (0.1, 1e30), "é": (-3, 2)}, rows_per_person=4, neighbours="add-remove")
    path.write_text(toml_of_domain(plain), encoding="utf-8")
    assert gv.Domain.read(path) == plain
    assert eval(python_of_domain(plain), {"gv": gv}) == plain


def test_a_saved_codebook_is_imported_as_it_was_entered():
    read = import_codebook(toml_of_domain(DOMAIN))
    assert read["person"] == "patient id"
    assert read["refused"] == []
    again = [*read["columns"], {"name": "patient id", "role": "person"}]
    assert read_columns({"columns": again}, {}).domain == DOMAIN


PIECES = [
    "a",
    "B",
    " ",
    "  ",
    ",",
    ";",
    '"',
    '""',
    "; ",
    ", ",
    "1",
    "2.5",
    "-",
    "−",
    "e",
    "true",
    "é",
    "'",
    "=",
    "|",
    "\\",
]


def random_text(rng):
    """Short, of what could be taken for something else."""
    text = "".join(rng.choices(PIECES, k=rng.randrange(1, 6)))
    return text if text.strip() else text + "x"


def random_domain(rng):
    """Any codebook that our own file can hold."""
    hidden, person = rng.random() < 0.3, rng.random() < 0.5
    variation = rng.choice(["total", "between", "within"]) if person else "total"
    gaps, ranks = not hidden and variation == "total", variation == "total"

    def said(*names):
        return {name: random_text(rng) for name in names if rng.random() < 0.3}

    def kind():
        missing = gaps and rng.random() < 0.5
        texts = {random_text(rng) for _ in range(6)} | {"1", "x"}
        numbers = rng.sample([-2, 0, 1, 2.5, 7, 1e-7, 2**53, 1e15 + 0.5], 4)
        levels = rng.choice([sorted(texts), ["1", "2"], ["true", "false"], numbers, [False, True], [True, False]])
        which = rng.randrange(4)
        if which == 0:
            low = rng.choice([0.1, 1, 1e9, 5e-50])
            codes = rng.choice([missing, [999], [-1.5e-30, 0.1]]) if gaps else False
            scale = rng.choice(["linear", "log", "sqrt", *["rank"] * ranks])
            more = said("label", "unit", "source")
            return gv.Number(low, low * 3.7, missing=codes, scale=scale, integer=rng.random() < 0.5, **more)
        if which == 1:
            ordered = levels if isinstance(levels[0], str) else sorted(levels)
            scale = rng.choice(["scores", *["rank"] * ranks])
            return gv.Ordinal(ordered, missing=missing, scale=scale, **said("label", "source"))
        if which == 2:
            return gv.Category(levels, missing=rng.choice([missing, "level"]), **said("label", "source"))
        return -rng.random(), rng.choice([1, 1 / 3, 1e200**0.1])

    kinds = {f"{k}{random_text(rng).strip()}": kind() for k in range(rng.randrange(1, 5))}
    settings = {"person": random_text(rng)} if person else {"rows_per_person": rng.randrange(1, 5)}
    if variation != "total":
        settings["variation"] = variation
    if hidden:
        settings["neighbours"] = "add-remove"
    if gaps and rng.random() < 0.3:
        settings["weight"] = gv.Weight("w", largest=rng.choice([1, 2.5, 1e-3]))
    return gv.Domain(kinds, **settings)


def test_random_codebooks_are_imported_exactly(tmp_path):
    """Every kind and option, levels of any text: the page releases what the command line releases by the same file."""
    path, ways = tmp_path / "codebook.toml", set()
    for case in range(200):
        domain = random_domain(random.Random(case))
        path.write_text(toml_of_domain(domain), encoding="utf-8")
        read = import_codebook(path.read_text(encoding="utf-8"))
        assert read["refused"] == [], case
        columns = [*read["columns"], *([{"name": domain.person, "role": "person"}] if domain.person else [])]
        found = read_columns(read | {"columns": columns}, {}).domain
        assert found == gv.Domain.read(path), case
        assert kinds_of(found) == kinds_of(domain), case
        ways |= {(type(kind).__name__, getattr(kind, "scale", "")) for kind in getattr(domain.codebook, "kinds", ())}
    assert len(ways) == 7


def test_levels_in_quotation_marks():
    """As they are, where they would be taken for something else; elsewhere quotation marks are letters."""
    for typed, levels in {
        'a, "b, c"': ("a", "b, c"),
        '"a;b"; c': ("a;b", "c"),
        '"a;b", c': ("a;b", "c"),
        '" A ", B ': (" A ", "B"),
        '"say ""no""", yes': ('say "no"', "yes"),
        '5" pipe, 6" pipe': ('5" pipe', '6" pipe'),
        '"open, b': ('"open', "b"),
        '"1", "2"': ("1", "2"),
        "1, 2": (1, 2),
        "false, true": (False, True),
        "a, , b": ("a", "b"),
        "1,5; 2,5": (1.5, 2.5),
    }.items():
        read = read_columns({"columns": [{"name": "a", "role": "category", "levels": typed}], "rows_per_person": 1}, {})
        found = read.domain.codebook.kinds[0].levels
        assert [(type(level), level) for level in found] == [(type(level), level) for level in levels], typed


@pytest.mark.parametrize("typed", ["1_0", "１", "inf", "nan", "0x1", "1e999", "", None, [], True])
def test_numbers_are_typed_in_decimal_digits(typed):
    entered = draft()
    entered["columns"][0]["lower"] = typed
    with pytest.raises(InvalidParameter, match="age: lower must be a number"):
        read_columns(entered, {})


def test_levels_are_text_where_the_schema_says_so():
    entered = [
        {"name": "arm", "role": "category", "levels": "1, 2"},
        {"name": "age", "role": "ordinal", "levels": "1,2"},
    ]
    read = read_columns({"columns": entered, "rows_per_person": "1"}, {"arm": "text", "age": "number"})
    assert [kind.levels for kind in read.domain.codebook.kinds] == [("1", "2"), (1, 2)]


def test_public_records_are_weighted_clipped_and_counted_by_person(tmp_path):
    """The answer without noise is of the rows that a release sees: people once, weights up to the largest, no gaps."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(300), rng.integers(1, 4, 300))
    x, y, z = rng.normal(size=(3, people.size)) + rng.normal(size=people.size)
    w, gone = rng.uniform(0, 4, people.size), rng.random(people.size) < 0.2
    table = {"x": 2.0 * x, "y": np.exp(y), "z": np.where(gone, 999.0, z), "w": w, "id": people.astype(str)}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "people.parquet")
    kinds = {"x": (-3, 3), "y": gv.Number(0.5, 20, scale="log"), "z": gv.Number(-3, 3, missing=[999])}
    domain = gv.Domain(kinds, person="id", weight=gv.Weight("w", largest=2))
    found = exact_partial_correlations(str(tmp_path / "people.parquet"), domain)
    counted = np.minimum(w, 2.0) / np.bincount(people)[people]
    rows = np.column_stack([np.clip(2.0 * x, -3, 3), np.clip(y, np.log(0.5), np.log(20)), np.clip(z, -3, 3)])
    covariance = np.cov(rows.T, aweights=counted, ddof=0)
    covariance[2, :] = covariance[:, 2] = np.cov(rows[~gone].T, aweights=counted[~gone], ddof=0)[2]
    assert found == pytest.approx(gv.metrics.partial_correlations(np.linalg.inv(covariance)), abs=1e-9)


@pytest.mark.parametrize("epsilon", [4.0, 0.01])
def test_levels_of_categories_stand_beside_their_exact_numbers(epsilon, tmp_path):
    """With intervals and without."""
    mixed_rows(8000).to_parquet(tmp_path / "people.parquet")
    data, domain = str(tmp_path / "people.parquet"), gv.Domain(KINDS_OF_MIXED)
    made = gv.release(data, domain=domain, budget=gv.Budget(epsilon, 1e-6), random_state=0)
    pairs = compare_with_public_records(made, data, domain)
    assert {pair["first"] for pair in pairs} & {"Ward of the patient[B]", "region[south]", "diet[vegan]"}
    assert all((pair["lower"] is None) == (epsilon < 1.0) for pair in pairs)


def test_groups():
    entered = draft()
    entered["columns"].append({"name": "ward", "role": "group", "levels": "A, B"})
    read = read_columns(entered, {})
    assert read.by == "ward"
    assert read.grouping.levels == ("A", "B")
    assert read.released.columns == ("age", "bmi", "systolic")
    with pytest.raises(InvalidParameter, match="rows_per_person must be 1 with by"):
        read_columns(entered | {"rows_per_person": "2"}, {})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"role": "category", "levels": "A"}, "age: enter its levels, at least two"),
        ({"role": "category", "levels": "A, A"}, "age: levels must be"),
        ({"role": "ordinal", "levels": "3, 1"}, "age: levels of an ordered scale"),
        ({"scale": "log"}, "age: low must be greater than 0"),
        ({"scale": "cubic"}, "age: scale must be"),
        ({"missing": "yes", "codes": "unknown"}, "age: a code of missing values must be a number"),
        ({"upper": "-1"}, "age: the lower bound must be below"),
        ({"lower": "low"}, "age: lower must be a number"),
    ],
)
def test_mistakes_are_named(changes, said):
    entered = draft()
    entered["columns"][0] |= changes
    with pytest.raises(InvalidParameter, match=said):
        read_columns(entered, {})


FRICTIONLESS = """{"fields": [
  {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 110}},
  {"name": "ward", "type": "string", "constraints": {"enum": ["A", "B"]}, "missingValues": [""]},
  {"name": "id", "type": "string"}]}"""
CSVW = """{"tableSchema": {"columns": [
  {"name": "bmi", "titles": "BMI", "datatype": {"base": "number", "minimum": 10, "maximum": 60}, "null": ["-9"]},
  {"name": "note", "datatype": "string"}]}}"""


def test_frictionless_and_csvw_fill_in_what_they_say():
    read = import_codebook(FRICTIONLESS)
    assert read["refused"] == ["id"]
    assert [(c["name"], c["role"]) for c in read["columns"]] == [("age", "number"), ("ward", "category")]
    assert read["columns"][0]["label"] == "Age"
    assert (read["columns"][1]["levels"], read["columns"][1]["missing"]) == ("A, B", "yes")
    read = import_codebook(CSVW)
    assert read["refused"] == ["note"]
    (bmi,) = read["columns"]
    assert (bmi["lower"], bmi["upper"], bmi["codes"], bmi["missing"]) == ("10", "60", "-9", "yes")
