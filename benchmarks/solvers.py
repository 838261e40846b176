"""The graphical lasso against its peers and against the machine, in one run.

Every solver is given tighter and tighter tolerances until its answer is within 1e-6 of the optimum, relative, by the
same function; then its CPU time is taken, the median of three or more, on one BLAS thread. One eigendecomposition, one
Cholesky factorisation and one inverse of the same size are the yardstick. Ours is timed before and after every peer: a
machine has faster and slower minutes. A peer that is not installed is named and left out; one that does not get there
in the time allowed is reported as such.

glassoFast, in Fortran, is the fastest of them. It is timed without R if the variable GLASSOFAST names a shared library
made of its source: gfortran -O3 -march=native -shared -fPIC glassofast.f90 -o glassofast.so (with an empty subroutine
intpr, which is R's). What is timed includes memory for its answer, as ours does.

    python benchmarks/solvers.py [--quick] [--seed N] [--patience SECONDS] [--largest P]

Results go to benchmarks/results/solvers.csv and solvers.json.
"""

import argparse
import contextlib
import csv
import ctypes
import functools
import importlib.metadata
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

import numpy as np

from graphveil.exceptions import SolverError, UnboundedProblem
from graphveil.solvers import graphical_lasso, graphical_lasso_path
from graphveil.solvers.objectives import objective

HERE = Path(__file__).parent
ACCURACY = 1e-6
# CPU seconds after which a peer is given up for that size and the larger ones; --patience changes it.
PATIENCE = 60.0
# CPU seconds after which short calls are not repeated any more.
ENOUGH = 0.2


# --- problems ---------------------------------------------------------------------------------------------------------


def correlation(p, n, seed):
    """Sample correlation of n rows from a random sparse graph with about four neighbours a variable."""
    rng = np.random.default_rng(seed)
    edge = np.triu(rng.random((p, p)) < 4 / (p - 1), 1)
    theta = np.where(edge, rng.uniform(0.3, 0.6, (p, p)) * rng.choice([-1, 1], (p, p)), 0.0)
    theta += theta.T
    theta += (0.3 - np.linalg.eigvalsh(theta)[0]) * np.eye(p)
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(np.linalg.inv(theta)).T
    return np.corrcoef(X, rowvar=False)


def alpha_for(S, density):
    """A penalty whose solution has about this share of nonzero entries, by bisection."""
    low, high = 0.0, np.abs(S - np.diag(S.diagonal())).max()
    for _ in range(12):
        alpha = (low + high) / 2
        try:
            found = np.mean(graphical_lasso(S, alpha, penalize_diagonal=False, tol=1e-4).precision != 0)
        except SolverError:
            found = 1.0
        low, high = (alpha, high) if found > density else (low, alpha)
    return alpha


def with_noise(S, sigma, seed):
    N = np.triu(np.random.default_rng(seed).standard_normal(S.shape), 1)
    return S + sigma * (N + N.T)


# --- solvers: (S, alpha, tolerance) -> precision; tolerances from loose to tight --------------------------------------


def ours(S, alpha, tol):
    return graphical_lasso(S, alpha, penalize_diagonal=False, tol=tol).precision


def ours_with_covariance(S, alpha, tol):
    solution = graphical_lasso(S, alpha, penalize_diagonal=False, tol=tol)
    _ = solution.covariance
    return solution.precision


def scikit_learn(S, alpha, tol):
    from sklearn.covariance import graphical_lasso as solver

    return solver(S, alpha, tol=tol[0], enet_tol=tol[1], max_iter=500)[1]


def gglasso(S, alpha, tol):
    from gglasso.solver.single_admm_solver import ADMM_SGL

    p = len(S)
    with contextlib.redirect_stdout(io.StringIO()):
        solution, _ = ADMM_SGL(S, alpha, np.eye(p), tol=tol, rtol=tol, max_iter=5000, verbose=False, measure=False)
    return solution["Theta"]


def skglm(S, alpha, tol):
    from skglm.covariance import GraphicalLasso

    return GraphicalLasso(alpha=alpha, algo="dual", max_iter=1000, tol=tol).fit(S, mode="precomputed").precision_


def regain(S, alpha, tol):
    from regain.covariance.graphical_lasso_ import graphical_lasso as solver

    return solver(S, alpha, tol=tol, rtol=tol, max_iter=5000)[0]


def r_glasso(S, alpha, tol):
    """Its own CPU time is what counts, not that of starting R: see `measure`."""
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "S"), Path(folder, "answer")
        S.tofile(source)
        command = [
            "Rscript",
            str(HERE / "peers" / "glasso.R"),
            source,
            str(len(S)),
            repr(float(alpha)),
            repr(tol),
            answer,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=2 * PATIENCE)
        r_glasso.seconds = float(done.stdout.split()[-1])
        return np.fromfile(answer).reshape(S.shape)


def glasso_fast(S, alpha, tol):
    p = len(S)
    penalty = np.full((p, p), alpha)
    np.fill_diagonal(penalty, 0.0)
    matrices, vectors = np.zeros((2, p, p)), np.zeros((2, p))
    size, sweeps, none = (ctypes.byref(ctypes.c_int(value)) for value in (p, 10_000, 0))
    given, penalties, *room = (ctypes.c_void_p(M.ctypes.data) for M in (S, penalty, *matrices, *vectors))
    limit, status = ctypes.byref(ctypes.c_double(tol)), ctypes.byref(ctypes.c_int(0))
    glasso_fast_library().glassofast_(size, given, penalties, limit, sweeps, none, none, *room, status)
    return matrices[0]


@functools.cache
def glasso_fast_library():
    return ctypes.CDLL(os.environ["GLASSOFAST"])


# The first row of a table is our solver under the rule that every peer is under: the loosest tolerance that is accurate
# enough. The others are what a user gets by default, the gap certified to 1e-6 a variable.
LOOSE_TO_TIGHT = [1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7]
SOLVERS = {
    "graphveil": (ours, LOOSE_TO_TIGHT, None),
    "graphveil, gap 1e-6": (ours, [1e-6, 1e-7], None),
    "graphveil + covariance": (ours_with_covariance, [1e-6, 1e-7], None),
    "scikit-learn cd": (scikit_learn, [(1e-1, 1e-3), (1e-1, 1e-4), (1e-2, 1e-4), (1e-3, 1e-5)], "scikit-learn"),
    "gglasso ADMM": (gglasso, [1e-4, 1e-5, 1e-6, 1e-7], "gglasso"),
    "skglm dual": (skglm, [1e-2, 1e-3, 1e-4, 1e-6], "skglm"),
    "regain ADMM": (regain, [1e-4, 1e-5, 1e-6, 1e-7], "regain"),
    "glassoFast": (glasso_fast, [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5], "GLASSOFAST"),
    "R glasso": (r_glasso, [1e-3, 1e-4, 1e-5, 1e-6], "Rscript"),
}


def missing_peers():
    absent = []
    for name, (_, _, package) in SOLVERS.items():
        if package == "GLASSOFAST":
            present = package in os.environ
        elif package == "Rscript":
            present = (
                shutil.which("Rscript") is not None
                and not subprocess.run(
                    ["Rscript", "-e", "library(glasso)"], capture_output=True, check=False
                ).returncode
            )
        else:
            present = package is None or any(d.name.lower() == package for d in importlib.metadata.distributions())
        if not present:
            absent.append(name)
    return absent


# --- measuring --------------------------------------------------------------------------------------------------------


def cpu(function, *arguments):
    before = time.process_time()
    result = function(*arguments)
    return time.process_time() - before, result


def needs_more(times):
    """Whether calls are so short that more of them are needed: a millisecond is mostly what the machine was doing."""
    return sum(times) < ENOUGH and len(times) < 30


def median_cpu(function, *arguments, repeats=3):
    times = [cpu(function, *arguments)[0] for _ in range(repeats)]
    while needs_more(times):
        times.append(cpu(function, *arguments)[0])
    return float(np.median(times))


def suboptimality(precision, S, alpha, best):
    symmetric = (precision + precision.T) / 2
    return (objective(symmetric, S, alpha, penalize_diagonal=False) - best) / abs(best)


def measure(name, S, alpha, best, repeats):
    """CPU seconds at the loosest tolerance that is accurate enough, and the accuracy; or why there is none."""
    solver, tolerances, _ = SOLVERS[name]
    reached = np.inf
    for tol in tolerances:
        try:
            spent, precision = cpu(solver, S, alpha, tol)
        except Exception as error:  # whatever a peer raises is its result
            return None, f"{type(error).__name__}"
        if solver is r_glasso:
            spent = r_glasso.seconds
        reached = suboptimality(precision, S, alpha, best)
        if reached <= ACCURACY:
            times = [spent]
            while (len(times) < repeats and sum(times) < PATIENCE) or needs_more(times):
                again = cpu(solver, S, alpha, tol)[0]
                times.append(r_glasso.seconds if solver is r_glasso else again)
            return float(np.median(times[1:] or times)), f"{reached:.0e}"
        if spent > PATIENCE:
            return None, f"only {reached:.0e} in {spent:.0f} s"
    return None, f"only {reached:.0e}"


def yardstick(S, repeats):
    definite = S + len(S) * np.eye(len(S))
    return {
        "one eigh": median_cpu(np.linalg.eigh, S, repeats=repeats),
        "one Cholesky": median_cpu(np.linalg.cholesky, definite, repeats=repeats),
        "one inverse": median_cpu(np.linalg.inv, definite, repeats=repeats),
    }


class Table:
    def __init__(self, seed, larger):
        self.rows, self.seed, self.larger = [], seed, larger

    def add(self, section, case, what, seconds, note="", reference=None, eigh=None):
        row = {
            "section": section,
            "case": case,
            "what": what,
            "seconds": None if seconds is None else f"{seconds:.7f}",
            "times ours": f"{seconds / reference:.2f}" if seconds is not None and reference else "",
            "in eigh": f"{seconds / eigh:.2f}" if seconds is not None and eigh else "",
            "note": note,
            "seed": self.seed,
        }
        self.rows.append(row)
        self.save()  # a run takes a quarter of an hour and may be interrupted
        shown = "-" if seconds is None else f"{seconds * 1e3:.3f}"
        print(
            f"{section:11s} {case:17s} {what:24s} {shown:>10s} ms {row['times ours']:>8s}x {row['in eigh']:>8s} {note}"
        )

    def save(self):
        with (HERE / "results" / "solvers.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, self.rows[0].keys())
            writer.writeheader()
            writer.writerows(self.rows + self.larger)


def recorded(above):
    """What an earlier run found for problems with more than so many variables."""
    file = HERE / "results" / "solvers.csv"
    if not file.exists():
        return []
    with file.open() as lines:
        return [row for row in csv.DictReader(lines) if int(re.sub(r"^p=(\d+).*|.*", r"\1", row["case"]) or 0) > above]


# --- sections ---------------------------------------------------------------------------------------------------------


def single_penalty(table, sizes, densities, names, seed, repeats):
    given_up = set()
    for p in sizes:
        for density in densities:
            if density > 0.1 and p > 300:
                continue  # an hour of peers for a regime that p = 300 already shows
            S = correlation(p, p // 2 if density > 0.1 else 2 * p, seed + p)
            alpha = alpha_for(S, density)
            best = graphical_lasso(S, alpha, penalize_diagonal=False, tol=1e-10)
            case = f"p={p} {np.mean(best.precision != 0):.1%}"
            marks = yardstick(S, repeats)
            reference = measure("graphveil", S, alpha, best.objective, repeats)[0]
            for name in names:
                if name in given_up:
                    table.add("single", case, name, None, "given up at a smaller size")
                    continue
                seconds, note = measure(name, S, alpha, best.objective, repeats)
                before, reference = reference, measure("graphveil", S, alpha, best.objective, repeats)[0]
                if seconds is None and "in" in note.split():
                    given_up.add(name)
                table.add("single", case, name, seconds, note, (before + reference) / 2, marks["one eigh"])
            for name, seconds in marks.items():
                table.add("single", case, name, seconds, "", reference, marks["one eigh"])


def path(table, names, seed, repeats):
    S = correlation(300, 600, seed)
    alphas = np.geomspace(0.95 * np.abs(S - np.eye(300)).max(), alpha_for(S, 0.05), 20)
    best = [graphical_lasso(S, alpha, penalize_diagonal=False, tol=1e-10).objective for alpha in alphas]
    eigh = yardstick(S, repeats)["one eigh"]
    walks = []
    for what, tolerances in (("graphveil", LOOSE_TO_TIGHT), ("graphveil, gap 1e-6", [1e-6])):
        for tol in tolerances:
            solved = graphical_lasso_path(S, alphas, penalize_diagonal=False, tol=tol)
            worst = max(suboptimality(s.precision, S, a, b) for s, a, b in zip(solved, alphas, best, strict=True))
            if worst <= ACCURACY:
                break

        def walk(tol=tol):
            return graphical_lasso_path(S, alphas, penalize_diagonal=False, tol=tol)

        walks.append(walk)
        seconds = median_cpu(walk, repeats=repeats + 2)
        table.add("path", "p=300 x 20", what, seconds, f"{worst:.0e}", median_cpu(walks[0], repeats=repeats), eigh)
    reference = median_cpu(walks[0], repeats=repeats)
    for name in names:
        if name.startswith("graphveil"):
            continue
        total, notes = 0.0, []
        for alpha, value in zip(alphas, best, strict=True):
            seconds, note = measure(name, S, alpha, value, 1)
            notes.append(note)
            total = None if seconds is None or total is None else total + seconds
            if total is None:
                break
        before, reference = reference, median_cpu(walks[0], repeats=repeats)
        table.add("path", "p=300 x 20", name, total, max(notes), (before + reference) / 2, eigh)


def indefinite(table, sizes, seed, repeats):
    for p in sizes:
        S = correlation(p, 2 * p, seed)
        noisy = with_noise(S, 0.05, seed + 1)
        case = f"p={p} {np.linalg.eigvalsh(noisy)[0]:+.2f}"
        eigh = yardstick(S, repeats)["one eigh"]
        for alpha in (0.12, 0.06, 0.015):
            reference = median_cpu(ours, S, alpha, ACCURACY, repeats=repeats)
            table.add("indefinite", case, f"definite, alpha {alpha}", reference, "", reference, eigh)

            def attempt(alpha=alpha, noisy=noisy):
                try:
                    return graphical_lasso(noisy, alpha, penalize_diagonal=False)
                except UnboundedProblem as error:
                    return error

            seconds, found = median_cpu(attempt, repeats=repeats), attempt()
            if isinstance(found, UnboundedProblem):
                note = f"certificate {found.recession:.1e}, safe from {found.safe_alpha:.3f}"
            else:
                density = np.mean(found.precision != 0)
                note = f"gap {found.gap:.0e}, density {density:.0%}"
                as_dense = median_cpu(ours, S, alpha_for(S, density), ACCURACY, repeats=repeats)
                table.add("indefinite", case, f"definite, {density:.0%} dense", as_dense, "", reference, eigh)
            table.add("indefinite", case, f"noisy, alpha {alpha}", seconds, note, reference, eigh)


def threads(table, sizes, seed):
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); from solvers import correlation, ours\n"
        "p, alpha = int(sys.argv[2]), float(sys.argv[3]); S = correlation(p, 2 * p, int(sys.argv[4])); times = []\n"
        "for _ in range(20):\n"
        "    before = time.perf_counter(); ours(S, alpha, 1e-6); times.append(time.perf_counter() - before)\n"
        "print(min(times))"
    )
    for p in sizes:
        alpha = alpha_for(correlation(p, 2 * p, seed), 0.05)
        wall = {"1": np.inf, "2": np.inf}
        # In turn, several times: other work on the machine must not fall on one of the two only.
        for count in ("1", "2") * 6:
            environment = os.environ | {"OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count}
            command = [sys.executable, "-c", code, str(HERE), str(p), str(alpha), str(seed)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            wall[count] = min(wall[count], float(done.stdout))
        for count, seconds in wall.items():
            table.add("threads", f"p={p}", f"{count} BLAS thread(s), wall", seconds, "", wall["1"])


def fixed_cost(table, names):
    """What a call costs when there is next to nothing to compute: two variables."""
    S, calls = np.array([[1.0, 0.5], [0.5, 1.0]]), 2000

    def many(solver, tol):
        for _ in range(calls):
            solver(S, 0.1, tol)

    reference = median_cpu(many, ours, 1e-6) / calls
    for name in names:
        if name in ("graphveil, gap 1e-6", "glassoFast"):
            solver, tolerances, _ = SOLVERS[name]
            table.add("fixed cost", "p=2", name, median_cpu(many, solver, tolerances[0]) / calls, "", reference)


def first_call(table):
    def wall(code):
        done = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)
        ]
        return float(np.median([float(run.stdout) for run in done]))

    clock = "import time; before = time.perf_counter(); {}; print(time.perf_counter() - before)"
    numba = wall(clock.format("import numba"))
    ours = wall(
        clock.format(
            "import numpy as np; from graphveil.solvers import graphical_lasso; graphical_lasso(np.eye(3) + 0.5, 0.1)"
        )
    )
    table.add("first call", "fresh process", "import numba", numba, "", numba)
    table.add("first call", "fresh process", "graphveil, kernels cached", ours, "", numba)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, scikit-learn only")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000, help="fresh by default")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="CPU seconds before a peer is given up")
    parser.add_argument("--largest", type=int, default=2000, help="keep what is recorded of larger p")
    arguments = parser.parse_args()
    globals()["PATIENCE"] = arguments.patience
    warnings.simplefilter("ignore")  # peers warn about their own convergence; the accuracy is measured here
    absent = missing_peers()
    names = [name for name in SOLVERS if name not in absent]
    if arguments.quick:
        names = [name for name in names if name.startswith(("graphveil", "scikit"))]
    print(f"seed {arguments.seed}; missing: {', '.join(absent) or 'none'}")
    largest = 300 if arguments.quick else arguments.largest
    sizes = tuple(p for p in (50, 100, 300, 1000, 2000) if p <= largest)
    table = Table(arguments.seed, recorded(largest))
    first_call(table)
    fixed_cost(table, names)
    threads(table, [p for p in sizes if p in (300, 1000)], arguments.seed)
    indefinite(table, [p for p in sizes if 100 <= p <= 1000], arguments.seed, 3)
    if largest >= 300:
        path(table, names, arguments.seed, 3)
    single_penalty(table, sizes, (0.01, 0.05, 0.35), names, arguments.seed, 3)
    about = {
        "seed": arguments.seed,
        "quick": arguments.quick,
        "missing": absent,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {
            d.name: d.version
            for d in importlib.metadata.distributions()
            if d.name in {"numpy", "scipy", "numba", "scikit-learn", "gglasso", "skglm", "regain"}
        },
    }
    (HERE / "results" / "solvers.json").write_text(
        json.dumps(about | {"rows": table.rows + table.larger}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
