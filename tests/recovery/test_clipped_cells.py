"""What clipping took of nested categories, given back: exactly without noise, and with the law that noise then has."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import graphveil as gv
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.associations import PrecisionNoise
from graphveil.recovery.clipped_cells import ClippedRound, restorable, restore_cells
from graphveil.recovery.estimate import estimate_release
from graphveil.recovery.noise_model import NoisyCovariance
from helpers.nested import CHAPTERS, SHARES, WARDS, hospital, hospital_domain, ward_covariance, wards, wards_domain

BUDGET = gv.Budget(1.0, 1e-6)
PLACES = [range(5), range(5, 16)]
PSYCHIATRY, OF_MIND, OF_NERVES = 4, 10, 11  # psychiatry, F and G
RADIUS = 5.5


def clipped_round(numbers, sd=0.0, seed=0):
    """The moments of all rows, shortened in coordinates where they are white; numbers by quadrature over their norms.

    Returns what the protocol would make of them, the mean, and the round.
    """
    whole = ward_covariance(numbers=numbers)
    root = np.linalg.cholesky(whole)
    forth = np.linalg.inv(root).T
    cells = [(np.eye(6)[i, 1:], np.eye(12)[j, 1:]) for i in range(6) for j in range(12)]
    rows = np.array([np.r_[a, b, np.zeros(numbers)] for a, b in cells])
    mean = SHARES.ravel() @ rows
    white = (rows - mean) @ forth
    norms, of_numbers = np.sum(white**2, axis=1), np.zeros((numbers, numbers))
    moments, middle = np.zeros_like(whole), np.zeros(len(whole))
    draws = np.random.default_rng(0).chisquare(numbers, 20_000) if numbers else np.zeros(1)
    for share, row, square in zip(SHARES.ravel(), white, norms, strict=True):
        short = np.minimum(1.0, RADIUS / np.sqrt(square + draws))
        moments += share * np.mean(short**2) * np.outer(row, row)
        middle += share * np.mean(short) * row
        if numbers:
            of_numbers += share * np.mean(short**2 * draws) / numbers * np.eye(numbers)
    moments -= np.outer(middle, middle)
    moments[16:, 16:] += of_numbers
    half = np.random.default_rng(seed).normal(0.0, sd / 2.0, whole.shape)
    noisy = moments + half + half.T
    back = root
    columns = np.sqrt(np.diag(whole) / np.diag(back @ moments @ back.T))  # each is brought to its own variance
    given = columns[:, None] * back
    found = NoisyCovariance(given @ noisy @ given.T, ((given, sd),), given @ moments @ given.T, 0.0)
    none = np.zeros_like(whole)
    answered = ClippedRound(noisy, moments, np.eye(len(whole)), back, forth, mean, RADIUS, none)
    return found, mean + back @ middle, answered


def partial(covariance, i, j):
    precision = np.linalg.inv(covariance)
    return -precision[i, j] / np.sqrt(precision[i, i] * precision[j, j])


@pytest.mark.parametrize("numbers", [0, 6])
def test_without_noise_all_of_it_comes_back(numbers):
    found, mean, answered = clipped_round(numbers)
    truth = ward_covariance(numbers=numbers)
    restored = restore_cells(found, mean, answered, PLACES)
    for pair in ((PSYCHIATRY, OF_MIND), (PSYCHIATRY, OF_NERVES)):
        edge = partial(truth, *pair)
        assert partial(restored.matrix, *pair) == pytest.approx(edge, abs=0.012)
        assert partial(restored.denoised, *pair) == pytest.approx(edge, abs=0.012)
        assert abs(partial(found.matrix, *pair) - edge) > 0.02, "clipping has moved them"
    assert np.abs(restored.matrix - truth).max() < 0.002
    assert np.abs(np.linalg.eigvalsh(np.linalg.solve(truth, restored.matrix)) - 1.0).max() < 0.05


def test_rows_that_were_not_clipped_stay_as_they_are():
    found, mean, answered = clipped_round(0)
    truth = ward_covariance()
    untouched = replace(found, matrix=truth, denoised=truth)
    back = answered.back
    moments = np.linalg.solve(back, np.linalg.solve(back, truth).T)
    mean = SHARES.ravel() @ np.array([np.r_[np.eye(6)[i, 1:], np.eye(12)[j, 1:]] for i in range(6) for j in range(12)])
    far = replace(answered, noisy=moments, denoised=moments, radius=1e3)
    assert restore_cells(untouched, mean, far, PLACES).matrix == pytest.approx(truth, abs=1e-6)


def test_other_columns_follow_by_their_regression_and_keep_their_variances():
    found, mean, answered = clipped_round(6)
    tied = np.eye(22)
    tied[16, :16] = np.linspace(-0.5, 0.5, 16)  # the first number depends on all levels
    moved = NoisyCovariance(
        tied @ found.matrix @ tied.T, ((tied @ found.privacy[0][0], 0.0),), tied @ found.denoised @ tied.T, 0.0
    )
    round_ = replace(answered, back=tied @ answered.back, forth=np.linalg.inv(tied).T @ answered.forth)
    restored = restore_cells(moved, mean, round_, PLACES)
    assert np.diag(restored.denoised)[16:] == pytest.approx(np.diag(moved.denoised)[16:])
    slopes = np.linalg.solve(restored.matrix[:16, :16], restored.matrix[:16, 16])
    assert slopes / slopes[-1] == pytest.approx(tied[16, :16] / tied[16, 15], abs=0.05)


def test_the_law_holds_with_the_noise_of_shares():
    """Errors of partial correlations in their own standard deviations; without those of shares they would be larger."""
    scores, bare = [], []
    for seed in range(40):
        found, mean, answered = clipped_round(0, sd=0.03, seed=seed)
        restored = restore_cells(found, mean, answered, PLACES)
        exact = np.linalg.inv(ward_covariance())
        error = (exact @ (restored.matrix - ward_covariance()) @ exact)[:5, 5:]
        for law, into in ((restored, scores), (replace(restored, single=0.0), bare)):
            variance = np.diag(PrecisionNoise(exact, law).block_covariance(*PLACES)).reshape(5, 11)
            into.append(error**2 / variance)
    assert np.mean(scores) == pytest.approx(1.0, abs=0.15)
    of_psychiatry, without = np.mean(scores, axis=0)[4], np.mean(bare, axis=0)[4]
    assert of_psychiatry.mean() == pytest.approx(1.0, abs=0.35)
    assert without.mean() > 1.2 * of_psychiatry.mean(), "there the shares count"


def test_nothing_is_drawn_at_random():
    found, mean, answered = clipped_round(0, sd=0.03)
    first, second = (restore_cells(found, mean, answered, PLACES) for _ in range(2))
    assert (first.matrix == second.matrix).all()
    assert (first.single == second.single).all()


def test_categories_with_too_many_cells_are_left_as_they_are():
    places = [range(5), range(5, 105), range(105, 116)]
    assert restorable(places) == [places[0], places[2]]
    assert restorable(places[:1] + places[2:]) == [places[0], places[2]]
    assert restorable([]) == []


@lru_cache
def released(numbers, seed, **options):
    table = wards(14_000, seed, numbers).drop(columns="sex")
    return gv.release(table, domain=wards_domain(numbers), budget=BUDGET, random_state=seed, **options)


def intervals(release):
    return Analysis(release, estimate_release(release)).find_intervals(0.95)


def scores(release, truth):
    """Fisher's z of the two edges of psychiatry in their own standard deviations, away from the truth."""
    apart = intervals(release).by_level
    z = np.arctanh([partial(truth, PSYCHIATRY, other) for other in (OF_MIND, OF_NERVES)])
    places = [PSYCHIATRY] * 2, [OF_MIND, OF_NERVES]
    return (apart.fisher_z[places] - z) / apart.fisher_z_sd[places]


def test_the_strongest_edge_is_not_too_large():
    """Published as 0.73 to 0.75 where it is 0.66, two to three standard deviations above."""
    away = [scores(released(8, seed), ward_covariance(numbers=8)) for seed in range(2)]
    assert abs(np.mean(away, axis=0)[0]) < 1.5
    assert np.abs(away).max() < 3.5


def test_merged_releases_hidden_counts_and_weights_are_restored_too():
    table = wards(14_000, 5).drop(columns="sex")
    kinds = {"ward": gv.Category(WARDS), "chapter": gv.Category(CHAPTERS)}
    halves = [gv.release(part, domain=gv.Domain(kinds), budget=BUDGET, random_state=k)
              for k, part in enumerate((table[:7000], table[7000:]))]  # fmt: skip
    hidden = gv.release(table, domain=gv.Domain(kinds, neighbours="add-remove"), budget=BUDGET, random_state=1)
    table["w"] = np.random.default_rng(0).uniform(0.5, 2.0, 14_000)
    weighted = gv.release(table, domain=gv.Domain(kinds, weight=gv.Weight("w", 2.0)), budget=BUDGET, random_state=1)
    for release in (gv.merge_releases(halves), hidden, weighted):
        assert abs(scores(release, ward_covariance())[0]) < 2.5


def test_a_missing_ward_as_a_level_is_restored_and_one_that_is_left_out_is_not():
    table = wards(14_000, 6).drop(columns="sex")
    table.loc[np.random.default_rng(0).random(14_000) < 0.1, "ward"] = None
    found = {}
    for missing in ("level", True):
        kinds = {"ward": gv.Category(WARDS, missing=missing), "chapter": gv.Category(CHAPTERS)}
        release = gv.release(table, domain=gv.Domain(kinds), budget=BUDGET, random_state=1)
        apart = intervals(release).by_level
        found[missing] = apart.estimate[apart.columns.index("ward[psychiatry]"), apart.columns.index("chapter[F]")]
    shares = np.vstack([0.9 * SHARES, 0.1 * SHARES.sum(axis=0)])
    truth = partial(ward_covariance(shares), 4, 6 + 5)
    assert found["level"] == pytest.approx(truth, abs=0.06)
    assert found[True] > partial(ward_covariance(), PSYCHIATRY, OF_MIND)


def test_three_categories_are_restored_with_one_map():
    """Two of them nested, and a third that goes with the first."""
    table = wards(14_000, 7).drop(columns="sex")
    rng = np.random.default_rng(0)
    with_ward = table.ward.map({ward: k % 3 for k, ward in enumerate(WARDS)}).to_numpy()
    table["shift"] = np.array(["day", "late", "night"])[
        np.where(rng.random(14_000) < 0.5, with_ward, rng.integers(3, size=14_000))
    ]
    kinds = {
        "ward": gv.Category(WARDS),
        "chapter": gv.Category(CHAPTERS),
        "shift": gv.Category(["day", "late", "night"]),
    }
    release = gv.release(table, domain=gv.Domain(kinds), budget=BUDGET, random_state=1)
    apart = intervals(release).by_level
    indicators = np.column_stack(
        [table[name] == level for name, levels in (("ward", WARDS), ("chapter", CHAPTERS)) for level in levels[1:]]
        + [table["shift"] == level for level in ("late", "night")]
    )
    raw = partial(np.cov(indicators.T.astype(float)), PSYCHIATRY, OF_MIND)
    away = np.arctanh(apart.estimate[PSYCHIATRY, OF_MIND]) - np.arctanh(raw)
    assert abs(away) < 2.5 * apart.fisher_z_sd[PSYCHIATRY, OF_MIND]


@pytest.mark.nightly
@pytest.mark.parametrize("numbers", [0, 8])
def test_intervals_cover_nested_levels(numbers):
    """40 releases: the strongest pair, that of 64 records, and all 55."""
    truth = ward_covariance(numbers=numbers)
    precision = np.linalg.inv(truth)
    edges = -precision / np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
    covered = []
    for seed in range(100, 140):
        apart = intervals(released(numbers, seed)).by_level
        covered.append(((apart.lower <= edges) & (edges <= apart.upper))[:5, 5:16])
    share = np.mean(covered, axis=0)
    assert share[4, 5] >= 0.85
    assert share[4, 6] >= 0.8
    assert 0.92 <= share.mean() <= 0.985


@pytest.mark.nightly
def test_intervals_cover_nested_levels_of_a_hospital():
    """By sex, where all 55 pairs were covered in 63% of the cases."""
    inside = []
    for seed in range(10):
        made = gv.release(hospital(14_000, seed), domain=hospital_domain(), budget=BUDGET, by="sex", random_state=seed)
        for sex in "FM":
            apart = intervals(made[sex]).by_level
            if apart.reason is None:
                i, j = apart.columns.index("ward[psychiatry]"), apart.columns.index("chapter[F]")
                inside.append(apart.lower[i, j] <= 0.651 <= apart.upper[i, j])
    assert len(inside) >= 12
    assert np.mean(inside) >= 0.8
