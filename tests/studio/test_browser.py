"""The studio in a real browser: a newcomer's path, by mouse and by keyboard; reloads, double clicks, small screens."""

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect

import graphveil as gv
from graphveil.planning import rehearsal
from graphveil.planning.closed_form import foresee
from graphveil.studio.demo import demo_session
from graphveil.studio.jobs import RehearsalJob
from graphveil.studio.server import StudioServer
from helpers.studios import BOUNDS, CANARY, Studio, draft, hold, write_table

SHOWN = re.compile("now")
expect.set_options(timeout=60_000)  # a busy machine


def at(page, step):
    expect(page.locator(f"#{step}")).to_have_class(SHOWN)


def enter_columns(page):
    for name, (low, high) in BOUNDS.items():
        page.get_by_label(f"Lower bound of {name}").fill(str(low))
        page.get_by_label(f"Upper bound of {name}").fill(str(high))
        page.get_by_label(f"How do you know what {name} can hold").fill("codebook")
    page.get_by_label("Use name as").select_option("out")
    page.get_by_label("The largest number of records").fill("1")
    page.get_by_role("button", name="Use these columns").click()
    at(page, "budget")


def enter_budget(page, people="4000"):
    page.get_by_label("About how many people").fill(people)
    page.get_by_label("Name", exact=True).fill("patients-2026")
    page.get_by_label("Total ε").fill("3")
    page.get_by_role("button", name="Open the account").click()
    expect(page.locator("#left")).to_contain_text("Left: ε = 3")
    page.get_by_role("button", name="Use this budget").click()
    at(page, "review")


def confirm(page):
    page.get_by_role("button", name="Continue to the release").click()
    at(page, "release")
    page.get_by_label("Type the name").fill("patients-2026")


def see_report(page):
    at(page, "report")
    expect(page.frame_locator("#frame").locator(".node")).to_have_count(3)


def test_a_newcomers_path(studio, visit, table, keep, capfd):
    """From a file name to the report; and no value of the table was sent before the release."""
    opened = studio()
    page = visit(opened)
    sent = []
    page.on("response", lambda answer: sent.append(answer))
    at(page, "table")
    page.get_by_label("File", exact=True).fill(str(table))
    page.get_by_role("button", name="Read the column names").click()
    at(page, "columns")
    page.get_by_role("button", name="Use these columns").click()
    expect(page.locator("#columns .error")).to_contain_text("must be a number")
    enter_columns(page)
    expect(page.locator("#smallest")).to_have_text("…")
    page.get_by_label("About how many people").fill("4000")
    expect(page.locator("#guess")).to_have_text("54.8%")
    smallest = float(page.locator("#smallest").inner_text())
    page.get_by_label("stronger protection").fill("16")
    expect(page.locator("#epsilon")).to_have_value("4")
    expect(page.locator("#guess")).to_have_text(re.compile("6[0-9]"))
    assert float(page.locator("#smallest").inner_text()) < smallest
    page.get_by_label("ε", exact=True).fill("1")
    expect(page.locator("#guess")).to_have_text("54.8%")
    assert page.get_by_role("img", name=re.compile("would be detected")).count() == 1
    keep(page, f"budget-{table.suffix[1:]}")
    enter_budget(page)
    assert "--epsilon 1" in page.locator("#command").inner_text()
    keep(page, f"review-{table.suffix[1:]}")
    confirm(page)
    expect(page.locator("#charge")).to_contain_text(
        "charges ε = 1 at δ = 1e-6 to patients-2026, of which ε = 3 is left"
    )
    answers = [answer for answer in sent if answer.ok]
    assert {"table", "columns", "forecast", "account", "review"} <= {
        answer.url.rpartition("/")[2] for answer in answers
    }
    bodies = [answer.text() for answer in answers]
    page.get_by_role("button", name="Release and charge").click()
    see_report(page)
    assert opened.charges == 1
    keep(page, f"report-{table.suffix[1:]}")
    everything = "".join([*bodies, *capfd.readouterr()])
    assert CANARY[:8] not in everything
    assert gv.Release.load(next(opened.folder.glob("*.release"))).n_samples == 4000


def test_reloads_and_double_clicks_charge_once(studio, visit, tmp_path, go_on):
    """In the middle of a release: the page goes on where it was, in another window too."""
    opened = studio(write_table(tmp_path / "patients.parquet", 4000))
    page = visit(opened)
    enter_columns(page)
    enter_budget(page)
    confirm(page)
    page.get_by_role("button", name="Release and charge").dblclick()
    expect(page.locator("#doing")).to_contain_text("Pass 1")
    assert page.get_by_role("button", name="Release and charge").is_disabled()
    page.reload()
    expect(page.locator("#doing")).to_contain_text("Pass 1")
    another = visit(opened)
    another.reload()
    expect(another.locator("#doing")).to_contain_text("Pass 1")
    go_on.set()
    see_report(another)
    see_report(page)
    page.reload()
    see_report(page)
    assert opened.charges == 1
    page.locator("#review .change").click()
    page.get_by_role("button", name="Continue to the release").click()
    expect(page.locator("#charge")).to_contain_text("nothing is charged")
    page.get_by_label("Type the name").fill("patients-2026")
    page.get_by_role("button", name="Show it again").click()
    see_report(page)
    assert opened.charges == 1


def tab_to(page, name):
    """Press Tab until the focus is on an element with this name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if (
            page.locator(":focus")
            .evaluate(
                "(e) => ((e.labels && e.labels[0] && e.labels[0].textContent) || e.getAttribute('aria-label') ||"
                " e.textContent).trim()"
            )
            .startswith(name)
        ):
            return
    raise AssertionError(f"{name} is not reached by keyboard")


def test_the_keyboard_is_enough(studio, visit, tmp_path):
    opened = studio(write_table(tmp_path / "patients.csv", 4000))
    page = visit(opened)
    at(page, "columns")
    for name, (low, high) in BOUNDS.items():
        tab_to(page, f"Lower bound of {name}")
        page.keyboard.type(str(low))
        page.keyboard.press("Tab")
        page.keyboard.type(str(high))
    tab_to(page, "Use name as")
    page.keyboard.press("End")
    tab_to(page, "The largest number of records")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    at(page, "budget")
    assert page.locator(":focus").inner_text().endswith("Budget"), "a screen reader hears where it is"
    tab_to(page, "About how many")
    page.keyboard.type("4000")
    tab_to(page, "ε: stronger protection")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#epsilon")).not_to_have_value("1")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#epsilon")).to_have_value("1")
    tab_to(page, "Name")
    page.keyboard.type("patients-2026")
    page.keyboard.press("Tab")
    page.keyboard.type("3")
    tab_to(page, "Open the account")
    page.keyboard.press("Enter")
    expect(page.locator("#left")).to_contain_text("Left")
    tab_to(page, "Use this budget")
    outline = page.locator(":focus").evaluate("(e) => getComputedStyle(e).outlineStyle")
    assert outline != "none", "the focus is seen"
    page.keyboard.press("Enter")
    at(page, "review")
    tab_to(page, "Continue to the release")
    page.keyboard.press("Enter")
    at(page, "release")
    tab_to(page, "Type the name")
    page.keyboard.type("patients-2026")
    page.keyboard.press("Enter")
    see_report(page)
    assert opened.charges == 1


@pytest.fixture
def go_on_rehearsing(monkeypatch):
    """Rehearsals stop at their first part until this is set, and take no time then: the formula stands in for each."""
    monkeypatch.setattr(rehearsal, "rehearse", lambda case, replications: foresee(case))
    yield from hold(monkeypatch, RehearsalJob)


def test_paste_import_and_rehearse(studio, visit, tmp_path, go_on_rehearsing):
    page = visit(studio(write_table(tmp_path / "patients.csv", 50)))
    at(page, "columns")
    page.get_by_text("Paste from a spreadsheet").click()
    page.get_by_label("One line per column").fill(
        "column\tfrom\tto\nAge\t0\t110\tlaw of nature\nweight\t0\t300\nbmi\t10,5\t60"
    )
    page.get_by_role("button", name="Fill in the table").click()
    expect(page.locator("#filled")).to_contain_text("2 of 3 lines")
    expect(page.get_by_label("Upper bound of age")).to_have_value("110")
    expect(page.get_by_label("How do you know what age can hold")).to_have_value("law of nature")
    path = tmp_path / "bounds.toml"
    path.write_text('person = "name"\n[bounds]\nsystolic = [60, 240]\nbmi = ["?", "?"]\n')
    page.get_by_label("A codebook").set_input_files(path)
    expect(page.get_by_label("Lower bound of systolic")).to_have_value("60")
    expect(page.locator("#filled")).to_contain_text("does not say what they can hold: bmi.")
    expect(page.get_by_label("Use name as")).to_have_value("person")
    expect(page.locator("#filled")).to_contain_text("does not name them: age.")
    expect(page.get_by_label("Use age as")).to_have_value("out")
    page.get_by_label("Use age as").select_option("number")
    assert page.get_by_label("The largest number of records").is_disabled()
    page.get_by_role("button", name="More about systolic").click()
    page.get_by_label("Label of systolic").fill("Systolic pressure")
    page.get_by_label("Unit of systolic").fill("mmHg")
    page.get_by_label("Scale of systolic").select_option("log")
    expect(page.get_by_label("Codes of missing values of systolic")).to_be_hidden()
    page.get_by_label("Missing values of systolic", exact=True).select_option("yes")
    page.get_by_label("Codes of missing values of systolic").fill("999")
    page.get_by_label("Use bmi as").select_option("ordinal")
    page.get_by_label("Levels of bmi").fill("thin, plump, fat")
    page.get_by_role("button", name="Save as a codebook").click()
    expect(page.locator("#filled")).to_contain_text("Saved patients-codebook.toml")
    assert gv.Domain.read(tmp_path / "patients-codebook.toml") == gv.Domain(
        {
            "age": gv.Number(0, 110, source="law of nature"),
            "bmi": gv.Ordinal(["thin", "plump", "fat"]),
            "systolic": gv.Number(60, 240, missing=[999], scale="log", label="Systolic pressure", unit="mmHg"),
        },
        person="name",
    )
    page.get_by_role("button", name="Use these columns").click()
    at(page, "budget")
    expect(page.locator("#columns .summary")).to_contain_text("people are identified by name")
    page.get_by_label("About how many people").fill("400")
    expect(page.locator("#guess")).to_have_text("54.8%")  # the forecast has come: from now on nothing is cleared
    rehearse = page.get_by_role("button", name="Rehearse on simulated records")
    rehearse.click()
    expect(page.get_by_label("Rehearsal")).to_be_visible()
    expect(rehearse).to_be_disabled()
    go_on_rehearsing.set()
    expect(page.locator("#rehearsed")).to_contain_text(re.compile("Rehearsed: as good as [0-9.]+ noise-free records"))
    expect(page.get_by_label("Rehearsal")).to_be_hidden()
    expect(rehearse).to_be_enabled()


CHECKS = Path(__file__).with_name("readable.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (390, "light"), (1280, "dark")])
def test_every_step_is_readable(studio, visit, keep, tmp_path, width, scheme):
    """On a screen and on a phone, light and dark: names, headings, contrast, nothing wider than the screen."""
    entered = draft(people="4000")
    entered["columns"].append({"name": "name", "role": "out", "lower": "", "upper": "", "source": ""})
    opened = studio(write_table(tmp_path / "patients.csv", 4000), draft=entered)
    opened.ledger.create("patients-2026", gv.Budget(3.0, 1e-6))
    page = visit(opened, width=width, color_scheme=scheme)
    for step, button in [
        ("columns", "Use these columns"),
        ("budget", "Use this budget"),
        ("review", "Continue to the release"),
        ("release", None),
    ]:
        at(page, step)
        if step == "budget":
            expect(page.locator("#guess")).to_have_text("54.8%")
        assert page.evaluate(CHECKS) == [], step
        keep(page, f"{step}-{width}-{scheme}")
        if button:
            page.get_by_role("button", name=button).click()
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", background)[0]) > 128) == (scheme == "light")


def test_the_demo_shows_the_answer_beside(visit, tmp_path, keep):
    """On public records the exact numbers may be shown, and lie in most of the intervals."""
    server = StudioServer(demo_session(tmp_path))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        page = visit(Studio(server.url, tmp_path))
        page.get_by_role("button", name="Use these columns").click()
        expect(page.locator("#n-eff")).not_to_have_text("…")
        page.get_by_role("button", name="Use this budget").click()
        page.get_by_role("button", name="Continue to the release").click()
        page.get_by_label("Type the name").fill("health insurance study")
        page.get_by_role("button", name="Release and charge").click()
        at(page, "report")
        expect(page.locator("#beside tbody tr")).to_have_count(12)
        keep(page, "demo")
    finally:
        server.session.wait()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_release_is_opened_and_regressed(studio, visit, keep, tmp_path):
    """The second door: the report, and a regression whose outcome is chosen by clicking."""
    rows = write_table(tmp_path / "patients.parquet", 4000)
    domain = gv.Domain(bounds=BOUNDS)
    made = gv.release(rows, domain=domain, budget=gv.Budget(2.0, 1e-6), random_state=0)
    made.save(tmp_path / "patients.release")
    page = visit(studio(releases=[str(tmp_path / "patients.release")]))
    see_report(page)
    assert page.locator("#columns").is_hidden()
    expect(page.locator("#regression tbody tr")).to_have_count(3)  # const, age and bmi
    page.get_by_label("Outcome").select_option("bmi")
    expect(page.locator("#regression tbody")).to_contain_text("systolic")
    assert page.get_by_role("checkbox", name="bmi").is_disabled()
    page.get_by_role("checkbox", name="systolic").uncheck()
    expect(page.locator("#regression tbody tr")).to_have_count(2)
    table = gv.regression(made, "bmi", ["age"])
    shown = page.locator("#regression tbody tr").last.inner_text().split("\t")
    assert shown[0].strip() == "age"
    assert float(shown[1].replace("−", "-")) == pytest.approx(table.coef[0], rel=0.01)
    assert f"R² = {table.r_squared:.2f}" in page.locator("#fit").inner_text()
    page.get_by_role("checkbox", name="age").uncheck()
    expect(page.locator("#fit")).to_have_text("Check at least one column.")
    other = gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=1)
    other.save(tmp_path / "others.release")
    expect(page.locator("#pair")).to_be_hidden()
    page.get_by_label("File of a release").fill(str(tmp_path / "others.release"))
    page.get_by_role("button", name="Open it").click()
    expect(page.locator("#differences summary")).to_have_count(3)
    expect(page.locator("#compared")).to_contain_text("Differences are others minus patients.")
    page.locator("#which").select_option("others")
    expect(page.locator("#frame")).to_have_attribute("src", f"report-{other.checksum}")
    assert page.evaluate(CHECKS) == []
    keep(page, "regression")


def test_a_page_of_another_site_cannot_reach_it(studio, visit, chromium, tmp_path):
    """A browser sends what a hostile page asks for; the studio answers with nothing that the page could use."""
    opened = studio(write_table(tmp_path / "patients.csv", 50))
    context = chromium.new_context()
    page = context.new_page()
    evil = tmp_path / "evil.html"
    evil.write_text("<!doctype html><iframe id=f></iframe>")
    page.goto(evil.as_uri())
    script = """async (url) => {
      const held = '{"window": {"data": "evil"}}', refused = () => "refused";
      const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: held };
      const read = await fetch(url + "state").then((r) => r.text(), refused);
      const sent = await fetch(url + "window", json).then((r) => r.text(), refused);
      await fetch(url + "window", { method: "POST", mode: "no-cors", body: held }).catch(refused);
      return [read, sent];
    }"""
    assert page.evaluate(script, opened.url) == ["refused", "refused"]
    page.evaluate("(url) => { document.getElementById('f').src = url; }", opened.url)
    page.wait_for_timeout(300)
    assert all("studio" not in frame.content() for frame in page.frames[1:])
    context.close()
    assert "evil" not in opened.get("state")[1]
