"""Studios on a table: in this process, or in one that can be killed; and a browser to look at them."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from graphveil.studio.jobs import ReleaseJob
from graphveil.studio.server import StudioServer
from graphveil.studio.session import Session
from helpers.studios import Studio, hold, write_table

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(params=["csv", "parquet"])
def table(request, tmp_path):
    """Four thousand patients in a file."""
    return write_table(tmp_path / f"patients.{request.param}", 4000)


@pytest.fixture
def studio(tmp_path):
    """Open studios in this process."""
    opened = []

    def open_studio(data=None, **options):
        session = Session(str(tmp_path / "ledger.db"), None if data is None else str(data), folder=tmp_path, **options)
        server = StudioServer(session)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        opened.append((server, thread))
        return Studio(server.url, tmp_path)

    yield open_studio
    for server, thread in opened:
        server.session.wait()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def program(tmp_path):
    """Start the program itself; returns it and its studio."""
    running = []

    def start(*arguments):
        command = [sys.executable, "-c", "import sys; from graphveil.cli.main import run; sys.exit(run())", "studio"]
        process = subprocess.Popen(
            [*command, "--no-browser", "--json", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "GRAPHVEIL_LEDGER": str(tmp_path / "ledger.db")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process, Studio(json.loads(process.stdout.readline())["url"], tmp_path)

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def go_on(monkeypatch):
    """Releases stop in the middle of their first pass until this is set."""
    yield from hold(monkeypatch, ReleaseJob)


@pytest.fixture
def visit(chromium):
    """Open a studio in the browser; afterwards: no error on the console, and nothing was asked of anybody else."""
    contexts, heard, asked, hosts = [], [], [], set()

    def open_page(studio, width=1280, height=900, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        hosts.add(studio.host)
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(studio.url)
        return page

    open_page.heard = heard
    yield open_page
    for context in contexts:
        context.close()
    # Chromium logs every refusal, also one that the page shows beside the field that was wrong.
    assert [text for text in heard if "status of 400" not in text] == []
    assert {urlsplit(url).netloc for url in asked if not url.startswith("data:")} <= hosts


@pytest.fixture
def keep():
    """Save a screenshot as an artefact of the build."""

    def save(page, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"studio-{name}.png", full_page=True)

    return save
