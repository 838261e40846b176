"""The changelog, from the fragments in changelog.d: one file per change, in sections.

python tools/changelog.py            print what the next release will say
python tools/changelog.py 0.1.0      put that on top of CHANGELOG.md, as version 0.1.0, and delete the fragments
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRAGMENTS, CHANGELOG = ROOT / "changelog.d", ROOT / "CHANGELOG.md"
SECTIONS = ("Privacy", "Changed numbers", "Added", "Changed", "Fixed", "Removed")


def fragments() -> list[Path]:
    """The files, in the order of their names."""
    return sorted(path for path in FRAGMENTS.glob("*.md") if path.name != "README.md")


def collected() -> str:
    """All fragments, section by section."""
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    for path in fragments():
        _, *parts = re.split(r"^## (.+)\n", path.read_text(), flags=re.MULTILINE)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            found[name].append(text.strip())
    return "\n\n".join(f"### {name}\n\n" + "\n".join(texts) for name, texts in found.items() if texts) + "\n"


def released(version: str) -> None:
    """Move the fragments into CHANGELOG.md."""
    before = CHANGELOG.read_text() if CHANGELOG.exists() else ""
    CHANGELOG.write_text(f"## {version}\n\n{collected()}\n{before}")
    for path in fragments():
        path.unlink()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        released(sys.argv[1])
    else:
        print(collected())
