"""The audit catches each planted bug: the real code with one fault, attacked through its public door.

Runs are chosen so that each bug escapes with probability below 10⁻⁵, by the binomial law of the guesses.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.exceptions import GuaranteeError
from graphveil.ledger import account
from graphveil.privacy import calibration, mechanisms, noise
from graphveil.released import release
from graphveil.rows import accumulators, encoding, people, weights
from graphveil.spec import sensitivity
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.quantization import PERSON_WEIGHT, MomentLayout

draw = noise.SecureSource.discrete_gaussian
draw_noise = mechanisms.draw_noise


def at_four_fifths(patch):
    patch.setattr(noise.SecureSource, "discrete_gaussian", lambda self, scale, n: draw(self, 0.8 * scale // 1, n))


def unsymmetrised(patch):
    """Noise on all p² entries, then the mean of the matrix and its transpose: half the variance off the diagonal."""

    def drawn(step, source):
        noise, transposed = draw_noise(step, source), draw_noise(step, source)
        return noise | {"off_diagonal": (noise["off_diagonal"] + transposed["off_diagonal"]) // 2}

    patch.setattr(mechanisms, "draw_noise", drawn)


def trace_without_noise(patch):
    patch.setattr(mechanisms, "draw_noise", lambda *a: draw_noise(*a) | {"trace": np.zeros(1, dtype=np.int64)})


def trace_not_counted(patch):
    """The matrix alone moves by R² when a row vanishes; with the trace it is √2 R²."""
    whole = sensitivity.moment_sensitivity
    patch.setattr(sensitivity, "moment_sensitivity", lambda *a: whole(*a) / math.sqrt(2.0))


def box_not_clipped(patch):
    def encode(rows, centre, scale, ends, levels, out):
        out[:, : rows.shape[1]] = np.rint((rows - centre) * scale * levels)

    patch.setattr(encoding, "_encode_with_bounds", encode)


def ball_not_clipped(patch):
    def encode(rows, centre, scale, ends, inner, norm, ball, row_square, out):
        out[:, : rows.shape[1]] = np.rint((rows - centre) * scale * ball / norm)

    patch.setattr(encoding, "encode_with_norm", encode)


def mapped_rows_not_clipped(patch):
    def encode(rows, cuts, low, high, matrix, offset, inside, product, inner, norm, ball, row_square, out):
        out[:, : rows.shape[1]] = np.rint((np.clip(rows, low, high) @ matrix - offset) * ball / norm)

    patch.setattr(accumulators, "encode_mapped", encode)


def missing_left_as_they_are(patch):
    """NaN becomes the largest lattice point instead of the centre, far outside of the bounds."""
    encode_box = encoding._encode_with_bounds

    def encode(rows, centre, scale, ends, levels, out):
        encode_box(rows, centre, scale, ends, levels, out)
        out[:, : rows.shape[1]][np.isnan(rows)] = 4.0 * levels

    patch.setattr(encoding, "_encode_with_bounds", encode)


def radius_halved(patch):
    whole = sensitivity.moment_sensitivity
    patch.setattr(sensitivity, "moment_sensitivity", lambda square, people: whole(square // 4, people))


def one_row_a_person(patch):
    whole = sensitivity.moment_sensitivity
    patch.setattr(sensitivity, "moment_sensitivity", lambda square, people: whole(square, 1))


def constant_not_counted(patch):
    """The norm of the row without what was appended to it."""
    whole = sensitivity.moment_sensitivity
    patch.setattr(sensitivity, "moment_sensitivity", lambda square, people: whole(square // 3, people))


def float_sampler(patch):
    generator = np.random.default_rng()
    patch.setattr(noise.SecureSource, "discrete_gaussian", lambda self, scale, n: scale * generator.standard_normal(n))


def one_seed(patch):
    """Every release begins with the same seed."""
    rounded = noise.SimulationSource.discrete_gaussian

    class Same(noise.SimulationSource):
        seeded = False
        discrete_gaussian = rounded

    patch.setattr(noise, "noise_source", lambda random_state: Same(7))


def seed_of_the_second(patch):
    """Seeds from a clock that ticks rarely: they are used again, but never known."""
    entropy = np.random.default_rng()

    class Clocked(noise.SimulationSource):
        seeded = False

    patch.setattr(noise, "noise_source", lambda random_state: Clocked(int(entropy.integers(60))))


def seed_in_every_draw(patch):
    """Fresh seeds, but each group of numbers begins with it anew: the noise of the trace is that of the diagonal."""
    entropy = np.random.default_rng()

    class Anew(noise.SimulationSource):
        seeded = False

        def __init__(self):
            self.seed = int(entropy.integers(2**62))

        def discrete_gaussian(self, scale, size):
            return noise.SimulationSource(self.seed).discrete_gaussian(scale, size)

    patch.setattr(noise, "noise_source", lambda random_state: Anew())


def first_round_charged_only(patch):
    whole = calibration.whole_release

    def forgetful(*facts, first, **others):
        return replace(whole(*facts, first=first, **others), mu=first.mu, eta=first.eta)

    patch.setattr(calibration, "whole_release", forgetful)


def and_nobody_counts(patch):
    first_round_charged_only(patch)
    patch.setattr(account.Account, "check_covers", lambda self, steps: None)
    patch.setattr(release, "check_release", lambda *facts: None)


def weights_forgotten(patch):
    """Every row of a person counts as if they had no other."""
    weigh = people.People.weigh
    full = lambda self, keys, own: (np.full(len(keys), PERSON_WEIGHT), weigh(self, keys, own)[1])  # noqa: E731
    patch.setattr(people.People, "weigh", full)


def weights_not_cut(patch):
    """A weight counts as it is, up to eight times the largest."""
    cut = weights.own_weights
    patch.setattr(weights, "own_weights", lambda cells, largest: cut(cells, 8.0 * largest) * 8)


def count_without_noise(patch):
    patch.setattr(
        mechanisms,
        "draw_noise",
        lambda step, source: {
            name: 0 * values if name == "count" else values for name, values in draw_noise(step, source).items()
        },
    )


def half_a_person_added(patch):
    whole = sensitivity.added_moment_sensitivity
    patch.setattr(sensitivity, "added_moment_sensitivity", lambda *a: whole(*a) / 2.0)


EITHER = {"likelihood ratio", "learned direction"}  # noise decides which of them shows more
# bug, neighbours, ε, runs a side, attacks that may find it
BUGS = [
    (at_four_fifths, "orthogonal", 16.0, 1700, EITHER),
    (unsymmetrised, "orthogonal", 16.0, 700, EITHER),
    (trace_without_noise, "vanishing", 1.0, 120, {"learned direction", "low bits"}),
    (trace_not_counted, "vanishing", 16.0, 700, EITHER),
    (box_not_clipped, "orthogonal", 4.0, 120, EITHER),
    (box_not_clipped, "frame", 4.0, 120, EITHER),
    (ball_not_clipped, "long rows", 4.0, 120, EITHER),
    (mapped_rows_not_clipped, "adaptive", 4.0, 60, EITHER),
    (missing_left_as_they_are, "missing", 4.0, 120, EITHER),
    (radius_halved, "long rows", 4.0, 150, EITHER),
    (one_row_a_person, "two rows a person", 8.0, 250, EITHER),
    (weights_forgotten, "people", 4.0, 120, EITHER),
    (weights_forgotten, "added people", 4.0, 120, EITHER),
    (weights_not_cut, "weights", 4.0, 120, EITHER),
    (count_without_noise, "added", 1.0, 120, {"learned direction", "low bits", "seen before"}),
    (half_a_person_added, "added", 8.0, 250, EITHER),
    (constant_not_counted, "mean", 4.0, 200, EITHER),
    (float_sampler, "one column", 4.0, 1500, {"low bits"}),
    (one_seed, "orthogonal", 1.0, 120, {"learned direction", "seen before"}),
    (seed_of_the_second, "orthogonal", 1.0, 400, {"seen before"}),
    (seed_in_every_draw, "long rows", 1.0, 120, {"learned direction"}),
    (and_nobody_counts, "private norm", 16.0, 80, EITHER),
]


@pytest.mark.parametrize(
    ("bug", "pair", "epsilon", "runs", "attacks"), BUGS, ids=lambda v: getattr(v, "__name__", None)
)
def test_a_planted_bug_is_caught(bug, pair, epsilon, runs, attacks, monkeypatch):
    bug(monkeypatch)
    found = gv.audit(gv.Budget(epsilon, 1e-6), pair=pair, runs=runs)
    assert found.broken, found
    assert found.attack in attacks


def test_the_gate_itself_notices_a_round_that_was_not_charged(monkeypatch):
    first_round_charged_only(monkeypatch)
    with pytest.raises(GuaranteeError, match="cost more than was charged"):
        gv.audit(gv.Budget(16.0, 1e-6), pair="private norm", runs=10)


def test_a_wrong_norm_in_the_clip_alone_is_harmless(monkeypatch):
    """The integer row is checked against the bound that the noise was made for, whatever came before."""
    monkeypatch.setattr(encoding.Encoder, "_norm", property(lambda self: 0.5, lambda self, value: None), raising=False)
    assert not gv.audit(gv.Budget(4.0, 1e-6), pair="long rows", runs=200).broken


@pytest.mark.nightly
def test_a_round_of_the_adaptive_protocol_that_was_not_charged(monkeypatch):
    """The last round, about half of μ²."""
    charge = account.Account.charge
    monkeypatch.setattr(
        account.Account, "charge", lambda self, event: charge(self, replace(event, mu=event.mu * math.sqrt(0.5)))
    )
    with pytest.raises(GuaranteeError):  # noticed before it is drawn
        gv.audit(gv.Budget(16.0, 1e-6), pair="adaptive", runs=100)
    monkeypatch.setattr(ReleaseEvent, "covers", lambda self, steps: True)  # nor at the end, when it is put together
    assert gv.audit(gv.Budget(16.0, 1e-6), pair="adaptive", runs=1500).broken


def test_the_layout_that_the_bugs_rely_on():
    """Two columns have one number off the diagonal: the orthogonal pair moves it and nothing else."""
    assert MomentLayout(2, None).n_off_diagonal == 1
