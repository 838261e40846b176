"""Do intervals of regressions and moments cover? python benchmarks/regression_intervals.py [--reps 60] [--only gauss]

Nominal 95%, ε = 1 unless said, δ = 1e-6, public bounds. Each release is asked for regressions of four of its columns,
on all others and on three of them; the truth is that of the population. Gaussian rows with random covariances; rows
with long tails; and real surveys, whose rows are resampled, so that their own moments are the truth.
Results: benchmarks/results/regression_intervals.csv
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import surveys

import graphveil as gv

RESULTS = Path(__file__).parent / "results" / "regression_intervals.csv"
KINDS = ["coefficients", "intercept", "r_squared", "prediction", "mean", "sd", "correlation", "loading"]
FIELDS = ["rows", "n", "p", "epsilon", "n_eff", "given", *KINDS, "std_err_ratio"]
POPULATION = 1_000_000
CELLS = [
    ("gauss", 4, 1000, 1.0),
    ("gauss", 6, 2000, 1.0),
    ("gauss", 6, 20_000, 1.0),
    ("gauss", 6, 5000, 0.3),
    ("gauss", 12, 2500, 1.0),
    ("gauss", 12, 20_000, 1.0),
    ("gauss", 20, 3000, 1.0),
    ("gauss", 30, 30_000, 3.0),
    ("skewed", 6, 10_000, 1.0),
    ("skewed", 6, 50_000, 1.0),
    ("heavy", 8, 10_000, 1.0),
]
SURVEYS = [
    ("randhie", 20_000),
    ("fair", 6000),
    ("rwm5yr", 20_000),
    ("CPS1988", 20_000),
    ("diamonds", 20_000),
    ("credit", 20_000),
    ("Computers", 20_000),
    ("gss wages", 20_000),
]


def covariance(p, seed):
    """A random one, of columns of different sizes."""
    generator = np.random.default_rng(1000 + seed)
    factors = generator.normal(size=(p, p + 3))
    sd = np.exp(generator.normal(size=p))
    return factors @ factors.T / (p + 3) * np.outer(sd, sd), sd * generator.normal(size=p)


def correlated(p, seed, n, generator):
    """Standard normal columns with the correlations of that covariance."""
    matrix, _ = covariance(p, seed)
    sd = np.sqrt(np.diag(matrix))
    return generator.multivariate_normal(np.zeros(p), matrix / np.outer(sd, sd), n)


def skewed(p, seed, n, generator):
    """Half of the columns are log-normal."""
    rows = correlated(p, seed, n, generator)
    rows[:, : p // 2] = np.exp(0.7 * rows[:, : p // 2])
    return np.clip(rows, *skewed_bounds(p))


def skewed_bounds(p):
    long = np.arange(p) < p // 2
    return np.where(long, 0.0, -5.0), np.where(long, 10.0, 5.0)


def heavy(p, seed, n, generator):
    """Student's t with 5 degrees of freedom: whole rows are long."""
    return np.clip(correlated(p, seed, n, generator) / np.sqrt(generator.chisquare(5, (n, 1)) / 5), -15.0, 15.0)


def simulated(kind, p, n, seed):
    """Rows, bounds, and the moments of their population."""
    generator = np.random.default_rng(seed)
    if kind == "gauss":
        matrix, mean = covariance(p, seed)
        reach = 5.0 * np.sqrt(np.diag(matrix))
        return generator.multivariate_normal(mean, matrix, n), mean - reach, mean + reach, matrix, mean
    draw, bounds = (skewed, skewed_bounds(p)) if kind == "skewed" else (heavy, (-15.0, 15.0))
    population = draw(p, seed, POPULATION, np.random.default_rng(10_000 + seed))
    return draw(p, seed, n, generator), *bounds, np.cov(population.T), population.mean(axis=0)


def resampled(loaded, n, seed):
    rows, low, high = loaded
    picked = rows[np.random.default_rng(seed).integers(0, len(rows), n)]
    return picked, low, high, np.cov(rows.T), rows.mean(axis=0)


def judge(rows, low, high, matrix, mean, epsilon, seed):
    """n_eff, share of coefficients with an interval, shares of intervals that cover, and std err over non-private."""
    made = gv.release(rows, domain=gv.Domain(bounds=(low, high)), budget=gv.Budget(epsilon, 1e-6), random_state=seed)
    generator, p = np.random.default_rng(seed), len(mean)
    given, ratios, hits = [], [], {kind: [] for kind in KINDS}
    for outcome in generator.permutation(p)[:4]:
        others = np.setdiff1d(np.arange(p), outcome)
        for on in {tuple(others), tuple(np.sort(generator.permutation(others)[:3]))}:
            table = gv.regression(made, int(outcome), [int(k) for k in on])
            x = np.array(on)
            beta = np.linalg.solve(matrix[np.ix_(x, x)], matrix[x, outcome])
            left = matrix[outcome, outcome] - beta @ matrix[x, outcome]
            const = mean[outcome] - beta @ mean[x]
            shown = np.isfinite(table.std_err)
            given += [*shown]
            hits["coefficients"] += [*((table.lower <= beta) & (beta <= table.upper))[shown]]
            own = np.sqrt(left * np.diag(np.linalg.inv(matrix[np.ix_(x, x)])) / len(rows))
            ratios += [*(table.std_err / own)[shown]]
            if not shown.all():
                continue
            hits["intercept"].append(table.terms.lower[0] <= const <= table.terms.upper[0])
            low_end, high_end = table.r_squared_interval
            if np.isfinite(low_end):
                hits["r_squared"].append(low_end <= 1.0 - left / matrix[outcome, outcome] <= high_end)
            values = mean[x] + np.sqrt(np.diag(matrix))[x] * generator.uniform(-1.5, 1.5, x.size)
            said = table.predict(values)
            hits["prediction"].append(said.lower[0] <= const + beta @ values <= said.upper[0])
    estimate, sd = gv.recover(made), np.sqrt(np.diag(matrix))
    columns, pairs = estimate.to_frame(), estimate.correlation_intervals()
    hits["mean"] += [*((columns.lower <= mean) & (mean <= columns.upper))]
    hits["sd"] += [*((columns.sd_lower <= sd) & (sd <= columns.sd_upper))[columns.sd_lower.notna()]]
    upper, r = np.triu_indices(p, 1), matrix / np.outer(sd, sd)
    between = ((pairs.lower <= r) & (r <= pairs.upper))[upper]
    hits["correlation"] += [*between[np.isfinite(pairs.lower[upper])]]
    found, (values, vectors) = gv.components(made), np.linalg.eigh(r)
    loadings = (vectors * np.sqrt(values))[:, ::-1]
    loadings = loadings * np.sign(np.sum(loadings * found.loadings, axis=0))  # either sign is right
    hits["loading"] += [*((found.lower <= loadings) & (loadings <= found.upper))[np.isfinite(found.loadings_sd)]]
    covered = [np.mean(hits[kind]) if hits[kind] else np.nan for kind in KINDS]
    return [made.n_eff, np.mean(given), *covered, np.median(ratios) if ratios else np.nan]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=60)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    table = []

    def add(name, n, p, epsilon, results):
        numbers = np.nanmean(results, axis=0)
        table.append([name, n, p, epsilon, *(f"{number:.4g}" for number in numbers)])
        shown = "   ".join(f"{kind} {number:.3f}" for kind, number in zip(KINDS, numbers[2:], strict=False))
        print(
            f"{name:<10} n = {n:<7,} p = {p:<3} ε = {epsilon:<4g} n_eff/p {numbers[0] / p:>7.1f}   given "
            f"{numbers[1]:.2f}   {shown}   std err × {numbers[-1]:.2f}",
            flush=True,
        )

    seeds = range(options.reps)
    for kind, p, n, epsilon in CELLS:
        if options.only in kind:
            add(kind, n, p, epsilon, [judge(*simulated(kind, p, n, seed), epsilon, seed) for seed in seeds])
    for name, n in SURVEYS:
        loaded = surveys.load(name) if options.only in name else None
        if loaded is not None:
            add(name, n, len(loaded[1]), 1.0, [judge(*resampled(loaded, n, seed), 1.0, seed) for seed in seeds])
    if not options.only:
        with RESULTS.open("w", newline="") as file:
            csv.writer(file).writerows([FIELDS, *table])


if __name__ == "__main__":
    main()
