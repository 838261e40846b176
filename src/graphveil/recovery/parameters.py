"""The numbers that the adaptive protocol is made with, as one frozen, versioned set.

They decide what is asked, and how answers are read. A release file names the version, because its answers can be read
by the protocol that asked for them and by no other. *Open* means chosen on the open tables of ``benchmarks/judges.py``,
*old* on the tables of ``docs/accuracy.md`` before there were judges.
"""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

__all__ = [
    "PROTOCOL",
    "NormParameters",
    "ProtocolParameters",
    "RadiusParameters",
    "ShrinkageParameters",
    "software_versions",
]


@dataclass(frozen=True)
class RadiusParameters:
    """How a radius is read off a histogram of norms (:mod:`graphveil.recovery.clipping_radius`).

    Attributes
    ----------
    fine_noise : float
        Bins are finer where all of them together are quieter than this share of the rows. Old.
    tail : float
        A tail counts while its sum exceeds this many standard deviations. Old.
    far : float
        One more for every doubling beyond this many √p: a false alarm there would upset the whole scale. Old.
    toll, patience : float
        Squared standard deviations that a bin must hold to speak for rows rather than against them, and how much may
        speak against them before the tail is taken to have ended. Old.
    kurtosis : tuple
        Beyond these it is noise. Old.
    gaussian_feared : float
        Share of what Gaussian rows would lose too that counts: norms alone do not prove that rows are Gaussian. Old.
    otherwise : float
        Share of the loss that may be of another kind, or hidden by noise, before all of it counts. Old.
    deepest : float
        Share that rows must keep for that: of rows that all have one length nothing is told by their norms. Old.
    least_kept : float
        Share that rows must keep in any case: below it more is guessed than measured. Open.
    """

    fine_noise: float = 0.01
    tail: float = 4.0
    far: float = 4.0
    toll: float = 5.0
    patience: float = 10.0
    kurtosis: tuple[float, float] = (0.5, 10.0)
    gaussian_feared: float = 0.3
    otherwise: float = 0.2
    deepest: float = 0.7
    least_kept: float = 0.5


@dataclass(frozen=True)
class ShrinkageParameters:
    """How a noisy spectrum is shrunk (:mod:`graphveil.recovery.shrinkage`). All old.

    Attributes
    ----------
    detection : float
        First looks believe a spread of the spectrum only when it exceeds its noise by this many standard deviations.
    floor : float
        No eigenvalue is taken to be below this share of their mean,
    resolution : float
        nor below this share of the noise's largest eigenvalue: that far down nothing can be seen.
    widest_stretch : float
        A shape that must be stretched more than this to reach the floor is replaced by a skewed one.
    """

    detection: float = 2.5
    floor: float = 0.02
    resolution: float = 0.4
    widest_stretch: float = 1.3


@dataclass(frozen=True)
class NormParameters:
    """How a norm is found in private (:mod:`graphveil.recovery.private_norm`). All old.

    Attributes
    ----------
    share : float
        Share of μ² for both histograms together.
    seen : float
        Standard deviations that a coarse bin and its neighbour must hold together, and by which a tail must exceed its
        noise.
    slack : float
        Rows beyond the last visible tail are few, but their number is not known to be zero.
    least_rows : float
        Standard deviations of a count: below this a quarter of the rows could hide in the noise.
    """

    share: float = 0.03
    seen: float = 5.0
    slack: float = 1.5
    least_rows: float = 35.0


@dataclass(frozen=True)
class ProtocolParameters:
    """Every number of the protocol, with its reason.

    Attributes
    ----------
    version : str
        Changes with every change of what is asked, or of how answers lead to the next question.
    gaps_share : float
        Share of μ² for how often values are missing, where some columns declare it. Noise of shares is small against
        that of moments from 0.02 on.
    ranks_share : float
        Share of μ² for the distribution of columns that are released as normal scores of their ranks. Errors fall by a
        fifth from 0.01 to 0.04, and by less than their noise beyond (lognormal rows, 5,000 and 20,000).
    mean_share : float
        Share of μ² for the first means. Old; flat within 5%.
    few_records : float
        Effective records a column below which little more than the scale of the rows can be learnt in one round. With
        more than that, what the scale takes costs columns with long tails more than it gains. Open.
    few_mean_share : float
        Share of μ² for the first means then: squares about a mean that is all noise are useless. Open: with 0.05
        errors are 1% larger.
    squares_share, weighted_squares_share : float
        Shares of μ² for the columns' squares, with equal weights and with the weights that the first ones suggest. Old;
        flat.
    cells_share : float
        Share of μ² for counting cells, spent only where a column drowns. Old; flat.
    clear_rounds : tuple
        Shares of the three rounds in what the columns leave over, and of the histogram in each round. Old; flat.
    noisy_rounds : tuple
        The same where the first histogram would be too noisy otherwise. Old.
    largest_count_noise : float
        A count that is noisier than this share of the rows says nothing about their norms. Old.
    tail_share : float
        Share of the last round for what clipping cut off. Open: 0.06 to 0.2 are within 3%.
    unrelated_rows : float
        Times the share of rows that can hide in the noise of the norms: no axis of the last round is divided by less.
        Open: with 1 some errors are above 1, and with 3 the error of clean collinear columns doubles again.
    room : float
        Squared radius for each column that the last round is expected to have at most, where rare events are given room
        in it: the radius of the round before may have been made for them. Open: 1.3 and 1.5 are alike.
    most_explained : float
        Share of an event's variance that other columns may explain for it to be given room. Old: an event that moves
        another column by 2.6 of its deviations has 0.25, twins among the indicators of real tables have 0.4 to 0.8.
    tail_part, tail_part_sd : float
        Of the share that clipping took of a variance by its long tail, the part that it took of its covariances: the
        middle, and a standard deviation, of the 0.2 to 1.0 that it is without privacy where others depend on the
        column linearly, by its logarithm or by a step (benchmarks/rare_events.py).
    drowned : float
        Standard deviation of a log variance from which on a column's bulk is looked for: its variance may be anything
        between a third and three times.
    most_rows_lost, least_rows_lost : float
        Cells are counted only if they can place the bulk to within the first share of the rows; the bulk is all but the
        second. Old.
    even_chance : float
        Probability that at least two thirds of the loss are common to all columns, from which on that is relied on.
        Open: 0.95 relies on nothing, and 0.5 clips rare columns too much.
    least_feared : float
        Share of a loss that counts as uneven even if it looks even. Old.
    least_loss : float
        A loss for which it matters whether it is even. Old.
    bulk_shares, bulk_noise : tuple, float
        Shares of that one round for a coarse histogram that finds the bulk of the norms: the first is taken whose
        counts are quieter than this share of the rows. Open.
    blind_radius : float
        Radius of whitened rows in that round, in norms of the bulk, or in √p where that is not known. Old.
    blind_noise : float
        Part of the noise by which a variance then errs upwards: nothing is known of what was clipped. Open.
    at_bound : float
        How likely a column is to have its variance at its farther bound, as indicators have, against anywhere else far
        out. Open.
    at_bound_parts : tuple
        Squared norms there, in units of the squared distance to the bound, and parts of the variance: events meet other
        events, so that their rows are longer than they alone would make them. Open.
    crudeness : float
        The law of losses is off by this share of what it says was lost; the clipped tail and the common loss by twice
        that. Open: with 0.25 more columns are flagged, and more are missed.
    earlier_crudeness : float
        Share by which the common loss of an earlier round may be off: its norms were noisier. Open.
    doubt : float
        Probability that a standard deviation is off by more than a factor of 1.2, from which on it is told. Open: with
        0.03 twice as many wrong ones are not told, with 0.003 one column in ten is told in vain.
    least_variance : float
        Standard deviations of its noise that a variance must have to be believed. Old.
    sharpest : float
        No eigenvalue of the correlations is taken to be below this many times the noise that some columns have beyond
        that of most. Old.
    lost_correlation : float
        Standard deviation of how much otherwise what clipping took may be correlated. Open.
    constant : float
        Appended to whitened rows, whose columns have variance about 1.
    radius, shrinkage, norm : RadiusParameters, ShrinkageParameters, NormParameters
        Those of three steps.
    """

    version: str = "9"
    gaps_share: float = 0.03
    ranks_share: float = 0.04
    mean_share: float = 0.02
    few_records: float = 2.0
    few_mean_share: float = 0.10
    squares_share: float = 0.08
    weighted_squares_share: float = 0.10
    cells_share: float = 0.04
    clear_rounds: tuple[tuple[float, ...], float] = ((0.08, 0.22, 0.70), 0.06)
    noisy_rounds: tuple[tuple[float, ...], float] = ((0.15, 0.25, 0.60), 0.10)
    largest_count_noise: float = 0.03
    tail_share: float = 0.12
    unrelated_rows: float = 2.0
    room: float = 1.5
    most_explained: float = 0.3
    tail_part: float = 0.6
    tail_part_sd: float = 0.3
    drowned: float = 0.5
    most_rows_lost: float = 0.2
    least_rows_lost: float = 0.03
    even_chance: float = 0.8
    least_feared: float = 0.3
    least_loss: float = 0.05
    bulk_shares: tuple[float, float] = (0.1, 0.2)
    bulk_noise: float = 0.1
    blind_radius: float = 1.5
    blind_noise: float = 0.25
    at_bound: float = 0.6
    at_bound_parts: tuple[tuple[float, float], ...] = ((1.0, 0.5), (2.0, 0.5))
    crudeness: float = 0.15
    earlier_crudeness: float = 0.5
    doubt: float = 0.01
    least_variance: float = 3.0
    sharpest: float = 1.25
    lost_correlation: float = 0.2
    constant: float = 1.0
    radius: RadiusParameters = RadiusParameters()
    shrinkage: ShrinkageParameters = ShrinkageParameters()
    norm: NormParameters = NormParameters()


PROTOCOL = ProtocolParameters()


@cache
def software_versions() -> tuple[tuple[str, str], ...]:
    """What a release was made with, and so what can make it again from the same seed; "recipe" is the protocol."""
    return *((name, version(name)) for name in ("graphveil", "numpy", "numba")), ("recipe", PROTOCOL.version)
