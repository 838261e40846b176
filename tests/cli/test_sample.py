"""`graphveil sample`."""

import csv


def test_synthetic_rows_are_written_and_say_what_they_are(graphveil, released, tmp_path):
    said = graphveil("sample", released, "--rows", 50, "-o", "synthetic.csv")
    assert said.code == 0, said.text
    assert "analyse the release itself" in " ".join(said.out.split())
    with (tmp_path / "synthetic.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert list(rows[0]) == ["synthetic", "age", "bmi", "systolic"]
    assert {row["synthetic"] for row in rows} == {"yes"}
    assert all(0 <= float(row["age"]) <= 110 for row in rows)
    assert graphveil("sample", released, "--rows", 5, "-o", "synthetic.csv", "--json").json["rows"] == 5


def test_nothing_else_is_overwritten(graphveil, released, tmp_path):
    (tmp_path / "records.csv").write_text("age,bmi\n50,22\n")
    assert graphveil("sample", released, "--rows", 5, "-o", "records.csv").code == 1
    assert (tmp_path / "records.csv").read_text() == "age,bmi\n50,22\n"
    assert "unknown extension" in graphveil("sample", released, "--rows", 5, "-o", "rows.xlsx").err
