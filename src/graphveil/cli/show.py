"""`graphveil show`: the privacy card on a terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli._arguments import AsJson, require_file
from graphveil.cli._errors import command
from graphveil.cli._output import echo, emit, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from graphveil.released.grouped import GroupedRelease
    from graphveil.released.release import Release

__all__ = ["say_card", "show"]


@command
def show(
    release: Annotated[Path, typer.Argument(help="A file that `graphveil release` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Show the privacy card of a release: what it guarantees. Free, and needs no records.

    Of a file with several groups (`graphveil release --by`): what all of them together promise.

    Example: graphveil show patients.release
    """
    from graphveil.released.grouped import read_any_release
    from graphveil.released.release import read_content

    found = read_any_release(read_content(require_file(release)), str(release))
    emit(as_json, _facts(found), lambda console: say_card(console, found))


def _facts(release: "Release | GroupedRelease") -> dict[str, Any]:
    from graphveil.released.release import Release
    from graphveil.report.privacy_card import max_guess_accuracy

    event = release.event
    parts = (release,) if isinstance(release, Release) else release.parts
    sizes = [_sizes(part) for part in parts]
    if not isinstance(release, Release):
        sizes = [{"groups": [{"group": name} | own for name, own in zip(event.groups, sizes, strict=True)]}]
    promised, added = max_guess_accuracy(event)
    return {
        "guarantee": release.guarantee,
        "epsilon": event.budget.epsilon,
        "delta": event.budget.delta,
        "keeps_budget": event.keeps_budget,
        "mu": None if event.seeded else event.mu,
        "eta": event.eta,
        "seeded": event.seeded,
        "neighbours": event.neighbours,
        "rows_per_person": event.rows_per_person,
        **sizes[0],
        "columns": list(parts[0].column_names),
        "mechanism": event.mechanism,
        "rounds": event.rounds,
        "max_guess_accuracy": {"promised": promised, "with_this_noise": added},
        "versions": parts[0].versions,
        "checksum": release.checksum,
    }


def _sizes(release: "Release") -> dict[str, Any]:
    """The number of people or records, with noise if it is secret, and their total weight."""
    weights = {"total_weight": release.total_weight, "n_kish": release.n_kish}
    return {release.event.counted: release.n_samples} | ({} if release.total_weight is None else weights)


def say_card(console: "Console", release: "Release | GroupedRelease", below: str | None = None) -> None:
    """Print the card, and what else there is to say."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from graphveil.report.privacy_card import privacy_card

    card = privacy_card(release)
    colour = "green" if card.private else "red"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for term, text in card.facts:
        table.add_row(Text(term), Text(one_line(text)))
    verdict = "Private under the conditions below." if card.private else "NOT private."
    console.print(Panel(Text(one_line(f"{verdict} {card.headline}")), border_style=colour, title="Privacy card"), table)
    if below is not None:
        echo(console, below)
