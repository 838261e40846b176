"""Do intervals cover between categories that nearly determine each other? PYTHONPATH=tests python benchmarks/nested.py

Nominal 95%, ε = 1, δ = 1e-6, the tables of tests/helpers/nested.py with 14,000 people, 40 releases each.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

import graphveil as gv
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.associations import association_strengths
from graphveil.recovery.estimate import estimate_release
from graphveil.spec.kinds import Category
from helpers.nested import hospital, hospital_domain, ward_covariance, wards, wards_domain

PEOPLE, POPULATION, FIRST = 14_000, 360_000, 1000
NAMED = [("ward[psychiatry]", "chapter[F]"), ("ward[psychiatry]", "chapter[G]")]


def population(domain, sex=None):
    """Covariance of the columns of a hospital's release: each person counts once, pairs as far as they are observed."""
    rows = hospital(POPULATION, 7)
    rows = rows if sex is None else rows[rows.sex == sex]
    weight = (1.0 / rows.groupby("patient").patient.transform("size")).to_numpy()
    columns = {}
    for name, kind, place in zip(domain.codebook.names, domain.codebook.kinds, domain.codebook.places, strict=True):
        if isinstance(kind, Category):
            levels = zip(domain.codebook.columns[place.start : place.stop], kind.levels[1:], strict=True)
            columns |= {column: (rows[name] == level).astype(float) for column, level in levels}
        else:
            columns[name] = np.log(rows[name]) if kind.scale == "log" else rows[name]
    values = pd.DataFrame(columns)
    there, filled = values.notna().to_numpy(float), values.fillna(0.0).to_numpy()
    together = there.T @ (there * weight[:, None])
    away = (filled - (weight @ filled) / np.diag(together)) * there
    return away.T @ (away * weight[:, None]) / together


def judge(release, truth):
    """Shares of the pairs that are covered: two by name, all between both categories, their strength, and the rest."""
    found = Analysis(release, estimate_release(release)).find_intervals(0.95)
    if found.reason is not None:
        return None
    apart, precision = found.by_level, np.linalg.inv(truth)
    scale = np.sqrt(np.diag(precision))
    exact = -precision / np.outer(scale, scale)
    inside = (apart.lower <= exact) & (exact <= apart.upper)
    ward, chapter = (release.variables[name] for name in ("ward", "chapter"))
    number, names = {name: k for k, name in enumerate(apart.columns)}, found.columns
    pair = names.index("ward"), names.index("chapter")
    strength = association_strengths(precision, tuple(release.variables.values()))[pair]
    rest = np.triu(np.ones_like(inside), 1).astype(bool)
    for a in (ward, chapter):
        for b in (ward, chapter):
            rest[np.ix_(a, b)] = False
    named = [inside[number[a], number[b]] for a, b in NAMED]
    others = inside[rest].mean() if rest.any() else np.nan
    covered = found.lower[pair] <= strength <= found.upper[pair]
    published = apart.estimate[number[NAMED[0][0]], number[NAMED[0][1]]]
    return [*named, inside[np.ix_(ward, chapter)].mean(), covered, others, published]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=40)
    seeds = range(FIRST, FIRST + parser.parse_args().reps)
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    budget = gv.Budget(1.0, 1e-6)

    def show(name, results):
        given = np.array([result for result in results if result is not None], dtype=float)
        numbers = "   ".join(f"{number:.3f}" for number in given.mean(axis=0))
        print(f"{name:<12} {len(given)} of {len(results)}: F, G, all pairs, strength, others, published: {numbers}")

    for numbers in (0, 8):
        truth = ward_covariance(numbers=numbers)
        releases = (
            gv.release(
                wards(PEOPLE, seed, numbers).drop(columns="sex"),
                domain=wards_domain(numbers),
                budget=budget,
                random_state=seed,
            )
            for seed in seeds
        )
        show(f"{numbers} numbers", [judge(release, truth) for release in releases])
    domain = hospital_domain()
    truth = population(domain)
    tables = (gv.release(hospital(PEOPLE, k), domain=domain, budget=budget, random_state=k) for k in seeds)
    show("hospital", [judge(release, truth) for release in tables])
    made = [gv.release(hospital(PEOPLE, k), domain=domain, budget=budget, by="sex", random_state=k) for k in seeds[::2]]
    truths = {sex: population(made[0][sex].domain, sex) for sex in "FM"}
    show("by sex", [judge(groups[sex], truths[sex]) for groups in made for sex in "FM"])


if __name__ == "__main__":
    main()
