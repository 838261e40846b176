"""The constants of the adaptive protocol, as one frozen, versioned set.

They determine the queries and how the answers are used. A release file names the version, because only the protocol
that asked the queries can use their answers. *Open* means chosen on the open tables of ``benchmarks/judges.py``, *old*
on the tables of ``docs/accuracy.md`` before there were held-out tables.
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
    """How a radius is chosen from a histogram of norms (:mod:`graphveil.recovery.clipping_radius`).

    Attributes
    ----------
    fine_noise : float
        Bins are finer if the noise of all of them together is below this share of the rows. Old.
    tail : float
        A tail counts as detected while its sum exceeds this many standard deviations. Old.
    far : float
        One more standard deviation for every doubling beyond this many √p: a false alarm there would distort the whole
        scale. Old.
    toll, patience : float
        Squared standard deviations above which a bin is evidence for rows rather than against them, and how much
        evidence against them ends the tail. Old.
    kurtosis : tuple
        Range of plausible kurtosis; values outside are noise. Old.
    gaussian_feared : float
        Share of the loss of Gaussian rows that counts as bias: norms alone do not prove that rows are Gaussian. Old.
    otherwise : float
        Share of the loss that may be non-Gaussian, or hidden by noise, before all of it counts. Old.
    deepest : float
        Share that rows must keep for that: norms carry no information if all rows have the same length. Old.
    least_kept : float
        Share that rows must always keep: below it, more is guessed than measured. Open.
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
        In the first round, the spectrum counts as flat unless its spread exceeds its noise by this many standard
        deviations.
    floor : float
        No eigenvalue is assumed to be below this share of their mean,
    resolution : float
        nor below this share of the noise's largest eigenvalue, below which nothing can be resolved.
    widest_stretch : float
        A shape that must be stretched more than this to reach the floor is replaced by a skewed one.
    """

    detection: float = 2.5
    floor: float = 0.02
    resolution: float = 0.4
    widest_stretch: float = 1.3


@dataclass(frozen=True)
class NormParameters:
    """How a norm is found privately (:mod:`graphveil.protocol.stages.norm`). All old.

    Attributes
    ----------
    share : float
        Share of μ² for both histograms together.
    seen : float
        Standard deviations that a coarse bin and its neighbour must reach together, and by which a tail must exceed its
        noise.
    slack : float
        Factor for rows beyond the last visible tail, which are few but may not be zero.
    least_rows : float
        Least number of rows in standard deviations of a count: below it, a quarter of the rows could hide in the noise.
    """

    share: float = 0.03
    seen: float = 5.0
    slack: float = 1.5
    least_rows: float = 35.0


@dataclass(frozen=True)
class ProtocolParameters:
    """All constants of the protocol, with reasons.

    Attributes
    ----------
    version : str
        Changes with every change of the queries, or of how answers determine the next query.
    count_share : float
        Share of μ² for the number of people, if that is secret. At ε = 1 and δ = 1e-6 the count has a standard
        deviation of 30: 0.6% of 5,000 people, which moves variances by as much and correlations not at all. The rest
        has 1% more noise for it.
    weight_share : float
        Share of μ² for the total of survey weights. At ε = 1 and δ = 1e-6 it has a standard deviation of 30 largest
        weights. That moves variances by as large a part of themselves and correlations not at all; the noise of a
        variance is several times as large.
    gaps_share : float
        Share of μ² for the shares of missing values, if some columns declare them. From 0.02, the noise of these shares
        is small compared with that of moments.
    ranks_share : float
        Share of μ² for the distribution of columns that are released as normal scores of their ranks. Errors fall by a
        fifth from 0.01 to 0.04, and by less than their noise above that (lognormal rows, 5,000 and 20,000).
    mean_share : float
        Share of μ² for the first means. Old; flat within 5%.
    few_records : float
        Effective records per column below which one round can learn little more than the scale of the rows. Above it,
        finding the scale costs columns with long tails more than it gains. Open.
    few_mean_share : float
        Share of μ² for the first means in that case: squares about a mean that is only noise are useless. Open: with
        0.05, errors are 1% larger.
    squares_share, weighted_squares_share : float
        Shares of μ² for the columns' squares, with equal weights, and with weights chosen from the first answers. Old;
        flat.
    cells_share : float
        Share of μ² for counting cells, spent only if noise hides a column. Old; flat.
    clear_rounds : tuple
        Shares of the three rounds in the budget left after the columns, and share of the histogram in each round. Old;
        flat.
    noisy_rounds : tuple
        The same if the first histogram would otherwise be too noisy. Old.
    largest_count_noise : float
        A count whose noise exceeds this share of the rows carries no information about their norms. Old.
    tail_share : float
        Share of the last round for the clipped tail. Open: 0.06 to 0.2 are within 3%.
    unrelated_rows : float
        No axis of the last round is divided by less than this many times the share of rows that can hide in the noise
        of the norms. Open: with 1 some errors are above 1, and with 3 the error of columns that are collinear in all
        rows doubles again.
    room : float
        Largest expected squared radius per column of the last round, if it leaves rare events unclipped: the radius of
        the round before may already account for them. Open: 1.3 performs like 1.5.
    most_explained : float
        Largest share of an event's variance that other columns may explain if it is to be left unclipped. Old: an event
        that moves another column by 2.6 of its deviations has 0.25, twins among the indicators of real tables have 0.4
        to 0.8.
    tail_part, tail_part_sd : float
        If clipping removes a share of a variance by its long tail, the part of that share that it removes from its
        covariances: the middle and a standard deviation of the range 0.2 to 1.0, measured without privacy for
        dependence that is linear, logarithmic or a step (benchmarks/rare_events.py).
    drowned : float
        Standard deviation of a log variance above which the bulk of a column is searched for: its variance may be
        between a third and three times the estimate.
    most_rows_lost, least_rows_lost : float
        Cells are counted only if they can locate the bulk to within the first share of the rows; the bulk is all rows
        except the second share. Old.
    even_chance : float
        The loss is treated as common to all columns if at least two thirds of it are common with this probability.
        Open: with 0.95 this never happens, and with 0.5 rare columns are clipped too much.
    least_feared : float
        Share of a loss that counts as uneven even if it looks even. Old.
    least_loss : float
        Smallest loss that is tested for evenness. Old.
    bulk_shares, bulk_noise : tuple, float
        Shares of the one round of few records for a coarse histogram that finds the bulk of the norms: the first is
        used for which the noise of counts is below ``bulk_noise`` of the rows. Open.
    blind_radius : float
        Radius of whitened rows in that round, in norms of the bulk, or in √p if the bulk is unknown. Old.
    blind_noise : float
        Part of its noise by which a variance is then biased upwards, because nothing is known about clipped rows. Open.
    at_bound : float
        Prior odds that a column has its variance at its farther bound, as indicators have, rather than anywhere else
        far out. Open.
    at_bound_parts : tuple
        Squared norms there, in units of the squared distance to the bound, and parts of the variance: events coincide
        with other events, so that their rows are longer than one event would make them. Open.
    crudeness : float
        Relative error of the model of losses; the clipped tail and the common loss have twice that. Open: with 0.25
        more columns are flagged, and more are missed.
    earlier_crudeness : float
        Relative error of the common loss of an earlier round, whose norms were noisier. Open.
    doubt : float
        A standard deviation is flagged if it is off by more than a factor of 1.2 with more than this probability. Open:
        with 0.03 twice as many wrong ones are not flagged, with 0.003 one column in ten is flagged unnecessarily.
    least_variance : float
        A variance is used only if it exceeds this many standard deviations of its noise. Old.
    lost_correlation : float
        Standard deviation of the difference in correlation between clipped and kept parts, for what is published of
        directions that are hardly known. Open.
    constant : float
        The constant appended to whitened rows, whose columns have variance about 1.
    radius, shrinkage, norm : RadiusParameters, ShrinkageParameters, NormParameters
        Parameters of three steps.
    """

    version: str = "9"
    count_share: float = 0.02
    weight_share: float = 0.02
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
    lost_correlation: float = 0.2
    constant: float = 1.0
    radius: RadiusParameters = RadiusParameters()
    shrinkage: ShrinkageParameters = ShrinkageParameters()
    norm: NormParameters = NormParameters()


PROTOCOL = ProtocolParameters()


@cache
def software_versions() -> tuple[tuple[str, str], ...]:
    """The software that made a release and can reproduce it from the same seed; "recipe" is the protocol version."""
    return *((name, version(name)) for name in ("graphveil", "numpy", "numba")), ("recipe", PROTOCOL.version)
