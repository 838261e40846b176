"""The public surface: one list, loaded lazily, nothing heavy at import."""

import subprocess
import sys
from pathlib import Path

import pytest

import graphveil as gv

SRC = Path(gv.__file__).parent
HEAVY = ["numpy", "scipy", "sklearn", "numba", "opendp", "pyarrow", "pandas", "polars", "sqlalchemy"]


@pytest.mark.parametrize("name", gv.__all__)
def test_every_public_name_loads_and_is_documented(name):
    assert getattr(gv, name).__doc__, f"gv.{name} has no docstring"
    assert name in dir(gv)


def test_all_equals_the_typed_reexports():
    """The names a type checker sees (`X as X`) are the names that load."""
    lines = (SRC / "__init__.py").read_text().splitlines()
    typed = {line.split(" as ")[1].strip() for line in lines if line.startswith("    from ") and " as " in line}
    assert typed == set(gv._HOME)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gv.nonsense


def test_no_module_shares_a_name_with_a_public_function():
    modules = {path.stem for path in SRC.glob("*.py")} | {path.name for path in SRC.iterdir() if path.is_dir()}
    assert not modules & set(gv._HOME)


def test_import_loads_nothing_heavy():
    code = "import sys, graphveil; print(*[m for m in sys.modules if '.' not in m])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(HEAVY) & set(out)


def test_the_site_documents_every_public_name():
    page = (SRC.parents[1] / "docs" / "api.md").read_text()
    for name, module in gv._HOME.items():
        assert f"::: {module}.{name}\n" in page, name
    for name in gv._MODULES:
        assert f"::: graphveil.{name}\n" in page
