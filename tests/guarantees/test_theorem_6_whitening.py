"""Theorem 6: whitened rows are exact, so that each depends on its own record alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.rows.whitening import Whitening
from graphveil.spec.lattice import RowLattice
from support import encoded

BASE = gv.Domain(bounds=(-3, 3))


def whitened(rows, whitening, norm):
    q = whitening.integers.shape[1]
    lattice = RowLattice.of(gv.Domain(data_norm=norm, n_features=q), gv.Constant())
    out = np.empty((len(rows), q))
    whitening.encode(encoded(rows, BASE), lattice, norm, out)
    return out, lattice


def random_whitening(rng, p):
    scale = 10.0 ** rng.uniform(-6, 3, size=(p, 1))
    return Whitening(rng.normal(size=(p, p)) * scale / 2**20, rng.uniform(-0.5, 0.5, size=p) * 2**20 / np.sqrt(p))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_the_product_equals_python_integers(seed, p):
    rng = np.random.default_rng(seed)
    whitening = random_whitening(rng, p)
    rows = encoded(rng.choice([-9.0, 9.0, 0.3, np.nan], size=(20, p)), BASE)
    product = (rows - whitening.centre) @ whitening.integers
    centred = (rows - whitening.centre).astype(np.int64).astype(object)
    exact = centred @ whitening.integers.astype(np.int64).astype(object)
    np.testing.assert_array_equal(product.astype(object), exact)
    assert np.abs(product).max() <= 2**52


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_a_whitened_row_depends_on_its_own_record_alone_and_keeps_the_ball(seed, p):
    rng = np.random.default_rng(seed)
    whitening = random_whitening(rng, p)
    rows = rng.standard_t(2, size=(33, p))
    together, lattice = whitened(rows, whitening, norm=2.0)
    alone = np.vstack([whitened(rows[i : i + 1], whitening, norm=2.0)[0] for i in range(33)])
    np.testing.assert_array_equal(together, alone)
    integers = together.astype(np.int64).astype(object)
    assert (integers**2).sum(axis=1).max() <= lattice.row_square


def test_the_integer_matrix_is_close_to_the_one_that_was_meant():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 30)) * 10.0 ** rng.uniform(-200, 200, size=30)
    whitening = Whitening(matrix, np.zeros(30))
    np.testing.assert_allclose(whitening.matrix, matrix, atol=0, rtol=1e-5)
    assert np.sqrt((whitening.integers**2).sum(axis=0)).min() > 2**29


def test_whitening_gives_the_covariance_that_it_should():
    rng = np.random.default_rng(1)
    rows = rng.multivariate_normal([0.5, -0.2], [[0.2, 0.1], [0.1, 0.1]], size=4000)
    lattice = RowLattice.of(gv.Domain(bounds=(-3, 3), n_features=2), None)
    centre, step = rows.mean(axis=0) / 3 / lattice.unit, 3 * lattice.unit
    root = np.linalg.cholesky(np.linalg.inv(np.cov(rows.T)))
    out, target = whitened(rows, Whitening(root * step, centre), norm=20.0)
    np.testing.assert_allclose(np.cov(out.T * target.unit), np.eye(2), atol=2e-3)


@pytest.mark.parametrize(
    ("matrix", "centre", "message"),
    [
        (np.zeros((2, 2)), np.zeros(2), "norms between"),
        (np.eye(2) * np.nan, np.zeros(2), "finite"),
        (np.eye(2), np.zeros(3), "centre of length"),
        (np.eye(2), np.full(2, 2.0**20), "in the ball"),
        (np.eye(2), np.full(2, np.nan), "in the ball"),
        (np.eye(2) * 1e-300, np.zeros(2), "norms between"),
    ],
)
def test_refusals(matrix, centre, message):
    with pytest.raises(InvalidParameter, match=message):
        Whitening(matrix, centre)
