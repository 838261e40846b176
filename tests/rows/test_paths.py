"""Paths: a file counts once however it is reached, and a place that never answers or never ends is refused."""

import os
import re
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphveil as gv
from graphveil.exceptions import SourceError
from graphveil.rows import paths
from helpers.exact_sums import exact_total

ROWS = np.random.default_rng(0).normal(size=(60, 2))
DOMAIN = gv.Domain(columns=["a", "b"], bounds=(-3, 3))
BUDGET = gv.Budget(1.0, 1e-6)
EXPECTED = exact_total(ROWS, DOMAIN)


def write(path, rows=ROWS):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(zip("ab", rows.T, strict=True))), path)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files that hold all rows, one in a folder of its own; paths are relative to them."""
    write(tmp_path / "d" / "x.parquet", ROWS[:20])
    write(tmp_path / "d" / "e" / "y.parquet", ROWS[20:])
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ------------------------------------------------------------------ a file counts once
def linked(target, link, make=os.symlink):
    make(target, link)
    return str(link)


TWICE = {
    "listed twice": lambda f: ["d/x.parquet", "d/x.parquet"],
    "its directory too": lambda f: ["d", "d/x.parquet"],
    "a directory in a directory": lambda f: ["d", "d/e"],
    "another spelling": lambda f: ["d/x.parquet", "./d/x.parquet"],
    "a detour": lambda f: ["d/e/../x.parquet", "d//x.parquet"],
    "an absolute path": lambda f: ["d/x.parquet", f / "d" / "x.parquet"],
    "two patterns": lambda f: ["d/*.parquet", "d/[x-z].parquet"],
    "a pattern and a deep one": lambda f: ["d/*.parquet", "d/**"],
    "a uri": lambda f: ["d/x.parquet", (f / "d" / "x.parquet").as_uri()],
    "two spellings of a uri": lambda f: [(f / "d").as_uri(), (f / "d").as_uri() + "/./e/"],
    "a link": lambda f: ["d", linked(f / "d" / "x.parquet", f / "other.parquet")],
    "a link in the same directory": lambda f: [os.path.dirname(linked("x.parquet", f / "d" / "z.parquet"))],
    "a link to a directory": lambda f: ["d", linked(f / "d" / "e", f / "f")],
    "a hard link": lambda f: ["d", linked("d/x.parquet", f / "h.parquet", os.link)],
    "a hard link in the same directory": lambda f: [linked("d/x.parquet", f / "d" / "h.parquet", os.link) and "d"],
    "with labels beside it": lambda f: (["d", "d/x.parquet"], [0] * 80),
}


@pytest.mark.parametrize("kind", TWICE)
def test_a_file_that_is_reached_twice_is_refused_by_its_path(kind, folder):
    charged = []

    class Ledger:
        def charge(self, dataset, event):
            charged.append(event)

    source = TWICE[kind](folder)
    options = {"labels": gv.Labels([0, 1]), "adaptive": False} if isinstance(source, tuple) else {}
    with pytest.raises(SourceError, match=r"The file '.*parquet' is reached twice") as caught:
        gv.release(source, domain=DOMAIN, budget=BUDGET, ledger=Ledger(), dataset="d", **options)
    assert re.search(r"'[^']*(x|y|z|h|other)\.parquet'", str(caught.value))
    assert charged == []


def test_batches_are_no_paths(folder):
    """They are opened one by one, so nobody would notice that a file comes twice."""
    frame = pq.read_table("d/x.parquet")
    for source in ([frame, "d/x.parquet"], lambda: iter(["d/x.parquet"] * 2), [["d/x.parquet"], ["d/x.parquet"]]):
        with pytest.raises(SourceError, match="A batch is a path"):
            exact_total(source, DOMAIN)
    with pytest.raises(SourceError, match="A batch is a path"):
        exact_total([("d/x.parquet", [0] * 20)] * 2, DOMAIN, gv.Labels([0, 1]))


ONCE = {
    "a directory": lambda f: "d",
    "both files": lambda f: ["d/x.parquet", "d/e/y.parquet"],
    "through a link": lambda f: linked(f / "d", f / "link"),
    "a file and a link to the other": lambda f: ["d/x.parquet", linked(f / "d" / "e" / "y.parquet", f / "l.parquet")],
    "patterns that do not meet": lambda f: ["d/*.parquet", "d/*/*.parquet"],
    "a link back up": lambda f: linked("..", f / "d" / "e" / "up") and "d",
    "two links back up": lambda f: linked(".", f / "d" / "1") and linked("..", f / "d" / "e" / "2") and "d",
    "links back up, and a pattern": lambda f: linked(".", f / "d" / "e" / "1") and "d/**/*.parquet",
}
HIDDEN = ["_old/x", ".x", "_x", ".ipynb_checkpoints/x-checkpoint", "_temporary/0/task/x", "e/_temporary/x", "e/.x"]


@pytest.mark.parametrize("kind", ONCE)
def test_what_is_reached_once_counts_once(kind, folder):
    np.testing.assert_array_equal(exact_total(ONCE[kind](folder), DOMAIN), EXPECTED)


@pytest.mark.parametrize("source", ["d", "d//", "./d", "d/**", "d/**/*.parquet", "./d/**", "*/**/?.parquet", "**"])
def test_hidden_files_are_skipped(source, folder):
    """What programs have left beside the files, by directories and by patterns alike."""
    for name in HIDDEN:
        write(folder / "d" / f"{name}.parquet")
    np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)


def test_hidden_files_are_read_if_they_are_named(folder):
    """Or their directory; a pattern that only hidden files match says why it matches none."""
    write(folder / "d" / "_old" / "x.parquet")
    write(folder / "d" / ".x.parquet")
    for source in ("d/_old/x.parquet", "d/_old", "d/_old/*.parquet", "d/.x.parquet"):
        np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)
    for source in ("d/.*.parquet", "d/_*/*.parquet"):
        with pytest.raises(SourceError, match=r"matches no file .* skip files and directories whose names begin with"):
            exact_total(source, DOMAIN)


def test_files_without_numbers_of_their_own_are_told_apart_by_their_paths(folder, monkeypatch):
    """Some file systems of networks give every file the number 0."""
    found = os.stat

    def without_numbers(path, **options):
        status = [*found(path, **options)]
        return os.stat_result([status[0], 0, *status[2:]])

    with monkeypatch.context() as patch:
        patch.setattr(paths.os, "stat", without_numbers)
        places = paths.find_files(["d/x.parquet", "d/e/y.parquet"], [".parquet"])
        assert len(places) == 2
        with pytest.raises(SourceError, match="is reached twice"):
            paths.find_files(["d/x.parquet", "./d/x.parquet"], [".parquet"])


# ------------------------------------------------------------------ what is no file
def test_what_is_no_file_is_refused_at_once(folder):
    os.mkfifo("pipe.csv")
    os.symlink("/dev/zero", "zero.csv")
    os.symlink("nowhere", "dead.parquet")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.csv")
        for name in ("pipe.csv", "zero.csv", "socket.csv", "/dev/zero"):
            with pytest.raises(SourceError, match=rf"'{name}' is not a file but a pipe, a device"):
                exact_total(name, DOMAIN)
        with pytest.raises(SourceError, match=r"'dead.parquet' is neither a file, a directory nor"):
            exact_total("dead.parquet", DOMAIN)
    for name in ("pipe.csv", "zero.csv", "dead.parquet"):
        inside = folder / f"with_{name}"
        inside.mkdir()
        os.rename(name, inside / name)
        write(inside / "x.parquet")
        for source in (str(inside), f"{inside}/*"):
            with pytest.raises(SourceError, match=rf"{name}' is not a file but a pipe, a device.* or a broken link"):
                exact_total(source, DOMAIN)


# ------------------------------------------------------------------ another machine
class Store(BaseHTTPRequestHandler):
    """As much of S3 as reading takes: HEAD and GET of an object, and a list of them."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar = {}

    def answer(self, status, body=b"", length=None, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Content-Type", kind)
        self.send_header("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        body = self.objects.get(self.path.partition("?")[0])
        self.answer(404 if body is None else 200, length=0 if body is None else len(body))

    def do_GET(self):
        place, _, options = self.path.partition("?")
        if "list-type" in options:
            keys = [key.removeprefix("/bucket/") for key in self.objects]
            rows = "".join(f"<Contents><Key>{k}</Key><Size>1</Size></Contents>" for k in keys)
            xml = f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
            return self.answer(200, xml.encode(), kind="application/xml")
        body = self.objects[place]
        first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups()
        return self.answer(206, body[int(first) : int(last) + 1])

    def log_message(self, *args):
        pass


@pytest.fixture
def credentials(monkeypatch):
    for name, value in (("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", "s"), ("EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def store(credentials, tmp_path):
    """The options of a URI of a store on this machine, with two objects."""
    for name, rows in (("x", ROWS[:20]), ("y", ROWS[20:])):
        Store.objects[f"/bucket/d/{name}.parquet"] = write(tmp_path / f"{name}.parquet", rows).read_bytes()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"?region=us-east-1&scheme=http&endpoint_override=127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_objects_of_a_store_give_the_same_bits_and_count_once(store):
    x, y = (f"s3://bucket/d/{name}.parquet{store}" for name in "xy")
    for source in ([x, y], f"s3://bucket/d/*.parquet{store}"):
        np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)
    for again in (x, x.replace("/d/", "/d/./"), x.replace("/x", "/*")):
        with pytest.raises(SourceError, match=r"The file 'bucket/d/.*x.parquet' is reached twice"):
            exact_total([x, y, again], DOMAIN)


def test_no_error_shows_the_credentials_of_a_uri(store):
    for source, message in (
        (f"s3://KEY:HIDDEN@bucket/none.parquet{store}", r"'s3://bucket/none.parquet' is neither"),
        (f"s3://KEY:HIDDEN@bucket/none*.parquet{store}", r"'s3://bucket/none\*.parquet' matches no file"),
        ("s3://KEY:HID@DEN@bucket/x.parquet?region=HIDDEN&nothing=1", "failed while it was opened"),
    ):
        with pytest.raises(SourceError, match=message) as caught:
            exact_total(source, DOMAIN)
        assert "HID" not in str(caught.value)


@pytest.fixture
def silent():
    """A server that takes connections and never says a word; in the end it closes them."""
    taken, over = [], threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)

        def take():
            while not over.is_set():
                with suppress(TimeoutError):
                    taken.append(listener.accept()[0])

        thread = threading.Thread(target=take)
        thread.start()
        yield f"&scheme=http&endpoint_override=127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join()
    for connection in taken:
        connection.close()


@pytest.mark.parametrize(
    "uri", ["s3://bucket/x.parquet?region=us-east-1", "gs://anonymous@bucket/x.parquet?retry_limit_seconds=8"]
)
def test_a_place_that_never_answers_is_given_up(uri, silent, credentials, monkeypatch):
    monkeypatch.setattr(paths, "_ANSWER_SECONDS", 1.0)
    shown = uri.partition("?")[0].replace("anonymous@", "")
    with pytest.raises(SourceError, match=f"'{shown}' did not respond within 1 seconds"):
        exact_total(uri + silent, DOMAIN)
