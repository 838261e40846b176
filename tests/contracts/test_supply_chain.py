"""What comes in, what goes out: pinned packages, a bill of materials, no network, files with the user's permissions."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import minimum_versions
import numpy as np
import pytest

import graphveil as gv

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()


def plain(name):
    return re.sub(r"[-_.]+", "-", name.lower())


def test_every_dependency_is_locked_with_version_and_hash_and_without_a_place():
    entries = LOCK.replace("\\\n", " ").splitlines()
    pinned = [re.fullmatch(r"([\w.-]+)==(\S+)( ; .+?)? ( *--hash=sha256:[0-9a-f]{64} ?)+", entry) for entry in entries]
    assert all(pinned)
    names = {plain(match[1]) for match in pinned}
    wanted = {plain(re.match(r"[\w-]+", text)[0]) for text in minimum_versions.oldest()}
    assert wanted <= names, f"run `make lock`: {wanted - names}"
    assert "://" not in LOCK


GUARANTEED_BY = ["numpy", "numba", "pyarrow"]  # that rows become the integers, and the sums, of the proofs


@pytest.mark.parametrize("name", GUARANTEED_BY)
def test_what_the_guarantee_rests_on_is_a_version_that_the_tests_have_seen(name):
    (text,) = [text for text in minimum_versions.FILE["project"]["dependencies"] if re.match(rf"{name}\b", text)]
    low, high = re.fullmatch(r"[a-z]+>=([\d.]+),<([\d.]+)", text).groups()

    def number(version):
        return tuple(map(int, re.findall(r"\d+", version)[:2]))

    assert number(low) <= number(importlib.metadata.version(name)) < number(high)


OFFLINE = """
import runpy, sys
def refuse(event, arguments):
    if event.startswith("socket.") and event != "socket.__new__":
        raise PermissionError(f"network: {event} {arguments}")
sys.addaudithook(refuse)
"""


def run_offline(code, folder):
    command = [sys.executable, "-W", "error", "-c", OFFLINE + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_demo_runs_without_a_network(tmp_path):
    demo = run_offline(f"runpy.run_path({str(ROOT / 'examples' / 'quickstart.py')!r}, run_name='__main__')", tmp_path)
    assert demo.returncode == 0, demo.stderr
    assert "differentially private" in demo.stdout


def test_the_guard_sees_an_attempt(tmp_path):
    tried = run_offline("import socket; socket.create_connection(('127.0.0.1', 9))", tmp_path)
    assert "PermissionError: network: socket." in tried.stderr


def test_no_module_imports_a_network_library():
    network = re.compile(
        r"^\s*(?:import|from) (socket|urllib|http|requests|ftplib|smtplib|ssl|asyncio)\b", re.MULTILINE
    )
    server = ROOT / "src" / "graphveil" / "studio" / "server.py"  # which only listens: see the next test
    for path in (ROOT / "src").rglob("*.py"):
        found = set(network.findall(path.read_text()))
        assert found == ({"http"} if path == server else set()), path


LISTENING = """
import http.client, sys, threading
from graphveil.studio.server import StudioServer
from graphveil.studio.session import Session
heard = []
sys.addaudithook(lambda event, arguments: heard.append((event, arguments[1:])) if event.startswith("socket.") else None)
server = StudioServer(Session("ledger.db", "records.csv"))
threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
ours = [event for event in heard if event[0] != "socket.__new__"]
client = http.client.HTTPConnection(server.host)
client.request("GET", f"/{server.token}/start")
assert b"records.csv" in client.getresponse().read()
headers = {"Origin": f"http://{server.host}", "Content-Type": "application/json"}
client.request("POST", f"/{server.token}/table", b'{"data": "records.csv"}', headers)
assert b"age" in client.getresponse().read()
server.shutdown()
mine = {"socket.__new__", "socket.getaddrinfo", "socket.connect"}  # of the client above
assert ours == [("socket.bind", (("127.0.0.1", 0),))], ours
assert {event for event, _ in heard[len(ours) + 1 :]} <= mine, heard
"""


def test_the_studio_listens_to_this_computer_and_calls_nobody(tmp_path):
    """It binds 127.0.0.1 and looks up no name, as the standard library's server would."""
    (tmp_path / "records.csv").write_text("age,bmi\n1,2\n")
    ran = subprocess.run([sys.executable, "-c", LISTENING], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
def test_a_release_has_the_permissions_that_the_user_gives_to_new_files(mask, tmp_path):
    made = gv.release(
        np.zeros((3, 2)),
        domain=gv.Domain(bounds=(-1, 1)),
        budget=gv.Budget(1.0, 1e-6),
        assume_centered=True,
        adaptive=False,
    )
    before = os.umask(mask)
    try:
        made.save(tmp_path / "x.release")
        made.save(tmp_path / "x.release")  # again, over the first
    finally:
        os.umask(before)
    assert (tmp_path / "x.release").stat().st_mode & 0o777 == 0o666 & ~mask
    assert [path.name for path in tmp_path.iterdir()] == ["x.release"]


def test_third_party_notices_name_every_package_that_users_install():
    notices = (ROOT / "THIRD-PARTY.md").read_text()
    project = minimum_versions.FILE["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    for name in (re.match(r"[\w-]+", text)[0] for text in texts):
        assert re.search(rf"\b{name}\b", notices), name
    assert all(f"`{extra}`" in notices for extra in project["optional-dependencies"])
