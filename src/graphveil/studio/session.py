"""The requests of the page: the schema of a table, forecasts, texts to copy, a release, its report.

Several windows may be open on one studio, so it has no table, review or report of its own that a request could be about
by mistake: every request names what its window shows. A release is made of a *review*, which is kept here as it was
shown, and of nothing that the page sends with the confirmation.

Before the release, answers hold names of columns, what the person typed, and numbers from the formula of
:mod:`graphveil.planning.closed_form`. Only two functions here let records be read: the one that releases, and the one
that shows public records as they are.

Whatever is heavy loads after the first screen: the page asks for ``state``, is drawn, and then for the rest.
"""

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import InvalidParameter, LedgerError, LedgerMissing
from graphveil.studio.jobs import RehearsalJob, ReleaseJob
from graphveil.studio.shelf import Shelf

if TYPE_CHECKING:
    from graphveil.ledger.history import Entry
    from graphveil.ledger.ledger import Ledger
    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release
    from graphveil.spec.forecast import Forecast
    from graphveil.studio.columns import Columns
    from graphveil.studio.draft import Draft
    from graphveil.studio.table import Table

__all__ = ["Session"]

_CODEBOOK = re.compile(rb"# [^\n]+ Written by graphveil studio\.\n")
_SCRIPT = re.compile(rb"import graphveil as gv\n\ndomain = gv\.Domain\(")


@dataclass(frozen=True)
class _Review:
    """What was shown to be confirmed: a draft, and the very files that it is about."""

    table: "Table"
    draft: "Draft"

    @property
    def name(self) -> str:
        """What the page calls it; not the key alone, which is the same when the files have changed."""
        return f"{self.draft.key}-{self.table.version}"


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
    releases : sequence of str
        Files of releases to look at, instead of making one.
    draft : mapping, optional
        What is entered already.
    prepare : callable, optional
        Called before a page shows anything; returns the draft. For the demo, which makes a table.
    public : bool, default False
        Whether everybody may see these records: then the answer without noise is shown after the release.
    """

    def __init__(
        self,
        ledger: str,
        data: str | None = None,
        *,
        folder: Path | None = None,
        releases: Sequence[str] = (),
        draft: Mapping[str, Any] | None = None,
        prepare: Callable[[], dict[str, Any]] | None = None,
        public: bool = False,
    ) -> None:
        self._ledger_url, self._prepare, self._releases = ledger, prepare, releases
        self._folder = folder or Path.cwd()
        # What the latest window held, where a new one begins. Nothing else is done with it.
        self._window: dict[str, Any] = {"data": data, "public": public, "draft": dict(draft or {})}
        self._opened: list[dict[str, Any]] | None = None  # not read yet
        self._shelf = Shelf()
        self._tables: dict[str, Table] = {}
        self._reviews: dict[str, _Review] = {}
        self._jobs: dict[str, ReleaseJob] = {}
        self._charged: dict[str, str] = {}  # by key, the files that were released
        self._rehearsals: dict[str, RehearsalJob] = {}
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self.shown: dict[str, Callable[[], dict[str, Any]]] = {
            "state": self.describe,
            "start": self.start,
            "accounts": self.list_accounts,
        }
        self.asked: dict[str, Callable[..., dict[str, Any]]] = {
            "table": self.open_table,
            "window": self.keep_window,
            "columns": self.check_columns,
            "import": self.import_codebook,
            "codebook": self.save_codebook,
            "forecast": self.forecast,
            "rehearse": self.rehearse,
            "account": self.create_account,
            "review": self.review,
            "files": self.save_files,
            "release": self.release,
            "job": self.describe_job,
            "open": self.open_release,
            "regression": self._shelf.regress,
            "compare": self._shelf.compare,
            "beside": self.compare_with_public_records,
        }

    # ------------------------------------------------------------------ what is known
    def describe(self) -> dict[str, Any]:
        """All that a page needs to draw its first screen; nothing that takes time."""
        return {
            "ledger": self._ledger_url,
            "window": self._window,
            "only_report": bool(self._releases),
            "folder": str(self._folder),
        }

    def start(self) -> dict[str, Any]:
        """Prepare what the studio was started with."""
        with self._starting:  # once, however many windows ask
            if self._opened is None:
                self._opened = [release for path in self._releases for release in self._shelf.open(path)]
            if self._prepare is not None:
                self._window["draft"], self._prepare = self._prepare(), None
        return self.describe() | {"releases": self._opened}

    def open_table(self, data: str, public: bool = False) -> dict[str, Any]:
        """Read the schema of a table: names of columns, and which types they have."""
        from graphveil.studio.table import Table

        table = Table.open(str(data), public=public is True)
        self._tables[table.version] = table
        columns = [{"name": name, "type": kind} for name, kind in table.columns]
        return {"table": table.version, "data": table.data, "public": table.public, "columns": columns}

    def keep_window(self, window: dict[str, Any]) -> dict[str, Any]:
        """Keep what a window holds, for one that is opened later: after it was closed, for example."""
        self._window = dict(window)
        return {}

    def list_accounts(self) -> dict[str, Any]:
        """What the ledger has left; nothing where there is none yet. Of a damaged one, what is wrong with it."""
        try:
            return {"accounts": [self._account(name) for name in self._open_ledger().datasets()], "reason": None}
        except LedgerMissing:
            return {"accounts": [], "reason": None}
        except LedgerError as error:
            return {"accounts": [], "reason": str(error)}

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
    def _find_table(self, version: str) -> "Table":
        """The table that a window shows."""
        found = self._tables.get(str(version))
        if found is None:
            raise InvalidParameter("Open a table first.")
        return found

    def _read_columns(self, table: str, draft: Mapping[str, Any]) -> "Columns":
        from graphveil.studio.columns import read_columns

        return read_columns(draft, self._find_table(table).types)

    def check_columns(self, table: str, draft: dict[str, Any]) -> dict[str, Any]:
        """Whether the columns could be released as entered; what is wrong with them is an error."""
        read = self._read_columns(table, draft)
        return {"released": read.released.n_features, "unexplained": read.unexplained}

    def import_codebook(self, text: str) -> dict[str, Any]:
        """Columns of a codebook that somebody has already."""
        from graphveil.studio.columns import import_codebook

        return import_codebook(str(text))

    def save_codebook(self, table: str, draft: dict[str, Any]) -> dict[str, Any]:
        """Write what was entered about the columns as a codebook, where the studio was started."""
        from graphveil._files import write_file
        from graphveil.studio.draft import codebook_text, file_stem

        name = f"{file_stem(self._find_table(table).data)}-codebook.toml"
        write_file(self._folder / name, codebook_text(self._read_columns(table, draft)).encode(), _CODEBOOK)
        return {"saved": [name], "folder": str(self._folder)}

    def forecast(self, table: str, draft: dict[str, Any]) -> dict[str, Any]:
        """What a budget buys, by the formula."""
        return self._describe_forecast(self._plan(self._planned(table, draft)))

    def rehearse(self, table: str, draft: dict[str, Any]) -> dict[str, Any]:
        """Rehearse the release on simulated records: asked for again, where that stands and what it found."""
        facts = self._planned(table, draft)
        name = repr(facts)
        with self._lock:
            if name not in self._rehearsals:
                if any(other.is_running for other in self._rehearsals.values()):
                    raise InvalidParameter("Another rehearsal is under way. Wait until it has ended.")
                self._rehearsals[name] = RehearsalJob(
                    lambda count: self._plan(facts | {"rehearse": True, "progress": count})
                )
        job = self._rehearsals[name]
        return job.describe() | {"forecast": None if job.made is None else self._describe_forecast(job.made)}

    def _planned(self, table: str, draft: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a plan: of one group, where there are several."""
        from graphveil.spec.budget import Budget
        from graphveil.studio.columns import read_number

        read = self._read_columns(table, draft)
        groups = 1 if read.grouping is None else len(read.grouping.levels)
        budget = Budget(read_number("epsilon", draft.get("epsilon")), read_number("delta", draft.get("delta")))
        return {
            "n": round(read_number("people", draft.get("people")) / groups),
            "p": read.released.n_features,
            "budget": budget,
            "rows_per_person": read.domain.rows_per_person,
            "bounds_in_sd": read_number("width", draft.get("width")),
            "neighbours": read.domain.neighbours,
        }

    def _plan(self, facts: Mapping[str, Any]) -> "Forecast":
        from graphveil.planning.forecasts import plan

        return plan(**facts)

    def _describe_forecast(self, made: "Forecast") -> dict[str, Any]:
        from graphveil.report.privacy_card import guess_accuracy
        from graphveil.spec.budget import allows_a_record

        here = made.here
        return {
            "guess": 100.0 * guess_accuracy(made.budget.mu),
            "n_eff": here.n_eff,
            "reliable": here.n_eff >= 2.0 * made.n_features,
            "smallest_edge": here.smallest_edge,
            "coefficient_sd": here.coefficient_sd,
            "error": here.error,
            "careless": allows_a_record(made.budget.delta, made.n_samples),
            "needed": made.records_needed,
            "epsilon_needed": made.epsilon_needed,
        }

    def create_account(self, dataset: str, epsilon: float, delta: float) -> dict[str, Any]:
        """Open an account in the ledger, with all that may ever be spent on these people."""
        from graphveil.spec.budget import Budget

        self._open_ledger().create(dataset, Budget(epsilon, delta))
        return self.list_accounts()

    def review(self, table: str, draft: dict[str, Any]) -> dict[str, Any]:
        """The release as texts that repeat it, and the name by which it is confirmed."""
        from graphveil.studio.draft import Draft

        opened = self._find_table(table)
        opened.require_unchanged()
        read = Draft.read(opened.data, self._ledger_url, draft, opened.types)
        review = _Review(opened, read)
        charge = self._find_charge(review)
        self._reviews[review.name] = review
        return {
            "review": review.name,
            "key": read.key,
            "command": read.command,
            "python": read.python,
            "codebook": read.codebook,
            "codebook_file": read.file_name(".toml"),
            "python_file": read.file_name(".py"),
            "release_files": read.release_files,
            "account": self._account(read.dataset),
            "known": None if charge is None else charge.time,
            "job": self.describe_job(review.name)["job"],
        }

    def _find_review(self, name: str) -> _Review:
        found = self._reviews.get(str(name))
        if found is None:
            raise InvalidParameter("This has not been reviewed. Review it first.")
        return found

    def save_files(self, review: str) -> dict[str, Any]:
        """Write the codebook and the script of a review where the studio was started."""
        from graphveil._files import write_file

        read = self._find_review(review).draft
        write_file(self._folder / read.file_name(".toml"), read.codebook.encode(), _CODEBOOK)
        write_file(self._folder / read.file_name(".py"), read.python.encode(), _SCRIPT)
        return {"saved": [read.file_name(".toml"), read.file_name(".py")], "folder": str(self._folder)}

    # ------------------------------------------------------------------ the release
    def release(self, review: str, confirmation: str) -> dict[str, Any]:
        """Start the release that was reviewed, once: asked for again, it is the one that has been started."""
        found = self._find_review(review)
        if confirmation != found.draft.dataset:
            raise InvalidParameter("Type the name of the data set to confirm the charge.")
        with self._lock:
            job = self._jobs.get(review)
            if job is None or job.error is not None:
                if self.is_releasing:
                    raise InvalidParameter("Another release is being made. Wait until it has ended.")
                found.table.require_unchanged()
                self._jobs[review] = ReleaseJob(found.draft.key, lambda progress: self._make(found, progress))
        return self.describe_job(review)

    def describe_job(self, review: str) -> dict[str, Any]:
        """Where a release stands, and what it made; None if it has not been started."""
        job = self._jobs.get(str(review))
        if job is None:
            return {"job": None}
        made = job.made if job.state == "done" else None
        parts = {} if made is None else _by_name(made, self._reviews[review].draft.dataset)
        groups = None if made is None or len(parts) == 1 else self._shelf.put_groups(made)
        return {"job": job.describe() | {"releases": self._shelf.put(parts), "groups": groups}}

    def _make(self, review: _Review, progress: Callable[[int], None]) -> "Release | GroupedRelease":
        from graphveil._files import check_output
        from graphveil.gate import release
        from graphveil.studio.reviewed import ReviewedLedger

        read = review.draft
        outputs = [self._folder / name for name in read.release_files]
        if self._find_charge(review) is None:
            for output in outputs:
                check_output(output, None, None)  # while nothing is charged yet
        by: Any = read.columns.by
        made: Release | GroupedRelease = release(
            os.path.expanduser(read.data),
            domain=read.columns.domain,
            by=by,
            budget=read.budget,
            ledger=ReviewedLedger(os.path.expanduser(self._ledger_url), review.table, self._charged),
            dataset=read.dataset,
            key=read.key,
            progress=progress,
        )
        saved = [made, *made.parts] if hasattr(made, "parts") else [made]
        for each, output in zip(saved, outputs, strict=True):
            each.save(output)  # if this fails, the ledger has it: it can be asked for again
        return made

    def _find_charge(self, review: _Review) -> "Entry | None":
        """The charge of this request, if there is one; refuse if it was made for other files than these."""
        read, table = review.draft, review.table
        charges = self._open_ledger().history(read.dataset)
        charge = next((entry for entry in charges if entry.key == read.key), None)
        if charge is None:
            return None
        made, files = datetime.fromisoformat(charge.time), self._charged.get(read.key)
        later = table.changed is not None and table.changed > made
        if later if files is None else files != table.files:
            raise InvalidParameter(
                f"This release was made on {made:%d %B %Y at %H:%M:%S} (UTC), and the files of the table were written "
                "or replaced later: it is not of the records that are there now. Its file can still be opened. To "
                "release the records of now, give their file another name, or change the request."
            )
        return charge

    @property
    def is_releasing(self) -> bool:
        """Whether a release has been begun that has not ended."""
        return any(job.is_running for job in self._jobs.values())

    def wait(self) -> None:
        """Until every release that was begun has ended."""
        for job in [*self._jobs.values()]:
            job.wait()

    # ------------------------------------------------------------------ afterwards
    def open_release(self, path: str) -> dict[str, Any]:
        """Open one more, from a file."""
        return {"releases": self._shelf.open(str(path))}

    def report_html(self, which: str) -> str:
        """The report of a release, or of several groups side by side, by its checksum."""
        return self._shelf.report_html(which)

    def compare_with_public_records(self, review: str, release: str) -> dict[str, Any]:
        """For records that were declared public: the strongest pairs of their release, as released and as they are."""
        found, job = self._find_review(review), self._jobs.get(review)
        if not found.table.public or job is None or getattr(job.made, "checksum", None) != release:
            return {"pairs": []}  # of private records, or of a file that was opened besides
        if found.draft.columns.by is not None:
            return {"pairs": []}
        from graphveil.studio.public_answer import compare_with_public_records

        found.table.require_unchanged()
        made = self._shelf.find(release)
        return {"pairs": compare_with_public_records(made, found.table.data, found.draft.columns.domain)}


def _by_name(made: "Release | GroupedRelease", dataset: str) -> "dict[str, Release]":
    from graphveil.released.release import Release

    if isinstance(made, Release):
        return {dataset: made}
    return {f"{made.event.grouping.column} = {level}": part for level, part in made.items()}
