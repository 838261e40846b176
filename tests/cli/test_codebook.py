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
    assert "No source says how these are known: age." in said.out
    assert "secret" not in said.out
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
