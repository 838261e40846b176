"""Precision matrices and Gaussian graphical models under differential privacy.

Start with :func:`release` (the only step that sees records) and :func:`recover` (free, from the release alone), or with
:class:`PrivatePrecision`, which does both.

The flow, and the one rule::

    rows ──clip, quantise──▶ exact moments ──┐
                                             ├─▶ gate ─▶ Release ─▶ recovery ─▶ estimator / report
    budget ──calibrate──▶ noise ──ledger─────┘           (public from here on, every step is free)

What is in ``spec/`` may be printed, what is in ``rows/`` never, and only ``gate.py`` joins ``rows/`` and ``privacy/``.
"""

TYPE_CHECKING = False  # that of typing, which takes longer to load than all of this: Ctrl-C there is a traceback
if TYPE_CHECKING:
    from typing import Any

    from graphveil.auditing.game import audit as audit
    from graphveil.auditing.result import Audit as Audit
    from graphveil.estimators.dense import PrivatePrecision as PrivatePrecision
    from graphveil.estimators.lda import PrivateLDA as PrivateLDA
    from graphveil.estimators.network import PrivateGraphicalLasso as PrivateGraphicalLasso
    from graphveil.estimators.ridge import PrivateRidge as PrivateRidge
    from graphveil.gate import release as release
    from graphveil.ledger.ledger import Ledger as Ledger
    from graphveil.planning import plan as plan
    from graphveil.recovery.precision import recover as recover
    from graphveil.report.page import write_report as write_report
    from graphveil.solvers.descent import graphical_lasso as graphical_lasso
    from graphveil.solvers.path import graphical_lasso_path as graphical_lasso_path
    from graphveil.solvers.ridge import ridge_precision as ridge_precision
    from graphveil.solvers.solution import Solution as Solution
    from graphveil.solvers.splitting import admm as admm
    from graphveil.spec.augment import Labels as Labels
    from graphveil.spec.budget import Budget as Budget
    from graphveil.spec.domain import Domain as Domain
    from graphveil.spec.forecast import Forecast as Forecast
    from graphveil.spec.merged import MergedRelease as MergedRelease
    from graphveil.spec.merged import merge_releases as merge_releases
    from graphveil.spec.released import Release as Release

# name -> module. Loaded when first used: `import graphveil` costs no numpy, scipy or numba.
_HOME = {
    "Audit": "graphveil.auditing.result",
    "Budget": "graphveil.spec.budget",
    "Domain": "graphveil.spec.domain",
    "Forecast": "graphveil.spec.forecast",
    "Labels": "graphveil.spec.augment",
    "Ledger": "graphveil.ledger.ledger",
    "MergedRelease": "graphveil.spec.merged",
    "PrivateGraphicalLasso": "graphveil.estimators.network",
    "PrivateLDA": "graphveil.estimators.lda",
    "PrivatePrecision": "graphveil.estimators.dense",
    "PrivateRidge": "graphveil.estimators.ridge",
    "Release": "graphveil.spec.released",
    "Solution": "graphveil.solvers.solution",
    "admm": "graphveil.solvers.splitting",
    "audit": "graphveil.auditing.game",
    "graphical_lasso": "graphveil.solvers.descent",
    "graphical_lasso_path": "graphveil.solvers.path",
    "merge_releases": "graphveil.spec.merged",
    "plan": "graphveil.planning",
    "recover": "graphveil.recovery.precision",
    "release": "graphveil.gate",
    "ridge_precision": "graphveil.solvers.ridge",
    "write_report": "graphveil.report.page",
}
_MODULES = ("datasets", "exceptions", "metrics", "simulate")

__all__ = sorted([*_HOME, *_MODULES])  # noqa: PLE0605 - the map above is the one list


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"graphveil.{name}")
    elif name == "__version__":
        value = import_module("importlib.metadata").version("graphveil")
    else:
        raise AttributeError(f"module 'graphveil' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
