"""Theorem 16: the sampler's law is exact, coin by coin and as a whole, and no clone of a process repeats its noise."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphveil.privacy import discrete_gaussian
from graphveil.privacy.discrete_gaussian import draw_discrete_gaussian

FALSE_ALARM = 1e-7  # of each statistical test below
WORD = 2**16


def stream(*words):
    return np.array(words, dtype=np.uint16), np.zeros(2, dtype=np.int64)


# ------------------------------------------------------------------ coins, exactly
def outcomes(coin, *arguments):
    """What each of the 2¹⁶ first words leads to; None where a second one is needed."""
    found = []
    for word in range(WORD):
        words, place = stream(word)
        try:
            found.append(coin(*(np.uint64(a) for a in arguments), words, place))
        except IndexError:
            found.append(None)
    return found


@pytest.mark.parametrize(
    ("j", "s"),
    [(0, 7), (3, 7), (6, 7), (1, 2), (12345, 2**16 + 1), (2**57 + 99, 2**58), (2**40 - 1, 2**40), (1, 2**58)],
)
def test_a_uniform_number_is_below_a_fraction_with_exactly_its_probability(j, s):
    """The sum over all first words, with the exact remainder where a word leaves it open, is j/s as a fraction."""
    found = outcomes(discrete_gaussian._is_below_fraction, j, s)
    probability = Fraction(found.count(True))
    undecided = [word for word, outcome in enumerate(found) if outcome is None]
    assert len(undecided) <= 1
    for word in undecided:
        probability += Fraction(WORD * j - word * s, s)
    assert probability / WORD == Fraction(j, s)


@given(st.data())
def test_ties_are_settled_by_further_words(data):
    """Words that agree with j/s for a while, then do not: the answer is that of exact fractions."""
    s = data.draw(st.integers(2, 2**58))
    j = data.draw(st.integers(0, s - 1))
    agreeing = data.draw(st.integers(0, 3))
    digits = [j * WORD ** (i + 1) // s % WORD for i in range(agreeing)]
    digits += data.draw(st.lists(st.integers(0, WORD - 1), min_size=1, max_size=4))
    words, place = stream(*digits)
    try:
        below = discrete_gaussian._is_below_fraction(np.uint64(j), np.uint64(s), words, place)
    except IndexError:
        place[0] = len(digits) + 1
    used = int(place[0])
    for length in range(1, len(digits) + 1):
        value = sum(Fraction(digit, WORD ** (i + 1)) for i, digit in enumerate(digits[:length]))
        decided = value >= Fraction(j, s) or value + Fraction(1, WORD**length) <= Fraction(j, s)
        assert decided == (length >= used)  # not a word too many, none too few
        if decided:
            assert below == (value < Fraction(j, s))
            break


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 100, 2**15 + 1, 2**16])
def test_every_value_below_a_bound_comes_from_as_many_words(bound):
    found = outcomes(discrete_gaussian._uniform_below, bound)
    counts = np.bincount([value for value in found if value is not None], minlength=bound)
    assert counts.size == bound
    assert np.ptp(counts) == 0
    assert counts[0] > 0


@pytest.mark.parametrize("bound", [2**16 + 1, 2**32 - 5, 2**40, 2**58 - 1, 2**58])
def test_large_bounds_take_all_their_bits(bound):
    words, place = stream(*np.random.default_rng(bound % 97).integers(0, WORD, 40_000))
    values = [int(discrete_gaussian._uniform_below(np.uint64(bound), words, place)) for _ in range(2000)]
    assert max(values) < bound
    assert stats.kstest(np.array(values) / bound, "uniform").pvalue > FALSE_ALARM
    parities = np.array([[(value >> bit) & 1 for bit in range((bound - 1).bit_length() - 2)] for value in values])
    assert np.abs(parities.mean(axis=0) - 0.5).max() < 6 * 0.5 / np.sqrt(2000)


@pytest.mark.parametrize(("k", "j", "s"), [(0, 0, 5), (0, 4, 5), (1, 3, 5), (3, 9, 10), (0, 2**57, 2**58), (7, 1, 3)])
def test_coins_of_exponential_probability(k, j, s):
    rng = np.random.default_rng(k + j % 1000)
    words, place = stream(*rng.integers(0, WORD, 1_000_000))
    x, trials = j / s, 40_000
    part = [
        discrete_gaussian._is_exp_part(np.uint64(k), np.uint64(j), np.uint64(s), words, place) for _ in range(trials)
    ]
    assert stats.binomtest(sum(part), trials, np.exp(-x * (2 * k + x) / (2 * k + 2))).pvalue > FALSE_ALARM
    half = sum(discrete_gaussian._is_exp_half(words, place) for _ in range(trials))
    assert stats.binomtest(half, trials, np.exp(-0.5)).pvalue > FALSE_ALARM
    assert stats.binomtest(half, trials, np.exp(-0.55)).pvalue < FALSE_ALARM


# ------------------------------------------------------------------ numbers, word for word
def reference(scale, words):
    """Numbers from words, in integers of any size and fractions, until the words run out; shares no code with ours."""
    left, numbers = words.tolist()[::-1], []

    def below(bound):
        bits = (bound - 1).bit_length()
        value = bound
        while value >= bound:
            value = 0
            for _ in range(max(1, -(-bits // 16))):
                value = WORD * value + left.pop()
            value %= 2**bits
        return value

    def is_below(x):
        low, width = Fraction(0), Fraction(1)
        while True:
            width /= WORD
            low += left.pop() * width
            if not low < x < low + width:
                return low < x

    def is_exp(coin):
        m = 1
        while coin(m):
            m += 1
        return m % 2 == 1

    def half():
        return is_exp(lambda m: below(2 * m) == 0)

    def part(k, x):
        def coin(m):
            if not is_below(x):
                return False
            c = below((2 * k + 2) * m)
            return c < 2 * k or (c == 2 * k and is_below(x))

        return is_exp(coin)

    with suppress(IndexError):
        while True:
            k = 0
            while half():
                k += 1
            if not all(half() for _ in range(k * (k - 1))):
                continue
            negative, j = left.pop() % 2, below(scale)
            if not (negative and k == j == 0) and all(part(k, Fraction(j, scale)) for _ in range(k + 1)):
                numbers.append((-1) ** negative * (k * scale + j))
    return numbers


@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_numbers_are_those_of_a_reference_without_limits(odd):
    """Scales from 1 to 2⁵⁸, words that run out anywhere, and some that lead to ties and to large numbers."""
    rng, found = np.random.default_rng(16), 0
    for _ in range(400):
        scale = int(min(2.0 ** rng.uniform(0, 58.5), 2.0**58))
        words = rng.integers(0, WORD, rng.integers(1, 2000), dtype=np.uint16)
        extreme = rng.choice(np.array([0, 1, WORD // 2, WORD - 1], dtype=np.uint16), words.size)
        words = np.where(rng.random(words.size) < odd * rng.random(), extreme, words)
        numbers, place = np.zeros(words.size, dtype=np.int64), np.zeros(2, dtype=np.int64)
        count = discrete_gaussian._fill(np.uint64(scale), words, place, numbers, 0)
        assert numbers[:count].tolist() == reference(scale, words)
        found += count
    assert found > 10_000


# ------------------------------------------------------------------ the law
def chi_square(draws, scale, weight=lambda k, scale: np.exp(-((k / scale) ** 2) / 2)):
    """p-value of draws under a law on the integers, with tails pooled where fewer than 20 are expected."""
    k = np.arange(-12 * scale, 12 * scale + 1)
    probability = weight(k, scale)
    probability = probability / probability.sum()
    edge = np.flatnonzero(probability * draws.size >= 20)[[0, -1]]
    inside = slice(edge[0], edge[1] + 1)
    expected = [probability[: edge[0]].sum(), *probability[inside], probability[edge[1] + 1 :].sum()]
    counts = np.array([np.count_nonzero(draws == value) for value in k[inside]])
    observed = [np.count_nonzero(draws < k[edge[0]]), *counts, np.count_nonzero(draws > k[edge[1]])]
    return stats.chisquare(observed, np.array(expected) * draws.size).pvalue


def rounded(k, scale):
    return stats.norm.cdf((k + 0.5) / scale) - stats.norm.cdf((k - 0.5) / scale)


def zero_twice(k, scale):
    return np.exp(-((k / scale) ** 2) / 2) * (1 + (k == 0))


@pytest.mark.parametrize("scale", [1, 2, 3, 5, 12])
def test_small_scales_have_exactly_the_discrete_law(scale):
    draws = draw_discrete_gaussian(scale, 400_000)
    assert chi_square(draws, scale) > FALSE_ALARM
    assert chi_square(draws, scale, lambda k, s: np.exp(-((k / s) ** 2) / 2 * 1.03)) < FALSE_ALARM
    assert chi_square(draws, scale, zero_twice) < FALSE_ALARM
    if scale == 1:  # further up the two laws are too close to be told apart
        assert chi_square(draws, scale, rounded) < FALSE_ALARM


def opendp_draws(scale, size):
    """The same law from an independent program (Canonne, Kamath and Steinke's rejection from discrete Laplace)."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64"), size=size), l2_distance(T="f64")
    return np.array(make_gaussian(*space, scale=float(scale))([0] * size), dtype=np.int64)


@pytest.mark.parametrize("scale", [1, 7, 2**16 - 1, 2**16 + 1, 2**32, 2**40 + 12345, 2**53 - 1, 2**57, 2**58])
def test_the_law_is_that_of_opendp_at_every_scale(scale):
    ours, theirs = draw_discrete_gaussian(scale, 100_000), opendp_draws(scale, 10_000)
    if scale > 100:
        assert stats.ks_2samp(ours, theirs).pvalue > FALSE_ALARM
    spread = stats.f(ours.size, theirs.size)
    for factor, agrees in ((1.0, True), (0.8, False), (1.25, False)):
        ratio = np.mean((ours / scale * factor) ** 2) / np.mean((theirs / scale) ** 2)
        assert (2 * min(spread.cdf(ratio), spread.sf(ratio)) > FALSE_ALARM) == agrees


@pytest.mark.parametrize("scale", [2**20 + 7, 2**40, 2**57 + 2**20 + 3])
def test_large_scales_are_normal_with_uniform_low_bits_and_no_memory(scale):
    draws = draw_discrete_gaussian(scale, 300_000)
    assert stats.kstest(draws / scale, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(draws / scale * 1.05, "norm").pvalue < FALSE_ALARM
    for shift in (0, 5, 11):
        assert stats.chisquare(np.bincount((draws >> shift) & 63, minlength=64)).pvalue > FALSE_ALARM
    z = draws / scale
    for lag in (1, 2, 3):
        assert abs(np.corrcoef(z[lag:], z[:-lag])[0, 1]) < 6 / np.sqrt(z.size)
        assert abs(np.corrcoef(np.abs(z[lag:]), np.abs(z[:-lag]))[0, 1]) < 6 / np.sqrt(z.size)


# ------------------------------------------------------------------ words
def serve(monkeypatch, words, piece):
    """Let the sampler fetch pieces of a fixed stream."""
    left = [np.array(words, dtype=np.uint16)]

    def fetch(count):
        part, left[0] = left[0][:piece], left[0][piece:]
        assert part.size
        return part

    monkeypatch.setattr(discrete_gaussian, "_system_words", fetch)


@pytest.mark.parametrize("scale", [1, 1000, 2**57 + 1])
def test_numbers_are_the_same_function_of_the_words_whatever_is_fetched_at_a_time(monkeypatch, scale):
    words = np.random.default_rng(5).integers(0, WORD, 40_000)
    made = []
    for piece in (40_000, 1, 7, 100):
        serve(monkeypatch, words, piece)
        made.append(draw_discrete_gaussian(scale, 300).tolist())
    assert all(numbers == made[0] for numbers in made)


def test_every_call_asks_the_system_for_words_of_its_own(monkeypatch):
    asked, real = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or real(count))
    draws = np.concatenate([draw_discrete_gaussian(2**50, size) for size in (1, 1, 10)])
    assert len(asked) >= 3
    assert len(set(draws.tolist())) == 12


CLONES = """
import os, sys
from graphveil.privacy.noise import SecureSource
draw = SecureSource().discrete_gaussian
draw(2.0**40, 10)                               # the sampler has drawn before the fork
if sys.argv[1] == "namespace":                  # the child gets the number of its parent
    import ctypes
    assert os.getpid() == 1 and ctypes.CDLL(None, use_errno=True).unshare(0x20000000) == 0
children = []
for _ in range(1 if sys.argv[1] == "namespace" else 3):
    if (pid := os.fork()) == 0:
        assert sys.argv[1] != "namespace" or os.getpid() == 1
        os.write(1, (" ".join(map(str, draw(2.0**40, 20))) + "\\n").encode())
        os._exit(0)
    children.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
os.write(1, (" ".join(map(str, draw(2.0**40, 20))) + "\\n").encode())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("kind", ["fork", "namespace"])
def test_forks_and_processes_never_share_noise(kind):
    """Nor where the child has the process id of its parent, as in a sandbox inside a container."""
    inside = []
    if kind == "namespace":
        inside = ["unshare", "--pid", "--fork"]
        if shutil.which("unshare") is None or subprocess.run([*inside, "true"], check=False).returncode:
            pytest.skip("this user may not make a namespace")
    draws = []
    for _ in range(2):
        command = [*inside, sys.executable, "-W", "ignore", "-c", CLONES, kind]
        out = subprocess.run(command, capture_output=True, text=True, check=True)
        draws += [int(value) for line in out.stdout.splitlines() for value in line.split()]
    assert len(draws) == 2 * 20 * (2 if kind == "namespace" else 4)
    assert len(set(draws)) == len(draws)
