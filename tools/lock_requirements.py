"""Write requirements.lock: every package of a development environment, with version and hash.

python tools/lock_requirements.py           ask pip what a development environment resolves to now, and write it down
pip install --require-hashes -r requirements.lock && pip install --no-deps -e .     use it

Hashes are those of the files for the platform that ran this; where they came from is not written down.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"


def resolved() -> list[tuple[str, str, str]]:
    """(name, version, SHA-256) of everything that pip would install, without graphveil itself."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        wanted = ["-e", f"{ROOT}[dask,postgres,spark]", "--group", f"{ROOT / 'pyproject.toml'}:dev"]
        subprocess.run([*command, "--report", report.name, *wanted], check=True)  # noqa: S603 - our own words
        found = json.loads(Path(report.name).read_text())["install"]
    packages = [(item["metadata"], item["download_info"].get("archive_info")) for item in found]
    return sorted((m["name"].lower(), m["version"], a["hashes"]["sha256"]) for m, a in packages if a is not None)


if __name__ == "__main__":
    lines = [f"{name}=={version} --hash=sha256:{digest}\n" for name, version, digest in resolved()]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    LOCK.write_text(f"# Made by `make lock` on {sys.platform}, Python {version}; do not edit.\n" + "".join(lines))
    print(f"{len(lines)} packages in {LOCK.name}")
