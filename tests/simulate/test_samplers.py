"""Samplers: the moments they promise, within the Monte Carlo error of those moments."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter

N = 100_000
SAMPLERS = {
    "gaussian": gv.simulate.gaussian_rows,
    "student": gv.simulate.student_rows,
    "lognormal": gv.simulate.lognormal_rows,
    "contaminated": gv.simulate.contaminated_rows,
}


@pytest.fixture(scope="module")
def theta():
    """Five variables on different scales (standard deviations from 0.1 to 10)."""
    scale = np.diag([10.0, 1.0, 0.5, 2.0, 0.1])
    return scale @ gv.simulate.autoregressive_precision(5) @ scale


@pytest.fixture(scope="module")
def sigma(theta):
    return np.linalg.inv(theta)


def whitened_moment(rows, theta):
    """LᵀSL for Θ = LLᵀ: the identity if rows have the covariance Θ⁻¹."""
    L = np.linalg.cholesky(theta)
    return L.T @ (rows.T @ rows / len(rows)) @ L


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("p", [1, 2, 5])
def test_shape_seed_and_generator(sampler, p):
    draw = SAMPLERS[sampler]
    theta = gv.simulate.autoregressive_precision(p)
    rows = draw(theta, 7, random_state=3)
    assert rows.shape == (7, p)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, draw(theta, 7, random_state=3))
    np.testing.assert_array_equal(rows, draw(theta, 7, random_state=np.random.default_rng(3)))
    assert (rows != draw(theta, 7, random_state=4)).any()
    assert (draw(theta, 7) != draw(theta, 7)).any()


def test_gaussian_covariance_is_the_inverse(theta):
    """Whitened second moments: mean I, standard error 1/√n off the diagonal and √(2/n) on it."""
    rows = gv.simulate.gaussian_rows(theta, N, random_state=0)
    assert np.abs(whitened_moment(rows, theta) - np.eye(5)).max() < 4.5 * np.sqrt(2 / N)


def test_gaussian_error_falls_with_the_square_root_of_n(theta):
    def error(n):
        draws = [gv.simulate.gaussian_rows(theta, n, random_state=seed) for seed in range(20)]
        return np.mean([np.linalg.norm(whitened_moment(rows, theta) - np.eye(5)) for rows in draws])

    assert error(100) / error(10_000) == pytest.approx(10, rel=0.25)


def test_gaussian_rows_are_gaussian(theta):
    """xᵀΘx is χ² with p degrees of freedom: mean p, second moment p(p + 2)."""
    rows = gv.simulate.gaussian_rows(theta, N, random_state=1)
    q = np.einsum("ij,jk,ik->i", rows, theta, rows)
    assert q.mean() == pytest.approx(5, abs=4.5 * np.sqrt(10 / N))
    assert (q**2).mean() == pytest.approx(35, rel=0.03)
    assert np.abs(rows.mean(axis=0) / rows.std(axis=0)).max() < 4.5 / np.sqrt(N)


def test_gaussian_is_equivariant_under_scaling(theta):
    """Rows of D⁻¹ΘD⁻¹ are those of Θ times D (the Cholesky factor scales along)."""
    D = np.array([1e-3, 1.0, 1e3, 2.0, 7.0])
    rows = gv.simulate.gaussian_rows(theta, 10, random_state=0)
    scaled = gv.simulate.gaussian_rows(theta / np.outer(D, D), 10, random_state=0)
    np.testing.assert_allclose(scaled, rows * D, rtol=1e-10)


def test_gaussian_needs_no_inverse_of_an_ill_conditioned_matrix():
    theta = gv.simulate.hub_precision(20, condition_number=1e10, random_state=0)
    rows = gv.simulate.gaussian_rows(theta, N, random_state=0)
    q = np.einsum("ij,jk,ik->i", rows, theta, rows)
    assert q.mean() == pytest.approx(20, abs=5 * np.sqrt(40 / N))


@pytest.mark.parametrize("nu", [10, 20.5])
def test_student_covariance_and_kurtosis(theta, nu):
    rows = gv.simulate.student_rows(theta, N, degrees_of_freedom=nu, random_state=0)
    kurtosis = 3 + 6 / (nu - 4)
    assert np.abs(whitened_moment(rows, theta) - np.eye(5)).max() < 4.5 * np.sqrt((kurtosis - 1) / N)
    standardised = rows / rows.std(axis=0)
    np.testing.assert_allclose((standardised**4).mean(axis=0), kurtosis, rtol=0.08)
    q = np.einsum("ij,jk,ik->i", rows, theta, rows)
    assert (q**2).mean() == pytest.approx(35 * (nu - 2) / (nu - 4), rel=0.08)


def test_student_covariance_holds_without_a_fourth_moment(theta):
    rows = gv.simulate.student_rows(theta, 10 * N, degrees_of_freedom=3.0, random_state=0)
    np.testing.assert_allclose(whitened_moment(rows, theta), np.eye(5), atol=0.1)


def test_student_rows_are_gaussian_rows_stretched(theta):
    """Same seed: one positive factor a row, with E(ν − 2)/w = 1 and w of χ²_ν."""
    nu = 12
    ratio = gv.simulate.student_rows(theta, N, nu, random_state=0) / gv.simulate.gaussian_rows(theta, N, random_state=0)
    np.testing.assert_allclose(ratio, np.repeat(ratio[:, :1], 5, axis=1), rtol=1e-12)
    w = (nu - 2) / ratio[:, 0] ** 2
    assert w.mean() == pytest.approx(nu, abs=4.5 * np.sqrt(2 * nu / N))
    assert w.var() == pytest.approx(2 * nu, rel=0.05)


def test_lognormal_covariance_in_closed_form(theta, sigma):
    s = 0.5
    rows = gv.simulate.lognormal_rows(theta, 4 * N, log_standard_deviation=s, random_state=0)
    sd = np.sqrt(np.diag(sigma))
    correlation = np.expm1(s**2 * sigma / np.outer(sd, sd)) / np.expm1(s**2)
    np.testing.assert_allclose(rows.T @ rows / len(rows) / np.outer(sd, sd), correlation, atol=0.03)
    assert np.abs(rows.mean(axis=0) / sd).max() < 4.5 / np.sqrt(4 * N)


def test_lognormal_margins_are_monotone_in_the_gaussian_ones_and_tend_to_them(theta):
    gaussian = gv.simulate.gaussian_rows(theta, 500, random_state=0)
    rows = gv.simulate.lognormal_rows(theta, 500, random_state=0)
    np.testing.assert_array_equal(np.argsort(rows, axis=0), np.argsort(gaussian, axis=0))
    almost = gv.simulate.lognormal_rows(theta, 500, log_standard_deviation=1e-5, random_state=0)
    np.testing.assert_allclose(almost, gaussian, atol=1e-4 * np.abs(gaussian).max())


def test_contaminated_blows_up_exactly_so_many_rows(theta):
    clean = gv.simulate.gaussian_rows(theta, 200, random_state=0)
    rows = gv.simulate.contaminated_rows(theta, 200, n_outliers=4, scale=50.0, random_state=0)
    touched = (rows != clean).any(axis=1)
    assert touched.sum() == 4
    np.testing.assert_array_equal(rows[touched], 50 * clean[touched])
    np.testing.assert_array_equal(gv.simulate.contaminated_rows(theta, 200, n_outliers=0, random_state=0), clean)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("precision", "message"),
    [
        (np.ones((2, 3)), r"precision must be a symmetric positive definite matrix, got \(2, 3\)"),
        (np.ones(3), "precision must be"),
        (np.ones((0, 0)), "precision must be"),
        ([[1.0, 2.0], [2.0, 1.0]], "not positive definite.*identity"),
        ([[1.0, 0.5], [0.0, 1.0]], "not symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "missing entries"),
        ([[np.inf]], "infinite"),
    ],
)
def test_bad_precision_is_refused(sampler, precision, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        SAMPLERS[sampler](precision, 5)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: gv.simulate.gaussian_rows(one, 0), "n_samples must be an integer of at least 1, got 0"),
        (lambda one: gv.simulate.gaussian_rows(one, 10.0), "n_samples must be"),
        (
            lambda one: gv.simulate.student_rows(one, 5, 2),
            "degrees_of_freedom must be a finite number above 2, got 2",
        ),
        (lambda one: gv.simulate.student_rows(one, 5, np.inf), "degrees_of_freedom must be"),
        (lambda one: gv.simulate.lognormal_rows(one, 5, 0.0), "log_standard_deviation must be"),
        (lambda one: gv.simulate.lognormal_rows(one, 5, 6.0), "at most 5, got 6.0"),
        (
            lambda one: gv.simulate.contaminated_rows(one, 5, 6),
            "n_outliers must be an integer of at least 0 and at most 5, got 6",
        ),
        (lambda one: gv.simulate.contaminated_rows(one, 5, scale=0.0), "scale must be"),
        (lambda one: gv.simulate.gaussian_rows(one, 5, random_state=1.5), "random_state must be"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call(np.eye(1))
