"""A round's answer: noisy moments of whitened rows about their mean, and the way back to the columns."""

from dataclasses import dataclass, replace

import numpy as np

from graphveil._typing import Vector
from graphveil.recovery.blind_clipping import unclip_moments
from graphveil.recovery.clipping_radius import Radius
from graphveil.recovery.column_scales import Columns
from graphveil.recovery.column_variances import RoundView
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.released.answers import Answer
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import MomentLayout
from graphveil.spec.queries import ClippedTail, Moments

__all__ = ["WhitenedMoments", "diagonal_of"]


@dataclass(frozen=True)
class WhitenedMoments:
    """A round's moments of whitened rows about their mean, and the way back.

    Attributes
    ----------
    noisy : (p, p) array
        Second moments about the mean.
    sd, root : float and (p, p) array
        Their noise: ``sd`` times a symmetric Gaussian matrix, between ``root`` and its transpose.
    back, forth : (p, p) arrays
        From whitened coordinates to those of the columns, in scaled units, and there.
    centre, location : (p,) arrays
        The point from which rows were whitened, and the mean, in scaled units.
    location_sd, unclipped : (p,) arrays
        Of a blind round: the standard deviations of the mean's noise, and what clipping is taken to have moved it by.
    view : RoundView
        What the round says of the variances.
    blind : bool
        It is the only round, and is seen through as if rows were Gaussian.
    tail, tail_sd : (p, p) array and float
        Second moments of what clipping cut off, and their noise, where they were asked for.
    """

    noisy: Vector
    sd: float
    root: Vector
    back: Vector
    forth: Vector
    centre: Vector
    location: Vector
    location_sd: Vector
    unclipped: Vector
    view: RoundView
    blind: bool
    tail: Vector | None = None
    tail_sd: float = 0.0

    @classmethod
    def of(
        cls, inputs: ProtocolInputs, answers: list[Answer], radius: Radius, columns: Columns, *, blind: bool
    ) -> "WhitenedMoments":
        """From answers about rows that were shortened to a radius.

        One round is ``blind``: no histogram of norms was asked for before. Its axes are the columns.
        """
        p, unit = inputs.n_features, inputs.lattice.unit
        moments, query = answers[0], answers[0].query
        assert isinstance(query, Moments)
        assert query.row_map is not None
        back, forth = query.row_map.inverse(unit).T, query.row_map.matrix.T / unit
        middle = query.row_map.centre * unit
        layout = MomentLayout(p, None if inputs.centred else Constant())
        lattice = query.lattice(p)
        constant = lattice.constant * lattice.unit
        full = layout.refined(moments.values, constant**2)
        noisy, sd, away = full[:p, :p], moments.sd("diagonal"), 0.0
        offset, unclipped, location_sd = np.zeros((3, p))
        if not inputs.centred:
            mean, mean_sd = full[:p, p] / constant, moments.sd("off_diagonal") / constant
            # Shrunk towards the centre that the rows have already (James and Stein): the square of a mean that is all
            # noise would be the largest error of all.
            trust = np.full(p, max(0.0, 1.0 - p * mean_sd**2 / float(mean @ mean)))
            if blind:  # by how much that centre may be off is known: it is the first mean
                first = (columns.location_sd * columns.there / np.diag(back)) ** 2
                trust = first / (first + mean_sd**2)
                location_sd = np.sqrt(trust) * mean_sd * np.diag(back) / columns.there
            offset = trust * mean
            noisy = noisy - np.outer(offset, offset) + np.diag((trust * mean_sd) ** 2)
            # A mean that is not near zero brings noise of its own: where that of second moments and mean together is
            # E, M - mm' has JEJ' with J = (I, -m).
            away = 2.0 * (mean_sd / sd) ** 2
        location = middle + back @ offset / columns.there
        if blind:
            variance = np.maximum(np.diag(noisy), sd)
            true_offset, true_variance = unclip_moments(offset, variance, radius.value)
            unclipped = back @ (true_offset - offset) / columns.there
            longer = np.sqrt(true_variance / variance)
            location, back, forth = location + unclipped, back * longer, forth / longer[:, None]
        root, scale = _root_of_identity_and(np.sqrt(away) * offset), np.sum(back**2, axis=1)
        view = RoundView(
            variance=diagonal_of(back, noisy),
            sd=sd * (scale + away * (back @ offset) ** 2),
            scale=scale,
            radius=radius.value,
            typical=radius.typical,
            gaussian=radius.gaussian,
            lost=radius.lost,
        )
        if len(answers) > 1:
            cut_off, asked = answers[1], answers[1].query
            assert isinstance(asked, ClippedTail)
            tail, tail_sd = MomentLayout(p, None).refined(cut_off.values, 0.0), cut_off.sd("diagonal")
            view = replace(
                view,
                outer=asked.outer,
                within=radius.within(asked.outer),
                excess=diagonal_of(back, tail),
                excess_sd=tail_sd * view.scale,
            )
            return cls(
                noisy, sd, root, back, forth, middle, location, location_sd, unclipped, view, blind, tail, tail_sd
            )
        return cls(noisy, sd, root, back, forth, middle, location, location_sd, unclipped, view, blind)


def _root_of_identity_and(v: Vector) -> Vector:
    """The Cholesky factor of I + vv', without the sum: in which a long v would leave nothing of I."""
    sums = np.cumsum(np.concatenate([[1.0], v**2]))
    below = np.tril(np.outer(v, v), -1) / np.sqrt(sums[:-1] * sums[1:])
    return np.asarray(below + np.diag(np.sqrt(sums[1:] / sums[:-1])))


def diagonal_of(back: Vector, matrix: Vector) -> Vector:
    """The diagonal of BMB'."""
    return np.asarray(np.sum((back @ matrix) * back, axis=1))
