"""The forecast as a formula, which takes milliseconds, so that a slider can be moved.

Numbers from a release have the sampling error of n_eff records (:mod:`graphveil.recovery.effective_records`), times a
factor that grows with the number of columns. With few records, the variances of the columns are uncertain too. The
factors were fitted to rehearsals (:mod:`graphveil.planning.rehearsal`): ``benchmarks/forecast.py`` shows how well.
"""

import math

from graphveil.recovery.effective_records import effective_records, square_noise
from graphveil.recovery.network import RELIABLE
from graphveil.spec.case import Case
from graphveil.spec.forecast import SEEN, ForecastPoint

__all__ = ["foresee"]

# Of a small world, as rehearsals simulate it: columns that a column is joined to, and the mean square of an entry of
# the precision that joins two, relative to the diagonal.
_FEW_COLUMNS = 10
_NEIGHBOURS, _ENTRY = (2, 4), (0.3, 0.1)  # of fewer columns, and of more
_CROWDED_ERROR = 6.0  # what p/n_eff adds to the error, relatively: entries of the network that are missed or too much
_CROWDED_EDGE = 0.45  # what √(p/n_eff) adds to the standard deviation of a partial correlation, relatively
# How unsure the scale of a column is where counts have this noise, as a share of the records, squared; and its part in
# the standard deviation of a partial correlation.
_UNSURE, _UNSURE_EDGE = 98.0, 0.5
_NOTHING = 0.6  # error if only the scale can be learned; the error approaches it smoothly
_SMOOTH = 4.0


def foresee(case: Case) -> ForecastPoint:
    """The expected results of a release."""
    n, p = case.n, case.p
    n_eff, private = effective_records(case)
    unsure = (_UNSURE * square_noise(case, 1.0)) ** 2
    neighbours, entry = min(p - 1, _NEIGHBOURS[p >= _FEW_COLUMNS]), _ENTRY[p >= _FEW_COLUMNS]
    entries = math.sqrt((2.0 + neighbours) / (1.0 + neighbours * entry))
    error = math.hypot(entries / math.sqrt(n_eff) * (1.0 + _CROWDED_ERROR * p / n_eff), unsure)
    sd = math.hypot((1.0 + _CROWDED_EDGE * math.sqrt(p / n_eff)) / math.sqrt(n_eff), _UNSURE_EDGE * unsure)
    smallest = math.tanh(SEEN * sd)
    return ForecastPoint(
        n_samples=n,
        epsilon=case.budget.epsilon,
        n_eff=n_eff,
        noise_sd=private / math.sqrt(2.0 if p > 1 else 1.0),
        error=(error**-_SMOOTH + _NOTHING**-_SMOOTH) ** (-1.0 / _SMOOTH),
        auc=None,
        smallest_edge=smallest if p > 1 and n_eff >= RELIABLE * p and smallest < 1.0 else None,
    )
