"""The type of every data set."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphveil.spec.kinds import Number

__all__ = ["Dataset"]


# Compared by identity: equality of arrays is an array.
@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and public facts about them; None for facts that do not apply.

    Every call of a loader makes new arrays: change them as you like.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        The numbers as published, float64, in C order.
    columns : tuple of str
        Names of the p columns.
    source : str
        Who made the data, and where this copy comes from.
    licence : str
        What is known about the terms, including what is not known.
    description : str
        What a row is, and what to watch out for.
    labels : ndarray of shape (n,), optional
        The class of each row, as text.
    edges : tuple of pairs of str, optional
        A graph on the columns, from the literature. Both names of a pair are in the order of ``columns``, and so are
        the pairs.
    directed_edges : tuple of pairs of str, optional
        The same graph as (cause, effect).
    bounds : mapping of str to (float, float), optional
        For each column what a value can be, from a codebook or an instrument, never from the rows. It may be given
        to :class:`graphveil.Domain`.
    codebook : mapping of str to Number, optional
        The same with what each column means and how its bounds are known; for :class:`graphveil.Domain` too.
    rows_per_person : int, optional
        The most rows that one person has, by the design of the study. None where rows are not people.
    people : ndarray of shape (n,), optional
        Whose row each is, as numbers from 1 on: for ``person=`` of :func:`graphveil.release`.
    """

    rows: NDArray[np.float64] = field(repr=False)
    columns: tuple[str, ...]
    source: str = field(repr=False)
    licence: str = field(repr=False)
    description: str = field(repr=False)
    labels: NDArray[np.str_] | None = field(default=None, repr=False)
    edges: tuple[tuple[str, str], ...] | None = field(default=None, repr=False)
    directed_edges: tuple[tuple[str, str], ...] | None = field(default=None, repr=False)
    bounds: Mapping[str, tuple[float, float]] | None = field(default=None, repr=False)
    codebook: Mapping[str, Number] | None = field(default=None, repr=False)
    rows_per_person: int | None = None
    people: NDArray[np.int64] | None = field(default=None, repr=False)
