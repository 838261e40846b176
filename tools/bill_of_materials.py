"""Print a software bill of materials (CycloneDX 1.5, JSON) of graphveil as it is installed here, without extras.

python tools/bill_of_materials.py > graphveil.cdx.json
"""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution


def closure(root: str) -> dict[str, list[str]]:
    """Every installed distribution that ``root`` needs at run time, with what it needs itself."""
    needs: dict[str, list[str]] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in needs:
            continue
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # for another platform or Python
        plain = [text for text in required if "extra ==" not in text]
        needs[name] = [re.split(r"[^\w.-]", text, maxsplit=1)[0].lower().replace("_", "-") for text in plain]
        waiting += needs[name]
    return needs


def licence_of(name: str) -> str:
    """As the package says it, in whichever of the three places."""
    facts = distribution(name).metadata
    classified = [
        text.rsplit(" :: ", 1)[1] for text in facts.get_all("Classifier", []) if text.startswith("License ::")
    ]
    written = (facts.get("License") or "").strip().splitlines()
    return facts.get("License-Expression") or next(iter([*classified, *written]), "unknown")


def component(name: str) -> dict[str, object]:
    """One entry of the list."""
    version = distribution(name).version
    reference = f"pkg:pypi/{name}@{version}"
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": reference,
        "bom-ref": reference,
        "licenses": [{"license": {"name": licence_of(name)}}],
    }


def bill(root: str = "graphveil") -> dict[str, object]:
    """The whole document."""
    needs = closure(root)
    parts = {name: component(name) for name in needs}
    links = [
        {"ref": parts[name]["bom-ref"], "dependsOn": sorted(parts[n]["bom-ref"] for n in needed if n in parts)}
        for name, needed in sorted(needs.items())
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": parts.pop(root)},
        "components": [parts[name] for name in sorted(parts)],
        "dependencies": links,
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1)
    print()
