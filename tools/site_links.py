"""A hook of mkdocs: pages link to files of the repository, and the site takes those files along.

A page says ``../paper/ERRATA.md``, which is right where the repository is read. The site has no folder above ``docs``, so the
files are added to it under ``files/`` and the links are changed.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"\]\((?:\.\./)+(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config) -> Files:  # noqa: D103 - the name is the hook
    for page in [file for file in files if file.src_uri.endswith(".md")]:
        text = Path(page.abs_src_path).read_text()
        for match in _LINK.finditer(text):
            target = ROOT / match["target"]
            uri = f"files/{match['target']}"
            if target.is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page, **_) -> str:  # noqa: D103 - the name is the hook
    up = "../" * page.file.src_uri.count("/")

    def changed(match: re.Match[str]) -> str:
        if (ROOT / "docs" / page.file.src_uri).parent.joinpath(match[0][2:-1].partition("#")[0]).resolve().is_relative_to(
            ROOT / "docs"
        ):
            return match[0]
        if (ROOT / match["target"]).is_file():
            return f"]({up}files/{match['target']}{match['anchor'] or ''})"
        return f"](#)"

    return _LINK.sub(changed, markdown)
