"""Every verb does its work, in words and as JSON, and the files between them fit together."""

import csv
import gzip
import json
import re
import tomllib
from xml.etree import ElementTree

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import graphveil as gv
from helpers.command_line import RELEASE_OPTIONS


def test_the_whole_way(graphveil, patients, tmp_path):
    """bounds, ledger, release, show, fit, report: as a hospital would."""
    assert graphveil("bounds", "template", patients).code == 0
    text = (tmp_path / "bounds.toml").read_text()
    assert tomllib.loads(text)["bounds"] == {name: ["?", "?"] for name in ("age", "bmi", "systolic")}
    assert "# name: not numbers" in text
    refused = graphveil("release", patients, *RELEASE_OPTIONS, "--bounds", "bounds.toml", "--dataset", "clinic")
    assert refused.code == 1
    assert "rows_per_person" in refused.err
    text = text.replace('rows_per_person = "?"', "rows_per_person = 1")
    (tmp_path / "bounds.toml").write_text(text)
    refused = graphveil("release", patients, *RELEASE_OPTIONS, "--bounds", "bounds.toml", "--dataset", "clinic")
    assert "'age' still has" in refused.err
    filled = text.replace('age = ["?", "?"]', "age = [0, 110]").replace('bmi = ["?", "?"]', "bmi = [10, 60]")
    (tmp_path / "bounds.toml").write_text(filled.replace('systolic = ["?", "?"]', "systolic = [60, 240]"))

    ask = ("release", patients, *RELEASE_OPTIONS, "--bounds", "bounds.toml", "--dataset", "clinic")
    unknown = graphveil(*ask)
    assert unknown.code == 1
    assert "clinic" in unknown.err or "ledger" in unknown.err
    assert not (tmp_path / "out.release").exists()
    assert graphveil("ledger", "create", "clinic", "--epsilon", 1.2, "--delta", 1e-6).code == 0
    said = graphveil(*ask)
    assert said.code == 0, said.err
    for words in ("(1, 1e-06)-differentially private", "Who is protected", "Left in the ledger: ε = ", "not in ε."):
        assert words in said.out
    release = gv.Release.load(tmp_path / "out.release")
    assert release.columns == ("age", "bmi", "systolic")
    assert release.n_samples == 4000

    again = graphveil(*ask[:-1], "clinic", "-o", "second.release")
    assert again.code == 3, "no budget left has a code of its own"
    assert not (tmp_path / "second.release").exists()
    shown = graphveil("ledger", "show", "--json").json["datasets"]
    assert [row["releases"] for row in shown] == [1]
    assert shown[0]["noise_hides"] == "replacing one record"
    assert 0.0 < shown[0]["left"] < 1.0 <= 1.0001 * shown[0]["spent"]
    assert graphveil("ledger", "verify").code == 0

    assert graphveil("fit", "out.release", "-o", "network.csv").code == 0
    assert graphveil("report", "out.release", "-o", "report.html").code == 0
    assert (tmp_path / "report.html").stat().st_size < 200_000


@pytest.mark.parametrize("where", ["an option", "the file"])
def test_being_in_the_table_as_a_secret(graphveil, patients, tmp_path, where):
    head = "rows_per_person = 1\n" + ('neighbours = "add-remove"\n' if where == "the file" else "")
    bounds = "[bounds]\nage = [0, 110]\nbmi = [10, 60]\nsystolic = [60, 240]\n"
    (tmp_path / "bounds.toml").write_text(head + bounds)
    option = ["--neighbours", "add-remove"] if where == "an option" else []
    ask = ("release", patients, *RELEASE_OPTIONS, "--bounds", "bounds.toml", "--no-ledger")
    said = graphveil(*ask, *option)
    assert said.code == 0, said.err
    assert "Adding or removing the record of one person." in " ".join(said.out.replace("│", "").split())
    made = gv.Release.load(tmp_path / "out.release")
    assert "adding or removing one record; the number of records is secret too." in made.guarantee
    assert made.domain.hides_count
    for shown in (said, graphveil("show", "out.release"), graphveil("show", "out.release", "--json")):
        if made.n_samples != 4000:
            assert not re.search(r"(?<![0-9a-f])4,?000(?![0-9a-f])", shown.out)
    refused = graphveil(*ask[:-1], "--no-ledger", "--neighbours", "swap")
    assert refused.code == 1
    assert 'neighbours must be one of "replace", "add-remove"' in " ".join(refused.err.replace("'", '"').split())


def test_show_is_the_card(graphveil, released):
    said = graphveil("show", released)
    for words in ("Privacy card", "(2, 1e-06)", "Seeded", "No. The noise came", "What it means"):
        assert words in said.out
    facts = graphveil("show", released, "--json").json
    assert facts["epsilon"] == 2.0
    assert facts["columns"] == ["age", "bmi", "systolic"]
    assert 0.5 < facts["max_guess_accuracy"]["with_this_noise"] < facts["max_guess_accuracy"]["promised"] < 1.0


def test_a_seeded_release_is_shown_as_not_private(graphveil, tmp_path):
    rows = np.random.default_rng(0).normal(size=(500, 2))
    made = gv.release(
        rows,
        domain=gv.Domain(bounds=(-4, 4)),
        budget=gv.Budget(1.0, 1e-6),
        random_state=1,
        assume_centered=True,
        adaptive=False,
    )
    made.save(tmp_path / "seeded.release")
    assert "NOT private" in graphveil("show", "seeded.release").out
    facts = graphveil("show", "seeded.release", "--json").json
    assert facts["seeded"]
    assert facts["mu"] is None


@pytest.mark.parametrize("ending", ["graphml", "csv", "json", "npz"])
def test_networks_are_the_estimators(graphveil, released, tmp_path, ending):
    model = gv.PrivateGraphicalLasso(2.0, 1e-6).fit_release(gv.Release.load(released))
    path = tmp_path / f"network.{ending}"
    said = graphveil("fit", released, "-o", path, "--json")
    assert said.code == 0, said.text
    weights = {
        (a, b): model.partial_correlations_[i, j]
        for i, a in enumerate(model.feature_names_in_)
        for j, b in enumerate(model.feature_names_in_)
        if i < j and model.precision_[i, j]
    }
    assert said.json["edges"] + said.json["could_be_noise"] == len(weights) > 0
    assert said.json["edges"] == model.edge_intervals().to_frame()["edge"].sum() > 0
    if ending == "graphml":
        graph = networkx.read_graphml(path)
        names = networkx.get_node_attributes(graph, "name")
        found = {tuple(sorted((names[a], names[b]))): data["weight"] for a, b, data in graph.edges(data=True)}
        assert sorted(names.values()) == sorted(model.feature_names_in_)
        assert "differentially private" in graph.graph["guarantee"]
    elif ending == "csv":
        found = {
            (row["source"], row["target"]): float(row["weight"])
            for row in csv.DictReader(path.read_text().splitlines())
        }
    elif ending == "json":
        content = json.loads(path.read_text())
        found = {(edge["source"], edge["target"]): edge["weight"] for edge in content["edges"]}
        assert all(edge["lower"] <= edge["estimate"] <= edge["upper"] for edge in content["edges"])
        assert np.allclose(content["precision"], model.precision_)
    else:
        with np.load(path) as content:
            assert np.array_equal(content["precision"], model.precision_)
            assert content["names"].tolist() == list(model.feature_names_in_)
        return
    assert found == {tuple(sorted(pair)) if ending == "graphml" else pair: value for pair, value in weights.items()}


def test_other_fits(graphveil, released):
    assert graphveil("fit", released, "--method", "dense", "-o", "d.csv", "--json").json["edges"] == 3
    assert graphveil("fit", released, "--method", "ridge", "-o", "r.csv", "--json").json["edges"] == 3
    assert graphveil("fit", released, "--alpha", "0.9", "-o", "a.csv", "--json").json["edges"] == 0
    assert graphveil("fit", released, "--alpha", "ebic", "-o", "e.csv").code == 0


@pytest.mark.parametrize("ending", ["csv", "arrow", "feather"])
def test_the_same_records_from_other_files(graphveil, patients, bounds, tmp_path, ending):
    table = pyarrow.parquet.read_table(patients)
    path = tmp_path / f"patients.{ending}"
    if ending == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.feather.write_feather(table, path)
    said = graphveil("release", path, *RELEASE_OPTIONS, "--bounds", bounds, "--no-ledger", "--json")
    assert said.code == 0, said.text
    assert gv.Release.load(tmp_path / "out.release").n_samples == 4000


def test_a_text_in_a_column_of_numbers_is_a_missing_value_and_nothing_more(graphveil, bounds, tmp_path):
    lines = ["age,bmi,systolic", *(f"{30 + k % 40},{20 + k % 9},120" for k in range(300)), "secret,25,", "1e999,nan"]
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    said = graphveil("release", "odd.csv", *RELEASE_OPTIONS, "--bounds", bounds, "--no-ledger")
    assert said.code == 0, said.text
    assert "secret" not in said.text
    assert gv.Release.load(tmp_path / "out.release").n_samples == 302


def test_a_plan_is_kept_for_the_report(graphveil, released, tmp_path):
    ask = ("plan", "--records", 4000, "--variables", 3, "--epsilon", 2, "--delta", 1e-6)
    said = graphveil(*ask, "-o", "plan.json", "--plot", "plan.html")
    assert said.code == 0, said.text
    for words in ("noise-free", "would be detected", "To detect 0.1", "← this plan"):
        assert words in said.out
    forecast = gv.Forecast.from_json((tmp_path / "plan.json").read_text())
    assert forecast.n_samples == 4000
    assert (tmp_path / "plan.html").read_text().count("<svg") == 2
    assert graphveil("report", released, "--forecast", "plan.json").code == 0
    assert "Compared with the plan" in (tmp_path / "report.html").read_text()
    refused = graphveil("report", released, "--forecast", released)
    assert refused.code == 1
    assert "is not a forecast" in refused.err


def test_the_ledger_tells_its_history(graphveil, patients, bounds, tmp_path):
    graphveil("ledger", "create", "people", "--epsilon", 3, "--delta", 1e-6)
    ask = ("release", patients, *RELEASE_OPTIONS, "--bounds", bounds, "--dataset", "people", "--key", "first")
    first = graphveil(*ask, "--json").json
    assert graphveil(*ask, "--json").json == first, "the same key: the same release, and no second charge"
    charges = graphveil("ledger", "history", "people", "--json").json["charges"]
    assert [charge["key"] for charge in charges] == ["first"]
    assert "first" in graphveil("ledger", "history", "people").out
    heads = graphveil("ledger", "verify", "--json")
    (tmp_path / "heads.json").write_text(heads.out)
    assert graphveil("ledger", "verify", "--heads", "heads.json").code == 0
    assert graphveil("ledger", "export", "-o", "all.json").code == 0
    assert json.loads((tmp_path / "all.json").read_text())["datasets"][0]["dataset"] == "people"
    (tmp_path / "heads.json").write_text('{"heads": {"people": "9:0000"}}')
    assert graphveil("ledger", "verify", "--heads", "heads.json").code == 4


def test_the_audit_reports(graphveil):
    facts = graphveil("audit", "--epsilon", 8, "--runs", 200, "--json").json
    assert not facts["broken"]
    assert facts["shown_mu"] <= facts["claimed_mu"]


def test_the_demo(graphveil, tmp_path):
    facts = graphveil("demo", "--json").json
    said = "(1, 1e-06)-differentially private against replacing one person with all their records"
    assert said in facts["guarantee"]
    assert facts["edges"] >= 8, "a sensible budget shows real structure"
    assert {edge["source"] for edge in facts["surest"]} | {edge["target"] for edge in facts["surest"]} >= {
        "fmde",
        "idp",
    }
    for path in facts["files"].values():
        assert (tmp_path / path).stat().st_size > 0


def test_a_picture_is_a_drawing_of_the_same_edges(graphveil, released, tmp_path):
    assert graphveil("fit", released, "-o", "network.svg").code == 0
    assert graphveil("fit", released, "-o", "network.csv").code == 0
    drawing = ElementTree.fromstring((tmp_path / "network.svg").read_text())
    tag = "{http://www.w3.org/2000/svg}"
    with (tmp_path / "network.csv").open() as file:
        edges = {f"{row['source']} — {row['target']}" for row in csv.DictReader(file)}
    titles = [line.find(f"{tag}title") for line in drawing.iter(f"{tag}path")]  # lines of the legend have none
    assert {title.text.partition(":")[0] for title in titles if title is not None} == edges
    nodes = [group.find(f"{tag}title").text for group in drawing.iter(f"{tag}g") if "node" in group.get("class", "")]
    assert sorted(nodes) == ["age", "bmi", "systolic"]
    legend = next(group for group in drawing.iter(f"{tag}g") if group.get("class") == "legend")
    assert [text.text for text in legend][1::2][:2] == ["positive", "negative"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "arrow", "pq"])
def test_a_template_is_made_of_every_kind_of_file(graphveil, tmp_path, ending):
    table = pa.table({"age": [1.0], "smoker": [True]})
    path = tmp_path / f"x.{ending}"
    if ending == "csv.gz":
        path.write_bytes(gzip.compress(b"age;smoker\n1,5;true\n"))
    elif ending == "csv":
        pa.csv.write_csv(table, path)
    elif ending == "arrow":
        pa.feather.write_feather(table, path)
    else:
        pa.parquet.write_table(table, path)
    said = graphveil("bounds", "template", path, "--json")
    assert said.json["columns"] == ["age", "smoker"]


# First lines that are records: numbers and dates as they are written here and there, words for yes and for nothing.
RECORDS = [
    "271828,3.5", "Meier;35,2;1962-04-01;HIV", "Huber;1.234,56;n", "O'Brien\t1 234,5\tx", "Rossi;1'234.5",
    "x,01.04.1962", "x,4/1/62", "x,1962-04-01T10:00Z", "x,12:30", "x,-3", "x,+3", "x,.5", "x,$12", "x,€ 3",
    "x,12 kg", "x,(5)", "x,१२", "x,TRUE", "x,false", "x,Ja", "x,NA", "x,n/a", "x,NaN", "x,null", "x,inf",
    "x,yes", "x,No", "x,", ",x", "x, ", 'x,""', "x,?", "x,-", "x,someone@example.org", "x,5e3", "x,#12", "x,E11,E11",
    "HIV;HIV",
]  # fmt: skip


@pytest.mark.parametrize("line", RECORDS)
def test_a_first_line_that_is_a_record_is_not_repeated(graphveil, tmp_path, line):
    (tmp_path / "x.csv").write_text(f"{line}\n{line}\n", encoding="utf-8")
    said = graphveil("bounds", "template", "x.csv", "--json")
    assert said.code == 1, said.text
    assert re.search("looks? like a value|same name", said.json["error"])
    assert not [cell for cell in re.split("[,;\t]", line) if len(cell) > 2 and cell in said.json["error"]]
    assert not (tmp_path / "bounds.toml").exists()


def test_names_that_look_like_values_are_taken_on_somebody_s_word(graphveil, tmp_path):
    (tmp_path / "x.csv").write_text("2020,1st visit,no\n1,2,3\n")
    assert graphveil("bounds", "template", "x.csv").code == 1
    assert graphveil("bounds", "template", "x.csv", "--header").code == 0
    assert list(tomllib.loads((tmp_path / "bounds.toml").read_text())["bounds"]) == ["2020", "1st visit", "no"]
    (tmp_path / "y.csv").write_text("a,a\n1,2\n")
    assert graphveil("bounds", "template", "y.csv", "--header", "-o", "y.toml").code == 1, "nobody can tell them apart"


def test_the_error_says_which_columns_look_like_values(graphveil, tmp_path):
    for line, which in (("age,no,bmi", "The name of column 2 is"), ("1,age,true", "The names of columns 1, 3 are")):
        (tmp_path / "x.csv").write_text(f"{line}\n1,2,3\n")
        for command in ("bounds", "codebook"):
            assert which in graphveil(command, "template", "x.csv", "--json").json["error"]


def test_ordinary_names_need_no_word(graphveil, tmp_path):
    names = "age,female,male,BMI,Blood pressure (mmHg),x1,_id,größe,身長,income.2020,yes_or_no,naive,nothing,Nullity"
    (tmp_path / "x.csv").write_text(f"{names}\n{','.join('1' * 14)}\n", encoding="utf-8")
    assert graphveil("bounds", "template", "x.csv", "--json").json["columns"] == names.split(",")


def test_a_fit_says_which_columns_drown(graphveil, tmp_path):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    rows[:, 2] = 0.0
    domain = gv.Domain(bounds={"a": (-4, 4), "b": (-4, 4), "flat": (-1, 1)})
    gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0).save(tmp_path / "x.release")
    said = graphveil("fit", "x.release", "-o", "x.csv")
    assert " ".join(said.text.split()).count("Do not interpret these columns: flat.") == 1
    with pytest.warns(gv.exceptions.PrivacyWarning, match="flat"):
        gv.recover(gv.Release.load(tmp_path / "x.release"))
