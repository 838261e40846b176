"""The paper's preprocessing, and its mechanism: as its text has it, and as its tables have it."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphveil as gv
from paper.settings import ITERATIONS, RHO

Matrix = NDArray[np.float64]


def scaled(rows: Matrix) -> tuple[Matrix, float]:
    """Rows divided by the largest norm among them, and that norm: the paper's preprocessing, which is not private."""
    longest = float(np.sqrt((rows**2).sum(axis=1).max()))
    return rows / longest, longest


def second_moment(rows: Matrix) -> Matrix:
    """S = X'X/n of rows."""
    return rows.T @ rows / len(rows)


def noisy_second_moment(rows: Matrix, epsilon: float, delta: float, seed: int) -> Matrix:
    """Steps 1 to 3 of both algorithms on rows of norm at most 1: S + E with the printed β."""
    made = gv.release(
        rows,
        domain=gv.Domain(data_norm=1.0),
        budget=gv.Budget(epsilon, delta),
        mechanism="paper",
        allow_unproven=True,
        random_state=seed,
        assume_centered=True,
        adaptive=False,
    )
    return made.second_moment


def as_printed(epsilon: float, delta: float, alpha: float, seed: int) -> dict[str, Any]:
    """Options of the estimators for rows of norm at most 1: the noise that the tables fit (ERRATA.md, 3)."""
    return {
        "epsilon": epsilon,
        "delta": delta,
        "alpha": alpha,
        "mechanism": "paper",
        "noise_factor": math.sqrt(2) if epsilon < 1 else 1.0,
        "allow_unproven": True,
        "data_norm": 1.0,
        "assume_centered": True,
        "random_state": seed,
    }


def noise_sd(n: int, epsilon: float, delta: float) -> float:
    """β of Algorithms 1 and 2."""
    return float(np.sqrt(2) / n * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def printed_lasso(S: Matrix, alpha: float) -> Matrix:
    """Step 4 of Algorithm 2 as the tables have it: 1,000 plain iterations, converged or not (ERRATA.md, 4)."""
    return gv.solvers.admm(S, alpha, rho=RHO, tol=None, max_iter=ITERATIONS).precision
