"""Compiled loops: the connected parts of a thresholded matrix, sweeps of dual block-coordinate descent, certificates.

Each kernel that Python calls has explicit signatures and is cached on disk, so that a fresh process loads machine code
instead of compiling; what only kernels call is compiled into them. That is why they share a file: numba's cache does
not notice a change of a function that lives in another one. Sweeps run in single or in double precision, see
`graphveil.solvers._graphical_lasso`, where the mathematics is.
"""

import math

import numpy as np
from numba import boolean, float32, float64, int64, njit, void
from numba.types import Array, Tuple  # type: ignore[attr-defined] # not in its type information

from graphveil._compiled import compiled

__all__ = [
    "CAREFUL",
    "COMFORTABLE",
    "COMPARABLE",
    "LATER",
    "ON_TRIAL",
    "ROUGH",
    "ROUNDING",
    "SPARSE_START",
    "TRIAL",
    "assemble",
    "bound_by_objectives",
    "bound_by_residual",
    "descend",
    "extrapolate",
    "gather_block",
    "is_symmetric",
    "kkt_error_norm",
    "label_components",
    "scatter_block",
    "soft_threshold_share",
    "solve_at_once",
    "sparse_cholesky_prefix",
    "symmetrise",
]

_MATRIX = float64[:, ::1]
_SINGLE = float32[:, ::1]
_VECTOR = float64[::1]
_READ_ONLY = Array(float64, 2, "C", readonly=True)

# Rows of W are rewritten in batches of one cache line, see `descend`; loops over (i, j) and (j, i) go by them too.
_BATCH = 8
# A row is solved until a pass moves this share of what the first one did: the next sweep changes the problem anyway.
_ROUGH_SHARE = 1e-2
_CAREFUL_SHARE = 1e-6
# Passes of coordinate descent over a row before conjugate gradients help, the most there are, and rounds of
# coefficients that may enter; the latter two also for a row that is solved with care.
_PATIENT_PASSES = 20
_PASSES = 80, 800
_ROUNDS = 2, 50
# A coefficient is tried at once if the row of W is this near to the edge of its box.
_EDGE = 0.98
# While fewer coefficients a row than this have entered in the last sweep, rows begin with those that are nonzero.
_CALM = 0.125
# A variable with more neighbours than this share of what is left is not eliminated by itself: LAPACK is faster.
_CROWDED = 0.1
# The least Schur complement, as a share of the variance, where none is known.
_DEFINITE = 1e-14
# Above this share of nonzero entries in Θ, ΘW costs more than a factorisation of W.
_SPARSE = 0.07
# A tolerance below this many roundings of the objectives is out of reach of their difference.
_OUT_OF_REACH = 100.0
# Variances between this and its inverse are as good as equal, and need no scaling.
COMPARABLE = 8.0
# Sweeps granted to a start that is not known to be feasible, and to single precision.
TRIAL = 12
# The ascent, in nats a variable, below which single precision sees rounding.
ROUNDING = 1e-7
# Below this share of nonzero entries the soft-thresholded S will do as a start: it is hardly ever indefinite, and the
# certificate at the end costs no more for having skipped this one.
SPARSE_START = 0.1
# Pivots of at least this share of a variance are good enough to start from.
COMFORTABLE = 1e-3
# Of the two rows that tell an entry of Θ, the later one of a sweep knows more. With this weight the error is half that
# of the mean, whether 1% of the entries are nonzero or 36%.
LATER = 0.75
# How much care sweeps take, see `descend`.
ON_TRIAL, ROUGH, CAREFUL = 0, 1, 2
_EPS = float(np.finfo(float).eps)


@compiled(boolean(_MATRIX), error_model="numpy", fastmath={"reassoc"})
def is_symmetric(M):  # type: ignore[no-untyped-def]
    """Whether M is finite and exactly its own transpose."""
    n = M.shape[0]
    whole = n - n % _BATCH
    # One sum, so that the loop is vectorised; a difference that is not finite makes it not zero either.
    apart = 0.0
    for first in range(0, whole, _BATCH):
        for i in range(first + _BATCH):
            for a in range(_BATCH):
                apart += abs(M[i, first + a] - M[first + a, i])
        if apart != 0.0:
            return False
    for i in range(n):
        for j in range(whole, n):
            apart += abs(M[i, j] - M[j, i])
    return apart == 0.0


@compiled(float64(_MATRIX, _MATRIX), error_model="numpy", fastmath={"reassoc", "nsz"})
def symmetrise(M, mean):  # type: ignore[no-untyped-def]
    """Write (M + M') / 2; return the largest asymmetry relative to the largest entry, NaN if an entry is not finite."""
    n = M.shape[0]
    largest = 0.0
    apart = 0.0
    not_finite = 0.0
    whole = n - n % _BATCH
    for first in range(0, whole, _BATCH):
        for i in range(n):
            for a in range(_BATCH):
                # Halves first: the sum of two entries near the largest double would overflow.
                one, other = 0.5 * M[i, first + a], 0.5 * M[first + a, i]
                largest = max(largest, abs(one))
                apart = max(apart, abs(one - other))
                not_finite += 0.0 * one
                mean[i, first + a] = one + other
    for i in range(n):
        for j in range(whole, n):
            one, other = 0.5 * M[i, j], 0.5 * M[j, i]
            largest = max(largest, abs(one))
            apart = max(apart, abs(one - other))
            not_finite += 0.0 * one
            mean[i, j] = one + other
    if not_finite != 0.0:
        return np.nan
    return 0.5 * apart / largest if largest > 0.0 else 0.0


@njit(nogil=True, error_model="numpy")
def _row(limits, i):  # type: ignore[no-untyped-def]
    """Row i of the penalties, of which there is only one where all are the same."""
    return limits[min(i, limits.shape[0] - 1)]


@compiled(
    [int64(M, M, M.dtype, M) for M in (_SINGLE, _MATRIX)],
    error_model="numpy",
)
def soft_threshold_share(S, limits, share, shrunken):  # type: ignore[no-untyped-def]
    """Write S with each entry off the diagonal moved towards zero, by a share of it but not by more than its penalty.

    Returns how many of them are not zero.
    """
    n = S.shape[0]
    count = 0
    for i in range(n):
        limit = _row(limits, i)
        for j in range(n):
            value = S[i, j] - min(max(share * S[i, j], -limit[j]), limit[j])
            shrunken[i, j] = value
            count += value != 0
        count -= shrunken[i, i] != 0
        shrunken[i, i] = S[i, i]
    return count


@compiled([void(M, int64[::1], M) for M in (_SINGLE, _MATRIX)], error_model="numpy")
def gather_block(M, index, part):  # type: ignore[no-untyped-def]
    """Write the rows and columns ``index`` of M into ``part``."""
    for a in range(index.shape[0]):
        for b in range(index.shape[0]):
            part[a, b] = M[index[a], index[b]]


@compiled([void(M, int64[::1], M) for M in (_SINGLE, _MATRIX)], error_model="numpy")
def scatter_block(part, index, M):  # type: ignore[no-untyped-def]
    """Write ``part`` into the rows and columns ``index`` of M."""
    for a in range(index.shape[0]):
        for b in range(index.shape[0]):
            M[index[a], index[b]] = part[a, b]


@njit(nogil=True, error_model="numpy")
def _root(parent, i):  # type: ignore[no-untyped-def]
    """The vertex that stands for the tree of i, whose branches are shortened on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@compiled(int64(_MATRIX, _MATRIX, int64[::1]), error_model="numpy")
def label_components(S, limits, labels):  # type: ignore[no-untyped-def]
    """Write into ``labels`` the component of each vertex in the graph |S_ij| > limit_ij; return their number."""
    n = S.shape[0]
    parent = np.arange(n)
    count = n
    for i in range(n):
        limit = _row(limits, i)
        # Counting is vectorised, and most rows of a sparse graph need no more.
        edges = 0
        for j in range(i):
            edges += abs(S[i, j]) > limit[j]
        for j in range(i if edges else 0):
            if abs(S[i, j]) > limit[j]:
                one, other = _root(parent, i), _root(parent, j)
                count -= one != other
                # The first vertex of a component is its root.
                parent[max(one, other)] = min(one, other)
                # All vertices so far are joined: the other edges of this one are nothing new.
                if count == n - i:
                    break
    seen = 0
    for i in range(n):
        if parent[i] == i:
            labels[i] = seen
            seen += 1
        else:
            labels[i] = labels[_root(parent, i)]
    return count


@compiled(void(_SINGLE, float32, _SINGLE), error_model="numpy", fastmath={"contract"})
def extrapolate(M, step, before):  # type: ignore[no-untyped-def]
    """Replace ``before`` by M + step (M − before)."""
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            before[i, j] = M[i, j] + step * (M[i, j] - before[i, j])


@njit(nogil=True, error_model="numpy")
def _candidates(j, beta, s, limits, w, index):  # type: ignore[no-untyped-def]
    """Write which coefficients of row j are or will become nonzero: where β is, or w is near the edge of the box.

    At the solution these are the same. Rows solved before have moved w to the edge for their own nonzero coefficients,
    which mostly are this row's too: to begin with those saves finding them round after round.
    """
    edge = limits.dtype.type(_EDGE)
    count = 0
    for k in range(beta.shape[0]):
        # Without a branch, which could not be predicted.
        index[count] = k
        count += ((beta[k] != 0) | (abs(s[k] - w[k]) >= edge * limits[k])) & (k != j)
    return count


@njit(nogil=True, error_model="numpy")
def _nonzeros(row, index):  # type: ignore[no-untyped-def]
    """Write where ``row`` is not zero; return how often."""
    count = 0
    for k in range(row.shape[0]):
        # Without a branch, which could not be predicted.
        index[count] = k
        count += row[k] != 0
    return count


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _combine(W, active, beta, m, first, last, w):  # type: ignore[no-untyped-def]
    """Write W β into ``w``, four rows of W a pass; entries first..last come from the rows, see `descend`."""
    n = W.shape[0]
    w[:] = 0.0
    done = 0
    while done + 4 <= m:
        i, j, k, l = active[done], active[done + 1], active[done + 2], active[done + 3]
        a, b, c, d = beta[done], beta[done + 1], beta[done + 2], beta[done + 3]
        for column in range(n):
            w[column] += a * W[i, column] + b * W[j, column] + c * W[k, column] + d * W[l, column]
        done += 4
    while done < m:
        i = active[done]
        a = beta[done]
        for column in range(n):
            w[column] += a * W[i, column]
        done += 1
    for row in range(first, last):
        total = w.dtype.type(0)
        for a in range(m):
            total += beta[a] * W[row, active[a]]
        w[row] = total


@njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _conjugate_gradients(gram, m, limits, beta, residual, work):  # type: ignore[no-untyped-def]
    """Move ``beta`` towards the minimiser that has its signs, not past the first change of one.

    Returns the fraction of the way that was gone.
    """
    gradient, direction, image, step, step_image = work[0], work[1], work[2], work[3], work[4]
    size = 0.0
    for a in range(m):
        step[a] = 0.0
        step_image[a] = 0.0
        gradient[a] = 0.0
        if beta[a] > 0.0:
            gradient[a] = residual[a] - limits[a]
        elif beta[a] < 0.0:
            gradient[a] = residual[a] + limits[a]
        direction[a] = gradient[a]
        size += gradient[a] * gradient[a]
    target = 1e-4 * size
    for _ in range(min(m, 40)):
        for b in range(m):
            image[b] = 0.0
        for a in range(m):
            if beta[a] != 0.0:
                for b in range(m):
                    image[b] += direction[a] * gram[a, b]
        curvature = 0.0
        for a in range(m):
            curvature += direction[a] * image[a]
        if curvature <= 0.0:
            break
        length = size / curvature
        new_size = 0.0
        for a in range(m):
            step[a] += length * direction[a]
            step_image[a] += length * image[a]
            if beta[a] != 0.0:
                gradient[a] -= length * image[a]
                new_size += gradient[a] * gradient[a]
        if new_size <= target:
            break
        for a in range(m):
            direction[a] = gradient[a] + (new_size / size) * direction[a]
        size = new_size
    fraction = 1.0
    stop = -1
    for a in range(m):
        if beta[a] * (beta[a] + fraction * step[a]) < 0.0:
            fraction = -beta[a] / step[a]
            stop = a
    for a in range(m):
        beta[a] += fraction * step[a]
        residual[a] -= fraction * step_image[a]
    if stop >= 0:
        beta[stop] = 0.0
    return fraction


@njit(nogil=True, error_model="numpy")
def _gather(W, known, m, active, first, last, gram):  # type: ignore[no-untyped-def]
    """Extend W restricted to the active rows and columns from ``known`` to ``m`` of them.

    Columns first..last of W come from its rows, see `descend`.
    """
    # One triangle: reading W, which is not in cache, takes longer than copying what was read.
    for a in range(known, m):
        row = active[a]
        for b in range(a + 1):
            gram[a, b] = W[row, active[b]]
    for b in range(m):
        row = active[b]
        if first <= row < last:
            for a in range(max(known, b), m):
                gram[a, b] = W[row, active[a]]
    for a in range(known, m):
        for b in range(a):
            gram[b, a] = gram[a, b]


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _fit(gram, m, beta, fitted, known):  # type: ignore[no-untyped-def]
    """Write Gβ from its entry ``known`` on."""
    fitted[:] = 0.0
    for b in range(m):
        if beta[b] != 0.0:
            row = gram[b, known:m]
            for a in range(row.shape[0]):
                fitted[a] += beta[b] * row[a]


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _solve_row(gram, m, limits, beta, residual, enough, careful, work):  # type: ignore[no-untyped-def]
    """Minimise ½β'Gβ − s'β + Σ limits |β| from ``beta``, with ``residual`` = s − Gβ kept up to date.

    Coordinate descent finds the signs; where it then crawls, because the columns are nearly collinear, conjugate
    gradients solve the quadratic that those signs leave, up to the first coefficient that would change sign.
    """
    initial = 0.0
    before = np.inf
    patience = _PATIENT_PASSES
    rough = _CAREFUL_SHARE if careful else _ROUGH_SHARE
    for sweep in range(_PASSES[1] if careful else _PASSES[0]):
        moved = 0.0
        for a in range(m):
            diagonal = gram[a, a]
            pull = residual[a] + diagonal * beta[a]
            new = beta.dtype.type(0)
            if pull > limits[a]:
                new = (pull - limits[a]) / diagonal
            elif pull < -limits[a]:
                new = (pull + limits[a]) / diagonal
            step = new - beta[a]
            if step != 0:
                beta[a] = new
                moved += step * step * diagonal
                for b in range(m):
                    residual[b] -= step * gram[a, b]
        if sweep == 0:
            initial = moved
        if moved <= max(enough, rough * initial):
            return
        crawls = moved > 0.5 * before
        before = moved
        if crawls and sweep >= patience:
            fraction = _conjugate_gradients(gram, m, limits, beta, residual, work)
            # A short step means that the signs were not yet right: give coordinate descent twice as long.
            patience = sweep + 3 if fraction == 1.0 else 2 * sweep


@njit(nogil=True, error_model="numpy")
def _mirror(W, first):  # type: ignore[no-untyped-def]
    """Copy a batch of rows into its columns."""
    n = W.shape[0]
    if first + _BATCH <= n:
        # A loop of known length is unrolled: twice as fast.
        for i in range(n):
            for a in range(_BATCH):
                W[i, first + a] = W[first + a, i]
    else:
        for i in range(n):
            for j in range(first, n):
                W[i, j] = W[j, i]


@compiled(
    [int64(M, M, M, M, float64, int64, int64, _VECTOR) for M in (_SINGLE, _MATRIX)],
    error_model="numpy",
    fastmath={"contract"},
)
def descend(S, limits, W, B, target, max_sweeps, care, status):  # type: ignore[no-untyped-def]
    """Sweep over the rows of W until the ascent still to come is predicted to be at most ``target``.

    Parameters
    ----------
    S, limits : matrices
        The problem; its penalties have one row where all are the same, and their diagonal is ignored (it is part of
        S's).
    W, B : matrices, changed in place
        W is positive definite with the diagonal of S, and stays so. Row j of B holds the coefficients β of variable j
        on the others.
    target : float
        In nats of log-determinant.
    max_sweeps : int
        Most sweeps to do.
    care : int
        `ON_TRIAL` where W may be outside the box, and is given up when many rows are damped, or any after two sweeps;
        `ROUGH` where it is inside, else the same; `CAREFUL` where rows are to be solved nearly exactly, as the nearly
        collinear columns of a badly conditioned W need.
    status : vector of 1, written
        Ascent predicted to remain; infinite if a row was damped in the last sweep.

    Returns
    -------
    int
        Sweeps done.
    """
    n = S.shape[0]
    # Unsigned, so that compiled code need not look for negative ones: gathering is a third faster.
    active = np.empty(n, np.uint32)
    is_active = np.zeros(n, np.bool_)
    gram = np.empty((n, n), S.dtype)
    work = np.empty((5, n), S.dtype)
    row_limits = np.empty(n, S.dtype)
    beta = np.empty(n, S.dtype)
    start = np.empty(n, S.dtype)
    fitted_start = np.empty(n, S.dtype)
    residual = np.empty(n, S.dtype)
    w = np.empty(n, S.dtype)
    previous = np.inf
    entering = True
    status[0] = np.inf
    row_target = 0.1 * target / n
    careful = care == CAREFUL
    # Without a minimiser nearly all rows are damped, and each takes a hundred times as long as others do.
    few = 2 + n // 64
    for sweep in range(max_sweeps):
        ascent = 0.0
        damped = 0
        entered = 0
        for first in range(0, n, _BATCH):
            last = min(first + _BATCH, n)
            for j in range(first, last):
                limit = _row(limits, j)
                m = _candidates(j, B[j], S[j], limit, W[j], active) if entering else _nonzeros(B[j], active)
                is_active[j] = True
                schur_before = W[j, j]
                for a in range(m):
                    k = active[a]
                    is_active[k] = True
                    start[a] = beta[a] = B[j, k]
                    schur_before -= beta[a] * W[j, k]
                schur_before = max(schur_before, 1e-3 * W[j, j])
                enough = row_target * schur_before
                known = 0
                for _ in range(_ROUNDS[1] if careful else _ROUNDS[0]):
                    _gather(W, known, m, active, first, last, gram)
                    for a in range(known, m):
                        row_limits[a] = limit[active[a]]
                    _fit(gram, m, start, fitted_start[known:m], known)
                    for a in range(m):
                        residual[a] = S[j, active[a]] - (fitted_start[a] if known == 0 else w[active[a]])
                    _solve_row(gram, m, row_limits, beta, residual, enough, careful, work)
                    _combine(W, active, beta, m, first, last, w)
                    known = m
                    # Counting is vectorised, and mostly there is none.
                    outside = 0
                    for k in range(n):
                        outside += (abs(S[j, k] - w[k]) > limit[k]) & (not is_active[k])
                    for k in range(n if outside else 0):
                        excess = abs(S[j, k] - w[k]) - limit[k]
                        # A coefficient enters if that gains more than the row is solved to.
                        if excess > 0.0 and excess * excess > enough * W[k, k] and not is_active[k]:
                            active[m] = k
                            is_active[k] = True
                            start[m] = beta[m] = 0.0
                            m += 1
                    entered += m - known
                    if m == known:
                        break
                gain = 0.0
                for a in range(known):
                    gain += (beta[a] - start[a]) * (w[active[a]] - fitted_start[a])
                quadratic = 0.0
                for a in range(m):
                    quadratic += beta[a] * w[active[a]]
                schur = W[j, j] - quadratic
                # Fraction to the boundary: from a feasible W an exact row solution cannot lower the Schur complement,
                # so this acts only while W is outside the box, or when there is no minimiser, or on a row that is not
                # solved well. Before the first sweep the Schur complement is not known.
                least = 0.01 * schur_before
                if careful or (care == ROUGH and sweep == 0):
                    least = _DEFINITE * W[j, j]
                if schur < least:
                    shrink = np.sqrt((W[j, j] - least) / quadratic)
                    for a in range(m):
                        beta[a] *= shrink
                    for k in range(n):
                        w[k] *= shrink
                    schur = least
                    damped += 1
                ascent += abs(gain) / schur
                is_active[j] = False
                for a in range(m):
                    B[j, active[a]] = beta[a]
                    is_active[active[a]] = False
                variance = W[j, j]
                for k in range(n):
                    W[j, k] = w[k]
                W[j, j] = variance
                for i in range(first, last):
                    W[i, j] = W[j, i]
            _mirror(W, first)
            if damped > (few if sweep < 2 else 0) and not careful:
                status[0] = np.inf
                return sweep + 1
        # Convergence is linear at last, so the ascents still to come are a geometric series. The first two are not part
        # of it, because coefficients enter and leave: guesses, which cost a certificate where they are too small.
        ratio = 0.15 if sweep == 0 else 0.05
        if sweep > 1:
            ratio = min(ascent / previous, 0.9) if previous > 0.0 else 0.9
        status[0] = ascent * ratio / (1.0 - ratio) if damped == 0 else np.inf
        previous = ascent
        entering = entered > _CALM * n
        if status[0] <= target:
            return sweep + 1
    return max_sweeps


@compiled(
    [Tuple((float64, float64, int64))(_MATRIX, _MATRIX, M, M, float64, _MATRIX, _MATRIX) for M in (_SINGLE, _MATRIX)],
    error_model="numpy",
    fastmath={"contract", "reassoc", "nsz"},
)
def assemble(S, limits, W, B, later, precision, dual):  # type: ignore[no-untyped-def]
    """Write the primal and the dual point that (W, B) stand for; return tr(WΘ), Σ |W_ij Θ_ij|, and the edges of Θ.

    Column j of Θ is θ_jj (−β_j, 1) with 1/θ_jj the Schur complement; the two views of an entry are averaged where both
    are nonzero, with weight ``later`` for the later row of a sweep. The dual point is W moved into the box, and onto
    the side of it that complements Θ_ij ≠ 0, so that tr(WΘ) = tr(SΘ) + Σ limits |Θ|.
    """
    n = S.shape[0]
    theta = np.empty(n)
    joined = np.empty(n, np.uint32)
    linear = 0.0
    size = 0.0
    edges = 0
    for i in range(n):
        limit = _row(limits, i)
        schur = S[i, i]
        for k in range(n):
            entry = float64(W[i, k])
            schur -= B[i, k] * entry
            dual[i, k] = min(max(entry, S[i, k] - limit[k]), S[i, k] + limit[k])
            precision[i, k] = 0.0
        theta[i] = 1.0 / schur
        precision[i, i] = theta[i]
        dual[i, i] = S[i, i]
        linear += theta[i] * S[i, i]
        size += abs(theta[i] * S[i, i])
        m = _nonzeros(B[i, :i], joined)
        for a in range(m):
            j = joined[a]
            if B[j, i] != 0.0:
                value = -(later * B[i, j] * theta[i] + (1.0 - later) * B[j, i] * theta[j])
                edge = S[i, j] + (limit[j] if value > 0.0 else -limit[j])
                precision[i, j] = precision[j, i] = value
                dual[i, j] = dual[j, i] = edge
                linear += 2.0 * value * edge
                size += 2.0 * abs(value * edge)
                edges += 1
    return linear, size, edges


@compiled(Tuple((float64, int64))(_MATRIX, _MATRIX), error_model="numpy", fastmath={"contract"})
def sparse_cholesky_prefix(M, A):  # type: ignore[no-untyped-def]
    """Eliminate the variables of M that have few neighbours, fewest first; A is where it happens.

    Returns the logarithm of the product of the pivots, NaN if one is not positive, and the order m of what is left: the
    Schur complement, in the first m² entries of A.
    """
    n = M.shape[0]
    degree = np.empty(n, np.int64)
    near = np.empty(n, np.uint32)
    for i in range(n):
        count = -1
        for j in range(n):
            A[i, j] = M[i, j]
            count += M[i, j] != 0.0
        degree[i] = count
    left = n
    logdet = 0.0
    limit = 0
    while left > 0 and limit <= _CROWDED * left:
        before = left
        for v in range(n):
            if degree[v] > limit:
                continue
            pivot = A[v, v]
            if not pivot > 0.0:
                return np.nan, left
            logdet += np.log(pivot)
            left -= 1
            degree[v] = n
            A[v, v] = 0.0
            m = _nonzeros(A[v], near)
            for a in range(m):
                i = near[a]
                factor = A[v, i] / pivot
                fill = -1
                for b in range(m):
                    old = A[i, near[b]]
                    new = old - factor * A[v, near[b]]
                    A[i, near[b]] = new
                    fill += (new != 0.0) - (old != 0.0)
                degree[i] += fill
                A[i, v] = 0.0
        if left == before:
            limit += 1
    m = 0
    for v in range(n):
        if degree[v] < n:
            near[m] = v
            m += 1
    packed = A.reshape(n * n)
    # Each entry moves towards the front, in order: none is overwritten before it has moved.
    for a in range(m):
        for b in range(m):
            packed[a * m + b] = A[near[a], near[b]]
    return logdet, left


@compiled(
    Tuple((float64, float64))(_MATRIX, _MATRIX, _MATRIX),
    error_model="numpy",
    fastmath={"contract", "reassoc", "nsz"},
)
def kkt_error_norm(precision, dual, E):  # type: ignore[no-untyped-def]
    """Tr(E²) for E = ΘW − I, which is written, and a bound on its rounding error."""
    n = precision.shape[0]
    active = np.empty(n, np.uint32)
    theta = np.empty(n)
    length = np.empty(n)
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += dual[k, j] * dual[k, j]
        length[k] = np.sqrt(total)
    size = 0.0
    error = 0.0
    for i in range(n):
        m = _nonzeros(precision[i], active)
        terms = 1.0
        for a in range(m):
            theta[a] = precision[i, active[a]]
            terms += abs(theta[a]) * length[active[a]]
        _combine(dual, active, theta, m, 0, 0, E[i])
        E[i, i] -= 1.0
        for j in range(n):
            size += E[i, j] * E[i, j]
        # A sum of m products and a one: each term is off by at most m + 2 roundings.
        error += ((m + 2) * _EPS * terms) ** 2
    square = 0.0
    for first in range(0, n, _BATCH):
        width = min(_BATCH, n - first)
        for i in range(first):
            for a in range(width):
                square += 2.0 * E[i, first + a] * E[first + a, i]
        for i in range(first, first + width):
            for a in range(width):
                square += E[i, first + a] * E[first + a, i]
    # |tr((E + D)²) − tr(E²)| ≤ 2 ‖E‖ ‖D‖ + ‖D‖², and a sum of n² terms.
    return square, 2.0 * np.sqrt(size * error) + error + n * n * _EPS * size


@compiled(
    Tuple((boolean, float64))(_MATRIX, _MATRIX, float64, float64, int64, float64, _MATRIX),
    error_model="numpy",
)
def bound_by_residual(precision, dual, logdet, size, edges, allowed, workspace):  # type: ignore[no-untyped-def]
    """Whether ΘW − I tells on which side of ``allowed`` the gap is, and an upper bound on it."""
    n = precision.shape[0]
    cancelled = _EPS * (size + n + 2.0 * abs(logdet))
    if 2 * edges + n > _SPARSE * n * n and allowed > _OUT_OF_REACH * cancelled:
        return False, np.inf
    square, error = kkt_error_norm(precision, dual, workspace)
    if not square + error >= 0.0:
        return False, np.inf
    r = np.sqrt(square + error)
    if not r < 1.0:
        return False, np.inf
    # Every entry of W is rounded once, which no arithmetic above sees.
    most, least = -r - np.log1p(-r) + _EPS * (size + n), r - np.log1p(r)
    return most <= allowed or least > allowed, most


@compiled(float64(float64, float64, float64, float64, int64), error_model="numpy")
def bound_by_objectives(linear, size, logdet, dual_logdet, n):  # type: ignore[no-untyped-def]
    """The gap as a difference of objectives: four numbers that cancel, and what their rounding may hide."""
    rounding = _EPS * (size + n + abs(logdet) + abs(dual_logdet))
    return max(linear - logdet - dual_logdet - n, 0.0) + rounding


@njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _log_determinant(A):  # type: ignore[no-untyped-def]
    """Log det A from its upper triangle, which is overwritten, and the least pivot as a share of the diagonal.

    NaN where a pivot is not positive. As fast as LAPACK's up to a hundred variables, without the cost of calling it.
    """
    n = A.shape[0]
    inverse = np.empty(n)
    logdet = 0.0
    least = np.inf
    for i in range(n):
        row = A[i]
        variance = row[i]
        k = 0
        while k + 4 <= i:
            a, b, c, d = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
            a, b, c, d = a * inverse[k], b * inverse[k + 1], c * inverse[k + 2], d * inverse[k + 3]
            for j in range(i, n):
                row[j] -= a * A[k, j] + b * A[k + 1, j] + c * A[k + 2, j] + d * A[k + 3, j]
            k += 4
        while k < i:
            a = A[k, i] * inverse[k]
            for j in range(i, n):
                row[j] -= a * A[k, j]
            k += 1
        if not row[i] > 0.0:
            return np.nan, -np.inf
        logdet += np.log(row[i])
        least = min(least, row[i] / variance)
        inverse[i] = 1.0 / row[i]
    return logdet, least


@njit(nogil=True, error_model="numpy")
def _certify(precision, dual, linear, size, edges, allowed, workspace):  # type: ignore[no-untyped-def]
    """`graphveil.solvers.certificate.certify` without LAPACK."""
    n = precision.shape[0]
    logdet, left = sparse_cholesky_prefix(precision, workspace)
    if left > 0 and not np.isnan(logdet):
        logdet += _log_determinant(workspace.reshape(n * n)[: left * left].reshape(left, left))[0]
    if np.isnan(logdet):
        return np.nan, np.inf
    decided, gap = bound_by_residual(precision, dual, logdet, size, edges, allowed, workspace)
    if decided:
        return logdet, gap
    workspace[...] = dual
    dual_logdet, _ = _log_determinant(workspace)
    if np.isnan(dual_logdet):
        return logdet, np.inf
    return logdet, bound_by_objectives(linear, size, logdet, dual_logdet, n)


@njit(nogil=True, error_model="numpy")
def _cold_start(S, limits, W, B, workspace):  # type: ignore[no-untyped-def]
    """Write the soft-thresholded S into W; return whether it will do."""
    n = S.shape[0]
    B[...] = 0.0
    if soft_threshold_share(S, limits, np.float32(1.0), W) < SPARSE_START * n * n:
        return True
    for share in (1.0, 0.5):
        soft_threshold_share(S, limits, np.float32(share), W)
        workspace[...] = W
        if _log_determinant(workspace)[1] > COMFORTABLE:
            return True
    return False


@njit(nogil=True, error_model="numpy")
def _warm_start(S, limits, precision, dual, joined, W, B):  # type: ignore[no-untyped-def]
    """Write the correlations of another solution with the variances of S, and none between what S leaves apart."""
    n = S.shape[0]
    f = np.empty(n)
    labels = np.empty(n, np.int64)
    label_components(S, limits, labels)
    for i in range(n):
        f[i] = np.sqrt(S[i, i] / dual[joined[i], joined[i]])
    for i in range(n):
        a = joined[i]
        for j in range(n):
            b = joined[j]
            together = labels[i] == labels[j]
            W[i, j] = dual[a, b] * f[i] * f[j] if together else 0.0
            B[i, j] = -precision[a, b] / precision[a, a] * f[i] / f[j] if together else 0.0
        W[i, i] = S[i, i]
        B[i, i] = 0.0


@njit(nogil=True, error_model="numpy")
def _find_joined(S, limits):  # type: ignore[no-untyped-def]
    """The variables with an edge |S_ij| > limit_ij: all others are alone in the solution, too."""
    n = S.shape[0]
    joined = np.empty(n, np.uint32)
    count = 0
    for i in range(n):
        limit = _row(limits, i)
        edges = 0
        for j in range(n):
            edges += abs(S[i, j]) > limit[j]
        edges -= abs(S[i, i]) > limit[i]
        joined[count] = i
        count += edges > 0
    return joined[:count]


@compiled(
    Tuple((int64, float64, float64))(
        _READ_ONLY, _READ_ONLY, boolean, float64, int64, _READ_ONLY, _READ_ONLY, _MATRIX, _MATRIX
    ),
    error_model="numpy",
)
def solve_at_once(S, limits, penalize_diagonal, tol, max_sweeps, warm_precision, warm_dual, precision, dual):  # type: ignore[no-untyped-def]
    """Solve a small problem in one call, if it is an easy one: what Python does between kernels takes longer.

    The arguments are checked, in the units of the caller; the warm start may have no rows. Writes Θ and the dual point;
    returns sweeps, objective and the bound on the gap, which is infinite for a problem that needs more care.
    """
    precision[...] = 0.0
    dual[...] = 0.0
    objective = 0.0
    for i in range(S.shape[0]):
        variance = S[i, i] + (_row(limits, i)[i] if penalize_diagonal else 0.0)
        if not (variance > 0.0 and np.isfinite(variance)):
            return 0, np.nan, np.inf
        precision[i, i] = 1.0 / variance
        dual[i, i] = variance
    joined = _find_joined(S, limits)
    n = joined.shape[0]
    before = 0
    for i in range(S.shape[0]):
        if before < n and joined[before] == i:
            before += 1
        else:
            objective += 1.0 + np.log(dual[i, i])
    if n == 0:
        return 0, objective, 0.0
    allowed = tol * n
    target = max(0.5 * allowed, n * _EPS)
    if target < ROUNDING * n:
        return 0, np.nan, np.inf
    least, most = np.inf, 0.0
    for a in range(n):
        least, most = min(least, dual[joined[a], joined[a]]), max(most, dual[joined[a], joined[a]])
    d = np.ones(n)
    is_scaled = not (least >= 1.0 / COMPARABLE and most <= COMPARABLE)
    if is_scaled:
        for a in range(n):
            d[a] = math.ldexp(1.0, -(math.frexp(dual[joined[a], joined[a]])[1] // 2))
    scaled, bounds = np.empty((n, n)), np.empty((n if is_scaled or limits.shape[0] > 1 else 1, n))
    for a in range(n):
        i = joined[a]
        row = S[i]
        for b in range(n):
            scaled[a, b] = row[joined[b]] * d[a] * d[b]
        scaled[a, a] = dual[i, i] * d[a] * d[a]
        if a < bounds.shape[0]:
            limit = _row(limits, i)
            for b in range(n):
                bounds[a, b] = limit[joined[b]] * d[a] * d[b]
    theta, inside, workspace = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    single, single_bounds = scaled.astype(np.float32), bounds.astype(np.float32)
    W, B = np.empty((n, n), np.float32), np.empty((n, n), np.float32)
    if warm_dual.shape[0] > 0:
        _warm_start(scaled, bounds, warm_precision, warm_dual, joined, W, B)
    elif not _cold_start(single, single_bounds, W, B, workspace):
        return 0, np.nan, np.inf
    status = np.empty(1)
    later = LATER
    sweeps = 0
    granted = min(max_sweeps, TRIAL)
    while sweeps < granted and target >= ROUNDING * n:
        sweeps += descend(single, single_bounds, W, B, target, granted - sweeps, ON_TRIAL, status)
        if not status[0] <= target:
            break
        linear, size, edges = assemble(scaled, bounds, W, B, later, theta, inside)
        logdet, gap = _certify(theta, inside, linear, size, edges, allowed, workspace)
        if gap <= allowed:
            for a in range(n):
                i = joined[a]
                for b in range(n):
                    precision[i, joined[b]] = theta[a, b] * (d[a] * d[b])
                    dual[i, joined[b]] = inside[a, b] / (d[a] * d[b])
            shift = 0.0
            for a in range(n if is_scaled else 0):
                shift += np.log(d[a])
            return sweeps, objective + linear - logdet - 2.0 * shift, gap
        target *= min(max(0.5 * allowed / gap, 1e-3), 0.3)
        later = 0.5
    return 0, np.nan, np.inf
