"""What the README shows is what happens."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import draw_network
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import graphveil as gv
from graphveil.cli._commands import call

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
WITH_COMMANDS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_COMMANDS.remove(ROOT / "docs" / "first-release.md")  # its blocks follow each other: test_first_release.py
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))


def test_the_readmes_code_runs_in_an_empty_directory(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip() and not line.startswith("import")]) <= 10
    command = [sys.executable, "-W", "error", "-c", block]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "(1, 1e-06)-differentially private" in out
    matrix, table = out.split("public.")[1].split("Least squares")
    printed = [float(number) for number in re.findall(r"-?\d+\.\d*", matrix)]
    assert len(printed) == 9
    assert 0.3 < printed[2] < 0.46  # age and systolic: 0.39 in truth
    assert 0.38 < float(re.search(r"^age +(\S+)", table, re.MULTILINE).group(1)) < 0.54  # 0.45 in truth
    assert {path.name for path in tmp_path.iterdir()} == {"people.release", "report.html"}


def test_the_picture_is_what_the_demo_draws(tmp_path):
    run = [Path(sys.executable).parent / "graphveil", "demo", tmp_path]
    subprocess.run(run, capture_output=True, check=True)
    drawn = ElementTree.fromstring(draw_network.picture(draw_network.network_of(tmp_path)))
    shown = ElementTree.parse(draw_network.TARGET).getroot()
    for picture in (drawn, shown):
        edges = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
        # The two strongest are on top, in either order: 0.47 and -0.41 without noise.
        strongest = {"coinsurance rate and maximum spending: +0", "coinsurance rate and individual deductible: −0"}
        assert {title.split(".")[0].replace("-", "−") for title in edges[-2:]} == strongest
        assert len(edges) >= 5  # how many stand out differs from release to release: 14 to 28 in twenty
        assert len(list(picture.iter("{http://www.w3.org/2000/svg}circle"))) == 10


@pytest.mark.parametrize("page", [p for p in WITH_COMMANDS if p.name != "README.md" and "```python" in p.read_text()],
                         ids=lambda p: p.name)  # fmt: skip
def test_the_code_of_every_page_runs(page, tmp_path, monkeypatch):
    """All Python of a page, in order, in one folder with the records."""
    monkeypatch.chdir(tmp_path)
    patients("patients.parquet")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})  # a process would import everything anew


def shell_blocks(page):
    return re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)


def patients(path):
    """The records that the pages speak of."""
    rng = np.random.default_rng(1)
    age = rng.normal(50, 15, 4000)
    columns = {"age": age, "bmi": 26 + 0.1 * (age - 50) + rng.normal(0, 3, 4000), "systolic": rng.normal(130, 15, 4000)}
    columns |= {"weight": rng.normal(75, 12, 4000), "height": rng.normal(170, 10, 4000)}
    columns |= {"ward": rng.choice(["A", "B"], 4000)}
    pa.parquet.write_table(pa.table(columns), path)


@pytest.mark.parametrize("page", [page for page in WITH_COMMANDS if shell_blocks(page)], ids=lambda p: p.name)
def test_every_command_that_is_shown_works(page, tmp_path, monkeypatch, capsys):
    """All lines of a page's shell blocks, in order, in one folder with the records; a person fills in the bounds.

    Those of the README as a shell runs them. Other pages are run here, which saves importing everything thirty times:
    that a process says the same is seen in tests/cli/test_odd_invocations.py.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.delenv("GRAPHVEIL_LEDGER", raising=False)
    patients("patients.parquet")
    for line in "".join(shell_blocks(page)).splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "graphveil", f"{line}: nothing checks other programs"
        if page.name == "README.md":
            code = subprocess.run(line, shell=True, check=False).returncode
        else:
            assert not set("|<>&;$*?~") & set("".join(words)), f"{line}: only a shell knows what that is"
            code = call(words[1:])
        assert code == 0, f"{line}\n{capsys.readouterr()}"
        bounds = tmp_path / "bounds.toml"
        if bounds.exists():
            bounds.write_text(bounds.read_text().replace('["?", "?"]', "[0, 250]").replace('= "?"', "= 1"))


def test_every_make_target_that_is_shown_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {name for page in PAGES for name in re.findall(r"^\s+make ([a-z-]+)", page.read_text(), re.MULTILINE)}
    assert {"demo", "test"} <= shown <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_paths_point_to_something(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (page.parent / target).exists(), target
    for path in re.findall(r"`((?:src|tests|docs|benchmarks|tools|examples)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda p: p.name)
def test_every_public_name_that_is_mentioned_exists(page):
    for name in set(re.findall(r"\bgv((?:\.\w+)+)", page.read_text())):
        value = gv
        for part in name[1:].split("."):
            assert hasattr(value, part), f"gv{name}"
            value = getattr(value, part)


def test_the_quickstart_runs():
    script = ROOT / "examples" / "quickstart.py"
    out = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=True).stdout
    assert "differentially private" in out
    rows = re.findall(r"^(\w+ - \w+) +(-?[\d.]+) +(-?[\d.]+) ", out, re.MULTILINE)
    assert len(rows) == 15
    assert max(abs(float(private) - float(truth)) for _, private, truth in rows) < 0.15
