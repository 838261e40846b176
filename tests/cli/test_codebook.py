"""`graphveil codebook`: a template from a schema, and a check that reads no value."""

import pandas as pd
import pytest

import graphveil as gv


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame({"age": [31.0, 1e300], "ward": ["A", "secret"], "smoker": [True, False]})
    frame.assign(when=pd.to_datetime(["2020-01-01", "2021-01-01"])).to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_a_template_has_names_and_types_and_no_value(graphveil, table, tmp_path):
    assert graphveil("codebook", "template", table, "-o", tmp_path / "book.toml").code == 0
    written = (tmp_path / "book.toml").read_text()
    lines = written.split("[columns]\n")[1].splitlines()
    expected = ['age = ["?", "?"]', 'ward = { levels = ["?"] }', "smoker = { levels = [false, true] }"]
    assert lines == [*expected, "# when: neither numbers nor text"]
    (tmp_path / "codebook.toml").write_text("filled in")
    refused = graphveil("codebook", "template", table, "-o", tmp_path / "codebook.toml")
    assert "already exists and is not overwritten: what it holds would be lost" in refused.err
    assert "secret" not in written


def test_check_says_what_is_there_and_spends_nothing(graphveil, table, tmp_path):
    book = tmp_path / "book.toml"
    book.write_text(
        'rows_per_person = 1\n[columns]\nage = [0, 110]\nward = {levels = ["A", "B", "C"], source = "map"}\n'
    )
    said = graphveil("codebook", "check", book, table)
    assert said.code == 0
    assert "2 columns of the file become 3 columns of a release" in said.out
    assert "Not described, and not released: smoker, when." in said.out
    assert "No source is given for: age." in said.out
    assert "secret" not in said.out
    assert "weights" not in said.out
    book.write_text('rows_per_person = 1\nweight = {column = "age", largest = 8}\n[columns]\nsmoker = [0, 1]\n')
    said = graphveil("codebook", "check", book, table)
    assert "for a plan, first divide their number by 8 over the mean weight" in said.out
    book.write_text("rows_per_person = 1\n[columns]\nward = {levels = [1, 2]}\n")
    refused = graphveil("codebook", "check", book, table)
    assert refused.code == 1
    assert "'ward' has type" in refused.err


def test_a_release_takes_a_codebook(graphveil, table, tmp_path):
    frame = pd.concat([pd.read_parquet(table)] * 600, ignore_index=True)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    book = tmp_path / "book.toml"
    book.write_text('rows_per_person = 1\n[columns]\nage = [0, 110]\nward = {levels = ["A", "B"], missing = "level"}\n')
    budget = ("--epsilon", 1, "--delta", 1e-6, "--no-ledger")
    said = graphveil("release", tmp_path / "rows.csv", *budget, "--bounds", book, "-o", tmp_path / "a.release")
    assert said.code == 0
    assert gv.Release.load(tmp_path / "a.release").columns == ("age", "ward[B]", "ward[missing]")


def test_weights_from_a_codebook_and_from_options(graphveil, tmp_path):
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0] * 200, "b": [2.0, 1.0, 0.0] * 200, "w": [1.0, 2.0, 30.0] * 200})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    plain, weighted = tmp_path / "plain.toml", tmp_path / "weighted.toml"
    columns = "[columns]\na = [0, 4]\nb = [0, 4]\n"
    plain.write_text("rows_per_person = 1\n" + columns)
    weighted.write_text('rows_per_person = 1\nweight = { column = "w", largest = 3 }\n' + columns)
    said = graphveil("codebook", "check", weighted, tmp_path / "rows.parquet")
    assert said.code == 0
    assert "Not described" not in said.out
    release = ("release", tmp_path / "rows.csv", "--epsilon", 1, "--delta", 1e-6, "--no-ledger")
    options = ("--weight", "w", "--largest-weight", 3)
    for name, given in {"one": ("--bounds", weighted), "two": ("--bounds", plain, *options)}.items():
        said = graphveil(*release, *given, "-o", tmp_path / f"{name}.release")
        assert said.code == 0
        assert "3 as the largest weight" in " ".join(said.out.replace("│", " ").split())
        assert gv.Release.load(tmp_path / f"{name}.release").domain.weight == gv.Weight("w", 3)
    refused = graphveil(*release, "--bounds", plain, "--weight", "w", "-o", tmp_path / "three.release")
    assert refused.code == 1
    assert "Use --weight and --largest-weight together" in refused.err
