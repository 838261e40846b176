"""Sums of privacy: exact, in any order, rounded conservatively."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import InvalidParameter
from graphveil.privacy.calibration import allowed_collisions, analytic_mu, grid_delta_share, grid_eta_budget
from graphveil.privacy.composition import (
    ALL_ROWS,
    ALL_ROWS_ADDED,
    Balance,
    PrivacySpend,
    check_room_for_releases,
    compute_remaining,
    compute_spent,
    largest_epsilon,
)
from graphveil.spec.gdp import delta_from_mu
from graphveil.spec.rounding import sqrt_round_up
from helpers.ledgers import event

positive = st.floats(min_value=5e-324, max_value=1e300)


@given(positive)
def test_the_root_of_a_square_is_the_number(x):
    assert sqrt_round_up(Fraction(x) ** 2) == x


@given(positive, positive)
def test_roots_are_rounded_up_by_less_than_one_step(a, b):
    square = Fraction(a) + Fraction(b)
    root = sqrt_round_up(square)
    assert Fraction(root) ** 2 >= square > Fraction(math.nextafter(root, 0.0)) ** 2


def test_a_root_too_large_for_a_float_is_infinite():
    assert sqrt_round_up(2 * Fraction(1.7e308) ** 2) == math.inf
    assert sqrt_round_up(Fraction(0)) == 0.0


@given(st.lists(positive, min_size=1, max_size=12), st.randoms())
def test_any_order_gives_the_same_balance_and_no_charge_is_too_small_to_count(mus, random):
    balance = Balance()
    for mu in mus:
        after = balance.plus_amount(mu, mu * 1e-300, 1)
        assert after.mu_square > balance.mu_square
        balance = after
    random.shuffle(mus)
    again = Balance()
    for mu in mus:
        again = again.plus_amount(mu, mu * 1e-300, 1)
    assert again == balance
    assert Balance.from_dict(balance.to_dict()) == balance


@pytest.mark.parametrize("budget", [gv.Budget(1e-6, 1e-9), gv.Budget(1.0, 1e-6), gv.Budget(8.0, 1e-5)])
def test_one_release_with_the_whole_budget_fits_exactly_once(budget):
    whole = event(budget.epsilon, budget.delta)
    balance = Balance().plus(whole)
    assert balance.keeps(budget)
    assert not balance.plus(event(1e-9, budget.delta)).keeps(budget)
    assert compute_remaining(balance, budget) == PrivacySpend(0.0, 0.0, budget.delta)
    assert compute_remaining(Balance(), budget).epsilon == budget.epsilon


@pytest.mark.parametrize("part", [0.1, 0.5, 0.999])
def test_what_is_left_fits_and_a_little_more_does_not(part):
    budget = gv.Budget(3.0, 1e-7)
    balance = Balance().plus(event(3.0 * part, 1e-7))
    left = compute_remaining(balance, budget)
    assert balance.plus(event(left.epsilon, 1e-7)).keeps(budget)
    assert not balance.plus(event(left.epsilon * (1 + 1e-9), 1e-7)).keeps(budget)
    assert left.mu == analytic_mu(gv.Budget(left.epsilon, 1e-7))


@pytest.mark.parametrize("used", [0.0, 0.5, 0.999])
@pytest.mark.parametrize(("person", "n_people"), [(ALL_ROWS, 2**23), (ALL_ROWS_ADDED, None)])
def test_what_is_left_has_room_for_ids_that_collide(person, n_people, used):
    """With a large ε in all, little of δ is kept for that, times e^ε: what is said to be left fits all the same."""
    total = gv.Budget(20.0, 1e-6)
    balance = Balance({person: (Fraction(1), Fraction(used) * Fraction(grid_delta_share(total)))})
    left = largest_epsilon(balance, total, person, n_people or 0)
    assert (left > 0.0) == (used < 0.9)
    if left > 0.0:
        asked = gv.Budget(left, total.delta)
        eta = grid_eta_budget(asked, allowed_collisions(asked, n_people))
        assert balance.plus_amount(analytic_mu(asked), eta, person).keeps(total)


def test_spent_is_never_less_than_the_sum_and_converts_once():
    """Ten releases cost far less together than ten times one, and exactly √10 in μ."""
    budget = gv.Budget(5.0, 1e-6)
    balance = Balance()
    for _ in range(10):
        balance = balance.plus(event(0.5))
    spent = compute_spent(balance, budget)
    assert spent.mu == pytest.approx(math.sqrt(10) * event(0.5).mu, rel=1e-15)
    assert Fraction(spent.mu) ** 2 >= 10 * Fraction(event(0.5).mu) ** 2
    assert 0.5 < spent.epsilon < 2.0
    assert compute_spent(Balance(), budget) == PrivacySpend(0.0, 0.0, budget.delta)


def test_the_parts_of_a_budget_together_keep_it():
    for epsilon in np.geomspace(1e-6, 30, 40):
        for delta in (1e-12, 1e-6, 1e-2):
            budget = gv.Budget(float(epsilon), delta)
            assert delta_from_mu(analytic_mu(budget), budget.epsilon, grid_delta_share(budget)) <= delta


def test_eta_is_capped_on_its_own():
    budget = gv.Budget(1.0, 1e-6)
    cap = grid_delta_share(budget)
    assert Balance().plus_amount(1e-9, cap, 1).keeps(budget)
    assert not Balance().plus_amount(1e-9, math.nextafter(cap, 1.0), 1).keeps(budget)


def test_a_total_that_has_no_room_for_a_hundred_lattice_terms_is_refused():
    for epsilon, delta in ((1.0, 1e-15), (10.0, 1e-11), (20.0, 1e-6)):
        budget = gv.Budget(epsilon, delta)
        check_room_for_releases(budget)
        balance = Balance()
        for _ in range(100):
            balance = balance.plus(event(1e-3, delta))
        assert balance.keeps(budget)
    for epsilon, delta in ((1.0, 1e-17), (10.0, 1e-13), (30.0, 1e-6), (1000.0, 0.5)):
        with pytest.raises(InvalidParameter, match="cannot be divided"):
            check_room_for_releases(gv.Budget(epsilon, delta))


def test_people_with_more_rows_pay_as_groups():
    """A release for one row a person costs somebody with five rows five times; later declarations count for earlier."""
    one, five = Balance().plus_amount(0.1, 0.0, 1), Balance().plus_amount(0.1, 0.0, 5)
    assert one.mu_square == five.mu_square == Fraction(0.1) ** 2
    assert one.plus_amount(0.2, 0.0, 5).mu_square == 25 * Fraction(0.1) ** 2 + Fraction(0.2) ** 2
    assert (
        five.plus_amount(0.2, 0.0, 2).mu_square == Fraction(0.1) ** 2 + 9 * Fraction(0.2) ** 2
    )  # five rows: three pairs


def test_a_seeded_release_leaves_nothing():
    budget = gv.Budget(1.0, 1e-6)
    balance = Balance().plus(event(1e-6, seeded=True))
    assert not balance.keeps(budget)
    assert compute_spent(balance, budget).mu == compute_spent(balance, budget).epsilon == math.inf
    assert compute_remaining(balance, budget).epsilon == 0.0
    assert "not private" in str(compute_remaining(balance, budget))
