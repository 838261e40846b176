r"""What came out of the gate: noisy numbers, the law of their noise, and everything needed to use them.

Everything below is post-processing of published numbers: it costs nothing, may be repeated, and cannot weaken the
guarantee.
"""

import hashlib
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import InvalidParameter, ReleaseFileError
from graphveil.spec import release_file
from graphveil.spec.augment import Augment, Constant, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.events import GaussianStep, ReleaseEvent
from graphveil.spec.lattice import MomentLayout, RowLattice
from graphveil.spec.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

__all__ = ["Release", "Round"]


@dataclass(frozen=True, eq=False)
class Round:
    """One noisy vector: the law (``step``) and the raw values by group, averages over rows in scaled units."""

    step: GaussianStep
    values: "dict[str, NDArray[np.float64]]"

    def __post_init__(self) -> None:
        counts = {group.name: group.count for group in self.step.groups}
        if {name: values.shape for name, values in self.values.items()} != {k: (n,) for k, n in counts.items()}:
            raise InvalidParameter("a round's values do not have the shape that its step declares.")


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
        What was assumed of the rows.
    augment : Constant, Labels or None
        What was appended to them.
    rounds : tuple of Round
        The raw noisy coordinates with their laws.
    versions : dict
        Versions of graphveil and of the sampler that made it.
    """

    event: ReleaseEvent
    domain: Domain
    augment: Augment
    rounds: tuple[Round, ...]
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        layout = self._layout
        moments = self.rounds[-1].values if self.rounds else {}
        expected = {"diagonal": layout.n_diagonal, "off_diagonal": layout.n_off_diagonal}
        if any(name not in moments or moments[name].size != size for name, size in expected.items()):
            raise InvalidParameter("a release's last round must hold the moments of its domain.")

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

    # ------------------------------------------------------------------ the numbers, in user's units
    @property
    def location(self) -> "NDArray[np.float64] | None":
        """The noisy mean, or None when it was not asked for (``augment="mean"``)."""
        if not isinstance(self.augment, Constant):
            return None
        centre, half = self._frame
        return centre + half * self._mean

    @property
    def origin(self) -> "NDArray[np.float64]":
        """The point about which :attr:`second_moment` is taken.

        The released mean where there is one; the middle of the bounds for a release with labels; else zero.
        """
        location = self.location
        return self._frame[0] if location is None else location

    @property
    def second_moment(self) -> "Matrix":
        """The noisy p × p second moment about :attr:`origin`: unbiased but for clipping, maybe indefinite."""
        _, half = self._frame
        p = half.size
        moment = self._moments[:p, :p]
        if isinstance(self.augment, Constant):
            # E[bbᵀ] = mmᵀ + Var(b): add what the noise of the mean takes away on the diagonal.
            moment = moment - np.outer(self._mean, self._mean) + self._mean_sd**2 * np.eye(p)
        return np.asarray(moment * np.outer(half, half))

    @property
    def noise_sd(self) -> "Matrix":
        """Standard deviation of the privacy noise in each entry of :attr:`second_moment`."""
        _, half = self._frame
        p = half.size
        m = self._layout.n_diagonal
        variance = np.full((p, p), self._sd("off_diagonal") ** 2)
        refined = m / (m + 1) if self._step.sd("trace") is not None else 1.0
        np.fill_diagonal(variance, self.noise_scale**2 * refined)
        if isinstance(self.augment, Constant):
            # Var(b_i b_j) around the released b; twice that on the diagonal, where both factors are the same.
            square, sd2 = self._mean**2, self._mean_sd**2
            product = sd2 * (square[:, None] + square) + sd2**2
            variance = variance + product + np.diag(np.diag(product))
        return np.asarray(np.sqrt(variance) * np.outer(half, half))

    @property
    def noise_scale(self) -> float:
        """Standard deviation σ of the noise on the svec coordinates, in mechanism units."""
        return self._sd("diagonal")

    @property
    def n_eff(self) -> float:
        """Rows that would give as noisy an estimate without privacy: 1/n_eff = 1/n + (σ/mean eigenvalue)²/2."""
        _, half = self._frame
        p = half.size
        mean_eigenvalue = float(np.trace(self.second_moment / np.outer(half, half))) / p
        relative = self.noise_scale / max(mean_eigenvalue, self.noise_scale / np.sqrt(p))
        return float(1.0 / (1.0 / self.n_samples + relative**2 / 2.0))

    @property
    def class_counts(self) -> "NDArray[np.float64] | None":
        """Noisy number of rows of each class (may be negative), or None without labels."""
        if not isinstance(self.augment, Labels):
            return None
        corner = self._moments.diagonal()[self._frame[1].size :]
        return np.asarray(self.n_samples * corner / self._constant**2)

    @property
    def class_locations(self) -> "Matrix | None":
        """Noisy class means, a row each, NaN where the noisy count is not positive; None without labels."""
        counts = self.class_counts
        if counts is None:
            return None
        centre, half = self._frame
        share = np.where(counts > 0, counts, np.nan) / self.n_samples
        return np.asarray(centre + half * (self._moments[: half.size, half.size :].T / self._constant / share[:, None]))

    # ------------------------------------------------------------------ the file
    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content, in hexadecimal: the same release always has the same."""
        return hashlib.sha256(self._content).hexdigest()

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write one file that :meth:`load` reads anywhere; an interrupted write leaves no half file."""
        release_file.write_bytes(path, self._content)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "Release":
        """Read a release. Nothing in the file is executed; a damaged or foreign file raises ``ReleaseFileError``."""
        name = os.fspath(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise ReleaseFileError(f"{name} cannot be read: {error.strerror}.") from None
        header, arrays = release_file.decode(content, name)
        try:
            steps = [GaussianStep.from_dict(step) for step in header["steps"]]
            augment = None if header["augment"] is None else Record.from_dict(header["augment"])
            if not isinstance(augment, Constant | Labels | None):
                raise TypeError
            return cls(
                event=ReleaseEvent.from_dict(header["event"]),
                domain=Domain.from_dict(header["domain"]),
                augment=augment,
                rounds=tuple(Round(step, values) for step, values in zip(steps, arrays, strict=True)),
                versions={str(key): str(value) for key, value in header["versions"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f" {error}" if isinstance(error, InvalidParameter) else ""
            raise ReleaseFileError(f"{name} is not a valid release: a fact is missing or wrong.{reason}") from None

    @cached_property
    def _content(self) -> bytes:
        header: dict[str, Any] = {
            "event": self.event.to_dict(),
            "domain": self.domain.to_dict(),
            "augment": None if self.augment is None else self.augment.to_dict(),
            "steps": [a_round.step.to_dict() for a_round in self.rounds],
            "versions": self.versions,
        }
        return release_file.encode(header, [a_round.values for a_round in self.rounds])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"<Release of {self.domain.n_features} columns, {self.n_samples} rows: {self.guarantee}>"

    # ------------------------------------------------------------------ mechanism units
    @property
    def _layout(self) -> MomentLayout:
        return MomentLayout(self.domain._known_features(), self.augment)

    @property
    def _step(self) -> GaussianStep:
        return self.rounds[-1].step

    @cached_property
    def _unit(self) -> float:
        return RowLattice.of(self.domain, self.augment).unit

    @cached_property
    def _constant(self) -> float:
        return RowLattice.of(self.domain, self.augment).constant * self._unit

    @cached_property
    def _frame(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        return self.domain.box(shift=self.augment is not None)[:2]

    def _sd(self, group: str) -> float:
        sd = self._step.sd(group)
        assert sd is not None
        return sd * self._unit**2 / self.n_samples

    @cached_property
    def _moments(self) -> "Matrix":
        """The augmented moment matrix, its trace refined by least squares with the trace released beside it."""
        values = self.rounds[-1].values
        diagonal = values["diagonal"]
        if "trace" in values:
            diagonal = diagonal + (values["trace"][0] - diagonal.sum()) / (diagonal.size + 1)
        return self._layout.join(diagonal, values["off_diagonal"], corner=self._constant**2)

    @property
    def _mean(self) -> "NDArray[np.float64]":
        return np.asarray(self._moments[:-1, -1] / self._constant)

    @property
    def _mean_sd(self) -> float:
        return self._sd("off_diagonal") / self._constant
