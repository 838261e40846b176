"""The request behind a key: public parameters only, compared by their fingerprints."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphveil.spec.names import check_name
from graphveil.spec.options import ReleaseOptions
from graphveil.spec.serialization import Record

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
    dataset : str
    options : ReleaseOptions
        As in :func:`graphveil.release`.
    """

    key: str
    dataset: str
    options: ReleaseOptions

    def __post_init__(self) -> None:
        for name in ("key", "dataset"):
            object.__setattr__(self, name, check_name(name, getattr(self, name)))

    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of every parameter: enough to say which one differs, however many columns there are."""
        content = {"dataset": self.dataset} | self.options.to_dict()
        return {name: _sha256(value) for name, value in content.items() if name != "kind"}

    def differences(self, recorded: Mapping[str, str]) -> list[str]:
        """Names of the parameters in which the request with these fingerprints was another."""
        now = self.fingerprints()
        if "augment" in recorded:  # an older form of what three parameters describe today
            now = {name: now[name] for name in now if name not in ("assume_centered", "adaptive", "labels")}
            augment = self.options.augment
            now["augment"] = _sha256(None if augment is None else augment.to_dict())
            now["rounds"] = _sha256("auto" if self.options.adaptive else 1)
        # A parameter that was added later is in neither while it has its default.
        return [name for name in now | dict(recorded) if recorded.get(name) != now.get(name)]


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()
