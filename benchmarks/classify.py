"""How well does private LDA classify? Accuracy against ε beside scikit-learn's LDA and the paper's variant.

    python benchmarks/classify.py [--splits 50] [--rule]

Ionosphere (351 x 33) and scikit-learn's breast cancer data (569 x 30), random splits 80/20, δ = 1e-4, against replacing
one record. Ours is private end to end. The paper's variant is not private: class means are exact, rows are divided by
the largest norm, the penalty is the best of five on the training rows, and only the precision matrix has noise.
Results: benchmarks/results/classify.csv, where "columns" is ours with labels as columns whatever the number of rows.

--rule compares both ways to release labels on Gaussian classes, and says which of them the rule chooses: one round,
with rows shortened or not, and labels as columns. Results: benchmarks/results/classify_rule.csv
"""

import argparse
import csv
import warnings
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import graphveil as gv

RESULTS = Path(__file__).parent / "results"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
DELTA = 1e-4
CLOSE = 0.03
ONE_ROUND = {"one_round_is_enough": lambda inputs: True}
COLUMNS = {"one_round_is_enough": lambda inputs: False}
WAYS = {"one_round": ONE_ROUND, "one_round_whole_norm": ONE_ROUND | {"ONE_ROUND_NORM": 1.0}, "columns": COLUMNS}


def ionosphere():
    data = gv.datasets.ionosphere()
    rows = np.delete(data.rows, 1, axis=1)  # constant
    return rows, (np.asarray(data.labels) == "g").astype(int), (-1.0, 1.0)


def breast_cancer():
    """Upper bounds are the 99 percentiles rounded up to one digit, a stand-in for an expert's."""
    data = load_breast_cancer()
    sizes = np.percentile(data.data, 99, axis=0)
    digits = 10.0 ** np.floor(np.log10(sizes))
    return data.data, data.target, (np.zeros(30), np.ceil(sizes / digits) * digits)


def papers_variant(rows, labels, epsilon, seed):
    """Only the precision matrix is private; everything else leaks."""
    means = np.array([rows[labels == k].mean(axis=0) for k in (0, 1)])
    centred = rows - means[labels]
    longest = np.linalg.norm(centred, axis=1).max()
    priors = np.bincount(labels) / len(labels)
    noisy = gv.release(
        centred / longest,
        domain=gv.Domain(data_norm=1.0),
        budget=gv.Budget(epsilon, DELTA),
        mechanism="paper",
        allow_unproven=True,
        random_state=seed,
        assume_centered=True,
        adaptive=False,
    ).second_moment
    best = None
    for alpha in 10.0 ** np.arange(-4.0, 1.0):
        precision = gv.solvers.ridge_precision(noisy, alpha) / longest**2
        weights = precision @ (means[1] - means[0])
        offset = -0.5 * (means[0] + means[1]) @ weights + np.log(priors[1] / priors[0])
        accuracy = np.mean((rows @ weights + offset > 0) == labels)
        if best is None or accuracy > best[0]:
            best = (accuracy, weights, offset)
    return best[1:]


def accuracy(train, test, bounds, epsilon, seed, **settings):
    """Of ours; `settings` replace what `graphveil.estimators.lda` decides by."""
    model = gv.PrivateLDA(epsilon, DELTA, classes=[0, 1], bounds=bounds, random_state=seed)
    with patch.multiple("graphveil.estimators.lda", **settings) if settings else nullcontext():
        return model.fit(*train).score(*test)


def says_one_round(train, bounds, epsilon):
    """What the rule chooses, which depends on public numbers alone."""
    model = gv.PrivateLDA(epsilon, DELTA, classes=[0, 1], bounds=bounds, random_state=0)
    return isinstance(model.fit(*train).release_.augment, gv.Labels)


def gaussian_classes(p, n, width, shift, seed):
    """Two classes four standard deviations of a white column apart at most, inside bounds about the middle or not."""
    generator = np.random.default_rng(seed)
    mix = generator.normal(size=(p, p))
    root = np.linalg.cholesky(0.5 * mix @ mix.T / p + 0.5 * np.eye(p))
    means = generator.normal(size=(2, p))
    means *= 2.0 / np.linalg.norm(means, axis=1, keepdims=True)
    labels = generator.integers(2, size=n + 2000)
    rows = means[labels] + generator.normal(size=(n + 2000, p)) @ root.T
    bounds = (shift - width, shift + width)
    rows = np.clip(rows, *bounds)
    return (rows[:n], labels[:n]), (rows[n:], labels[n:]), bounds


def compare_ways(repeats=6):
    with (RESULTS / "classify_rule.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["p", "n", "bounds", "shift", "repeats", "rule_says_one_round", *WAYS])
        for p, n, width, off in product((5, 15, 30), (300, 1000, 3000, 10_000), (3.0, 5.0, 10.0), (0.0, 1.0)):
            shift = off * (0.6 if width > 3.0 else 0.3) * width
            drawn = [(*gaussian_classes(p, n, width, shift, seed), 1.0, seed) for seed in range(repeats)]
            means = [np.mean([accuracy(*one, **settings) for one in drawn]) for settings in WAYS.values()]
            chosen = says_one_round(drawn[0][0], drawn[0][2], 1.0)
            writer.writerow([p, n, width, f"{shift:g}", repeats, chosen, *(f"{mean:.4f}" for mean in means)])
            file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--rule", action="store_true")
    options = parser.parse_args()
    splits = options.splits
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    if options.rule:
        compare_ways()
        return
    table = []
    for name, load in (("ionosphere", ionosphere), ("breast cancer", breast_cancer)):
        rows, labels, bounds = load()
        clamped = np.clip(rows, *bounds)
        for epsilon in EPSILONS:
            scores = []
            for split in range(splits):
                order = np.random.default_rng(split).permutation(len(rows))
                train, test = np.split(order, [int(0.8 * len(rows))])
                ours = ((rows[train], labels[train]), (clamped[test], labels[test]), bounds, epsilon, split)
                weights, offset = papers_variant(clamped[train], labels[train], epsilon, split)
                scores.append(
                    [
                        LinearDiscriminantAnalysis()
                        .fit(clamped[train], labels[train])
                        .score(clamped[test], labels[test]),
                        accuracy(*ours),
                        accuracy(*ours, **COLUMNS),
                        np.mean((clamped[test] @ weights + offset > 0) == labels[test]),
                    ]
                )
            public, private, columns, papers = np.mean(scores, axis=0)
            worst = np.min(scores, axis=0)[1]
            mark = "   within 3 points" if private >= public - CLOSE else ""
            print(
                f"{name:<14} ε = {epsilon:<5g} public {public:.3f}   ours {private:.3f} (worst {worst:.3f})   "
                f"as columns {columns:.3f}   the paper's {papers:.3f}{mark}",
                flush=True,
            )
            table.append(
                [name, epsilon, splits, *(f"{value:.4f}" for value in (public, private, worst, columns, papers))]
            )
    with (RESULTS / "classify.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["data", "epsilon", "splits", "public", "graphveil", "graphveil_worst", "columns", "papers_not_private"]
        )
        writer.writerows(table)


if __name__ == "__main__":
    main()
