"""What is compiled is kept where there is a place, and works where there is none; one decorator sees to it."""

import ast
import subprocess
import sys
from pathlib import Path

import graphveil as gv

SRC = Path(gv.__file__).parent
KERNEL = """
from numba import float64
from graphveil._compiled import compiled

@compiled(float64(float64))
def double(x):
    return 2.0 * x

assert double(21.0) == 42.0
assert len(double.signatures) == 1
print(double.stats.cache_path)
"""


def run(folder, **environment):
    (folder / "kernel.py").write_text(KERNEL)
    return subprocess.run(
        [sys.executable, "-c", "import kernel"],
        cwd=folder,
        env={"PATH": "", "PYTHONPATH": f"{SRC.parent}:{folder}", **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_it_is_kept_beside_the_module_or_where_the_user_says(tmp_path):
    assert run(tmp_path, HOME=str(tmp_path)) == str(tmp_path / "__pycache__")
    assert list((tmp_path / "__pycache__").glob("kernel.double-*.nbi"))
    assert run(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "kept")).startswith(str(tmp_path / "kept"))


def test_it_works_where_there_is_no_place(tmp_path):
    """Folders that cannot be made, because files have their names: so for root too."""
    (tmp_path / "__pycache__").touch()
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(tmp_path, **nowhere) == "None"
    assert run(tmp_path, NUMBA_CACHE_DIR="/proc/nowhere", **nowhere) == "None"


def decorators(path):
    """(function, decorator) as they are written."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            yield from ((node.name, ast.unparse(decorator)) for decorator in node.decorator_list)


def test_nothing_asks_numba_for_a_cache_but_this_decorator():
    for path in SRC.rglob("*.py"):
        assert path.name == "_compiled.py" or "cache=True" not in path.read_text(), path
        for name, written in decorators(path):
            if written.startswith("njit"):
                assert name.startswith("_"), f"{path}: {name} is compiled into its callers only"


def is_compiled(function):
    names = {name.id for decorator in function.decorator_list for name in ast.walk(decorator) if hasattr(name, "id")}
    return bool(names & {"compiled", "njit"})


def test_no_loop_inside_try_is_compiled():
    """With Python 3.12 or newer, numba lets an exception escape from such a loop's second iteration."""
    functions = [
        (path, node)
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and is_compiled(node)
    ]
    assert len(functions) > 20
    for path, function in functions:
        guarded = [node for node in ast.walk(function) if isinstance(node, ast.Try)]
        loops = [node for block in guarded for node in ast.walk(block) if isinstance(node, ast.For | ast.While)]
        assert not loops, f"{path.name}: {function.name}"
