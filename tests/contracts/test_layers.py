"""The layers of ARCHITECTURE.md, executed: who may import whom, directly or through others."""

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "graphveil"

# Lower may not import higher; parts that share a line are siblings and may not import each other.
LAYERS = [
    {"cli"},
    {"studio"},
    {"estimators", "auditing", "planning"},
    {"report"},
    {"inference"},
    {"gate"},
    {"strategies"},
    {"recovery", "engines", "ledger"},
    {"solvers", "rows", "privacy", "released", "simulate", "metrics", "datasets"},
    {"protocol"},
    {"spec"},
    {"_network_plot"},
    {"_files", "_frames", "_graph_layout", "_interval_plot", "_linalg", "_memory", "_validation"},
    {"_layout_search"},
    {"exceptions", "_compiled", "_html", "_packages", "_random", "_tables", "_threads", "_typing"},
]
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}

# (importer, forbidden), checked along every chain of imports.
NEVER_REACH = [
    ("solvers", "spec"),
    ("privacy", "rows"),
    ("ledger", "rows"),
    ("protocol", "rows"),
    ("protocol", "privacy"),
    ("recovery", "rows"),
    ("recovery", "privacy"),
    ("recovery", "gate"),
    ("strategies", "rows"),
    ("inference", "rows"),
    ("inference", "privacy"),
    ("inference", "gate"),
    ("report", "rows"),
    ("report", "privacy"),
    ("report", "gate"),
]

# (pattern, where it is allowed)
ONLY_IN = {
    "numpy.random": ("privacy/noise.py", "_random.py", "simulate/"),
    "opendp": (),
    "urandom": ("privacy/discrete_gaussian.py", "rows/ids.py", "rows/people.py"),
    "pickle": (),
    "sqlalchemy": ("ledger/",),
}


def part_of(path: Path) -> str:
    relative = path.relative_to(SRC)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_modules(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imported_modules_of(path: Path) -> set[str]:
    return imported_modules(ast.parse(path.read_text()))


def used_attributes(text: str) -> set[str]:
    """Dotted names in executed code; `np.random.Generator` as a type is no use of randomness."""
    names = {ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    generator_only = not any(n.startswith("np.random.") and n != "np.random.Generator" for n in names)
    return names - {"np.random"} if generator_only else names


def import_graph() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for path in SRC.rglob("*.py"):
        if path == SRC / "__init__.py":
            continue  # the public list looks at everything, lazily
        part = part_of(path)
        names = {m.split(".")[1] for m in imported_modules(ast.parse(path.read_text())) if m.startswith("graphveil.")}
        graph.setdefault(part, set()).update(names - {part})
    return graph


GRAPH = import_graph()


def reachable(part: str) -> set[str]:
    seen: set[str] = set()
    stack = [part]
    while stack:
        new = GRAPH.get(stack.pop(), set()) - seen
        seen |= new
        stack.extend(new)
    return seen


def test_the_page_shows_these_layers():
    page = (SRC.parents[1] / "ARCHITECTURE.md").read_text()
    shown = page.split("## Layers")[1].split("\n\n")[2]
    assert [set(line.split()) for line in shown.splitlines()] == LAYERS
    for part in RANK:
        assert f"`{part}/`" in page or f"`{part}.py`" in page, part


def test_the_page_says_where_changes_belong():
    page = (SRC.parents[1] / "ARCHITECTURE.md").read_text()
    table = page.split("## Where a change belongs")[1].split("## Layers")[0]
    named = re.findall(r"`([\w./]+)`", table.split("|---|---|")[1])
    assert len(named) >= 10
    assert not [path for path in named if not (SRC / path).exists()]


def test_every_part_has_a_layer():
    assert set(GRAPH) <= set(RANK), f"not in ARCHITECTURE.md's layers: {set(GRAPH) - set(RANK)}"


@pytest.mark.parametrize("part", sorted(GRAPH))
def test_imports_point_down(part):
    wrong = {other for other in GRAPH[part] if RANK[other] <= RANK[part]}
    assert not wrong, f"{part} imports {wrong}, which is not below it"


@pytest.mark.parametrize(("part", "forbidden"), NEVER_REACH)
def test_forbidden_chains(part, forbidden):
    assert forbidden not in reachable(part)


def test_only_the_gate_joins_rows_and_noise():
    joiners = {part for part in GRAPH if {"rows", "privacy"} <= GRAPH[part]}
    assert joiners == {"gate"}
    noisy = [path for path in SRC.rglob("*.py") if "graphveil.privacy.noise" in imported_modules_of(path)]
    assert {part_of(path) for path in noisy} == {"gate", "privacy"}


@pytest.mark.parametrize("pattern", sorted(ONLY_IN))
def test_confined_imports(pattern):
    for path in SRC.rglob("*.py"):
        relative = path.relative_to(SRC).as_posix()
        if any(relative.startswith(allowed) for allowed in ONLY_IN[pattern]):
            continue
        text = path.read_text()
        modules = imported_modules(ast.parse(text))
        assert not any(m == pattern or m.startswith(pattern + ".") for m in modules), f"{relative} imports {pattern}"
        if pattern == "numpy.random":
            assert "np.random" not in used_attributes(text), f"{relative} uses np.random"


def test_only_the_command_line_prints():
    for path in SRC.rglob("*.py"):
        if part_of(path) == "cli":
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path


def test_the_checker_sees_a_forbidden_import():
    tree = ast.parse("def f():\n    from graphveil.gate import release\n    import numpy.random\n")
    assert {"graphveil.gate", "numpy.random"} <= imported_modules(tree)
