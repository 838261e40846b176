"""The adaptive recipe: which questions to ask, in which order, with which share of the budget.

A generator that yields questions and is sent noisy answers. It lives here, where neither rows nor the sampler can be
imported, so that later questions depend on earlier *answers* alone: the layers of the package are the proof. The
gate runs it against the rows (``gate.release(...)``), and :func:`graphveil.recover` runs it again
against the answers in a release, to the same end.

Why it is made like this (measured on eleven real and a dozen synthetic data sets; ``docs/accuracy.md``):

1. *Columns.* With bounds, a first mean and a private variance of every column, with its standard deviation. Columns
   whose variance drowns (bounds far too wide) are counted on dyadic cells, and re-bounded to the window that holds
   them.
2. *Rounds.* Three times: whiten with the estimate so far; a histogram of norms tells the radius that balances what
   clipping cuts off against noise; moments of the shortened rows, with an appended constant for the mean; denoise.
   Where all columns lost the same in the second, as heavy tails of the whole row do, the third may cut more.
3. *No runaway.* Clipping a skewed column makes its variance too small, the next whitening blows the column up, and even
   more is clipped. So every round's diagonal is projected onto the private interval of the columns' variances.
4. *Excess.* In the last round, what clipping cut off is released as a second matrix, where that can be seen.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.recovery.columns import Columns, Setting, column_rounds
from graphveil.recovery.denoise import DETECTION, Denoised, denoise, refined_trace_sd
from graphveil.recovery.radius import Edges, Radius, choose_radius, norm_edges
from graphveil.spec.augment import Constant
from graphveil.spec.lattice import MAX_SQUARE, MomentLayout
from graphveil.spec.queries import Excess, Moments, NormCounts, Query, RowMap
from graphveil.spec.rounds import Round

__all__ = ["Estimate", "adaptive_rounds", "follow"]

Vector = NDArray[np.float64]
Asked = list[tuple[Query, float]]
T = TypeVar("T")

_CLEAR = ((0.08, 0.22, 0.70), 0.06)  # rounds, of what the columns leave over; histogram of norms, of a round
_NOISY = ((0.15, 0.25, 0.60), 0.10)  # where the first histogram would be too noisy otherwise
_BLIND = 0.03  # a count that is noisier than this share of the rows says nothing about their norms
_EXCESS = 0.06  # of the last round: what clipping cut off
_NOT_GIVEN_BACK = 0.3  # of what clipping took from a column, where the whole tail is seen and the excess asked for
_SHARPEST = 1.25  # of the noise that some columns have beyond that of most, no eigenvalue is taken to be below
_CONSTANT = 1.0  # appended to whitened rows, whose columns have variance about 1
_GUESS = 1.5  # radius of whitened rows, in √p, where nothing can be known of their norms
_SAFE = 1.0 - 2.0**-40  # shares add up to less than 1 after every rounding


@dataclass(frozen=True)
class Estimate:
    """What the recipe knows, in scaled units.

    Attributes
    ----------
    covariance : (p, p) array
    location : (p,) array
    columns : Columns
        What is known of each column's variance beforehand.
    whitened, unwhiten, spread : (p, p) arrays
        The covariance of whitened rows before denoising, the way back, and how much more noise there is along some
        directions than along others.
    noise : float
        What clipping may have changed unevenly (``Radius.uneven``) is counted as if it were noise of the same size, in
        all directions.
    kurtosis : float
        Of the whitened norms: sampling noise of second moments has this many times the variance of Gaussian rows'.
    feared : float
        Share of what clipping takes that may be missing from some columns more than from others.
    undetermined : (p,) array of bool
        Columns whose variance is less than three standard deviations of its noise.
    denoised : Denoised
        The last round.
    n_eff : float
    """

    covariance: Vector
    location: Vector
    columns: Columns
    undetermined: NDArray[np.bool_]
    whitened: Vector
    unwhiten: Vector
    spread: Vector
    noise: float
    kurtosis: float
    feared: float
    denoised: Denoised
    n_eff: float

    @property
    def noisy(self) -> Vector:
        """The covariance before denoising: the true one plus ``back`` E ``back``'.

        E is a symmetric Gaussian matrix with standard deviation ``noise`` on the diagonal and ``noise``/√2 off it.
        """
        return _symmetric(self.unwhiten @ self.whitened @ self.unwhiten.T)

    @property
    def back(self) -> Vector:
        """From the coordinates in which the noise is the same in all directions."""
        return np.asarray(self.unwhiten @ np.linalg.cholesky(self.spread))


def follow(recipe: Generator[Asked, list[Round], T], answer: Callable[[Asked], list[Round]]) -> T:
    """Put the questions of a recipe to ``answer`` until it ends, and return what it returns."""
    try:
        asked = next(recipe)
        while True:
            asked = recipe.send(answer(asked))
    except StopIteration as end:
        result: T = end.value
        return result


def adaptive_rounds(setting: Setting) -> Generator[Asked, list[Round], Estimate]:
    """Ask, and return an :class:`Estimate` in the end."""
    p, unit = setting.n_features, setting.lattice.unit
    columns, left = yield from column_rounds(setting)
    location, whiten = columns.location, np.diag(np.maximum(columns.variance, _finite(columns.sd)) ** -0.5)
    parts, histogram = _plan(setting, left)
    feared = 1.0
    for number, part in enumerate(parts):
        share = part * left * _SAFE
        row_map = RowMap.of(whiten * unit, _into_ball(location / unit), columns.low, columns.high)
        cap = _reach(columns, row_map, setting) * _spectral_bound(row_map.matrix / unit)
        if histogram:
            noise = setting.noise(histogram * share)
            edges = norm_edges(p, cap, noise)
            (norms,) = yield [(NormCounts(row_map, edges.inner), histogram * share)]
            last = number == len(parts) - 1
            rest = (1.0 - histogram) * share
            questions, radius = _questions(setting, norms, edges, row_map, share, rest, feared, last=last)
            # What clipping may have taken from one column, and how well the share it took is known at all.
            counted = noise * np.sqrt(edges.upper.size)
            given_back = radius.is_followed and len(questions) > 1
            lost = radius.bias * (_NOT_GIVEN_BACK if given_back else 1.0)
            even = feared < 1.0 and radius.loses_evenly
            bias = float(np.hypot(lost * (1.0 if even else np.sqrt(p)), counted))
        else:
            guess = min(cap, _GUESS * np.sqrt(p)) if setting.boxed else cap
            constant = 0.0 if setting.centred else min(_CONSTANT, guess)
            radius, bias = Radius(guess, kept=1.0, tail=guess, kurtosis=1.0, uneven=0.0, bias=0.0), 0.0
            even = False
            questions = [(Moments(radius.value, constant, row_map), share)]
        answers = yield questions
        last_bias = bias if number == len(parts) - 1 else None
        estimate = _absorb(setting, columns, answers, radius, even=even, first=number == 0, last_bias=last_bias)
        if number < len(parts) - 1:
            location, whiten = estimate.location, _principal_whitening(estimate.covariance)
            feared = estimate.feared
    return estimate


def _plan(setting: Setting, left: float) -> tuple[tuple[float, ...], float]:
    """Shares of the rounds and of their histograms, from public numbers.

    With a public norm only and histograms that would say nothing, one round at that norm is better.
    """
    for rounds, histogram in (_CLEAR, _NOISY):
        if setting.noise(histogram * rounds[0] * left) < _BLIND:
            return rounds, histogram
    return (1.0,), 0.0


def _questions(
    setting: Setting,
    norms: Round,
    edges: Edges,
    row_map: RowMap,
    share: float,
    rest: float,
    feared: float,
    *,
    last: bool,
) -> tuple[Asked, Radius]:
    """Moments at the radius that the norms suggest, and the excess where it can be seen; and that radius."""
    p = setting.n_features
    excess = _EXCESS * share if last else 0.0
    radius = choose_radius(norms.values["counts"], norms.sd("counts"), edges, p, setting.noise(rest - excess), feared)
    beyond = radius.tail**2 - radius.value**2
    is_known = radius.loses_evenly or radius.tail < 1.05 * radius.value
    if excess and (is_known or beyond * setting.noise(excess) * np.sqrt(2.0 * p) > 1.0):
        excess = 0.0  # what was cut off is known without asking, or would drown
    constant = 0.0 if setting.centred else min(_CONSTANT, radius.value)
    questions: Asked = [(Moments(radius.value, constant, row_map), rest - excess)]
    if excess:
        questions.append((Excess(row_map, radius.value, radius.tail), excess))
    return questions, radius


def _absorb(
    setting: Setting,
    columns: Columns,
    answers: list[Round],
    radius: Radius,
    *,
    even: bool,
    first: bool,
    last_bias: float | None,
) -> Estimate:
    """From the noisy moments of whitened rows to a new estimate; the last round comes with a guess of its bias."""
    p, unit = setting.n_features, setting.lattice.unit
    moments, query = answers[0], answers[0].query
    assert isinstance(query, Moments)
    assert query.row_map is not None
    back, middle = query.row_map.inverse(unit).T, query.row_map.centre * unit
    layout = MomentLayout(p, None if setting.centred else Constant())
    lattice = query.lattice(p)
    constant = lattice.constant * lattice.unit
    full = layout.refined(moments.values, constant**2)
    noisy, sd = full[:p, :p], moments.sd("diagonal")
    location, kept = middle, radius.kept
    if len(answers) > 1:
        cut_off = MomentLayout(p, None).refined(answers[1].values, 0.0)
        sd_off = answers[1].sd("diagonal")
        noisy = noisy + denoise(cut_off, sd_off, trace_sd=refined_trace_sd(sd_off, p)).matrix
        kept = 1.0
    noisy, sd = noisy / kept, sd / kept
    spread = np.eye(p)
    if not setting.centred:
        mean, mean_sd = full[:p, p] / constant, moments.sd("off_diagonal") / constant
        # Shrunk towards the centre that the rows have already (James and Stein): the square of a mean that is all noise
        # would be the largest error of all.
        trust = max(0.0, 1.0 - p * mean_sd**2 / float(mean @ mean))
        noisy = noisy - trust**2 * (np.outer(mean, mean) - mean_sd**2 * np.eye(p))
        location = middle + back @ (trust * mean)
        # A mean that is not near zero brings noise of its own: where that of second moments and mean together is E,
        # M - mm' has JEJ' with J = (I, -m).
        spread += 2.0 * (trust * mean_sd / sd) ** 2 * np.outer(mean, mean)
    n, whitened = setting.n_samples, noisy
    along = np.sqrt(np.ones(p) if first else _along_axes(np.diag(noisy), sd))
    noisy = noisy / along[:, None] / along
    result = denoise(
        noisy,
        sd,
        trace_sd=refined_trace_sd(sd, p),
        n_samples=n if first else None,
        detection=DETECTION if first else 0.0,  # later, the error of the round before is certainly there
        last=last_bias is not None,
    )
    covariance = (back * along) @ result.matrix @ (back * along).T
    variance, noise = np.diag(covariance), sd * (back**2).sum(axis=1)
    if last_bias is not None:
        # What all columns lost alike and the norms did not show is given back.
        common = columns.common_factor(variance, noise) if even else 1.0
        settled = columns.weighed_against(variance / common, noise / common, last_bias)
    else:
        # The projection that stops the runaway: no column may leave the private interval of its variance.
        settled = np.clip(variance, columns.lowest, columns.highest)
    scale = np.sqrt(settled / variance)
    covariance = covariance * scale[:, None] * scale
    if last_bias is not None:
        covariance = _no_sharper_than_noise(covariance, noise / variance)
    n_eff = 1.0 / (1.0 / n + result.relative_sd**2 / 2.0)
    # Of rows whose norms look Gaussian the radius knows already how evenly they lose.
    looks_heavy = not first and radius.uneven > 0.5 * (1.0 - radius.kept)
    return Estimate(
        covariance=_symmetric(covariance),
        location=location,
        columns=columns,
        undetermined=3.0 * noise * scale**2 > np.diag(covariance),
        whitened=whitened,
        unwhiten=scale[:, None] * back,
        spread=spread,
        noise=float(np.hypot(sd, np.sqrt(2.0 / p) * radius.uneven)),
        kurtosis=radius.kurtosis,
        feared=columns.unevenness(variance, noise, 1.0 - radius.kept) if looks_heavy else 1.0,
        denoised=result,
        n_eff=float(n_eff),
    )


def _no_sharper_than_noise(covariance: Vector, blur: Vector) -> Vector:
    """Correlations whose spectrum does not fall below its noise, where some columns have more of that than most.

    Of a rare column clipping leaves little, of which ``blur`` is the relative noise; brought back to its variance, its
    correlations are as noisy, and two such columns may look like one. What is common to all columns was denoised.
    """
    least = _SHARPEST * np.sqrt(np.maximum(blur**2 - np.median(blur) ** 2, 0.0))
    sd = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(sd, sd)
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(correlation - np.diag(least))
        return covariance  # every direction is above its noise
    values, vectors = np.linalg.eigh(correlation)
    found = (vectors * np.maximum(values, vectors.T**2 @ least)) @ vectors.T
    sd = sd / np.sqrt(np.diag(found))
    return np.asarray(found * np.outer(sd, sd))


def _symmetric(matrix: Vector) -> Vector:
    return (matrix + matrix.T) / 2.0


def _principal_whitening(covariance: Vector) -> Vector:
    """Rows times this have uncorrelated columns of variance 1, one for each principal axis of the estimate so far."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(values))


def _along_axes(diagonal: Vector, sd: float) -> Vector:
    """Variances along the axes of the previous estimate, each known to within ``sd``: far better than a free direction.

    Deviations from their mean are shrunk as far as all of them together say, and less where one stands out.
    """
    p = diagonal.size
    mean = float(diagonal.mean())
    if sd * np.sqrt(2.0 * np.log(max(p, 2))) > 0.5 * mean:
        return np.ones(p)  # the axes themselves are not known
    deviation = diagonal - mean
    between = max(float(np.mean(deviation**2)) - sd**2, 0.0)
    common = between / (between + sd**2)
    alone = 1.0 - 2.0 * np.log(max(p, 2)) * sd**2 / np.maximum(deviation**2, 1e-300)
    kept = np.maximum(common, np.maximum(alone, 0.0))
    return np.asarray(np.maximum(mean + kept * deviation, 0.02 * mean))


def _finite(sd: Vector) -> Vector:
    return np.where(np.isfinite(sd), sd, 0.0)


def _into_ball(centre: Vector) -> Vector:
    """A centre that rounding keeps inside the ball of the rows."""
    norm = float(np.linalg.norm(centre))
    limit = np.sqrt(MAX_SQUARE) - np.sqrt(centre.size)
    return centre * min(1.0, limit / norm) if norm > 0.0 else centre


def _reach(columns: Columns, row_map: RowMap, setting: Setting) -> float:
    """How far a row can be from the centre, in scaled units."""
    unit = setting.lattice.unit
    if setting.boxed:
        farthest = np.maximum(columns.high - row_map.centre, row_map.centre - columns.low)
        return float(np.linalg.norm(farthest) * unit)
    return setting.radius + float(np.linalg.norm(row_map.centre) * unit)


def _spectral_bound(matrix: Vector) -> float:
    """An upper bound of the spectral norm, exact for diagonal matrices."""
    return float(np.sqrt(np.linalg.norm(matrix, 1) * np.linalg.norm(matrix, np.inf)))
