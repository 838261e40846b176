"""Known precision matrices, and rows drawn from them: the ground truth of tests, examples and benchmarks.

A precision matrix Θ = Σ⁻¹ *is* a graph: variables i and j are joined if and only if θ_ij ≠ 0. Every function that makes
one returns a symmetric positive definite ``p × p`` array and says how well it is conditioned; every sampler takes one
and returns ``n_samples × p`` rows of mean zero.

- the four models of the paper's section 5.1: `paper_model`, or by name `wishart_precision`, `full_precision`,
  `autoregressive_precision`, `random_sparse_precision`;
- graphs common in practice, at a condition number of your choice: `hub_precision`, `scale_free_precision`,
  `small_world_precision`, `block_precision`, `band_precision`, and `precision_from_graph` for one of your own;
- rows: `gaussian_rows`, `student_rows` (heavy tails, same covariance), `lognormal_rows` (skewed, same graph),
  `contaminated_rows` (a few huge ones).

Nothing here is private, and nothing here is secret: ``random_state`` seeds an ordinary generator.

Examples
--------
>>> import graphveil as gv
>>> theta = gv.simulate.paper_model(3, p=4)
>>> theta
array([[1.  , 0.5 , 0.25, 0.  ],
       [0.5 , 1.  , 0.5 , 0.25],
       [0.25, 0.5 , 1.  , 0.5 ],
       [0.  , 0.25, 0.5 , 1.  ]])
>>> gv.simulate.gaussian_rows(theta, n_samples=1000, random_state=0).shape
(1000, 4)
"""

from graphveil.simulate.conditioning import precision_from_graph
from graphveil.simulate.graphs import (
    band_precision,
    block_precision,
    hub_precision,
    scale_free_precision,
    small_world_precision,
)
from graphveil.simulate.models import (
    autoregressive_precision,
    full_precision,
    paper_model,
    random_sparse_precision,
    wishart_precision,
)
from graphveil.simulate.samplers import contaminated_rows, gaussian_rows, lognormal_rows, student_rows

__all__ = [
    "autoregressive_precision",
    "band_precision",
    "block_precision",
    "contaminated_rows",
    "full_precision",
    "gaussian_rows",
    "hub_precision",
    "lognormal_rows",
    "paper_model",
    "precision_from_graph",
    "random_sparse_precision",
    "scale_free_precision",
    "small_world_precision",
    "student_rows",
    "wishart_precision",
]
