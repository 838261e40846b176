"""The integer rows that queries are about: public, whatever the data."""

import math
from dataclasses import dataclass, replace

import numpy as np

from graphveil._typing import Vector
from graphveil.spec.augmentation import Augment
from graphveil.spec.domain import Domain
from graphveil.spec.quantization import PERSON_WEIGHT, MomentLayout, RowGrid

__all__ = ["RowSpace"]


@dataclass(frozen=True)
class RowSpace:
    """Where the rows of a domain live.

    Attributes
    ----------
    n_features : int
    lattice : RowGrid or None
        Of the rows of the domain; None while their norm is not known, when only norms can be counted.
    layout : MomentLayout
        Of the moments of these rows, with what the release appends to them.
    weighs : bool
        Rows have weights: a column says whose they are, or what each stands for.
    n_people : int or None
        Then, how many people there are, if that is public and everybody counts the same.
    hides_count : bool
        The number of rows or people is secret, and people may be added or removed.
    window : pair of arrays of integers, or None
        What each coordinate of a row can be, where that is less than the lattice has: indicators of a category.
    gaps : tuple of ranges
        The columns of each variable that declares missing values, which are all there or all ``MISSING``.
    hides_total : bool
        Weights are those of a survey, and what they add up to is secret.
    """

    n_features: int
    lattice: RowGrid | None
    layout: MomentLayout
    weighs: bool = False
    n_people: int | None = None
    hides_count: bool = False
    window: tuple[Vector, Vector] | None = None
    gaps: tuple[range, ...] = ()
    hides_total: bool = False

    @classmethod
    def of(cls, domain: Domain, augment: Augment, appended: Augment, n_people: int | None = None) -> "RowSpace":
        """Of a domain whose number of columns is known; ``appended`` is what its own rows carry of ``augment``."""
        p = domain.require_n_features()
        lattice = None if domain.wants_private_norm else RowGrid.of(domain, appended)
        window = None if lattice is None else _window(domain, augment, lattice)
        whose = (domain.weighs_rows, n_people if domain.weight is None else None, domain.hides_count)
        return cls(p, lattice, MomentLayout(p, augment), *whose, window, domain.gaps, domain.weight is not None)

    @property
    def weight_unit(self) -> int:
        """What the weights of one person's rows add up to, at most; rows that have none count as they are."""
        return PERSON_WEIGHT if self.weighs else 1

    @property
    def edge(self) -> float:
        """What no coordinate of a row of the domain exceeds."""
        return math.inf if self.lattice is None else self.lattice.edge

    @property
    def known_lattice(self) -> RowGrid:
        """The lattice, for queries that need one."""
        assert self.lattice is not None, "the norm of the rows is not known yet"
        return self.lattice


def _window(domain: Domain, augment: Augment, lattice: RowGrid) -> tuple[Vector, Vector] | None:
    """Where the indicators of categories lie on the lattice; rounding is monotone."""
    if domain.codebook is None or not domain.codebook.has_categories or not lattice.levels:
        return None
    if domain.variation == "within":  # half of the difference of two rows
        low, high = replace(domain, variation="total").scaling(shift=True)[2] * lattice.levels
        reach = np.rint((high - low) / 2.0) + 1.0
        return -reach, reach
    low, high = np.rint(domain.scaling(shift=augment is not None)[2] * lattice.levels)
    return low, high
