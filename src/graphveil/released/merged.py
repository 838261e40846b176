"""Merged releases of several sites: hospitals share their releases, and no records move.

Everything here is post-processing of published numbers. Only the guarantee changes: a person has rows at one site, or
at a few, and is protected by the releases there (``privacy/proofs/sites.md``, theorem 12).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from graphveil import _validation
from graphveil._typing import Matrix, Vector
from graphveil.exceptions import InvalidParameter
from graphveil.released import file_format
from graphveil.released.release import Release, rebuild_parts
from graphveil.spec.augmentation import Constant, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.events import PrivacyCost, ReleaseEvent
from graphveil.spec.rounding import float_round_up, sqrt_round_up
from graphveil.spec.serialization import Record

__all__ = ["MergedEvent", "MergedRelease", "merge_releases"]

_WEIGHTS = ("rows", "inverse variance")


@dataclass(frozen=True)
class MergedEvent(PrivacyCost, Record):
    """What the sites have spent, and on whom.

    A person with rows at ``sites_per_person`` of the sites is protected by μ = √Σμ² and η = Ση over those of them that
    cost the most; at one site, by the largest μ and the largest η. Proof: ``privacy/proofs/sites.md``.

    Parameters
    ----------
    sites : tuple of ReleaseEvent
        What each site was charged.
    sites_per_person : int
        At how many sites one person may have rows.
    """

    sites: tuple[ReleaseEvent, ...]
    sites_per_person: int

    mechanism = "default"
    rounds = "merged"

    def __post_init__(self) -> None:
        sites: Any = self.sites
        if not isinstance(sites, tuple) or len(sites) < 2 or not all(isinstance(site, ReleaseEvent) for site in sites):
            raise InvalidParameter.of("sites", "at least two events of releases", sites)
        if any(site.hides_count for site in sites):
            raise InvalidParameter('releases with neighbours="add-remove" cannot be merged: sizes of sites are secret.')
        _validation.integer("sites_per_person", self.sites_per_person, 1, len(self.sites))
        several = max(getattr(site, "groups_per_person", 1) for site in sites)
        if self.sites_per_person < min(several, len(sites)):
            raise InvalidParameter(
                f"sites_per_person must be at least {min(several, len(sites))}: some people are in {several} of the "
                "groups that are merged."
            )

    @property
    def budget(self) -> Budget:
        """The largest ε and the largest δ that a site was allowed."""
        return Budget(*(max(getattr(site.budget, name) for site in self.sites) for name in ("epsilon", "delta")))

    @property
    def mu(self) -> float:
        """Of a person at the most expensive sites, rounded up."""
        costs = sorted((site.mu for site in self.sites), reverse=True)[: self.sites_per_person]
        return sqrt_round_up(sum((Fraction(mu) ** 2 for mu in costs), Fraction(0)))

    @property
    def eta(self) -> float:
        """Of a person at the most expensive sites, rounded up."""
        costs = sorted((site.eta for site in self.sites), reverse=True)[: self.sites_per_person]
        return min(1.0, float_round_up(sum(map(Fraction, costs), Fraction(0))))

    @property
    def n_samples(self) -> int:
        """Rows of all sites together; the number at each is public."""
        return sum(site.n_samples or 0 for site in self.sites)  # all are public

    @property
    def rows_per_person(self) -> int:
        """The most rows that one person may have at one site."""
        return max(site.rows_per_person for site in self.sites)

    @property
    def neighbours(self) -> str:
        """The neighbouring relation at every site."""
        return self.sites[0].neighbours

    @property
    def by_person(self) -> bool:
        """Whether the sites had a person column."""
        return all(site.by_person for site in self.sites)

    @property
    def groups(self) -> tuple[str, ...]:
        """Those that were released by themselves."""
        return tuple(name for site in self.sites for name in site.groups)

    @property
    def seeded(self) -> bool:
        """Whether any of the releases is a simulation: then the whole is none of anybody's protection."""
        return any(site.seeded for site in self.sites)

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        few = "one" if self.sites_per_person == 1 else f"up to {self.sites_per_person}"
        counts = ", ".join(str(site.n_samples) for site in self.sites)
        person = self._one_person(*(site.rows_per_person for site in self.sites))
        if self.by_person:
            person = "one person with all their records"
        within, members = "", ""
        if self.groups:
            within, members = " by another one of the same group", f" and who belongs to {', '.join(self.groups)},"
        whom = f"replacing {person}{within} at {few} of {len(self.sites)} sites"
        return self._sentence(whom, f"the numbers of {self.counted} at the sites, {counts},{members} are public.")


@dataclass(frozen=True, eq=False, repr=False)
class MergedRelease(Release):
    """Several releases as one: everything that a :class:`Release` has except answers, saved and loaded like one.

    Made by :func:`graphveil.merge_releases`.

    Attributes
    ----------
    parts : tuple of Release
        As the sites published them.
    weighting : {"rows", "inverse variance"}
    """

    parts: tuple[Release, ...] = ()
    weighting: str = "rows"

    @classmethod
    def of(cls, parts: tuple[Release, ...], weighting: str, sites_per_person: int) -> "MergedRelease":
        """Check that the parts are compatible, and merge them."""
        _check_alike(parts)
        _validation.choice("weights", weighting, list(_WEIGHTS))
        event: Any = MergedEvent(tuple(part.event for part in parts), sites_per_person)
        # A norm that each site has found for itself is no fact about all of them.
        norms = {part.domain.data_norm for part in parts}
        domain = replace(parts[0].domain, rows_per_person=event.rows_per_person)
        if len(norms) > 1:
            domain = replace(domain, data_norm=max(part.domain.radius for part in parts))
        return cls(event, domain, parts[0].augment, (), dict(parts[0].versions), parts, weighting)

    def __post_init__(self) -> None:
        _check_alike(self.parts)

    @property
    def merged_event(self) -> MergedEvent:
        """What the sites were charged."""
        event: Any = self.event
        assert isinstance(event, MergedEvent)
        return event

    @cached_property
    def weights(self) -> Vector:
        """The share of each part in the whole; they add up to 1."""
        sizes = [part.n_samples if self.weighting == "rows" else part.n_eff for part in self.parts]
        return np.asarray(np.divide(sizes, np.sum(sizes)))

    @property
    def norm_is_private(self) -> bool:
        """Whether a site found its norm within its budget."""
        return any(part.norm_is_private for part in self.parts)

    @property
    def n_passes(self) -> int:
        """The largest number of passes at any site."""
        return max(part.n_passes for part in self.parts)

    @property
    def observed(self) -> Matrix:
        """Weighted mean of the sites' noisy shares of the records in which both columns of a pair are observed."""
        return self._average([part.observed for part in self.parts])

    @property
    def location(self) -> Vector | None:
        """Weighted mean of the sites' noisy means, or None when they have none."""
        if not isinstance(self.augment, Constant):
            return None
        return self._average([part.moment_center for part in self.parts])

    @property
    def second_moment(self) -> Matrix:
        """Weighted mean of the sites' second moments about the common :attr:`moment_center`."""
        return self._average([part.second_moment for part in self.parts]) + self.between_sites

    @property
    def between_sites(self) -> Matrix:
        """What the differences between the sites' means add to the second moment, corrected for their noise."""
        apart = [part.moment_center - self.moment_center for part in self.parts]
        noise = [(1.0 - w) * part.location_noise for w, part in zip(self.weights, self.parts, strict=True)]
        return self._average([np.outer(d, d) - excess for d, excess in zip(apart, noise, strict=True)])

    @property
    def location_noise(self) -> Matrix:
        """Covariance of the privacy noise in :attr:`location`; zero without one."""
        return self._average([w * part.location_noise for w, part in zip(self.weights, self.parts, strict=True)])

    @property
    def noise_sd(self) -> Matrix:
        """Standard deviation of the privacy noise in each entry of :attr:`second_moment`."""
        return np.sqrt(self._average([w * part.noise_sd**2 for w, part in zip(self.weights, self.parts, strict=True)]))

    @property
    def noise_scale(self) -> float:
        """Standard deviation σ of the noise of the weighted mean, in the units of the sites' last rounds."""
        return self._noise_of_average([part.noise_scale for part in self.parts])

    @property
    def n_eff(self) -> float:
        """Number of noise-free rows that would give an equally accurate estimate."""
        return float(1.0 / np.sum(self.weights**2 / [part.n_eff for part in self.parts]))

    @property
    def class_counts(self) -> Vector | None:
        """Noisy number of rows of each class at all sites, or None without labels."""
        counts = [part.class_counts / part.n_samples for part in self.parts if part.class_counts is not None]
        return self.n_samples * self._average(counts) if counts else None

    @property
    def class_counts_sd(self) -> float:
        """Standard deviation of the noise of :attr:`class_counts`; 0 without labels."""
        return self.n_samples * self._noise_of_average([part.class_counts_sd / part.n_samples for part in self.parts])

    @property
    def class_sums(self) -> Matrix | None:
        """Weighted mean of the sites' noisy sums of the scaled rows of each class, or None without labels."""
        sums = [part.class_sums for part in self.parts if part.class_sums is not None]
        return self._average(sums) if sums else None

    @property
    def class_sums_sd(self) -> float:
        """Standard deviation of the noise of each entry of :attr:`class_sums`; 0 without labels."""
        return self._noise_of_average([part.class_sums_sd for part in self.parts])

    def _noise_of_average(self, sds: Sequence[float]) -> float:
        return float(np.linalg.norm(self.weights * sds))

    def _average(self, values: Sequence[Vector]) -> Vector:
        return np.asarray(np.tensordot(self.weights, np.stack(values), axes=1))

    @property
    def stream(self) -> str:
        """That of all its parts."""
        return "".join(part.stream for part in self.parts)

    @cached_property
    def _content(self) -> bytes:
        facts = {"weights": self.weighting, "sites_per_person": self.merged_event.sites_per_person}
        header = {"merged": facts, "parts": [part._header for part in self.parts]}
        return file_format.encode(header, [a.arrays() for part in self.parts for a in part.answers])

    @classmethod
    def _rebuild(cls, header: dict[str, Any], arrays: list[Any]) -> "MergedRelease":
        facts = header["merged"]
        return cls.of(rebuild_parts(header, arrays), facts["weights"], facts["sites_per_person"])


def merge_releases(releases: Sequence[Release], *, weights: str = "rows", sites_per_person: int = 1) -> MergedRelease:
    """Combine releases of different people into one, for free.

    Parameters
    ----------
    releases : sequence of Release
        From sites that hold the same columns with the same bounds and the same mean setting. No person may have rows at
        more than ``sites_per_person`` of them; graphveil cannot check that, only that no release is given twice.
    weights : {"rows", "inverse variance"}
        "rows" weights each site by its number of rows: the second moment of all rows pooled, however the sites differ.
        "inverse variance" weights by :attr:`Release.n_eff`, which has the least noise, and assumes that all sites draw
        from one population: if they differ, it favours those with larger budgets.
    sites_per_person : int, default 1
        At how many of the sites one person may have rows; 1 when the sites' people are disjoint.

    Returns
    -------
    MergedRelease
        For :func:`graphveil.recover` and the ``fit_release`` of every estimator. It keeps each site's release
        unchanged.

    Guarantee
    ---------
    For disjoint people the merged release is as private as its least private part; for a person at k sites, the μ² of k
    sites add up (``privacy/proofs/sites.md``, theorem 12). With k equal sites the noise is √k times that of one release
    of the pooled rows: the price of not pooling the records.

    Examples
    --------
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, p=4), 20_000, random_state=0)
    >>> domain, budget = gv.Domain(bounds=(-6, 6)), gv.Budget(1.0, 1e-6)
    >>> north, south = (gv.release(part, domain=domain, budget=budget) for part in (rows[:8000], rows[8000:]))
    >>> both = merge_releases([north, south])
    >>> print(both.guarantee)
    (1, 1e-06)-differentially private against replacing one record at one of 2 sites; the numbers of records at the
    sites, 8000, 12000, are public.
    """
    given: Any = releases
    if not isinstance(given, list | tuple) or not all(isinstance(part, Release) for part in given):
        raise InvalidParameter.of("releases", "a list of gv.Release", given)
    return MergedRelease.of(tuple(given), weights, sites_per_person)


def _check_alike(parts: tuple[Release, ...]) -> None:
    if len(parts) < 2:
        raise InvalidParameter.of("releases", "at least two releases", len(parts))
    for number, part in enumerate(parts):
        if isinstance(part, MergedRelease):
            raise InvalidParameter(f"release {number} is already merged: pass the releases that it was made from.")
        if part.domain.weight is not None:
            raise InvalidParameter(f"release {number} is of weighted records, which cannot be merged yet.")
        if part.event.mechanism != "default":
            raise InvalidParameter(f"release {number} has the paper's noise, which is for comparison only.")
        for what in ("columns", "n_features", "bounds"):
            if getattr(part.domain, what) != getattr(parts[0].domain, what):
                raise InvalidParameter(
                    f"the {what} of release {number} are not those of release 0. Sites must agree on columns, their "
                    "order and bounds before they release."
                )
        if part.augment != parts[0].augment:
            advice = "both need the mean, or none, or the same labels."
            if Labels in (type(part.augment), type(parts[0].augment)):
                advice += " gv.PrivateLDA releases labels as columns where a site has many records."
            raise InvalidParameter(f"release {number} and release 0 differ in augment: {advice}")
    if len({part.checksum for part in parts}) < len(parts):
        raise InvalidParameter("a release is given twice: its people would count twice.")
