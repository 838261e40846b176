"""Exact moments that are collected batch by batch before they are released: nothing is spent until then."""

from typing import Any

from graphveil.exceptions import InvalidParameter, SourceError
from graphveil.rows.accumulate import accumulate
from graphveil.rows.blocks import open_source
from graphveil.rows.clipping import Encoder
from graphveil.rows.statistics import RowMoments
from graphveil.rows.unreleased import Unreleased
from graphveil.spec.augment import Augment
from graphveil.spec.domain import Domain
from graphveil.spec.lattice import MomentLayout

__all__ = ["Collection"]


class Collection(Unreleased):
    """Sums over all batches so far: for one round and public bounds, where one pass is enough.

    Parameters
    ----------
    domain : Domain
        Its ``rows_per_person`` counts over all batches together.
    augment : Augment
    """

    __slots__ = ("_given", "_moments", "augment", "domain", "n_features", "n_rows")

    def __init__(self, domain: Domain, augment: Augment) -> None:
        if domain.seeks_norm:
            raise InvalidParameter.of("data_norm", "a number when rows are collected batch by batch", domain.data_norm)
        self.domain = self._given = domain
        self.augment = augment
        self.n_features = 0
        self.n_rows = 0
        self._moments: list[RowMoments] = []

    def add(self, batch: Any) -> None:
        """Add the rows of a batch: all of them, or none if it is refused."""
        blocks = open_source(batch, self._given, self.augment)
        if self.n_rows and blocks.n_features != self.n_features:
            raise SourceError(
                f"X has {blocks.n_features} features, but partial_fit is expecting {self.n_features} features as "
                "input, as in the batches before."
            )
        domain = self.domain.matched_to(blocks.columns, blocks.n_features)
        encoder = Encoder(domain, self.augment, shift=self.augment is not None)
        layout = MomentLayout(blocks.n_features, self.augment)
        n_rows, (added,) = accumulate(blocks, encoder, lambda: [RowMoments(layout, trace=True)])
        assert isinstance(added, RowMoments)
        if self._moments:
            self._moments[0].merge(added)
        else:
            self._moments.append(added)
        self.domain, self.n_features, self.n_rows = domain, blocks.n_features, self.n_rows + n_rows

    def count(self) -> int:
        """Number of rows so far."""
        return self.n_rows

    def moments(self) -> RowMoments:
        """Of all rows so far; there must be some."""
        return self._moments[0]
