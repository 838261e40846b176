"""Solvers for matrices that you already have: a symmetric matrix in, a precision matrix out.

These functions are not private. Given the covariance of sensitive records, they return something that must not be
published; use :func:`graphveil.release` for that.
"""

from graphveil.solvers._admm import admm
from graphveil.solvers._graphical_lasso import graphical_lasso
from graphveil.solvers.cross_validation import choose_alpha
from graphveil.solvers.path import graphical_lasso_path
from graphveil.solvers.ridge import ridge_precision
from graphveil.solvers.solution import Solution

__all__ = ["Solution", "admm", "choose_alpha", "graphical_lasso", "graphical_lasso_path", "ridge_precision"]
