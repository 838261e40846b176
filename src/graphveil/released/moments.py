"""Means and second moments of a release in the user's units, and the distribution of their noise.

Everything here is post-processing of published numbers: it costs nothing, may be repeated, and cannot weaken the
guarantee.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.released.answers import Answer, SurveyWeights, released_count, released_weights
from graphveil.released.observed import gap_inflation, observed_shares
from graphveil.spec.augmentation import Augment, Constant, Labels
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.quantization import MomentLayout, RowGrid
from graphveil.spec.queries import ClippedTail, Moments, ObservedPairs

__all__ = ["NoisyMoments"]


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """The moments in the answers of a release; :class:`~graphveil.Release` documents the attributes."""

    event: ReleaseEvent
    domain: Domain
    augment: Augment
    answers: tuple[Answer, ...]

    @property
    def n_samples(self) -> int:
        """Number of rows, or of people: public, or as it was released with noise."""
        return self.event.n_samples if self.event.n_samples is not None else released_count(self.answers)[0]

    @property
    def count_sd(self) -> float:
        """Standard deviation of the noise of :attr:`n_samples`; 0 where it is public."""
        return released_count(self.answers)[1] if self.event.neighbours == "add-remove" else 0.0

    @property
    def total_weight(self) -> float | None:
        """What the survey weights of all records add up to, as it was released with noise; None without weights.

        With a person column, a person's weight is the average of those of their rows.
        """
        weight = self.domain.weight
        return None if weight is None else self._survey_weights.total * weight.largest

    @property
    def n_kish(self) -> float:
        """Number of equally weighted records whose averages would have as much sampling noise (Kish).

        (Σw)²/Σw², as far as noise shows it; :attr:`n_samples` where records have no weights.
        """
        return self.n_samples if self.domain.weight is None else self._survey_weights.effective(self.n_samples)

    @property
    def divisor(self) -> float:
        """What sums were divided by: the number of records, or their total weight, as a share of the largest."""
        return self.n_samples if self.domain.weight is None else self._survey_weights.total

    @property
    def divisor_noise(self) -> float:
        """Standard deviation of the noise of :attr:`divisor`, as a share of it; 0 where it is public."""
        sd = self.count_sd if self.domain.weight is None else self._survey_weights.sd
        return sd / self.divisor

    @property
    def _survey_weights(self) -> SurveyWeights:
        return released_weights(self.answers)

    @property
    def location(self) -> Vector | None:
        """The noisy mean, or None where it was not asked for (``assume_centered=True``, or labels)."""
        if not isinstance(self.augment, Constant):
            return None
        centre, half = self.scaling
        middle, back = self._unwhiten
        return np.asarray(centre + half * (middle + back @ self._mean / np.diag(self.observed)))

    @property
    def moment_center(self) -> Vector:
        """The point about which :attr:`second_moment` is taken.

        The released mean if there is one; the midpoint of the bounds for a release with labels; otherwise zero.
        """
        location = self.location
        return self.scaling[0] if location is None else location

    @property
    def second_moment(self) -> Matrix:
        """The noisy p × p second moment about :attr:`moment_center`: unbiased but for clipping, maybe indefinite."""
        half, back = self.scaling[1], self._unwhiten[1]
        p = half.size
        moment = self._moments[:p, :p]
        if isinstance(self.augment, Constant):
            # E[bbᵀ] = mmᵀ + Var(b): add what the noise of the mean takes away on the diagonal.
            moment = moment - np.outer(self._mean, self._mean) + self._mean_sd**2 * np.eye(p)
        if self._excess is not None:
            moment = moment + self._bare_layout.refined(self._excess.values, 0.0)
        if self._row_map is not None:
            moment = back @ moment @ back.T
            moment = (moment + moment.T) / 2.0
        return np.asarray(moment * np.outer(half, half) / self.observed)

    @property
    def observed(self) -> Matrix:
        """Noisy shares of the records in which both columns of a pair are there; 1 where none is declared missing."""
        p, gaps = self.domain.require_n_features(), self.domain.gaps
        found = [answer for answer in self.answers if isinstance(answer.query, ObservedPairs)]
        return observed_shares(found[0], gaps, p, self.divisor) if gaps and found else np.ones((p, p))

    @property
    def noise_sd(self) -> Matrix:
        """Standard deviation of the privacy noise in each entry of :attr:`second_moment`.

        After several rounds it is that of the last, in the coordinates of the data: s/√2·√(G_ii G_jj + G_ij²) for
        noise s in whitened coordinates, G the product of the map back with its transpose.
        """
        half, p = self.scaling[1], self.scaling[1].size
        counted: Any = 0.0
        if self.divisor_noise:  # M/n - mm'/n² moves by (M - 2mm') times the relative error of n
            mean = half * (self._unwhiten[1] @ self._mean) if isinstance(self.augment, Constant) else np.zeros(p)
            counted = self.divisor_noise * (self.second_moment - np.outer(mean, mean))
        if self._row_map is not None:
            total = self.noise_scale**2 + (0.0 if self._excess is None else self._excess.sd("diagonal") ** 2)
            spread = self._unwhiten[1] @ self._unwhiten[1].T
            variance = np.asarray(total / 2.0 * (np.outer(np.diag(spread), np.diag(spread)) + spread**2))
            return np.asarray(np.hypot(np.sqrt(variance) * np.outer(half, half) / self.observed, counted))
        m = self._layout.n_diagonal
        variance = np.full((p, p), self._last.sd("off_diagonal") ** 2)
        refined = m / (m + 1) if "trace" in self._last.values else 1.0
        np.fill_diagonal(variance, self.noise_scale**2 * refined)
        if isinstance(self.augment, Constant):
            # Var(b_i b_j) around the released b; twice that on the diagonal, where both factors are the same.
            square, sd2 = self._mean**2, self._mean_sd**2
            product = sd2 * (square[:, None] + square) + sd2**2
            variance = np.asarray(variance + product + np.diag(np.diag(product)))
        return np.asarray(np.hypot(np.sqrt(variance) * np.outer(half, half), counted))

    @property
    def location_noise(self) -> Matrix:
        """Covariance of the privacy noise in :attr:`location`; zero without one."""
        half = self.scaling[1]
        if not isinstance(self.augment, Constant):
            return np.zeros((half.size, half.size))
        root = (half / np.diag(self.observed))[:, None] * self._unwhiten[1] * self._mean_sd
        away = half * (self._unwhiten[1] @ self._mean) * self.divisor_noise
        return np.asarray(root @ root.T + np.outer(away, away))

    @property
    def noise_scale(self) -> float:
        """Standard deviation σ of the noise on the svec coordinates of the last round, in its units."""
        return self._last.sd("diagonal")

    @property
    def n_eff(self) -> float:
        """Number of equally informative noise-free rows: 1/n_eff = 1/n + (σ/mean eigenvalue)²/2.

        Where rows have weights, n is :attr:`n_kish`. Where values are missing, it is divided by what that adds to the
        variance of correlations, on average.
        """
        p = self.scaling[1].size
        moment = np.trace(self._moments[:p, :p]) / p
        if isinstance(self.augment, Constant):
            # A square is not negative: where noise drowns the mean, its variance must not pass for spread of the rows.
            moment -= max(0.0, np.sum(self._mean**2) / p - self._mean_sd**2)
        relative = self.noise_scale / max(float(moment), self.noise_scale / np.sqrt(p))
        return float(1.0 / (1.0 / self.n_kish + relative**2 / 2.0) / gap_inflation(self.observed))

    @property
    def class_counts(self) -> Vector | None:
        """Noisy number of rows of each class (may be negative), or None without labels."""
        if not isinstance(self.augment, Labels):
            return None
        corner = self._moments.diagonal()[self.scaling[1].size :]
        return np.asarray(self.n_samples * corner / self._constant**2)

    @property
    def class_counts_sd(self) -> float:
        """Standard deviation of the noise of :attr:`class_counts`; 0 without labels."""
        return self.n_samples * self.noise_scale / self._constant**2 if isinstance(self.augment, Labels) else 0.0

    @property
    def class_sums(self) -> Matrix | None:
        """Noisy sums of the scaled rows of each class, a row each, divided by the number of all rows; or None."""
        p = self.scaling[1].size
        return np.asarray(self._moments[:p, p:].T / self._constant) if isinstance(self.augment, Labels) else None

    @property
    def class_sums_sd(self) -> float:
        """Standard deviation of the noise of each entry of :attr:`class_sums`; 0 without labels."""
        return self._mean_sd if isinstance(self.augment, Labels) else 0.0

    @property
    def class_locations(self) -> Matrix | None:
        """Noisy class means, a row each, NaN where the noisy count is not positive; None without labels."""
        counts, sums = self.class_counts, self.class_sums
        if counts is None or sums is None:
            return None
        centre, half = self.scaling
        share = np.where(counts > 0, counts, np.nan) / self.n_samples
        return np.asarray(centre + half * (sums / share[:, None]))

    # ------------------------------------------------------------------ mechanism units
    @cached_property
    def scaling(self) -> tuple[Vector, Vector]:
        """Centre and half-width of the columns: scaled units times half plus centre are user's units."""
        return self.domain.scaling(shift=self.augment is not None)[:2]

    @property
    def _layout(self) -> MomentLayout:
        return MomentLayout(self.domain.require_n_features(), self.augment)

    @property
    def _bare_layout(self) -> MomentLayout:
        return MomentLayout(self.domain.require_n_features(), None)

    @cached_property
    def _last(self) -> Answer:
        """The round with the final moments."""
        found = [answer for answer in self.answers if isinstance(answer.query, Moments)]
        if not found:
            raise InvalidParameter("a release must hold moments.")
        return found[-1]

    @property
    def _excess(self) -> Answer | None:
        after = self.answers[self.answers.index(self._last) + 1 :]
        return next((answer for answer in after if isinstance(answer.query, ClippedTail)), None)

    @property
    def _row_map(self) -> Any:
        return self._last.query.row_map  # type: ignore[attr-defined]

    @cached_property
    def _unwhiten(self) -> tuple[Vector, Matrix]:
        """(m, B): a row z of the last round is the scaled row m + Bz."""
        p = self.domain.require_n_features()
        if self._row_map is None:
            return np.zeros(p), np.eye(p)
        unit = RowGrid.of(self.domain, None).unit
        return self._row_map.centre * unit, self._row_map.inverse(unit).T

    @cached_property
    def _constant(self) -> float:
        """What was appended, in the units of the last round."""
        query = self._last.query
        assert isinstance(query, Moments)
        p = self.domain.require_n_features()
        lattice = RowGrid.of(self.domain, self.augment) if query.row_map is None else query.lattice(p)
        return lattice.constant * lattice.unit

    @cached_property
    def _moments(self) -> Matrix:
        return self._layout.refined(self._last.values, corner=self._constant**2)

    @property
    def _mean(self) -> Vector:
        return np.asarray(self._moments[:-1, -1] / self._constant)

    @property
    def _mean_sd(self) -> float:
        return self._last.sd("off_diagonal") / self._constant
