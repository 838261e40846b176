"""The requests of the page: the schema of a table, forecasts, texts to copy, one release, its report.

Before the release, answers hold names of columns, what the person typed, and numbers from the formula of
:mod:`graphveil.planning.closed_form`. Only two functions here let records be read: the one that releases, and the one
that shows public records as they are.

Whatever is heavy loads after the first screen: the page asks for ``state``, is drawn, and then for the rest.
"""

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import InvalidParameter, LedgerError
from graphveil.studio.jobs import RehearsalJob, ReleaseJob
from graphveil.studio.shelf import Shelf

if TYPE_CHECKING:
    from graphveil.ledger.ledger import Ledger
    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release
    from graphveil.spec.forecast import Forecast
    from graphveil.studio.columns import Columns
    from graphveil.studio.draft import Draft

__all__ = ["Session"]

_CODEBOOK = re.compile(rb"# [^\n]+ Written by graphveil studio\.\n")
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
    releases : sequence of str
        Files of releases to look at, instead of making one.
    draft : mapping, optional
        What is entered already.
    prepare : callable, optional
        Called before the table is opened; returns the draft. For the demo, which makes a table.
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
        self._ledger_url, self._draft, self._prepare = ledger, dict(draft or {}), prepare
        self._folder, self._public = folder or Path.cwd(), public
        self._data, self._releases = data, releases
        self._columns: list[dict[str, str]] | None = None  # not read yet
        self._shelf = Shelf()
        self._made: Draft | None = None
        self._job: ReleaseJob | None = None
        self._rehearsal: RehearsalJob | None = None
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self.shown: dict[str, Callable[[], dict[str, Any]]] = {
            "state": self.describe,
            "start": self.start,
            "accounts": self.list_accounts,
            "job": self.describe_job,
            "rehearsal": self.describe_rehearsal,
            "releases": self.list_releases,
        }
        self.asked: dict[str, Callable[..., dict[str, Any]]] = {
            "table": self.open_table,
            "draft": self.keep_draft,
            "columns": self.check_columns,
            "import": self.import_codebook,
            "codebook": self.save_codebook,
            "forecast": self.forecast,
            "rehearse": self.rehearse,
            "account": self.create_account,
            "review": self.review,
            "files": self.save_files,
            "release": self.release,
            "open": self.open_release,
            "regression": self._shelf.regress,
            "compare": self._shelf.compare,
            "beside": self.compare_with_public_records,
        }

    # ------------------------------------------------------------------ what is known
    def describe(self) -> dict[str, Any]:
        """All that the page needs to draw itself, after a reload too; nothing that takes time."""
        return {
            "data": self._data,
            "columns": self._columns,
            "ledger": self._ledger_url,
            "draft": self._draft,
            "job": self.describe_job()["job"],
            "only_report": bool(self._releases),
            "public": self._public,
            "folder": str(self._folder),
        }

    def start(self) -> dict[str, Any]:
        """Open what the studio was started with."""
        with self._starting:  # once, however many windows ask
            for path in self._releases if not self.list_releases()["releases"] else ():
                self._shelf.open(path)
            if self._columns is None and self._prepare is not None:
                self._draft = self._prepare()
            if self._columns is None and self._data is not None:
                self._columns = _read_schema(self._data)
        return self.describe()

    def describe_job(self) -> dict[str, Any]:
        """Where the release stands."""
        return {"job": None if self._job is None else self._job.describe()}

    def open_table(self, data: str, public: bool = False) -> dict[str, Any]:
        """Read the schema of a table: names of columns, and which types they have."""
        self._columns, self._data, self._public = _read_schema(str(data)), str(data), public is True
        return self.describe()

    def keep_draft(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Keep what was entered, for a reload."""
        self._draft = dict(draft)
        return {}

    def list_accounts(self) -> dict[str, Any]:
        """What the ledger has left; nothing where there is none yet."""
        try:
            return {"accounts": [self._account(name) for name in self._open_ledger().datasets()]}
        except LedgerError:
            return {"accounts": []}

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
    def _read_columns(self, draft: Mapping[str, Any]) -> "Columns":
        from graphveil.studio.columns import read_columns

        return read_columns(draft, self._types)

    @property
    def _types(self) -> dict[str, str]:
        """Of the columns of the table, as its schema has them."""
        self._require_table()
        return {column["name"]: column["type"] for column in self._columns or ()}

    def check_columns(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Whether the columns could be released as entered; what is wrong with them is an error."""
        read = self._read_columns(draft)
        return {"released": read.released.n_features, "unexplained": read.unexplained}

    def import_codebook(self, text: str) -> dict[str, Any]:
        """Columns of a codebook that somebody has already."""
        from graphveil.studio.columns import import_codebook

        return import_codebook(str(text))

    def save_codebook(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Write what was entered about the columns as a codebook, where the studio was started."""
        from graphveil._files import write_file
        from graphveil.studio.draft import codebook_text, file_stem

        name = f"{file_stem(self._require_table())}-codebook.toml"
        write_file(self._folder / name, codebook_text(self._read_columns(draft)).encode(), _CODEBOOK)
        return {"saved": [name], "folder": str(self._folder)}

    def forecast(self, draft: dict[str, Any]) -> dict[str, Any]:
        """What a budget buys, by the formula."""
        return self._describe_forecast(self._plan(self._planned(draft)))

    def rehearse(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Begin to rehearse the release on simulated records; the same again is the same rehearsal."""
        facts = self._planned(draft)
        with self._lock:
            if self._rehearsal is None or (self._rehearsal.facts != facts and not self._rehearsal.is_running):
                self._rehearsal = RehearsalJob(
                    facts, lambda count: self._plan(facts | {"rehearse": True, "progress": count})
                )
            elif self._rehearsal.facts != facts:
                raise InvalidParameter("Another rehearsal is under way. Wait until it has ended.")
        return self.describe_rehearsal()

    def describe_rehearsal(self) -> dict[str, Any]:
        """Where the rehearsal stands, and what it found."""
        job = self._rehearsal
        if job is None:
            return {"rehearsal": None}
        found = {} if job.made is None else self._describe_forecast(job.made)
        return {"rehearsal": job.describe() | {"forecast": found or None}}

    def _planned(self, draft: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a plan: of one group, where there are several."""
        from graphveil.spec.budget import Budget
        from graphveil.studio.columns import read_number

        read = self._read_columns(draft)
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

    def review(self, draft: dict[str, Any]) -> dict[str, Any]:
        """The release as texts that repeat it."""
        read = self._read(draft)
        return {
            "key": read.key,
            "command": read.command,
            "python": read.python,
            "codebook": read.codebook,
            "codebook_file": read.file_name(".toml"),
            "python_file": read.file_name(".py"),
            "release_files": read.release_files,
            "account": self._account(read.dataset),
            "known": self._is_charged(read),
        }

    def save_files(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Write the codebook and the script where the studio was started."""
        from graphveil._files import write_file

        read = self._read(draft)
        write_file(self._folder / read.file_name(".toml"), read.codebook.encode(), _CODEBOOK)
        write_file(self._folder / read.file_name(".py"), read.python.encode(), _SCRIPT)
        return {"saved": [read.file_name(".toml"), read.file_name(".py")], "folder": str(self._folder)}

    def _read(self, draft: Mapping[str, Any]) -> "Draft":
        from graphveil.studio.draft import Draft

        return Draft.read(self._require_table(), self._ledger_url, draft, self._types)

    def _require_table(self) -> str:
        """Where the records are; their schema is known from now on."""
        if self._data is None:
            raise InvalidParameter("Open a table first.")
        self.start()
        return self._data

    # ------------------------------------------------------------------ the release
    def release(self, draft: dict[str, Any], confirmation: str) -> dict[str, Any]:
        """Start the release, once: asked for again, it is the one that has been started."""
        read = self._read(draft)
        if confirmation != read.dataset:
            raise InvalidParameter("Type the name of the data set to confirm the charge.")
        self.keep_draft(draft)  # a page that comes back must be able to say what is being released
        with self._lock:
            current = self._job
            if current is None or (current.key != read.key and not current.is_running):
                self._begin(read)
            elif current.key != read.key:
                raise InvalidParameter("Another release is being made. Wait until it has ended.")
            elif current.error is not None:
                self._begin(read)
        return self.describe_job()

    def _begin(self, read: "Draft") -> None:
        self._made = read
        self._job = ReleaseJob(read.key, lambda progress: self._make(read, progress))

    def _make(self, read: "Draft", progress: Callable[[int], None]) -> "Release | GroupedRelease":
        from graphveil._files import check_output
        from graphveil.gate import release
        from graphveil.released.release import Release

        outputs = [self._folder / name for name in read.release_files]
        if not self._is_charged(read):
            for output in outputs:
                check_output(output, None, None)  # while nothing is charged yet
        by: Any = read.columns.by
        made: Release | GroupedRelease = release(
            os.path.expanduser(read.data),
            domain=read.columns.domain,
            by=by,
            budget=read.budget,
            ledger=self._open_ledger(),
            dataset=read.dataset,
            key=read.key,
            progress=progress,
        )
        whole = None if isinstance(made, Release) else made
        parts = {read.dataset: made} if isinstance(made, Release) else _by_name(made)
        saved: list[Release | GroupedRelease] = [made] if whole is None else [whole, *whole.parts]
        for each, output in zip(saved, outputs, strict=True):
            each.save(output)  # if this fails, the ledger has it: it can be asked for again
        self._shelf.put(parts, whole)
        return made

    def _is_charged(self, read: "Draft") -> bool:
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
    def list_releases(self) -> dict[str, Any]:
        """The releases that are open."""
        return self._shelf.describe()

    def open_release(self, path: str) -> dict[str, Any]:
        """Open one more, from a file."""
        self._shelf.open(str(path))
        return self.list_releases()

    def report_html(self, which: str) -> str:
        """The report of a release, by its place in the list; or of all groups."""
        return self._shelf.report_html(which)

    def compare_with_public_records(self, release: str) -> dict[str, Any]:
        """For records that were declared public: the strongest pairs of the release, as released and as they are."""
        if not self._public or self._made is None or self._made.columns.by is not None:
            return {"pairs": []}
        if self._made.data != self._data:  # public is said of the table that is open, not of one released before
            return {"pairs": []}
        from graphveil.studio.public_answer import compare_with_public_records

        found = self._shelf.find(release)
        if self._job is None or self._job.made != found:  # a file that was opened besides
            return {"pairs": []}
        return {"pairs": compare_with_public_records(found, self._made.data, self._made.columns.domain)}


def _by_name(groups: "GroupedRelease") -> "dict[str, Release]":
    return {f"{groups.event.grouping.column} = {level}": part for level, part in groups.items()}


def _read_schema(data: str) -> list[dict[str, str]]:
    """Names and types of the columns of a table; nothing of a first line that may be a record is repeated."""
    from graphveil.rows.files import column_kinds
    from graphveil.spec.column_names import say_which_look_like_values

    known = column_kinds(os.path.expanduser(data))
    names = [name for name, _ in known]
    why = say_which_look_like_values(names)
    if why:
        raise InvalidParameter(f"{why} Add a first line with names.")
    if len(set(names)) < len(names):
        raise InvalidParameter("Two columns of this file have the same name. Give every column a unique name.")
    return [{"name": name, "type": kind} for name, kind in known]
