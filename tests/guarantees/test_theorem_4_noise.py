"""Theorem 4: the noise has the declared law, and lies on its lattice."""

import math

import numpy as np
import pytest
from scipy import stats

import graphveil as gv
from graphveil.exceptions import GuaranteeError
from graphveil.privacy.noise import SecureSource, SimulationSource
from graphveil.spec.quantization import MomentLayout, RowGrid
from helpers.exact_sums import asked, exact_total

BUDGET = gv.Budget(1.0, 1e-6)
FALSE_ALARM = 1e-7  # of each statistical test below; the controls are rejected with p-values far smaller


def fits(sample, sd):
    """Whether a sample looks like N(0, sd²): its variance and its whole distribution."""
    z = np.asarray(sample, dtype=float) / sd
    spread = stats.chi2(z.size)
    tail = 2 * min(spread.cdf((z**2).sum()), spread.sf((z**2).sum()))
    return tail > FALSE_ALARM and stats.kstest(z, "norm").pvalue > FALSE_ALARM


def assert_law(sample, sd):
    """Accept the declared standard deviation and reject 0.8 and 1.25 times it."""
    assert fits(sample, sd)
    assert not fits(sample, 0.8 * sd)
    assert not fits(sample, 1.25 * sd)


def residuals(releases):
    """Noise of releases of rows that are all zero: raw values minus the (zero) moments, in integer units."""
    out = {}
    for item in releases:
        (only,) = item.answers
        lattice = RowGrid.of(item.domain, item.augment)
        for name, values in only.values.items():
            out.setdefault(name, []).append(values * item.n_samples / lattice.unit**2)
    return {name: np.concatenate(parts) for name, parts in out.items()}


@pytest.mark.parametrize("random_state", [None, 7], ids=["secure", "seeded"])
def test_law_on_diagonal_and_off_diagonal(random_state):
    p = 150
    item = gv.release(
        np.zeros((50, p)),
        domain=gv.Domain(bounds=(-1, 1)),
        budget=BUDGET,
        random_state=random_state,
        assume_centered=True,
        adaptive=False,
    )
    step, noise = item.answers[0].step, residuals([item])
    assert noise["off_diagonal"].size == p * (p - 1) // 2
    assert_law(noise["off_diagonal"], step.sd("off_diagonal"))
    more = [
        gv.release(
            np.zeros((5, 2)),
            domain=gv.Domain(bounds=(-1, 1)),
            budget=BUDGET,
            random_state=seed,
            assume_centered=True,
            adaptive=False,
        )
        for seed in (range(1500) if random_state is not None else [None] * 1500)
    ]
    step, noise = more[0].answers[0].step, residuals(more)
    assert_law(noise["diagonal"], step.sd("diagonal"))
    assert_law(noise["trace"], step.sd("trace"))
    assert step.sd("off_diagonal") == pytest.approx(step.sd("diagonal") / math.sqrt(2))
    assert step.sd("trace") == step.sd("diagonal")


@pytest.mark.parametrize("augment", ["mean", gv.Labels(["a", "b"])], ids=["mean", "labels"])
def test_law_on_everything_that_is_appended(augment):
    """Cross block, class counts and trace, unseeded: each noisy group has its declared law."""
    p, rows = 40, np.zeros((50, 40))
    source = (rows, ["neither"] * 50) if isinstance(augment, gv.Labels) else rows
    items = [
        gv.release(source, domain=gv.Domain(bounds=(-1, 1)), budget=BUDGET, **asked(augment), adaptive=False)
        for _ in range(25)
    ]
    step, layout = items[0].answers[0].step, MomentLayout(p, items[0].augment)
    unit = RowGrid.of(items[0].domain, items[0].augment).unit
    raw = {
        name: np.array([i.answers[0].values[name] * 50 / unit**2 for i in items])
        for name in ("diagonal", "off_diagonal")
    }
    assert raw["diagonal"].shape == (25, layout.n_diagonal)
    assert_law(raw["diagonal"][:, :p].ravel(), step.sd("diagonal"))
    inside = p * (p - 1) // 2
    assert_law(raw["off_diagonal"][:, :inside].ravel(), step.sd("off_diagonal"))
    assert_law(raw["off_diagonal"][:, inside:].ravel(), step.sd("off_diagonal"))


def test_law_of_class_counts():
    domain, augment = gv.Domain(bounds=(-1, 1)), gv.Labels(list(range(200)))
    items = [
        gv.release((np.zeros((3, 2)), [-1] * 3), domain=domain, budget=BUDGET, **asked(augment), adaptive=False)
        for _ in range(12)
    ]
    unit = RowGrid.of(items[0].domain, augment).unit
    counts = np.concatenate([item.answers[0].values["diagonal"][2:] * 3 / unit**2 for item in items])
    assert_law(counts, items[0].answers[0].step.sd("diagonal"))


def test_groups_of_noise_are_independent():
    """No group is a copy of another: correlations of standardised noise between groups vanish."""
    domain = gv.Domain(bounds=(-1, 1))
    items = [
        gv.release(np.zeros((3, 3)), domain=domain, budget=BUDGET, assume_centered=True, adaptive=False)
        for _ in range(800)
    ]
    noise = np.array([np.concatenate(list(item.answers[0].values.values())) for item in items])
    correlation = np.corrcoef(noise.T)
    assert np.abs(correlation - np.eye(7)).max() < 6 / math.sqrt(800)


def test_noise_is_added_to_integers_and_not_to_floats():
    """A seeded release at large sums equals the sum in Python integers, converted once at the end."""
    rows = np.random.default_rng(0).uniform(0.8, 1.0, size=(300_000, 2))
    domain = gv.Domain(bounds=(-1, 1), n_features=2)
    item = gv.release(
        rows, domain=domain, budget=gv.Budget(20.0, 1e-6), random_state=5, assume_centered=True, adaptive=False
    )
    step, source = item.answers[0].step, SimulationSource(5)
    total = exact_total(rows, domain)
    exact = {
        "diagonal": [total[0, 0], total[1, 1]],
        "off_diagonal": [total[0, 1]],
        "trace": [total[0, 0] + total[1, 1]],
    }
    factor = RowGrid.of(domain, None).unit ** 2 / len(rows)
    assert all(int(float(value)) != value for value in (total[0, 0], total[0, 1])), "no float holds these sums"
    for group in step.groups:
        drawn = source.discrete_gaussian(math.ldexp(group.sd, -step.lattice), group.count)
        noisy = [(value << -step.lattice) + int(noise) for value, noise in zip(exact[group.name], drawn, strict=True)]
        expected = np.array([float(value) for value in noisy]) * 2.0**step.lattice * factor
        np.testing.assert_array_equal(item.answers[0].values[group.name], expected)


def test_law_in_users_units():
    """`noise_sd` is what repeated releases of the same rows really scatter by, trace refinement and mean included."""
    rng = np.random.default_rng(3)
    rows = rng.normal(loc=[1.0, 0.0, -1.0], size=(300, 3))
    domain = gv.Domain(bounds=([-5, -9, -5], [5, 9, 8]))
    for augment in (None, "mean"):
        items = [
            gv.release(
                rows, domain=domain, budget=gv.Budget(8.0, 1e-6), random_state=s, **asked(augment), adaptive=False
            )
            for s in range(1500)
        ]
        moments = np.array([item.second_moment for item in items])
        expected = np.sqrt(np.mean([item.noise_sd**2 for item in items], axis=0))
        # The mean's noise is plugged in at its noisy value, which widens noise_sd² by a few percent here.
        np.testing.assert_allclose(moments.std(axis=0) / expected, 1.0, atol=0.08)
        clipped = np.clip(rows, *map(np.array, domain.bounds))
        truth = np.cov(clipped.T, bias=True) if augment else clipped.T @ clipped / len(rows)
        standard_error = expected / math.sqrt(len(items))
        np.testing.assert_array_less(np.abs(moments.mean(axis=0) - truth), 5 * standard_error + 1e-4)


def test_paper_mechanism_has_equal_noise_on_the_triangle_and_no_trace():
    p = 60
    item = gv.release(
        np.zeros((50, p)),
        domain=gv.Domain(data_norm=1.0),
        budget=gv.Budget(0.5, 1e-3),
        mechanism="paper",
        assume_centered=True,
        adaptive=False,
    )
    step, noise = item.answers[0].step, residuals([item])
    assert set(noise) == {"diagonal", "off_diagonal"}
    beta = math.sqrt(2) / 50 * math.sqrt(2 * math.log(1.25 / 1e-3)) / 0.5  # Algorithm 1, step 2
    assert item.noise_scale == pytest.approx(beta, rel=1e-4)
    assert step.sd("diagonal") == step.sd("off_diagonal")
    assert_law(np.concatenate([noise["off_diagonal"], noise["diagonal"]]), step.sd("off_diagonal"))


def test_the_trace_is_better_known_than_the_diagonal():
    """Theorem 2's gain: the variance of the trace falls from pσ² to pσ²/(p+1)."""
    p = 8
    items = [
        gv.release(
            np.zeros((5, p)),
            domain=gv.Domain(bounds=(-1, 1)),
            budget=BUDGET,
            random_state=s,
            assume_centered=True,
            adaptive=False,
        )
        for s in range(1500)
    ]
    traces = np.array([np.trace(item.second_moment) for item in items])
    assert_law(traces, items[0].noise_scale * math.sqrt(p / (p + 1)))


def on_lattice(item):
    """Distance of the raw values, in lattice steps, from integers."""
    step = item.answers[0].step
    unit = RowGrid.of(item.domain, item.augment).unit
    steps = np.concatenate(list(item.answers[0].values.values())) * item.n_samples / unit**2 / 2.0**step.lattice
    assert np.abs(steps).max() < 2**50
    return off_lattice(steps)


def off_lattice(steps):
    return np.abs(steps - np.rint(steps)) / np.maximum(np.abs(steps), 1)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("random_state", [None, 3])
def test_every_output_is_on_the_lattice_whatever_the_data(value, random_state):
    rows = np.full((2, 4), value)
    item = gv.release(
        rows,
        domain=gv.Domain(bounds=(-1, 1)),
        budget=BUDGET,
        random_state=random_state,
        assume_centered=True,
        adaptive=False,
    )
    assert on_lattice(item).max() <= 2.0**-51  # one rounding of the division by n and the multiplication by unit²


def test_the_lattice_check_sees_a_float_gaussian():
    steps = np.random.default_rng(0).normal(size=1000) * 2.0**41
    assert off_lattice(steps).max() > 2.0**-45


@pytest.mark.parametrize("source", [SecureSource(), SimulationSource(0)])
@pytest.mark.parametrize(
    ("scale", "size"), [(0.0, 3), (-1.0, 3), (math.nan, 3), (math.inf, 3), (2.0**59, 3), (1.5, 3), (1.0, -1)]
)
def test_requests_that_the_sampler_is_not_proved_for_are_refused(source, scale, size):
    with pytest.raises(GuaranteeError):
        source.discrete_gaussian(scale, size)


def test_size_zero_and_odd_sizes():
    for size in (0, 1, 2, 2**15 - 1, 2**15, 2**15 + 1, 100_000):
        assert SecureSource().discrete_gaussian(2.0**40, size).shape == (size,)


def test_lattice_bound_on_total_variation():
    """TV(discrete Gaussian, rounded Gaussian) ≤ (g/σ)²/16, by direct summation, and the constant is not wasteful."""
    for h in (1.0, 0.5, 0.1, 0.01):
        k = np.arange(-math.ceil(12 / h), math.ceil(12 / h) + 1)
        discrete = np.exp(-((k * h) ** 2) / 2)
        discrete /= discrete.sum()
        rounded = stats.norm.cdf((k + 0.5) * h) - stats.norm.cdf((k - 0.5) * h)
        distance = np.abs(discrete - rounded).sum() / 2
        assert h**2 / 64 <= distance <= h**2 / 16


def test_a_seed_repeats_and_no_seed_does_not():
    rows = np.ones((20, 3))
    domain = gv.Domain(bounds=(-2, 2))
    seeded = [
        gv.release(rows, domain=domain, budget=BUDGET, random_state=5, assume_centered=True, adaptive=False)
        for _ in range(2)
    ]
    assert seeded[0] == seeded[1]
    assert gv.release(rows, domain=domain, budget=BUDGET, assume_centered=True, adaptive=False) != gv.release(
        rows, domain=domain, budget=BUDGET, assume_centered=True, adaptive=False
    )
