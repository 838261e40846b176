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

    from graphveil.auditing.result import Audit as Audit
    from graphveil.auditing.run import audit as audit
    from graphveil.engines.sql import sql as sql
    from graphveil.estimators.graphical_lasso import PrivateGraphicalLasso as PrivateGraphicalLasso
    from graphveil.estimators.lda import PrivateLDA as PrivateLDA
    from graphveil.estimators.linear_regression import PrivateLinearRegression as PrivateLinearRegression
    from graphveil.estimators.precision import PrivatePrecision as PrivatePrecision
    from graphveil.estimators.ridge import PrivateRidgePrecision as PrivateRidgePrecision
    from graphveil.gate import release as release
    from graphveil.inference.centrality import Centrality as Centrality
    from graphveil.inference.centrality import centrality as centrality
    from graphveil.inference.comparison import Comparison as Comparison
    from graphveil.inference.components import Components as Components
    from graphveil.inference.components import components as components
    from graphveil.inference.regression import Regression as Regression
    from graphveil.inference.regression import regression as regression
    from graphveil.inference.synthetic import SyntheticRows as SyntheticRows
    from graphveil.inference.synthetic import sample as sample
    from graphveil.ledger.ledger import Ledger as Ledger
    from graphveil.planning.comparison import compare as compare
    from graphveil.planning.forecasts import plan as plan
    from graphveil.recovery.edge_intervals import EdgeIntervals as EdgeIntervals
    from graphveil.recovery.estimate import Estimate as Estimate
    from graphveil.recovery.estimate import recover as recover
    from graphveil.released.grouped import GroupedRelease as GroupedRelease
    from graphveil.released.merged import MergedRelease as MergedRelease
    from graphveil.released.merged import merge_releases as merge_releases
    from graphveil.released.release import Release as Release
    from graphveil.report.page import write_report as write_report
    from graphveil.spec.augmentation import Labels as Labels
    from graphveil.spec.budget import Budget as Budget
    from graphveil.spec.domain import Domain as Domain
    from graphveil.spec.events import ReleaseEvent as ReleaseEvent
    from graphveil.spec.forecast import Forecast as Forecast
    from graphveil.spec.kinds import Category as Category
    from graphveil.spec.kinds import Number as Number
    from graphveil.spec.kinds import Ordinal as Ordinal
    from graphveil.spec.weight import Weight as Weight

# name -> module. Loaded when first used: `import graphveil` costs no numpy, scipy or numba.
_HOME = {
    "Audit": "graphveil.auditing.result",
    "Budget": "graphveil.spec.budget",
    "Category": "graphveil.spec.kinds",
    "Centrality": "graphveil.inference.centrality",
    "Comparison": "graphveil.inference.comparison",
    "Components": "graphveil.inference.components",
    "Domain": "graphveil.spec.domain",
    "EdgeIntervals": "graphveil.recovery.edge_intervals",
    "Estimate": "graphveil.recovery.estimate",
    "Forecast": "graphveil.spec.forecast",
    "GroupedRelease": "graphveil.released.grouped",
    "Labels": "graphveil.spec.augmentation",
    "Ledger": "graphveil.ledger.ledger",
    "MergedRelease": "graphveil.released.merged",
    "Number": "graphveil.spec.kinds",
    "Ordinal": "graphveil.spec.kinds",
    "PrivateGraphicalLasso": "graphveil.estimators.graphical_lasso",
    "PrivateLDA": "graphveil.estimators.lda",
    "PrivateLinearRegression": "graphveil.estimators.linear_regression",
    "PrivatePrecision": "graphveil.estimators.precision",
    "PrivateRidgePrecision": "graphveil.estimators.ridge",
    "Regression": "graphveil.inference.regression",
    "Release": "graphveil.released.release",
    "ReleaseEvent": "graphveil.spec.events",
    "SyntheticRows": "graphveil.inference.synthetic",
    "Weight": "graphveil.spec.weight",
    "audit": "graphveil.auditing.run",
    "centrality": "graphveil.inference.centrality",
    "compare": "graphveil.planning.comparison",
    "components": "graphveil.inference.components",
    "merge_releases": "graphveil.released.merged",
    "plan": "graphveil.planning.forecasts",
    "recover": "graphveil.recovery.estimate",
    "regression": "graphveil.inference.regression",
    "release": "graphveil.gate",
    "sample": "graphveil.inference.synthetic",
    "sql": "graphveil.engines.sql",
    "write_report": "graphveil.report.page",
}
_MODULES = ("datasets", "exceptions", "metrics", "simulate", "solvers")

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
