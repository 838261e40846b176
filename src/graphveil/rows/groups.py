"""The groups of a source: the rows of each, and their number.

Guarantee
---------
Proof: ``privacy/proofs/groups.md``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphveil.rows.by_person import count_people
from graphveil.rows.group_rows import GroupRows
from graphveil.rows.partitions import Partitions, RemoteGroups
from graphveil.rows.people import People
from graphveil.rows.sanitized_errors import leave_no_frames
from graphveil.rows.sources import RowSource
from graphveil.spec.grouping import most_groups

if TYPE_CHECKING:
    from graphveil.rows.streaming import StreamedMoments
    from graphveil.spec.options import ReleaseOptions

__all__ = ["count_groups", "split_groups"]


def split_groups(rows: "RowSource | StreamedMoments", options: "ReleaseOptions") -> list[RowSource]:
    """All groups of a source, in the order of their levels."""
    assert options.by is not None
    if isinstance(rows, RemoteGroups):
        return [rows.group(code) for code in range(len(options.by.levels))]
    place = rows.n_features - (1 if options.domain.weight is None else 2)  # a weight comes after the level
    return [GroupRows(rows, place, mark) for mark in options.by.marks]


@leave_no_frames
def count_groups(
    rows: "RowSource | StreamedMoments", groups: Sequence[RowSource], options: "ReleaseOptions"
) -> tuple[list[int] | None, int]:
    """How many rows, or people, are in each group, and in how many groups somebody is, at most, where that is public.

    Where being in a group is a secret, nothing is counted, and somebody could be in every group.
    """
    assert options.by is not None
    by_person = options.domain.person is not None
    if options.domain.hides_count:
        return None, most_groups(options.by, by_person=by_person)
    if not by_person:
        return [group.count() for group in groups], 1
    if isinstance(rows, Partitions):
        return rows.group_counts.people, rows.group_counts.groups_per_person
    counts, met = [], People()
    for group in groups:
        people, _ = count_people(group)
        counts.append(people.count())
        met.add(people.keys)
    return counts, int(met.rows_at.max())
