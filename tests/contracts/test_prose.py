"""Pages are wrapped alike, and pages, docstrings and comments say things in the words that a reader expects."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "changelog.d" / "README.md"]
SRC = ROOT / "src" / "graphveil"
PROOFS = sorted((SRC / "privacy" / "proofs").glob("*.md"))
# Idioms translated from other languages, and words of our own for what the field calls otherwise.
FOREIGN = {
    r"\bbeforehand\b": "in advance",
    r"\btold from\b": "distinguished from",
    r"to the private side": "conservatively",
    r"\bhanded to anybody\b": "published",
    r"(?<!here )\b(is|are) no (numbers?|records?|names?|files?|secret|cause|signature|support)\b": "is not a",
    r"\bverbs?\b": "command",
    r"\bmended\b": "fixed",
    r"\bwithout a word\b": "silently, or without warnings",
}


def prose(path):
    """Lines outside of code and tables, with their numbers."""
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and not line.startswith(("    ", "|")):
            yield number, line


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_lines_have_at_most_120_characters(path):
    long = [number for number, line in prose(path) if len(line) > 120 and " " in line.strip("*- ")]
    assert not long, f"{path.name}: {long}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_line_within_a_sentence_looks_like_a_list(path):
    """A line that wraps before "1." or "-" begins a list, for Markdown."""
    lines = path.read_text().splitlines()
    item = re.compile(r"\s*([-+*]|\d+[.)]) ")
    inside = [
        number
        for number, line in prose(path)
        if item.match(line) and number > 1 and lines[number - 2].strip() and not in_list(lines[: number - 1], item)
    ]
    assert not inside, f"{path.name}: {inside}"


def in_list(lines, item):
    """Whether the last of these lines belongs to a list: an item began since the last blank line."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if item.match(line):
            return True
    return False


@pytest.mark.parametrize("path", [*PAGES, *PROOFS], ids=lambda path: path.name)
def test_words_are_those_of_the_field(path):
    assert not list(foreign_words(path.read_text()))


def test_so_are_those_of_docstrings_and_comments():
    found = {path.name: list(foreign_words(explanations(path))) for path in SRC.rglob("*.py")}
    assert not {name: words for name, words in found.items() if words}


def foreign_words(text):
    """Each with what to say instead."""
    for pattern, better in FOREIGN.items():
        found = re.search(pattern, text)
        if found:
            yield f"{found[0]!r}: say {better!r}"


def explanations(path):
    """Docstrings and comments of a module, on lines of their own."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(n) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, documented))
    with path.open("rb") as file:
        comments = [token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    return "\n".join([*filter(None, docstrings), *comments])
