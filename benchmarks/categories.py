"""Edges between categories and numbers, and how many are false: python benchmarks/categories.py [--reps 120]

Four numbers and four categories of 3, 3, 4 and 5 levels in random forests of five edges, each of a random strength from
0.01 to 0.1. A category is the parent of categories and numbers, a number only of numbers, so that all other blocks of
the precision matrix are exactly zero. 20,000 rows, δ = 1e-6. Edges are chosen at a false discovery rate of 10%: of
variables, by their joint tests; of indicator columns, where two variables count as joined if any of their columns are;
and of variables by the smallest p-value of their columns, times the number of these (Bonferroni).
Counts go to benchmarks/results/categories.csv as they come, and a run continues where the last one ended.
"""

import argparse
import csv
import itertools
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.associations import association_strengths

RESULTS = Path(__file__).parent / "results" / "categories.csv"
COUNTS = ["found", "false", "edges", "none", "none below 5%", "covered"]
FIELDS = ["epsilon", "seed", "pairs", "network", *COUNTS]
EPSILONS, DELTA, N = (1.0, 16.0), 1e-6, 20_000  # with the second, noise is next to nothing
LEVELS, NUMBERS, EDGES, STRENGTHS = (3, 3, 4, 5), 4, 5, (0.01, 0.1)
NETWORKS = ("joint tests", "indicators", "smallest of indicators")
KINDS = {0: "numbers", 1: "number and category", 2: "categories"}


class Forest:
    """Variables, categories first, each with at most one parent: a table of which all moments are known."""

    def __init__(self, rng):
        self.size = len(LEVELS) + NUMBERS
        self.parent, self.share, self.effect = {}, {}, {}
        children = rng.permutation(np.arange(1, self.size))[:EDGES]
        for child in sorted(children):
            among = len(LEVELS) if child < len(LEVELS) else child  # categories have categories as parents
            self.parent[child] = int(rng.integers(min(child, among)))
        for k in range(self.size):
            strength = rng.uniform(*STRENGTHS)
            self.share[k] = self._shares(rng, k, strength) if k < len(LEVELS) else None
            if k >= len(LEVELS) and k in self.parent:
                self.effect[k] = self._effects(rng, self.parent[k], strength)

    def _shares(self, rng, k, strength):
        """Of the levels; a row for every level of the parent, if there is one."""
        own = rng.dirichlet(np.full(LEVELS[k], 4.0)) * 0.7 + 0.3 / LEVELS[k]
        if k not in self.parent:
            return own
        above = self.marginal(self.parent[k])
        turn = rng.normal(size=(above.size, own.size))
        turn -= (above @ turn)[None]  # the shares of all stay as they are
        turn -= turn.sum(axis=1, keepdims=True) * own
        square = above @ (turn**2 / own).sum(axis=1) / (min(turn.shape) - 1)
        return own + turn * strength / np.sqrt(square)

    def _effects(self, rng, parent, strength):
        """Means of the levels of a category with this share of the variance; or a slope."""
        if parent >= len(LEVELS):
            return strength
        above = self.marginal(parent)
        turn = rng.normal(size=above.size)
        turn -= above @ turn
        return turn * strength / np.sqrt(above @ turn**2)

    def marginal(self, k):
        return self.share[k] if k not in self.parent else self.marginal(self.parent[k]) @ self.share[k]

    def rows(self, rng, n):
        table = np.zeros((n, self.size))
        for k in range(self.size):
            above = table[:, self.parent[k]] if k in self.parent else np.zeros(n)
            if k < len(LEVELS):
                steps = np.cumsum(np.atleast_2d(self.share[k]), axis=1)[above.astype(int)]
                table[:, k] = np.minimum((rng.random((n, 1)) > steps).sum(axis=1), LEVELS[k] - 1)
            else:
                table[:, k] = self.mean(k, above) + rng.normal(size=n)
        return table

    def mean(self, k, above):
        if k not in self.parent:
            return np.zeros(len(above))
        return self.effect[k] * above if np.ndim(self.effect[k]) == 0 else self.effect[k][above.astype(int)]

    def precision(self):
        """Of indicators and numbers, exactly: the categories have few cells, and numbers are linear given a cell."""
        cells = np.array(list(itertools.product(*map(range, LEVELS))))
        weight = np.ones(len(cells))
        for k in range(len(LEVELS)):
            shares = np.atleast_2d(self.share[k])
            weight *= shares[cells[:, self.parent[k]] if k in self.parent else 0, cells[:, k]]
        columns = [(cells[:, k] == level) * 1.0 for k in range(len(LEVELS)) for level in range(1, LEVELS[k])]
        means, spread = {}, np.eye(NUMBERS)
        for k in range(len(LEVELS), self.size):
            parent = self.parent.get(k)
            above = (
                np.zeros(len(cells)) if parent is None else cells[:, parent] if parent < len(LEVELS) else means[parent]
            )
            means[k] = self.mean(k, above)
            if parent is not None and parent >= len(LEVELS):
                spread[k - len(LEVELS)] += self.effect[k] * spread[parent - len(LEVELS)]
        table = np.column_stack([*columns, *means.values()])
        table -= weight @ table
        covariance = (table * weight[:, None]).T @ table
        covariance[-NUMBERS:, -NUMBERS:] += spread @ spread.T
        return np.linalg.inv(covariance)

    @property
    def joined(self):
        found = np.zeros((self.size, self.size), dtype=bool)
        for child, parent in self.parent.items():
            found[child, parent] = found[parent, child] = True
        return found


def domain():
    kinds = {f"c{k}": gv.Category(list(range(count))) for k, count in enumerate(LEVELS)}
    return gv.Domain(kinds | {f"x{k}": (-6, 6) for k in range(NUMBERS)})


def counts(epsilon, seed):
    """A row of counts for every kind of pair and both networks."""
    rng = np.random.default_rng(seed)
    forest = Forest(rng)
    made = gv.release(forest.rows(rng, N), domain=domain(), budget=gv.Budget(epsilon, DELTA), random_state=seed)
    edges = Analysis(made, gv.recover(made)).find_intervals(0.95)
    assert edges.reason is None, edges.reason
    places, truth, joined = tuple(made.variables.values()), forest.precision(), forest.joined
    strength = association_strengths(truth, places)
    assert ((np.abs(strength) > 1e-9) == (joined | np.eye(len(joined), dtype=bool))).all()
    by_level, split = edges.by_level.select(), [place.start for place in places]
    any_level = np.maximum.reduceat(np.maximum.reduceat(by_level, split, axis=0), split, axis=1)
    smallest = np.minimum.reduceat(np.minimum.reduceat(edges.by_level.p_value, split, axis=0), split, axis=1)
    bonferroni = replace(edges, p_value=np.minimum(smallest * edges.df, 1.0)).select()
    networks = dict(zip(NETWORKS, (edges.select(), any_level, bonferroni), strict=True))
    kind = (np.arange(forest.size) < len(LEVELS)).astype(int)
    kind = kind[:, None] + kind
    covered = (edges.lower <= strength + 1e-9) & (strength <= edges.upper + 1e-9)
    for number, name in KINDS.items():
        pairs = np.triu(kind == number, 1)
        for network, chosen in networks.items():
            none = pairs & ~joined
            found = [
                chosen & pairs,
                chosen & none,
                joined & pairs,
                none,
                none & (edges.p_value < 0.05),
                covered & pairs,
            ]
            yield [epsilon, seed, name, network, *(int(part.sum()) for part in found)]


def summary(rows, epsilon, network):
    """False discovery rate and power, with standard errors; and shares of single tests and intervals, by kind."""
    data = {}
    for row in rows:
        if float(row[0]) == epsilon and row[3] == network:
            data.setdefault(row[1], {})[row[2]] = np.array(row[4:], dtype=int)
    tables = np.array([[parts[name] for name in KINDS.values()] for parts in data.values()])
    found, false, edges, none, below, covered = tables.sum(axis=1).T
    shares = false / np.maximum(found, 1)
    power = (found - false).sum() / edges.sum()
    print(
        f"ε = {epsilon:g}, {network}, {len(tables)} tables: false discoveries {shares.mean():.3f} ± "
        f"{shares.std() / np.sqrt(len(tables)):.3f}, power {power:.3f}, tests without an edge below 5% "
        f"{below.sum() / none.sum():.3f}, covered {covered.sum() / (none + edges).sum():.3f}"
    )
    for k, name in enumerate(KINDS.values()):
        found, false, edges, none, below, covered = tables[:, k].sum(axis=0)
        print(
            f"    {name}: power {(found - false) / max(edges, 1):.3f}, false {false} of {found}, below 5% "
            f"{below / none:.3f}, covered {covered / (none + edges):.3f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=120)
    reps = parser.parse_args().reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    rows = list(csv.reader(RESULTS.open()))[1:] if RESULTS.exists() else []
    done = {(float(row[0]), int(row[1])) for row in rows}
    with RESULTS.open("a", newline="") as file:
        table = csv.writer(file)
        if not rows:
            table.writerow(FIELDS)
        for seed, epsilon in itertools.product(range(reps), EPSILONS):
            if (epsilon, seed) not in done:
                more = list(counts(epsilon, seed))
                rows += more
                table.writerows(more)
                file.flush()
    for epsilon, network in itertools.product(EPSILONS, NETWORKS):
        summary(rows, epsilon, network)


if __name__ == "__main__":
    main()
