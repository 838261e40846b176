"""Corrections for clipping that removed more from some directions than from others.

What clipping removes from one column more than from others is added back to that column
(:mod:`graphveil.recovery.column_variances`), and what is left, the mean share ℓ of the second moment of whitened rows,
to all directions alike. Of that, Gaussian rows would lose g, evenly. The rest, x = ℓ − g, may be missing from one
direction: a few rows that are far out in the direction of the residuals of one column's regression on the others. Its
R² is then too large, and its coefficients are off.

All that is known of the losses of p orthogonal directions is that none is negative and that they add up to px. Among
all distributions of a loss with the mean x within [0, px], the one with the largest variance, τ² = (p − 1)x², has all
of it in one direction, any of them as likely as the others. The clipped tail T, where it was asked for, shows the
losses with noise s, of the form of all moments here. Together they imply that, in addition to ℓ, a direction has lost

    w (T − I·tr T/p),    w = τ²/(τ² + s²),    with an error of variance τ²s²/(τ² + s²):

the sum over all directions is known better from the norms.
"""

from dataclasses import dataclass, replace

import numpy as np

from graphveil._typing import Matrix
from graphveil.recovery.clipping_radius import Radius
from graphveil.recovery.noise_model import NoisyCovariance

__all__ = ["UnevenLoss"]


@dataclass(frozen=True, eq=False)
class UnevenLoss:
    """What directions have lost beyond the mean, in the coordinates of whitened rows.

    Attributes
    ----------
    matrix : (p, p) array
        The estimate; its trace is zero.
    sd : float
        Standard deviation of its error on the diagonal, √2 times that off it.
    """

    matrix: Matrix
    sd: float

    @classmethod
    def of(
        cls, radius: Radius, explained: float, p: int, tail: Matrix | None, tail_sd: float, within: float
    ) -> "UnevenLoss":
        """From what norms say was lost, of which columns that lost more than others explain a share, and from the tail.

        Both ``explained`` and ``within``, which the tail has of the loss, are shares of the second moment.
        """
        prior = (p - 1) * max(radius.lost - explained - radius.gaussian, 0.0) ** 2
        if tail is None or within <= 0.0 or prior == 0.0:
            return cls(np.zeros((p, p)), float(np.sqrt(prior)))
        beyond = radius.lost / within  # what lies farther out than the tail is taken to be distributed as it is
        noise = (beyond * tail_sd) ** 2
        trust = prior / (prior + noise)
        uneven = trust * beyond * (tail - np.eye(p) * np.trace(tail) / p)
        return cls(np.asarray(uneven), float(np.sqrt(trust * noise)))

    @classmethod
    def given_back(cls, lost: Matrix) -> "UnevenLoss":
        """Where ``lost`` was given back as if rows were Gaussian: there is no more to give back, but half is unsure."""
        return cls(np.zeros_like(lost), float(np.linalg.norm(lost) / np.sqrt(len(lost)) / 2.0))

    def give_back(self, noisy: NoisyCovariance, back: Matrix, single: Matrix) -> NoisyCovariance:
        """A covariance with what some directions lost beyond the mean, and with the error of that.

        ``back`` leads from whitened coordinates to those of the covariance. Variances of columns stay as they are: they
        were found with answers of their own. ``single`` are the errors of single entries that clipping did not make.
        """
        found = noisy.matrix + back @ self.matrix @ back.T
        before, after = np.diag(noisy.matrix), np.diag(found)
        known = (before > 0.0) & (after > 0.0)
        scale = np.sqrt(np.divide(before, after, out=np.ones_like(after), where=known))
        privacy = (*noisy.privacy, (back, self.sd))
        return replace(noisy, matrix=found * np.outer(scale, scale), privacy=privacy, single=single)
