"""Exact discrete Gaussians, from the operating system's random words and comparisons of integers.

The law is P(i) ∝ exp(-i²/2s²) on the integers, for an integer scale s. Karney (ACM TOMS 42(1), 2016, algorithm D)
splits |i| into ks + j with 0 ≤ j < s: then exp(-i²/2s²) = exp(-k²/2) · exp(-x(2k + x)/2) with x = j/s. Both become
coin tosses of probability exp(-γ), which von Neumann's trick makes of coins of probability γ/1, γ/2, γ/3, … (Canonne,
Kamath and Steinke 2020), and those compare a uniform number, of which as many digits are drawn as it takes, with a
fraction. No float takes part, nothing is rounded, and nothing is kept from one call to the next.

Proof: ``privacy/proofs/sampler.md`` (theorem 16).
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import b1, i8, u2, u8
from numba.core.types import Array

from graphveil._compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGEST_SCALE", "draw_discrete_gaussian"]

LARGEST_SCALE = 2**58  # 31 scales stay inside int64: more than that is drawn with a probability below 10⁻²⁰⁰
_WORDS_A_NUMBER = 24  # a little more than a number takes on average
_BITS, _LOW = np.uint64(16), np.uint64(2**16 - 1)  # of a word: few, because most questions need one or two bits
_ONE, _TWO = np.uint64(1), np.uint64(2)
_STREAM = (Array(u2, 1, "C", readonly=True), i8[::1])  # random words, and the place among them


def draw_discrete_gaussian(scale: int, size: int) -> "NDArray[np.int64]":
    """``size`` independent integers with probability proportional to exp(-i²/2 scale²), for 1 ≤ scale ≤ 2⁵⁸.

    Guarantee
    ---------
    The law is exact if the operating system's words are uniform and independent. Every call asks for its own: a
    process, its forks and its clones share nothing. Proof: ``privacy/proofs/sampler.md`` (theorem 16).
    """
    numbers = np.empty(size, dtype=np.int64)
    place = np.zeros(2, dtype=np.int64)
    words, done = _system_words(_WORDS_A_NUMBER * size), 0
    while True:
        place[0] = 0
        done = _fill(np.uint64(scale), words, place, numbers, done)
        if done == size:
            return numbers
        # The number that was begun is made again of the same words and more: a new start would favour short ones.
        words = np.concatenate([words[place[1] :], _system_words(_WORDS_A_NUMBER * (size - done))])


def _system_words(count: int) -> "NDArray[np.uint16]":
    return np.frombuffer(os.urandom(2 * (count + 64)), dtype=np.uint16)


# The kernels take words from where ``place[0]`` points to; ``place[1]`` is where the number in the making began.


@compiled(u8(*_STREAM))
def _next_word(words: Any, place: Any) -> Any:
    if place[0] == words.size:
        raise IndexError
    place[0] += 1
    return np.uint64(words[place[0] - 1])


@compiled(u8(u8, *_STREAM))
def _uniform_below(bound: Any, words: Any, place: Any) -> Any:
    """Uniform on 0, …, bound - 1: as many bits as bound - 1 has, until they are below it."""
    mask = bound - _ONE
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    while True:
        value, rest = _next_word(words, place), mask >> _BITS
        while rest > 0:
            value, rest = (value << _BITS) | _next_word(words, place), rest >> _BITS
        value &= mask
        if value < bound:
            return value


@compiled(b1(u8, u8, *_STREAM))
def _is_below_fraction(j: Any, s: Any, words: Any, place: Any) -> Any:
    """Whether a uniform number U is below j/s, 0 ≤ j < s ≤ 2⁵⁸.

    With the next word w, U = (w + V)/2¹⁶ for a uniform V, so U < j/s if and only if V < r/s, where r = 2¹⁶ j - w s.
    """
    while True:
        word = _next_word(words, place)
        low = word * (s & _LOW)
        high = word * (s >> _BITS) + (low >> _BITS)  # w s = 2¹⁶ high + (low mod 2¹⁶)
        if high >= j:
            return False  # r ≤ 0
        gap = j - high
        if gap > (s >> _BITS) + _ONE:
            return True  # r > 2¹⁶ (gap - 1) ≥ s, where 2¹⁶ gap might not fit
        r = (gap << _BITS) - (low & _LOW)
        if r >= s:
            return True
        j = r


@compiled(b1(*_STREAM))
def _is_exp_half(words: Any, place: Any) -> Any:
    """True with probability exp(-1/2): the first failure of coins of probability 1/2, 1/4, 1/6, … is an odd one."""
    m = _ONE
    while _uniform_below(_TWO * m, words, place) == 0:
        m += _ONE
    return m & _ONE == 1


@compiled(b1(u8, u8, u8, *_STREAM))
def _is_exp_part(k: Any, j: Any, s: Any, words: Any, place: Any) -> Any:
    """True with probability exp(-γ), γ = x(2k + x)/(2k + 2), x = j/s: coins of probability γ/1, γ/2, γ/3, …."""
    m = _ONE
    while _is_below_fraction(j, s, words, place):  # x, and then (2k + x)/(2k + 2)m
        c = _uniform_below((_TWO * k + _TWO) * m, words, place)
        if c > _TWO * k or (c == _TWO * k and not _is_below_fraction(j, s, words, place)):
            break
        m += _ONE
    return m & _ONE == 1


@compiled(i8(u8, *_STREAM))
def _one(s: Any, words: Any, place: Any) -> Any:
    while True:
        k = np.uint64(0)
        while _is_exp_half(words, place):
            k += _ONE
        trials, kept = k * (k - _ONE), True  # exp(-k/2) exp(-k(k - 1)/2) = exp(-k²/2)
        while kept and trials > 0:
            kept = _is_exp_half(words, place)
            trials -= _ONE
        if not kept:
            continue
        negative = _next_word(words, place) & _ONE == 1
        j = _uniform_below(s, words, place)
        if negative and k == 0 and j == 0:
            continue  # zero is one number, not two
        trials = k + _ONE
        while kept and trials > 0:
            kept = _is_exp_part(k, j, s, words, place)
            trials -= _ONE
        if kept:
            value = np.int64(k * s + j)
            return -value if negative else value


@compiled(b1(u8, *_STREAM, i8[::1], i8))
def _make_one(s: Any, words: Any, place: Any, numbers: Any, done: Any) -> Any:
    """Whether the words sufficed for one more number.

    There is no loop inside ``try``: with Python 3.12 or newer, numba lets an exception escape from a loop's second
    iteration.
    """
    try:
        numbers[done] = _one(s, words, place)
    except Exception:
        return False
    return True


@compiled(i8(u8, *_STREAM, i8[::1], i8))
def _fill(s: Any, words: Any, place: Any, numbers: Any, done: Any) -> Any:
    """Make numbers until there are enough or the words are used up; say how many there are."""
    while done < numbers.size:
        place[1] = place[0]
        if not _make_one(s, words, place, numbers, done):
            break
        done += 1
    return done
