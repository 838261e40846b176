"""Theorems 4.1 and 4.2 on log axes: whether the error falls with n, and grows with p, as they say.

Both bound the error by a term of sampling, n^(-1/2), and a term of noise, n^(-1). Each is measured by itself: S alone,
noise alone, and together. S is drawn from its law (Wishart) and E as the algorithms say, so that n can be large; rows
are taken to have norms of at most R = 2 √tr Σ, and everything is in raw units: E has the sd R²β. graphveil gets real
rows and the same R, which four rows in a million exceed.
"""

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wishart

import graphveil as gv
from paper import drawing
from paper.files import write
from paper.mechanism import noise_sd
from paper.runs import Record, Task, collect, generator, noise_seed
from paper.settings import SEED

Matrix = NDArray[np.float64]
MODEL, P = 3, 20
EPSILON, DELTA = 1.0, 1e-8
SIZES = tuple(int(n) for n in np.geomspace(1e4, 1e7, 7).round())
LARGEST_FIT = 10**6  # rows that graphveil is given in full
DIMENSIONS = (5, 10, 20, 40, 80)
SIZE_FOR_DIMENSIONS = 10**6
ASYMPTOTIC = 10**5  # slopes are fitted from here on
TOLERANCE = 1e-11  # a gap of 1e-6 is an error of 1e-3, which would hide the noise
SLOPES = {"sampling": -0.5, "noise": -1.0, "both": None, "graphveil": None}


def make_theorem1(reps: int, jobs: int, folder: Path) -> None:
    """Algorithm 1 is consistent: the two terms and their sum against n."""
    tasks = [{"n": n, "rep": rep, "seed": SEED} for rep in range(reps) for n in SIZES]
    records = collect("theorem1", replicate_theorem1, tasks, jobs)
    rows = _slopes(records, "n", lambda n: n >= ASYMPTOTIC)
    write(folder / "theorem1.csv", rows)
    drawing.slopes(folder / "theorem1", [("n", "records n", records, rows, SLOPES)])


def make_theorem2(reps: int, jobs: int, folder: Path) -> None:
    """Algorithm 2: the two terms against n, and the noise term against p, where the theorem says p²√s."""
    sizes = [{"n": n, "p": P, "rep": rep, "seed": SEED} for rep in range(reps) for n in SIZES]
    widths = [
        {"n": SIZE_FOR_DIMENSIONS, "p": p, "rep": rep, "seed": SEED}
        for rep in range(reps)
        for p in DIMENSIONS
        if p != P
    ]
    records = collect("theorem2", replicate_theorem2, sizes + widths, jobs)
    by_n = [record for record in records if record["p"] == P]
    by_p = [r for r in records if r["n"] == SIZE_FOR_DIMENSIONS and r["part"] in ("noise", "largest entry")]
    rows = _slopes(by_n, "n", lambda n: n >= ASYMPTOTIC)
    wide = _slopes(by_p, "p", lambda _: True)
    write(folder / "theorem2.csv", rows + wide)
    # s grows like p, so the theorem's p²√s has the slope 2.5; noise whose largest entry grew like p gives 1.5.
    drawing.slopes(
        folder / "theorem2",
        [
            ("n", "records n", by_n, rows, SLOPES),
            ("p", "variables p", by_p, wide, {"noise": 2.5, "largest entry": 2.0}),
        ],
    )


def replicate_theorem1(task: Task) -> list[Record]:
    """Relative errors of the ridge estimator with λ = 1/n, and of graphveil's default."""
    n = task["n"]
    theta, sigma, radius, S, E = _draw("theorem1", task, P)
    alpha = 1 / n
    estimates = {
        "sampling": gv.solvers.ridge_precision(S, alpha),
        "noise": gv.solvers.ridge_precision(sigma + E, alpha),
        "both": gv.solvers.ridge_precision(S + E, alpha),
    }
    if n <= LARGEST_FIT:
        rows = gv.simulate.gaussian_rows(theta, n, random_state=generator("rows", task))
        model = gv.PrivatePrecision(
            EPSILON, DELTA, data_norm=radius, assume_centered=True, random_state=noise_seed(task)
        )
        estimates["graphveil"] = model.fit(rows).precision_
    return [
        {"n": n, "part": part, "error": gv.metrics.relative_loss(found, theta)} for part, found in estimates.items()
    ]


def replicate_theorem2(task: Task) -> list[Record]:
    """Errors of the graphical lasso with λ as large as the deviations that it is to cover."""
    n, p = task["n"], task["p"]
    theta, sigma, radius, S, E = _draw("theorem2", task, p)
    pairs = math.log(p * (p + 1) / 2)
    for_sampling = float(sigma.max()) * math.sqrt(2 * pairs / n)
    for_noise = radius**2 * noise_sd(n, EPSILON, DELTA) * math.sqrt(2 * pairs)
    estimates = {
        "sampling": gv.solvers.graphical_lasso(S, for_sampling, tol=TOLERANCE),
        "noise": gv.solvers.graphical_lasso(sigma + E, for_noise, tol=TOLERANCE),
        "both": gv.solvers.graphical_lasso(S + E, for_sampling + for_noise, tol=TOLERANCE),
    }
    records = [
        {"n": n, "p": p, "part": part, "error": float(np.linalg.norm(found.precision - theta))}
        for part, found in estimates.items()
    ]
    return [*records, {"n": n, "p": p, "part": "largest entry", "error": float(np.abs(E).max())}]


def _draw(name: str, task: Task, p: int) -> tuple[Matrix, Matrix, float, Matrix, Matrix]:
    rng = generator(name, task)
    theta = gv.simulate.paper_model(MODEL, p)
    sigma = np.linalg.inv(theta)
    sigma = (sigma + sigma.T) / 2
    radius = 2 * math.sqrt(np.trace(sigma))
    S = wishart.rvs(task["n"], sigma / task["n"], random_state=rng)
    E = np.triu(rng.normal(scale=radius**2 * noise_sd(task["n"], EPSILON, DELTA), size=(p, p)))
    return theta, sigma, radius, S, E + np.triu(E, 1).T


def _slopes(records: list[Record], axis: str, asymptotic) -> list[Record]:
    """Least squares on log axes, with a 95% interval from resampled replications."""
    groups = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record["part"]][record[axis]].append(record["error"])
    rows = []
    for part, by_place in groups.items():
        places = [place for place in sorted(by_place) if asymptotic(place)]
        if len(places) < 2:
            places = sorted(by_place)
        logs = [np.log(by_place[place]) for place in places]
        rng = generator("resampling", part, axis)
        slope = _fit(places, [values.mean() for values in logs])
        again = [_fit(places, [rng.choice(values, values.size).mean() for values in logs]) for _ in range(1000)]
        low, high = np.quantile(again, [0.025, 0.975])
        rows.append(
            {
                "against": axis,
                "part": part,
                "slope": f"{slope:.3f}",
                "low": f"{low:.3f}",
                "high": f"{high:.3f}",
                "from": places[0],
                "to": places[-1],
                "replications": min(len(by_place[place]) for place in places),
            }
        )
    return rows


def _fit(places: list[int], heights: list[float]) -> float:
    return float(np.polyfit(np.log(places), heights, 1)[0])
