"""The report in a real browser: opened from a file, used with mouse, keyboard and printer."""

import csv
import re
from itertools import combinations

import numpy as np
import pytest

import graphveil as gv
from graphveil.report.escaping import cell_text
from graphveil.report.page import forecast_html, report_html
from helpers.collinear import LOST, collinear_release
from helpers.reports import FORMULAS, HOSTILE, payload, simulated, small


@pytest.fixture(scope="module")
def html(insurance, forecast):
    return report_html(insurance, forecast)


@pytest.fixture
def page(visit, html):
    return visit(html)


def edges(page):
    return page.locator("#network path.edge").count()


def show_all(page):
    """Show the edges that could be noise too."""
    page.get_by_label("hide edges that could be noise").uncheck()


def rows(page):
    return [[cell.strip() for cell in row.split("\t")] for row in page.locator("#edges tbody tr").all_inner_texts()]


def strong_only(page):
    """Hide weak edges: how many there are differs from release to release, and the table has pages."""
    page.get_by_role("slider", name="Smallest edge shown").fill("0.1")
    assert 5 <= edges(page) <= 20


def node(page, name):
    """The dot of a variable, in view."""
    page.locator("#stage").evaluate("(stage) => stage.scrollIntoView({ block: 'center' })")
    return page.locator(".node", has_text=re.compile(f"^{name}$")).locator("circle").last


def place(page, name):
    text = page.locator(".node", has_text=re.compile(f"^{name}$")).get_attribute("transform")
    return tuple(map(float, re.findall(r"[-\d.]+", text)))


def test_it_opens_and_shows_the_network(page, html, keep):
    data = payload(html)
    assert page.title() == "Private network of 10 variables"
    assert page.locator(".node").count() == 10
    assert page.locator("#network path.unsure").count() == 0, "what could be noise is hidden until it is asked for"
    pairs = [*combinations(range(10), 2)]
    sure = [data["sure"][pairs.index(edge)] for edge in zip(*data["path"][data["chosen"]][:2], strict=True)]
    chosen = edges(page)
    assert chosen == sum(sure)
    show_all(page)
    assert edges(page) == len(sure)
    page.get_by_role("button", name="Reset").click()
    assert edges(page) == chosen
    keep(page, "top-1280x800")
    keep(page, "whole-1280x800", full_page=True)


def test_the_sliders_change_the_number_of_edges(page, html):
    data = payload(html)
    show_all(page)
    chosen = edges(page)
    penalty = page.get_by_role("slider", name=re.compile("Detail"))
    penalty.focus()
    for key, point in (("Home", 0), ("End", len(data["path"]) - 1)):
        page.keyboard.press(key)
        assert edges(page) == len(data["path"][point][0])
        assert page.locator("#count").inner_text().startswith(f"{edges(page)} of {edges(page)} edge")
        assert penalty.get_attribute("aria-valuetext").endswith(f"{edges(page)} edges")
    page.get_by_role("button", name="Reset").click()
    show_all(page)
    assert edges(page) == chosen
    least = page.get_by_role("slider", name="Smallest edge shown")
    least.fill("0.2")
    weights = data["path"][data["chosen"]][2]
    assert edges(page) == (abs(weights) >= 0.2).sum() < chosen
    page.get_by_role("button", name="Reset").click()
    show_all(page)
    unsure = page.locator("#network path.unsure").count()
    page.get_by_label("hide edges that could be noise").check()
    assert edges(page) == chosen - unsure
    assert page.locator("#network path.unsure").count() == 0


def test_sign_and_strength_are_seen_without_colour(page):
    strong_only(page)
    dashes = page.evaluate(
        "Object.fromEntries(['positive', 'negative', 'unsure'].map((kind) =>"
        " [kind, getComputedStyle(document.querySelector('.legend .' + kind)).strokeDasharray]))"
    )
    assert len(set(dashes.values())) == 3
    sure = "#network .positive, #network .negative"
    widths = [float(line.get_attribute("stroke-width")) for line in page.locator(sure).all()]
    assert widths == sorted(widths)  # the strongest is drawn last, on top
    assert widths[-1] > widths[0] + 1  # a pixel: the eye sees it
    assert page.locator("#network .value").first.text_content()[0] in "+−"


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_the_table_sorts(page, insurance):
    def heading(name):
        return page.locator("#edges th", has=page.get_by_role("button", name=name, exact=True))

    strong_only(page)
    assert heading("Noise?").get_attribute("aria-sort") == "ascending"
    pairs = gv.PrivateGraphicalLasso(1.0, 1e-6).fit_release(insurance).edge_intervals().to_frame()
    p_values = {(one, other): p for one, other, p in zip(pairs.source, pairs.target, pairs.p_value, strict=True)}
    shown = np.array([p_values[tuple(row[:2])] for row in rows(page)])
    evidence = np.round(-np.log10(np.maximum(shown, 1e-65)), 3)  # what the page knows of them
    assert (np.diff(evidence) <= 0.0).all(), "by p-value"
    for first, second, _, noise, *_ in rows(page):  # beside the mark is the evidence of each
        chance = float(noise.split("p = ")[1]) if "p = " in noise else 0.0
        assert chance == pytest.approx(p_values[first, second], rel=0.06, abs=1e-3 if chance >= 1e-3 else 1e-64)
    page.get_by_role("button", name="Estimate", exact=True).click()
    sizes = [abs(float(row[2].replace("−", "-"))) for row in rows(page)]
    assert sizes == sorted(sizes, reverse=True)
    assert heading("Estimate").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Variable", exact=True).click()
    names = [row[0] for row in rows(page)]
    assert names == sorted(names)
    assert heading("Variable").get_attribute("aria-sort") == "ascending"
    assert heading("Estimate").get_attribute("aria-sort") is None
    page.get_by_role("button", name="Variable", exact=True).press("Enter")
    assert [row[0] for row in rows(page)] == sorted(names, reverse=True)


def test_all_pairs_pages_and_search(page):
    page.get_by_label("all pairs").check()
    assert page.locator("#where").inner_text() == "1 to 25 of 45"
    page.get_by_role("button", name="Next").click()
    assert len(rows(page)) == 20
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_label("Find").fill("MDVIS")
    assert len(rows(page)) == 9
    assert all("mdvis" in row[:2] for row in rows(page))
    page.get_by_label("Find").fill("nobody")
    assert page.locator("#where").inner_text() == "no edges"


def test_copy_as_csv(visit, html):
    page = visit(html, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as CSV").click()
    page.wait_for_function("document.getElementById('copied').textContent")
    assert page.locator("#copied").inner_text() == f"{edges(page)} edges copied"
    table = list(csv.DictReader(page.evaluate("navigator.clipboard.readText()").splitlines()))
    assert len(table) == edges(page)
    assert list(table[0]) == ["variable", "and", "estimate", "noise", "from", "to", "in_the_network"]
    assert all(float(row["from"]) <= float(row["estimate"]) <= float(row["to"]) for row in table)


def test_what_is_copied_holds_no_formula(visit):
    """The page defuses names as `fit -o x.csv` does."""
    page = visit(report_html(small(len(FORMULAS), columns=FORMULAS)), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("All pairs").check()
    page.get_by_role("button", name="Copy as CSV").click()
    page.wait_for_function("document.getElementById('copied').textContent")
    assert page.locator("#copied").inner_text() == "55 edges copied"
    text = page.evaluate("navigator.clipboard.readText()")
    cells = {name: cell_text(name) for name in FORMULAS}
    names = list(FORMULAS)
    pairs = [f"{cells[a]},{cells[b]}," for k, a in enumerate(names) for b in names[k + 1 :]]
    assert [pair for pair in pairs if f"\n{pair}" not in text] == [], text


@pytest.mark.filterwarnings("ignore:As far as the release can tell")
def test_pairs_of_collinear_columns_say_that_they_have_no_interval(visit):
    page = visit(report_html(collinear_release()), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("All pairs").check()
    table = {(first, second): rest for first, second, *rest in rows(page)}
    assert {pair for pair, (_, _, low, high, _) in table.items() if low == high == "–"} == LOST
    assert all(table[pair][1] == "could be" for pair in LOST)
    for heading in ("from", "to"):
        page.locator("#edges").get_by_role("button", name=heading, exact=True).click()
        assert {tuple(row[:2]) for row in rows(page)[-len(LOST) :]} == LOST
    page.get_by_role("button", name="Copy as CSV").click()
    page.locator("#copied", has_text="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").count(",,,") == len(LOST)
    assert "NaN" not in page.content().split("<script")[0]


def test_hover_says_name_and_interval(page):
    page.locator("#network-title").scroll_into_view_if_needed()
    node(page, "fmde").hover()
    tip = page.locator("#tip")
    assert tip.inner_text().startswith("fmde\n")
    assert "lncoins" in tip.inner_text()
    page.mouse.move(5, 5)
    assert tip.is_hidden()
    told = []
    for share in (0.3, 0.4, 0.5, 0.6, 0.7):  # a node or another edge may lie over some point of this one
        point = page.evaluate(
            "(share) => { const e = document.querySelector('#network .hit:last-of-type');"
            " const at = e.getPointAtLength(e.getTotalLength() * share).matrixTransform(e.getScreenCTM());"
            " return [at.x, at.y]; }",
            share,
        )
        page.mouse.move(*point)
        told.append(tip.text_content())
    assert any(re.search(r"estimate [+−]0\.\d\d, [+−]0\.\d\d to [+−]0\.\d\d", text) for text in told)


def test_nodes_are_dragged_and_edges_follow(page):
    before = place(page, "fmde")
    all_lines = page.evaluate(
        "Array.from(document.querySelectorAll('#network path.edge'), (e) => e.getAttribute('d')).join()"
    )
    box = node(page, "fmde").bounding_box()
    page.mouse.move(box["x"] + 7, box["y"] + 7)
    page.mouse.down()
    page.mouse.move(640, 400, steps=4)
    page.mouse.up()
    after = place(page, "fmde")
    moved = 640 - box["x"] - 7, 400 - box["y"] - 7
    assert after[0] - before[0] == pytest.approx(moved[0], abs=8)
    assert after[1] - before[1] == pytest.approx(moved[1], abs=8)
    assert all_lines != page.evaluate(
        "Array.from(document.querySelectorAll('#network path.edge'), (e) => e.getAttribute('d')).join()"
    )


def test_the_keyboard_is_enough(page):
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert re.match(r"\w+: \d+ edges?", first)
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert second != first
    name = second.partition(":")[0]
    before = place(page, name)
    inwards = "Shift+ArrowUp" if before[1] > 250 else "Shift+ArrowDown"
    page.keyboard.press(inwards)
    page.keyboard.press(inwards)
    assert abs(place(page, name)[1] - before[1]) == pytest.approx(28, abs=1)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.locator("#network .dim").count() > 0
    page.keyboard.press("Escape")
    assert page.locator("#network .dim").count() == 0
    page.locator("#matrix").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert re.search(r"estimate [+−]", page.locator("#cell").inner_text())
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "the focus is seen"


def test_a_screen_reader_finds_its_way(page):
    names = [heading.inner_text() for heading in page.get_by_role("heading").all()]
    expected = [
        "The network",
        "Edges",
        "The matrix",
        "Regressions",
        "Centrality",
        "The spectrum",
        "Compared with the plan",
    ]
    assert [name for name in names if name in expected] == expected
    assert page.get_by_role("table").count() == 3  # edges, regression and plan; the bounds are folded away
    assert page.get_by_role("img", name=re.compile("Eigenvalues of the correlation matrix")).count() == 1
    assert page.get_by_role("status").count() == 4
    assert page.locator("html").get_attribute("lang") == "en"
    unnamed = page.evaluate(
        "Array.from(document.querySelectorAll('button, input')).filter((e) =>"
        " !(e.textContent.trim() || (e.labels && e.labels.length))).length"
    )
    assert unnamed == 0


def luminance(colour):
    values = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(visit, html, keep, scheme):
    page = visit(html, color_scheme=scheme)
    keep(page, f"top-{scheme}")
    keep(page, f"whole-{scheme}", full_page=True)
    page.get_by_label("all pairs").check()
    page.get_by_role("button", name="Next").click()  # where the pairs are that could be noise
    back = luminance(page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor"))
    assert (back > 0.5) == (scheme == "light")
    for where in (
        "section h2",
        ".facts dd",
        ".count",
        "#edges td",
        ".legend li",
        "tr.unsure td",
        "#network .node text",
    ):
        colour = page.evaluate(
            f"(() => {{ const s = getComputedStyle(document.querySelector({where!r}));"
            " return document.querySelector(" + repr(where) + ").ownerSVGElement ? s.fill : s.color; })()"
        )
        light, dark = sorted((luminance(colour), back), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, where


def test_on_a_phone(visit, html, keep):
    page = visit(html, 390, 844, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.querySelector('#network .node text')).fontSize") == "13px"
    assert page.locator("#network").bounding_box()["height"] <= 0.6 * 844
    keep(page, "top-390x844")
    keep(page, "whole-390x844", full_page=True)
    node(page, "fmde").tap()
    assert page.locator(".node.held").count() == 1


def test_the_result_comes_first(visit, html, keep):
    """What was found is on the first screen, in words; of the card, its one sentence."""
    for width, height in ((1280, 800), (390, 844)):
        page = visit(html, width, height)
        found = page.locator("#findings").bounding_box()
        assert found["y"] < 0.35 * height
        assert width == 390 or found["y"] + found["height"] < height
        assert page.locator(".facts").is_hidden()
        page.locator(".card > summary").click()
        assert "Who is protected" in page.locator(".facts").inner_text()


def test_the_table_fits_a_phone(visit, html):
    page = visit(html, 390, 844)
    box = page.locator("#edges").bounding_box()
    assert box["x"] + box["width"] <= 390
    for cell in page.locator("#edges tbody tr").first.locator("td").all():
        if cell.is_visible():
            edge = cell.bounding_box()
            assert edge["x"] + edge["width"] <= 390
    assert page.locator("#edges tbody tr").first.locator("td:visible").count() == 6
    assert page.get_by_role("row").count() > 5, "it is still a table to a screen reader"


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")  # by chance a column may drown
def test_every_outcome_has_its_regression(page, insurance):
    for name in ("mdvis", "lncoins"):
        page.get_by_label("Outcome").select_option(label=name)
        expected = gv.regression(insurance, outcome=name)
        r_squared = expected.r_squared
        fit = f"= {r_squared:.3f} (" if expected.determines_r_squared else f"not determined (estimate: {r_squared:.2f})"
        assert f"R² {fit}" in page.locator("#fit-said").inner_text()
        shown = {
            row.locator("th").inner_text(): [
                float(cell.replace("−", "-")) for cell in row.locator("td").all_inner_texts()
            ]
            for row in page.locator("#regression tbody tr").all()
        }
        numbers = zip(expected.coef, expected.lower, expected.upper, expected.standardized, strict=True)
        for column, found in zip(expected.columns, numbers, strict=True):
            assert shown[column] == pytest.approx(found, rel=0.01)


def test_centrality_is_drawn(page):
    for measure in ("Strength", "Expected influence"):
        assert page.get_by_role("img", name=re.compile(measure)).locator(".span").count() == 10
    assert "first again with a probability of" in page.locator("section", has_text="Centrality").last.inner_text()


def test_a_title_of_ones_own(visit, insurance):
    page = visit(report_html(insurance, title="<Survey> of 2026"))
    assert page.title() == "<Survey> of 2026"
    assert page.locator("h1").inner_text() == "<Survey> of 2026"


def test_on_paper(visit, html, keep):
    page = visit(html, color_scheme="dark")
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 30_000
    page.emulate_media(media="print")
    assert page.locator("#penalty").is_hidden()
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    page.get_by_label("all pairs").evaluate("(box) => box.click()")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(rows(page)) == 45, "on paper there is no next page to click to"
    keep(page, "paper", full_page=True)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(rows(page)) == 25


def test_names_are_shown_and_not_run(visit, keep):
    page = visit(report_html(small(len(HOSTILE), columns=HOSTILE)))
    assert page.evaluate("window.pwned") is None
    assert page.locator(".node").count() == len(HOSTILE)
    page.get_by_label("all pairs").check()
    shown = {name for row in page.locator("#edges td.name").all() for name in [row.text_content()]}
    assert set(HOSTILE) == shown
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    keep(page, "hostile-names", full_page=True)


def test_the_policy_stops_every_request(visit, html):
    page = visit(html)
    stopped = page.evaluate(
        "() => new Promise((done) => { addEventListener('securitypolicyviolation', (e) => done(e.violatedDirective));"
        " fetch('http://127.0.0.1:9/').catch(() => 0); })"
    )
    assert stopped == "connect-src"
    assert all("Content Security Policy" in message for message in visit.heard)
    visit.heard.clear()


def test_without_scripts_the_card_is_there(visit, html):
    page = visit(html, java_script_enabled=False)
    assert "differentially private" in page.locator(".card > summary").inner_text()
    page.locator(".card > summary").click()
    assert page.get_by_text("need JavaScript").is_visible()
    assert page.locator("#stage").is_hidden()
    page.get_by_text("The declared bounds of each column").click()
    assert page.get_by_role("row", name="mdvis").is_visible()


@pytest.mark.parametrize("p", [1, 2, 5])
def test_few_variables(visit, keep, p):
    page = visit(report_html(small(p)))
    assert page.locator(".node").count() == p
    page.get_by_role("button", name="Reset").click()
    keep(page, f"p{p}", full_page=True)


def test_a_release_that_says_nothing(visit, nothing, keep):
    page = visit(report_html(nothing))
    assert "could be noise" in page.locator(".notes").inner_text()
    assert edges(page) == page.locator("#network path.unsure").count()
    assert page.get_by_role("button", name="from", exact=True).count() == 0
    keep(page, "nothing", full_page=True)


def test_a_plan_opens(visit, forecast, keep):
    page = visit(forecast_html(forecast))
    assert page.get_by_role("img", name=re.compile("expected error by ε")).count() == 1
    keep(page, "plan", full_page=True)


def test_a_middle_sized_network(visit, keep):
    made = simulated(60, n=30_000)
    page = visit(report_html(made))
    assert page.locator(".node").count() == 60
    edges = page.locator("#network .edge").count()
    assert 48 <= edges < 110, "the strongest, and each variable's own strongest"
    page.get_by_role("button", name="Show more").click()
    assert page.locator("#network .edge").count() > edges
    page.get_by_label("Search the network").fill("VARIABLE 17")
    assert page.locator(".node.held").get_attribute("aria-label").startswith("variable 17: ")
    assert page.locator("#count").inner_text().startswith("variable 17: ")
    before = page.locator("#network").bounding_box()["width"]
    page.get_by_role("button", name="Larger").click()
    assert page.locator("#network").bounding_box()["width"] > 1.4 * before
    keep(page, "p60", full_page=True)


@pytest.mark.nightly
def test_three_hundred_variables(visit, keep):
    """Under 5 MB, and the slider still answers at once."""
    html = report_html(simulated(300, n=60_000))
    assert len(html.encode()) < 5_000_000
    page = visit(html)
    assert page.locator(".node").count() == 300
    keep(page, "p300", full_page=True)
    slow = page.evaluate(
        "() => { const slider = document.getElementById('penalty'); let worst = 0;"
        " for (let k = 0; k <= +slider.max; k += 1) { const start = performance.now(); slider.value = k;"
        " slider.dispatchEvent(new Event('input')); worst = Math.max(worst, performance.now() - start); }"
        " return worst; }"
    )
    assert slow < 1500
