"""Figure 2: linear discriminant analysis on Ionosphere with a private precision matrix."""

from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphveil as gv
from paper import drawing
from paper.files import write
from paper.mechanism import noisy_second_moment, scaled, second_moment
from paper.runs import Record, Task, collect, generator, noise_seed
from paper.settings import FIGURE2, SEED, VARIANTS

Matrix = NDArray[np.float64]
PENALTIES = np.geomspace(1e-6, 1e2, 17)
BOUNDS = (-1.0, 1.0)  # autocorrelations
Rule = tuple[Matrix, float]  # weights and offset: the second class where x'w + b > 0


def make(reps: int, jobs: int, folder: Path) -> None:
    """Misclassification on the test rows against ε."""
    records = collect("figure2", replicate, [{"split": split, "seed": SEED} for split in range(reps)], jobs)
    groups = defaultdict(list)
    for record in records:
        groups[record["variant"], record["epsilon"]].append(record["error"])
    summary = {key: np.array(errors) for key, errors in groups.items()}
    rows = [
        {
            "variant": variant,
            "epsilon": epsilon,
            "error_mean": f"{errors.mean():.4f}",
            "error_sd": f"{errors.std(ddof=1) if errors.size > 1 else np.nan:.4f}",
            "error_most": f"{errors.max():.4f}",
            "splits": errors.size,
        }
        for (variant, epsilon), errors in summary.items()
    ]
    write(folder / "figure2.csv", rows)
    drawing.misclassification(folder / "figure2", FIGURE2["epsilons"], summary)


def replicate(task: Task) -> list[Record]:
    """One random division into training, validation and test rows."""
    rows, labels = _data()
    order = generator("figure2", task["seed"], task["split"]).permutation(len(rows))
    training, validation, test = np.split(order, np.cumsum([FIGURE2["training"], FIGURE2["validation"]]))
    seed = noise_seed("figure2", task["seed"], task["split"])

    def record(variant: str, epsilon: float | str, rule: Rule) -> Record:
        return {"variant": variant, "epsilon": epsilon, "error": _error(rule, rows[test], labels[test])}

    tuned = _Tuned(rows, labels, training, validation)
    majority = (np.zeros(rows.shape[1]), 1.0 if 2 * labels[test].mean() > 1 else -1.0)
    records = [record("non_private", "none", tuned.rule(second_moment)), record("majority", "none", majority)]
    for epsilon in FIGURE2["epsilons"]:
        for variant in VARIANTS:
            if variant == "as_printed":
                rule = tuned.rule(lambda short, e=epsilon: noisy_second_moment(short, e, FIGURE2["delta"], seed))
            else:
                # Validation rows belong to people too: these variants have no penalty to tune and learn from both.
                both = np.concatenate([training, validation])
                rule = _RULES[variant](rows[both], labels[both], epsilon, seed)
            records.append(record(variant, epsilon, rule))
    return records


def _data() -> tuple[Matrix, NDArray[np.int64]]:
    data = gv.datasets.ionosphere()
    return np.delete(data.rows, 1, axis=1), (data.labels == "g").astype(int)  # a02 is constant


class _Tuned:
    """The paper's procedure: means and shares of the classes from the training rows, λ by the validation rows."""

    def __init__(self, rows: Matrix, labels: NDArray, training: NDArray, validation: NDArray) -> None:
        kept, kinds = rows[training], labels[training]
        self.shares = np.bincount(kinds, minlength=2) / len(kinds)
        self.means = np.array([kept[kinds == k].mean(axis=0) for k in (0, 1)])
        self.short, self.longest = scaled(kept - self.means[kinds])
        self.validation = rows[validation], labels[validation]

    def rule(self, moment) -> Rule:
        """The best of the penalties, with a second moment that is exact or private."""
        S = moment(self.short)
        rules = [
            discriminant(precision / self.longest**2, self.means, self.shares)
            for precision in gv.solvers.ridge_precision(S, PENALTIES)
        ]
        return min(rules, key=lambda rule: _error(rule, *self.validation))


def _corrected(rows: Matrix, labels: NDArray, epsilon: float, seed: int) -> Rule:
    """Counts, means and scatter in one release, and the paper's ridge with a penalty as large as the noise."""
    made = gv.release(
        (rows, labels.tolist()),
        domain=gv.Domain(bounds=BOUNDS),
        budget=gv.Budget(epsilon, FIGURE2["delta"]),
        random_state=seed,
        labels=gv.Labels([0, 1]),
        adaptive=False,
    )
    shares = np.clip(made.class_counts / len(rows), 0.05, 0.95)
    shares /= shares.sum()
    means = np.nan_to_num(np.clip(made.class_locations, *BOUNDS))  # none where the noisy count is not positive
    scatter = made.second_moment - np.einsum("k,ki,kj->ij", shares, means, means)
    # The ridge turns an eigenvalue φ into about 1/√(2λ) where φ² ≪ 8λ: those that noise alone could make, up to
    # 2σ√p (Wigner).
    edge = 2 * made.noise_sd[0, 1] * np.sqrt(len(scatter))
    return discriminant(gv.solvers.ridge_precision(scatter, edge**2 / 8), means, shares)


def _ours(rows: Matrix, labels: NDArray, epsilon: float, seed: int) -> Rule:
    model = gv.PrivateLDA(epsilon, FIGURE2["delta"], classes=[0, 1], bounds=BOUNDS, random_state=seed)
    model.fit(rows, labels)
    return discriminant(model.precision_, model.means_, model.priors_)


_RULES = {"corrected": _corrected, "graphveil": _ours}


def discriminant(precision: Matrix, means: Matrix, shares: Matrix) -> Rule:
    """Fisher's linear rule for two classes."""
    weights = precision @ (means[1] - means[0])
    return weights, float(np.log(shares[1] / shares[0]) - (means[0] + means[1]) @ weights / 2)


def _error(rule: Rule, rows: Matrix, labels: NDArray) -> float:
    weights, offset = rule
    return float(np.mean((rows @ weights + offset > 0) != labels))
