"""Releases of few records: the rivals' models, the open families of `judges`, and parts of its held-out tables.

python benchmarks/few_records.py LABEL [networks]

Writes build/few-records-LABEL.jsonl, a line a cell with the errors of its releases; seeds are the same for every label,
so that two versions of the package can be compared. `benchmarks/results/few_records.csv` has the medians and the worst
of protocols 7 and 8. Errors are in units of the bounds, against the truth (models) or the same records without privacy.
With "networks": of `PrivateGraphicalLasso` below two effective records a column instead, into
`benchmarks/results/few_networks.csv`, beside the mild penalty on the denoised matrix that it had before.
"""

import csv
import json
import sys
import warnings
from itertools import product

import judges
import numpy as np
from rivals import DELTA, model_rows

import graphveil as gv
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.network import _fit_denoised

FIRST_SEED = 100
CENTRED = [
    *(("small world", p, 500, epsilon) for p in (5, 20, 50) for epsilon in (0.3, 1.0, 4.0)),
    *(("band", p, 500, epsilon) for p in (5, 20, 50) for epsilon in (0.3, 1.0)),
    ("small world", 20, 5000, 0.3),
    ("small world", 50, 5000, 0.3),
]
FAMILIES = ((400, 1.0), (800, 1.0), (1600, 1.0), (500, 0.3), (2500, 0.3), (400, 3.0))
TABLES = ((400, 1.0), (1000, 1.0), (1700, 1.0), (1500, 0.3))


def factors(p, seed):
    """Dense: a tenth as many factors as columns."""
    generator = np.random.default_rng([11, seed])
    loadings = 0.7 * generator.normal(size=(p, max(3, p // 10)))
    return np.linalg.inv(loadings @ loadings.T + np.diag(generator.uniform(0.5, 1.5, p)))


def broad_spectrum(p, seed):
    """Dense: variances from 0.1 to 3 along random axes."""
    vectors = np.linalg.qr(np.random.default_rng([12, seed]).normal(size=(p, p)))[0]
    return np.linalg.inv((vectors * np.geomspace(0.1, 3.0, p)) @ vectors.T)


NETWORKS = {
    "band": lambda p, seed: gv.simulate.paper_model(3, p=p),
    "random": lambda p, seed: gv.simulate.paper_model(4, p=p, random_state=seed),
    "small world": lambda p, seed: gv.simulate.small_world_precision(p, random_state=seed),
    "hubs": lambda p, seed: gv.simulate.hub_precision(p, random_state=seed),
    "chain": lambda p, seed: gv.simulate.band_precision(p, 1),
    "dense: factors": factors,
    "dense: broad spectrum": broad_spectrum,
    "dense: full": lambda p, seed: gv.simulate.paper_model(2, p=p),
}
NETWORK_SIZES = ((20, 1000), (50, 2000), (50, 3000), (100, 5000), (100, 9000), (200, 18_000))


def reference(rows, low, high):
    """The precision matrix without privacy, in units of the bounds; None where these records do not determine it."""
    covariance = np.cov(rows.T)
    if not (np.diag(covariance) > 1e-9 * (high - low) ** 2).all() or np.linalg.cond(np.corrcoef(rows.T)) > 1e5:
        return None
    return np.linalg.inv(covariance) * np.outer(high - low, high - low) / 4.0


def error(rows, truth, low, high, epsilon, seed, *, centred):
    domain, budget = gv.Domain(bounds=(low, high)), gv.Budget(epsilon, DELTA)
    made = gv.release(rows, domain=domain, budget=budget, random_state=seed, assume_centered=centred)
    found = gv.recover(made).precision * np.outer(high - low, high - low) / 4.0
    return gv.metrics.relative_loss(found, truth)


def cells():
    """Group, name, n, ε, releases, whether the mean is known, and what draws (rows, truth, low, high) from a seed."""
    for model, p, n, epsilon in CENTRED:

        def draw(seed, model=model, p=p, n=n):
            return *model_rows(model, p, n, seed), -np.ones(p), np.ones(p)

        yield "models", f"{model}, p = {p}", n, epsilon, 8, True, draw
    for name, ((make, low, high), _, _, sealed) in judges.SIMULATED.items():
        for n, epsilon in () if sealed else FAMILIES:

            def draw(seed, make=make, low=low, high=high, n=n):
                rows = np.clip(make(np.random.default_rng([3, seed]), n), low, high)
                return rows, reference(rows, low, high), low, high

            yield "families", name, n, epsilon, 8, False, draw
    for item, package in judges.SEALED.items():
        loaded = judges.prepared(package, item)
        for n, epsilon in TABLES if loaded else ():

            def draw(seed, loaded=loaded, n=n):
                table, low, high = loaded
                rows = table[np.random.default_rng([5, seed]).permutation(len(table))[:n]]
                return rows, reference(rows, low, high), low, high

            yield "tables", item, n, epsilon, 6, False, draw


def network_errors(model, p, n, seed):
    """Effective records a column, and the errors of the network and of what it was before."""
    precision = NETWORKS[model](p, seed)
    unit = 5.0 * np.sqrt(np.linalg.inv(precision).diagonal())
    rows = gv.simulate.gaussian_rows(precision, n, random_state=seed) / unit
    made = gv.release(rows, domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(1.0, DELTA), random_state=seed)
    found = gv.recover(made)
    before = _fit_denoised(found.noisy.denoised, found.noisy.entry_sd).solution.precision
    now = Analysis(made, found).network.solution.precision
    truth = precision * np.outer(unit, unit)
    return found.n_eff / p, *(gv.metrics.relative_loss(matrix, truth) for matrix in (now, before))


def networks(releases=20):
    with (judges.ROOT / "benchmarks" / "results" / "few_networks.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["model", "p", "n", "releases", "records a column", "median", "before", "worst", "worst before"]
        )
        for (p, n), model in product(NETWORK_SIZES, NETWORKS):
            ratio, now, before = np.array([network_errors(model, p, n, seed) for seed in range(releases)]).T
            numbers = np.median(ratio), np.median(now), np.median(before), np.max(now), np.max(before)
            writer.writerow([model, p, n, releases, *(f"{number:.3g}" for number in numbers)])
            file.flush()


def main(label):
    path = judges.ROOT / "build" / f"few-records-{label}.jsonl"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        for group, name, n, epsilon, releases, centred, draw in cells():
            errors = []
            for seed in range(FIRST_SEED, FIRST_SEED + releases):
                rows, truth, low, high = draw(seed)
                if truth is not None:
                    errors.append(error(rows, truth, low, high, epsilon, seed, centred=centred))
            if errors:
                file.write(json.dumps([group, name, n, epsilon, errors]) + "\n")
                file.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    networks() if sys.argv[2:] == ["networks"] else main(sys.argv[1])
