"""The gate against physical yardsticks, as ratios measured in one run on an otherwise idle machine.

    python benchmarks/gate.py            prints a table and writes benchmarks/results/gate.json

Yardsticks: a bare `X.T @ X` of the same array with all BLAS threads, the same sampler on one thread, and
`import scipy.linalg`. The two sides of a ratio are run in turn; the median of the ratios is reported with its range.
"""

import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.privacy.noise import SecureSource
from graphveil.rows.accumulators import MappedMoments, RowMoments
from graphveil.rows.encoding import Encoder
from graphveil.rows.parallel import accumulate
from graphveil.rows.sources import open_source
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import MomentLayout
from graphveil.spec.queries import Moments, RowMap

RESULTS = Path(__file__).parent / "results" / "gate.json"
MOMENT_GOAL, MEMORY_GOAL, SAMPLER_GOAL, NOISE_GOAL, IMPORT_GOAL = 1.5, 200.0, 20.0, 1.7, 2.5


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratios(ours, yardstick, repeats):
    """Median and range of ours/yardstick over interleaved runs."""
    ours(), yardstick()  # warm up
    pairs = [(seconds(ours), seconds(yardstick)) for _ in range(repeats)]
    values = sorted(a / b for a, b in pairs)
    return statistics.median(values), values[0], values[-1], statistics.median(b for _, b in pairs)


def domains(p):
    return {
        "bounds": gv.Domain(bounds=(-3, 3), n_features=p),
        "bounds and norm": gv.Domain(bounds=(-3, 3), data_norm=p**0.5 / 2, n_features=p),
        "norm": gv.Domain(data_norm=p**0.5, n_features=p),
    }


def moments(X, domain):
    p = domain.n_features
    encoder = Encoder(domain, None, shift=False)
    return accumulate(
        open_source(X, domain, None), encoder, lambda: [RowMoments(MomentLayout(p, None), encoder.lattice)]
    )


def whitened_moments(X, domain):
    """What a later round does: map rows exactly, shorten, sum."""
    p = domain.n_features
    encoder = Encoder(domain, None, shift=True)
    edge = np.full(p, encoder.lattice.edge)
    matrix = np.linalg.cholesky(np.eye(p) + 0.1) * encoder.lattice.unit * 3
    query = Moments(p**0.5, 1.0, RowMap.of(matrix, np.zeros(p), -edge, edge))
    layout = MomentLayout(p, Constant())
    make = partial(MappedMoments, query, query.lattice(p), layout, encoder.lattice.edge)
    return accumulate(open_source(X, domain, None), encoder, lambda: [make()])


def moment_rows():
    for n, p in ((1_000_000, 50), (100_000, 500)):
        X = np.random.default_rng(0).standard_normal((n, p))
        for name, domain in domains(p).items():
            median, low, high, base = ratios(partial(moments, X, domain), partial(np.matmul, X.T, X), repeats=9)
            yield {
                "what": f"exact clipped moments, {n:,} x {p}, {name}",
                "against": f"X.T @ X ({base:.3f} s)",
                "ratio": median,
                "range": [low, high],
                "goal": f"<= {MOMENT_GOAL}",
                "met": median <= MOMENT_GOAL,
            }


def whitened_rows():
    for n, p, goal in ((1_000_000, 50, 2.0), (100_000, 500, 3.0)):
        X = np.random.default_rng(0).standard_normal((n, p))
        domain = domains(p)["bounds"]
        median, low, high, base = ratios(partial(whitened_moments, X, domain), partial(moments, X, domain), repeats=7)
        yield {
            "what": f"a whitened round, {n:,} x {p}",
            "against": f"a plain one ({base:.3f} s)",
            "ratio": median,
            "range": [low, high],
            "goal": f"<= {goal}",
            "met": median <= goal,
        }


MEMORY = """
import resource, sys
import numpy as np
sys.path.insert(0, {folder!r})
import gate
n, p = {n}, {p}
X = np.empty((n, p))
np.random.default_rng(0).standard_normal(out=X)
domain = gate.domains(p)["bounds and norm"]
with open("/proc/self/statm") as file:
    before = int(file.read().split()[1]) * resource.getpagesize() / 2**20
gate.moments(X, domain)
# Not ru_maxrss, which a child inherits from its parent.
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
print(peak - before)
"""


def memory_rows():
    for n, p in ((1_000_000, 50), (100_000, 500)):
        code = MEMORY.format(folder=str(Path(__file__).parent), n=n, p=p)
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        extra = float(out.stdout)
        yield {
            "what": f"peak memory above the input, {n:,} x {p}",
            "against": "MB",
            "ratio": extra,
            "range": [extra, extra],
            "goal": f"< {MEMORY_GOAL:.0f}",
            "met": extra < MEMORY_GOAL,
        }


def opendp_sampler(scale, size, chunk=8192):
    """Draw ``size`` numbers on two threads, as graphveil did while OpenDP's sampler was its own."""
    from concurrent.futures import ThreadPoolExecutor

    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    counts = [min(chunk, size - start) for start in range(0, size, chunk)]
    space = {count: vector_domain(atom_domain(T="i64"), size=count) for count in {*counts}}
    law = {count: make_gaussian(space[count], l2_distance(T="f64"), scale=float(scale)) for count in space}

    def draw():
        with ThreadPoolExecutor(2) as pool:
            return np.concatenate(list(pool.map(lambda count: np.array(law[count]([0] * count)), counts)))

    return draw


def noise_rows():
    p = 1000
    size = p * (p + 1) // 2
    scale = 2**41
    draw, opendp = SecureSource()._draw, opendp_sampler(scale, size)
    median, low, high, base = ratios(opendp, lambda: draw(scale, size, 2), repeats=3)
    yield {
        "what": f"noise for p = {p}: OpenDP's sampler on two threads against ours",
        "against": f"ours on two threads ({base:.2f} s, {1e6 * base / size:.2f} us a number)",
        "ratio": median,
        "range": [low, high],
        "goal": f">= {SAMPLER_GOAL}",
        "met": median >= SAMPLER_GOAL,
    }
    median, low, high, base = ratios(lambda: draw(scale, size, 1), lambda: draw(scale, size, 2), repeats=9)
    yield {
        "what": f"noise for p = {p}: one thread against two",
        "against": f"two threads ({base:.2f} s, {1e6 * base / size:.1f} us a number)",
        "ratio": median,
        "range": [low, high],
        "goal": f">= {NOISE_GOAL}",
        "met": median >= NOISE_GOAL,
    }


def import_rows():
    def run(code):
        subprocess.run([sys.executable, "-c", code], check=True)

    start = statistics.median(seconds(lambda: run("pass")) for _ in range(7))
    for what, code in (
        ("import graphveil", "import graphveil"),
        ("... and the gate", "import graphveil as g; g.release"),
    ):
        values = []
        for _ in range(9):
            ours, yardstick = (
                seconds(lambda c=code: run(c)) - start,
                seconds(lambda: run("import scipy.linalg")) - start,
            )
            values.append(ours / yardstick)
        median = statistics.median(values)
        yield {
            "what": what,
            "against": "import scipy.linalg",
            "ratio": median,
            "range": [min(values), max(values)],
            "goal": f"<= {IMPORT_GOAL}",
            "met": median <= IMPORT_GOAL,
        }


def main():
    rows = []
    for group in (moment_rows, whitened_rows, memory_rows, noise_rows, import_rows):
        for row in group():
            rows.append(row)
            low, high = row["range"]
            print(
                f"{row['what']:<58}{row['ratio']:>8.2f}  [{low:.2f}, {high:.2f}]  goal {row['goal']:<8}"
                f"{'ok' if row['met'] else 'MISSED':<8}against {row['against']}",
                flush=True,
            )
    RESULTS.parent.mkdir(exist_ok=True)
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    RESULTS.write_text(json.dumps({"machine": machine, "peak_mb": peak, "rows": rows}, indent=1) + "\n")
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
