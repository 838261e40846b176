"""How good are the estimates? Ours and the paper's on the same draws, at the same (ε, δ).

    python benchmarks/utility.py [--reps 20] [--quick] [--parts paper,real]

Parts, each a table on the screen and rows of benchmarks/results/utility.csv:

* `paper`: the paper's models at its settings and larger n; a public norm bound of 1.25 √tr Σ, rows centred, δ = 1/n.
  The paper's ridge beside it as printed: rows divided by the largest norm (which leaks it), classical noise, the
  penalty chosen by five-fold cross-validation on the raw rows (which leaks too).
* `graphs`: other graphs, sizes, means and unequal variances, public bounds, the mean not known, δ = 1e-6.
* `network`: the graphical lasso on the paper's models, a norm found in private, δ = 1/n; error and area under the ROC.
* `penalty`: on other graphs, the error with the penalty that thinning or EBIC chooses over the error with the best one,
  and over the dense estimate's.
* `few`: few rows in wide bounds, where little or nothing can be learnt.
* `bounds`: what bounds cost that are too wide, and a norm that is found in private.
* `tails`: heavy tails, skewed, binary and constant columns beside Gaussian ones.
* `real`: survey data, against the non-private estimate of the same clamped rows (benchmarks/surveys.py).

Error is ‖Θ̂ − Θ‖_F/‖Θ‖_F: answering zero scores 1. Noise is seeded: these are simulations.
"""

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import surveys

import graphveil as gv
from graphveil.recovery.network import network_path

RESULTS = Path(__file__).parent / "results" / "utility.csv"
FIELDS = ["part", "what", "replications", "median", "worst", "papers_median", "goal"]
PAPER_CELLS = [  # model, n, ε, goal
    (1, 100, 0.1, 0.18),
    (3, 400, 2.0, 0.72),
    (4, 10_000, 1.0, 0.30),
    (3, 10_000, 2.0, 0.23),
    (2, 100_000, 1.0, 0.02),
    (3, 100_000, 1.0, 0.046),
    (4, 100_000, 1.0, 0.051),
]


def ours(rows, domain, budget, seed, assume_centered=True):
    return gv.recover(
        gv.release(rows, domain=domain, budget=budget, random_state=seed, assume_centered=assume_centered)
    )


def papers_ridge(rows, budget, seed):
    """Algorithm 1 as the paper runs it."""
    longest = np.sqrt((rows**2).sum(axis=1).max())
    noisy = gv.release(
        rows / longest,
        domain=gv.Domain(data_norm=1.0),
        budget=budget,
        mechanism="paper",
        allow_unproven=True,
        random_state=seed,
        assume_centered=True,
        adaptive=False,
    ).second_moment
    return gv.solvers.ridge_precision(noisy, papers_penalty(rows / longest)) / longest**2


def papers_penalty(rows, folds=5):
    """Least negative log-likelihood on held-out rows, over a grid."""
    grid = np.geomspace(1e-9, 1e-1, 17)
    losses = np.zeros(grid.size)
    parts = np.array_split(np.random.default_rng(0).permutation(len(rows)), folds)
    for held_out in parts:
        kept = np.delete(rows, held_out, axis=0)
        test = rows[held_out].T @ rows[held_out] / len(held_out)
        for i, theta in enumerate(gv.solvers.ridge_precision(kept.T @ kept / len(kept), grid)):
            losses[i] += gv.metrics.negative_log_likelihood(theta, test)
    return float(grid[np.argmin(losses)])


def error(estimate, truth):
    return gv.metrics.relative_loss(estimate, truth)


def paper_part(reps):
    for model, n, epsilon, goal in PAPER_CELLS:
        mine, theirs = [], []
        for rep in range(reps):
            theta = gv.simulate.paper_model(model, 100, random_state=rep)
            rows = gv.simulate.gaussian_rows(theta, n, random_state=10_000 + rep)
            budget = gv.Budget(epsilon, 1 / n)
            domain = gv.Domain(data_norm=1.25 * np.sqrt(np.trace(np.linalg.inv(theta))))
            mine.append(error(ours(rows, domain, budget, rep).precision, theta))
            if rep < 5:
                theirs.append(error(papers_ridge(rows, budget, rep), theta))
        yield f"model {model}, p = 100, n = {n:,}, ε = {epsilon:g}", mine, theirs, goal


NETWORK_CELLS = [  # model, p, n, ε, goals for the error and the area under the ROC curve
    (3, 20, 2000, 1.0, 0.12, 0.99),
    (4, 20, 2000, 1.0, 0.10, 0.99),
    (3, 20, 2000, 2.0, 0.066, 0.99),
    (3, 100, 10_000, 1.0, 0.29, 0.99),
    (4, 100, 10_000, 1.0, 0.29, 0.985),
    (3, 100, 100_000, 1.0, 0.012, 1.0),
    (4, 100, 100_000, 1.0, 0.017, 1.0),
]


def network_part(reps):
    for model, p, n, epsilon, goal, least in NETWORK_CELLS:
        losses, areas = [], []
        for rep in range(reps):
            theta = gv.simulate.paper_model(model, p, random_state=rep)
            rows = gv.simulate.gaussian_rows(theta, n, random_state=60_000 + rep)
            found = gv.PrivateGraphicalLasso(
                epsilon, 1 / n, data_norm="private", assume_centered=True, random_state=rep
            ).fit(rows)
            losses.append(error(found.precision_, theta))
            areas.append(gv.metrics.roc_auc(np.abs(found.partial_correlations_), theta != 0))
        what = f"network, model {model}, p = {p}, n = {n:,}, ε = {epsilon:g}"
        yield f"{what}: precision", losses, [], goal
        yield f"{what}: 1 - AUC", [1 - area for area in areas], [], 1 - least


def families(p, seed):
    return {
        "hub": gv.simulate.hub_precision(p, max(1, p // 20), random_state=seed),
        "scale-free": gv.simulate.scale_free_precision(p, random_state=seed),
        "small world": gv.simulate.small_world_precision(p, random_state=seed),
        "blocks": gv.simulate.block_precision(p, block_size=min(10, p), random_state=seed),
    }


def penalty_part(reps):
    """The penalty that thinning chooses, and that EBIC does, over the one that knowing the truth would choose."""
    for p, n in ((20, 1600), (20, 5000), (50, 5000)):
        for name in families(5, 0):
            thinning, ebic, dense, shares = [], [], [], []
            for rep in range(reps):
                theta = families(p, 1000 + rep)[name]
                bound = 4.5 * np.sqrt(np.diag(np.linalg.inv(theta)))
                rows = gv.simulate.gaussian_rows(theta, n, random_state=70_000 + rep)
                model = gv.PrivateGraphicalLasso(1.0, 1e-6, bounds=(-bound, bound), random_state=rep).fit(rows)
                other = gv.PrivateGraphicalLasso(1.0, 1e-6, alpha="ebic").fit_release(model.release_)
                path = network_path(model._network, p * p)
                best = min(error(fit.solution.precision, theta) for fit in path)
                thinning.append(error(model.precision_, theta) / best)
                ebic.append(error(other.precision_, theta) / best)
                dense.append(error(model.precision_, theta) / error(gv.recover(model.release_).precision, theta))
                shares.append(model.n_eff_ / p)
            what = f"{name}, p = {p}, n = {n:,}, {np.median(shares):.0f} effective records a column"
            yield f"{what}: thinning over the best penalty", thinning, [], 1.1
            yield f"{what}: EBIC over the best penalty", ebic, [], np.nan
            yield f"{what}: network over dense", dense, [], 2.0


def graphs_part(reps):
    budget = gv.Budget(1.0, 1e-6)
    for p, n in ((5, 2000), (20, 10_000), (50, 20_000), (200, 100_000)):
        for name in families(5, 0):
            losses = []
            for rep in range(reps if p < 200 else max(3, reps // 5)):
                theta = families(p, rep)[name]
                rng = np.random.default_rng(rep)
                decades = 10.0 ** rng.uniform(-2, 2, size=p)  # standard deviations over four decades
                rows = gv.simulate.gaussian_rows(theta, n, random_state=20_000 + rep)
                rows = (rows + rng.normal(size=p)) * decades
                spread = np.sqrt(np.diag(np.linalg.inv(theta)))
                bounds = (-(4 * spread + 3) * decades, (4 * spread + 3) * decades)
                found = ours(rows, gv.Domain(bounds=bounds), budget, rep, assume_centered=False)
                losses.append(error(found.precision * np.outer(decades, decades), theta))
            yield f"{name}, p = {p}, n = {n:,}, ε = 1, four decades", losses, [], 1.0


def few_part(reps):
    for model, p, n, epsilon, width in (
        (3, 20, 2000, 1.0, 4),
        (3, 20, 2000, 1.0, 12),
        (4, 8, 1000, 1.0, 4),
        (3, 20, 1000, 1.0, 4),
        (4, 20, 500, 1.0, 4),
        (3, 5, 300, 1.0, 4),
        (3, 10, 3000, 0.3, 12),
    ):
        losses = []
        for rep in range(reps):
            theta = gv.simulate.paper_model(model, p, random_state=rep)
            rows = gv.simulate.gaussian_rows(theta, n, random_state=40_000 + rep)
            bound = width * np.sqrt(np.diag(np.linalg.inv(theta)))
            found = ours(rows, gv.Domain(bounds=(-bound, bound)), gv.Budget(epsilon, 1e-6), rep, assume_centered=False)
            losses.append(error(found.precision, theta))
        yield f"model {model}, p = {p}, n = {n:,}, ε = {epsilon:g}, bounds ± {width} sd", losses, [], 1.0


def bounds_part(reps):
    budget, theta = gv.Budget(1.0, 1e-6), gv.simulate.paper_model(4, 20, random_state=0)
    size, partial = np.sqrt(np.trace(np.linalg.inv(theta))), gv.metrics.partial_correlations(theta)
    for factor in (1.25, 3 * 1.25, 20 * 1.25, "private"):
        losses = []
        for rep in range(reps):
            rows = gv.simulate.gaussian_rows(theta, 20_000, random_state=30_000 + rep)
            norm = factor if factor == "private" else factor * size
            losses.append(error(ours(rows, gv.Domain(data_norm=norm), budget, rep).precision, theta))
        what = "norm found in private" if factor == "private" else f"norm bound {factor:g} √tr Σ"
        yield f"{what}, p = 20, n = 20,000", losses, [], 1.0
    for factor in (1, 3, 30):
        losses, worst = [], []
        for rep in range(reps):
            rows = gv.simulate.gaussian_rows(theta, 20_000, random_state=30_000 + rep)
            bound = 4 * factor * np.sqrt(np.diag(np.linalg.inv(theta)))
            found = ours(rows, gv.Domain(bounds=(-bound, bound)), budget, rep, assume_centered=False)
            losses.append(error(found.precision, theta))
            worst.append(np.abs(gv.metrics.partial_correlations(found.precision) - partial).max())
        yield f"column bounds {factor} x 4 sd, p = 20, n = 20,000", losses, [], 1.0
        yield f"column bounds {factor} x 4 sd: largest error of a partial correlation", worst, [], 1.0


def tails_part(reps):
    """Shape error: up to one scalar, in standard units; against the truth where there is one, else clamped rows."""
    elliptic = ("Gaussian", "t, 5 degrees of freedom")
    yield from (tails(kind, 20, reps) for kind in (*elliptic, "lognormal", "binary", "constant and missing"))
    yield from (tails(kind, 100, reps) for kind in elliptic)


def tails(kind, p, reps):
    n, budget, losses = 10_000, gv.Budget(1.0, 1e-6), []
    theta = gv.simulate.paper_model(4, p, random_state=0)
    spread = np.sqrt(np.diag(np.linalg.inv(theta)))
    for rep in range(reps):
        seed = 50_000 + rep
        rows = gv.simulate.gaussian_rows(theta, n, random_state=seed) / spread
        if kind == "t, 5 degrees of freedom":
            rows = gv.simulate.student_rows(theta, n, degrees_of_freedom=5, random_state=seed) / spread
        elif kind == "lognormal":
            rows = np.exp(rows)
        elif kind == "binary":
            rows = (rows > 0.5).astype(float)
        elif kind == "constant and missing":
            rows[:, 0], rows[::7, 1] = 1.0, np.nan
        low, high = (-1.0, 2.0) if kind == "binary" else (-8.0, 8.0)
        clamped = np.clip(np.nan_to_num(rows, nan=(low + high) / 2), low, high)
        found = ours(rows, gv.Domain(bounds=(low, high)), budget, rep, assume_centered=False)
        if kind == "constant and missing":  # nothing is to be known of the constant: leave it out
            clamped, covariance = clamped[:, 1:], found.covariance[1:, 1:]
        else:
            covariance = found.covariance
        sd = clamped.std(axis=0)
        truth = np.linalg.inv(np.corrcoef(clamped.T))
        if kind in ("Gaussian", "t, 5 degrees of freedom"):
            truth, sd = theta * np.outer(spread, spread), np.ones(p)
        shape = np.linalg.inv(covariance) * np.outer(sd, sd)
        losses.append(error(shape * np.sum(shape * truth) / np.sum(shape**2), truth))
    return f"{kind}, p = {p}, n = {n:,}, ε = 1", losses, [], 1.0


def real_part(reps):
    goals = {"randhie": 0.07, "fair": 0.10}
    for group in (surveys.NAMED, surveys.OTHERS):
        medians = []
        for name in group:
            loaded = surveys.load(name)
            if loaded is None:
                print(f"{name}: left out, its package is not installed")
                continue
            rows, low, high = loaded
            reference = np.linalg.inv(np.cov(rows.T))
            partial = gv.metrics.partial_correlations(reference)
            losses, worst = [], []
            for rep in range(reps):
                found = ours(
                    rows, gv.Domain(bounds=(low, high)), gv.Budget(1.0, 1e-6), rep, assume_centered=False
                ).precision
                losses.append(error(found, reference))
                worst.append(np.abs(gv.metrics.partial_correlations(found) - partial).max())
            n, p = rows.shape
            medians.append(np.median(losses))
            yield f"{name}, {n:,} x {p}, ε = 1: precision", losses, [], goals.get(name, 1.0)
            yield f"{name}, {n:,} x {p}, ε = 1: largest error of a partial correlation", worst, [], 1.0
        if medians:
            print(f"geometric mean of {len(medians)} medians: {np.exp(np.mean(np.log(medians))):.3f}")


PARTS = {
    "paper": paper_part,
    "graphs": graphs_part,
    "network": network_part,
    "penalty": penalty_part,
    "few": few_part,
    "bounds": bounds_part,
    "tails": tails_part,
    "real": real_part,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="three replications")
    parser.add_argument("--parts", default=",".join(PARTS), help="which, separated by commas; others keep their rows")
    options = parser.parse_args()
    reps = 3 if options.quick else options.reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)  # δ = 1/n is the paper's choice
    parts = options.parts.split(",")
    rows = [row for row in recorded() if row["part"] not in parts]
    for part in parts:
        for what, mine, theirs, goal in PARTS[part](reps):
            median, worst = float(np.median(mine)), max(mine)
            beside = float(np.median(theirs)) if theirs else float("nan")
            numbers = [f"{value:.4g}" for value in (median, worst, beside, goal)]
            rows.append(dict(zip(FIELDS, [part, what, len(mine), *numbers], strict=True)))
            tail = f"   the paper's {beside:.3g}" if theirs else ""
            print(f"{what:<68}{median:>8.3f} worst {worst:.3f}   goal {goal:g}{tail}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: list(PARTS).index(row["part"])))
    return 0


def recorded():
    if not RESULTS.exists():
        return []
    with RESULTS.open() as file:
        return [row for row in csv.DictReader(file) if row.get("part") in PARTS]


if __name__ == "__main__":
    sys.exit(main())
