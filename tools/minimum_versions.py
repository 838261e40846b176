"""Print the oldest versions that pyproject.toml allows, as requirements: the environment of `make oldest`."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
# Tools that check the source, and a peer that is not a dependency: their age says nothing about graphveil.
TOOLS = {"mypy", "ruff", "dp-accounting"}


def oldest() -> list[str]:
    """Exact requirements for what runs, and for what runs the tests."""
    found = []
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]:
        name, version = re.fullmatch(r"([\w-]+)(?:\[[\w,-]+\])?>=([\d.]+)(?:,.*)?", text).groups()
        found.append(name if name in TOOLS else f"{name}=={version}")
    return found


if __name__ == "__main__":
    print("\n".join(oldest()))
