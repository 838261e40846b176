"""The graphical lasso along a sequence of penalties, each started from the solution before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil import _validation
from graphveil._threads import blas_threads_for
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.solvers._graphical_lasso import State, solve
from graphveil.solvers.kernels import extrapolate
from graphveil.solvers.objectives import alpha_max
from graphveil.solvers.problem import Problem, check_grid, check_symmetric
from graphveil.solvers.solution import Solution

__all__ = ["Path", "graphical_lasso_path"]


_BLOCK = 32 * 2**20  # bytes


@dataclass(frozen=True, eq=False)
class Path(Sequence[Solution]):
    """Solutions in the order of `alphas`.

    Attributes
    ----------
    alphas : ndarray of shape (k,)
        The penalties, as they were given.
    solutions : tuple of Solution
        One for each.
    alpha_max : float
        From this penalty on there is no edge.
    """

    alphas: NDArray[np.float64]
    solutions: tuple[Solution, ...]
    alpha_max: float

    @property
    def n_edges(self) -> NDArray[np.int64]:
        """Edges at each point."""
        return np.array([solution.n_edges for solution in self.solutions])

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Objective at each point."""
        return np.array([solution.objective for solution in self.solutions])

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, k):  # type: ignore[no-untyped-def] # the overloads of Sequence, delegated to a tuple
        return self.solutions[k]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __repr__(self) -> str:
        return f"Path({len(self)} penalties from {self.alphas.max():.4g} to {self.alphas.min():.4g})"


def graphical_lasso_path(
    S: ArrayLike,
    alphas: ArrayLike | None = None,
    *,
    n_alphas: int = 20,
    ratio: float = 0.1,
    penalize_diagonal: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Path:
    """Solve the graphical lasso for several penalties, from the largest down, each from the solution before it.

    Parameters
    ----------
    S : array of shape (p, p)
        Symmetric; see `graphical_lasso`.
    alphas : array of shape (k,), optional
        Penalties ≥ 0 in any order. By default ``n_alphas`` of them, equally spaced in logarithm from `alpha_max`, the
        largest off-diagonal entry in size, to ``ratio`` times that; only 0 for a diagonal S, which never has an edge.
    n_alphas, ratio : int, float
        Of the default grid.
    penalize_diagonal, tol, max_iter
        As in `graphical_lasso`; each point is certified.

    Returns
    -------
    Path
        A sequence of `Solution`, with ``alphas``, ``n_edges``, ``objectives`` and ``alpha_max``.

    Raises
    ------
    UnboundedProblem, NotConverged
        At the first penalty, from the largest down, that cannot be solved; see `graphical_lasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphveil.solvers import graphical_lasso_path
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> path = graphical_lasso_path(S, [0.6, 0.3, 0.1])
    >>> path.n_edges.tolist()
    [0, 1, 2]
    """
    S = check_symmetric(S)
    tol = _validation.number("tol", tol, "a finite number > 0", 0.0, np.inf, open_ends=True)
    max_iter = _validation.integer("max_iter", max_iter, 1)
    top = alpha_max(S)
    if alphas is None:
        ratio = _validation.number("ratio", ratio, "a number in (0, 1)", 0.0, 1.0, open_ends=True)
        grid = top * np.geomspace(1.0, ratio, _validation.integer("n_alphas", n_alphas, 1))
        if top == 0:
            grid = grid[:1]
    else:
        rule = "a non-empty one-dimensional array of finite numbers ≥ 0"
        grid = check_grid(alphas, "alphas", rule, zero_allowed=True)
        if grid.ndim != 1:
            raise InvalidParameter.of("alphas", rule, alphas)
    order = np.argsort(-grid, kind="stable")
    with blas_threads_for(len(S)):
        downhill = list(_descend_path(S, grid[order], penalize_diagonal, tol, max_iter))
    return Path(grid, tuple(downhill[k] for k in np.argsort(order)), top)


def _rooms(p: int, count: int) -> Iterator[Matrix]:
    """Memory for the matrices of ``count`` solutions, several at a time.

    The first touch of a page costs more than solving a sparse problem does; few large blocks have larger pages, and
    are used again. They are not larger than that because a solution that is kept keeps its block.
    """
    at_once = min(count, max(1, _BLOCK // (16 * p * p)))
    for _ in range(0, count, at_once):
        yield from np.empty((at_once, 2, p, p))


def _descend_path(
    S: Matrix, alphas: NDArray[np.float64], penalize_diagonal: bool, tol: float, max_iter: int
) -> Iterator[Solution]:
    """Solve for falling penalties, each from the line through the two solutions before it.

    W bends little between two points: from that line one sweep is usually enough, from the last point two are not
    always.
    """
    problem: Problem | None = None
    state: State | None = None
    before: NDArray[np.float32] | None = None
    one_sweep_will_do = True
    falls = -np.diff(alphas)
    answers = _rooms(len(S), len(alphas))
    for k, alpha in enumerate(alphas.tolist()):
        last, problem = problem, Problem.of(S, alpha, penalize_diagonal)
        if last is not None and state is not None:
            if not np.array_equal(last.scale, problem.scale):
                # The line would join two points in different units.
                state, before = state.fit_to(problem), None
            elif before is None or falls[k - 2] == 0:
                before, state = state.W, State(state.W.copy(), state.B).fit_to(problem)
            else:
                extrapolate(state.W, falls[k - 1] / falls[k - 2], before)
                np.fill_diagonal(before, problem.S.diagonal())
                before, state = state.W, State(before, state.B, one_sweep_will_do)
        solution, state = solve(problem, alpha, penalize_diagonal, tol, max_iter, state, next(answers))
        one_sweep_will_do = k < 2 or (one_sweep_will_do and solution.n_iter == 1)
        yield solution
