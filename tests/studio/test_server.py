"""Who does not know the address gets nothing; who does gets no value of the table before it is released."""

import json
import shlex
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphveil as gv
from graphveil.cli._commands import call
from graphveil.exceptions import InvalidParameter
from graphveil.studio.jobs import RehearsalJob, ReleaseJob
from helpers.studios import BOUNDS, CANARY, draft, patients, wait_for_job, write_table


@pytest.fixture
def opened(studio, tmp_path):
    return with_account(studio(write_table(tmp_path / "patients.csv", 500)))


def with_account(made):
    made.ledger.create("patients-2026", gv.Budget(3.0, 1e-6))
    return made


def nothing(answer):
    reply, content = answer
    return reply.status in (403, 404) and content == b""


def test_a_wrong_token_gets_nothing(opened):
    right = opened.path.strip("/")
    wrong = ["", "x", right[:-1], right + "x", right[:-1] + ("A" if right[-1] != "A" else "B"), right.swapcase()]
    for token in wrong:
        for name in ("", "state", "page.js", "report-" + "0" * 64, "accounts"):
            assert nothing(opened.request("GET", f"/{token}/{name}")), token
    for path in ("/", "/favicon.ico", f"/{right}", f"/{right}/../{right}/state", f"/x/{right}/state"):
        assert nothing(opened.request("GET", path)), path


@pytest.mark.parametrize("host", ["localhost:{port}", "evil.example:{port}", "127.0.0.1", "[::1]:{port}", "", None])
def test_another_host_name_gets_nothing(opened, host):
    """A name of the attacker that leads here: DNS rebinding."""
    port = opened.host.partition(":")[2]
    named = None if host is None else host.format(port=port)
    assert nothing(opened.request("GET", opened.path + "state", Host=named))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "https://{host}", "http://localhost:{port}"]
)
def test_another_origin_gets_nothing(opened, origin):
    named = origin.format(host=opened.host, port=opened.host.partition(":")[2])
    assert nothing(opened.request("GET", opened.path + "state", Origin=named))
    headers = {"Origin": named, "Content-Type": "application/json"}
    assert nothing(opened.request("POST", opened.path + "window", b'{"window": {}}', **headers))


def test_what_a_page_of_another_site_can_send_is_refused(opened):
    """Without asking first, a browser sends GET, and POST as a form or as text."""
    for site in ("cross-site", "same-site"):
        assert nothing(opened.request("GET", opened.path + "state", **{"Sec-Fetch-Site": site}))
        frame = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": "iframe"}
        assert nothing(opened.request("GET", opened.path, **frame))
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        headers = {"Origin": f"http://{opened.host}", "Content-Type": kind}
        assert nothing(opened.request("POST", opened.path + "window", b'{"window": {}}', **headers))
    headers = {"Content-Type": "application/json"}
    assert nothing(opened.request("POST", opened.path + "window", b'{"window": {}}', **headers))
    for method in ("OPTIONS", "PUT", "DELETE", "TRACE", "HEAD"):
        answer, content = opened.request(method, opened.path + "state", Origin="http://evil.example")
        assert answer.status == 501
        assert content == b""
    assert "Access-Control" not in "".join(opened.heard)


def test_a_link_with_the_token_opens_the_page(opened):
    """In a window of its own, as the file does by which the program opens the browser."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}
    answer, content = opened.request("GET", opened.path, **headers)
    assert answer.status == 200
    assert b"graphveil studio" in content
    assert nothing(opened.request("GET", opened.path + "state", **headers))


def test_every_answer_is_strict(opened):
    for name in ("", "page.js", "page.css", "report.css", "state", "report-" + "0" * 64, "nowhere"):
        answer, _ = opened.request("GET", opened.path + name)
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "frame-ancestors" in policy
        assert name.startswith("report-") or policy.startswith("default-src 'none'")
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in answer.headers
        assert "Python" not in answer.headers["Server"]


def test_only_this_computer_is_served(opened):
    port = int(opened.host.partition(":")[2])
    others = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in [*others, "127.0.0.2"]:
        with pytest.raises(ConnectionRefusedError), socket.create_connection((address, port), timeout=2):
            pass


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"x"', b"[" * 100_000, b"\xff"])
def test_nonsense_is_refused(opened, body):
    headers = {"Origin": f"http://{opened.host}", "Content-Type": "application/json"}
    answer, content = opened.request("POST", opened.path + "window", body, **headers)
    assert (answer.status, content) == (400, b"")


def test_too_much_is_refused_unread(opened):
    headers = {"Origin": f"http://{opened.host}", "Content-Type": "application/json", "Content-Length": "99999999999"}
    answer, _ = opened.request("POST", opened.path + "window", None, **headers)
    assert answer.status == 413


HOSTILE = [
    {},
    {"columns": "x"},
    {"columns": [1]},
    {"columns": []},
    draft(rows_per_person="two"),
    draft(rows_per_person="1.5"),
    draft(rows_per_person="0"),
    draft(epsilon="-1"),
    draft(epsilon="nan"),
    draft(delta="2"),
    draft(delta=None),
    draft(dataset="nobody"),
    draft(dataset=""),
    draft(columns=[{"name": "age", "role": "number", "lower": "5", "upper": "5"}]),
    draft(columns=[{"name": "age", "role": "number", "lower": "", "upper": "1"}]),
    draft(columns=[{"name": "weight", "role": "number", "lower": "0", "upper": "1"}]),
    draft(columns=[{"name": name, "role": "person"} for name in ("name", "bmi")]),
]


def test_no_value_is_told_before_the_release(studio, table, capfd):
    """Not by the schema, forecasts, texts, errors or logs; nor is anything charged by mistakes."""
    opened = with_account(studio(table))
    opened.get("state")
    for entered in HOSTILE:
        for name in ("columns", "forecast", "codebook"):
            opened.about(name, entered)
        status, said = opened.release(entered, str(entered.get("dataset")))
        if status == 200:  # only the table can tell that a column is not there
            assert wait_for_job(opened)["state"] == "failed", said
    opened.about("forecast", draft(people="4000", width="4"))
    opened.about("review", draft())
    for path in ("nowhere.csv", "x\0y", str(opened.folder / "ledger.db")):
        assert opened.ask("table", data=path)[0] in (400, 500)
    assert opened.get("report-" + "0" * 64)[0] == 400
    assert opened.charges == 0
    everything = "".join(opened.heard) + "".join(capfd.readouterr())
    assert len(everything) > 10_000
    for part in (CANARY, CANARY[:8]):
        assert part not in everything


def test_a_file_without_a_header_is_not_repeated(studio, tmp_path):
    path = tmp_path / "records.csv"
    path.write_text(f"{CANARY},27.5,120\n44,30.1,133\n")
    opened = studio()
    status, said = opened.ask("table", data=str(path))
    assert status == 400
    assert "first line" in said["error"]
    assert CANARY not in "".join(opened.heard)


def test_bounds_are_imported(opened):
    text = 'person = "name"\n[bounds]\nage = [0, 110]\n"bmi" = [10.5, 60]\nx = ["?", "?"]\n'
    status, said = opened.ask("import", text=text)
    assert status == 200
    assert said["person"] == "name"
    assert [(c["name"], c["lower"], c["upper"]) for c in said["columns"]] == [
        ("age", "0", "110"),
        ("bmi", "10.5", "60"),
    ]
    for wrong in ("x = ", "[other]\n", "[[bounds]]\n"):
        assert opened.ask("import", text=wrong)[0] == 400


def test_the_forecast_is_that_of_plan(opened):
    status, said = opened.about("forecast", draft(people="5000", width="4"))
    plan = gv.plan(n=5000, p=3, budget=gv.Budget(1.0, 1e-6))
    assert status == 200
    assert (said["n_eff"], said["smallest_edge"]) == (plan.here.n_eff, plan.here.smallest_edge)
    assert 54 < said["guess"] < 55.5
    assert opened.about("forecast", draft(people="0", width="4"))[0] == 400
    assert opened.about("forecast", draft(people="5"))[0] == 400
    secret = draft(people="5000", width="4", neighbours="add-remove")
    secret["columns"].append({"name": "name", "role": "group", "levels": "Jo, Al"})
    plan = gv.plan(n=2500, p=3, budget=gv.Budget(1.0, 1e-6), neighbours="add-remove")  # of one of two groups
    assert opened.about("forecast", secret)[1]["n_eff"] == plan.here.n_eff
    del secret["columns"][-1]
    plan = gv.plan(n=5000, p=3, budget=gv.Budget(1.0, 1e-6), neighbours="add-remove")
    assert opened.about("forecast", secret)[1]["n_eff"] == plan.here.n_eff


def test_the_answer_without_noise_is_shown_of_public_tables_alone(studio, tmp_path):
    """Only if it was said, only after the release, and never of a file that was opened besides."""
    table = write_table(tmp_path / "patients.parquet", 4000)
    opened = with_account(studio())

    def beside():
        (made,) = opened.job["releases"]
        return opened.ask("beside", review=opened.review, release=made["id"])[1]["pairs"]

    for public in (False, True):
        assert opened.open(table, public)[1]["public"] is public
        opened.release(draft())
        assert wait_for_job(opened)["state"] == "done"
        pairs = beside()
        assert len(pairs) == (3 if public else 0)
    rows = np.column_stack([patients(4000)[name].to_numpy() for name in BOUNDS])
    truth = gv.metrics.partial_correlations(np.linalg.inv(np.cov(np.clip(rows, *np.transpose([*BOUNDS.values()])).T)))
    for pair in pairs:
        i, j = (list(BOUNDS).index(pair[end]) for end in ("first", "second"))
        assert pair["exact"] == pytest.approx(truth[i, j], abs=1e-9)
    gv.Release.load(next(opened.folder.glob("*.release"))).save(tmp_path / "another.release")
    (another,) = opened.ask("open", path=str(tmp_path / "another.release"))[1]["releases"]
    assert another["id"] == opened.job["releases"][0]["id"], "the same release"
    other = gv.release(patients(4000).select([*BOUNDS]), domain=gv.Domain(BOUNDS), budget=gv.Budget(2.0, 1e-6))
    other.save(tmp_path / "other.release")
    (found,) = opened.ask("open", path=str(tmp_path / "other.release"))[1]["releases"]
    assert opened.ask("beside", review=opened.review, release=found["id"])[1] == {"pairs": []}, "not of this table"
    for public in ("yes", 1, None):
        assert opened.open(table, public)[1]["public"] is False
    write_table(table, 50)
    said = opened.ask("beside", review=opened.review, release=opened.job["releases"][0]["id"])[1]
    assert "have changed" in said["error"]


@pytest.mark.parametrize("sizes", [(300, 300), (300, 600), (600, 300), (0, 300), (300, 0), (1, 0), (0, 0)])
def test_passes_do_not_tell_how_large_secret_groups_are(sizes):
    """Nor whether anybody is in one."""
    table = pa.table({"x": np.zeros(sum(sizes)), "ward": ["A"] * sizes[0] + ["B"] * sizes[1]})
    domain = gv.Domain({"x": (-1, 1)}, neighbours="add-remove")
    asked = {"domain": domain, "budget": gv.Budget(1.0, 1e-6), "by": {"ward": ["A", "B"]}, "adaptive": False}
    job = ReleaseJob("key", lambda progress: gv.release(table, **asked, progress=progress))
    job.wait()
    assert job.describe() == {"key": "key", "state": "done", "pass": 2, "error": None}


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_groups_are_released_read_and_compared(studio, tmp_path, neighbours):
    """One charge, a file for each, a report for each; and the same by the command that the review shows."""
    table = patients(4000).set_column(3, "ward", pa.array(["A", "B"] * 2000))
    pyarrow.parquet.write_table(table, tmp_path / "patients.parquet")
    opened = with_account(studio(tmp_path / "patients.parquet"))
    entered = draft(neighbours=neighbours)
    entered["columns"].append({"name": "ward", "role": "group", "levels": "A, B"})
    shown = opened.about("review", entered)[1]
    assert "--by ward" in shown["command"]
    opened.ask("files", review=opened.review)
    opened.release(entered)
    assert wait_for_job(opened)["state"] == "done"
    made = opened.job
    names = [release["name"] for release in made["releases"]]
    assert names == ["ward = A", "ward = B"]
    assert opened.charges == 1
    whole, *parts = shown["release_files"]
    assert [*gv.GroupedRelease.load(opened.folder / whole)] == ["A", "B"]
    for place, path in enumerate(parts):
        number = gv.Release.load(opened.folder / path).n_samples
        assert abs(number - 2000) < (1 if neighbours == "replace" else 1000)  # with noise of tens
        assert opened.get(f"report-{made['releases'][place]['id']}")[0] == 200
    assert opened.get(f"report-{made['groups']}")[0] == 200
    first, second = (release["id"] for release in made["releases"])
    found = opened.ask("compare", first=first, second=second, overlap=False)[1]
    assert {table["what"]: table["compared"] for table in found["tables"]} == {
        "partial correlation": 3,
        "mean": 3,
        "standard deviation": 3,
    }
    made = {path: (opened.folder / path).read_bytes() for path in shown["release_files"]}
    for path in made:
        (opened.folder / path).unlink()
    words = shlex.split(shown["command"].replace("\\\n", " "))
    words[words.index("--bounds") + 1] = str(opened.folder / shown["codebook_file"])
    words[words.index("-o") + 1] = str(opened.folder / whole)
    assert call(words[1:]) == 0
    assert {path: (opened.folder / path).read_bytes() for path in made} == made
    assert opened.charges == 1


def test_a_second_release_is_opened_and_compared(studio, tmp_path):
    rows = patients(4000).select([*BOUNDS])
    for name, budget in (("one", 1.0), ("two", 2.0)):
        made = gv.release(rows, domain=gv.Domain(bounds=BOUNDS), budget=gv.Budget(budget, 1e-6), random_state=0)
        made.save(tmp_path / f"{name}.release")
    opened = studio(releases=[str(tmp_path / "one.release")])
    assert opened.get("start")[0] == 200
    assert opened.ask("open", path=str(tmp_path / "nothing.release"))[0] == 400
    (one,) = json.loads(opened.get("start")[1])["releases"]
    (two,) = opened.ask("open", path=str(tmp_path / "two.release"))[1]["releases"]
    assert opened.ask("compare", first=one["id"], second="three", overlap=True)[0] == 400
    status, found = opened.ask("compare", first=one["id"], second=two["id"], overlap=True)
    assert status == 200
    assert found["names"] == ["one", "two"]
    both = gv.compare(*(gv.Release.load(tmp_path / f"{name}.release") for name in ("one", "two")), overlap=True)
    means = next(table for table in found["tables"] if table["what"] == "mean")["rows"]
    assert {row["of"]: row["difference"] for row in means} == dict(
        zip(both.means.labels, both.means.difference, strict=True)
    )


@pytest.mark.nightly
def test_a_rehearsal_is_watched(opened):
    entered = draft(people="2000", width="4")
    while (found := opened.about("rehearse", entered)[1])["state"] == "running":
        time.sleep(0.05)
    assert found["state"] == "done"
    assert found["done"] == found["total"]
    assert found["forecast"]["n_eff"] == gv.plan(2000, 3, gv.Budget(1.0, 1e-6), rehearse=True).here.n_eff


def test_a_rehearsal_tells_how_far_it_is():
    begun, go_on = threading.Event(), threading.Event()

    def make(count):
        count(3, 11)
        begun.set()
        assert go_on.wait(120)
        raise InvalidParameter("p must be smaller.")

    job = RehearsalJob(make)
    assert begun.wait(120)
    assert job.describe() == {"state": "running", "done": 3, "total": 11, "error": None}
    go_on.set()
    job.wait()
    assert job.describe() == {"state": "failed", "done": 3, "total": 11, "error": "p must be smaller."}


def test_the_first_screen_needs_nothing_heavy(tmp_path):
    """Before the page is drawn neither numpy nor a database is loaded; the terminal shows the address at once."""
    write_table(tmp_path / "patients.csv", 10)
    code = (
        "import sys\n"
        "from graphveil.cli._commands import app\n"
        "from graphveil.studio.demo import demo_session\n"
        "from graphveil.studio.server import StudioServer\n"
        "from graphveil.studio.session import Session\n"
        "with StudioServer(Session('ledger.db', 'patients.csv')) as server:\n"
        "    assert server.session.describe()['window']['data'] == 'patients.csv'\n"
        "print(*{name.partition('.')[0] for name in sys.modules})\n"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    heavy = {"numpy", "scipy", "numba", "pyarrow", "sqlalchemy", "opendp", "pandas"}
    assert not heavy & set(said.split())
