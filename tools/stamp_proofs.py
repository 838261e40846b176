"""Stamps tie a proof to the code that it proves: a hash of the function's source, without its docstring.

python tools/stamp_proofs.py           list proofs whose code has changed since they were stamped
python tools/stamp_proofs.py --renew   stamp them anew, after reading proof and code together
"""

import ast
import hashlib
import re
import sys
from importlib import import_module
from pathlib import Path

PROOFS = Path(__file__).parents[1] / "src" / "graphveil" / "privacy" / "proofs"
LINE = re.compile(r"^Proves `(?P<name>graphveil\.[\w.]+)` `(?P<stamp>\w+)`$", re.MULTILINE)


def source_of(name: str) -> str:
    """Source of a function given by its dotted name, decorators included, docstring excluded."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            module = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        break
    text = Path(module.__file__).read_text()
    node: ast.AST = ast.parse(text)
    for part in parts[cut:]:
        found = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part]
        found = [child for child in found if not _is_overload(child)]  # a signature for type checkers runs nothing
        if len(found) != 1:
            raise LookupError(f"{name} does not exist")
        node = found[0]
    lines = text.splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    kept = list(range(first, node.end_lineno + 1))
    if ast.get_docstring(node) is not None:
        kept = [line for line in kept if not node.body[0].lineno <= line <= node.body[0].end_lineno]
    return "\n".join(lines[line - 1].rstrip() for line in kept)


def _is_overload(node: ast.AST) -> bool:
    return any(ast.unparse(decorator) == "overload" for decorator in getattr(node, "decorator_list", []))


def stamp_of(name: str) -> str:
    """Sixteen hexadecimal digits that change with the code."""
    return hashlib.sha256(source_of(name).encode()).hexdigest()[:16]


def claims() -> list[tuple[Path, str, str]]:
    """(proof, proved function, stamp) for every line that begins with 'Proves'."""
    return [
        (path, match["name"], match["stamp"])
        for path in sorted(PROOFS.glob("*.md"))
        for match in LINE.finditer(path.read_text())
    ]


def stale() -> list[str]:
    """Proofs whose code has changed."""
    return [f"{path.name}: {name}" for path, name, stamp in claims() if stamp != stamp_of(name)]


def renew() -> None:
    """Write fresh stamps."""
    for path in PROOFS.glob("*.md"):
        text = LINE.sub(lambda m: f"Proves `{m['name']}` `{stamp_of(m['name'])}`", path.read_text())
        path.write_text(text)


if __name__ == "__main__":
    if "--renew" in sys.argv[1:]:
        renew()
    print("\n".join(stale()) or "every stamp is fresh")
    sys.exit(bool(stale()))
