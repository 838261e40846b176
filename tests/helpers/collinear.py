"""A table in which a total is the sum of two scores, and an indicator repeats a level of a category."""

import numpy as np
import pandas as pd

import graphveil as gv

__all__ = ["LOST", "collinear_release"]

LOST = {("math", "reading"), ("math", "total"), ("reading", "total"), ("ward", "in_b")}  # pairs of collinear variables


def collinear_release():
    """Seeded; lunch goes with math and with ward."""
    rng = np.random.default_rng(0)
    ward = rng.integers(3, size=20_000)
    math, reading, lunch = rng.normal(size=(3, 20_000))
    lunch += 0.5 * math + 0.5 * (ward == 2)
    table = pd.DataFrame({"math": math, "reading": reading, "total": math + reading, "lunch": lunch})
    table["ward"], table["in_b"] = np.array(["a", "b", "c"])[ward], (ward == 1).astype(float)
    kinds = dict.fromkeys(table, (-8, 8)) | {"ward": gv.Category(["a", "b", "c"]), "in_b": (0, 1)}
    return gv.release(table, domain=gv.Domain(kinds), budget=gv.Budget(2.0, 1e-6), random_state=0)
