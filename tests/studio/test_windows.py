"""Several windows on one studio: each releases what it has reviewed, shows what it has released, and nothing else."""

import json
import os
import random
import re
import sqlite3
import time
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from playwright.sync_api import expect

import graphveil as gv
from helpers.studios import Studio, draft, wait_for_job

# Tables are small: what noise hides of them, and is warned of, differs from run to run.
pytestmark = pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")

SHOWN = re.compile("now")
NAMES = ["x", "y"]
expect.set_options(timeout=60_000)  # a busy machine


def write_year(path, n, centre):
    """A yearly file; all have the same columns."""
    rng = np.random.default_rng(n)
    columns = {name: rng.normal(centre, 0.1, n) for name in NAMES}
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def entered(account="A", **changes):
    columns = [{"name": name, "role": "number", "lower": "-10", "upper": "10"} for name in NAMES]
    return draft(**({"columns": columns, "dataset": account, "people": "3000", "width": "4"} | changes))


@pytest.fixture
def years(tmp_path):
    """Two yearly files of different people, with an account for each."""
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("A", gv.Budget(4.0, 1e-6))
    ledger.create("B", gv.Budget(4.0, 1e-6))
    return write_year(tmp_path / "a.parquet", 3000, -3), write_year(tmp_path / "b.parquet", 5000, 3)


@pytest.fixture
def windows(studio, years):
    """Two windows of a studio that was started on the first file."""
    first = studio(years[0])
    return first, Studio(first.url, first.folder)


def charges(studio):
    return {name: len(studio.ledger.history(name)) for name in ("A", "B")}


def released(studio):
    """The releases in the folder, by the number of their people."""
    found = [gv.Release.load(path) for path in studio.folder.glob("*.release")]
    return {release.n_samples: np.round(release.location).tolist() for release in found}


# ------------------------------------------------------------------ what is released is what was reviewed
def test_another_window_opens_another_table(windows, years):
    """Between review and confirmation; all else that is asked is about the own table too."""
    first, second = windows
    assert first.about("review", entered())[0] == 200
    assert second.open(years[1])[0] == 200
    for name in ("columns", "forecast", "codebook"):
        assert first.about(name, entered())[0] == 200
    assert [path.name for path in first.folder.glob("*.toml")] == ["a-codebook.toml"]
    second.about("review", entered("B"))
    assert first.ask("files", review=first.review)[1]["saved"][0].startswith("a-")
    assert first.confirm("A")[0] == 200
    assert wait_for_job(first)["state"] == "done"
    assert released(first) == {3000: [-3.0, -3.0]}
    assert charges(first) == {"A": 1, "B": 0}
    assert second.job is None
    assert second.confirm("B")[0] == 200
    assert wait_for_job(second)["state"] == "done"
    assert released(first) == {3000: [-3.0, -3.0], 5000: [3.0, 3.0]}
    assert charges(first) == {"A": 1, "B": 1}
    shown = [window.job["releases"][0] for window in windows]
    assert [one["name"] for one in shown] == ["A", "B"]
    for window, n, one in zip(windows, ("3,000", "5,000"), shown, strict=True):
        assert n in window.get(f"report-{one['id']}")[1]


def test_only_what_was_reviewed_is_released(windows):
    first, second = windows
    first.about("review", entered())
    second.open()
    second.about("review", entered(epsilon="2"))
    for wrong in (None, "", first.review[:-1], first.review.rpartition("-")[0], [], {}, 3):
        status, said = first.ask("release", review=wrong, confirmation="A")
        assert (status, said["error"]) == (400, "This has not been reviewed. Review it first.")
    assert first.ask("release", review=first.review, confirmation="A", draft=entered(epsilon="3"))[0] == 400
    first.confirm("A")
    assert wait_for_job(first)["state"] == "done"
    (charge,) = first.ledger.history("A")
    assert charge.event.budget.epsilon == 1.0


def again(path):
    """Other records under the same name."""
    write_year(path, 700, 0)


def deleted(path):
    path.unlink()


def same_size(path):
    """One cell differs, and the time at which it was written."""
    before = path.read_bytes()
    path.write_bytes(before)
    assert len(path.read_bytes()) == len(before)


def replaced(path):
    """By a file that keeps the time at which the old one was written."""
    status = path.stat()
    write_year(path.with_name("new"), 3000, 1)
    os.utime(path.with_name("new"), ns=(status.st_atime_ns, status.st_mtime_ns))
    path.with_name("new").rename(path)


@pytest.mark.parametrize("change", [again, deleted, same_size, replaced], ids=lambda change: change.__name__)
def test_a_table_that_has_changed_since_the_review_is_not_released(windows, years, change):
    first, _ = windows
    first.about("review", entered())
    change(years[0])
    status, said = first.confirm("A")
    assert status == 400
    assert re.search("have changed since|is neither a file", said["error"])
    assert first.about("review", entered())[0] == 400
    assert first.job is None
    assert charges(first) == {"A": 0, "B": 0}
    if change is not deleted:
        first.open()
        assert first.release(entered(), "A")[0] == 200
        assert wait_for_job(first)["state"] == "done"


def test_a_folder_that_gets_another_file_has_changed(studio, years, tmp_path):
    (tmp_path / "all").mkdir()
    years[0].rename(tmp_path / "all" / "a.parquet")
    first = studio(tmp_path / "all")
    first.about("review", entered())
    years[1].rename(tmp_path / "all" / "b.parquet")
    assert "have changed since" in first.confirm("A")[1]["error"]


def test_an_old_release_does_not_stand_for_records_that_were_written_since(windows, years, studio):
    """In this studio or another one: said before anything is charged, with both times."""
    first, _ = windows
    first.release(entered(), "A")
    assert wait_for_job(first)["state"] == "done"
    later = studio(years[0])
    assert later.about("review", entered())[1]["known"], "unchanged, it is the same release"
    time.sleep(0.01)
    again(years[0])
    for window in (first, studio()):
        window.open(years[0])
        status, said = window.about("review", entered())
        assert status == 400
        assert "it is not of the records that are there now" in said["error"]
    assert window.release(entered(epsilon="0.5"), "A")[0] == 200
    assert wait_for_job(window)["state"] == "done"
    assert charges(first) == {"A": 2, "B": 0}
    assert sorted(released(first)) == [700, 3000]


def there_and_back(path):
    """Other records for a moment, and the reviewed ones again."""
    other, away = write_year(path.with_name("other.parquet"), 3000, 1), path.with_name("away")
    path.rename(away)
    other.rename(path)
    path.rename(other)
    away.rename(path)


@pytest.mark.parametrize("change", [replaced, there_and_back], ids=lambda change: change.__name__)
def test_a_table_that_changes_after_the_confirmation_is_not_charged(windows, years, go_on, change):
    """Whatever its rows were when they were read: the job compares the files just before it charges."""
    first, _ = windows
    assert first.release(entered(), "A")[0] == 200
    while first.job["pass"] == 0:
        time.sleep(0.01)
    change(years[0])
    go_on.set()
    job = wait_for_job(first)
    assert job["state"] == "failed"
    assert "have changed since" in job["error"]
    assert charges(first) == {"A": 0, "B": 0}
    assert released(first) == {}
    first.open()
    assert first.release(entered(), "A")[0] == 200
    assert wait_for_job(first)["state"] == "done"
    assert charges(first) == {"A": 1, "B": 0}


def test_a_stored_release_does_not_answer_for_a_table_that_changes_after_the_confirmation(
    windows, years, studio, monkeypatch
):
    first, _ = windows
    first.release(entered(), "A")
    assert wait_for_job(first)["state"] == "done"
    later, stored = studio(years[0]), gv.Ledger.stored
    assert later.about("review", entered())[1]["known"]

    def change_and_find(ledger, request):
        again(years[0])
        return stored(ledger, request)

    monkeypatch.setattr(gv.Ledger, "stored", change_and_find)
    assert later.confirm("A")[0] == 200
    assert "have changed since" in wait_for_job(later)["error"]
    assert charges(first) == {"A": 1, "B": 0}


def test_an_old_release_does_not_stand_for_an_older_file_that_was_moved_there_since(windows, years, studio):
    """The file that takes the place was written before the release; in this studio and in another one."""
    first, _ = windows
    first.release(entered(), "A")
    assert wait_for_job(first)["state"] == "done"
    time.sleep(0.01)
    years[1].rename(years[0])
    for window in (first, studio()):
        window.open(years[0])
        status, said = window.about("review", entered())
        assert status == 400
        assert "it is not of the records that are there now" in said["error"]
    assert charges(first) == {"A": 1, "B": 0}


def test_an_old_release_does_not_stand_for_files_of_a_folder_that_was_moved_there_since(studio, years, tmp_path):
    """Their times tell nothing, but the studio knows which files it has released."""
    for name, year in zip(("now", "before"), years, strict=True):
        (tmp_path / name).mkdir()
        year.rename(tmp_path / name / "year.parquet")
    first = studio(tmp_path / "now")
    first.release(entered(), "A")
    assert wait_for_job(first)["state"] == "done"
    assert first.about("review", entered())[1]["known"], "unchanged, it is the same release"
    (tmp_path / "now").rename(tmp_path / "away")
    (tmp_path / "before").rename(tmp_path / "now")
    first.open()
    assert "it is not of the records that are there now" in first.about("review", entered())[1]["error"]


def test_a_path_through_a_link_is_the_file_where_it_leads(windows, years, tmp_path):
    """``link/..`` is not the folder of the link, so its release is not that of the file in this folder."""
    first, second = windows
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    years[1].rename(tmp_path / "real" / "a.parquet")
    first.release(entered(), "A")
    assert wait_for_job(first)["state"] == "done"
    second.open(f"{tmp_path}/link/../a.parquet")
    status, said = second.about("review", entered())
    assert (status, said["known"]) == (200, None)
    (tmp_path / "same.parquet").symlink_to(years[0])
    second.open(tmp_path / "same.parquet")
    assert second.about("review", entered())[1]["known"]


def test_one_release_at_a_time(windows, years, go_on):
    """Another window waits, and has its own job afterwards."""
    first, second = windows
    second.open(years[1])
    second.about("review", entered("B"))
    first.release(entered(), "A")
    assert first.confirm("A")[0] == 200, "asked for again it is the same"
    assert second.confirm("B") == (400, {"error": "Another release is being made. Wait until it has ended."})
    assert second.job is None
    go_on.set()
    assert wait_for_job(first)["state"] == "done"
    second.confirm("B")
    assert wait_for_job(second)["state"] == "done"
    assert first.job["releases"][0]["name"] == "A"
    assert charges(first) == {"A": 1, "B": 1}


def test_nothing_that_a_page_can_send_is_a_bug(windows, years):
    """Any JSON in any place is answered or refused in a sentence."""
    first, _ = windows
    first.about("review", entered())
    rng = random.Random(7)
    odd = [None, True, -1, 1e308, "", "x", "\0", [], [1], [[]], {}, {"columns": 3}, {"columns": [{"name": []}]}]
    odd += [
        entered(**{name: value}) for name in ("epsilon", "people", "width", "dataset") for value in ("1e300", [], 0)
    ]
    good = {"table": first.table, "draft": entered(), "review": first.review, "data": str(years[0])}
    asked = {
        "table": ["data", "public"],
        "window": ["window"],
        "account": ["dataset", "epsilon", "delta"],
        "import": ["text"],
        "open": ["path"],
        "regression": ["release", "outcome", "on"],
        "compare": ["first", "second", "overlap"],
        "beside": ["review", "release"],
        "release": ["review", "confirmation"],
        **{name: ["review"] for name in ("files", "job")},
        **{name: ["table", "draft"] for name in ("columns", "codebook", "forecast", "rehearse", "review")},
    }
    tried = 0
    for name, words in asked.items():
        for _ in range(25):
            content = {word: rng.choice([good.get(word), *odd]) for word in words}
            answer, body = first.post(name, content)
            said = json.loads(body) if body else {}
            assert answer.status in (200, 400), (name, content, said)
            assert "bug" not in str(said.get("error")), (name, content, said)
            tried += 1
    assert tried == 400
    for name in ("columns", "review", "window"):
        assert first.post(name, {"table": first.table, "draft": [], "window": {}})[0].status == 400
    assert charges(first) == {"A": 0, "B": 0}


# ------------------------------------------------------------------ a damaged ledger
def test_a_damaged_ledger_says_why_and_opens_nothing(windows, tmp_path):
    first, _ = windows
    first.release(entered(), "A")
    wait_for_job(first)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger, ledger:
        ledger.execute("update graphveil_events set content = replace(content, '1.0', '0.5')")
    found = json.loads(first.get("accounts")[1])
    assert found["accounts"] == []
    assert "was changed" in found["reason"]
    status, said = first.ask("account", dataset="A2", epsilon=1.0, delta=1e-6)
    assert status == 400
    assert "A damaged ledger opens no account" in said["error"]
    (tmp_path / "ledger.db").unlink()
    assert "There was a ledger" in json.loads(first.get("accounts")[1])["reason"]
    assert first.ask("account", dataset="A2", epsilon=1.0, delta=1e-6)[0] == 400


# ------------------------------------------------------------------ in a browser
def at(page, step):
    expect(page.locator(f"#{step}")).to_have_class(SHOWN)


def press(page, name):
    page.get_by_role("button", name=name).click()


def open_table(page, path):
    at(page, "table")
    page.get_by_label("File", exact=True).fill(str(path))
    press(page, "Read the column names")
    at(page, "columns")


def to_review(page, account, epsilon="1"):
    """From the columns on."""
    at(page, "columns")
    for name in NAMES:
        page.get_by_label(f"Lower bound of {name}").fill("-10")
        page.get_by_label(f"Upper bound of {name}").fill("10")
    page.get_by_label("The largest number of records").fill("1")
    press(page, "Use these columns")
    at(page, "budget")
    page.get_by_label("About how many people").fill("3000")
    page.get_by_label("ε", exact=True).fill(epsilon)
    page.locator("#dataset").select_option(account)
    press(page, "Use this budget")
    at(page, "review")


def to_confirmation(page, account):
    press(page, "Continue to the release")
    at(page, "release")
    page.get_by_label("Type the name").fill(account)


def sees_report(page, people):
    at(page, "report")
    expect(page.frame_locator("#frame").locator("body")).to_contain_text(people)
    expect(page.locator("#regression tbody tr")).to_have_count(2)


@pytest.fixture
def two(studio, years, visit):
    """Two windows of one browser: the second on the second file."""
    opened = studio(years[0])
    one = visit(opened)
    at(one, "columns")
    other = one.context.new_page()
    other.goto(opened.url)
    at(other, "columns")
    press(other, "Change the table")
    open_table(other, years[1])
    return opened, one, other


def test_each_window_releases_and_shows_its_own_table(two, keep):
    opened, one, other = two
    to_review(one, "A")
    to_review(other, "B")
    to_confirmation(one, "A")
    to_confirmation(other, "B")
    press(one, "Release and charge")
    sees_report(one, "3,000")
    press(other, "Release and charge")
    sees_report(other, "5,000")
    assert charges(opened) == {"A": 1, "B": 1}
    assert released(opened) == {3000: [-3.0, -3.0], 5000: [3.0, 3.0]}
    for page, people, name in ((one, "3,000", "a.parquet"), (other, "5,000", "b.parquet")):
        page.reload()
        sees_report(page, people)
        expect(page.locator("#table .summary")).to_contain_text(name)
    keep(other, "two-windows")


def test_what_was_entered_stays_in_its_window(two):
    _, one, other = two
    one.get_by_label("Lower bound of x").fill("-1")
    other.get_by_label("Lower bound of x").fill("-2")
    one.wait_for_timeout(500)
    for page, low, name in ((one, "-1", "a.parquet"), (other, "-2", "b.parquet")):
        page.reload()
        expect(page.get_by_label("Lower bound of x")).to_have_value(low)
        expect(page.locator("#table .summary")).to_contain_text(name)
    with one.expect_popup() as duplicate:
        one.evaluate("() => { window.open(location.href); }")
    copy = duplicate.value
    expect(copy.get_by_label("Lower bound of x")).to_have_value("-1")
    copy.get_by_label("Lower bound of x").fill("-3")
    copy.wait_for_timeout(500)
    one.reload()
    expect(one.get_by_label("Lower bound of x")).to_have_value("-1")


def test_a_report_does_not_stand_under_another_table_or_draft(two, years, keep):
    """Another table, other columns or another budget, and a reload: nothing is called released."""
    opened, one, _ = two
    to_review(one, "A")
    to_confirmation(one, "A")
    press(one, "Release and charge")
    sees_report(one, "3,000")
    press(one, "Change the budget")
    one.get_by_label("ε", exact=True).fill("2")
    one.wait_for_timeout(500)
    one.reload()
    at(one, "budget")
    assert one.locator("#frame").is_hidden()
    press(one, "Use this budget")
    at(one, "review")
    one.reload()
    at(one, "review")
    press(one, "Continue to the release")
    at(one, "release")
    expect(one.locator("#charge")).to_contain_text("charges ε = 2")
    one.reload()
    at(one, "release")
    one.go_back()
    at(one, "review")
    press(one, "Change the table")
    open_table(one, years[1])
    one.reload()
    at(one, "columns")
    keep(one, "another-table")
    assert one.locator("#frame").is_hidden()
    one.go_forward()
    at(one, "columns")
    assert charges(opened) == {"A": 1, "B": 0}


def test_back_and_forward_go_through_the_steps(two):
    """Forward to the release leads there only while what was reviewed is what is entered."""
    _, one, _ = two
    to_review(one, "A")
    to_confirmation(one, "A")
    for step in ("review", "budget"):
        one.go_back()
        at(one, step)
    for step in ("review", "release"):
        one.go_forward()
        at(one, step)
    one.go_back()
    one.go_back()
    at(one, "budget")
    one.get_by_label("ε", exact=True).fill("3")
    for _ in range(2):
        one.go_forward()
        at(one, "budget")
    press(one, "Use this budget")
    at(one, "review")
    assert "--epsilon 3" in one.locator("#command").inner_text()


def test_a_changed_file_is_noticed(two, years, keep):
    opened, one, _ = two
    to_review(one, "A")
    to_confirmation(one, "A")
    again(years[0])
    press(one, "Release and charge")
    expect(one.locator("#release .error")).to_contain_text("have changed since")
    keep(one, "changed-file")
    one.reload()
    at(one, "columns")
    expect(one.locator("#columns .error")).to_contain_text("have changed since you saw them here")
    keep(one, "changed-reload")
    assert charges(opened) == {"A": 0, "B": 0}
    to_review(one, "A")
    to_confirmation(one, "A")
    press(one, "Release and charge")
    sees_report(one, "700")


def test_a_window_that_was_closed_during_the_release(two, go_on, visit):
    """Goes on in the next one; another window has nothing to do with it."""
    opened, one, other = two
    to_review(other, "B")
    to_confirmation(other, "B")
    to_review(one, "A")
    to_confirmation(one, "A")
    press(one, "Release and charge")
    expect(one.locator("#doing")).to_contain_text("Pass 1")
    one.wait_for_timeout(500)
    press(other, "Release and charge")
    expect(other.locator("#release .error")).to_contain_text("Another release is being made")
    one.close()
    later = visit(opened)
    expect(later.locator("#doing")).to_contain_text("Pass 1")
    go_on.set()
    sees_report(later, "3,000")
    at(other, "release")
    press(other, "Release and charge")
    sees_report(other, "5,000")
    assert charges(opened) == {"A": 1, "B": 1}


def test_a_damaged_ledger_is_shown(two, tmp_path, keep):
    opened, one, _ = two
    opened.ledger.charge(
        "A", gv.release(np.zeros((9, 1)), domain=gv.Domain(bounds=(0, 1)), budget=gv.Budget(1, 1e-6)).event
    )
    to_review(one, "A")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger, ledger:
        ledger.execute("update graphveil_events set content = replace(content, '1.0', '0.5')")
    press(one, "Change the budget")
    press(one, "Use this budget")
    expect(one.locator("#damaged")).to_contain_text("was changed")
    assert one.locator("#new-account").is_hidden()
    expect(one.locator("#dataset")).to_have_text("the ledger cannot be used")
    keep(one, "damaged-ledger")
    one.reload()
    at(one, "budget")
    expect(one.locator("#damaged")).to_contain_text("was changed")
