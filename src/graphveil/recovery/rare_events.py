"""Rare events, whose variance and covariances with all other columns come from the few rows in which they occur.

Divided by its standard deviation, an event of a share q of the rows makes these 1/√q long. Clipping shortens these
rows, and their contribution to the variance, the covariances and the mean is lost. This module decides when the last
round divides such columns by more, what is added back to clipped moments, and how uncertain that is.
"""

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Vector
from graphveil.protocol.parameters import PROTOCOL
from graphveil.recovery.clipping_radius import Radius
from graphveil.recovery.column_scales import Columns
from graphveil.recovery.column_variances import VariancePosterior

__all__ = [
    "UNCANCELLED",
    "errors_of_lost",
    "likeness_to_events",
    "lost_beside",
    "lost_covariances",
    "make_room",
    "mean_shift",
    "restoring",
    "shrink_rare",
    "single_errors",
]

# Errors of single entries are stated as if none cancelled another, but in sums they do: with a quarter of their
# variance intervals cover 94 to 98% on the tables of benchmarks/regression_intervals.py, with all of it up to 98.6%.
UNCANCELLED = 0.25

_DENSE_FOURTH = 3.0  # E z⁴ of a dense column: it needs no room


def likeness_to_events(columns: Columns, known: VariancePosterior, location: Vector, unit: float) -> Vector:
    """Variances over the largest that columns with these means can have, (m - low)(high - m): that of two values.

    Clipping moved the means of rare events towards the nearer bound, by about what :func:`mean_shift` says.
    """
    low, high = columns.low * unit, columns.high * unit
    shift = mean_shift(known.variance, known.fourth, 1.0 - known.left)
    mean = location + np.where(high - location > location - low, shift, -shift)
    largest = columns.there * (mean - low) * (high - mean) / known.variance  # in units of the variance
    return np.asarray(1.0 / np.maximum(largest, 1e-12))


def make_room(
    covariance: Vector, known: VariancePosterior, radius: Radius, events: Vector
) -> tuple[Vector, NDArray[np.bool_]]:
    """A covariance to whiten with, in which rare events have a larger variance; and which these are.

    A column with its variance v at a distance D has it in rows of the squared norm D²/b + t², if it is divided by √b; t
    is the norm of an ordinary row. Divided by their standard deviation, rare events make rows so long that clipping
    takes most of what these rows say. Not so for b = D²/(R² - t²), and that costs little: the noise of a correlation,
    counted with what it must be multiplied by for clipping, has the variance (D²/v + t² b/v)/R² times that of a dense
    one. So events of which clipping leaves less than half are divided by more, if they are known well enough to tell
    how far away they are. Long tails are not: they have ordinary rows, too, whose noise would grow. Nor are events that
    other columns explain: what is left between them would drown.
    """
    ordinary = min(radius.value**2, PROTOCOL.room * known.fourth.size)
    room = max(ordinary - radius.typical**2, _DENSE_FOURTH)
    roomy = (events > 0.5) & (known.left < 0.5) & (known.fourth > room) & (known.relative_sd < PROTOCOL.drowned)
    if roomy.any():
        roomy &= np.diag(np.linalg.inv(covariance)) * np.diag(covariance) < 1.0 / (1.0 - PROTOCOL.most_explained)
    if roomy.all():  # no other column has anything to do with them
        roomy = ~roomy
    return covariance + np.diag(np.where(roomy, known.fourth / room - 1.0, 0.0) * np.diag(covariance)), roomy


def shrink_rare(whitened: Vector, sd: float, roomy: NDArray[np.bool_], variance: Vector) -> Vector:
    """Whitened covariances of the columns that were given room, as far as they stand out from the noise.

    ``variance`` is what they have in these coordinates.
    """
    matrix = np.zeros_like(whitened)
    pairs = np.triu(roomy[:, None] & roomy, 1)
    matrix[pairs] = _shrink_entries(whitened[pairs], sd)
    matrix += matrix.T
    for j in np.flatnonzero(roomy):
        matrix[j, ~roomy] = matrix[~roomy, j] = _shrink_entries(whitened[j, ~roomy], sd)
    matrix[roomy, roomy] = variance[roomy]
    return matrix


def _shrink_entries(entries: Vector, sd: float) -> Vector:
    """Entries off the diagonal, shrunk as far as all of them together look like noise (James and Stein)."""
    square = max(float(entries @ entries), 1e-300)
    return np.asarray(entries * max(0.0, 1.0 - entries.size * sd**2 / 2.0 / square))


def lost_covariances(left: Vector, events: Vector, tail_sd: Vector) -> tuple[Vector, Vector]:
    """What covariances with dense columns must be multiplied by, and how unsure they are then, relative to them.

    Clipping took a share of a variance in few long rows, and with it what these rows say of other columns: a part θ of
    that share. Of rare events θ is 1, because their covariances lie where they happen. Of a long tail, θ is 1 for what
    grows with the column as a line does, and a fifth for what does so only in the middle. The same part is missing from
    covariances of what noise hides (``tail_sd``, of variances); half of that a column's scale accounts for.
    """
    theta, theta_sd = _part_of_covariances(events)
    lost = 1.0 / left - 1.0
    given = 1.0 + theta * lost
    return given, np.hypot(theta_sd * (lost / given + tail_sd), (theta - 0.5) * tail_sd)


def _part_of_covariances(events: Vector) -> tuple[Vector, Vector]:
    """θ, and its standard deviation."""
    theta = np.clip(events, PROTOCOL.tail_part, 1.0)
    return theta, PROTOCOL.tail_part_sd * (1.0 - theta) / (1.0 - PROTOCOL.tail_part)


def restoring(given: Vector, left: Vector) -> Vector:
    """What covariances must be multiplied by once columns were brought to their variances.

    Two columns lost what the one lost that lost more.
    """
    return np.asarray(np.maximum(np.maximum.outer(given, given) * np.sqrt(np.outer(left, left)), 1.0))


def lost_beside(
    covariance: Vector, noisy: Vector, noise: Vector, known: VariancePosterior, events: Vector
) -> tuple[Vector, Vector]:
    """What columns that lost nothing themselves lost in the long rows of others, and standard deviations of that.

    Where an event i happens, the mean of another column j is off by c_ij D_i/v_i. Clipping took a share ℓ_i of these
    rows' squares and products, and with it ℓ_i c_ij c_ik/v_i of the covariance of j and k, and of their variances. In a
    long tail it took a share θℓ/(1 - ℓ + θℓ) of c_ij, so that the others follow by a part θ/(1 - ℓ + θℓ). Of several
    columns E, which may meet in the same rows, it took √(ℓ_i ℓ_l) c_il of their own moments, and what the others are by
    their regression on E goes with it: the matrix C'MC, where C are the covariances of E with the others. Noise N of C
    adds E N'MN to that, which is subtracted; what does not stand out of it is nothing.

    Parameters
    ----------
    covariance, noisy : (p, p) arrays
        Denoised, and before.
    noise : (p, p) array
        G, where the noise of the entries ij and kl of the latter has the covariance G_ik G_jl + G_il G_jk.
    known : VariancePosterior
    events : (p,) array
        Likeness of the columns to events.
    """
    lost, unsure = np.zeros((2, *covariance.shape))
    clipped = 1.0 - known.left > PROTOCOL.least_loss
    # Of a column that is nearly all noise, as a constant one is, nobody knows what others lost with it.
    far, near = np.flatnonzero(clipped & (known.relative_sd < PROTOCOL.drowned)), np.flatnonzero(~clipped)
    if far.size and near.size:
        theta, theta_sd = _part_of_covariances(events[far])
        own, across = covariance[np.ix_(far, far)], noisy[np.ix_(far, near)]
        slopes, taken = np.linalg.inv(own), np.sqrt(1.0 - known.left[far])
        kept = known.left[far] + theta * (1.0 - known.left[far])
        follow, follow_sd = theta / kept, theta_sd * known.left[far] / kept**2
        explained = np.sum((slopes @ across) * across, axis=0) / np.diag(covariance)[near]
        of_far, between, of_near = (noise[np.ix_(i, j)] for i, j in ((far, far), (far, near), (near, near)))

        def loss(part: Vector) -> tuple[Vector, Vector]:
            """C'MC as far as it stands out, and what noise adds to its diagonal."""
            along = (taken * part)[:, None] * slopes
            weights = along.T @ own @ along
            whole = across.T @ weights @ across
            added = np.sum(weights * of_far) * np.diag(of_near) + np.sum(between * (weights @ between), axis=0)
            stands_out = np.maximum(1.0 - added / np.maximum(np.diag(whole), 1e-300), 0.0)
            kept = np.sqrt(stands_out / np.maximum(explained, 1.0))  # and there is no more than all of a column
            return np.outer(kept, kept) * whole, added

        found, added = loss(follow)
        of_noise = np.outer(np.diag(found), added)
        of_noise += of_noise.T + np.outer(added, added)
        of_noise[np.diag_indices(near.size)] *= 2.0
        lost[np.ix_(near, near)] = found
        unsure[np.ix_(near, near)] = np.sqrt(loss(np.sqrt(2.0 * follow * follow_sd))[0] ** 2 + of_noise)
    return lost, unsure


def single_errors(covariance: Vector, fourth: Vector, n: float) -> Vector:
    """Variances of the errors of single entries by sampling, beside those of Gaussian rows.

    Events at distances D_i and D_j that meet in a share q of the rows have the covariance q D_i D_j, which has the
    variance q D_i² D_j²/n.
    """
    far = np.sqrt(np.diag(covariance) * np.maximum(fourth - 3.0, 0.0))
    errors = np.abs(covariance) * np.outer(far, far) / n
    np.fill_diagonal(errors, 0.0)  # variances are handled separately and do not enter correlations
    return np.asarray(errors)


def errors_of_lost(covariance: Vector, unsure: Vector) -> Vector:
    """Variances of the errors of single entries, because clipping took a part of them that is ``unsure``.

    ``covariance`` has been given back what clipping took.
    """
    errors = (np.maximum.outer(unsure, unsure) * covariance) ** 2
    np.fill_diagonal(errors, 0.0)
    return np.asarray(errors)


def mean_shift(variance: Vector, fourth: Vector, missing: Vector) -> Vector:
    """How far clipping may have moved each mean.

    Variance v that sits at a distance D, in a share v/D² of the rows, loses its share ℓ where these rows are shortened
    by √(1 - ℓ): then the mean moves by v/D² · D (1 - √(1 - ℓ)). The fourth moment is D²/v.
    """
    return np.asarray(np.sqrt(variance / fourth) * (1.0 - np.sqrt(1.0 - missing)))
