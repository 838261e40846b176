"""Theorems 1, 2 and 8: replacing one person moves (svec, trace) by at most Δ, and by Δ for the extremal pair.

Everything is computed from the code that a release runs (clip, lattice, exact sums, layout), in exact integers.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.privacy.mechanisms import step_for
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import MAX_SQUARE, MomentLayout, RowGrid
from graphveil.spec.queries import Moments
from graphveil.spec.row_space import RowSpace
from graphveil.spec.sensitivity import moment_sensitivity
from helpers.exact_sums import encoded, exact_moments


def released_vector(source, domain, augment):
    """Exact (diagonal, off-diagonal, trace), the numbers to which noise is added."""
    moments, encoder, layout = exact_moments(source, domain, augment)
    diagonal, off_diagonal = layout.split(moments.total())
    return diagonal, off_diagonal, encoder.lattice


def squared_move(one, other, domain, augment):
    """Squared distance in the norm that the noise is calibrated to, as an exact integer, and the lattice."""
    d1, o1, lattice = released_vector(one, domain, augment)
    d2, o2, _ = released_vector(other, domain, augment)
    diagonal, off_diagonal = d1 - d2, o1 - o2
    return int((diagonal**2).sum() + 2 * (off_diagonal**2).sum() + diagonal.sum() ** 2), lattice


def squared_bound(lattice, rows_per_person=1):
    return 2 * (rows_per_person * lattice.total_square) ** 2


def mechanism_bound(lattice, p, augment, rows_per_person):
    """(sd·μ)² of the noise that a release really draws for these rows, in the norm in which the vector moves."""
    mu = 0.25
    space = RowSpace(p, lattice, MomentLayout(p, augment))
    step = step_for(Moments(1.0), space, rows_per_person, mu, 2.0**-70)
    assert Fraction(step.sd("off_diagonal")) ** 2 * 2 >= Fraction(step.sd("diagonal")) ** 2
    return (Fraction(min(step.sd("diagonal"), step.sd("trace"))) * Fraction(mu)) ** 2


def random_rows(rng, count, p, kind):
    """Rows of every temper: inside, far outside, on the corners, tiny, broken."""
    rows = rng.normal(size=(count, p))
    if kind == "huge":
        rows *= 10.0 ** rng.uniform(-300, 300, size=(count, 1))
    elif kind == "corner":
        rows = rng.choice([-1e9, 1e9], size=(count, p))
    elif kind == "axis":
        rows = np.eye(p)[rng.integers(p, size=count)] * rng.choice([-1e9, 1e9, 0], size=(count, 1))
    elif kind == "broken":
        rows = rng.choice([np.nan, np.inf, -np.inf, 0.0, 5e-324, 1.7e308, -1.0], size=(count, p))
    return rows


DOMAINS = st.sampled_from(
    [
        {"bounds": (-1, 1)},
        {"bounds": (-1, 3)},
        {"bounds": (-1, 1), "data_norm": 1.0},
        {"bounds": (-2, 5), "data_norm": 0.3},
        {"data_norm": 1.0},
        {"data_norm": 1e6},
    ]
)
AUGMENTS = st.sampled_from([None, Constant(), Constant(weight=1.0), "labels"])


@settings(max_examples=400)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 50),
    DOMAINS,
    AUGMENTS,
    st.sampled_from(["normal", "huge", "corner", "axis", "broken"]),
    st.sampled_from([1, 1, 1, 3]),
)
def test_no_pair_moves_further_than_the_bound(seed, p, domain, augment, kind, rows_per_person):
    rng = np.random.default_rng(seed)
    domain = gv.Domain(**domain, rows_per_person=rows_per_person)
    common = rng.normal(size=(3, p))
    for _ in range(10):
        one = np.vstack([common, random_rows(rng, rows_per_person, p, kind)])
        other = np.vstack([common, random_rows(rng, rows_per_person, p, kind)])
        sources, appended = (one, other), augment
        if augment == "labels":
            appended = gv.Labels(classes=[0, 1, 2])
            labels = rng.integers(-1, 3, size=(2, len(one)))
            labels[1, :3] = labels[0, :3]
            sources = ((one, labels[0]), (other, labels[1]))
        move, lattice = squared_move(*sources, domain, appended)
        assert move <= squared_bound(lattice, rows_per_person)
        assert move <= mechanism_bound(lattice, p, appended, rows_per_person)
        assert lattice.total_square <= MAX_SQUARE


def hadamard_pair(p):
    """Two corners of the box that are orthogonal (even p), or nearly (odd p)."""
    x = np.ones(p)
    y = np.where(np.arange(p) % 2, 1.0, -1.0)
    return x, y


@pytest.mark.parametrize("p", [2, 4, 10, 50])
def test_orthogonal_corners_of_the_box_attain_the_bound(p):
    domain = gv.Domain(bounds=(-1, 1))
    x, y = hadamard_pair(p)
    move, lattice = squared_move(x[None] * 9, y[None] * 9, domain, None)
    assert move == squared_bound(lattice)


def test_one_column_attains_the_bound_through_the_trace():
    domain = gv.Domain(bounds=(-1, 1))
    move, lattice = squared_move(np.array([[7.0]]), np.array([[0.0]]), domain, None)
    assert move == squared_bound(lattice)


@pytest.mark.parametrize("p", [2, 3, 17, 50])
def test_orthogonal_long_rows_nearly_attain_the_bound_of_the_ball(p):
    domain = gv.Domain(data_norm=2.0)
    x, y = np.eye(p)[:2] * 1e9
    move, lattice = squared_move(x[None], y[None], domain, None)
    # The lattice keeps half a cell's diagonal and two steps in reserve: relative (√p/2 + 2)/2²⁰ per factor of the norm.
    assert math.sqrt(move / squared_bound(lattice)) >= 1 - 2 * (math.sqrt(p) / 2 + 3) / 2**20


@pytest.mark.parametrize("p", [2, 4, 10])
def test_a_constant_can_attain_the_enlarged_bound(p):
    """x·y = 0 for augmented rows: the features must be at an obtuse angle, cos = -c²/R²."""
    domain, augment = gv.Domain(data_norm=1.0), Constant(weight=0.5)
    angle = math.acos(-0.25)
    x, y = np.zeros((2, 1, p))
    x[0, 0] = 1.0
    y[0, :2] = math.cos(angle), math.sin(angle)
    move, lattice = squared_move(x * (1 - 1e-12), y * (1 - 1e-12), domain, augment)
    assert 1 - 1e-4 <= math.sqrt(move / squared_bound(lattice)) <= 1


def test_two_classes_attain_the_enlarged_bound():
    domain, augment = gv.Domain(bounds=(-1, 1)), gv.Labels(classes=["a", "b"])
    x, y = hadamard_pair(4)
    move, lattice = squared_move((x[None], ["a"]), (y[None], ["b"]), domain, augment)
    assert move == squared_bound(lattice)


def test_several_rows_of_a_person_attain_the_multiplied_bound():
    domain = gv.Domain(bounds=(-1, 1), rows_per_person=3)
    x, y = hadamard_pair(6)
    move, lattice = squared_move(np.tile(x, (3, 1)), np.tile(y, (3, 1)), domain, None)
    assert move == squared_bound(lattice, 3)


@given(st.integers(1, MAX_SQUARE), st.integers(1, 2**20))
def test_the_float_is_never_below_the_exact_sensitivity(total_square, rows_per_person):
    value = moment_sensitivity(total_square, rows_per_person)
    exact_square = 2 * (rows_per_person * total_square) ** 2
    assert Fraction(value) ** 2 >= exact_square
    assert value <= math.sqrt(2) * rows_per_person * total_square * (1 + 1e-15)


@given(st.integers(1, 3000), st.sampled_from([None, Constant(), Constant(weight=1.0), gv.Labels(["a", "b"])]))
def test_the_lattice_keeps_its_promises(p, augment):
    for domain in (gv.Domain(bounds=(-1, 1), n_features=p), gv.Domain(data_norm=3.0, n_features=p)):
        lattice = RowGrid.of(domain, augment)
        assert lattice.total_square <= MAX_SQUARE
        assert lattice.total_square >= 0.98 * MAX_SQUARE
        assert (lattice.constant > 0) == (augment is not None)
        assert lattice.ball + math.sqrt(p) / 2 < math.sqrt(lattice.row_square)


def test_the_check_would_see_a_longer_row():
    """A negative control: rows a hundredth longer than the lattice allows break the bound."""
    rows = encoded(np.array([[9.0, 9.0], [9.0, -9.0]]), gv.Domain(bounds=(-1, 1))) * 1.01
    x, y = rows
    difference = np.outer(x, x) - np.outer(y, y)
    lattice = RowGrid.of(gv.Domain(bounds=(-1, 1), n_features=2), None)
    assert (difference**2).sum() + np.trace(difference) ** 2 > squared_bound(lattice)
