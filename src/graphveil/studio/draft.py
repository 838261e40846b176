"""The entries so far as a planned release, and as text that repeats it.

The command, the Python and the codebook say the same as the button of the page does: with the ledger's key they return
the same release, and charge nothing again.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphveil.spec.budget import Budget
from graphveil.spec.codebook_text import python_of_domain, toml_of_domain
from graphveil.spec.names import check_name
from graphveil.spec.rounding import format_exact
from graphveil.studio.columns import Columns, read_columns, read_number

__all__ = ["CODEBOOK_HEAD", "Draft", "codebook_text", "file_stem"]

CODEBOOK_HEAD = "# What each column holds, by public knowledge; never from the data. Written by graphveil studio.\n"


@dataclass(frozen=True)
class Draft:
    """A release as entered.

    Attributes
    ----------
    data : str
        Where the records are.
    columns : Columns
        What they hold, whose records they are, and which column makes groups.
    budget : Budget
    dataset : str
        The account in the ledger.
    ledger : str
        Where the ledger is.
    """

    data: str
    columns: Columns
    budget: Budget
    dataset: str
    ledger: str

    @classmethod
    def read(cls, data: str, ledger: str, entered: Mapping[str, Any], types: Mapping[str, str]) -> "Draft":
        """Check what was entered, and say what is wrong with it. ``types`` of columns are those of the schema."""
        columns = read_columns(entered, types)
        budget = Budget(read_number("epsilon", entered.get("epsilon")), read_number("delta", entered.get("delta")))
        return cls(data, columns, budget, check_name("dataset", entered.get("dataset")), ledger)

    @cached_property  # once: where a link leads may change
    def key(self) -> str:
        """The release's name in the ledger: the same for the same request, whoever makes it, and whenever."""
        request = [os.path.realpath(self.data), self.dataset, self.columns.domain.to_dict(), self.budget.to_dict()]
        request += [] if self.columns.by is None else [self.columns.by]
        return "studio-" + hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:16]

    def file_name(self, ending: str) -> str:
        """A file for this release, beside which those of other drafts have room."""
        return f"{file_stem(self.data)}-{self.key[-6:]}{ending}"

    @property
    def release_files(self) -> list[str]:
        """The files of the release: one, and one for each group, where there are groups."""
        groups, whole = self.columns.grouping, self.file_name(".release")
        return [whole] if groups is None else [whole, *map(str, groups.name_files(Path(whole)))]

    @property
    def codebook(self) -> str:
        """The file that says what the columns hold."""
        return codebook_text(self.columns)

    @property
    def command(self) -> str:
        """The command that makes this release."""
        options = {
            "--epsilon": format_exact(self.budget.epsilon),
            "--delta": format_exact(self.budget.delta),
            "--bounds": self.file_name(".toml"),
            "--by": self.columns.by,
            "--dataset": self.dataset,
            "--ledger": self.ledger,
            "--key": self.key,
            "-o": self.file_name(".release"),
        }
        words = [f"{name} {shlex.quote(value)}" for name, value in options.items() if value is not None]
        return " \\\n  ".join([f"graphveil release {shlex.quote(self.data)}", *words])

    @property
    def python(self) -> str:
        """The same in Python."""
        by, (whole, *parts) = self.columns.by, self.release_files
        each = f"for part, path in zip(release.parts, {parts!r}):\n    part.save(path)\n" if parts else ""
        return (
            "import graphveil as gv\n\n"
            f"domain = {python_of_domain(self.columns.domain)}\n"
            f"release = gv.release(\n    {self.data!r},\n    domain=domain,\n"
            f"    budget=gv.Budget({self.budget.epsilon!r}, {self.budget.delta!r}),\n"
            + ("" if by is None else f"    by={by!r},\n")
            + f"    ledger=gv.Ledger({self.ledger!r}),\n    dataset={self.dataset!r},\n    key={self.key!r},\n)\n"
            f"release.save({whole!r})\n{each}gv.write_report(release, {self.file_name('.html')!r})\n"
        )


def codebook_text(columns: Columns) -> str:
    """The file of a codebook, with the column that makes groups among the others."""
    return CODEBOOK_HEAD + toml_of_domain(columns.domain)


def file_stem(data: str) -> str:
    """How files about a table begin; ``data`` may be a pattern or a URI."""
    return re.sub(r"[^\w.-]+", "", Path(data).stem).lstrip(".-") or "table"
