"""`graphveil ledger`: what was spent, and what is left."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, Number, read_text, require_writable
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, one_line

if TYPE_CHECKING:
    from graphveil.ledger.ledger import Ledger

__all__ = ["LedgerUrl", "ledger", "open_ledger"]

_EXPORT = re.compile(rb'\{\n "ledger": ')

LedgerUrl = Annotated[
    str | None,
    typer.Option(help="A file or postgresql://…; default: $GRAPHVEIL_LEDGER, or ledger.db in the current folder."),
]
_Dataset = Annotated[str, typer.Argument(help="The name of a data set.")]

ledger = typer.Typer(no_args_is_help=True, help="What was spent on each data set, and what is left.")


def open_ledger(url: str | None) -> "Ledger":
    """The ledger that was named, or the default one."""
    if url is not None and not url.strip():
        raise CliError("--ledger is empty. Name a file or a database, or omit it to use ledger.db in this folder.")
    from graphveil.ledger.ledger import Ledger

    named = os.path.expanduser(url or os.environ.get("GRAPHVEIL_LEDGER") or "ledger.db")
    if os.path.exists(named) and not os.path.isfile(named):
        raise CliError(f"The ledger {named} is a folder or a device; it must be a file, or postgresql://… .")
    return Ledger(named)


@ledger.command()
@command
def create(
    dataset: Annotated[str, typer.Argument(help="A name for these people's records, whichever file they come from.")],
    epsilon: Annotated[float, Number(help="Total ε that may ever be spent.")],
    delta: Annotated[float, Number(help="Total δ that may ever be spent.")],
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create an account for a data set, with its total privacy budget.

    Example: graphveil ledger create patients-2026 --epsilon 3 --delta 1e-6 --ledger ledger.db
    """
    from graphveil.spec.budget import Budget
    from graphveil.spec.rounding import format_exact

    open_ledger(ledger).create(dataset, Budget(epsilon, delta))
    facts = {"dataset": dataset, "epsilon": epsilon, "delta": delta}
    said = f"{dataset} may spend (ε, δ) = ({format_exact(epsilon)}, {format_exact(delta)}) in total."
    emit(as_json, facts, lambda out: echo(out, said), kept=True)


@ledger.command()
@command
def show(
    dataset: Annotated[str | None, typer.Argument(help="One data set; by default, all.")] = None,
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show what was spent and what is left.

    Example: graphveil ledger show --ledger ledger.db
    """
    book = open_ledger(ledger)
    names = book.datasets() if dataset is None else (dataset,)
    rows = [_balance(book, name) for name in names]

    def speak(console: Any) -> None:
        from rich.table import Table
        from rich.text import Text

        from graphveil.spec.rounding import format_exact, format_round_down, format_round_up

        table = Table("data set", "total ε", "spent", "left", "at δ", "releases", "noise hides")
        for row in rows:
            spent = "all (a seeded release)" if row["spent"] is None else format_round_up(row["spent"], 4)
            cells = (
                row["dataset"],
                format_exact(row["epsilon"]),
                spent,
                format_round_down(row["left"], 4),
                format_exact(row["delta"]),
                str(row["releases"]),
                row["noise_hides"] or "",
            )
            table.add_row(*(Text(one_line(cell)) for cell in cells))
        console.print(table if rows else "No data set yet: graphveil ledger create NAME --epsilon … --delta …")
        if rows:
            console.print("Releases add up in μ², not in ε, so more is left than the total minus what was spent.")

    emit(as_json, {"datasets": rows}, speak)


def _balance(book: "Ledger", name: str) -> dict[str, Any]:
    import math

    budget, spent, left = book.budget(name), book.spent(name), book.remaining(name)
    charges = [entry.event for entry in book.history(name)]
    # What does not add up was refused, so charges differ in their groups and in how many records a person may have: all
    # together hide no more than the one that hides least, and concern people with the most records.
    widest = max(charges, key=lambda event: (bool(event.groups), event.rows_per_person), default=None)
    return {
        "dataset": name,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "spent": spent.epsilon if math.isfinite(spent.epsilon) else None,
        "left": left.epsilon,
        "releases": len(charges),
        "noise_hides": None if widest is None else widest.change,
    }


@ledger.command()
@command
def history(dataset: _Dataset, ledger: LedgerUrl = None, as_json: AsJson = False) -> None:
    """List every charge of a data set.

    Example: graphveil ledger history patients-2026 --ledger ledger.db
    """
    lines = open_ledger(ledger).history(dataset)
    facts = {"dataset": dataset, "charges": [entry.to_dict() for entry in lines]}
    emit(as_json, facts, lambda out: echo(out, str(lines)))


@ledger.command()
@command
def verify(
    heads: Annotated[
        Path | None, typer.Option(help="The output of an earlier `verify --json`, kept elsewhere.")
    ] = None,
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check that nothing in the ledger was changed or lost; exit code 4 if it was.

    Example: graphveil ledger verify --ledger ledger.db
    """
    kept = None if heads is None else _read_heads(heads)
    now = open_ledger(ledger).verify(kept)
    said = f"{len(now)} data set{'' if len(now) == 1 else 's'}: every line, sum and stored release is intact."
    emit(as_json, {"heads": now}, lambda out: echo(out, said))


def _read_heads(path: Path) -> dict[str, str]:
    import json

    try:
        heads = json.loads(read_text(path))["heads"]
        return {str(name): str(head) for name, head in heads.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CliError(f"{path} is not the output of `graphveil ledger verify --json`.") from None


@ledger.command()
@command
def export(
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")],
    ledger: LedgerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole ledger as JSON, for an auditor.

    Example: graphveil ledger export --ledger ledger.db -o ledger.json
    """
    import json

    from graphveil._files import write_file

    output = require_writable(output, _EXPORT)
    content = open_ledger(ledger).export()
    write_file(output, json.dumps(content, ensure_ascii=False, indent=1).encode(), _EXPORT)
    facts = {"export": str(output), "datasets": len(content["datasets"])}
    emit(as_json, facts, lambda out: echo(out, f"Written: {output}"), kept=True)
