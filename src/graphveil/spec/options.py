"""The checked options of one call of :func:`graphveil.release`: public parameters only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.augmentation import Augment, Constant, Labels
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping, Level
from graphveil.spec.kinds import RANK
from graphveil.spec.serialization import LATER, Record

__all__ = ["By", "ReleaseKeywords", "ReleaseOptions"]

By = str | Mapping[str, Sequence[Level]]


class ReleaseKeywords(TypedDict, total=False):
    """The optional parameters of :func:`graphveil.release` but ``by``, which decides what it returns."""

    assume_centered: bool
    adaptive: bool
    labels: Labels | None
    person: Any
    weight: Any
    mechanism: str
    allow_unproven: bool
    ledger: Any  # a LedgerLike, of a higher layer
    dataset: str | None
    key: str | None
    progress: Callable[[int], None] | None
    random_state: int | None


@dataclass(frozen=True)
class ReleaseOptions(Record):
    """The parameters of a release, as in :func:`graphveil.release`; a combination that makes no sense is refused."""

    domain: Domain
    budget: Budget
    assume_centered: bool = False
    adaptive: bool = True
    labels: Labels | None = None
    mechanism: str = "default"
    allow_unproven: bool = False
    random_state: int | None = None
    by: Grouping | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        domain: Any = self.domain
        if not isinstance(domain, Domain):
            raise InvalidParameter.of(
                "domain", "a gv.Domain", type(domain).__name__, 'Make one: gv.Domain({"age": (0, 110)}).'
            )
        budget: Any = self.budget
        if not isinstance(budget, Budget):
            raise InvalidParameter.of("budget", "a gv.Budget", budget, "Make one: gv.Budget(epsilon=1.0, delta=1e-6).")
        labels: Any = self.labels
        if labels is not None and not isinstance(labels, Labels):
            raise InvalidParameter.of("labels", "a gv.Labels, or None", labels)
        for name in ("assume_centered", "adaptive", "allow_unproven"):
            _validation.flag(name, getattr(self, name))
        _validation.choice("mechanism", self.mechanism, ["default", "paper"])
        if self.random_state is not None:
            object.__setattr__(self, "random_state", _validation.integer("random_state", self.random_state, 0))
        if self.domain.variation != "total":
            _require("assume_centered", self.assume_centered, False, f'with variation="{self.domain.variation}"')
            _require("adaptive", self.adaptive, True, f'with variation="{self.domain.variation}"')
        if self.domain.hides_count:
            _require("labels", self.labels, None, 'with neighbours="add-remove"')
            if self.mechanism == "paper":
                raise InvalidParameter.of("mechanism", '"default" with neighbours="add-remove"', self.mechanism)
        if self.domain.gaps:
            _require("adaptive", self.adaptive, True, "with columns that declare missing values")
        if self.domain.weight is not None:
            _require("labels", self.labels, None, "with weights")
            _require("mechanism", self.mechanism, "default", "with weights")
        if self.labels is not None:
            _require("person", self.domain.person, None, "with labels")
            _require("assume_centered", self.assume_centered, False, "with labels: class means are released with them")
            _require("adaptive", self.adaptive, False, "with labels, which one round releases (or gv.PrivateLDA)")
        if self.by is not None:
            _require("labels", self.labels, None, "with by")
            _require("mechanism", self.mechanism, "default", "with by")
            if self.domain.rows_per_person != 1:
                rule = (
                    "1 with by, where a person's records could be in several groups: name the person column, by person="
                )
                raise InvalidParameter.of("rows_per_person", rule, self.domain.rows_per_person)
            if self.by.column in (self.domain.source_columns or ()):
                raise InvalidParameter.of("by", "a column that is not among the columns to release", self.by.column)
        if self.domain.wants_scores:
            ranked = f'with scale="{RANK}"'
            _require("adaptive", self.adaptive, True, ranked)
            _require("assume_centered", self.assume_centered, False, ranked)
            _require("by", self.by, None, f"{ranked}, whose scores would differ from group to group")
        if self.mechanism == "paper":
            _require("person", self.domain.person, None, 'with mechanism="paper"')
            _require("labels", self.labels, None, 'with mechanism="paper"')
            _require("assume_centered", self.assume_centered, True, 'with mechanism="paper"')
            _require("adaptive", self.adaptive, False, 'with mechanism="paper"')
            if self.domain.wants_private_norm:
                raise InvalidParameter.of("data_norm", 'a number with mechanism="paper"', self.domain.data_norm)

    @classmethod
    def of(cls, domain: Domain, *, person: Any, weight: Any, by: Any, **asked: Any) -> "ReleaseOptions":
        """From the parameters of a call, where people may be an array, and groups a category of the domain.

        ``asked`` are the others, by name.
        """
        if weight is not None and getattr(domain, "weight", None) is None:
            raise InvalidParameter(
                "weight needs the largest weight that counts: pass Domain(..., weight=gv.Weight('w', largest=10)) too."
            )
        if person is not None and isinstance(domain, Domain):
            domain = replace(domain, person=domain.person or "person")
        if isinstance(by, str):
            by, domain = Grouping.of_category(by, domain)
        options = cls(domain=domain, **asked)
        return options if by is None else replace(options, by=Grouping.of(by))

    @property
    def augment(self) -> Augment:
        """What is appended to a row: its label, a constant that buys the mean, or nothing."""
        if self.labels is not None:
            return self.labels
        return None if self.assume_centered or self.domain.variation == "within" else Constant()


def _require(name: str, value: Any, needed: Any, when: str) -> None:
    if value != needed:
        raise InvalidParameter.of(name, f"{needed} {when}", value)
