"""A hook for mkdocs: pages may link to any file of the repository, and the site takes it along.

A page says ``../paper/ERRATA.md``, which is right where the repository is read. The site has nothing above ``docs``, so
such files are added to it under ``files/``, and the links are changed. A link to a folder becomes plain text.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
_LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>\.\.?/[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def _outside(page: str, target: str) -> Path | None:
    """What a link of a page means, if that is not in ``docs``; relative to the repository."""
    found = Path(os.path.normpath(DOCS / Path(page).parent / target))
    return None if found.is_relative_to(DOCS) else found.relative_to(ROOT)


def on_files(files: Files, config: Any) -> Files:
    """Take the files along that pages link to."""
    for page in [file for file in files if file.src_uri.endswith(".md")]:
        for match in _LINK.finditer(Path(str(page.abs_src_path)).read_text()):
            path = _outside(page.src_uri, match["target"])
            if path is None or not (ROOT / path).is_file() or files.get_file_from_path(f"files/{path}") is not None:
                continue
            files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links to those files."""
    up = "../" * page.file.src_uri.count("/")

    def changed(match: re.Match[str]) -> str:
        path = _outside(page.file.src_uri, match["target"])
        if path is None:
            return match[0]
        if not (ROOT / path).is_file():
            return match["text"][1:-1]
        return f"{match['text']}({up}files/{path}{match['anchor'] or ''})"

    return _LINK.sub(changed, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things by Sphinx roles; the site shows the name alone."""
    return re.sub(r":(?:class|func|meth|attr|mod):<code>~?(?:[\w.]*\.)?(\w+)</code>", r"<code>\1</code>", html)
