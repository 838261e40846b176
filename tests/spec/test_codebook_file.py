"""Codebooks in files: our own words, Frictionless and CSVW; what is wrong is said in a sentence."""

import json

import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter

TOML = """
rows_per_person = 2
[columns]
age = [0, 110]
hba1c = { low = 3, high = 20, missing = [999], label = "HbA1c", unit = "%", source = "manual" }
cost = { low = 1, high = 1e6, scale = "log" }
ward = { levels = ["A", "B"], missing = "level" }
mood = { levels = [1, 2, 5], ordered = true, scale = "rank" }
"""
EXPECTED = gv.Domain(
    {
        "age": (0, 110),
        "hba1c": gv.Number(3, 20, missing=[999], label="HbA1c", unit="%", source="manual"),
        "cost": gv.Number(1, 1e6, scale="log"),
        "ward": gv.Category(["A", "B"], missing="level"),
        "mood": gv.Ordinal([1, 2, 5], scale="rank"),
    },
    rows_per_person=2,
)
NUMBER = (
    '{"fields": [{"name": "a", "type": "number", "constraints": {"minimum": 0, "maximum": 9}}], "missingValues": %s}'
)


def read(tmp_path, text, **settings):
    (tmp_path / "book").write_text(text)
    return gv.Domain.read(tmp_path / "book", **settings)


def test_the_words_are_those_of_python(tmp_path):
    assert read(tmp_path, TOML) == EXPECTED
    assert read(tmp_path, TOML.replace("[columns]", "[bounds]")) == EXPECTED


def test_the_caller_counts_more_than_the_file(tmp_path):
    found = read(tmp_path, TOML, person="id")
    assert (found.person, found.rows_per_person) == ("id", 1)
    assert read(tmp_path, TOML, rows_per_person=7).rows_per_person == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns\n", "not a TOML file"),
        ("rows_per_person = 1\n", "no columns"),
        ("x = 1\n[columns]\na = [0, 1]\n", "it has x"),
        ("[columns]\na = [0, 1]\n", "what is rows_per_person"),
        ('rows_per_person = "?"\n[columns]\na = [0, 1]\n', "what is rows_per_person"),
        ('rows_per_person = 1\n[columns]\na = ["?", 1]\n', "'a' still has \"\\?\""),
        ('rows_per_person = 1\n[columns]\na = {levels = ["?"]}\n', "'a' still has \"\\?\""),
        ("rows_per_person = 1\n[columns]\na = 3\n", "smallest, largest"),
        ("rows_per_person = 1\n[columns]\na = {low = 1}\n", "'a' must have low and high"),
        ("rows_per_person = 1\n[columns]\na = {low = 1, high = 2, colour = 3}\n", "and nothing else"),
        ("rows_per_person = 1\n[columns]\na = {low = 1, high = 0}\n", "'a': .*low < high"),
        ("rows_per_person = 1\n[columns]\na = {levels = [1, 2], ordered = 3}\n", "ordered must be True or False"),
        ('person = "a"\n[columns]\na = ["?", "?"]\nb = [0, 1]\n', "column 'a' identifies the person"),
        (
            'rows_per_person = 1\nweight = {column = "a", largest = 1}\n[columns]\na = ["?", "?"]\nb = [0, 1]\n',
            "column 'a' holds the weights, and is not released",
        ),
        ("{", "not a JSON file"),
        ("{}", "not a table schema"),
        ('{"fields": []}', "no fields"),
        ('{"fields": [{"type": "number"}]}', "must have a name"),
        ('{"fields": [{"name": "a", "type": "number"}]}', "field 'a': it has neither a minimum"),
        ('{"fields": [{"name": "a", "constraints": {"enum": ["x"]}}]}', "field 'a': levels must be"),
        ('{"fields": [{"name": "a", "type": "boolean"}, {"name": "a", "type": "boolean"}]}', "'a' appears twice"),
        ('{"fields": [{"name": "a", "type": "boolean", "name": "b"}]}', "'name' appears twice"),
        (NUMBER % f"[{10**400}]", "field 'a': missing must be"),
        (NUMBER % "[true]", "field 'a': missing must be"),
    ],
)
def test_refusals(tmp_path, text, message):
    with pytest.raises(InvalidParameter, match=message):
        read(tmp_path, text)


def test_frictionless(tmp_path):
    fields = [
        {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 110}},
        {"name": "ward", "type": "string", "constraints": {"enum": ["A", "B"]}},
        {"name": "mood", "type": "integer", "categories": [{"value": 1}, {"value": 2}], "categoriesOrdered": True},
        {"name": "smoker", "type": "boolean"},
    ]
    schema = {"fields": fields, "missingValues": ["", "NA", "-9"]}
    found = read(tmp_path, json.dumps({"resources": [{"schema": schema}]}), person="id")
    assert found == gv.Domain(
        {
            "age": gv.Number(0, 110, missing=[-9], integer=True, label="Age"),
            "ward": gv.Category(["A", "B"], missing=True),
            "mood": gv.Ordinal([1, 2], missing=True),
            "smoker": gv.Category([False, True], missing=True),
        },
        person="id",
    )
    assert read(tmp_path, json.dumps(schema), person="id") == found


@pytest.mark.parametrize(
    ("codes", "missing"),
    [
        ('["", "NaN"]', True),
        ("[]", False),
        ('["NaN", "-9", 99]', [-9, 99]),
        ('[{"value": "-9", "label": "refused"}, {"value": ""}]', [-9]),
    ],
)
def test_codes_of_missing_values(tmp_path, codes, missing):
    found = read(tmp_path, NUMBER % codes, rows_per_person=1)
    assert found == gv.Domain({"a": gv.Number(0, 9, missing=missing)})


def boolean(**said):
    return json.dumps({"fields": [{"name": "a", "type": "boolean", **said}]})


@pytest.mark.parametrize(
    ("said", "levels"),
    [
        ({}, [False, True]),
        ({"trueValues": ["true", "True", "TRUE", "1"], "falseValues": ["0"]}, [False, True]),
        ({"trueValues": ["yes"], "falseValues": ["no"]}, ["no", "yes"]),
        ({"trueValues": ["yes"], "falseValues": ["no"], "constraints": {"enum": [True, False]}}, ["no", "yes"]),
        ({"trueValues": ["1"], "falseValues": ["2"]}, [2, 1]),
        ({"trueValues": ["1"], "falseValues": ["no"]}, ["no", "1"]),
    ],
)
def test_booleans_in_words_of_their_own(tmp_path, said, levels):
    """What cells say for true and false; levels that no cell has would be unknown in every record."""
    assert read(tmp_path, boolean(**said), rows_per_person=1) == gv.Domain({"a": gv.Category(levels)})


@pytest.mark.parametrize(
    "said", [{"trueValues": ["yes"]}, {"trueValues": ["yes", "y"], "falseValues": ["no"]}, {"falseValues": ["no", "n"]}]
)
def test_booleans_of_several_spellings_are_refused(tmp_path, said):
    with pytest.raises(InvalidParameter, match="field 'a': its truth values have several spellings"):
        read(tmp_path, boolean(**said), rows_per_person=1)


@pytest.mark.parametrize(
    ("kind", "levels", "codes", "found"),
    [
        ("integer", ["1", "2", "3", "9"], ["9", ""], [1, 2, 3]),
        ("integer", [1, 2, 9], [{"value": "9.0", "label": "refused"}], [1, 2]),
        ("string", ["F", "M", "NA"], ["NA"], ["F", "M"]),
    ],
)
def test_a_code_of_missing_values_is_not_a_level(tmp_path, kind, levels, codes, found):
    field = {"name": "a", "type": kind, "constraints": {"enum": levels}}
    text = json.dumps({"fields": [field], "missingValues": codes})
    assert read(tmp_path, text, rows_per_person=1) == gv.Domain({"a": gv.Category(found, missing=True)})


@pytest.mark.parametrize("end", ["1_0", "１０", "inf", "0x10", " 10"])
def test_numbers_are_written_in_decimal_digits(tmp_path, end):
    text = {"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": "0", "maximum": end}}]}
    with pytest.raises(InvalidParameter, match="field 'a': high must be"):
        read(tmp_path, json.dumps(text), rows_per_person=1)


def test_cells_that_hold_more_than_a_number_are_refused(tmp_path):
    limits = {"minimum": 0, "maximum": 100}
    text = {"fields": [{"name": "a", "type": "number", "bareNumber": False, "constraints": limits}]}
    with pytest.raises(InvalidParameter, match="field 'a': its cells hold more than a number"):
        read(tmp_path, json.dumps(text), rows_per_person=1)


def test_csv_on_the_web(tmp_path):
    limits = {"base": "decimal", "minimum": "3", "maximum": 20}
    columns = [
        {"name": "hba1c", "titles": {"en": ["HbA1c"]}, "datatype": limits, "null": "999"},
        {"name": "sex", "titles": "Sex", "datatype": {"base": "string", "format": "F|M"}},
    ]
    found = read(tmp_path, json.dumps({"tableSchema": {"columns": columns}}), rows_per_person=1)
    assert found == gv.Domain(
        {"hba1c": gv.Number(3, 20, missing=[999], label="HbA1c"), "sex": gv.Category(["F", "M"], label="Sex")}
    )
