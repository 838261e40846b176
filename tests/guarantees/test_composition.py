"""Several rounds: every answer has its declared noise, one charge comes first, and nothing is drawn beyond it."""

import numpy as np
import pytest
from scipy import stats

import graphveil as gv
from graphveil.exceptions import GuaranteeError
from graphveil.privacy import calibration, randomness
from graphveil.recovery import recipe
from graphveil.rows import statistics
from graphveil.spec.lattice import MomentLayout
from graphveil.spec.queries import CellCounts, ColumnMeans, ColumnSquares, Excess, Moments, NormCounts

BUDGET = gv.Budget(1.0, 1e-6)
P = 4
ROWS = gv.simulate.student_rows(gv.simulate.paper_model(3, P), 30_000, degrees_of_freedom=3, random_state=0) + 1.0
ROWS[:, 0] *= 0.05  # drowns in its bounds, so that cells are counted and a window is found
DOMAIN = gv.Domain(bounds=(-60, 60), n_features=P)


def statistic_for(query, lattice):
    if isinstance(query, ColumnMeans | ColumnSquares):
        return statistics.ColumnTotals(query.low, query.high)
    if isinstance(query, CellCounts):
        return statistics.CellCounter(query, lattice.levels)
    if isinstance(query, NormCounts):
        return statistics.NormCounter(query)
    augment = gv.Constant() if isinstance(query, Moments) and query.constant else None
    return statistics.MappedMoments(query, query.lattice(P), MomentLayout(P, augment))


def standardised_noise(item):
    """(noisy - exact)/sd of every number of every round, by kind of question."""
    from graphveil.rows.clipping import Encoder

    encoder = Encoder(DOMAIN, None, shift=True)
    encoded = np.empty(ROWS.shape)
    encoder.encode(np.ascontiguousarray(ROWS), None, encoded)
    found = {}
    for a_round in item.rounds:
        statistic = statistic_for(a_round.query, encoder.lattice)
        for start in range(0, len(encoded), 8192):
            statistic.update(encoded[start : start + 8192])
        exact = statistic.answer(a_round.query)
        for name, values in a_round.values.items():
            noise = values / a_round.factor - exact[name].astype(float)
            found.setdefault((type(a_round.query), name), []).append(noise / a_round.step.sd(name))
    return {key: np.concatenate(parts) for key, parts in found.items()}


def adaptive(**options):
    return gv.release(ROWS, domain=DOMAIN, budget=gv.Budget(3.0, 1e-6), augment="mean", rounds="auto", **options)


def test_every_answer_of_every_round_has_its_noise():
    """Unseeded releases; chi-square with controls: 0.8 and 1.25 of the declared noise are rejected."""
    gathered = {}
    for _ in range(40):
        for key, values in standardised_noise(adaptive()).items():
            gathered.setdefault(key, []).append(values)
    assert {kind for kind, _ in gathered} == {ColumnMeans, ColumnSquares, CellCounts, NormCounts, Moments, Excess}
    for key, parts in gathered.items():
        z = np.concatenate(parts)
        law = stats.chi2(z.size)
        total = (z**2).sum()
        assert 1e-7 < law.cdf(total) < 1 - 1e-7, key
        assert law.cdf(total) < 1 - 1e-7
        if z.size > 400:
            assert law.sf(total / 0.8**2) < 1e-3, key
            assert law.cdf(total / 1.25**2) < 1e-3, key


def test_one_charge_before_the_first_draw(monkeypatch):
    diary = []
    draw = randomness._opendp_draw
    monkeypatch.setattr(randomness, "_opendp_draw", lambda m, n: (diary.append("draw"), draw(m, n))[1])

    class Ledger:
        def charge(self, dataset, event):
            diary.append(event)

    item = adaptive(ledger=Ledger(), dataset="d")
    assert diary[0] == item.event
    assert set(diary[1:]) == {"draw"}


@pytest.mark.parametrize("what", ["mu", "eta"])
def test_a_recipe_that_would_overspend_is_stopped_before_it_draws(what, monkeypatch):
    if what == "mu":
        monkeypatch.setattr(recipe, "_CLEAR", ((0.5, 0.5, 0.5), 0.04))
    else:
        real = calibration.lattice_step
        monkeypatch.setattr(calibration, "lattice_step", lambda d, g, mu, eta: real(d, g, mu, 40 * eta))
        monkeypatch.setattr(calibration, "_COARSEST", 20)
    with pytest.raises(GuaranteeError, match="would cost more than was charged"):
        adaptive()


def test_windows_have_sums_of_their_own():
    """Questions about other windows are not answered from earlier sums."""
    item = adaptive(random_state=0)
    windows = {a.query.low.tobytes() for a in item.rounds if isinstance(a.query, ColumnMeans | ColumnSquares)}
    assert len(windows) > 1
    for values in standardised_noise(item).values():
        assert np.abs(values).max() < 8


def test_the_reserve_covers_rounding_to_a_coarse_lattice():
    """Large integers are rounded down to the lattice: what that can move is part of the sensitivity."""
    item = adaptive(random_state=0)
    coarse = [a.step for a in item.rounds if a.step.lattice > 0]
    assert coarse
    for step in coarse:
        count = sum(group.count for group in step.groups)
        moved = 2.0**step.lattice * np.sqrt(2 * count)
        assert moved <= step.sensitivity * (1 - 1 / calibration.with_reserve(1.0))
