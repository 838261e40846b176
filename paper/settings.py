"""One configuration for each table and figure, as section 5 of the paper states it."""

from dataclasses import dataclass

import numpy as np

SEED = 2020
VARIANTS = ("as_printed", "corrected", "graphveil")
FOLDS = 5
EPSILONS = (0.1, 0.3, 0.5, 0.8, 1.2, 2.0)
RHO = 100.0
ITERATIONS = 1000  # the paper says "until convergence"; its table fits this (ERRATA.md, 4)


@dataclass(frozen=True)
class Table:
    """A grid of models, sample sizes and ε, at δ = 1/n."""

    name: str
    models: tuple[int, ...]
    sizes: tuple[int, ...] = (100, 200, 400)
    p: int = 100
    epsilons: tuple[float, ...] = EPSILONS


TABLE1 = Table("table1", models=(1, 2, 3))
TABLE2 = Table("table2", models=(2, 3, 4))

# Penalties to choose from by cross-validation. The printed Table 1 fits a grid that ends at 2e-6 (ERRATA.md, 7).
RIDGE_GRID_AS_PRINTED = np.geomspace(2e-6, 2e-2, 65)
RIDGE_GRID = np.geomspace(1e-9, 1e-1, 129)
LASSO_GRID = np.geomspace(1e-2, 1e-5, 31)

FIGURE1 = {"models": (3, 4), "n": 2000, "p": 20, "delta": 0.001, "epsilons": (1.0, 2.0)}
FIGURE2 = {"training": 40, "validation": 40, "delta": 0.001, "epsilons": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
FIGURE3 = {"delta": 0.001, "epsilons": (1.0, 2.0)}
FIGURE4 = {"delta": 0.001, "epsilons": (1.0, 2.0), "alphas": (0.0015, 0.002)}
