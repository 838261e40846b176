"""The people of a source: how many rows each has, and what replaces their rows before they are summed.

Guarantee
---------
Proof: ``privacy/proofs/people.md`` (theorem 13).
"""

from dataclasses import replace

from graphveil.rows.encoding import Encoder, IdentityEncoder
from graphveil.rows.parallel import Encoding, Tally
from graphveil.rows.people import People
from graphveil.rows.person_means import AverageRows, DeviationEncoder, PersonMeans
from graphveil.rows.sources import RowSource
from graphveil.spec.domain import Domain

__all__ = ["count_people", "encode_by_means"]


def count_people(source: RowSource) -> tuple[People, Tally]:
    """Everybody with their number of rows, and what the pass has seen."""
    people, seen = People(), Tally()
    for keys in source.iter_people():
        people.add(keys)
        seen.rows += len(keys)
    seen.owners = people.checksum
    return people, seen


def encode_by_means(
    source: RowSource, domain: Domain, people: People
) -> tuple[RowSource, Encoding, People | None, Tally]:
    """Replace rows by the average row of each person, or by their deviations from it.

    Returns the rows to sum, what encodes them, whose they are (None if everybody has one), and what the pass has seen.
    """
    encoder = Encoder(replace(domain, variation="total"), None, shift=True)
    means = PersonMeans(source, encoder, people)
    if domain.variation == "within":
        return source, DeviationEncoder(means, encoder, people), people, means.seen
    return AverageRows(means, source.columns), IdentityEncoder(encoder.width), None, means.seen
