"""A table with a value that may appear nowhere, what a person would enter about it, and a client of the studio."""

import http.client
import json
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import graphveil as gv

CANARY = "4242424242.125"  # too long to come about by chance
BOUNDS = {"age": (0, 110), "bmi": (10, 60), "systolic": (60, 240)}


def patients(n, seed=5):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, n).round(1)
    bmi = (26 + 0.1 * (age - 50) + rng.normal(0, 3, n)).round(2)
    systolic = (130 + 0.5 * (age - 50) + rng.normal(0, 12, n)).round()
    age[7] = float(CANARY)
    return pa.table(
        {"age": age, "bmi": bmi, "systolic": systolic, "name": [CANARY if k == 9 else "Jo" for k in range(n)]}
    )


def write_table(path, n):
    writer = pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table
    writer(patients(n), path)
    return path


def draft(**changes):
    """What a person would have entered."""
    columns = [
        {"name": name, "role": "number", "lower": str(low), "upper": str(high), "source": "codebook, p. 3"}
        for name, (low, high) in BOUNDS.items()
    ]
    entered = {"columns": columns, "rows_per_person": "1", "epsilon": "1", "delta": "1e-6", "dataset": "patients-2026"}
    return entered | changes


class Studio:
    """A client that behaves as the page does, and keeps everything that it was sent."""

    def __init__(self, url, folder):
        self.url, self.folder, self.heard = url, folder, []
        self.table = self.review = None  # what this window shows
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def request(self, method, path, body=None, **headers):
        """A request with any headers; ``None`` leaves one out."""
        connection = http.client.HTTPConnection(self.host, timeout=300)
        sent = {"Host": self.host} | headers
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        self.heard.append(str(answer.headers) + content.decode())
        connection.close()
        return answer, content

    def get(self, name):
        answer, content = self.request("GET", self.path + name)
        return answer.status, content.decode()

    def post(self, name, content):
        """The page's POST: answer and text."""
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        return self.request("POST", self.path + name, json.dumps(content).encode(), **headers)

    def ask(self, name, **content):
        """The page's POST: status and JSON."""
        answer, text = self.post(name, content)
        return answer.status, json.loads(text)

    def open(self, data=None, public=False):
        """Open a table; by default the one that the studio was started with."""
        if data is None:
            data = json.loads(self.get("start")[1])["window"]["data"]
        status, said = self.ask("table", data=str(data), public=public)
        self.table = said.get("table")
        return status, said

    def about(self, name, entered):
        """Ask about the table."""
        if self.table is None:
            self.open()
        status, said = self.ask(name, table=self.table, draft=entered)
        if name == "review":
            self.review = said.get("review")
        return status, said

    def release(self, entered, confirmation="patients-2026"):
        """Review and confirm."""
        status, said = self.about("review", entered)
        return (status, said) if status != 200 else self.confirm(confirmation)

    def confirm(self, confirmation="patients-2026"):
        """Confirm what was reviewed last."""
        return self.ask("release", review=self.review, confirmation=confirmation)

    @property
    def job(self):
        """The release that was reviewed last."""
        return self.ask("job", review=self.review)[1]["job"]

    @property
    def ledger(self):
        return gv.Ledger(self.folder / "ledger.db")

    @property
    def charges(self):
        return len(self.ledger.history("patients-2026"))


def wait_for_job(studio):
    for _ in range(1200):
        job = studio.job
        if job["state"] != "running":
            return job
        time.sleep(0.05)
    raise AssertionError("the release does not end")


def hold(monkeypatch, job):
    """Jobs of a kind stop when they first say how far they are until this is set: a fast machine is seen at it too."""
    event, count = threading.Event(), job._count

    def count_and_wait(job, *done):
        count(job, *done)
        assert event.wait(120)

    monkeypatch.setattr(job, "_count", count_and_wait)
    yield event
    event.set()
