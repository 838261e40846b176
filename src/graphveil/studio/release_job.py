"""One release, made in the background while the page watches.

A job has the key of its release: asked for again, after a reload or a second click, it is the same job; and in another
studio or after a crash, the ledger knows the key. So nothing is charged twice.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import GraphveilError

if TYPE_CHECKING:
    from graphveil.released.release import Release

__all__ = ["ReleaseJob"]

Make = Callable[[Callable[[int], None]], "Release"]


class ReleaseJob:
    """Runs ``make`` in a thread, which gets a function to tell its progress to.

    Parameters
    ----------
    key : str
        The release's name in the ledger.
    make : callable
    """

    def __init__(self, key: str, make: Make) -> None:
        self.key = key
        self.release: Release | None = None
        self.error: str | None = None
        self._make, self._passes, self._rows = make, 0, -1
        self._thread = threading.Thread(target=self._run, name="graphveil-release")
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Until it has ended."""
        self._thread.join()

    def describe(self) -> dict[str, Any]:
        """Where it stands. The pass is told, not the rows: they are nobody's business but the reader's."""
        state = "running" if self.is_running else "failed" if self.release is None else "done"
        return {"key": self.key, "state": state, "pass": self._passes, "error": self.error}

    def _run(self) -> None:
        try:
            self.release = self._make(self._count)
        except GraphveilError as error:
            self.error = str(error)
        except OSError as error:
            self.error = f"{error.strerror or 'Input or output failed'}."
        except BaseException as error:  # its message may hold anything, data too
            self.error = f"This is a bug in graphveil ({type(error).__name__}). Please report what you did."

    def _count(self, rows: int) -> None:
        """Called with the rows read so far, which start again with every pass."""
        if rows <= self._rows or self._rows < 0:
            self._passes += 1
        self._rows = rows
