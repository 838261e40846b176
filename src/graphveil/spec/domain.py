"""Public assumptions about rows: columns, bounds, norm, and the number of rows per person."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, SourceError, shorten
from graphveil.spec.codebook import Codebook
from graphveil.spec.kinds import RANK, Kind
from graphveil.spec.serialization import LATER, Record
from graphveil.spec.weight import Weight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MAX_FEATURES", "UNBOUNDED", "Domain"]

_PRIVATE = "private"
MAX_FEATURES = 2**16  # beyond this the row lattice has fewer than 2¹² levels a column
UNBOUNDED = 2.0**500  # what a value without bounds is clamped to: MAX_FEATURES squares of it do not overflow
# Of bounds and norms: their fourth powers, such as variances of covariances, are doubles, with 2²⁰⁰ to spare for what
# they are multiplied and divided by.
_SMALLEST, _LARGEST = 2.0**-200, 2.0**200
_COMPUTABLE = "so that fourth powers can be computed with (choose another unit)"


@dataclass(frozen=True)
class Domain(Record):
    """Public facts about the rows. Nothing here may be read off the data.

    Parameters
    ----------
    columns : mapping or sequence of str, optional
        The content of each column, by name: bounds (lower, upper), or a kind, :class:`~graphveil.Number`,
        :class:`~graphveil.Category` or :class:`~graphveil.Ordinal`. Or only the names of the columns to use, in this
        order, together with ``bounds`` or ``data_norm``. Frames are matched by name; an array must have as many
        columns. Default: all columns of the source (its schema counts as public).
    n_features : int, optional
        Number of columns, for arrays without names.
    bounds : pair ``(lower, upper)`` or mapping, optional
        The range of values, from a codebook or common sense: each a number for all columns, or one number per
        column; or a mapping as for ``columns``. Values outside are clamped, a missing value becomes the midpoint of its
        bounds (zero, if rows are assumed to be centred), and every column is scaled to [-1, 1]. Bounds taken from the
        data void the guarantee.
    data_norm : float or "private", optional
        Bound on a row's Euclidean norm: after scaling if there are ``bounds``, in raw units otherwise. Longer rows are
        scaled down to it. Default with ``bounds``: √(number of columns), which no row exceeds. "private", without
        bounds: find one that few rows exceed, within the budget; the domain of the release then has the number.
    person : str, optional
        The column that identifies the person (integers, text or bytes). Every person then counts once, as the average
        of their rows, and all their rows are protected together, however many there are. The number of people is
        public, the number of rows is not. All rows without an id count as one person.
    variation : {"total", "between", "within"}
        With a person column, which variation is released. "total": that of a random row of a random person. "between":
        that of people's averages, one row each. "within": that of rows minus the average of their own person.
    rows_per_person : int, default 1
        Without a person column, the largest number of rows of one person. It is not checked, and it multiplies the
        noise. The guarantee then protects the person, not the row.
    codebook : Codebook, optional
        The kinds of the columns, if there are any other than bounds; made from ``columns``.
    neighbours : {"replace", "add-remove"}
        The neighbouring relation. "replace": data sets of the same, public number of people, in which all rows of one
        person (up to ``rows_per_person``) are replaced by any others. "add-remove": one person is in one data set and
        not in the other, so that membership is secret too; the number of people is released with noise.
    weight : Weight, optional
        The column of survey weights, and the largest that counts: means and moments are weighted by them. With a person
        column, each row of a person with m rows gets 1/m of its weight. The total weight is released with noise.

    Examples
    --------
    >>> from graphveil import Category, Number
    >>> domain = Domain(
    ...     {"age": (0, 110), "cost": Number(1, 1e6, scale="log"), "ward": Category(["A", "B", "C"])}
    ... )
    >>> domain.columns
    ('age', 'log(cost)', 'ward[B]', 'ward[C]')
    >>> Domain.from_json(domain.to_json()) == domain
    True
    """

    columns: Any = None  # names of the columns of a release, as a tuple, or None, once it is checked
    n_features: int | None = None
    bounds: Any = None  # a pair of numbers or tuples once it is checked
    data_norm: float | str | None = None
    rows_per_person: int = 1
    person: str | None = field(default=None, metadata=LATER)
    variation: str = field(default="total", metadata=LATER)
    codebook: Codebook | None = field(default=None, metadata=LATER)
    neighbours: str = "replace"
    weight: Weight | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        self._read_columns()
        self._check_size()
        self._check_norm()
        self._check_person()
        _validation.choice("variation", self.variation, ["total", "between", "within"])
        self._check_combinations()
        _validation.choice("neighbours", self.neighbours, ["replace", "add-remove"])
        if self.weight is not None:
            self._check_weight()

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _read_columns(self) -> None:
        """Names, bounds and a codebook, from any of the ways in which columns can be described."""
        if isinstance(self.columns, Mapping):
            if self.bounds is not None:
                raise InvalidParameter("bounds must not be given if columns describes each column.")
            self._put("bounds", self.columns)
            self._put("columns", None)
        if isinstance(self.bounds, Mapping) and any(isinstance(kind, Kind) for kind in self.bounds.values()):
            names = _names_of(self.bounds, self.columns)
            self._put("codebook", Codebook.of({name: self.bounds[name] for name in names}))
            self._put("columns", None)
            self._put("bounds", None)
        if isinstance(self.bounds, Mapping):
            names, ends = _bounds_by_name(self.bounds, self.columns)
            self._put("columns", names)
            self._put("bounds", ends)
        if self.codebook is not None:
            self._put("columns", _agree("columns", self.columns, self.codebook.columns))
            self._put("bounds", _agree("bounds", self.bounds, self.codebook.bounds))

    def _check_size(self) -> None:
        """Names, bounds and the number of columns, and that they agree on it."""
        if self.columns is not None:
            self._put("columns", _validation.text_tuple("columns", self.columns))
            if self.n_features not in (None, len(self.columns)):
                raise InvalidParameter.of("n_features", f"{len(self.columns)}, as columns has it", self.n_features)
            self._put("n_features", len(self.columns))
        if self.bounds is not None:
            self._put("bounds", _checked_bounds(self.bounds, self.columns))
            lengths = {len(end) for end in self.bounds if isinstance(end, tuple)}
            known = {self.n_features} if self.n_features is not None else set()
            if len(lengths | known) > 1:
                counts = " and ".join(map(str, sorted(lengths | known)))
                raise InvalidParameter(
                    "bounds must be numbers, or as many numbers as there are columns; lowers, uppers and columns are "
                    f"{counts}."
                )
            if lengths:
                self._put("n_features", lengths.pop())
        if self.n_features is not None:
            self._put("n_features", _validation.integer("n_features", self.n_features, 1, MAX_FEATURES))

    def _check_norm(self) -> None:
        if self.wants_private_norm and self.bounds is not None:
            raise InvalidParameter.of("data_norm", "a number or None where there are bounds", self.data_norm)
        if self.data_norm is not None and not self.wants_private_norm:
            rule = f'a positive number between {_SMALLEST:.0e} and {_LARGEST:.0e}, or "{_PRIVATE}"'
            norm = _validation.number("data_norm", self.data_norm, rule, _SMALLEST, _LARGEST)
            self._put("data_norm", norm)
            if self.bounds is not None:  # of which it is a multiple
                pairs = list(zip(*(_spread(end, self.n_features or 1) for end in self.bounds), strict=False))
                farthest = norm / math.sqrt(MAX_FEATURES) * max(max(-low, high) for low, high in pairs)
                narrowest = norm * math.sqrt(MAX_FEATURES) * min((high - low) / 2.0 for low, high in pairs)
                if farthest > _LARGEST or narrowest < _SMALLEST:
                    raise InvalidParameter.of("data_norm", f"closer to 1 with these bounds: {_COMPUTABLE}", norm)
        if self.bounds is None and self.data_norm is None:
            raise InvalidParameter(
                "Domain needs bounds or data_norm: without a bound on a row, no noise can hide it. Give one of these: "
                "bounds=(lower, upper) with the range of each column (from a codebook, never from the data; the most "
                'accurate); data_norm=R with the largest Euclidean norm a row can have; or data_norm="private", which '
                "spends a little of the budget on finding a norm."
            )

    def _check_person(self) -> None:
        self._put("rows_per_person", _validation.integer("rows_per_person", self.rows_per_person, 1, 2**20))
        if self.person is not None:
            self._put("person", _validation.text("person", self.person))
            if self.rows_per_person != 1:
                rule = "1 with a person column, which shows how many rows each person has"
                raise InvalidParameter.of("rows_per_person", rule, self.rows_per_person)
            if self.source_columns is not None and self.person in self.source_columns:
                raise InvalidParameter.of("person", "a column that is not among the columns to release", self.person)

    def _check_combinations(self) -> None:
        """What has no proof, or no meaning, together."""
        of_people, ranked, private = self.variation != "total", self.wants_scores, self.wants_private_norm
        hidden, gaps, norm = self.hides_count, bool(self.gaps), self.data_norm
        for_variation, for_count = f'with variation="{self.variation}"', f'with neighbours="{self.neighbours}"'
        forbidden = (
            (of_people and self.person is None, "variation", '"total" without a person column', self.variation),
            (of_people and gaps, "missing", f"False {for_variation}", True),
            (of_people and ranked, "scale", f'other than "{RANK}" {for_variation}', RANK),
            # Cells are counted between bounds, of rows that keep them.
            (ranked and norm is not None, "data_norm", f'None with scale="{RANK}"', norm),
            (hidden and gaps, "missing", f"False {for_count}", True),
            (of_people and private, "data_norm", f"a number {for_variation}", norm),
            (hidden and private, "data_norm", f"a number {for_count}", norm),
        )
        for both, name, rule, value in forbidden:
            if both:
                raise InvalidParameter.of(name, rule, value)

    def _check_weight(self) -> None:
        weight: Any = self.weight
        if not isinstance(weight, Weight):
            raise InvalidParameter.of("weight", 'a gv.Weight, such as gv.Weight("w", largest=10), or None', weight)
        if weight.column in (*(self.source_columns or ()), self.person):
            raise InvalidParameter.of("weight", "a column that is neither released nor the person's", weight.column)
        if self.variation != "total":
            raise InvalidParameter.of("variation", '"total" with weights', self.variation)
        if self.hides_count:
            raise InvalidParameter.of("neighbours", '"replace" with weights', self.neighbours)
        if self.wants_private_norm:
            raise InvalidParameter.of("data_norm", "a number with weights", self.data_norm)

    @classmethod
    def read(cls, path: "str | os.PathLike[str]", **settings: Any) -> "Domain":
        """Read a codebook: TOML as `graphveil codebook template` writes it, Frictionless table schema or CSVW (JSON).

        ``settings`` are further arguments, such as ``person="patient_id"``, and take precedence over the file. Without
        a person column, the file or the caller must give ``rows_per_person``.
        """
        from graphveil.spec.codebook_file import parse_columns, read_settings

        found = read_settings(path) | settings
        if found.get("person") is not None:
            found.pop("rows_per_person", None)
        elif "rows_per_person" not in found:
            raise InvalidParameter(
                "what is rows_per_person, the largest number of records of any person? A person is protected with "
                "all of them. (Or name the column that identifies the person: person.)"
            )
        weights = getattr(found.get("weight"), "column", None)
        for name, what in ((found.get("person"), "identifies the person"), (weights, "holds the weights")):
            if name in found["columns"]:
                raise InvalidParameter(f"column {name!r} {what}, and is not released: leave it out of the columns.")
        return cls(**found | {"columns": parse_columns(found["columns"])})

    def resolve(self, columns: Sequence[str] | None, n_features: int) -> "Domain":
        """Complete this domain with the schema of a source, or refuse the source. Weights are its last column."""
        if self.weight is not None:
            columns, n_features = None if columns is None else columns[:-1], n_features - 1
        wanted = self.n_features if self.codebook is None else len(self.codebook.names)
        if wanted not in (None, n_features):
            raise SourceError(
                f"The source has {n_features} columns, the domain has {wanted}. Give the domain the columns "
                "of the source, or select columns before the release."
            )
        if self.codebook is not None:
            return self
        named = self.columns if self.columns is not None or columns is None else tuple(columns)
        return replace(self, columns=named, n_features=n_features)

    def scaling(self, *, shift: bool) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
        """Return (centre, half-width, [lower, upper] after scaling), all per column.

        With ``shift`` the box is moved to the origin. Without it (rows are taken to be centred already) it is only
        scaled, by the larger of the two bounds' absolute values. Without bounds nothing is moved or scaled.
        """
        import numpy as np

        p = self.require_n_features()
        if self.variation == "within":  # deviations, which may reach from one bound to the other
            _, half, ends = replace(self, variation="total").scaling(shift=True)
            return np.zeros(p), 2.0 * half, ends
        if self.bounds is None:
            return np.zeros(p), np.ones(p), np.stack([np.full(p, -UNBOUNDED), np.full(p, UNBOUNDED)])
        lower, upper = (np.broadcast_to(np.asarray(end, dtype=np.float64), (p,)) for end in self.bounds)
        if shift:
            centre, half, ends = (lower + upper) / 2, (upper - lower) / 2, np.stack([np.full(p, -1.0), np.ones(p)])
            if self.codebook is not None:
                middle, radius = self.codebook.simplices(self.n_blocks)
                indicator = ~np.isnan(middle)
                centre, half = np.where(indicator, middle, centre), np.where(indicator, radius, half)
                ends = np.where(indicator, (np.stack([lower, upper]) - centre) / half, ends)
            return centre, half, ends
        half = np.maximum(np.abs(lower), np.abs(upper))
        return np.zeros(p), half, np.stack([np.maximum(lower / half, -1.0), np.minimum(upper / half, 1.0)])

    def check_contains_zero(self) -> None:
        """Rows that are taken to have mean zero must be able to: their bounds contain zero."""
        if self.bounds is None:
            return
        _, half, ends = self.scaling(shift=False)
        for column in range(half.size):
            if ends[0, column] > 0.0 or ends[1, column] < 0.0:
                name = repr(self.columns[column]) if self.columns is not None else str(column)
                raise InvalidParameter(
                    f"The bounds of column {name} do not contain 0, but assume_centered=True assumes rows with mean "
                    f"zero. Omit it to release the mean too; or subtract a public centre from the column."
                )

    @property
    def source_columns(self) -> tuple[str, ...] | None:
        """The columns of a source that are read, where they are named."""
        return self.columns if self.codebook is None else self.codebook.names

    @property
    def raw_columns(self) -> tuple[str, ...] | None:
        """The same, and after them that of the weights."""
        own = self.source_columns
        return own if own is None or self.weight is None else (*own, self.weight.column)

    def rename_source_columns(self, names: tuple[str, ...]) -> "Domain":
        """Of a source whose columns, that of the weights too, have other names."""
        if self.weight is not None:
            renamed = replace(self, weight=None).rename_source_columns(names[:-1])
            return replace(renamed, weight=replace(self.weight, column=names[-1]))
        if self.codebook is None:
            return replace(self, columns=names)
        return replace(self, codebook=self.codebook.rename(names), columns=None)

    def extend(self, bounds: Mapping[str, tuple[float, float]]) -> "Domain":
        """With further columns of numbers, which have ``bounds``; this domain has bounds too."""
        p, more = self.require_n_features(), list(bounds.values())
        if self.codebook is not None:
            codebook = self.codebook.extend(bounds)
            return replace(self, codebook=codebook, columns=None, bounds=None, n_features=None)
        ends = tuple([*_spread(end, p), *(pair[side] for pair in more)] for side, end in enumerate(self.bounds))
        named = None if self.columns is None else (*self.columns, *bounds)
        return replace(self, columns=named, n_features=p + len(more), bounds=ends)

    @property
    def gaps(self) -> tuple[range, ...]:
        """The columns of each variable that declares missing values: all of them are missing, or none."""
        return () if self.codebook is None else self.codebook.gaps

    @property
    def n_blocks(self) -> int:
        """How many parts of a row have norm 1 at most, after scaling: columns of numbers, or all of a category."""
        return self.require_n_features() if self.codebook is None else len(self.codebook.names)

    @property
    def weighs_rows(self) -> bool:
        """Whether rows count by weights: all of a person's together as one, or as less."""
        return self.weight is not None or (self.person is not None and self.variation != "between")

    @property
    def hides_count(self) -> bool:
        """Whether membership in the table is secret, and with it the number of people."""
        return self.neighbours == "add-remove"

    @property
    def wants_private_norm(self) -> bool:
        """Whether a bound of the norm is still to be found, inside the budget."""
        return isinstance(self.data_norm, str) and self.data_norm == _PRIVATE

    @property
    def wants_scores(self) -> bool:
        """Whether normal scores of ranks are still to be found, inside the budget."""
        return self.codebook is not None and bool(self.codebook.unscored)

    @property
    def radius(self) -> float:
        """Bound of a row's norm after scaling."""
        if isinstance(self.data_norm, str):
            raise InvalidParameter("the norm is not known yet: it will be found privately.")
        return self.data_norm if self.data_norm is not None else math.sqrt(self.n_blocks)

    def require_n_features(self) -> int:
        """Return the number of columns, or ask for it."""
        if self.n_features is None:
            raise InvalidParameter("n_features is not known yet: give columns or n_features to the Domain.")
        return self.n_features


def _names_of(bounds: Mapping[Any, Any], columns: Any) -> list[Any]:
    """The names of a mapping, in the order of ``columns`` where there are any."""
    names = list(bounds) if columns is None else list(_validation.text_tuple("columns", columns))
    missing = sorted(set(map(str, names)) ^ set(map(str, bounds)))
    if missing:
        raise InvalidParameter(
            f"bounds and columns must name the same columns; {shorten(repr(missing[0]))} is in one only."
        )
    return names


def _agree(name: str, given: Any, derived: Any) -> Any:
    """What a codebook says, or what was written beside it: logarithms may differ in the last bit between machines."""
    if given is None:
        return derived
    alike = len(given) == len(derived) and all(
        a == b if isinstance(a, str) else len(a) == len(b) and all(map(_is_close, a, b))
        for a, b in zip(given, derived, strict=True)
    )
    if not alike:
        raise InvalidParameter(f"{name} and codebook of a domain must agree.")
    return given


def _is_close(a: Any, b: Any) -> bool:
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def _bounds_by_name(bounds: Mapping[Any, Any], columns: Any) -> tuple[Any, tuple[list[Any], list[Any]]]:
    """Columns and (lowers, uppers) from a mapping of names to pairs."""
    names = _names_of(bounds, columns)
    rule = "a mapping of column names to pairs (lower, upper)"
    pairs = [bounds[name] for name in names]
    if not names:
        raise InvalidParameter.of("bounds", rule, bounds)
    for name, pair in zip(names, pairs, strict=True):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InvalidParameter.of("bounds", rule, bounds, f"Column {shorten(repr(name))} has no such pair.")
    return names, ([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def _checked_bounds(bounds: Any, names: Sequence[str] | None) -> tuple[Any, Any]:
    rule = "a pair (lower, upper), each a number or one number per column, or a mapping of names to pairs"
    if isinstance(bounds, list) and bounds and all(isinstance(pair, tuple) for pair in bounds):
        raise InvalidParameter(
            "bounds is (all lowers, all uppers), not a list of pairs: write ([18, 30], [100, 200]), or give every "
            'column its pair by name: {"age": (18, 100), "weight": (30, 200)}.'
        )
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise InvalidParameter.of("bounds", rule, bounds) from None
    lower, upper = _checked_end("lower", lower), _checked_end("upper", upper)
    n = max(len(end) if isinstance(end, tuple) else 1 for end in (lower, upper))
    pairs = zip(_spread(lower, n), _spread(upper, n), strict=False)
    for column, (low, high) in enumerate(pairs):
        which = shorten(repr(names[column])) if names is not None and column < len(names) else str(column)
        if not low < high:
            where = f" (column {which})" if n > 1 else ""
            raise InvalidParameter.of(f"bounds{where}", "lower < upper", (low, high))
        if max(-low, high) > _LARGEST or (high - low) / 2 < _SMALLEST:
            rule = f"between -{_LARGEST:.0e} and {_LARGEST:.0e} and wider than {2 * _SMALLEST:.0e}, {_COMPUTABLE}"
            raise InvalidParameter.of(f"bounds of column {which}", rule, (low, high))
    return lower, upper


def _checked_end(which: str, end: Any) -> float | tuple[float, ...]:
    name, rule, most = f"bounds, {which}", "a finite number", sys.float_info.max
    if hasattr(end, "tolist"):  # a numpy array or scalar
        end = end.tolist()
    if isinstance(end, Sequence) and not isinstance(end, str):
        if not end:
            raise InvalidParameter.of(name, "a number or one number per column", end)
        return tuple(_validation.number(name, value, rule, -most, most) for value in end)
    return _validation.number(name, end, rule, -most, most)


def _spread(end: float | tuple[float, ...], n: int) -> tuple[float, ...]:
    return end if isinstance(end, tuple) else (end,) * n
