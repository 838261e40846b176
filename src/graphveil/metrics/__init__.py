"""How far an estimated precision matrix is from the true one, and how well its graph is found.

- matrix losses: `relative_loss` in the paper's three norms;
- likelihood losses: `entropy_loss` (Stein), `kullback_leibler`, `quadratic_loss`, `negative_log_likelihood`;
- edges: `partial_correlations`, `support_recovery` of one estimate, `roc_curve` and `roc_auc` of a ranking,
  `roc_curve_of_path` of a sequence of estimates.

An edge is an unordered pair i ≠ j whose entry is not zero; diagonals never count. Nothing here is random, and nothing
here is private: a loss against an estimate from the raw rows is a number computed from them, not to be published.

Examples
--------
>>> import numpy as np
>>> import graphveil as gv
>>> truth = gv.simulate.paper_model(3, p=20)
>>> rows = gv.simulate.gaussian_rows(truth, n_samples=2000, random_state=0)
>>> estimate = np.linalg.inv(rows.T @ rows / 2000)
>>> bool(relative_loss(estimate, truth, norm="F") < 0.2)
True
>>> roc_auc(partial_correlations(estimate), truth) > 0.99
True
"""

from graphveil.metrics.graphs import (
    RocCurve,
    SupportRecovery,
    partial_correlations,
    roc_auc,
    roc_curve,
    roc_curve_of_path,
    support_recovery,
)
from graphveil.metrics.losses import (
    entropy_loss,
    kullback_leibler,
    negative_log_likelihood,
    quadratic_loss,
    relative_loss,
)

__all__ = [
    "RocCurve",
    "SupportRecovery",
    "entropy_loss",
    "kullback_leibler",
    "negative_log_likelihood",
    "partial_correlations",
    "quadratic_loss",
    "relative_loss",
    "roc_auc",
    "roc_curve",
    "roc_curve_of_path",
    "support_recovery",
]
