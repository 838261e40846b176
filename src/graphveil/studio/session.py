"""What the page may ask: the schema of a table, forecasts, texts to copy, one release, its report.

Before the release, answers hold names of columns, what the person typed, and numbers from the formula of
:mod:`graphveil.planning.closed_form`. The only function here that lets records be read is the one that releases.
"""

import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import InvalidParameter, LedgerError
from graphveil.studio.draft import BOUNDS_HEAD, Draft, read_columns
from graphveil.studio.release_job import ReleaseJob

if TYPE_CHECKING:
    from graphveil.ledger.ledger import Ledger
    from graphveil.released.release import Release

__all__ = ["Session"]

_BOUNDS_FILE = re.compile(re.escape(BOUNDS_HEAD.encode()))
_SCRIPT = re.compile(rb"import graphveil as gv\n\ndomain = gv\.Domain\(")


class Session:
    """One studio.

    Parameters
    ----------
    ledger : str
        Where the ledger is.
    data : str, optional
        The records; otherwise the page asks for them.
    folder : Path, optional
        Where files are written; by default where the studio was started.
    release : Release, optional
        A release to look at, instead of making one.
    draft : mapping, optional
        What is entered already.
    compare : callable, optional
        For public records: what a release says of the strongest pairs, beside the answer without noise.
    """

    def __init__(
        self,
        ledger: str,
        data: str | None = None,
        *,
        folder: Path | None = None,
        release: "Release | None" = None,
        draft: Mapping[str, Any] | None = None,
        compare: "Callable[[Release], list[dict[str, Any]]] | None" = None,
    ) -> None:
        self._ledger_url, self._draft, self._compare = ledger, dict(draft or {}), compare
        self._folder = folder or Path.cwd()
        self._data: str | None = None
        self._columns = list[dict[str, Any]]()
        self._opened, self._page = release, ""
        self._job: ReleaseJob | None = None
        self._lock = threading.Lock()
        if data is not None:
            self.open_table(data)
        self.shown: dict[str, Callable[[], dict[str, Any]]] = {
            "state": self.describe,
            "job": self.describe_job,
            "comparison": self.compare,
            "variables": self.list_variables,
        }
        self.asked: dict[str, Callable[..., dict[str, Any]]] = {
            "table": self.open_table,
            "draft": self.keep_draft,
            "columns": self.check_columns,
            "import": self.import_bounds,
            "forecast": self.forecast,
            "account": self.create_account,
            "review": self.review,
            "files": self.save_files,
            "release": self.release,
            "regression": self.regress,
        }

    # ------------------------------------------------------------------ what is known
    def describe(self) -> dict[str, Any]:
        """All that the page needs to draw itself, after a reload too."""
        return {
            "data": self._data,
            "columns": self._columns,
            "ledger": self._ledger_url,
            "accounts": self._accounts(),
            "draft": self._draft,
            "job": self.describe_job()["job"],
            "only_report": self._opened is not None,
            "public": self._compare is not None,
            "folder": str(self._folder),
        }

    def describe_job(self) -> dict[str, Any]:
        """Where the release stands."""
        return {"job": None if self._job is None else self._job.describe()}

    def open_table(self, data: str) -> dict[str, Any]:
        """Read the schema of a table: names of columns, and which can hold numbers."""
        from graphveil.rows.files import column_kinds
        from graphveil.spec.column_names import looks_like_a_value

        known = column_kinds(os.path.expanduser(str(data)))
        names = [name for name, _ in known]
        if any(map(looks_like_a_value, names)):  # perhaps a record: nothing of it is repeated
            raise InvalidParameter(
                "The name of a column is empty, or looks like a value, as if the first line of the file were a record. "
                "Give it a first line with names."
            )
        if len(set(names)) < len(names):
            raise InvalidParameter("Two columns of this file have the same name. Give every column a name of its own.")
        self._data, self._columns = (
            str(data),
            [{"name": name, "number": kind not in ("text", "other")} for name, kind in known],
        )
        return self.describe()

    def keep_draft(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Keep what was entered, for a reload."""
        self._draft = dict(draft)
        return {}

    def _accounts(self) -> list[dict[str, Any]]:
        """What the ledger has left; nothing where there is none yet."""
        try:
            return [self._account(name) for name in self._open_ledger().datasets()]
        except LedgerError:
            return []

    def _account(self, name: str) -> dict[str, Any]:
        from graphveil.spec.rounding import format_exact, format_round_down

        ledger = self._open_ledger()
        budget, left = ledger.budget(name), ledger.remaining(name)
        return {
            "dataset": name,
            "total": format_exact(budget.epsilon),
            "delta": format_exact(budget.delta),
            "left": format_round_down(left.epsilon, 4),
        }

    def _open_ledger(self) -> "Ledger":
        from graphveil.ledger.ledger import Ledger

        return Ledger(os.path.expanduser(self._ledger_url))

    # ------------------------------------------------------------------ what is asked on the way
    def check_columns(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Whether the columns could be released as entered; what is wrong with them is an error."""
        domain, sources = read_columns(draft)
        assert domain.columns is not None
        return {"used": len(domain.columns), "unexplained": len(domain.columns) - len(sources)}

    def import_bounds(self, text: str) -> dict[str, Any]:
        """Columns of a file of bounds that somebody has already."""
        import tomllib

        try:
            content = tomllib.loads(str(text))
        except (ValueError, RecursionError):
            raise InvalidParameter("This is not a file of bounds: it is not TOML.") from None
        pairs = content.get("bounds")
        if not isinstance(pairs, dict):
            raise InvalidParameter("This is not a file of bounds: it has no [bounds].")
        columns = [
            {"name": name, "lower": str(pair[0]), "upper": str(pair[1])}
            for name, pair in pairs.items()
            if isinstance(pair, list) and len(pair) == 2 and "?" not in pair
        ]
        return {"columns": columns, "person": content.get("person"), "rows_per_person": content.get("rows_per_person")}

    def forecast(
        self, people: int, columns: int, epsilon: float, delta: float, rows: int, width: float
    ) -> dict[str, Any]:
        """What a budget buys, by the formula."""
        from graphveil.planning.forecasts import plan
        from graphveil.report.privacy_card import guess_accuracy
        from graphveil.spec.budget import Budget

        budget = Budget(epsilon, delta)
        made = plan(people, columns, budget, rows_per_person=rows, bounds_in_sd=width)
        here = made.here
        return {
            "guess": 100.0 * guess_accuracy(budget.mu),
            "n_eff": here.n_eff,
            "reliable": here.n_eff >= 2.0 * columns,
            "smallest_edge": here.smallest_edge,
            "coefficient_sd": here.coefficient_sd,
            "error": here.error,
            "careless": budget.delta >= 1.0 / people,
            "needed": made.records_needed,
            "epsilon_needed": made.epsilon_needed,
        }

    def create_account(self, dataset: str, epsilon: float, delta: float) -> dict[str, Any]:
        """Open an account in the ledger, with all that may ever be spent on these people."""
        from graphveil.spec.budget import Budget

        self._open_ledger().create(dataset, Budget(epsilon, delta))
        return {"accounts": self._accounts()}

    def review(self, draft: dict[str, Any]) -> dict[str, Any]:
        """The release as texts that repeat it."""
        read = self._read(draft)
        return {
            "key": read.key,
            "command": read.command,
            "python": read.python,
            "bounds": read.bounds_toml,
            "bounds_file": read.file_name(".toml"),
            "python_file": read.file_name(".py"),
            "release_file": read.file_name(".release"),
            "account": self._account(read.dataset),
            "known": self._is_charged(read),
        }

    def save_files(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Write the bounds and the script where the studio was started."""
        from graphveil._files import write_file

        read = self._read(draft)
        write_file(self._folder / read.file_name(".toml"), read.bounds_toml.encode(), _BOUNDS_FILE)
        write_file(self._folder / read.file_name(".py"), read.python.encode(), _SCRIPT)
        return {"saved": [read.file_name(".toml"), read.file_name(".py")], "folder": str(self._folder)}

    def _read(self, draft: Mapping[str, Any]) -> Draft:
        if self._data is None:
            raise InvalidParameter("Open a table first.")
        return Draft.read(self._data, self._ledger_url, draft)

    # ------------------------------------------------------------------ the release
    def release(self, draft: dict[str, Any], confirmation: str) -> dict[str, Any]:
        """Start the release, once: asked for again, it is the one that has been started."""
        read = self._read(draft)
        if confirmation != read.dataset:
            raise InvalidParameter("Type the name of the data set to confirm that it is to be charged.")
        self.keep_draft(draft)  # a page that comes back must be able to say what is being released
        with self._lock:
            current = self._job
            if current is None or (current.key != read.key and not current.is_running):
                self._start(read)
            elif current.key != read.key:
                raise InvalidParameter("Another release is being made. Wait until it has ended.")
            elif current.error is not None:
                self._start(read)
        return self.describe_job()

    def _start(self, read: Draft) -> None:
        self._page = ""
        self._job = ReleaseJob(read.key, lambda progress: self._make(read, progress))

    def _make(self, read: Draft, progress: Callable[[int], None]) -> "Release":
        from graphveil._files import check_output
        from graphveil.gate import release

        output = self._folder / read.file_name(".release")
        if not self._is_charged(read):
            check_output(output, None, None)  # while nothing is charged yet
        made = release(
            os.path.expanduser(read.data),
            domain=read.domain,
            budget=read.budget,
            ledger=self._open_ledger(),
            dataset=read.dataset,
            key=read.key,
            progress=progress,
        )
        made.save(output)  # if this fails, the ledger has it: it can be asked for again
        return made

    def _is_charged(self, read: Draft) -> bool:
        return any(entry.key == read.key for entry in self._open_ledger().history(read.dataset))

    @property
    def is_releasing(self) -> bool:
        """Whether a release has been begun that has not ended."""
        return self._job is not None and self._job.is_running

    def wait(self) -> None:
        """Until a release that was begun has ended."""
        if self._job is not None:
            self._job.wait()

    # ------------------------------------------------------------------ afterwards
    def _released(self) -> "Release":
        found = self._job.release if self._opened is None and self._job is not None else self._opened
        if found is None:
            raise InvalidParameter("There is no release yet.")
        return found

    def report_html(self) -> str:
        """The report of the release."""
        from graphveil.report.page import report_html

        made = self._released()
        with self._lock:
            if not self._page:
                self._page = report_html(made)
            return self._page

    def compare(self) -> dict[str, Any]:
        """For public records: the strongest pairs, as released and as they are."""
        made = self._released()
        return {"pairs": [] if self._compare is None else self._compare(made)}

    def list_variables(self) -> dict[str, Any]:
        """Names of the columns of the release."""
        return {"variables": list(self._released().column_names)}

    def regress(self, outcome: str, on: list[str]) -> dict[str, Any]:
        """A regression table, from the release alone."""
        from graphveil.inference.regression import regression

        return regression(self._released(), outcome, on).to_dict()
