"""A table with a value that may appear nowhere, what a person would enter about it, and a client of the studio."""

import http.client
import json
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

    def ask(self, name, **content):
        """The page's POST: status and JSON."""
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        answer, text = self.request("POST", self.path + name, json.dumps(content).encode(), **headers)
        return answer.status, json.loads(text)

    @property
    def ledger(self):
        return gv.Ledger(self.folder / "ledger.db")

    @property
    def charges(self):
        return len(self.ledger.history("patients-2026"))


def wait_for_job(studio):
    for _ in range(1200):
        job = json.loads(studio.get("job")[1])["job"]
        if job["state"] != "running":
            return job
        time.sleep(0.05)
    raise AssertionError("the release does not end")
