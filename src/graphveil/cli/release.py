"""`graphveil release`: the command that reads your records and spends budget (`demo` uses its own records)."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, Number, require_named_file, require_writable
from graphveil.cli._errors import CliError, command, explain_failure
from graphveil.cli._exit_codes import ELSEWHERE, LOST, REFUSED
from graphveil.cli._output import echo, emit, note, one_line, progress_bar, refuse
from graphveil.cli._signals import deferred
from graphveil.cli.bounds import read_domain
from graphveil.cli.fit import cautions_of
from graphveil.cli.ledger import LedgerUrl, open_ledger
from graphveil.cli.show import say_card
from graphveil.exceptions import BudgetExceeded, GraphveilError, InvalidParameter, KeyRefused

if TYPE_CHECKING:
    from rich.console import Console

    from graphveil.ledger.ledger import Ledger
    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release
    from graphveil.spec.domain import Domain
    from graphveil.spec.grouping import Grouping

__all__ = ["release"]


@command
def release(
    data: Annotated[str, typer.Argument(help="The records: Parquet, CSV or Arrow; a file, directory, pattern or URI.")],
    epsilon: Annotated[float, Number(help="ε to spend.")],
    delta: Annotated[float, Number(help="δ to spend; well below one over the number of records.")],
    bounds: Annotated[Path, typer.Option(help="File with the bounds of each column; see `graphveil bounds template`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The release file to write.")],
    dataset: Annotated[str | None, typer.Option(help="The ledger's name for these people's records.")] = None,
    ledger: LedgerUrl = None,
    no_ledger: Annotated[
        bool,
        typer.Option("--no-ledger", help="Charge nothing: you keep track of all releases of these records yourself."),
    ] = False,
    person: Annotated[
        str | None,
        typer.Option(help="The column that identifies the person; each person then counts once."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="The column of survey weights, with --largest-weight.")] = None,
    largest_weight: Annotated[
        float | None, Number(help="The largest weight that counts, from public knowledge; noise grows with it.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[=LEVEL,LEVEL,…]",
            help="Release each group of records separately, for one charge; group membership is then public, unless "
            "with --neighbours add-remove.",
        ),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(help='"replace" protects the records of a person, "add-remove" membership in the table too.'),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this release; with it, the command can be run again and is charged once."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish noisy moments of records. Runs where the records are, and spends privacy budget.

    Example: graphveil release patients.parquet --epsilon 1 --delta 1e-6 --bounds bounds.toml --dataset patients-2026
    --ledger ledger.db -o patients.release
    """
    from graphveil.gate import release as make
    from graphveil.released.release import Release
    from graphveil.spec.budget import Budget
    from graphveil.spec.weight import Weight

    output = require_named_file(output)
    if no_ledger and (ledger is not None or dataset or key):
        raise CliError("--no-ledger cannot be combined with --ledger, --dataset or --key.")
    if not no_ledger and dataset is None:
        raise CliError(
            "--dataset is missing: it names the account that this release is charged to. (--no-ledger charges nothing.)"
        )
    if (weight is None) != (largest_weight is None):
        raise CliError("Use --weight and --largest-weight together: the column of weights, and the most that counts.")
    weighted = None if weight is None or largest_weight is None else Weight(weight, largest_weight)
    domain, budget = read_domain(bounds, person, neighbours, weighted), Budget(epsilon, delta)
    groups = None
    if by is not None:
        groups, domain = _parse_groups(by, domain)
    outputs = [output] if groups is None else [output, *groups.name_files(output)]

    def check_outputs() -> None:
        for path in outputs:
            require_writable(path)

    account = None if dataset is None else _Account(open_ledger(ledger), dataset, check_outputs)
    if account is None or key is None or not account.knows(key):  # otherwise the stored release is returned
        check_outputs()
    with _once_charged(account, as_json):
        with progress_bar("Reading records", as_json) as count:
            made = make(
                os.path.expanduser(data),
                domain=domain,
                budget=budget,
                progress=lambda rows: count(rows, None),
                ledger=account,
                dataset=dataset,
                key=key,
                by=None if groups is None else {groups.column: groups.levels},
            )
        parts = [made] if isinstance(made, Release) else [*made.parts]
        saved: list[Release | GroupedRelease] = [*parts] if isinstance(made, Release) else [made, *parts]
        with deferred():  # an interruption must not lose a paid release
            paths = [_save(each, path, account, as_json) for each, path in zip(saved, outputs, strict=True)]
            facts: dict[str, Any] = {"guarantee": made.guarantee, "checksum": made.checksum, "release": str(paths[0])}
            facts |= {} if groups is None else {"releases": list(map(str, paths[1:]))}
            if account is not None:
                facts["remaining"] = account.remaining()
            found = [_judge(part) for part in parts]
            if groups is not None:
                found = [{"group": name} | each for name, each in zip(made.event.groups, found, strict=True)]
            facts |= found[0] if groups is None else {"groups": found}
            again = account is not None and not account.charged
            emit(as_json, facts, lambda out: _say(out, made, _describe(facts, paths, again)), kept=True)
    if paths != outputs:
        raise typer.Exit(ELSEWHERE)


def _judge(made: "Release") -> dict[str, Any]:
    """The accuracy of a release and its cautions; it is already saved, so nothing here may fail."""
    try:
        return {"n_eff": made.n_eff, "cautions": cautions_of(made)}
    except Exception as error:
        note(f"The release is saved, but could not be assessed ({type(error).__name__}).")
        return {"n_eff": None, "cautions": None}


def _parse_groups(given: str, domain: "Domain") -> "tuple[Grouping, Domain]":
    """``arm``, a category of the codebook; or ``arm=A,B``, where whole numbers are numbers, but 01 is text."""
    from graphveil.spec.grouping import Grouping

    column, sign, levels = given.partition("=")
    if not sign:
        return Grouping.of_category(given, domain)
    if not column or not all(levels.split(",")):
        raise CliError(f"--by is a column and its levels, such as arm=A,B; got {given!r}.")
    found = tuple(levels.split(","))
    numbers = all(re.fullmatch("0|[1-9][0-9]*", level) for level in found)
    return Grouping(column, tuple(map(int, found)) if numbers else found), domain


def _say(console: "Console", made: "Release | GroupedRelease", below: str) -> None:
    from graphveil.released.release import Release

    if isinstance(made, Release):
        say_card(console, made, below)
    else:
        echo(console, f"{made.guarantee}\n{below}")


class _Account:
    """A data set's account in a ledger, as the gate uses it; remembers what became of the charge.

    Parameters
    ----------
    ledger : Ledger
    dataset : str
    check : callable
        Raises while the output could not be written: asked again right before the charge.
    """

    def __init__(self, ledger: "Ledger", dataset: str, check: Callable[[], Any]) -> None:
        self._ledger, self._dataset, self._check = ledger, dataset, check
        self.charged = self.kept = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def knows(self, key: str) -> bool:
        """Whether the key was charged before: then nothing is charged any more."""
        return any(entry.key == key for entry in self._ledger.history(self._dataset))

    def _charges(self) -> int:
        return len(self._ledger.history(self._dataset))

    def charge(self, *args: Any, **options: Any) -> None:
        """Charge; if an interruption or an outage leaves it unknown whether the charge was made, it counts as made."""
        self._check()
        before = self._charges()
        self.charged = True
        try:
            self._ledger.charge(*args, **options)
        except (BudgetExceeded, KeyRefused):
            self.charged = False
            raise
        except GraphveilError:
            with suppress(Exception):
                self.charged = self._charges() > before
            raise

    def store(self, *args: Any, **options: Any) -> None:
        """Keep the release under its key."""
        self._ledger.store(*args, **options)
        self.kept = True

    def remaining(self) -> dict[str, float] | None:
        """The remaining budget; None if the ledger no longer answers."""
        try:
            left = self._ledger.remaining(self._dataset)
        except Exception as error:
            note(
                f"The release is saved, but the ledger could not be asked for the remaining budget "
                f"({type(error).__name__})."
            )
            return None
        return {"epsilon": left.epsilon, "delta": left.delta}


@contextmanager
def _once_charged(account: _Account | None, as_json: bool) -> Iterator[None]:
    """From the charge on, all that ends the command without a release has one exit code: it must not be repeated."""
    try:
        yield
    except typer.Exit:
        raise
    except BaseException as error:
        if account is None or not account.charged:
            raise
        raise typer.Exit(refuse(as_json, *explain_failure(error, charged=True))) from None


def _save(made: "Release | GroupedRelease", output: Path, account: _Account | None, as_json: bool) -> Path:
    """Where the release was written: it is paid for, so a full disk must not lose it."""
    try:
        made.save(output)
    except (OSError, InvalidParameter) as error:
        if account is not None and not account.charged:
            raise  # the ledger has it, as before
        why = f"{output}: {error.strerror}." if isinstance(error, OSError) else str(error)
    else:
        return output
    try:
        refuge = Path(tempfile.gettempdir()) / f"graphveil-{made.checksum[:16]}.release"
        made.save(refuge)
    except (OSError, InvalidParameter):
        kept = account is not None and account.kept
        advice = "The ledger keeps it: run the same command with another output." if kept else "It is lost."
        code = ELSEWHERE if kept else REFUSED if account is None else LOST
        message = f"{why} The release was made, but could not be saved anywhere. {advice}"
        raise typer.Exit(refuse(as_json, "OSError", message, code)) from None
    note(f"{why} The release is in {refuge}: move it, do not run the command again.")
    return refuge


def _describe_worth(found: dict[str, Any]) -> str:
    """The accuracy of a release, with its group if there are several; empty if it could not be assessed."""
    if found["n_eff"] is None:
        return ""
    which = f"{one_line(found['group'])}: as" if "group" in found else "As"
    said = f"\n{which} good as {found['n_eff']:,.0f} noise-free records. {' '.join(map(one_line, found['cautions']))}"
    return said.rstrip()


def _describe(facts: dict[str, Any], paths: list[Path], again: bool) -> str:
    from graphveil.spec.rounding import format_exact, format_round_down

    count = ""
    if "remaining" not in facts:
        count = " Not counted in any ledger."
    elif facts["remaining"] is not None:
        left = facts["remaining"]
        count = (
            f" Left in the ledger: ε = {format_round_down(left['epsilon'], 4)} at δ = {format_exact(left['delta'])}, "
            "because releases add up in μ², not in ε."
        )
    if again:
        count = f" This key's release was stored before: nothing was charged now.{count}"
    worth = "".join(map(_describe_worth, facts.get("groups", [facts])))
    return f"\nReleased to {', '.join(map(str, paths))}; everything from here on is free.{count}{worth}"
