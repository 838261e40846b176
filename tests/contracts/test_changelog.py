"""The changelog: every fragment has a kind that towncrier knows and is short, and the built file keeps its shape."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAGMENTS = sorted(path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md")
SECTIONS = [kind["name"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]]


def draft(folder):
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next", "--dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_towncrier_takes_every_fragment():
    made = draft(ROOT)
    assert made.returncode == 0, made.stderr
    page = " ".join(made.stdout.split())
    for path in FRAGMENTS:
        assert " ".join(path.read_text().split()) in page, path.name


@pytest.mark.parametrize("name", ["plain.md", "+something.feature.md"])
def test_a_fragment_without_a_known_kind_is_refused(name, tmp_path):
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / name).write_text("A sentence.\n")
    made = draft(tmp_path)
    assert made.returncode != 0
    assert name in made.stderr


def test_every_fragment_is_a_sentence():
    """Or a few, under Privacy, which also says who is affected and what to do."""
    for path in FRAGMENTS:
        text = path.read_text()
        assert text.rstrip().endswith("."), path.name
        assert not text.startswith(("-", "#")), path.name
        assert len(re.findall(r"[.!?](?:\s|$)", text)) <= (6 if ".privacy." in path.name else 2), path.name


def test_the_changelog_has_versions_and_known_sections_only():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "<!-- towncrier: newest first -->" in text
    versions = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", text, re.MULTILINE)
    assert versions[-1] == "0.1.0"
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= set(SECTIONS)
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == len(versions)
