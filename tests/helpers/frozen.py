"""Seeded releases in every mode of the protocol, and every number that follows from them.

``tests/reference_data/estimates.npz`` holds them to the last bit, ``estimates.txt`` to six digits, for readers of a
diff. A change that is meant to move them writes both anew:

    python tests/helpers/frozen.py
"""

import hashlib
import itertools
import json
import warnings
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import threadpoolctl

import graphveil as gv
from graphveil.estimators.lda import PrivateLDA
from graphveil.inference.differences import NUMBERS
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.estimate import estimate_release

__all__ = ["COMPARED", "compute_numbers", "fingerprints", "kernels", "read", "write"]

EXACT = Path(__file__).parents[1] / "reference_data" / "estimates.npz"
TABLE = EXACT.with_suffix(".txt")

DELTA = 1e-6
# ε at which 3,000 records have three rounds, three noisy ones, one, and one that can tell hardly more than a scale.
CLEAR, NOISY, ONE, HARDLY = 4.0, 0.7, 0.25, 0.08
WEIGHTED = 12.0  # the first again, for records that stand for less than the largest weight
WARD, REGION = gv.Category(["A", "B", "C", "D"]), gv.Category(["north", "south"])


# ------------------------------------------------------------------ tables
def gaussian(n=3000, p=5):
    chain = np.eye(p) - np.diag(np.full(p - 1, 0.5), 1)
    return np.random.default_rng(1).normal(size=(n, p)) @ np.linalg.inv(chain) + np.linspace(-1.0, 1.0, p)


def heavy(n=3000, p=5):
    rng = np.random.default_rng(2)
    return rng.standard_t(4.0, size=(n, p)) @ (np.eye(p) + 0.5 * np.eye(p, k=1))


def rare(n=3000, p=5):
    """Two of the columns are rare events, which go with each other and with the third."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, p))
    rows[:, 0] = rng.random(n) < 0.02
    rows[:, 1] = (rng.random(n) < 0.03) | ((rows[:, 0] == 1.0) & (rng.random(n) < 0.5))
    rows[:, 2] += 2.0 * rows[:, 0]
    return rows


def lognormal(n=3000, p=5):
    return np.exp(0.8 * gaussian(n, p))


def collinear(n=3000, p=5):
    rows = gaussian(n, p)
    rows[:, 1] = rows[:, 0] + 0.05 * np.random.default_rng(4).normal(size=n)
    return rows


TABLES = {
    "gaussian": (gaussian, (-8.0, 8.0)),
    "heavy tails": (heavy, (-30.0, 30.0)),
    "rare events": (rare, ([0.0, 0.0, -6.0, -6.0, -6.0], [1.0, 1.0, 6.0, 6.0, 6.0])),
    "lognormal": (lognormal, (0.0, 60.0)),
    "collinear": (collinear, (-8.0, 8.0)),
}


def frame(n=3000):
    """Numbers and categories: wards lie in regions, values are missing together, people have several rows."""
    rng, rows = np.random.default_rng(5), gaussian(n, 4)
    ward, person = rng.integers(4, size=n), rng.integers(0, n // 3, size=n)
    table = pd.DataFrame(rows, columns=["a", "b", "c", "d"]) + rng.normal(size=(n // 3, 4))[person]
    table["ward"], table["region"] = np.array(WARD.levels)[ward], np.array(REGION.levels)[ward // 2]
    table["sex"] = np.array(["F", "M"])[(rows[:, 0] + rng.normal(size=n) > 0).astype(int)]
    table["grade"] = np.clip(np.rint(rows[:, 1] + 2.0), 1, 4)
    table["e"] = rows[:, 2] * (rng.random(n) < 0.05)
    table["f"], table["g"] = np.where(rng.random((2, n)) < 0.15, np.nan, rows[:, :2].T)
    table.loc[table["f"].isna() & (rng.random(n) < 0.7), "g"] = np.nan
    table["person"], table["w"] = person, np.minimum(rng.lognormal(size=n), 9.0)
    return table


FRAME = frame()
NUMBER, GAP = gv.Number(-9, 9), gv.Number(-9, 9, missing=True)
PLAIN = {"a": NUMBER, "b": NUMBER, "c": NUMBER, "d": NUMBER}
GAPS = {"a": NUMBER, "b": NUMBER, "f": GAP, "g": GAP, "sex": gv.Category(["F", "M"], missing=True)}
RANKS = {"a": gv.Number(-50, 50, scale="rank"), "b": NUMBER, "grade": gv.Ordinal([1, 2, 3, 4], scale="rank")}
NESTED = {"a": NUMBER, "b": NUMBER, "ward": WARD, "region": REGION, "e": gv.Number(-6, 6)}
WEIGHT = gv.Weight("w", largest=9.0)


# ------------------------------------------------------------------ releases
def _calls():
    """Source, domain, ε and further parameters of each release, by name."""
    for table, (rows, bounds) in TABLES.items():
        for mode, epsilon in [("clear", CLEAR), ("noisy", NOISY), ("one round", ONE), ("hardly a scale", HARDLY)]:
            yield f"bounds, {table}, {mode}", rows(), gv.Domain(bounds=bounds), epsilon, {}
    for table, mode, epsilon in [
        ("gaussian", "clear", CLEAR),
        ("heavy tails", "noisy", NOISY),
        ("rare events", "one round", ONE),
    ]:
        yield f"norm, {table}, {mode}", TABLES[table][0](), gv.Domain(data_norm=9.0), epsilon, {}
    for table in ("gaussian", "lognormal"):
        yield f"private norm, {table}", TABLES[table][0](), gv.Domain(data_norm="private"), CLEAR, {}
    yield "private norm, one moment", heavy(), gv.Domain(data_norm="private"), CLEAR, {"adaptive": False}
    centred = {"assume_centered": True}
    yield "centred, bounds", heavy(), gv.Domain(bounds=(-30, 30)), CLEAR, centred
    yield "centred, norm, one round", gaussian(), gv.Domain(data_norm=12.0), ONE, centred
    yield "one moment", gaussian(), gv.Domain(bounds=(-8, 8)), CLEAR, {"adaptive": False}
    yield "one moment, another site", collinear(), gv.Domain(bounds=(-8, 8)), NOISY, {"adaptive": False}
    yield "one moment, centred", heavy(), gv.Domain(data_norm=9.0), NOISY, {"adaptive": False, **centred}
    paper = {"mechanism": "paper", "adaptive": False, **centred}
    yield "paper", gaussian(), gv.Domain(data_norm=9.0), 1.0, paper
    yield "several rows a person", gaussian(), gv.Domain(bounds=(-8, 8), rows_per_person=3), CLEAR, {}
    yield "wide bounds", gaussian(), gv.Domain(bounds=([-8, -8, -8e4, -8, -8], [8, 8, 8e4, 8, 8])), CLEAR, {}
    yield "two columns", gaussian(p=2), gv.Domain(bounds=(-8, 8)), CLEAR, {}
    yield "one column", gaussian(p=1), gv.Domain(bounds=(-8, 8)), CLEAR, {}
    yield "many columns", gaussian(p=14), gv.Domain(bounds=(-12, 12)), CLEAR, {}
    # So few for so many columns that the one round begins with a coarse histogram of norms.
    yield "few records", gaussian(n=600, p=16), gv.Domain(bounds=(-8, 8)), 1.0, {}

    for mode, epsilon in [("clear", CLEAR), ("noisy", NOISY), ("one round", ONE)]:
        yield f"nested categories, {mode}", FRAME, gv.Domain(NESTED), epsilon, {}
    yield "gaps, clear", FRAME, gv.Domain(GAPS), CLEAR, {}
    yield "gaps, one round", FRAME, gv.Domain(GAPS), ONE, {}
    yield (
        "gaps, centred",
        FRAME,
        gv.Domain({name: kind for name, kind in GAPS.items() if name != "sex"}),
        CLEAR,
        centred,
    )
    yield "ranks, clear", FRAME, gv.Domain(RANKS), CLEAR, {}
    yield "ranks, one round", FRAME, gv.Domain(RANKS), ONE, {}
    yield "ranks, gaps", FRAME, gv.Domain({**RANKS, "f": GAP}), CLEAR, {}
    yield "weights, clear", FRAME, gv.Domain(PLAIN, weight=WEIGHT), WEIGHTED, {}
    yield "weights, one round", FRAME, gv.Domain(PLAIN, weight=WEIGHT), ONE, {}
    yield "weights, one moment", FRAME, gv.Domain(PLAIN, weight=WEIGHT), WEIGHTED, {"adaptive": False}
    yield (
        "weights, ranks, gaps, people",
        FRAME,
        gv.Domain({**RANKS, "f": GAP}, weight=WEIGHT, person="person"),
        WEIGHTED,
        {},
    )
    for variation in ("total", "between", "within"):
        yield f"people, {variation}", FRAME, gv.Domain(PLAIN, person="person", variation=variation), CLEAR, {}
    yield "people, one moment", FRAME, gv.Domain(PLAIN, person="person"), CLEAR, {"adaptive": False}

    secret = {"neighbours": "add-remove"}
    yield "secret count, clear", heavy(), gv.Domain(bounds=(-30, 30), **secret), CLEAR, {}
    yield "secret count, one round", gaussian(), gv.Domain(bounds=(-8, 8), **secret), ONE, {}
    yield "secret count, norm", gaussian(), gv.Domain(data_norm=9.0, **secret), NOISY, {}
    yield "secret count, one moment", gaussian(), gv.Domain(bounds=(-8, 8), **secret), CLEAR, {"adaptive": False}
    yield "secret count, ranks", FRAME, gv.Domain(RANKS, **secret), CLEAR, {}
    yield "secret count, people", FRAME, gv.Domain(PLAIN, person="person", **secret), CLEAR, {}
    yield (
        "secret count, people, between",
        FRAME,
        gv.Domain(PLAIN, person="person", variation="between", **secret),
        CLEAR,
        {},
    )

    yield "groups", FRAME, gv.Domain(PLAIN | {"ward": WARD, "sex": gv.Category(["F", "M"])}), CLEAR, {"by": "sex"}
    yield "groups, people", FRAME, gv.Domain(PLAIN, person="person"), CLEAR, {"by": {"region": list(REGION.levels)}}
    yield "groups, secret counts", FRAME, gv.Domain(PLAIN, **secret), CLEAR, {"by": {"sex": ["F", "M"]}}
    yield "groups, weights", FRAME, gv.Domain(PLAIN, weight=WEIGHT), WEIGHTED, {"by": {"sex": ["F", "M"]}}
    labels = {"labels": gv.Labels(["A", "B", "C", "D"], column="ward"), "adaptive": False}
    yield "labels", FRAME, gv.Domain(columns=list(PLAIN), bounds=(-9, 9)), CLEAR, labels


@cache
def make_releases():
    """All of them by name; those of groups by name and level."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
        for seed, (name, source, domain, epsilon, options) in enumerate(_calls()):
            made = gv.release(source, domain=domain, budget=gv.Budget(epsilon, DELTA), random_state=seed, **options)
            found |= {f"{name}: {level}": part for level, part in made.items()} if "by" in options else {name: made}
        sites = [found["bounds, gaussian, clear"], found["bounds, collinear, noisy"]]
        found["merged"] = gv.merge_releases(sites)
        found["merged, by inverse variance"] = gv.merge_releases(sites, weights="inverse variance")
        found["merged, one moment"] = gv.merge_releases([found["one moment"], found["one moment, another site"]])
    return found


# ------------------------------------------------------------------ numbers
# What is computed from two releases, or by another way than the usual one.
COMPARED = {
    "groups": ("groups: F", "groups: M"),
    "groups of people": ("groups, people: north", "groups, people: south"),
    "secret counts": ("groups, secret counts: F", "groups, secret counts: M"),
    "tables": ("bounds, gaussian, clear", "bounds, collinear, clear"),
    "gaps": ("gaps, clear", "gaps, one round"),
    "nested categories": ("nested categories, clear", "nested categories, noisy"),
}


def compute_numbers():
    """Every number, by its case and name; flags are 0 and 1."""
    compared = {name for pair in COMPARED.values() for name in pair}  # whose edges take the longest, and are compared
    found = {name: _numbers_of(made, edges=name not in compared) for name, made in make_releases().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
        for name, (a, b) in COMPARED.items():
            outcome = make_releases()[a].column_names[-1] if name != "gaps" else None
            found[f"comparison: {name}"] = _compare(make_releases()[a], make_releases()[b], outcome)
        for mode, epsilon in [("columns", CLEAR), ("one round", HARDLY)]:
            model = PrivateLDA(epsilon=epsilon, delta=DELTA, classes=WARD.levels, bounds=(-9, 9), random_state=9)
            model.fit(FRAME[list(PLAIN)].to_numpy(), FRAME["ward"].to_numpy())
            found[f"classes: {mode}"] = {"coef": model.coef_, "intercept": model.intercept_}
    return {
        (case, name): np.atleast_1d(np.asarray(values, dtype=np.float64))
        for case, numbers in found.items()
        for name, values in numbers.items()
    }


def _numbers_of(release, *, edges):
    found = {
        "release.n_samples": release.n_samples,
        "release.n_eff": release.n_eff,
        "release.n_kish": release.n_kish,
        "release.second_moment": _upper(release.second_moment),
        "release.noise_sd": _upper(release.noise_sd),
    }
    if release.location is not None:
        found |= {"release.location": release.location, "release.location_noise": _upper(release.location_noise)}
    if release.class_counts is not None:
        return found | {"class_counts": release.class_counts, "class_locations": release.class_locations}
    estimate = estimate_release(release)
    found |= {f"estimate.{name}": getattr(estimate, name) for name in _VECTORS}
    found |= {f"estimate.{name}": _upper(getattr(estimate, name)) for name in _MATRICES}
    for name, noisy in [("noisy", estimate.noisy), ("evened", estimate.evened)]:
        found |= {
            f"estimate.{name}.matrix": _upper(noisy.matrix),
            f"estimate.{name}.entry_sd": _upper(noisy.entry_sd),
            f"estimate.{name}.sampling": noisy.sampling,
        }
    if release.event.mechanism == "paper":
        return found
    if edges and not estimate.flat:
        found |= _edges(Analysis(release, estimate).find_intervals(0.95))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
        if len(release.column_names) > 1:
            fitted = gv.regression(release, release.column_names[-1])
            for name in ("value", "std_err", "sampling", "privacy"):
                found[f"regression.{name}"] = getattr(fitted.terms, name)
            found["regression.r_squared"] = [fitted.r_squared, *fitted.r_squared_interval]
        parts = gv.components(release)
        found |= {
            "components.variance": [parts.variance.value, parts.variance.std_err],
            "components.loadings": parts.loadings,
            "components.loadings_sd": parts.loadings_sd,
            "components.above_noise": parts.above_noise,
        }
    return found


_VECTORS = [
    "location",
    "location_sd",
    "location_shift",
    "relative_sd",
    "tail_sd",
    "fourth_moment",
    "variance_sd",
    "n_eff",
    "unseen_rows",
    "undetermined",
    "hidden_tails",
    "flat",
    "unresolved",
    "saturated",
]
_MATRICES = ("covariance", "precision", "correlation_sd")


def _edges(intervals):
    found = {}
    for part, own in [("edges", intervals), ("edges.by_level", intervals.by_level)]:
        if own is not None:
            found |= {
                f"{part}.{name}": _upper(getattr(own, name)) for name in ("estimate", "lower", "upper", "p_value")
            }
            found |= {f"{part}.selected": _upper(own.select())}
    return found


def _compare(a, b, outcome):
    found = gv.compare(a, b, outcome=outcome, overlap=True)
    numbers = {f"{kind.what}.{name}": getattr(kind, name) for kind in found.all_numbers for name in NUMBERS}
    for kind in found.kinds:
        numbers |= {f"{kind.what}.differ": found.differ(kind)}
    if found.networks is not None:
        numbers |= {f"network {k}": _upper(network) for k, network in enumerate(found.networks)}
    return numbers


def _upper(matrix):
    """The upper triangle."""
    return np.asarray(matrix)[np.triu_indices(len(matrix))]


# ------------------------------------------------------------------ stored
def fingerprints():
    """SHA-256 of the answers of each release: of those before rows are rotated, and of all.

    The former are the same to the last bit on every processor.
    """
    found = {}
    for name, made in make_releases().items():
        answers = [answer for part in getattr(made, "parts", (made,)) for answer in part.answers]
        plain = [answer for answer in answers if getattr(answer.query, "row_map", None) is None]
        found[name] = [_hash(plain), _hash(answers)]
    return found


def _hash(answers):
    found = hashlib.sha256()
    for answer in answers:
        found.update(json.dumps(answer.facts(), sort_keys=True).encode())
        for name, values in sorted(answer.arrays().items()):
            found.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def kernels():
    """What floating-point results depend on in their last digits."""
    versions = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    blas = [
        f"{found['version']} {found['architecture']}"
        for found in threadpoolctl.threadpool_info()
        if found["user_api"] == "blas"
    ]
    vectors = np.lib.introspect.opt_func_info("^(exp|log|tanh)$", "float64")
    simd = {kind["current"] for function in vectors.values() for kind in function.values()}
    return "; ".join([*versions, *sorted(blas), *sorted(simd)])


def write(exact=EXACT, table=TABLE):
    """Freeze what the code computes now."""
    numbers, hashes = compute_numbers(), fingerprints()
    np.savez_compressed(
        exact,
        kernels=np.array(kernels()),
        shapes=np.array(json.dumps([[*key, values.shape] for key, values in numbers.items()])),
        values=np.concatenate([values.ravel() for values in numbers.values()]),
        hashes=np.array(json.dumps(hashes)),
    )
    lines = ["# Every frozen number, to six digits; made by tests/helpers/frozen.py."]
    for case, found in itertools.groupby(numbers, key=lambda key: key[0]):
        lines += ["", f"## {case}"]
        lines += [f"answers: {text[:16]}" for text in hashes.get(case, ())[1:]]
        lines += [f"{key[1]}: {' '.join(f'{value:.6g}' for value in numbers[key].ravel())}" for key in found]
    table.write_text("\n".join(lines) + "\n")


def read(exact=EXACT):
    """The frozen kernels, numbers and hashes."""
    with np.load(exact) as stored:
        shapes = {(case, name): tuple(shape) for case, name, shape in json.loads(str(stored["shapes"]))}
        ends = list(itertools.accumulate(int(np.prod(shape)) for shape in shapes.values()))
        parts = np.split(stored["values"], ends[:-1])
        numbers = {key: part.reshape(shape) for (key, shape), part in zip(shapes.items(), parts, strict=True)}
        return str(stored["kernels"]), numbers, json.loads(str(stored["hashes"]))


if __name__ == "__main__":
    write()
