"""Estimates of weighted records are those that a statistician would make; their intervals know that weights differ."""

import warnings

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter, PrivacyWarning
from graphveil.recovery.diagnostics import diagnostics
from graphveil.report.privacy_card import privacy_card

N, LARGEST = 20_000, 4.0
MUCH = gv.Budget(20.0, 1e-6)  # at which noise is small beside what is compared


def survey(seed=0):
    """Rows whose mean and correlation change with their weight."""
    rng = np.random.default_rng(seed)
    weights = np.minimum(np.exp(0.7 * rng.standard_normal(N)), LARGEST)
    a, b, c = rng.standard_normal((3, N))
    return pd.DataFrame({"a": a + np.log(weights), "b": b + 0.5 * a * weights, "c": c, "w": weights})


DOMAIN = gv.Domain({"a": (-6, 6), "b": (-12, 12), "c": (-5, 5)}, weight=gv.Weight("w", largest=LARGEST))


@pytest.fixture(scope="module")
def made():
    return gv.release(survey(), domain=DOMAIN, budget=MUCH, random_state=0)


def test_moments_are_weighted(made):
    frame, found = survey(), gv.recover(made)
    rows, weights = frame[["a", "b", "c"]].to_numpy(), frame["w"].to_numpy()
    mean, covariance = np.average(rows, axis=0, weights=weights), np.cov(rows.T, aweights=weights, ddof=0)
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.location / scale, mean / scale, atol=0.01)
    np.testing.assert_allclose(
        found.covariance / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=0.03
    )
    without = np.cov(rows.T)
    assert np.abs(without - covariance)[1, 1] > 10 * np.abs(found.covariance - covariance)[1, 1]


def test_one_round_releases_weighted_moments_too():
    frame = survey()
    made = gv.release(frame, domain=DOMAIN, budget=MUCH, adaptive=False, random_state=0)
    rows, weights = frame[["a", "b", "c"]].to_numpy(), frame["w"].to_numpy()
    covariance = np.cov(rows.T, aweights=weights, ddof=0)
    assert np.abs(made.second_moment - covariance).max() < 5 * made.noise_sd.max() < 0.5
    np.testing.assert_allclose(made.location, np.average(rows, axis=0, weights=weights), atol=0.05)


def test_the_total_and_the_spread_of_weights_are_released(made):
    weights = survey()["w"]
    assert made.total_weight == pytest.approx(weights.sum(), rel=1e-3)
    assert made.n_kish == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=5e-3)
    assert made.n_samples == N
    assert made.n_eff < made.n_kish < 0.8 * N


def test_sampling_noise_is_that_of_kishs_number(made):
    found = gv.recover(made)
    sampling = np.diag(found.covariance) / made.n_kish
    assert (found.location_sd**2 > sampling).all()
    assert (found.location_sd**2 < 1.1 * sampling).all()
    assert found.noisy.sampling >= 0.9 / made.n_kish


def test_people_with_equal_rows_count_as_one_row_does():
    """Rows that are doubled, with the weight and the person: the same estimate, and as many people."""
    frame = survey().assign(id=np.arange(N))
    often = frame.loc[frame.index.repeat(1 + frame["id"] % 3)]
    domain = gv.Domain({"a": (-6, 6), "b": (-12, 12), "c": (-5, 5)}, person="id", weight=DOMAIN.weight)
    one, several = (gv.release(table, domain=domain, budget=MUCH, random_state=0) for table in (frame, often))
    assert several.n_samples == one.n_samples == N
    assert several.total_weight == pytest.approx(one.total_weight, rel=1e-5)
    assert several.n_kish == pytest.approx(one.n_kish, rel=1e-5)
    np.testing.assert_allclose(gv.recover(several).covariance, gv.recover(one).covariance, rtol=1e-2, atol=1e-3)


def test_missing_values_are_those_of_the_weighted_population():
    frame = survey()
    frame.loc[np.random.default_rng(1).random(N) < 0.3, "c"] = np.nan
    columns = {"a": (-6, 6), "b": (-12, 12), "c": gv.Number(-5, 5, missing=True)}
    made = gv.release(frame, domain=gv.Domain(columns, weight=DOMAIN.weight), budget=MUCH, random_state=0)
    there = frame["c"].notna()
    missing = frame["w"][~there].sum() / frame["w"].sum()
    assert made.missing_shares["c"] == pytest.approx(missing, abs=0.005)
    variance = np.cov(frame["c"][there], aweights=frame["w"][there], ddof=0)
    assert gv.recover(made).covariance[2, 2] == pytest.approx(variance, rel=0.03)


def test_weights_that_are_all_the_largest_are_those_of_everybody():
    frame = survey().assign(w=LARGEST)
    made = gv.release(frame, domain=DOMAIN, budget=gv.Budget(1.0, 1e-6), random_state=0)
    assert made.total_weight == pytest.approx(N * LARGEST, rel=0.01)
    assert made.n_kish == pytest.approx(N, rel=0.02)
    without = gv.Domain({"a": (-6, 6), "b": (-12, 12), "c": (-5, 5)})
    plain = gv.release(frame, domain=without, budget=gv.Budget(1.0, 1e-6), random_state=0)
    assert made.n_eff == pytest.approx(plain.n_eff, rel=0.1)


def test_no_weight_at_all_is_released_like_any_other_and_said():
    frame = survey().assign(w=np.nan)
    made = gv.release(frame, domain=DOMAIN, budget=gv.Budget(1.0, 1e-6), random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", PrivacyWarning)
        gv.recover(made)
    assert any("The total weight is within its noise" in str(each.message) for each in said)


def test_a_reader_is_told():
    made = gv.release(survey(), domain=DOMAIN, budget=gv.Budget(1.0, 1e-6))
    said = "Records are weighted, with 4 as the largest weight; the total weight was released with noise."
    assert made.guarantee.endswith(said)
    assert said in repr(made)
    card = privacy_card(made)
    assert card.headline == made.guarantee
    facts = dict(card.facts)
    assert "the largest weight of a record, 4, as declared" in facts["Public facts"]
    assert "the largest weight" in facts["What the publisher is responsible for"]
    assert "the total weight of the records" in facts["What was released"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        notes = diagnostics(made, gv.recover(made))
    assert any("equally weighted records" in note for note in notes)


def test_groups_have_weights_of_their_own():
    frame = survey().assign(arm=np.where(np.arange(N) % 2, "A", "B")).astype({"arm": "string"})
    made = gv.release(frame, domain=DOMAIN, budget=MUCH, by={"arm": ["A", "B"]}, random_state=0)
    for level, part in made.items():
        assert part.total_weight == pytest.approx(frame["w"][frame["arm"] == level].sum(), rel=1e-3)


def test_files_keep_weights_and_a_file_without_its_total_is_refused(made):
    assert gv.Release.from_bytes(made.to_bytes()) == made
    forged = gv.Release.__new__(gv.Release)
    for name, value in vars(made).items():
        object.__setattr__(forged, name, value)
    object.__setattr__(forged, "answers", made.answers[1:])
    with pytest.raises(InvalidParameter, match="must be those of its domain: the total weight"):
        forged.__post_init__()
    with pytest.raises(InvalidParameter, match="weighted records, which cannot be merged yet"):
        gv.merge_releases([made, made])
