"""A budget refuses what is no guarantee, and survives JSON."""

import math

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import InvalidParameter


@pytest.mark.parametrize("epsilon", [0, -1, 1e-10, 1001, 5e-324, 10**400, math.nan, math.inf, "1", None, True, [1]])
def test_epsilon_that_is_no_guarantee(epsilon):
    with pytest.raises(InvalidParameter, match=r"epsilon must be a number greater than 0 \(from 1e-9 to 1000\), got"):
        gv.Budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, math.inf, "0.1", None, False])
def test_delta_that_is_no_guarantee(delta):
    with pytest.raises(InvalidParameter, match="delta must be a number strictly between 0 and 1, got"):
        gv.Budget(1.0, delta)


def test_a_delta_that_floats_cannot_keep():
    with pytest.raises(InvalidParameter, match="delta must be at least 1e-300, got 1e-310"):
        gv.Budget(1.0, 1e-310)


def test_numpy_numbers_are_numbers():
    assert gv.Budget(np.float32(0.5), np.float64(1e-6)) == gv.Budget(0.5, 1e-6)
    assert gv.Budget(1, 1e-6) == gv.Budget(1.0, 1e-6)


def test_frozen_hashable_and_through_json():
    budget = gv.Budget(0.1, 1e-9)
    assert gv.Budget.from_json(budget.to_json()) == budget
    assert hash(gv.Budget.from_json(budget.to_json())) == hash(budget)
    with pytest.raises(AttributeError):
        budget.epsilon = 2.0


def test_mu_grows_with_both():
    assert gv.Budget(1.0, 1e-6).mu < gv.Budget(2.0, 1e-6).mu
    assert gv.Budget(1.0, 1e-6).mu < gv.Budget(1.0, 1e-5).mu


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "1", '"x"', '{"kind": "Budget"}', '{"kind": "Domain"}', '{"kind": "os.system", "x": 1}',
     '{"kind": "Budget", "epsilon": 1, "delta": 0.1, "extra": 1}', '{"kind": "Budget", "epsilon": -1, "delta": 0.1}'],
)  # fmt: skip
def test_json_that_is_no_budget(text):
    with pytest.raises(InvalidParameter):
        gv.Budget.from_json(text)
