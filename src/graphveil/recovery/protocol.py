"""Public facts that the adaptive protocol starts from, the released ones among them."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from graphveil._typing import Vector
from graphveil.recovery.shrinkage import refined_trace_sd
from graphveil.spec.augmentation import Augment
from graphveil.spec.domain import Domain
from graphveil.spec.quantization import RowGrid
from graphveil.spec.queries import ColumnMeans
from graphveil.spec.row_space import RowSpace

__all__ = ["ProtocolInputs"]


@dataclass(frozen=True, kw_only=True)
class ProtocolInputs:
    """Public facts that the questions start from.

    Attributes
    ----------
    n_features : int
    n_samples : float
        What sums are divided by: the number of rows, or their total weight as a share of the largest.
    lattice : RowGrid
        Of the rows, without anything appended.
    radius : float
        Bound of a row's norm, in scaled units.
    mu : float
        The budget of the whole release.
    rows_per_person : int
        By which all sensitivities are multiplied.
    centred : bool
        Rows are taken to have mean zero.
    window : pair of arrays, or None
        What each coordinate of a row can be, where that is less than the lattice has.
    hides_count : bool
        ``n_samples`` was released with noise, sensitivities are those of one person more, and there are no traces.
    gaps : tuple of ranges
        The columns of each variable that declares missing values.
    n_kish : float or None
        Where rows have weights: how many of equal weights would have as much sampling noise.
    """

    n_features: int
    n_samples: float
    lattice: RowGrid
    radius: float
    mu: float
    rows_per_person: int
    centred: bool
    window: tuple[Vector, Vector] | None = None
    hides_count: bool = False
    gaps: tuple[range, ...] = ()
    n_kish: float | None = None

    @classmethod
    def of(
        cls,
        domain: Domain,
        augment: Augment,
        *,
        n_samples: float,
        mu: float,
        n_kish: float | None,
    ) -> Self:
        """What a release with this domain starts from, whose norm and scores have been found."""
        space = RowSpace.of(domain, augment, None)
        return cls(
            n_features=space.n_features,
            n_samples=n_samples,
            lattice=space.known_lattice,
            radius=domain.radius,
            mu=mu,
            rows_per_person=domain.rows_per_person,
            centred=augment is None,
            window=space.window,
            hides_count=domain.hides_count,
            gaps=space.gaps,
            n_kish=n_kish,
        )

    @property
    def n_sampled(self) -> float:
        """Number of rows that sampling noise is that of."""
        return self.n_samples if self.n_kish is None else self.n_kish

    def mean_origin(self, query: ColumnMeans) -> Vector:
        """The point from which a released mean counts: zero, unless what it was divided by is released too."""
        if self.hides_count:
            return query.middle
        return np.zeros(self.n_features) if self.n_kish is None else query.next_to_zero

    def noise(self, share: float) -> float:
        """Standard deviation of a count that gets ``share`` of μ², as a share of the rows.

        Its sensitivity is √2 where people are replaced, and 1 where they are added or removed.
        """
        sensitivity = 1.0 if self.hides_count else np.sqrt(2.0)
        return float(sensitivity * self.rows_per_person / (self.mu * np.sqrt(share) * self.n_samples))

    @property
    def hidden_rows(self) -> float:
        """Share of the rows that noise hides."""
        return self.rows_per_person / (self.mu * self.n_samples)

    def trace_sd(self, sd: float) -> float:
        """Standard deviation of the noise of a trace, from that of its terms."""
        p = self.n_features
        return float(sd * np.sqrt(p)) if self.hides_count else refined_trace_sd(sd, p)

    def agrees_with(self, other: "ProtocolInputs") -> bool:
        """Whether both hold the same facts."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return all(np.array_equal(np.asarray(a, object), np.asarray(b, object)) for a, b in pairs)

    @property
    def has_bounds(self) -> bool:
        """Whether there are bounds for every column, and no norm."""
        return self.lattice.levels > 0
