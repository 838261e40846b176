"""Background jobs that the page watches: a release, or its rehearsal.

A session has one job for each release that was reviewed: asked for again, after a reload or a second click, it is the
same. In another studio or after a crash, the ledger knows the key. So nothing is charged twice.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from graphveil.exceptions import GraphveilError

if TYPE_CHECKING:
    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release
    from graphveil.spec.forecast import Forecast

__all__ = ["RehearsalJob", "ReleaseJob"]

T = TypeVar("T")


class _Job(Generic[T]):
    """Runs ``make`` in a thread."""

    def __init__(self, make: Callable[[], T], name: str, *, daemon: bool) -> None:
        self.made: T | None = None
        self.error: str | None = None
        self._make = make
        self._thread = threading.Thread(target=self._run, name=name, daemon=daemon)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    @property
    def state(self) -> str:
        """Running, failed or done."""
        return "running" if self.is_running else "failed" if self.made is None else "done"

    def wait(self) -> None:
        """Until it has ended."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self.made = self._make()
        except GraphveilError as error:
            self.error = str(error)
        except OSError as error:
            self.error = f"{error.strerror or 'Input or output failed'}."
        except BaseException as error:  # its message may hold anything, data too
            self.error = f"This is a bug in graphveil ({type(error).__name__}). Please report what you did."


class ReleaseJob(_Job["Release | GroupedRelease"]):
    """Makes a release.

    Parameters
    ----------
    key : str
        The release's name in the ledger.
    make : callable
        Gets what a release calls while it reads rows.
    """

    def __init__(self, key: str, make: "Callable[[Callable[[int], None]], Release | GroupedRelease]") -> None:
        self.key, self._passes = key, 0
        super().__init__(lambda: make(_Passes(self._count)), "graphveil-release", daemon=False)

    def describe(self) -> dict[str, Any]:
        """Where it stands. The pass is told, not the rows: they are nobody's business but the reader's."""
        return {"key": self.key, "state": self.state, "pass": self._passes, "error": self.error}

    def _count(self) -> None:
        self._passes += 1


class _Passes:
    """Tells that a pass begins, and nothing of the rows that it reads: where their number is secret, it may be zero."""

    def __init__(self, begin_pass: Callable[[], None]) -> None:
        self.begin_pass = begin_pass

    def __call__(self, rows: int) -> None:
        pass


class RehearsalJob(_Job["Forecast"]):
    """Rehearses a release on simulated records. Nobody waits for it when the studio is closed.

    Parameters
    ----------
    make : callable
        Gets a function that is told how many parts are done, and of how many.
    """

    def __init__(self, make: "Callable[[Callable[[int, int], None]], Forecast]") -> None:
        self._done, self._total = 0, 1
        super().__init__(lambda: make(self._count), "graphveil-rehearsal", daemon=True)

    def describe(self) -> dict[str, Any]:
        """Where it stands."""
        return {"state": self.state, "done": self._done, "total": self._total, "error": self.error}

    def _count(self, done: int, total: int) -> None:
        self._done, self._total = done, total
