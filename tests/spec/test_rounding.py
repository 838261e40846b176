"""Conservative rounding: no float that is read back from the text is prettier than the one that was written."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.spec.rounding import format_exact, format_round_down, format_round_up

FIGURES = st.floats(1e-300, 1e300)


@given(FIGURES, st.integers(1, 8))
def test_format_round__any_float__brackets_it_within_a_unit_of_the_last_digit(value, digits):
    low, high = float(format_round_down(value, digits)), float(format_round_up(value, digits))
    assert low <= value <= high
    assert high - low <= 1.01 * 10.0 ** (math.floor(math.log10(low)) - digits + 1)


@given(FIGURES)
def test_format_exact__any_float__reads_as_the_same(value):
    assert float(format_exact(value)) == value


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (0.3, "0.3"), (1.0, "1"), (1e-6, "0.000001"), (2e-12, "2E-12")]
)
def test_format_round__figures_with_few_digits__stay_as_they_were_declared(value, text):
    assert format_round_up(value) == format_round_down(value) == text


def test_format_round__known_figures():
    assert format_round_up(0.236704, 4) == "0.2368"
    assert format_round_down(0.236796, 4) == "0.2367"
    assert format_round_up(math.inf) == "∞"
    assert format_exact(1.0) == "1"
    assert format_exact(1e-6) == "1e-06"
