"""Releases to report on, and the Chromium of the system."""

from pathlib import Path

import numpy as np
import pytest

import graphveil as gv

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="package")
def insurance():
    """A private release of real records."""
    data = gv.datasets.health_insurance()
    domain = gv.Domain(bounds=data.bounds)
    return gv.release(data.rows, person=data.people, domain=domain, budget=gv.Budget(1.0, 1e-6))


@pytest.fixture(scope="package")
def forecast():
    """Of that release, by numbers that are made up: making real ones takes seconds."""
    from graphveil.spec.forecast import ForecastPoint

    here = ForecastPoint(20_190, 1.0, 2215.0, 0.03, 0.075, 0.99, 0.066)
    by_epsilon = [ForecastPoint(20_190, e, 2215 * e, 0.03, 0.075 / e, 0.99, 0.066) for e in (0.25, 0.5, 2.0, 4.0)]
    by_records = [ForecastPoint(20_190 * k, 1.0, 2215 * k, 0.03, 0.075 / k, 0.99, 0.06) for k in (2, 4)]
    return gv.Forecast(
        gv.Budget(1.0, 1e-6),
        10,
        5,
        6.0,
        here,
        0.1,
        12_645,
        None,
        (*by_epsilon[:2], here, *by_epsilon[2:]),
        (here, *by_records),
    )


@pytest.fixture(scope="package")
def nothing():
    """A release that is worth less than its columns: no intervals, everything could be noise."""
    rows = np.random.default_rng(0).normal(size=(300, 12))
    return gv.release(rows, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(0.3, 1e-6))


@pytest.fixture
def visit(chromium, tmp_path):
    """Open a report from a file; afterwards: no error on the console, and nothing was requested but the file."""
    contexts, heard, asked = [], [], []

    def open_page(html, width=1280, height=800, **options):
        path = tmp_path / f"report{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_default_timeout(60_000)  # a busy machine
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: (heard.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    open_page.heard = heard
    yield open_page
    for context in contexts:
        context.close()
    assert heard == []
    assert all(url.startswith("file://") and url.endswith(".html") for url in asked)
    assert len(asked) == len(contexts)


@pytest.fixture
def keep():
    """Save a screenshot as an artefact of the build."""

    def save(page, name, **options):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", **options)

    return save
