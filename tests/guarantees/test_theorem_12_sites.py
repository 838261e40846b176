"""Theorem 12: releases of several sites are as private as the sites that one person is at, and say so."""

import math
from fractions import Fraction

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, ReleaseFileError
from graphveil.spec.gdp import delta_from_mu
from helpers.exact_sums import asked

P = 4
MODEL = gv.simulate.paper_model(3, p=P)
COVARIANCE = np.linalg.inv(MODEL)
ROWS = gv.simulate.gaussian_rows(MODEL, 40_000, random_state=1)
DOMAIN = gv.Domain(columns=list("abcd"), bounds=(-5, 6))
SITES = [slice(0, 6000), slice(6000, 16_000), slice(16_000, 40_000)]


def site(rows, epsilon=1.0, delta=1e-6, **options):
    options = {"domain": DOMAIN, "adaptive": False} | options
    return gv.release(rows, budget=gv.Budget(epsilon, delta), **options)


def sites(adaptive=False, seed=None, rows=ROWS, **options):
    seeds = [None if seed is None else seed + i for i in range(3)]
    return [
        site(rows[part], adaptive=adaptive, random_state=s, **options) for part, s in zip(SITES, seeds, strict=True)
    ]


# ------------------------------------------------------------------ the guarantee
def test_disjoint_people_have_the_guarantee_of_the_least_private_site():
    parts = [site(ROWS[part], epsilon) for part, epsilon in zip(SITES, (0.5, 2.0, 1.0), strict=True)]
    event = gv.merge_releases(parts).event
    assert event.mu == parts[1].event.mu
    assert event.eta == max(part.event.eta for part in parts)
    assert event.n_samples == 40_000
    assert event.sites == tuple(part.event for part in parts)


def test_a_person_at_several_sites_pays_for_those_that_cost_most():
    parts = [site(ROWS[part], epsilon) for part, epsilon in zip(SITES, (0.5, 2.0, 1.0), strict=True)]
    for k in (2, 3):
        event = gv.merge_releases(parts, sites_per_person=k).event
        costs = sorted((part.event.mu for part in parts), reverse=True)[:k]
        exact = math.sqrt(sum(mu**2 for mu in costs))
        assert event.mu == pytest.approx(exact, rel=1e-15)
        assert Fraction(event.mu) ** 2 >= sum(Fraction(mu) ** 2 for mu in costs)
        assert event.eta >= sum(sorted(part.event.eta for part in parts)[-k:])
        assert (
            event.delta(2.0) >= delta_from_mu(exact * (1 - 1e-14), 2.0, 0.0) > gv.merge_releases(parts).event.delta(2.0)
        )
        assert not event.keeps_budget


def test_the_sentence_says_whose():
    parts = sites()
    assert gv.merge_releases(parts).guarantee == (
        "(1, 1e-06)-differentially private against replacing one record at one of 3 sites; "
        "the numbers of records at the sites, 6000, 10000, 24000, are public."
    )
    two = gv.merge_releases(parts, sites_per_person=2).guarantee
    assert "at up to 2 of 3 sites" in two
    assert float(two[1 : two.index(",")]) > 1.0
    domains = [gv.Domain(bounds=(-5, 6), rows_per_person=m) for m in (1, 3, 2)]
    families = [site(ROWS[part], domain=domain) for part, domain in zip(SITES, domains, strict=True)]
    assert "(up to 1, 3 or 2 records, depending on the site) at one of" in gv.merge_releases(families).guarantee


def test_one_seeded_part_marks_the_whole():
    parts = [site(ROWS[:5000]), site(ROWS[5000:9000], random_state=0)]
    merged = gv.merge_releases(parts)
    assert merged.seeded
    assert merged.event.charged_mu == math.inf
    assert "Seeded: not private" in merged.guarantee


# ------------------------------------------------------------------ the numbers
@pytest.mark.parametrize("augment", [None, "mean"])
@pytest.mark.parametrize("adaptive", [False, True])
def test_rows_weigh_to_the_second_moment_of_pooled_rows(adaptive, augment):
    """At an ε that leaves no noise to speak of: the pooled moments, between-site differences included."""
    shifts = (
        np.zeros((40_000, P)) if augment is None else np.repeat([[0.0], [1.0], [-0.5]], [6000, 10_000, 24_000], axis=0)
    )
    rows = ROWS + shifts
    merged = gv.merge_releases(sites(adaptive, rows=rows, epsilon=25.0, delta=1e-5, **asked(augment)))
    pooled = np.cov(rows.T, bias=True) if augment else rows.T @ rows / len(rows)
    np.testing.assert_allclose(merged.second_moment, pooled, atol=0.02)
    np.testing.assert_allclose(gv.recover(merged).covariance, pooled, atol=0.03)
    if augment:
        np.testing.assert_allclose(merged.location, rows.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(merged.weights, [0.15, 0.25, 0.6])


@pytest.mark.parametrize("weights", ["rows", "inverse variance"])
def test_noise_has_the_law_that_is_declared(weights):
    made = [gv.merge_releases(sites(seed=10 * i), weights=weights) for i in range(60)]
    found = np.std([m.second_moment for m in made], axis=0)
    declared = np.mean([m.noise_sd for m in made], axis=0)
    ratio = float(np.mean(found / declared))
    assert 0.9 < ratio < 1.1  # a factor of 0.8 or 1.25 would be noticed
    # The noise of what the sites' means add is taken out again: no bias.
    exact = np.cov(ROWS.T, bias=True)
    off = np.mean([m.second_moment for m in made], axis=0) - exact
    assert np.abs(off).max() < 4 * declared.max() / math.sqrt(60)


def test_equal_sites_cost_the_root_of_their_number():
    quarters = np.split(ROWS, 4)
    merged = gv.merge_releases([site(part) for part in quarters])
    pooled = site(ROWS)
    np.testing.assert_allclose(merged.noise_sd, 2.0 * pooled.noise_sd, rtol=0.02)


def test_inverse_variance_is_less_noisy_than_rows_where_budgets_differ():
    parts = [site(ROWS[part], epsilon) for part, epsilon in zip(SITES, (4.0, 1.0, 0.05), strict=True)]
    by_rows, by_noise = (gv.merge_releases(parts, weights=w) for w in ("rows", "inverse variance"))
    assert by_noise.noise_sd.max() < 0.5 * by_rows.noise_sd.max()
    assert by_noise.n_eff > by_rows.n_eff
    assert by_noise.weights.sum() == pytest.approx(1.0)


def test_estimators_fit_a_merged_release():
    merged = gv.merge_releases(sites(adaptive=True, seed=5))
    for estimator in (gv.PrivatePrecision, gv.PrivateRidgePrecision, gv.PrivateGraphicalLasso):
        model = estimator(1.0, 1e-6, bounds=(-5, 6)).fit_release(merged)
        np.testing.assert_allclose(model.precision_, MODEL, atol=0.25)
        assert model.privacy_.sites_per_person == 1
    intervals = model.edge_intervals()
    truth = -MODEL / np.sqrt(np.outer(np.diag(MODEL), np.diag(MODEL)))
    inside = (intervals.lower <= truth) & (truth <= intervals.upper)
    assert inside[np.triu_indices(P, 1)].mean() >= 0.5


def test_four_sites_beat_one_and_near_the_pool():
    """Median error over seeds; in theory half of one site's and twice the pool's, which is √4 in the noise."""
    model = gv.simulate.paper_model(3, p=12)
    errors = []
    for seed in range(5):
        rows = gv.simulate.gaussian_rows(model, 40_000, random_state=seed)
        how = {"domain": gv.Domain(bounds=(-6, 6)), "adaptive": True}
        parts = [site(part, random_state=10 * seed + i, **how) for i, part in enumerate(np.split(rows, 4))]
        tries = [gv.merge_releases(parts), parts[0], site(rows, random_state=seed, **how)]
        errors.append([gv.metrics.relative_loss(gv.recover(made).precision, model) for made in tries])
    merged, alone, pooled = np.median(errors, axis=0)
    assert merged < 0.8 * alone
    assert merged < 3.0 * pooled


# ------------------------------------------------------------------ the file, and what is refused
def test_a_merged_release_is_a_file_too(tmp_path):
    merged = gv.merge_releases(sites(), weights="inverse variance", sites_per_person=2)
    merged.save(tmp_path / "all.release")
    again = gv.Release.load(tmp_path / "all.release")
    assert isinstance(again, gv.MergedRelease)
    assert again == merged
    assert again.guarantee == merged.guarantee
    np.testing.assert_array_equal(again.second_moment, merged.second_moment)
    content = bytearray((tmp_path / "all.release").read_bytes())
    content[200] ^= 1
    (tmp_path / "all.release").write_bytes(content)
    with pytest.raises(ReleaseFileError, match="checksum"):
        gv.Release.load(tmp_path / "all.release")


def other(**changes):
    options = {"domain": DOMAIN, "adaptive": False} | changes
    return site(ROWS[:2000], **options)


REFUSED = {
    "one": (lambda: [other()], "at least two releases"),
    "none": (list, "at least two releases"),
    "rows": (lambda: [ROWS, ROWS], "a list of gv.Release"),
    "a release": (other, "a list of gv.Release"),
    "columns": (
        lambda: [other(), other(domain=gv.Domain(columns=list("abdc"), bounds=(-5, 6)))],
        "columns of release 1",
    ),
    "bounds": (lambda: [other(), other(domain=gv.Domain(columns=list("abcd"), bounds=(-5, 5)))], "bounds of release 1"),
    "mean": (lambda: [other(), other(assume_centered=True)], "differ in augment"),
    "labels": (
        lambda: [site((ROWS[:2000], ["x"] * 2000), labels=gv.Labels(["x"])), site(ROWS[2000:], adaptive=False)],
        "differ in augment",
    ),
    "the paper's": (lambda: [other(assume_centered=True, mechanism="paper")] * 2, "paper's noise"),
    "merged": (lambda: [other(), gv.merge_releases(sites())], "already merged"),
    "twice": (lambda: [other()] * 2, "is given twice"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_together_is_refused(kind):
    make, message = REFUSED[kind]
    releases = make()
    with pytest.raises(InvalidParameter, match=message):
        gv.merge_releases(releases)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "n"}, "weights"),
        ({"sites_per_person": 4}, "at most 3"),
        ({"sites_per_person": True}, "sites_per_person"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InvalidParameter, match=message):
        gv.merge_releases(sites(), **options)


def test_norms_that_sites_have_found_for_themselves_may_differ():
    domain = gv.Domain(data_norm="private")
    parts = sites(adaptive=True, seed=0, domain=domain, epsilon=4.0)
    merged = gv.merge_releases(parts)
    assert merged.domain.data_norm == max(part.domain.data_norm for part in parts)
    assert merged.norm_is_private
    np.testing.assert_allclose(gv.recover(merged).covariance, COVARIANCE, atol=0.3)
