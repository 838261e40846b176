"""What may hide in a tail that nobody can see, and what intervals make of it."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.recovery.hidden_tails import chance_of_hidden_tail, find_hidden_tails, hidden_tail_sd

ROWS = 1.0 / (10_000 * 0.25)  # share that noise hides of 10,000 rows at μ = 0.25


def test_what_is_missing_is_anything_up_to_what_noise_hides_at_the_bounds():
    """Uniform on [0, h] for the columns that have a tail, and nothing for the others."""
    generator = np.random.default_rng(0)
    has_tail = generator.random(400_000) < 0.4
    missing = np.where(has_tail, generator.uniform(0.0, 20.0**2 * ROWS, has_tail.size), 0.0)
    (found,) = hidden_tail_sd(np.array([20.0**2]), ROWS, np.array([0.4]))
    assert found == pytest.approx(np.sqrt(np.mean(missing**2)), rel=0.01)


@pytest.mark.parametrize("reach", [10.0, 30.0, 45.0])
def test_how_likely_what_is_missing_puts_a_standard_deviation_off(reach):
    """Of 40% of the columns a share between nothing and h, or all that there is, is missing."""
    generator = np.random.default_rng(1)
    has_tail = generator.random(400_000) < 0.4
    missing = has_tail * generator.uniform(0.0, min(reach**2 * ROWS, 1.0), has_tail.size)
    (found,) = chance_of_hidden_tail(np.array([reach**2]), ROWS, np.array([0.4]))
    assert found == pytest.approx(np.mean(np.sqrt(1.0 + missing) > 1.2), abs=0.003)


def test_no_more_is_missing_than_there_is_and_nothing_of_a_dense_column():
    squares = np.array([1e3, 1e5, 1e9, 1e9])
    found = hidden_tail_sd(squares, ROWS, np.array([1.0, 1.0, 1.0, 0.0]))
    assert found[0] == pytest.approx(0.4 / np.sqrt(3.0))
    assert found[1] == found[2] == pytest.approx(1.0 / np.sqrt(3.0))
    assert found[3] == 0.0


def test_bounds_hide_tails_if_noise_does_or_if_records_have_long_ones():
    squares = np.array([30.0, 40.0, 200.0])
    assert find_hidden_tails(squares, ROWS, kurtosis=1.0).tolist() == [False, False, True]
    assert find_hidden_tails(squares, ROWS, kurtosis=1.5).tolist() == [False, True, True]
    assert find_hidden_tails(squares, 10.0 * ROWS, kurtosis=1.0).all()


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
@pytest.mark.parametrize(("most", "hidden"), [(1, False), (10, True)])
def test_people_with_several_rows_each_hide_as_many_more(most, hidden):
    rows = np.random.default_rng(0).normal(size=(6000, 3))
    domain = gv.Domain(bounds=(-4, 4), rows_per_person=most)
    made = gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6), random_state=0)
    assert (gv.recover(made).hidden_tails == hidden).all()
