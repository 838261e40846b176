"""The adaptive protocol: which queries to ask, in which order, with which share of the budget.

A generator that yields queries and is sent noisy answers. It lives here, where neither rows nor the sampler can be
imported, so that later queries depend on earlier *answers* alone: the layers of the package ensure it. The gate runs it
against the rows (``gate.release(...)``), and :func:`graphveil.recover` runs it again against the answers in a release,
to the same end.

The reasons for its steps (measured: ``docs/accuracy.md``):

1. *Columns.* With bounds, a first mean and a private variance of every column, with its standard deviation.
2. *Rounds.* Three times: whiten with the estimate so far; a histogram of norms tells the radius that balances what
   clipping cuts off against noise; moments of the shortened rows, with an appended constant for the mean; denoise.
   Where all columns lost the same in the second, as heavy tails of the whole row do, the third may cut more. Records
   that are too few for histograms in three rounds get one round; where it can tell hardly more than a scale, a coarse
   histogram finds the bulk of the norms for its radius.
3. *One account.* Clipping makes the variance of a skewed column too small, and the next whitening would blow it up, so
   that even more is clipped. So after every round the variances are settled by all answers about them together
   (:mod:`graphveil.recovery.column_variances`), and what remains unsure is kept beside them.
4. *Room.* A rare event has its variance, and its covariances with everything else, in rows that are long once it is
   divided by its standard deviation. The last round divides such columns by more, so that these rows are not clipped.
5. *Clipped tail.* In the last round, what clipping cut off is asked for as a second matrix, where that can be seen.
6. *Bulk.* Where the first round has seen next to nothing of a column, because its bounds are far too wide, counts of
   cells tell where nearly all of its rows lie, and the second round looks there. Its bounds stay what they are.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix, Vector
from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.stage import PlannedStep, QueryBatch
from graphveil.recovery.blind_clipping import uneven_gaussian_loss
from graphveil.recovery.clipped_cells import ClippedRound
from graphveil.recovery.clipping_radius import (
    MOST_BINS,
    Radius,
    bulk_norm,
    choose_radius,
    coarse_edges,
    hidden_rows,
    norm_edges,
)
from graphveil.recovery.column_scales import (
    Bulk,
    Columns,
    column_rounds,
    column_steps,
    count_bulk,
    has_few_records,
    has_hardly_a_scale,
)
from graphveil.recovery.column_variances import Prior, RoundView, VariancePosterior, settle_variances, variance_prior
from graphveil.recovery.hidden_tails import chance_of_hidden_tail, hidden_tail_sd
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.recovery.rare_events import (
    UNCANCELLED,
    errors_of_lost,
    likeness_to_events,
    lost_beside,
    lost_covariances,
    make_room,
    mean_shift,
    restoring,
    shrink_rare,
    single_errors,
)
from graphveil.recovery.shrinkage import Denoised, denoise, positive_upward_biased
from graphveil.recovery.uncertain_directions import raise_uncertain_directions
from graphveil.recovery.uneven_loss import UnevenLoss
from graphveil.recovery.whitened_moments import WhitenedMoments, diagonal_of
from graphveil.released.answers import Answer
from graphveil.spec.quantization import MAX_SQUARE
from graphveil.spec.queries import ClippedTail, Moments, NormCounts, RowMap

__all__ = ["Conclusion", "adaptive_rounds", "adaptive_steps", "recall", "remember"]

_SAFE = 1.0 - 2.0**-40  # shares add up to less than 1 after every rounding


@dataclass(frozen=True)
class Conclusion:
    """What the protocol knows in the end, in scaled units.

    Attributes
    ----------
    covariance : (p, p) array
    location : (p,) array
    noisy, back : (p, p) arrays
        The covariance before denoising: the true one plus ``back`` E ``back``', where E is a symmetric Gaussian matrix
        with standard deviation ``noise`` on the diagonal and ``noise``/√2 off it.
    noise : float
    single : (p, p) array
        Variances of errors that entries of the covariance have beside that: what clipping took may have been correlated
        otherwise than what it left, and rare events that meet are few.
    kurtosis : float
        Sampling noise of second moments has this many times the variance of Gaussian rows'.
    relative_sd : (p,) array
        Standard deviations of the logarithms of the variances.
    tail_sd : (p,) array
        Standard deviations of the shares that variances may lack because they lie in rows that noise hides.
    shift : (p,) array
        Standard deviations of what clipping may have moved the mean by.
    fourth : (p,) array
        Fourth moments over squared second ones; 3 for a dense column.
    doubt : (p,) array
        Probabilities that standard deviations are off by more than a factor of 1.2.
    denoised : Denoised
        The last round.
    uneven : UnevenLoss
        What clipping took from some directions more than from others, in the coordinates of whitened rows.
    unwhiten : (p, p) array
        The way back from these, for columns that were given room as if they were divided by their standard deviation.
    unseen_rows : float
        Share of the rows that may hide in the noise of the norms, and of which clipping then took nearly all that they
        say of columns which are collinear in the others.
    meeting : (p, p) array
        ``single``, of rare events that meet as far as errors do not cancel and sampling does not make them look rare.
    by_chance : (p, p) array
        The part of ``meeting`` that clipping did not make.
    given_back_sd : (p,) array
        Standard deviations of the factors by which covariances of a column were given back what clipping took.
    clipped : ClippedRound or None
        The last round as it was answered; None where it is the only one.
    """

    covariance: Matrix
    location: Vector
    relative_sd: Vector
    tail_sd: Vector
    shift: Vector
    fourth: Vector
    doubt: Vector
    noisy: Matrix
    back: Matrix
    noise: float
    single: Matrix
    kurtosis: float
    denoised: Denoised
    uneven: UnevenLoss
    unwhiten: Matrix
    unseen_rows: float
    meeting: Matrix
    by_chance: Matrix
    given_back_sd: Vector
    clipped: ClippedRound | None


@dataclass(frozen=True, kw_only=True)
class _Rounds:
    """How many rounds there are and what they ask, from public numbers alone.

    Attributes
    ----------
    parts : tuple of float
        Shares of the rounds in what the columns have left.
    histogram : float
        Share of each for a histogram of norms; 0 for the one round of few records.
    blind : bool
        That round is seen through as if rows were Gaussian.
    """

    parts: tuple[float, ...]
    histogram: float
    blind: bool

    @classmethod
    def of(cls, inputs: ProtocolInputs, left: float) -> Self:
        """Three rounds, or one where histograms in three would say nothing."""
        if has_few_records(inputs):
            blind = inputs.has_bounds and not has_hardly_a_scale(inputs)
            return cls(parts=(1.0,), histogram=0.0, blind=blind)
        rounds, histogram = PROTOCOL.clear_rounds
        if not inputs.noise(histogram * rounds[0] * left) < PROTOCOL.largest_count_noise:
            rounds, histogram = PROTOCOL.noisy_rounds
        return cls(parts=rounds, histogram=histogram, blind=False)

    @property
    def last(self) -> int:
        """Number of the last round."""
        return len(self.parts) - 1

    def share(self, number: int, left: float) -> float:
        """Of what is left, as much as this round's part of those that are still to come."""
        return self.parts[number] / sum(self.parts[number:]) * left * _SAFE


@dataclass(frozen=True, kw_only=True)
class Belief:
    """What is known before a round.

    Attributes
    ----------
    left : float
        Share of μ².
    columns : Columns
    prior : Prior
        Of their variances.
    location : (p,) array
        About which rows are whitened,
    whiten : (p, p) array
        by this map.
    roomy : (p,) array of bool
        Rare events, which are divided by more than their standard deviation.
    unseen : float
        Share of the rows that may hide in the noise of the norms of the last round.
    feared : float
        Share of what clipping takes that may be missing from some columns more than from others.
    views : tuple of RoundView
        What earlier rounds say of the variances.
    """

    left: float
    columns: Columns
    prior: Prior
    location: Vector
    whiten: Matrix
    roomy: NDArray[np.bool_]
    unseen: float = 0.0
    feared: float = 1.0
    views: tuple[RoundView, ...] = ()


@dataclass(frozen=True)
class _Seen:
    """What a round has found."""

    radius: Radius
    moments: WhitenedMoments
    known: VariancePosterior
    estimate: "_RoundEstimate"


def adaptive_rounds(inputs: ProtocolInputs) -> Generator[QueryBatch, list[Answer], Conclusion]:
    """Ask, and return a :class:`Conclusion` in the end."""
    columns, left = yield from column_rounds(inputs)
    rounds = _Rounds.of(inputs, left)
    belief = _before_rounds(inputs, rounds, columns, left)
    for number in range(rounds.last):
        belief, seen = yield from _run_round(inputs, rounds, belief, number)
        belief = yield from _prepare_next_round(inputs, rounds, belief, seen, number)
    belief, seen = yield from _run_round(inputs, rounds, belief, rounds.last)
    return _conclude(inputs, belief, seen)


def _before_rounds(inputs: ProtocolInputs, rounds: _Rounds, columns: Columns, left: float) -> Belief:
    """Columns are taken to have nothing to do with each other."""
    prior, start = variance_prior(columns.variance, columns.sd), columns.variance
    if inputs.has_bounds:
        known = settle_variances(columns.variance, columns.sd, prior, columns.reach(inputs.lattice.unit), [])
        start = known.scale if rounds.histogram else known.variance
    return Belief(
        left=left,
        columns=columns,
        prior=prior,
        location=columns.location,
        whiten=np.diag(start**-0.5),
        roomy=np.zeros(inputs.n_features, dtype=bool),
    )


def _run_round(
    inputs: ProtocolInputs, rounds: _Rounds, belief: Belief, number: int
) -> Generator[QueryBatch, list[Answer], tuple[Belief, _Seen]]:
    """Ask for moments of rows that are whitened as the belief says, and settle the variances by all rounds so far."""
    unit, first, last = inputs.lattice.unit, number == 0, number == rounds.last
    columns, prior, share = belief.columns, belief.prior, rounds.share(number, belief.left)
    row_map = RowMap.of(belief.whiten * unit, _into_ball(belief.location / unit), *_map_window(inputs, columns))
    cap = _reach(columns, row_map, inputs) * _spectral_bound(row_map.matrix / unit)
    if rounds.histogram:
        excess = PROTOCOL.tail_share * share if last and belief.feared == 1.0 else 0.0
        ask = _ask_within_norms(inputs, row_map, cap, share, rounds.histogram, excess, belief.feared)
    else:
        ask = _ask_without_norms(inputs, row_map, cap, share)
    radius, answers = yield from ask
    moments = WhitenedMoments.of(inputs, answers, radius, columns, blind=rounds.blind)
    views = (*belief.views, moments.view)
    if rounds.blind:
        columns = columns.recentred(moments.location - columns.location, moments.location_sd)
        prior = variance_prior(columns.variance, columns.sd)
    known = settle_variances(columns.variance, columns.sd, prior, columns.reach(unit), list(views))
    if last and inputs.has_bounds:
        known = replace(known, variance=np.minimum(known.variance, columns.largest_variance(unit)))
    estimate = _estimate_round(inputs, moments, known, radius, belief.roomy, first=first, last=last)
    after = replace(belief, left=belief.left - share, columns=columns, prior=prior, views=views)
    return after, _Seen(radius, moments, known, estimate)


def _prepare_next_round(
    inputs: ProtocolInputs, rounds: _Rounds, belief: Belief, seen: _Seen, number: int
) -> Generator[QueryBatch, list[Answer], Belief]:
    """Where the next round looks; after the first, counts of cells locate columns of which it has seen nothing."""
    first, estimate, known, left = number == 0, seen.estimate, seen.known, belief.left
    if first and inputs.has_bounds and not inputs.centred:
        drowned = known.relative_sd > PROTOCOL.drowned
        bulk, spent = yield from count_bulk(inputs, drowned, belief.columns.there)
        left -= spent
        estimate = _look_at_bulk(estimate, bulk)
    covariance, least, unseen, roomy = estimate.covariance, 0.0, belief.unseen, belief.roomy
    if number == rounds.last - 1:
        unseen = hidden_rows(inputs.noise(rounds.histogram * left))
        least = PROTOCOL.unrelated_rows * unseen
        events = likeness_to_events(belief.columns, known, estimate.location, inputs.lattice.unit)
        covariance, roomy = make_room(covariance, known, seen.radius, events)
    return replace(
        belief,
        left=left,
        location=estimate.location,
        whiten=_principal_whitening(covariance, least, roomy),
        roomy=roomy,
        unseen=unseen,
        feared=1.0 if first else _feared_loss(seen.radius, known),
    )


def _ask_within_norms(
    inputs: ProtocolInputs, row_map: RowMap, cap: float, share: float, histogram: float, excess: float, feared: float
) -> Generator[QueryBatch, list[Answer], tuple[Radius, list[Answer]]]:
    """A histogram of norms tells the radius; with ``excess``, a share for what clipping cuts off."""
    edges = norm_edges(inputs.n_features, cap, inputs.noise(histogram * share))
    (norms,) = yield [(NormCounts(edges.inner, row_map), histogram * share)]
    counts, sd, rest = norms.values["counts"], norms.sd("counts"), (1.0 - histogram) * share
    radius = choose_radius(counts, sd, edges, inputs.n_features, inputs.noise(rest - excess), feared)
    answers = yield _questions(inputs, row_map, radius, rest, excess)
    return radius, answers


def _ask_without_norms(
    inputs: ProtocolInputs, row_map: RowMap, cap: float, share: float
) -> Generator[QueryBatch, list[Answer], tuple[Radius, list[Answer]]]:
    """The radius is a guess, where there are bounds: a multiple of what most norms are, or of what they should be."""
    guess, typical = cap, float(np.sqrt(inputs.n_features))
    if inputs.has_bounds:
        spent = _bulk_share(inputs, share)
        if spent:
            edges = coarse_edges(cap)
            (norms,) = yield [(NormCounts(edges.inner, row_map), spent)]
            typical, share = bulk_norm(norms.values["counts"], edges), share - spent
        guess = min(cap, PROTOCOL.blind_radius * typical)
    radius = Radius(guess, 1.0, 0.0, typical, 1.0, np.array([guess]), np.ones(1))
    answers = yield _questions(inputs, row_map, radius, share, 0.0)
    return radius, answers


def adaptive_steps(p: int, gaps: int, *, bounded: bool, centred: bool) -> list[PlannedStep]:
    """What is known of all questions before the first answer.

    How many records there are decides between one round and three, and may not be known yet: the smallest shares are
    those of the first of three rounds, or of the clipped tail in the last.
    """
    steps = column_steps(p, gaps, bounded=bounded, centred=centred)
    left = 1.0 - sum(step.share for step in steps)
    plans = PROTOCOL.clear_rounds, PROTOCOL.noisy_rounds
    histogram = min(of_norms * rounds[0] for rounds, of_norms in plans) * left
    moments = (
        min(min((1.0 - of_norms) * rounds[0], PROTOCOL.tail_share * rounds[-1]) for rounds, of_norms in plans) * left
    )
    entries = (p + 1) * (p + 2) // 2 + 1  # with a constant, and the trace
    return [*steps, PlannedStep(MOST_BINS, histogram), PlannedStep(entries, moments, counts=False)]


# A release is mostly recovered as soon as it is made: what its answers led to is kept, for the last one.
_last: tuple[ProtocolInputs, Sequence[Answer], Conclusion] | None = None


def remember(inputs: ProtocolInputs, answers: Sequence[Answer], state: Conclusion) -> None:
    """Keep what these answers led to, until another release is made."""
    global _last  # noqa: PLW0603 - a cache of one
    _last = inputs, answers, state


def recall(inputs: ProtocolInputs, answers: Sequence[Answer]) -> Conclusion | None:
    """What the protocol concludes from these very answers, if they are those of the last release that was made here."""
    if _last is None:
        return None
    then, given, state = _last
    same = len(given) == len(answers) and all(one is other for one, other in zip(given, answers, strict=True))
    return state if same and then.agrees_with(inputs) else None


def _bulk_share(inputs: ProtocolInputs, share: float) -> float:
    """What a coarse histogram of norms takes of the one round of few records, from public numbers."""
    shares = [part * share for part in PROTOCOL.bulk_shares if inputs.noise(part * share) < PROTOCOL.bulk_noise]
    return shares[0] if shares and has_hardly_a_scale(inputs) else 0.0


def _questions(inputs: ProtocolInputs, row_map: RowMap, radius: Radius, share: float, excess: float) -> QueryBatch:
    """Moments at the radius that the norms suggest, and the excess where it can be seen."""
    outer = radius.reach_of_excess(inputs.n_features, inputs.noise(excess)) if excess else None
    constant = 0.0 if inputs.centred else min(PROTOCOL.constant, radius.value)
    moments = Moments(radius.value, constant, row_map)
    if outer is None:
        return [(moments, share)]
    return [(moments, share - excess), (ClippedTail(row_map, radius.value, outer), excess)]


@dataclass(frozen=True)
class _DenoisedRound:
    """A round's second moments in whitened coordinates, with what all columns lost alike given back to all directions.

    Attributes
    ----------
    noisy, matrix : (p, p) arrays
        Before and after denoising.
    sd : float
        Standard deviation of the noise.
    lost : (p, p) array or None
        What a blind round gave back to some directions more than to others; it is in both.
    result : Denoised
        Of the columns that were not given room.
    """

    noisy: Matrix
    matrix: Matrix
    sd: float
    lost: Matrix | None
    result: Denoised


@dataclass(frozen=True)
class _RoundEstimate:
    """What a round makes of mean and covariance.

    Attributes
    ----------
    covariance : (p, p) array
    location : (p,) array
    denoised : _DenoisedRound
    settled, left : (p,) arrays
        The variances, and what clipping left of them.
    missing : (p,) array
        Shares of them that the round does not have.
    scale : (p,) array
        What standard deviations were multiplied by to bring them to the variances.
    drowned : (p,) array of bool
        Columns whose variance is within its noise.
    """

    covariance: Matrix
    location: Vector
    denoised: _DenoisedRound
    settled: Vector
    left: Vector
    missing: Vector
    scale: Vector
    drowned: NDArray[np.bool_]


def _estimate_round(
    inputs: ProtocolInputs,
    found: WhitenedMoments,
    known: VariancePosterior,
    radius: Radius,
    roomy: NDArray[np.bool_],
    *,
    first: bool,
    last: bool,
) -> _RoundEstimate:
    """From the noisy moments of whitened rows, and what is known of the variances then, to a new estimate."""
    back, view = found.back, found.view
    whitened = _denoise_round(inputs, found, known, radius, roomy, first=first, last=last)
    unseen = radius.reach.size == 1  # no norms were released, and nothing is known about clipped rows: bias upwards
    settled, left = known.variance if last else known.scale, known.left
    if unseen:
        settled, left = known.variance, np.ones(left.size)
        noise = PROTOCOL.blind_noise * view.sd
        if first and not inputs.has_bounds:
            settled, noise = _alike_as_far_as_noise_tells(settled, view, noise, inputs.trace_sd(found.sd) / found.sd)
        settled = positive_upward_biased(settled, noise)
    own = view.variance / (1.0 - known.common)
    if whitened.lost is not None:
        own = own + diagonal_of(back, whitened.lost)
    # Of a column that was given room the round's own variance has much noise: what was settled on says more.
    missing = np.clip(1.0 - np.where(roomy, left, own / known.variance), 0.0, 1.0)

    covariance = back @ whitened.matrix @ back.T
    variance, noise = np.diag(covariance), whitened.sd * view.scale
    scale = np.sqrt(settled / variance)
    covariance = covariance * scale[:, None] * scale
    if found.tail is not None:
        seen = (1.0 - known.common) * np.diag(whitened.matrix)
        covariance = _give_back_along_axes(covariance, found, seen, roomy)
        again = np.sqrt(settled / np.diag(covariance))
        covariance = covariance * again[:, None] * again
    if last:
        covariance = raise_uncertain_directions(covariance, noise / variance, missing)
    drowned = ~roomy & (PROTOCOL.least_variance * noise * scale**2 > np.diag(covariance))
    return _RoundEstimate(_symmetric(covariance), found.location, whitened, settled, left, missing, scale, drowned)


def _alike_as_far_as_noise_tells(
    settled: Vector, view: RoundView, noise: Vector, of_sum: float
) -> tuple[Vector, Vector]:
    """Variances of columns that were asked for nothing before, shrunk towards their mean, and what they are unsure by.

    Their noise may be many times as large as they are, and that of their mean, which is the trace's, is not: ``of_sum``
    is the noise of the sum of all in units of one's. They are shrunk as far as they differ by no more than noise.
    """
    variance, square = view.variance, float(np.mean(view.sd**2))
    mean = float(variance.mean())
    between = max(float(np.mean((variance - mean) ** 2)) - square, 0.0)
    own = between / (between + square)
    of_mean = of_sum * np.sqrt(square) / variance.size
    return mean + own * (settled - mean), np.hypot(np.sqrt(own) * noise, of_mean)


def _look_at_bulk(estimate: _RoundEstimate, bulk: Bulk) -> _RoundEstimate:
    """An estimate whose next round looks at drowned columns where nearly all of their rows lie."""
    found = bulk.half**2 < np.diag(estimate.covariance)
    covariance = np.where(found[:, None] | found, 0.0, estimate.covariance)
    covariance[found, found] = bulk.half[found] ** 2
    return replace(estimate, covariance=covariance, location=np.where(found, bulk.middle, estimate.location))


def _conclude(inputs: ProtocolInputs, belief: Belief, seen: _Seen) -> Conclusion:
    """What the last round's estimate may be off by, and what clipping took beside the rows of rare events."""
    n, unit, columns, roomy = inputs.n_sampled, inputs.lattice.unit, belief.columns, belief.roomy
    radius, found, known, estimate = seen.radius, seen.moments, seen.known, seen.estimate
    covariance, left, missing, whitened = estimate.covariance, estimate.left, estimate.missing, estimate.denoised
    events = likeness_to_events(columns, known, found.location, unit)
    tail = columns.reach(unit) / estimate.settled, inputs.hidden_rows, known.far
    tail_sd, hidden = hidden_tail_sd(*tail), chance_of_hidden_tail(*tail)
    given, unsure = lost_covariances(left, events, tail_sd)
    unwhiten = np.where(roomy, left**-0.5, estimate.scale)[:, None] * found.back
    restored = restoring(given, left)
    noisy = _unwhiten_noisy(whitened.noisy, unwhiten, known.variance, restored, roomy)
    of_lost = errors_of_lost(covariance * restored, unsure)
    single = of_lost + single_errors(covariance, known.fourth, n)
    # The fourth moment of n Gaussian records has the variance 24/n.
    by_chance = UNCANCELLED * single_errors(covariance, known.fourth - np.sqrt(24.0 / n), n)
    clipped = ClippedRound(
        noisy=found.noisy,
        denoised=(1.0 - known.common) * whitened.matrix,
        root=found.root,
        back=found.back,
        forth=found.forth.T,
        centre=found.centre,
        radius=radius.value,
        single=by_chance,
    )

    back = (given * np.sqrt(left))[:, None] * unwhiten @ found.root
    beside, beside_sd = lost_beside(covariance, noisy, whitened.sd / np.sqrt(2.0) * back @ back.T, known, events)
    relative_sd = np.hypot(known.relative_sd, np.log(estimate.settled / known.variance))
    relative_sd = np.hypot(relative_sd, np.diag(beside_sd) / np.diag(covariance))
    grown = np.sqrt(1.0 + np.diag(beside) / np.diag(covariance))
    covariance, noisy = covariance * grown[:, None] * grown, noisy + beside
    beside_sd **= 2
    np.fill_diagonal(beside_sd, 0.0)
    return Conclusion(
        covariance=_symmetric(covariance),
        location=found.location,
        relative_sd=relative_sd,
        tail_sd=tail_sd,
        # What was given back to the mean as if rows were Gaussian may be off by half of it.
        shift=np.hypot(mean_shift(np.diag(covariance), known.fourth, missing), found.unclipped / 2.0),
        fourth=known.fourth,
        doubt=np.where(estimate.drowned, 1.0, 1.0 - (1.0 - known.doubtful) * (1.0 - hidden)),
        noisy=noisy,
        back=np.asarray(back),
        noise=whitened.sd,
        single=single + beside_sd,
        kurtosis=min(radius.kurtosis, 1.0) + max(radius.kurtosis - 1.0, 0.0) * min(known.part, 1.0),
        denoised=whitened.result,
        uneven=_uneven_loss(radius, found, whitened.lost, float(missing.mean())),
        unseen_rows=belief.unseen,
        meeting=of_lost + by_chance + beside_sd,
        by_chance=by_chance,
        given_back_sd=unsure,
        clipped=None if found.blind else clipped,
        unwhiten=np.where(roomy, np.sqrt(known.variance / found.view.scale), 1.0)[:, None] * unwhiten,
    )


def _denoise_round(
    inputs: ProtocolInputs,
    found: WhitenedMoments,
    known: VariancePosterior,
    radius: Radius,
    roomy: NDArray[np.bool_],
    *,
    first: bool,
    last: bool,
) -> _DenoisedRound:
    """What all columns lost alike is given back to all directions; each column gets what it lost alone later."""
    whitened, sd = found.noisy / (1.0 - known.common), found.sd / (1.0 - known.common)
    dense = np.flatnonzero(~roomy)
    block = whitened[np.ix_(dense, dense)]
    along = np.sqrt(np.ones(dense.size) if first else _shrink_axis_variances(np.diag(block), sd))
    result = denoise(
        block / along[:, None] / along,
        sd,
        trace_sd=sd * np.sqrt(dense.size) if roomy.any() else inputs.trace_sd(sd),
        n_samples=inputs.n_sampled if first else None,
        # Later, the error of the round before is certainly there.
        detection=PROTOCOL.shrinkage.detection if first else 0.0,
        last=last,
    )
    matrix = shrink_rare(whitened, sd, roomy, known.variance / found.view.scale)
    matrix[np.ix_(dense, dense)] = along[:, None] * result.matrix * along
    if not found.blind:
        return _DenoisedRound(whitened, matrix, sd, None, result)
    lost = uneven_gaussian_loss(matrix, radius.value)
    return _DenoisedRound(whitened + lost, matrix + lost, sd, lost, result)


def _unwhiten_noisy(
    whitened: Matrix, unwhiten: Matrix, settled: Vector, restored: Matrix, roomy: NDArray[np.bool_]
) -> Matrix:
    """The covariance before denoising, with what clipping took: on the diagonal, that of the variances."""
    noisy = _symmetric(unwhiten @ whitened @ unwhiten.T)
    variances = np.where(roomy, settled, np.diag(noisy))
    noisy = noisy * restored
    np.fill_diagonal(noisy, variances)
    return np.asarray(noisy)


def _feared_loss(radius: Radius, known: VariancePosterior) -> float:
    """Share of what clipping takes that may be missing from some columns more than from others, in the next round."""
    relied = radius.lost > PROTOCOL.least_loss and known.even > PROTOCOL.even_chance
    return PROTOCOL.least_feared if relied else 1.0


def _uneven_loss(radius: Radius, found: WhitenedMoments, lost: Matrix | None, explained: float) -> UnevenLoss:
    """What some directions lost more than others: seen in norms and in the clipped tail, or given back blindly."""
    if lost is not None:
        return UnevenLoss.given_back(lost)
    return UnevenLoss.of(radius, explained, len(found.noisy), found.tail, found.tail_sd, found.view.within)


def _give_back_along_axes(covariance: Matrix, found: WhitenedMoments, seen: Vector, roomy: NDArray[np.bool_]) -> Matrix:
    """A covariance with more along axes of which the clipped tail holds more than the columns' losses explain.

    Two columns may be almost collinear but in a few rows, and clipping takes most of what is left between them, though
    little of either. ``seen`` is what the round has along each axis.
    """
    assert found.tail is not None
    p, view = seen.size, found.view
    full = diagonal_of(found.forth, covariance)
    gap = np.diag(found.tail) - (full - seen) * view.within / max(view.lost, 1e-9)
    noise = 2.0 * np.log(max(p, 2)) * found.tail_sd**2  # of p axes without a gap, none is expected to show a larger one
    grown = np.maximum(gap - noise / np.maximum(gap, 1e-300), 0.0) / full
    few = np.flatnonzero((gap > 0.0) & ~roomy & (grown > 0.0))
    along = found.back[:, few] * (np.sqrt(1.0 + grown[few]) - 1.0)
    covariance = covariance + along @ (found.forth[few] @ covariance)
    return np.asarray(covariance + (covariance @ found.forth[few].T) @ along.T)


def _symmetric(matrix: Matrix) -> Matrix:
    return (matrix + matrix.T) / 2.0


def _principal_whitening(covariance: Matrix, least: float, roomy: NDArray[np.bool_]) -> Matrix:
    """Rows times this have uncorrelated columns of variance 1, one for each principal axis of the correlations so far.

    Of standardised columns that have nothing to do with each other in a share of the rows, every axis has at least that
    share as its variance. So few rows do not show among the norms, but if an axis is divided by less than they hold,
    they are long, and clipping takes nearly all of it: two columns would look more collinear than they are. So none is
    divided by less than ``least``. Columns that are given room are axes of their own.
    """
    sd = np.sqrt(np.diag(covariance))
    whiten, dense = np.diag(1.0 / sd), np.flatnonzero(~roomy)
    values, vectors = np.linalg.eigh((covariance / np.outer(sd, sd))[np.ix_(dense, dense)])
    whiten[np.ix_(dense, dense)] = vectors / np.sqrt(np.maximum(values, least)) / sd[dense, None]
    return whiten


def _shrink_axis_variances(diagonal: Vector, sd: float) -> Vector:
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


def _into_ball(centre: Vector) -> Vector:
    """A centre that rounding keeps inside the ball of the rows."""
    norm = float(np.linalg.norm(centre))
    limit = np.sqrt(MAX_SQUARE) - np.sqrt(centre.size)
    return centre * min(1.0, limit / norm) if norm > 0.0 else centre


def _map_window(inputs: ProtocolInputs, columns: Columns) -> tuple[Vector, Vector]:
    """What rows are clamped to before they are mapped: the box, or nothing where a box would leave the ball."""
    if inputs.window is None:
        return columns.low, columns.high
    edge = np.full(inputs.n_features, np.sqrt(MAX_SQUARE))
    return -edge, edge


def _reach(columns: Columns, row_map: RowMap, inputs: ProtocolInputs) -> float:
    """How far a row can be from the centre, in scaled units."""
    unit = inputs.lattice.unit
    if inputs.has_bounds:
        farthest = np.maximum(columns.high - row_map.centre, row_map.centre - columns.low)
        return float(np.linalg.norm(farthest) * unit)
    return inputs.radius + float(np.linalg.norm(row_map.centre) * unit)


def _spectral_bound(matrix: Matrix) -> float:
    """An upper bound of the spectral norm, exact for diagonal matrices."""
    return float(np.sqrt(np.linalg.norm(matrix, 1) * np.linalg.norm(matrix, np.inf)))
