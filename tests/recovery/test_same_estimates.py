"""No number moves unless it is meant to: seeded releases in every mode, against frozen ones (``helpers/frozen.py``).

On the machine where they were frozen, answers agree to the last bit and numbers to 1e-12. Elsewhere a matrix product
may be rounded otherwise. Answers before the first rotation of rows agree even so. A rotation that is rounded otherwise
moves a row across the edge of a bin in 4 of the 74 releases, whose noise is then another one and which are left out.
The numbers of the others agree to 1e-9 (measured with the kernels of OpenBLAS for SkylakeX, Haswell and Prescott); but
where a release shows no direction above its noise, eigenvectors are whatever rounding makes them, and what is added to
uncertain ones differs by up to 2.5%.
"""

import numpy as np
import pytest

from helpers import frozen

KERNELS, FROZEN, HASHES = frozen.read()
SAME_MACHINE = frozen.kernels() == KERNELS
TOLERANCE, TOLERANCE_FLAT = (1e-12, 1e-12) if SAME_MACHINE else (1e-8, 0.1)
HOW = "If that is meant: python tests/helpers/frozen.py, and explain the diff of estimates.txt."


@pytest.fixture(scope="module")
def moved():
    """Cases whose answers are not the frozen ones."""
    now = frozen.fingerprints()
    assert now.keys() == HASHES.keys(), HOW
    plain = [case for case, hashes in HASHES.items() if hashes[0] != now[case][0]]
    assert not plain, f"answers before any rotation of rows changed: {plain}. {HOW}"
    return {case for case, hashes in HASHES.items() if hashes[1] != now[case][1]}


def test_answers(moved):
    assert len(moved) <= (0 if SAME_MACHINE else len(HASHES) // 8), f"answers changed: {sorted(moved)}. {HOW}"


def test_numbers(moved):
    numbers = frozen.compute_numbers()
    assert numbers.keys() == FROZEN.keys(), HOW
    left_out = moved | {f"comparison: {name}" for name, pair in frozen.COMPARED.items() if moved & {*pair}}
    changed = [
        f"{case} | {name}: off by {off:.1e} of {_scale(name, was):.3g}"
        for (case, name), was in FROZEN.items()
        if case not in left_out and (off := _deviation(name, was, numbers[case, name])) > _tolerance(case)
    ]
    assert not changed, "\n".join([f"{len(changed)} of {len(FROZEN)} changed. {HOW}", *changed[:40]])


def _tolerance(case):
    return TOLERANCE_FLAT if FROZEN.get((case, "estimate.flat"), 0.0) else TOLERANCE


def _deviation(name, was, now):
    """The largest, relative to the largest of the numbers; infinite where others are finite or known."""
    finite = np.isfinite(was)
    if was.shape != now.shape or not np.array_equal(was[~finite], now[~finite], equal_nan=True):
        return np.inf
    return float(np.max(np.abs(was - now)[finite], initial=0.0)) / _scale(name, was)


def _scale(name, values):
    """A share of a variance is compared with the variance; it is zero but for rounding, mostly."""
    largest = float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
    return 1.0 if name == "estimate.tail_sd" else largest or 1.0
