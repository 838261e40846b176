"""What came out of the gate: noisy numbers, the law of their noise, and everything needed to use them.

Everything below is post-processing of published numbers: it costs nothing, may be repeated, and cannot weaken the
guarantee.
"""

import hashlib
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil._files import read_file, write_file
from graphveil._html import facts_html
from graphveil._memory import memory_here
from graphveil.exceptions import InvalidParameter, ReleaseFileError
from graphveil.released import file_format
from graphveil.released.answers import Answer
from graphveil.released.consistency import check_release
from graphveil.spec.augmentation import Augment, Constant, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import ReleaseEvent
from graphveil.spec.quantization import MomentLayout, RowGrid
from graphveil.spec.queries import ClippedTail, ColumnMeans, ColumnSquares, Moments, NormCounts, Query
from graphveil.spec.serialization import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Release"]


@dataclass(frozen=True, eq=False)
class Release:
    """A noisy second moment and the law of its noise.

    Made by :func:`graphveil.release`, saved with :meth:`save`, read with :meth:`load`. Mechanism units are those of
    rows scaled by the bounds; user's units are those of the data.

    Attributes
    ----------
    event : ReleaseEvent
        What was charged.
    domain : Domain
        What was assumed about the rows.
    augment : Constant, Labels or None
        What was appended to them.
    answers : tuple of Answer
        The queries, with their noisy answers and the laws of the noise.
    versions : dict
        Versions of graphveil and of the sampler that made it.
    """

    event: ReleaseEvent
    domain: Domain
    augment: Augment
    answers: tuple[Answer, ...]
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        layout, query, values = self._layout, self._last.query, self._last.values
        mapped = query.row_map is not None  # type: ignore[attr-defined]
        shapes = {"diagonal": layout.n_diagonal, "off_diagonal": layout.n_off_diagonal}
        shapes |= {"trace": 1} if "trace" in values else {}
        if mapped != (self.event.rounds == "adaptive") or any(values[name].size != n for name, n in shapes.items()):
            raise InvalidParameter("a release's last moments must be those of its domain.")
        check_release(self.event, self.domain, self.augment, self.answers)

    # ------------------------------------------------------------------ what is known without any number
    @property
    def n_samples(self) -> int:
        """Number of rows (public)."""
        return self.event.n_samples

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""
        return self.domain.columns

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, or numbers (``x0``, ``x1``, …) for those without."""
        return self.columns or tuple(f"x{number}" for number in range(self.domain.n_features or 0))

    @property
    def budget(self) -> Budget:
        """The guarantee that was asked for; ``event`` has the one that holds."""
        return self.event.budget

    @property
    def seeded(self) -> bool:
        """True for a simulation: the noise came from a known seed and nothing is private."""
        return self.event.seeded

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        return self.event.sentence

    @property
    def norm_is_private(self) -> bool:
        """Whether ``domain.data_norm`` was found inside the budget (``data_norm="private"``)."""
        first = self.answers[0].query
        return isinstance(first, NormCounts) and first.row_map is None

    @property
    def n_passes(self) -> int:
        """How often the rows were read for it; once more if they had to be counted and their norm was not known."""
        shared = [
            (q.low.tobytes(), q.high.tobytes()) for q in self._queries if isinstance(q, ColumnMeans | ColumnSquares)
        ]
        alone = [q for q in self._queries if not isinstance(q, ColumnMeans | ColumnSquares | ClippedTail)]
        return len(set(shared)) + len(alone)

    @property
    def _queries(self) -> list[Query]:
        return [answer.query for answer in self.answers]

    # ------------------------------------------------------------------ the numbers, in user's units
    @property
    def location(self) -> "Vector | None":
        """The noisy mean, or None when it was not asked for (``augment="mean"``)."""
        if not isinstance(self.augment, Constant):
            return None
        centre, half = self.scaling
        middle, back = self._unwhiten
        return np.asarray(centre + half * (middle + back @ self._mean))

    @property
    def moment_center(self) -> "Vector":
        """The point about which :attr:`second_moment` is taken.

        The released mean where there is one; the middle of the bounds for a release with labels; else zero.
        """
        location = self.location
        return self.scaling[0] if location is None else location

    @property
    def second_moment(self) -> "Vector":
        """The noisy p × p second moment about :attr:`origin`: unbiased but for clipping, maybe indefinite."""
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
        return np.asarray(moment * np.outer(half, half))

    @property
    def noise_sd(self) -> "Vector":
        """Standard deviation of the privacy noise in each entry of :attr:`second_moment`.

        After several rounds it is that of the last, in the coordinates of the data: s/√2·√(G_ii G_jj + G_ij²) for
        noise s in whitened coordinates, G the product of the map back with its transpose.
        """
        half, p = self.scaling[1], self.scaling[1].size
        if self._row_map is not None:
            total = self.noise_scale**2 + (0.0 if self._excess is None else self._excess.sd("diagonal") ** 2)
            spread = self._unwhiten[1] @ self._unwhiten[1].T
            variance = np.asarray(total / 2.0 * (np.outer(np.diag(spread), np.diag(spread)) + spread**2))
            return np.asarray(np.sqrt(variance) * np.outer(half, half))
        m = self._layout.n_diagonal
        variance = np.full((p, p), self._last.sd("off_diagonal") ** 2)
        refined = m / (m + 1) if "trace" in self._last.values else 1.0
        np.fill_diagonal(variance, self.noise_scale**2 * refined)
        if isinstance(self.augment, Constant):
            # Var(b_i b_j) around the released b; twice that on the diagonal, where both factors are the same.
            square, sd2 = self._mean**2, self._mean_sd**2
            product = sd2 * (square[:, None] + square) + sd2**2
            variance = np.asarray(variance + product + np.diag(np.diag(product)))
        return np.asarray(np.sqrt(variance) * np.outer(half, half))

    @property
    def location_noise(self) -> "Vector":
        """Covariance of the privacy noise in :attr:`location`; zero without one."""
        half = self.scaling[1]
        if not isinstance(self.augment, Constant):
            return np.zeros((half.size, half.size))
        root = half[:, None] * self._unwhiten[1] * self._mean_sd
        return np.asarray(root @ root.T)

    @property
    def noise_scale(self) -> float:
        """Standard deviation σ of the noise on the svec coordinates of the last round, in its units."""
        return self._last.sd("diagonal")

    @property
    def n_eff(self) -> float:
        """Rows that would give as noisy an estimate without privacy: 1/n_eff = 1/n + (σ/mean eigenvalue)²/2."""
        p = self.scaling[1].size
        moment = np.trace(self._moments[:p, :p]) / p
        if isinstance(self.augment, Constant):
            moment -= np.sum(self._mean**2) / p - self._mean_sd**2
        relative = self.noise_scale / max(float(moment), self.noise_scale / np.sqrt(p))
        return float(1.0 / (1.0 / self.n_samples + relative**2 / 2.0))

    @property
    def class_counts(self) -> "Vector | None":
        """Noisy number of rows of each class (may be negative), or None without labels."""
        if not isinstance(self.augment, Labels):
            return None
        corner = self._moments.diagonal()[self.scaling[1].size :]
        return np.asarray(self.n_samples * corner / self._constant**2)

    @property
    def class_locations(self) -> "Vector | None":
        """Noisy class means, a row each, NaN where the noisy count is not positive; None without labels."""
        counts = self.class_counts
        if counts is None:
            return None
        centre, half = self.scaling
        share = np.where(counts > 0, counts, np.nan) / self.n_samples
        return np.asarray(centre + half * (self._moments[: half.size, half.size :].T / self._constant / share[:, None]))

    # ------------------------------------------------------------------ the file
    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content, in hexadecimal: the same release always has the same."""
        return hashlib.sha256(self._content).hexdigest()

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write one file that :meth:`load` reads anywhere; an interrupted write leaves no half file.

        Nothing is overwritten but an empty file or this same release: another one was paid for, and what is no release
        may be records.
        """
        write_file(path, self._content)

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return self._content

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Release":
        """Read a release. Nothing in the file is executed; a damaged or foreign file raises ``ReleaseFileError``."""
        name = os.fspath(path)
        try:
            content = read_file(path, memory_here() // 4)  # beside it: its numbers, and what is computed from them
        except OSError as error:
            raise ReleaseFileError(f"{name} cannot be read: {error.strerror}.") from None
        except InvalidParameter as error:
            raise ReleaseFileError(str(error)) from None
        return cls.from_bytes(content, name)

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "this") -> "Release":
        """Undo :meth:`to_bytes`; ``name`` is what an error calls it."""
        header, arrays = file_format.decode(content, name)
        try:
            with np.errstate(all="ignore"):  # forged numbers may overflow in the very check that refuses them
                if "merged" in header:
                    from graphveil.released.merged import MergedRelease

                    return MergedRelease._rebuilt(header, arrays)
                return cls._rebuilt(header, arrays)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            reason = f" {error}" if isinstance(error, InvalidParameter) else ""
            raise ReleaseFileError(f"{name} is not a valid release: a fact is missing or wrong.{reason}") from None

    @classmethod
    def _rebuilt(cls, header: dict[str, Any], arrays: list[Any]) -> "Release":
        augment = None if header["augment"] is None else Record.from_dict(header["augment"])
        if not isinstance(augment, Constant | Labels | None):
            raise TypeError
        return Release(
            event=ReleaseEvent.from_dict(header["event"]),
            domain=Domain.from_dict(header["domain"]),
            augment=augment,
            answers=tuple(Answer.rebuild(*pair) for pair in zip(header["rounds"], arrays, strict=True)),
            versions={_word(key): _word(value) for key, value in header["versions"].items()},
        )

    @property
    def _header(self) -> dict[str, Any]:
        return {
            "event": self.event.to_dict(),
            "domain": self.domain.to_dict(),
            "augment": None if self.augment is None else self.augment.to_dict(),
            "rounds": [answer.facts() for answer in self.answers],
            "versions": self.versions,
        }

    @cached_property
    def _content(self) -> bytes:
        return file_format.encode(self._header, [answer.arrays() for answer in self.answers])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"<Release of {self.domain.n_features} columns, {self.n_samples} rows: {self.guarantee}>"

    def _repr_html_(self) -> str:
        names = "" if self.columns is None else f": {', '.join(self.columns)}"
        facts = [
            ("guarantee", self.guarantee),
            ("records", f"{self.n_samples:,}, as good as {self.n_eff:,.0f} without noise"),
            ("columns", f"{self.domain.n_features}{names}"),
            ("fingerprint", self.checksum[:16]),
        ]
        return facts_html("Release", facts)

    # ------------------------------------------------------------------ mechanism units
    @cached_property
    def scaling(self) -> "tuple[Vector, Vector]":
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
    def _unwhiten(self) -> "tuple[Vector, Vector]":
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
    def _moments(self) -> "Vector":
        return self._layout.refined(self._last.values, corner=self._constant**2)

    @property
    def _mean(self) -> "Vector":
        return np.asarray(self._moments[:-1, -1] / self._constant)

    @property
    def _mean_sd(self) -> float:
        return self._last.sd("off_diagonal") / self._constant


def _word(value: Any) -> str:
    """A name or a version of a package from a file: it is shown to people, on terminals too."""
    if not isinstance(value, str) or not 0 < len(value) <= 100 or not value.isprintable():
        raise InvalidParameter("the versions of a release must be short, printable words.")
    return value
