"""What was asked for under a key: public parameters alone, compared by their fingerprints."""

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any

from graphveil.spec import validate
from graphveil.spec.augment import Augment
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.names import checked_name
from graphveil.spec.record import Record

__all__ = ["Request"]


@dataclass(frozen=True)
class Request(Record):
    """The parameters of one release, and the key under which it is kept.

    The same key gives back the same release, so two requests must be told apart: by what was asked, never by the rows,
    of which nothing is stored. Other rows under an old key are therefore not noticed.

    Parameters
    ----------
    key : str
        The caller's name of this one release.
    dataset, domain, budget, augment, rounds, mechanism, allow_unproven, random_state
        As in :func:`graphveil.release`.
    """

    key: str
    dataset: str
    domain: Domain
    budget: Budget
    augment: Augment
    rounds: Any
    mechanism: str
    allow_unproven: bool
    random_state: int | None

    def __post_init__(self) -> None:
        for name in ("key", "dataset"):
            object.__setattr__(self, name, checked_name(name, getattr(self, name)))
        if self.random_state is not None:
            object.__setattr__(self, "random_state", validate.integer("random_state", self.random_state, 0))

    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of every parameter: enough to say which one differs, however many columns there are."""
        content = self.to_dict()
        parameters = [item.name for item in fields(self) if item.name != "key"]
        return {name: _sha256(content[name]) for name in parameters}


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()
