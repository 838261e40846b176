"""A small table of numbers and categories: ward goes with diet and with bmi, bmi with age, region with nothing."""

import numpy as np
import pandas as pd

import graphveil as gv

__all__ = ["KINDS", "mixed_release", "mixed_rows"]

KINDS = {
    "ward": gv.Category(["A", "B", "C", "D"], label="Ward of the patient"),
    "region": gv.Category(["north", "south", "west"]),
    "diet": gv.Category(["none", "vegan", "other"]),
    "sex": gv.Category(["F", "M"]),
    "bmi": gv.Number(10, 60),
    "age": gv.Number(0, 110),
}


def mixed_rows(n, seed=1):
    """As a data frame."""
    rng = np.random.default_rng(seed)
    ward, region = rng.integers(4, size=n), rng.integers(3, size=n)
    diet = np.where(rng.random(n) < 0.2, ward % 3, rng.integers(3, size=n))
    bmi = rng.normal(26, 4, n) + 1.5 * (ward == 3)
    codes = {"ward": ward, "region": region, "diet": diet, "sex": rng.integers(2, size=n)}
    text = {name: np.array(KINDS[name].levels, dtype=object)[code] for name, code in codes.items()}
    return pd.DataFrame({**text, "bmi": bmi, "age": rng.normal(50, 12, n) + 0.5 * (bmi - 26)})


def mixed_release(n=8000, epsilon=4.0, only=tuple(KINDS), seed=1):
    """Seeded; of ``only`` some of the variables."""
    domain = gv.Domain({name: KINDS[name] for name in only})
    rows = mixed_rows(n, seed)[list(only)]
    return gv.release(rows, domain=domain, budget=gv.Budget(epsilon, 1e-6), random_state=seed)
