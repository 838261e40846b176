"""Optional packages, which are used if they are installed."""

from importlib import import_module
from typing import Any

__all__ = ["import_package"]


def import_package(name: str, method: str) -> Any:
    """Import a package that a method needs; if it is missing, the error explains how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{method} needs {name}: pip install {name}") from None
