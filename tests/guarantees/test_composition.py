"""Several rounds: every answer has its declared noise, one charge comes first, and nothing is drawn beyond it."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import graphveil as gv
from graphveil import strategies
from graphveil.exceptions import GuaranteeError
from graphveil.privacy import calibration, noise
from graphveil.privacy.mechanisms import step_for
from graphveil.recovery import adaptive_protocol
from graphveil.rows import accumulators
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import MomentLayout, RowGrid
from graphveil.spec.queries import CellCounts, ClippedTail, ColumnMeans, ColumnSquares, Moments, NormCounts, RowMap
from graphveil.spec.row_space import RowSpace

BUDGET = gv.Budget(1.0, 1e-6)
P = 4
ROWS = gv.simulate.student_rows(gv.simulate.paper_model(3, P), 30_000, degrees_of_freedom=3, random_state=0) + 1.0
ROWS[:, 0] *= 0.05  # drowns in its bounds, so that cells are counted and a window is found
DOMAIN = gv.Domain(bounds=(-60, 60), n_features=P)


def statistic_for(query, lattice):
    if isinstance(query, ColumnMeans | ColumnSquares):
        return accumulators.ColumnTotals(query.low, query.high)
    if isinstance(query, CellCounts):
        return accumulators.CellCounter(query, lattice.levels)
    if isinstance(query, NormCounts):
        return accumulators.NormCounter(query)
    augment = Constant() if isinstance(query, Moments) and query.constant else None
    return accumulators.MappedMoments(query, query.lattice(P), MomentLayout(P, augment))


def noise_by_round(item):
    """(noisy - exact)/sd of every number, round by round: pairs (kind of question, noise by group)."""
    from graphveil.rows.encoding import Encoder

    encoder = Encoder(DOMAIN, None, shift=True)
    encoded = np.empty(ROWS.shape)
    encoder.encode(np.ascontiguousarray(ROWS), None, encoded)
    found = []
    for answer in item.answers:
        statistic = statistic_for(answer.query, encoder.lattice)
        for start in range(0, len(encoded), 8192):
            statistic.update(encoded[start : start + 8192])
        exact = statistic.answer(answer.query)
        noise = {
            name: (values / answer.factor - exact[name].astype(float)) / answer.step.sd(name)
            for name, values in answer.values.items()
        }
        found.append((type(answer.query), noise))
    return found


def by_kind(rounds):
    """The same noise by kind of question and group."""
    found = {}
    for kind, drawn in rounds:
        for name, values in drawn.items():
            found.setdefault((kind, name), []).append(values)
    return {key: np.concatenate(parts) for key, parts in found.items()}


def adaptive(domain=DOMAIN, epsilon=3.0, **options):
    return gv.release(ROWS, domain=domain, budget=gv.Budget(epsilon, 1e-6), **options)


@pytest.fixture(scope="module")
def unseeded_noise():
    return [noise_by_round(adaptive()) for _ in range(40)]


def test_every_answer_of_every_round_has_its_noise(unseeded_noise):
    """Unseeded releases; chi-square with controls: 0.8 and 1.25 of the declared noise are rejected."""
    gathered = {}
    for rounds in unseeded_noise:
        for key, values in by_kind(rounds).items():
            gathered.setdefault(key, []).append(values)
    assert {kind for kind, _ in gathered} == {ColumnMeans, ColumnSquares, CellCounts, NormCounts, Moments, ClippedTail}
    for key, parts in gathered.items():
        z = np.concatenate(parts)
        law = stats.chi2(z.size)
        total = (z**2).sum()
        assert 1e-7 < law.cdf(total) < 1 - 1e-7, key
        if z.size > 400:
            assert law.sf(total / 0.8**2) < 1e-3, key
            assert law.cdf(total / 1.25**2) < 1e-3, key


def test_no_round_repeats_the_noise_of_another(unseeded_noise):
    """Products of the noise of any two rounds of a release, place by place, sum to nothing; so they do by name."""
    products = {}
    for rounds in unseeded_noise:
        for (_, one), (_, other) in combinations(rounds, 2):
            pairs = {name: (one[name], other[name]) for name in one.keys() & other.keys()}
            pairs["place"] = np.concatenate([*one.values()]), np.concatenate([*other.values()])
            for name, (x, y) in pairs.items():
                size = min(x.size, y.size)
                products.setdefault(name, []).append(x[:size] * y[:size])
    assert {"place", "diagonal", "off_diagonal", "trace", "counts", "squares"} <= products.keys()
    for name, parts in products.items():
        z = np.concatenate(parts)
        assert z.size > 36, name
        assert abs(z.sum()) < 6.0 * np.sqrt(z.size), name


def test_every_round_hides_all_rows_of_a_person():
    """The noise that a round drew is at least that of its own question, lattice, share and rows per person."""
    domain = gv.Domain(bounds=(-60, 60), n_features=P, rows_per_person=2)
    rounds = [answer for seed in range(5) for answer in adaptive(domain, epsilon=15.0, random_state=seed).answers]
    space = RowSpace.of(domain, Constant(), None)
    kinds = {type(answer.query) for answer in rounds}
    assert kinds == {ColumnMeans, ColumnSquares, CellCounts, NormCounts, Moments, ClippedTail}
    for answer in rounds:
        query, step = answer.query, answer.step
        needed = step_for(query, space, 2, step.mu, step.eta)
        assert step.sensitivity >= needed.sensitivity
        for group in needed.groups:
            assert step.sd(group.name) >= group.sd, (type(query), group.name)


def test_seeded_rounds_are_charged_as_infinite():
    item = adaptive(random_state=0)
    assert item.event.charged_mu == np.inf
    assert "not private" in item.guarantee


def test_one_charge_before_the_first_draw(monkeypatch):
    diary = []
    draw = noise.draw_discrete_gaussian
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda m, n: (diary.append("draw"), draw(m, n))[1])

    class Ledger:
        def charge(self, dataset, event):
            diary.append(event)

    item = adaptive(ledger=Ledger(), dataset="d")
    assert diary[0] == item.event
    assert set(diary[1:]) == {"draw"}


@pytest.mark.parametrize("what", ["mu", "eta"])
def test_a_protocol_that_would_overspend_is_stopped_before_it_draws(what, monkeypatch):
    if what == "mu":
        monkeypatch.setattr(adaptive_protocol, "_SAFE", 1.5)
    else:
        real = calibration.calibrate_step
        monkeypatch.setattr(calibration, "calibrate_step", lambda d, g, mu, eta: real(d, g, mu, 40 * eta))
        monkeypatch.setattr(calibration, "_COARSEST", 20)
    with pytest.raises(GuaranteeError, match="would cost more than was charged"):
        adaptive()


def test_questions_of_one_pass_are_counted_together_before_any_is_answered(monkeypatch):
    span = np.full(P, float(RowGrid.of(DOMAIN, None).levels))
    query = ColumnMeans(-span, span, np.ones(P), np.arange(float(P)))

    def greedy(setting):
        yield [(query, 0.6), (query, 0.6)]

    drawn = []
    monkeypatch.setattr(strategies, "adaptive_rounds", greedy)
    monkeypatch.setattr(noise, "draw_discrete_gaussian", lambda scale, count: drawn.append(count))
    with pytest.raises(GuaranteeError, match="would cost more than was charged"):
        adaptive()
    assert not drawn


def test_windows_that_share_one_end_have_sums_of_their_own(monkeypatch):
    """Noise is calibrated to the window that was asked about, so the sum must be of that window."""
    span = np.full(P, float(RowGrid.of(DOMAIN, None).levels))
    near = np.floor(span / 100)

    def curious(setting):
        for low, high in ((-span, span), (-span, near), (-near, span), (-near, near)):
            yield [(ColumnMeans(low, high, np.ones(P), np.arange(float(P))), 0.1)]
        yield [(Moments(1.0, 1.0, RowMap.of(np.eye(P) / span, np.zeros(P), -span, span)), 0.1)]
        yield []

    monkeypatch.setattr(strategies, "adaptive_rounds", curious)
    rounds = noise_by_round(adaptive(random_state=0))
    assert len(rounds) == 5
    for values in by_kind(rounds).values():
        assert np.abs(values).max() < 8


def test_the_reserve_covers_rounding_to_a_coarse_lattice():
    """Large integers are rounded down to the lattice: what that can move is part of the sensitivity."""
    item = adaptive(random_state=0)
    coarse = [a.step for a in item.answers if a.step.lattice > 0]
    assert coarse
    for step in coarse:
        count = sum(group.count for group in step.groups)
        moved = 2.0**step.lattice * np.sqrt(2 * count)
        assert moved <= step.sensitivity * (1 - 1 / calibration.inflate_sensitivity(1.0))


@pytest.mark.parametrize("mu", [1.0, 1e-3, 1e-5, 1e-6])
@pytest.mark.parametrize("p", [1, 40])
def test_the_lattice_never_outgrows_the_reserve(mu, p):
    """The less a step may spend, the more noise it has, and the coarser a lattice the noise alone would allow."""
    space = RowSpace.of(gv.Domain(bounds=(-1, 1), n_features=p), None, None)
    step = step_for(Moments(1.0), space, 1, mu, 2.0**-50)
    count = sum(group.count for group in step.groups)
    assert step.lattice > 0 or mu == 1.0
    moved = 2.0**step.lattice * np.sqrt(2 * count) if step.lattice > 0 else 0.0
    assert moved <= step.sensitivity * (1 - 1 / calibration.inflate_sensitivity(1.0))
