"""The numbers that the adaptive protocol is made with, as one frozen, versioned set.

They decide what is asked, and how answers are read. A release file names the version, because its answers can be read
by the protocol that asked for them and by no other. *Open* means chosen on the open tables of ``benchmarks/judges.py``,
*old* on the tables of ``docs/accuracy.md`` before there were judges.
"""

from dataclasses import dataclass

__all__ = ["PROTOCOL", "ProtocolParameters"]


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
    mean_share : float
        Share of μ² for the first means. Old; flat within 5%.
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
        Share of the last round for what clipping cut off. Old.
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
    blind_radius : float
        Radius of whitened rows, in √p, where nothing can be known of their norms. Old.
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
    """

    version: str = "6"
    gaps_share: float = 0.03
    mean_share: float = 0.02
    squares_share: float = 0.08
    weighted_squares_share: float = 0.10
    cells_share: float = 0.04
    clear_rounds: tuple[tuple[float, ...], float] = ((0.08, 0.22, 0.70), 0.06)
    noisy_rounds: tuple[tuple[float, ...], float] = ((0.15, 0.25, 0.60), 0.10)
    largest_count_noise: float = 0.03
    tail_share: float = 0.06
    drowned: float = 0.5
    most_rows_lost: float = 0.2
    least_rows_lost: float = 0.03
    even_chance: float = 0.8
    least_feared: float = 0.3
    least_loss: float = 0.05
    blind_radius: float = 1.5
    blind_noise: float = 0.25
    at_bound: float = 0.6
    at_bound_parts: tuple[tuple[float, float], ...] = ((1.0, 0.5), (2.0, 0.5))
    crudeness: float = 0.15
    earlier_crudeness: float = 0.5
    doubt: float = 0.01
    least_variance: float = 3.0
    sharpest: float = 1.25
    lost_correlation: float = 0.3
    constant: float = 1.0


PROTOCOL = ProtocolParameters()
