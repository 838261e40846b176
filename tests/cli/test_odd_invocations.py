"""Generated bad and odd invocations, and hostile files: a sentence and an exit code, and every file as it was.

800 invocations run every time, always the same, each by its number: ``invocation(number)`` repeats one. ``make
nightly`` runs 20,000 that were never tried before.
"""

import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphveil as gv
from graphveil.cli._network_formats import FORMATS, collect_network
from graphveil.report.page import write_report
from graphveil.spec.forecast import ForecastPoint

BIN = Path(sys.executable).parent / "graphveil"
CANARY = "271828.1828"
COUNT, PROCESSES = 800, 20
CODES = {0, 1, 2, 3, 4, 75}  # never a bug, never a release that is lost
REPLACEABLE = ("empty", "old.html", "old.csv", "old.json")  # by an output of their kind

NUMBERS = ["1", "0.5", "1e-6", "0", "-1", "1_0", "nan", "inf", "-inf", "1e400", "1e-400", "", " ", "１", "0x10", "1,5",
           "1e-300", "9" * 40, "ten", "1;2", "\x1b[2J", "--epsilon"]  # fmt: skip
FILES = ["records.parquet", "records.csv", "headerless.csv", "bounds.toml", "unfilled.toml", "upside.toml", "long.toml",
         "deep.toml", "good.release", "half.release", "evil.release", "seeded.release", "forecast.json", "deep.json",
         "ledger.db", "empty", "noise.bin", "link", "loop", "dangling", "pipe", "folder", "folder/inner.csv",
         "old.html", "old.csv", "old.json", "none", "none/none", ".", "", "-", "~/none", "~nobody-at-all/x", "x" * 300,
         "a\nb", "\x1b]0;title\x07", "größe.release", "*.csv", "[", "file:///none.csv", "new.release", "new.csv",
         "new.json", "new.svg", "new.npz", "new.graphml", "new.html", "NEW.CSV", "new"]  # fmt: skip
NAMES = ["clinic", "nobody", "", " ", "a" * 201, "=cmd()", "\x1b[2J", "café", "\u202egnp", "'; DROP TABLE x; --"]
LEDGERS = ["ledger.db", "none.db", "", "records.csv", "folder", "pipe", "good.release", "postgresql://127.0.0.1:9/none",
           "mysql://x/y", "sqlite:///none.db", ":memory:", "none/none.db", "sqlite://", "\x1b[2J"]  # fmt: skip
# What follows each verb: (flag or None, values that it may be given, how often it is there).
GRAMMAR = {
    ("show",): [(None, FILES, 1.0)],
    ("fit",): [
        (None, ["good.release", *FILES], 1.0),
        ("-o", FILES, 0.95),
        ("--method", ["dense", "dense", "ridge", "magic", ""], 0.9),
        ("--alpha", ["auto", "1", "-1", *NUMBERS], 0.3),
    ],
    ("report",): [(None, FILES, 1.0), ("-o", FILES, 0.5), ("--forecast", FILES, 0.3)],
    ("plan",): [
        ("--records", ["0", "-5", *NUMBERS], 0.95),
        ("--variables", ["0", "3000", *NUMBERS[3:]], 0.95),
        ("--epsilon", NUMBERS, 0.95),
        ("--delta", NUMBERS, 0.95),
        ("--target", NUMBERS, 0.2),
        ("--rows-per-person", NUMBERS, 0.2),
        ("-o", FILES, 0.5),
    ],
    ("audit",): [("--pair", ["nobody", ""], 1.0), ("--runs", NUMBERS, 0.5), ("--epsilon", NUMBERS, 0.5)],
    ("demo",): [(None, ["records.csv", "good.release", "none\0", "pipe", "/dev/null/x"], 1.0)],
    ("bounds", "template"): [(None, FILES, 1.0), ("-o", FILES, 0.6)],
    ("ledger", "create"): [
        (None, NAMES, 1.0),
        ("--epsilon", NUMBERS, 0.9),
        ("--delta", NUMBERS, 0.9),
        ("--ledger", LEDGERS, 0.7),
    ],
    ("ledger", "show"): [(None, NAMES, 0.3), ("--ledger", LEDGERS, 0.8)],
    ("ledger", "history"): [(None, NAMES, 0.9), ("--ledger", LEDGERS, 0.6)],
    ("ledger", "verify"): [("--heads", FILES, 0.6), ("--ledger", LEDGERS, 0.6)],
    ("ledger", "export"): [("-o", FILES, 0.9), ("--ledger", LEDGERS, 0.5)],
    ("release",): [
        (None, FILES, 1.0),
        ("--epsilon", ["0.1", "0.1", "0.1", *NUMBERS], 0.97),
        ("--delta", ["1e-6", "1e-6", "1e-6", *NUMBERS[2:]], 0.97),
        ("--bounds", ["bounds.toml"] * 20 + FILES, 0.97),
        ("-o", FILES, 0.97),
        ("--dataset", ["clinic"] * 5 + NAMES, 0.7),
        ("--ledger", ["ledger.db"] * 5 + LEDGERS, 0.5),
        ("--key", NAMES, 0.4),
    ],
}
FLAGS = ["--no-ledger", "--header", "--help", "-h", "--nonsense", "-x", "--version", "--", "extra", "-o"]


def invocation(number):
    """The arguments of one case."""
    rng = random.Random(number)
    if number % 20 == 0:  # no verb, or none that there is
        return [rng.choice([*NUMBERS, *NAMES, *FILES, "bounds", "ledger", "releas"]) for _ in range(rng.randrange(3))]
    verb = rng.choice([*GRAMMAR, ("release",), ("release",), ("fit",)])
    as_json = ["--json"] if rng.random() < 0.5 else []
    parts = []
    for flag, values, often in GRAMMAR[verb]:
        if rng.random() < often:
            value = rng.choice(values).replace("\0", "")
            parts.append([value] if flag is None else [flag, value] if rng.random() < 0.8 else [f"{flag}={value}"])
    if rng.random() < 0.25:
        parts.append([rng.choice(FLAGS)])
    if rng.random() < 0.3:
        rng.shuffle(parts)
    return [*verb, *as_json, *(word for part in parts for word in part)]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with one of everything."""
    folder = tmp_path_factory.mktemp("odd")
    rows = np.random.default_rng(0).normal(50, 10, size=(120, 2))
    table = pa.table({"age": rows[:, 0], "bmi": [float(CANARY), *rows[1:, 1]], "name": [f"Jo {CANARY}"] * 120})
    pyarrow.parquet.write_table(table, folder / "records.parquet")
    lines = "".join(f"{a:.1f},{b:.1f}\n" for a, b in rows)
    (folder / "records.csv").write_text(f"age,bmi\n{CANARY},20\n{lines}")
    (folder / "headerless.csv").write_text(f"{CANARY},{CANARY}\n{lines}")
    (folder / "bounds.toml").write_text("rows_per_person = 1\n[bounds]\nage = [0, 110]\nbmi = [10, 60]\n")
    (folder / "unfilled.toml").write_text('rows_per_person = "?"\n[bounds]\nage = ["?", "?"]\n')
    (folder / "upside.toml").write_text("rows_per_person = 1\n[bounds]\nage = [110, 0]\n")
    (folder / "long.toml").write_text(f"rows_per_person = 1\n[bounds]\n{'n' * 100_000} = [1, 0]\n")
    (folder / "deep.toml").write_text("a = " + "[" * 5000)
    (folder / "deep.json").write_text("[" * 100_000)
    made = gv.release(
        rows,
        domain=gv.Domain(bounds={"age": (0, 110), "bmi": (10, 60)}),
        budget=gv.Budget(20.0, 1e-3),  # so that no column of 120 rows drowns in noise, which would be a warning
    )
    made.save(folder / "good.release")
    (folder / "half.release").write_bytes(made.to_bytes()[:-40])
    evil = gv.Domain(columns=["=cmd()\x1b[2J", "</script>\n\x9b31m\u202e"], bounds=([0, 10], [110, 60]))
    replace(made, domain=evil).save(folder / "evil.release")
    seeded = gv.release(rows, domain=evil, budget=gv.Budget(1.0, 1e-3), adaptive=False, random_state=1)
    seeded.save(folder / "seeded.release")
    point = ForecastPoint(100, 1.0, 12.0, 0.1, 0.3, 0.9, 0.2)
    plan = gv.Forecast(gv.Budget(1.0, 1e-3), 2, 1, 4.0, point, 0.1, 1000, None, (point,), (point,))
    (folder / "forecast.json").write_text(plan.to_json())
    (folder / "old.json").write_text(plan.to_json())
    write_report(made, folder / "old.html")
    model = gv.PrivatePrecision(20.0, 1e-3).fit_release(made)
    FORMATS[".csv"].write(collect_network(model, made), folder / "old.csv")
    gv.Ledger(folder / "ledger.db").create("clinic", gv.Budget(1.0, 1e-6))
    (folder / "empty").touch()
    (folder / "noise.bin").write_bytes(random.Random(0).randbytes(5000))
    (folder / "link").symlink_to("records.csv")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("none/none")
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "folder" / "inner.csv").write_text("age,bmi\n50,20\n")
    return folder


@pytest.fixture
def surroundings(prepared, graphveil, monkeypatch):
    """Work in the prepared folder, which is the home too; do not wait long for a server that is not there."""
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("HOME", str(prepared))
    monkeypatch.setattr("graphveil.ledger.database._OUTAGE", 0.05)
    return prepared


def snapshot(folder):
    """What is there: fingerprints of files, kinds of everything else."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (mode, hashlib.sha256(content).hexdigest())
    return found


def check_words(arguments, said):
    """One clear end, whatever was asked."""
    assert said.code in CODES, said.text
    assert "Traceback" not in said.text
    assert CANARY not in said.text
    odd = {c for c in said.text if not c.isprintable()} - {"\n"}
    assert not odd, f"{odd} would reach a terminal"
    help_was_asked = {"--help", "-h", "--version"} & set(arguments)
    if said.code != 0 and not help_was_asked:
        if "--json" in arguments[:3]:
            error = json.loads(said.out)
            assert set(error) == {"error", "kind"}
            message = error["error"]
        elif said.out.lstrip().startswith("Usage:"):
            return  # nothing was asked
        else:
            assert said.out == ""
            message = said.err
        assert 10 < len(message) < 1200
    elif "--json" in arguments[:3] and not help_was_asked:
        assert isinstance(json.loads(said.out), dict)


def run_cases(graphveil, folder, numbers):
    """Run invocations, each in the folder as it was prepared but for the ledger; return how often each code came."""
    before, ended = snapshot(folder), {}
    kept = {name: (folder / name).read_bytes() for name in REPLACEABLE}
    watched = set(before) - {*REPLACEABLE, "ledger.db", "ledger.db-heads"}
    for number in numbers:
        arguments = invocation(number)
        try:
            said = graphveil(*arguments)
            check_words(arguments, said)
            after = snapshot(folder)
            changed = [name for name in watched if after.get(name) != before[name]]
            assert not changed, "destroyed"
        except BaseException as error:
            raise AssertionError(f"invocation({number}): {arguments}") from error
        ended[said.code] = ended.get(said.code, 0) + 1
        for name in set(after) - set(before):
            if (folder / name).is_file():
                (folder / name).unlink()
        for name, content in kept.items():
            (folder / name).write_bytes(content)
    gv.Ledger(folder / "ledger.db").verify()
    return ended


def test_odd_invocations(graphveil, surroundings):
    ended = run_cases(graphveil, surroundings, range(COUNT))
    assert {0, 1, 2, 4, 75} <= set(ended), ended
    assert ended[0] > COUNT // 20, "some of them are right"


@pytest.mark.nightly
def test_many_odd_invocations(graphveil, surroundings):
    start = int.from_bytes(os.urandom(6))
    assert len(run_cases(graphveil, surroundings, range(start, start + 20_000))) > 3


def test_the_same_as_processes(graphveil, surroundings):
    """What runs in this process is what the program does: the same words, the same codes."""
    done = 0
    for number in range(1, COUNT):
        arguments = invocation(number)
        if "postgresql" in " ".join(arguments) or done == PROCESSES:  # it would wait for a server
            continue
        said = graphveil(*arguments)
        if said.code == 0:  # what was made is there now, and a second run would find it
            continue
        ran = subprocess.run([BIN, *arguments], capture_output=True, check=False, timeout=300)
        assert (ran.returncode, ran.stdout.decode(), ran.stderr.decode()) == (said.code, said.out, said.err), arguments
        done += 1


def hostile_tables():
    """CSV files that somebody wrote by mistake, or on purpose."""
    good = f"age,bmi\n50,20\n{CANARY},21\n" + "".join(f"{30 + k % 40},{20 + k % 9}\n" for k in range(60))
    text = {
        "byte order mark": "\ufeff" + good,
        "CR only": good.replace("\n", "\r"),
        "CRLF": good.replace("\n", "\r\n"),
        "blank first line": "\n" + good,
        "blank lines": good.replace("\n", "\n\n"),
        "trailing commas": good.replace("\n", ",\n"),
        "ragged": good + "1\n1,2,3\n" * 5,
        "an open quote": good + '"' + CANARY,
        "quoted line breaks": good.replace("age,bmi", "age,bmi,note").replace(
            ",20\n", f',20,"a\n{CANARY},{CANARY}\n"\n'
        ),
        "no header": good.removeprefix("age,bmi\n"),
        "only a header": "age,bmi\n",
        "names twice": good.replace("age,bmi", "age,age"),
        "empty names": good.replace("age,bmi", "age,"),
        "spaces around names": good.replace("age,bmi", " age , bmi "),
        "evil names": good.replace("age,bmi", 'age,bmi,"=cmd|x!A0","\x1b[2J"').replace("50,20\n", "50,20,1,1\n"),
        "semicolons": good.replace(",", ";"),
        "tabs": good.replace(",", "\t"),
        "decimal commas": good.replace(",", ";").replace(".", ","),
        "thousands": good.replace("50,20", '"1,234.5","1 000"'),
        "dates": good.replace("50,20", "1962-04-01,01.02.2003"),
        "huge numbers": good + "1e999,-1e999\n" + "9" * 400 + ",1\n",
        "nan and infinity": good + "nan,inf\nNaN,-Infinity\n",
        "nothing": "",
        "one byte": "a",
        "a long line": good + "1" * 3_000_000 + ",2\n",
        "many columns": ",".join(f"c{k}" for k in range(20_000)) + "\n" + ",".join(["1"] * 20_000) + "\n",
        "a NUL": good + "\0,\0\n",
        "line separators": good + "1\u2028,2\u0085\n",
    }
    files = {name: content.encode() for name, content in text.items()}
    files |= {f"in {code}": good.encode(code) for code in ("utf-16", "utf-16-le", "utf-32")}
    files |= {
        "Latin-1 names": good.replace("bmi", "größe").encode("latin-1"),
        "bad UTF-8": good.encode() + b"\xff\xfe\xfa,1\n",
        "random": random.Random(1).randbytes(4000),
        "gzip by content": gzip.compress(good.encode()),
        "a release": b"graphveil-release 1\n" + bytes(100),
        "SQLite": b"SQLite format 3\0" + bytes(100),
    }
    return files


@pytest.mark.parametrize("name", hostile_tables())
def test_hostile_records(graphveil, tmp_path, name):
    content = hostile_tables()[name]
    (tmp_path / "x.csv").write_bytes(content)
    (tmp_path / "bounds.toml").write_text("rows_per_person = 1\n[bounds]\nage = [0, 110]\nbmi = [10, 60]\n")
    ask = ("release", "x.csv", "--epsilon", 1, "--delta", 1e-6, "--bounds", "bounds.toml", "--no-ledger")
    for command in ((*ask, "-o", "x.release"), ("bounds", "template", "x.csv", "-o", "t.toml")):
        said = graphveil(*command)
        check_words(command, said)
        assert said.code in (0, 1), said.text
        assert (tmp_path / "x.csv").read_bytes() == content
    if (tmp_path / "t.toml").exists():
        assert CANARY not in (tmp_path / "t.toml").read_text()
