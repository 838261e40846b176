"""What the review shows repeats the release: the same file, and no second charge."""

import json
import shlex
import subprocess
import sys

import pytest

import graphveil as gv
from graphveil.cli._commands import call
from graphveil.studio.draft import Draft
from helpers.studios import BOUNDS, draft, wait_for_job, write_table


@pytest.fixture
def released(studio, tmp_path):
    """A studio that has released, and what it showed before."""
    opened = studio(write_table(tmp_path / "patients.csv", 4000))
    assert opened.ask("account", dataset="patients-2026", epsilon=3.0, delta=1e-6)[0] == 200
    status, shown = opened.about("review", draft())
    assert status == 200
    assert not shown["known"]
    assert opened.ask("files", review=opened.review)[0] == 200
    assert opened.confirm()[0] == 200
    job = wait_for_job(opened)
    assert job["state"] == "done", job
    assert opened.charges == 1
    return opened, shown


def test_the_command_and_the_script_return_the_same_release(released, monkeypatch):
    opened, shown = released
    path = opened.folder / shown["release_files"][0]
    made = path.read_bytes()
    monkeypatch.chdir(opened.folder)
    for number, how in enumerate(("command", "script")):
        path.rename(opened.folder / f"earlier{number}.release")
        if how == "command":
            words = shlex.split(shown["command"].replace("\\\n", " "))
            assert words[0] == "graphveil"
            assert call(words[1:]) == 0
        else:
            subprocess.run([sys.executable, shown["python_file"]], check=True)
            assert (opened.folder / shown["release_files"][0]).with_suffix(".html").exists()
        assert path.read_bytes() == made
        assert opened.charges == 1
    assert opened.about("review", draft())[1]["known"]


def test_again_it_is_the_same_release(released):
    """In the same studio it is the same job; other parameters are another release, with another file."""
    opened, _ = released
    again = opened.release(draft())[1]["job"]
    assert again["state"] == "done"
    assert opened.charges == 1
    assert opened.release(draft(epsilon="0.5"))[0] == 200
    assert wait_for_job(opened)["state"] == "done"
    assert opened.charges == 2
    assert len(list(opened.folder.glob("*.release"))) == 2


def test_nothing_is_released_without_confirmation_or_budget(studio, tmp_path):
    opened = studio(write_table(tmp_path / "patients.csv", 400))
    assert "no ledger" in opened.about("review", draft())[1]["error"]
    assert "Review it first" in opened.ask("release", review=None, confirmation="patients-2026")[1]["error"]
    opened.ask("account", dataset="patients-2026", epsilon=0.5, delta=1e-6)
    for typed in ("", "patients", "Patients-2026", None):
        status, said = opened.release(draft(), typed)
        assert status == 400
        assert "confirm" in said["error"]
    opened.release(draft())
    job = wait_for_job(opened)
    assert job["state"] == "failed"
    assert "epsilon = 0.5 would fit" in job["error"]
    assert opened.charges == 0
    assert not list(opened.folder.glob("*.release"))


def test_an_output_that_is_taken_is_noticed_before_the_charge(studio, tmp_path):
    opened = studio(write_table(tmp_path / "patients.csv", 400))
    opened.ask("account", dataset="patients-2026", epsilon=3.0, delta=1e-6)
    (opened.folder / opened.about("review", draft())[1]["release_files"][0]).write_text("a letter")
    opened.release(draft())
    job = wait_for_job(opened)
    assert job["state"] == "failed"
    assert "not overwritten" in job["error"]
    assert opened.charges == 0


def test_the_bounds_say_where_they_come_from(tmp_path):
    entered = draft()
    entered["columns"][0]["source"] = "codebook\n[evil]\r\npage 3"
    read = Draft.read("x.csv", "ledger.db", entered, {})
    path = tmp_path / "bounds.toml"
    path.write_text(read.codebook)
    from graphveil.cli.bounds import read_domain

    assert read_domain(path) == read.columns.domain
    assert read.columns.domain.codebook.kinds[0].source == "codebook [evil] page 3"


def test_a_person_column_and_decimal_commas():
    entered = draft(rows_per_person="")
    entered["columns"].append({"name": "patient id", "role": "person"})
    entered["columns"][1]["lower"] = "10,5"
    read = Draft.read("x.csv", "ledger.db", entered, {})
    assert read.columns.domain.person == "patient id"
    assert read.columns.domain.bounds[0][1] == 10.5
    assert 'person = "patient id"' in read.codebook
    assert read.key != Draft.read("x.csv", "ledger.db", draft(), {}).key


def test_the_key_depends_on_what_is_asked_alone():
    keys = {
        Draft.read(data, "ledger.db", draft(**changes), {}).key
        for data, changes in [
            ("x.csv", {}),
            ("./x.csv", {}),
            ("x.csv", {"epsilon": "1.0", "people": "99"}),
            ("y.csv", {}),
            ("x.csv", {"epsilon": "2"}),
            ("x.csv", {"dataset": "others"}),
            ("x.csv", {"rows_per_person": "2"}),
        ]
    }
    assert len(keys) == 5


@pytest.mark.parametrize(
    ("data", "stem"),
    [("parts/*.parquet", "table"), (".", "table"), ("-rf.csv", "rf"), ("s3://b/people 2026.csv", "people2026")],
)
def test_files_are_named_after_the_data(data, stem):
    name = Draft.read(data, "ledger.db", draft(), {}).file_name(".release")
    assert name.rpartition("-")[0] == stem


def test_a_release_is_opened(studio, released):
    opened, shown = released
    made = gv.Release.load(opened.folder / shown["release_files"][0])
    assert list(BOUNDS) == list(made.columns)
    other = studio(releases=[str(opened.folder / shown["release_files"][0])])
    assert json.loads(other.get("state")[1])["only_report"]
    assert other.get(f"report-{made.checksum}")[0] == 400
    status, said = other.get("start")
    assert status == 200
    status, page = other.get(f"report-{made.checksum}")
    assert status == 200
    assert "Private network of 3 variables" in page
    assert opened.job["releases"][0]["id"] == made.checksum
    assert opened.get(f"report-{made.checksum}")[1] == page
    assert [r["variables"] for r in json.loads(said)["releases"]] == [list(BOUNDS)]
