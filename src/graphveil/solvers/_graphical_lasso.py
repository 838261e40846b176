"""The graphical lasso by block-coordinate ascent on its dual, certified.

With the penalty of the diagonal folded into S, the dual is max log det W over W ≻ 0 in the box |W_ij − S_ij| ≤ A_ij,
W_ii = S_ii. Fix all of W but row and column j. With W₁₁ the rest, w the row and s its part of S, log det W =
log det W₁₁ + log(S_jj − w'W₁₁⁻¹w), so the best row minimises w'W₁₁⁻¹w over the box around s. The dual of that small
problem is a lasso,

    minimise ½β'W₁₁β − s'β + Σ_k A_jk |β_k| over β,  w = W₁₁β,

whose β gives the column of Θ = W⁻¹ too: Θ_jj = 1 / (S_jj − w'β), Θ_j = −Θ_jj β. A row solved exactly raises log det W;
from a feasible W ≻ 0 all later W are positive definite, which an indefinite S needs and the classical start W = S does
not give. A sweep also brings a W ≻ 0 from outside into the box, row by row, unless a row would lower its Schur
complement too far; such a row is shortened, and where there are many a feasible start is searched for instead.

A row is solved on its nonzero coefficients, in a small Gram matrix that stays in cache; one pass over the columns of W
that it uses then gives the new row and shows which coefficients must enter. When the ascent still to come is predicted
to be small, the candidate is certified: Θ made symmetric, W moved into the box, and a bound on the gap
F(Θ) − (log det W + p) compared with the tolerance (see `graphveil.solvers.certificate`). A failed certificate sends it
back for more.

Large problems are as fast as memory is, so sweeps run in single precision: half the traffic. The gap is quadratic in
the error of Θ, so a rounding of 1e-7 is far below a gap of 1e-6 a variable. Starts that Cholesky must approve,
certificates, and sweeps that single precision does not bring to the tolerance, are in double precision.

References
----------
Banerjee, El Ghaoui, d'Aspremont (2008). Model selection through sparse maximum likelihood estimation. JMLR 9.
Friedman, Hastie, Tibshirani (2008). Sparse inverse covariance estimation with the graphical lasso. Biostatistics 9.
Mazumder, Hastie (2012). The graphical lasso: new insights and alternatives. EJS 6.
Witten, Friedman, Simon (2011). New insights and faster computations for the graphical lasso. JCGS 20.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil import _validation
from graphveil._linalg import is_positive_definite
from graphveil._threads import blas_threads_for
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter, NotConverged
from graphveil.solvers.certificate import certify
from graphveil.solvers.feasibility import (
    Recession,
    interior_point,
    negative_variance,
    point_in_box,
    point_outside,
    raise_unbounded,
)
from graphveil.solvers.kernels import (
    CAREFUL,
    LATER,
    ON_TRIAL,
    ROUGH,
    ROUNDING,
    SPARSE_START,
    TRIAL,
    assemble,
    descend,
    gather_block,
    label_components,
    scatter_block,
    soft_threshold_share,
    solve_at_once,
)
from graphveil.solvers.problem import Problem, all_penalties, check_penalty, check_symmetric
from graphveil.solvers.solution import Solution

__all__ = ["State", "graphical_lasso", "solve"]

Single = NDArray[np.float32]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]

# Components smaller than this are solved side by side: a call costs more than their arithmetic.
_PACK = 48
# A component larger than this share is solved with all the rest: copying it out would cost more than it saves.
_WHOLE = 0.7
# Problems up to this size are tried in one call of compiled code: Python takes 0.1 ms to lead through the general way.
_AT_ONCE = 150
# Numbers in a block of memory that has large pages (numpy asks for them from 4 MB on), and variables for which that is
# too much.
_LARGE = 2**19
_SMALL = 100
_EPS = float(np.finfo(float).eps)
_CERTIFIED = "the duality gap is within the tolerance"
_NOTHING = np.empty((0, 0))


def graphical_lasso(
    S: ArrayLike,
    alpha: ArrayLike,
    *,
    penalize_diagonal: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    warm_start: Solution | None = None,
) -> Solution:
    """Minimise −log det Θ + tr(SΘ) + Σ α_ij |Θ_ij| over Θ ≻ 0, to a certified duality gap.

    Parameters
    ----------
    S : array of shape (p, p)
        Symmetric. It need not be positive definite: noise may have made it indefinite, as long as a minimiser exists.
    alpha : float ≥ 0, or array of shape (p, p)
        The penalty, or one for each pair of variables (symmetric).
    penalize_diagonal : bool, default True
        Whether the sum includes i = j (the paper does, scikit-learn does not).
    tol : float, default 1e-6
        The gap allowed, in nats per variable: the result has ``gap <= tol * p``. This does not depend on the units
        of the variables, nor on how many copies of a problem are solved at once.
    max_iter : int, default 1000
        Most sweeps over the rows.
    warm_start : Solution, optional
        Of a similar problem, such as the same S with another alpha.

    Returns
    -------
    Solution
        With the precision matrix, its certified gap and the dual point that certifies it.

    Raises
    ------
    UnboundedProblem
        No minimiser exists. The exception carries ``certificate``, a D ⪰ 0 of trace one along which the objective falls
        without bound, ``recession`` = tr(SD) + Σ α|D| ≤ 0, and ``safe_alpha``, the smallest alpha (same shape as
        alpha) that is known to have a minimiser, or None when no alpha has.
    NotConverged
        The tolerance could not be certified in ``max_iter`` sweeps, or it could not be decided whether a minimiser
        exists.

    Examples
    --------
    >>> import numpy as np
    >>> from graphveil.solvers import graphical_lasso
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> solution = graphical_lasso(S, 0.2, penalize_diagonal=False)
    >>> solution.n_edges
    1
    >>> bool(solution.gap <= 1e-6 * 3)
    True
    """
    S = check_symmetric(S)
    penalty = check_penalty(alpha, len(S))
    tol = _validation.number("tol", tol, "a finite number > 0", 0.0, np.inf, open_ends=True)
    max_iter = _validation.integer("max_iter", max_iter, 1)
    if warm_start is not None and type(warm_start) is not Solution:
        raise InvalidParameter.of("warm_start", "a Solution", warm_start)
    if len(S) <= _AT_ONCE:
        easy = _solve_at_once(S, penalty, penalize_diagonal, tol, max_iter, warm_start)
        if easy is not None:
            return easy
    problem = Problem.of(S, penalty, penalize_diagonal)
    state = None if warm_start is None else State.of(warm_start, problem)
    with blas_threads_for(len(S)):
        solution, _ = solve(problem, penalty, penalize_diagonal, tol, max_iter, state)
    return solution


def _solve_at_once(
    S: Matrix, alpha: float | Matrix, penalize_diagonal: bool, tol: float, max_iter: int, warm_start: Solution | None
) -> Solution | None:
    """Solve a small and easy problem in one call; None where it needs more care, or a warm start that is refused."""
    p = len(S)
    limits = np.full((1, p), alpha) if isinstance(alpha, float) else alpha
    start = (_NOTHING, _NOTHING)
    if warm_start is not None:
        if warm_start.precision.shape != S.shape or not np.isfinite(warm_start.gap):
            return None
        start = (warm_start.precision, warm_start.dual)
    precision, dual = np.empty((p, p)), np.empty((p, p))
    sweeps, objective, gap = solve_at_once(S, limits, penalize_diagonal, tol, max_iter, *start, precision, dual)
    return Solution(precision, objective, gap, dual, sweeps, _CERTIFIED) if math.isfinite(gap) else None


@dataclass(frozen=True, eq=False)
class State:
    """Where a descent stands, and where the next one may start: W ≻ 0 and the rows' coefficients, in single precision.

    `is_close` says that one sweep will probably do: it is then worth a certificate whatever its ascent predicts.
    """

    W: Single
    B: Single
    is_close: bool = False

    @classmethod
    def of(cls, warm_start: Solution, problem: Problem) -> "State":
        """From a solution of another problem with as many variables."""
        if warm_start.precision.shape != problem.S.shape:
            raise InvalidParameter.of(
                "warm_start", f"a solution for {len(problem)} variables", f"one for {len(warm_start.precision)}"
            )
        if not np.isfinite(warm_start.gap):
            raise InvalidParameter.of("warm_start", "a solution with a finite gap", warm_start)
        precision, dual = warm_start.precision, warm_start.dual
        if not problem.is_unscaled:  # single precision has no room for every unit
            precision, dual = problem.covariance_to_user_units(precision), problem.to_user_units(dual)
        B = -precision / precision.diagonal()[:, None]
        np.fill_diagonal(B, 0.0)
        return cls(dual.astype(np.float32), B.astype(np.float32)).fit_to(problem)

    def fit_to(self, problem: Problem) -> "State":
        """The same correlations with the variances of ``problem``: W stays positive definite."""
        variances = problem.S.diagonal().astype(np.float32)
        if not problem.diagonal_is_positive or np.array_equal(variances, self.W.diagonal()):
            return self
        f = np.sqrt(variances) / np.sqrt(self.W.diagonal())
        W, B = self.W * f[:, None] * f, self.B * f[:, None] / f
        np.fill_diagonal(W, variances)
        return State(W.astype(np.float32, copy=False), B.astype(np.float32, copy=False))


@dataclass(frozen=True, eq=False)
class _Block:
    """How one block was solved and certified, in scaled units."""

    state: State
    linear: float
    logdet: float
    gap: float
    sweeps: int


def solve(
    problem: Problem,
    alpha: float | Matrix,
    penalize_diagonal: bool,
    tol: float,
    max_iter: int,
    start: State | None,
    answer: Matrix | None = None,
) -> tuple[Solution, State]:
    """Solve a checked problem, block by block; also return the state for a warm start.

    ``start`` is used up. What it holds between blocks is kept, which is zero along a path of falling penalties: there
    blocks only merge. ``answer``, if given, is memory of shape (2, p, p) for the precision matrix and the dual point.
    """
    p = len(problem)
    if not problem.diagonal_is_positive:
        raise_unbounded(negative_variance(problem.S), problem, alpha, penalize_diagonal)
    blocks, alone = _split(problem)
    variances = problem.S.diagonal()
    # The usual case of a single block needs no copies.
    whole = len(blocks) == 1 and len(blocks[0]) == p
    if answer is None:
        answer = np.empty((2, p, p))
    precision, dual = answer
    if start is None:
        W, B = (np.zeros((0, 0) if whole else (p, p), np.float32) for _ in range(2))
    else:
        W, B = start.W, start.B
    if not whole:
        answer.fill(0.0)
        precision[alone, alone] = 1.0 / variances[alone]
        dual[alone, alone] = W[alone, alone] = variances[alone]
    objective = float(len(alone) + np.log(variances[alone]).sum())
    gap, sweeps = 0.0, 0
    for index in blocks:
        S, limits = _part(problem.S, index), problem.limits[:, : len(index)]
        if len(limits) == p:
            limits = _part(problem.limits, index)
        part = answer if whole else np.empty((2, *S.shape))
        task = _Task.of(S, limits, part)
        warm = _cold_start(task) if start is None else State(_part(W, index), _part(B, index), start.is_close)
        block = _solve_block(task, tol, max_iter, warm)
        if isinstance(block, Recession):
            direction = np.zeros((p, p))
            scatter_block(block.direction, index, direction)
            raise_unbounded(Recession(direction, block.value), problem, alpha, penalize_diagonal)
        if whole:
            W, B = block.state.W, block.state.B
        else:
            scatter_block(part[0], index, precision)
            scatter_block(part[1], index, dual)
            scatter_block(block.state.W, index, W)
            scatter_block(block.state.B, index, B)
        objective += block.linear - block.logdet
        gap += block.gap
        sweeps = max(sweeps, block.sweeps)
    solution = Solution(
        precision=problem.to_user_units(precision),
        objective=objective - 2.0 * float(np.log(problem.scale).sum()),
        gap=gap,
        dual=problem.covariance_to_user_units(dual),
        n_iter=sweeps,
        reason=_CERTIFIED,
    )
    return solution, State(W, B)


def _part(M: Any, index: Indices) -> Any:
    if len(index) == len(M):
        return M
    part = np.empty((len(index), len(index)), M.dtype)
    gather_block(M, index, part)
    return part


def _split(problem: Problem) -> tuple[list[Indices], Indices]:
    """Sets of variables that can be solved one by one, and the variables without any edge.

    The solution is block diagonal over the components of the graph |S_ij| > A_ij (Witten et al. 2011; the argument
    needs no definite S: zeros between the components satisfy the optimality conditions).
    """
    p = len(problem)
    labels = np.empty(p, np.int64)
    count = label_components(problem.S, problem.limits, labels)
    if count == 1:
        return ([np.arange(p)], np.arange(0)) if p > 1 else ([], np.arange(1))
    sizes = np.bincount(labels)
    if sizes.max() > _WHOLE * p:
        return [np.arange(p)], np.arange(0)
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    alone = order[starts[sizes == 1]]
    blocks: list[Indices] = []
    pack: list[Indices] = []
    for label in np.flatnonzero(sizes > 1):
        component = order[starts[label] : starts[label] + sizes[label]]
        if len(component) >= _PACK:
            blocks.append(component)
        else:
            pack.append(component)
            if sum(map(len, pack)) >= _PACK:
                blocks.append(np.concatenate(pack))
                pack = []
    if pack:
        blocks.append(np.concatenate(pack))
    # One block of everything is solved in place, so in the given order.
    return [np.arange(p)] if len(blocks) == 1 and len(alone) == 0 else blocks, alone


@dataclass(frozen=True, eq=False)
class _Task:
    """One block in both precisions, and memory: for the answer, for W and B of a start, and a workspace."""

    S: Matrix
    limits: Matrix
    single: tuple[Single, Single]
    answer: Matrix
    W: Single
    B: Single
    workspace: Matrix

    @classmethod
    def of(cls, S: Matrix, limits: Matrix, answer: Matrix) -> "_Task":
        """The precision matrix and the dual point will be written into ``answer``.

        The first touch of a page costs more than solving a sparse problem does. A block of memory as large as this has
        large pages, and the allocator keeps it for the next solution.
        """
        n = len(S)
        memory = np.empty(max(5 * n * n, 2 * _LARGE if n > _SMALL else 0), np.float32)
        copy, W, B = memory[2 * n * n : 5 * n * n].reshape(3, n, n)
        with np.errstate(over="ignore"):  # infinity makes no certificate, and double precision decides
            copy[...] = S
            single = copy, limits.astype(np.float32)
        return cls(S, limits, single, answer, W, B, memory[: 2 * n * n].view(np.float64).reshape(n, n))


def _cold_start(task: _Task) -> State:
    """A start from nothing but the problem."""
    task.B.fill(0.0)
    if soft_threshold_share(*task.single, 1.0, task.W) >= SPARSE_START * task.S.size:
        given = task.S, task.limits, task.answer[0], task.workspace
        inside = point_in_box(*given)
        task.W[...] = point_outside(*given) if inside is None else inside
    return State(task.W, task.B)


def _solve_block(task: _Task, tol: float, max_iter: int, start: State) -> _Block | Recession:
    """Solve one block from ``start``, or from one that is searched for, at last with care."""
    block, sweeps = _sweep(task, tol, max_iter, start.W, start.B, ON_TRIAL, start.is_close, 0)
    if block is not None:
        return block
    n = len(task.S)
    found = interior_point(task.S, all_penalties(task.limits, n))
    if found is None:
        raise _undecided_error(n)
    if isinstance(found, Recession):
        return found
    for care in (ROUGH, CAREFUL):
        W: Floats = found.astype(np.float32) if care == ROUGH else found
        block, sweeps = _sweep(task, tol, max_iter, W, np.zeros_like(W), care, False, sweeps)
        if block is not None:
            return block
    raise _too_slow_error(tol, max_iter, sweeps)


def _sweep(
    task: _Task, tol: float, max_iter: int, W: Floats, B: Floats, care: int, hopeful: bool, sweeps: int
) -> tuple[_Block | None, int]:
    """Sweep until a certificate is found; also return the sweeps done, those before included.

    Instead of a block None means that W was given up. ``hopeful`` asks for a certificate after one sweep.
    """
    S, limits = task.S, task.limits
    n = len(S)
    allowed = tol * n
    # The primal point is a little worse than the dual one that the prediction is about.
    target = max(0.5 * allowed, n * _EPS)
    (precision, dual), status = task.answer, np.empty(1)
    later = LATER
    while sweeps < max_iter:
        goal, most = target, max_iter - sweeps
        problem: tuple[Floats, Floats] = S, limits
        if W.dtype == np.float32:
            goal, most, problem = max(target, ROUNDING * n), min(TRIAL, most), task.single
        sweeps += descend(*problem, W, B, goal, 1 if hopeful else most, care, status)
        if hopeful or status[0] <= target or sweeps == max_iter:
            linear, size, edges = assemble(S, limits, W, B, later, precision, dual)
            logdet, gap = certify(precision, dual, linear, size, edges, allowed, task.workspace)
            if gap <= allowed:
                state = State(W.astype(np.float32, copy=False), B.astype(np.float32, copy=False))
                return _Block(state, linear, logdet, gap, sweeps), sweeps
            if hopeful:
                hopeful = False
                continue
            exhausted = target <= n * _EPS
            if care != CAREFUL and (exhausted or not np.isfinite(gap)):
                return None, sweeps
            if exhausted:
                break
            target = max(target * min(max(0.5 * allowed / gap, 1e-3), 0.3), n * _EPS)
            # Rows that are hard to solve err in the same way whichever is later: in the mean that cancels.
            later = 0.5
        elif not np.isfinite(status[0]):
            return None, sweeps
        if care == ON_TRIAL:
            # No row was damped in a whole sweep. That leaves W in the box, but a start outside it proves nothing of W.
            if not is_positive_definite(W):
                return None, sweeps
            care = ROUGH
        if W.dtype == np.float32 and (target < ROUNDING * n or sweeps >= TRIAL):
            W, B = W.astype(np.float64), B.astype(np.float64)
            np.fill_diagonal(W, S.diagonal())
    raise _too_slow_error(tol, max_iter, sweeps)


def _undecided_error(n: int) -> NotConverged:
    return NotConverged(
        f"It could not be decided whether a minimiser exists: a block of {n} variables lies too close to the boundary "
        "between problems that have one and problems that do not. Raise alpha by a few per cent."
    )


def _too_slow_error(tol: float, max_iter: int, sweeps: int) -> NotConverged:
    if sweeps < max_iter:
        return NotConverged(
            f"The gap cannot be brought below tol = {tol:g} per variable in double precision: the problem is too badly "
            "conditioned. Raise tol, or raise alpha."
        )
    return NotConverged(
        f"The gap is above tol = {tol:g} per variable after max_iter = {max_iter} sweeps. Raise max_iter, raise tol, "
        "or raise alpha: a small alpha on an indefinite or nearly singular matrix is slow."
    )
