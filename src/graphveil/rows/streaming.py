"""Exact moments collected batch by batch before they are released; nothing is spent until then."""

from typing import Any

from graphveil.exceptions import InvalidParameter, SourceError
from graphveil.rows.accumulators import RowMoments
from graphveil.rows.encoding import Encoder
from graphveil.rows.parallel import accumulate
from graphveil.rows.sanitized_errors import leave_no_frames
from graphveil.rows.sources import open_source
from graphveil.rows.statistic import Unreleased
from graphveil.spec.augmentation import Augment
from graphveil.spec.domain import Domain
from graphveil.spec.quantization import MomentLayout

__all__ = ["StreamedMoments"]


class StreamedMoments(Unreleased):
    """Sums over all batches so far: for one round and public bounds, where one pass is enough.

    Parameters
    ----------
    domain : Domain
        Its ``rows_per_person`` counts over all batches together.
    augment : Augment
    """

    __slots__ = ("_given", "_sums", "augment")

    def __init__(self, domain: Domain, augment: Augment) -> None:
        if domain.person is not None:
            raise InvalidParameter.of(
                "person",
                "None when rows are collected batch by batch",
                domain.person,
                ("A later batch may hold more rows of the same person. Give all batches to gv.release at once."),
            )
        if domain.weight is not None:
            raise InvalidParameter.of("weight", "None when rows are collected batch by batch", domain.weight.column)
        if domain.hides_count:
            raise InvalidParameter.of(
                "neighbours", '"replace" when rows are collected batch by batch', domain.neighbours
            )
        if domain.wants_private_norm:
            raise InvalidParameter.of("data_norm", "a number when rows are collected batch by batch", domain.data_norm)
        if domain.wants_scores:
            raise InvalidParameter.of("scale", 'other than "rank" when rows are collected batch by batch', "rank")
        self._given, self.augment = domain, augment
        self._sums: tuple[Domain, int, RowMoments] | None = None

    @leave_no_frames
    def add(self, batch: Any) -> None:
        """Add the rows of a batch: all of them, or none if it is refused or interrupted.

        Guarantee
        ---------
        What was there is not changed; one assignment puts the new sums in its place, so that a batch that is given
        again after an interruption does not count twice.
        """
        # By name once names are known: a later frame may have them in another order.
        blocks = open_source(batch, self._given if self.domain.columns is None else self.domain, self.augment)
        if self._sums is not None and self.domain.codebook is None and blocks.n_features != self.n_features:
            raise SourceError(
                f"X has {blocks.n_features} features, but partial_fit is expecting {self.n_features} features as "
                "input, as in earlier batches."
            )
        domain = self.domain.resolve(blocks.columns, blocks.n_features)
        encoder = Encoder(domain, self.augment, shift=self.augment is not None)
        layout = MomentLayout(domain.require_n_features(), self.augment)
        seen, (moments,) = accumulate(blocks, encoder, lambda: [RowMoments(layout, encoder.lattice)])
        assert isinstance(moments, RowMoments)
        if self._sums is not None:
            moments.merge(self._sums[2])
        self._sums = (domain, self.count() + seen.rows, moments)

    @property
    def domain(self) -> Domain:
        """With the columns of the first batch."""
        return self._given if self._sums is None else self._sums[0]

    @property
    def n_features(self) -> int:
        """Number of columns; there must have been a batch."""
        return self.domain.require_n_features()

    def check_asked(self, domain: Domain, augment: Augment, *, adaptive: bool) -> None:
        """Collected sums answer one question, and only about the rows that they were made of."""
        if adaptive:
            raise InvalidParameter.of("adaptive", "False for rows that were collected batch by batch", True)
        if self.count() == 0:
            raise SourceError("The source has no rows.")
        same = domain.resolve(self.domain.columns, self.n_features) == self.domain
        if not same or augment != self.augment:
            raise InvalidParameter("The domain or the mean setting has changed since the rows were collected.")

    def count(self) -> int:
        """Number of rows so far."""
        return 0 if self._sums is None else self._sums[1]

    def close(self) -> None:
        """Nothing was opened."""

    def moments(self) -> RowMoments:
        """Of all rows so far; there must have been a batch."""
        assert self._sums is not None
        return self._sums[2]
