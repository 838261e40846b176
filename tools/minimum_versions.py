"""Print the oldest versions that pyproject.toml allows, as requirements: the environment of `make oldest`."""

import re
import tomllib
from pathlib import Path

FILE = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
# Tools that check the source or drive a browser, and a peer: their age says nothing about graphveil.
TOOLS = {"mypy", "ruff", "towncrier", "dp-accounting", "playwright"}


def oldest() -> list[str]:
    """Exact requirements for what runs, and for what runs the tests."""
    project, groups = FILE["project"], FILE["dependency-groups"]
    extras = [text for extra in project["optional-dependencies"].values() for text in extra]
    plain = [text for name in ("paper", "dev") for text in groups[name] if isinstance(text, str)]
    found = []
    for text in [*project["dependencies"], *extras, *plain]:
        name, extras, version = re.fullmatch(r"([\w-]+)(\[[\w,-]+\])?>=([\d.]+)(?:,.*)?", text).groups()
        found.append(name if name in TOOLS else f"{name}{extras or ''}=={version}")
    return found


if __name__ == "__main__":
    print("\n".join(oldest()))
