"""A mistake gets one sentence that says what to do, an exit code, and no traceback; and it spends nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphveil as gv
from graphveil.cli._commands import app
from helpers.command_line import RELEASE_OPTIONS

BIN = Path(sys.executable).parent / "graphveil"
RELEASE = ("release", "patients.parquet", *RELEASE_OPTIONS, "--bounds", "bounds.toml", "--no-ledger")


def changed(arguments, before, after):
    return tuple(after if argument == before else argument for argument in arguments)


MISTAKES = {
    "no such records": (
        changed(RELEASE, "patients.parquet", "nobody.parquet"),
        "is neither a file, a directory nor a pattern",
    ),
    "unknown ending": (changed(RELEASE, "patients.parquet", "bounds.toml"), "is not a supported file"),
    "no such bounds": (changed(RELEASE, "bounds.toml", "none.toml"), "none.toml does not exist"),
    "bounds are no TOML": (changed(RELEASE, "bounds.toml", "patients.parquet"), "is not a TOML file"),
    "a column that is not there": (changed(RELEASE, "bounds.toml", "height.toml"), "has no column 'height'"),
    "a column of text": (changed(RELEASE, "bounds.toml", "text.toml"), "which cannot be read as a number"),
    "lower above upper": (changed(RELEASE, "bounds.toml", "upside.toml"), "lower < upper"),
    "three numbers": (changed(RELEASE, "bounds.toml", "three.toml"), "[smallest, largest]"),
    "unknown setting": (changed(RELEASE, "bounds.toml", "more.toml"), "rows_per_person or person"),
    "negative epsilon": (changed(RELEASE, 1, -1), "epsilon must be"),
    "no dataset": (RELEASE[:-1], "--dataset is missing"),
    "ledger and none": ((*RELEASE, "--dataset", "x"), "--no-ledger cannot be combined"),
    "over a paid release": (changed(RELEASE, "out.release", "good.release"), "holds another release"),
    "no such folder": (
        changed(RELEASE, "out.release", "none/out.release"),
        "none/out.release does not exist",
    ),
    "output is a folder": (changed(RELEASE, "out.release", "."), "is a folder"),
    "no such release": (("show", "none.release"), "none.release does not exist"),
    "a folder as release": (("show", "."), "is a folder"),
    "not a release": (("show", "bounds.toml"), "is not a graphveil release"),
    "half a release": (("show", "half.release"), "is damaged"),
    "fit to an unknown format": (("fit", "half.release", "-o", "x.docx"), ".graphml, .csv, .json, .npz"),
    "fit by an unknown method": (("fit", "good.release", "-o", "x.csv", "--method", "magic"), "network, dense, ridge"),
    "fit with a wrong alpha": (("fit", "good.release", "-o", "x.csv", "--alpha", "much"), "alpha must be"),
    "penalty without use": (("fit", "good.release", "-o", "x.csv", "--method", "dense", "--alpha", "1"), "no penalty"),
    "no ledger there": (("ledger", "show", "--ledger", "none.db"), "none.db"),
    "nothing to plan": (
        ("plan", "--records", 0, "--variables", 3, "--epsilon", 1, "--delta", 1e-6),
        "--records must",
    ),
    "unknown pair": (("audit", "--pair", "nobody"), "pair"),
    "template over a file": (("bounds", "template", "patients.parquet", "-o", "bounds.toml"), "not overwritten"),
    "demo into a file": (("demo", "bounds.toml"), "is a file"),
}


@pytest.fixture
def folder(tmp_path, patients, bounds):
    for name, text in {
        "height": "height = [0, 3]",
        "text": "name = [0, 1]",
        "upside": "age = [110, 0]",
        "three": "age = [0, 1, 2]",
    }.items():
        (tmp_path / f"{name}.toml").write_text(f"rows_per_person = 1\n[bounds]\n{text}\n")
    (tmp_path / "more.toml").write_text("epsilon = 1\n[bounds]\nage = [0, 1]\n")
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    made = gv.release(
        rows, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6), assume_centered=True, adaptive=False
    )
    made.save(tmp_path / "good.release")
    (tmp_path / "half.release").write_bytes((tmp_path / "good.release").read_bytes()[:-40])
    return tmp_path


@pytest.mark.parametrize("name", MISTAKES)
def test_one_sentence(graphveil, folder, name):
    arguments, words = MISTAKES[name]
    before = sorted(folder.iterdir())
    said = graphveil(*arguments)
    assert said.code == 1, said.text
    assert words in said.err
    assert said.err.startswith("Error: ")
    assert said.err.count("\n") <= 2
    assert said.out == ""
    assert sorted(folder.iterdir()) == before, "nothing is written"
    told = graphveil(*arguments, "--json")
    assert told.code == 1
    assert words in told.json["error"]
    assert told.json["kind"]


@pytest.mark.parametrize("number", ["1_0", "１", "0x1", "1,5", "", " 1", "nan", "inf"])
def test_a_number_is_written_in_digits(graphveil, folder, number):
    """Python's float takes 1_0 for ten: a slip of the finger, and ten times the budget."""
    for command in (RELEASE, ("plan", "--records", 9, "--variables", 2, "--epsilon", 1, "--delta", 1e-6)):
        said = graphveil(*changed(command, 1, number))
        assert said.code == 2, said.text
        assert "--epsilon" in said.err
    assert graphveil("plan", "--records", "1_0", "--variables", 2, "--epsilon", 1, "--delta", 1e-6).code == 2
    assert graphveil("fit", "good.release", "-o", "x.csv", "--alpha", number or "1_0").code == 1


def test_several_files_are_one_source(graphveil, folder):
    """A shell that expands a pattern gives a command more than one file."""
    said = graphveil("release", "patients.parquet", *RELEASE[1:])
    assert said.code == 2, said.text
    assert "a pattern in quotes" in " ".join(said.err.split())
    assert "a pattern in quotes" not in graphveil("show", "good.release", "good.release").err


def test_what_is_wrong_is_called_as_it_was_typed(graphveil):
    ask = ("plan", "--records", 300, "--variables", 3, "--epsilon", 1, "--delta", 1e-6)
    assert "--variables must be" in graphveil(*changed(ask, 3, 5000)).err
    assert "--records must be" in graphveil(*changed(ask, 300, 0)).err
    said = graphveil(*ask, "--target", "1e-300")
    assert said.code == 1, said.text
    assert "target must be a number of at least 1e-05" in said.err


def test_a_ledger_without_a_name_is_not_the_default_one(graphveil, folder):
    gv.Ledger(folder / "ledger.db").create("people", gv.Budget(1.0, 1e-6))
    assert graphveil("ledger", "show").code == 0
    for command in (("ledger", "show"), (*RELEASE[:-1], "--dataset", "people"), (*RELEASE,)):
        for name in ("", " "):
            said = graphveil(*command, "--ledger", name)
            assert said.code == 1, said.text
            assert "--ledger" in said.err


def test_the_home_folder_is_where_the_shell_does_not_say_so(graphveil, folder, monkeypatch):
    home = folder / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert graphveil("ledger", "create", "people", "--epsilon=1", "--delta=1e-6", "--ledger=~/x.db").code == 0
    assert (home / "x.db").exists()
    monkeypatch.setenv("GRAPHVEIL_LEDGER", "~/x.db")
    assert graphveil("ledger", "show", "people").code == 0
    (folder / "bounds.toml").rename(home / "bounds.toml")
    (folder / "patients.parquet").rename(home / "patients.parquet")
    ask = (
        "release",
        "~/patients.parquet",
        "--epsilon=0.5",
        "--delta=1e-6",
        "--bounds=~/bounds.toml",
        "--dataset=people",
    )
    assert graphveil(*ask, "--output=~/x.release").code == 0
    assert graphveil("show", "~/x.release").code == 0
    assert graphveil("fit", "~/x.release", "--output=~/x.csv", "--method=dense").code == 0
    assert graphveil("report", "~/x.release", "--output=~/x.html").code == 0
    assert graphveil("bounds", "template", "~/patients.parquet", "--output=~/t.toml").code == 0
    assert graphveil("ledger", "export", "--output=~/all.json").code == 0
    assert {"x.release", "x.csv", "x.html", "t.toml", "all.json"} <= {path.name for path in home.iterdir()}
    assert not (folder / "~").exists()


LONG = {
    "upside down": f"rows_per_person = 1\n[bounds]\n{'n' * 100_000} = [1, 0]\n",
    "no pair": f"rows_per_person = 1\n[bounds]\n{'n' * 100_000} = 7\n",
    "unfilled": f'rows_per_person = 1\n[bounds]\n{"n" * 100_000} = ["?", "?"]\n',
    "twice": f"rows_per_person = 1\n[bounds]\n{'n' * 100_000} = [0, 1]\n{'n' * 100_000} = [0, 1]\n",
    "not there": f"rows_per_person = 1\n[bounds]\n{'n' * 100_000} = [0, 1]\n",
    "a setting": f"rows_per_person = 1\n{'n' * 100_000} = 1\n[bounds]\nage = [0, 1]\n",
}


@pytest.mark.parametrize("name", LONG)
def test_a_name_without_end_is_not_repeated(graphveil, folder, name):
    (folder / "long.toml").write_text(LONG[name])
    said = graphveil(*changed(RELEASE, "bounds.toml", "long.toml"))
    assert said.code == 1
    assert len(said.err) < 1100, said.err[:200]


def test_what_never_ends_is_not_read(graphveil, folder):
    os.mkfifo(folder / "pipe")
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**40)  # more than any memory, and hours to read
    for endless in ("/dev/zero", "pipe", "sparse"):
        for command in (
            ("show", endless),
            ("fit", endless, "-o", "x.csv"),
            ("report", endless),
            ("report", "good.release", "--forecast", endless),
            ("ledger", "verify", "--heads", endless),
            changed(RELEASE, "bounds.toml", endless),
        ):
            said = graphveil(*command)
            assert said.code == 1, said.text
            assert endless in said.err
    for place in ("pipe", "/dev/zero", "."):
        assert graphveil("ledger", "show", "--ledger", place).code == 1


def test_more_columns_than_memory_are_refused_before_they_are_charged(graphveil, folder):
    n_columns = 2**16
    names = [f"c{k}" for k in range(n_columns)]
    (folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * n_columns) + "\n")
    (folder / "wide.toml").write_text(
        "rows_per_person = 1\n[bounds]\n" + "".join(f"{name} = [0, 1]\n" for name in names)
    )
    ledger = gv.Ledger(folder / "ledger.db")
    ledger.create("people", gv.Budget(1.0, 1e-6))
    ask = changed(changed(RELEASE[:-1], "patients.parquet", "wide.csv"), "bounds.toml", "wide.toml")
    said = graphveil(*ask, "--dataset", "people")
    assert said.code == 1, said.text
    assert "65,536 columns needs about" in said.err
    assert not ledger.history("people")


def test_a_bug_shows_its_kind_and_nothing_else(graphveil, patients, bounds, monkeypatch):
    """An error that nobody foresaw could hold a record; the message is kept back."""

    def broken(*_, **__):
        raise ZeroDivisionError("4242.125")

    monkeypatch.setattr("graphveil.gate.release", broken)
    said = graphveil("release", patients, *RELEASE_OPTIONS, "--bounds", bounds, "--no-ledger")
    assert said.code == 70
    assert "ZeroDivisionError" in said.err
    assert "4242" not in said.text


def test_no_output_holds_a_record(graphveil, patients, bounds, tmp_path):
    """One record has a value far outside of its bounds; no message, card, report or network may show it."""
    runs = [
        graphveil("bounds", "template", patients, "-o", "t.toml"),
        graphveil("release", patients, *RELEASE_OPTIONS, "--bounds", bounds, "--no-ledger"),
        graphveil("show", "out.release"),
        graphveil("fit", "out.release", "-o", "n.json"),
        graphveil("report", "out.release"),
    ]
    texts = [run.text for run in runs] + [(tmp_path / name).read_text() for name in ("t.toml", "n.json", "report.html")]
    assert all(run.code == 0 for run in runs)
    assert not any("4242424242" in text for text in texts)


def test_strange_column_names_go_all_the_way(graphveil, tmp_path):
    names = [
        "<script>alert(1)</script>",
        'a "quoted" [bold]name[/bold] :cat:',
        "größe, µ\n\t\x07",
        "n" * 300,
        "\N{CAT FACE}\x7f",
    ]
    rows = np.random.default_rng(0).normal(size=(2000, 5))
    table = pa.table([pa.array(column) for column in rows.T], names=names)
    pyarrow.parquet.write_table(table, tmp_path / "odd.parquet")
    assert graphveil("bounds", "template", "odd.parquet", "--header").code == 0
    path = tmp_path / "bounds.toml"
    filled = path.read_text(encoding="utf-8").replace('["?", "?"]', "[-5, 5]").replace('= "?"', "= 1")
    path.write_text(filled, encoding="utf-8")
    said = graphveil("release", "odd.parquet", *RELEASE_OPTIONS, "--bounds", path, "--no-ledger")
    assert said.code == 0, said.text
    assert gv.Release.load(tmp_path / "out.release").columns == tuple(names)
    for ending in ("graphml", "csv", "json", "npz"):
        assert graphveil("fit", "out.release", "-o", f"x.{ending}", "--method", "dense").code == 0
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["variables"] == names
    assert graphveil("report", "out.release").code == 0
    assert "<script>alert" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def verbs(typer_app):
    for group in typer_app.registered_groups:
        yield from ((group.name, command.callback) for command in group.typer_instance.registered_commands)
    yield from ((None, command.callback) for command in typer_app.registered_commands)


@pytest.mark.parametrize(("group", "function"), list(verbs(app)), ids=lambda v: getattr(v, "__name__", str(v)))
def test_every_verb_has_help_with_an_example_and_json(graphveil, group, function):
    path = [name for name in (group, function.__name__) if name]
    said = graphveil(*path, "--help")
    assert said.code == 0
    assert f"Example: graphveil {' '.join(path)}" in " ".join(function.__doc__.split())
    assert "Example:" in said.out
    assert "--json" in said.out


def test_usage_mistakes_have_code_2(graphveil):
    assert graphveil("nonsense").code == 2
    assert graphveil("release").code == 2
    assert graphveil("plan", "--records", "many").code == 2


def run(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def test_the_program_itself(released, tmp_path):
    assert run("--version").stdout == f"graphveil {gv.__version__}\n"
    shown = run("show", released, cwd=tmp_path)
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout, "no colours in a pipe"
    assert "the number of records, 4000, is public" in " ".join(shown.stdout.replace("│", " ").split())
    piped = subprocess.run(f"{BIN} show {released} | head -1", shell=True, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    asked = {"_GRAPHVEIL_COMPLETE": "complete_bash", "COMP_WORDS": "graphveil re", "COMP_CWORD": "1"}
    assert run(env=os.environ | asked).stdout.split() == ["release", "regress", "report"]


def test_help_loads_nothing_heavy():
    """What it costs in time, beside `import numpy`, is measured by benchmarks/startup.py."""
    code = (
        "import sys\nfrom graphveil.cli._commands import app\nprint(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "sklearn", "numba", "opendp", "pyarrow", "sqlalchemy", "pandas"} & set(loaded)
