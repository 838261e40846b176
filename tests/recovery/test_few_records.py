"""Few records: one round, at a radius from a coarse histogram, about means that are not taken for more than noise."""

import warnings

import numpy as np
import pytest

import graphveil as gv
from graphveil.recovery.clipping_radius import bulk_norm, coarse_edges
from graphveil.spec.quantization import RowGrid
from graphveil.spec.queries import Moments, NormCounts


@pytest.mark.parametrize("typical", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("p", [3, 50])
def test_the_bulk_of_norms_is_found_in_counts_that_are_a_tenth_noise(typical, p):
    rng = np.random.default_rng(p)
    norms = typical * np.linalg.norm(rng.normal(size=(500, p)), axis=1) / np.sqrt(p)
    edges = coarse_edges(20.0)
    found = []
    for _ in range(20):
        counts = np.histogram(norms, bins=[0.0, *edges.inner, np.inf])[0] + rng.normal(0.0, 50.0, edges.inner.size + 1)
        found.append(bulk_norm(counts, edges) / typical)
    assert min(found) > 0.7
    assert max(found) < 1.5


def released(n, epsilon, p=20, seed=0, **options):
    theta = gv.simulate.small_world_precision(p, random_state=seed)
    unit = 5.0 * np.sqrt(np.linalg.inv(theta).diagonal())
    rows = np.clip(gv.simulate.gaussian_rows(theta, n, random_state=seed) / unit, -1.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gv.release(
            rows, domain=gv.Domain(bounds=(-1, 1)), budget=gv.Budget(epsilon, 1e-6), random_state=seed, **options
        )
        return gv.metrics.relative_loss(gv.recover(made).precision, theta * np.outer(unit, unit)), made


def test_what_is_asked_of_few_records_follows_from_public_numbers():
    def asked(n, epsilon):
        return [type(answer.query) for answer in released(n, epsilon)[1].answers]

    assert asked(500, 1.0).count(NormCounts) == 1
    assert asked(500, 0.3).count(NormCounts) == 1
    assert asked(100, 0.3).count(NormCounts) == 0  # a histogram would be noise
    assert asked(1_500, 1.0).count(NormCounts) == 0  # squares tell the scale
    assert asked(5_000, 1.0).count(NormCounts) == 3
    for n in (100, 500, 1_500):
        assert asked(n, 1.0).count(Moments) == 1


def test_a_scale_that_columns_do_not_tell_is_found_in_the_norms():
    """Medians were 0.85 and 0.91 when the radius was taken from variances that were all noise."""
    for p, worst in ((20, 0.80), (50, 0.88)):
        errors = [released(500, 0.3, p=p, seed=seed, assume_centered=True)[0] for seed in range(5)]
        assert np.median(errors) < worst


def test_means_that_are_all_noise_are_not_relied_on():
    _, made = released(300, 0.3)
    means, squares = made.answers[0], made.answers[1]
    noisy = means.values["means"] / means.query.weights
    centre = squares.query.centre * RowGrid.of(made.domain, None).unit
    assert np.linalg.norm(centre) < 0.5 * np.linalg.norm(noisy)


def within_norm(n, epsilon, p, spread, seed):
    """Rows of which a norm is known, with standard deviations that differ by a factor of about e^``spread``."""
    theta = gv.simulate.paper_model(1, p, random_state=seed)
    scale = np.exp(spread * np.random.default_rng(seed).normal(size=p))
    rows, theta = gv.simulate.gaussian_rows(theta, n, random_state=seed) * scale, theta / np.outer(scale, scale)
    domain = gv.Domain(data_norm=1.25 * np.sqrt(np.trace(np.linalg.inv(theta))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gv.release(rows, domain=domain, budget=gv.Budget(epsilon, 1e-3), random_state=seed, assume_centered=True)
        return gv.metrics.relative_loss(gv.recover(made).precision, theta)


def test_columns_that_noise_hides_have_the_scale_of_their_sum():
    """A hundred columns of 400 records: each was taken for as large as its noise, and the error was 0.62."""
    assert np.median([within_norm(400, 0.5, 100, 0.0, seed) for seed in range(7)]) < 0.3


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_columns_of_different_scales_are_not_taken_for_smaller_than_they_are(spread):
    assert max(within_norm(400, 1.0, 10, spread, seed) for seed in range(12)) < 1.0
