"""`graphveil release`: the verb that sees your records and spends (`demo` does so with records of its own)."""

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphveil.cli.bounds import read_domain
from graphveil.cli.ledger import LedgerUrl, default_ledger
from graphveil.cli.show import say_card
from graphveil.cli.speaking import AsJson, Refusal, answer, console, counting, say, verb, writable
from graphveil.exceptions import LedgerWarning

if TYPE_CHECKING:
    from graphveil.spec.released import Release

__all__ = ["release"]


@verb
def release(
    data: Annotated[str, typer.Argument(help="The records: Parquet, CSV or Arrow; a file, directory, pattern or URI.")],
    epsilon: Annotated[float, typer.Option(help="ε to spend.")],
    delta: Annotated[float, typer.Option(help="δ to spend; well below one over the number of records.")],
    bounds: Annotated[Path, typer.Option(help="What each column can be; see `graphveil bounds template`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The release file to write.")],
    dataset: Annotated[
        str | None, typer.Option(help="The name under which the ledger counts these people's records.")
    ] = None,
    ledger: LedgerUrl = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Count nothing: you keep count of all releases of these records.")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="A name for this release: run again after a crash, it is charged once.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish the noisy moments of records: runs where the records are, and spends.

    Example: graphveil release patients.parquet --epsilon 1 --delta 1e-6 --bounds bounds.toml --dataset patients-2026
    --ledger ledger.db -o patients.release
    """
    from graphveil.gate import release as make
    from graphveil.spec.budget import Budget

    charged: dict[str, Any] = {}
    if no_ledger and (ledger or dataset or key):
        raise Refusal("--no-ledger goes with none of --ledger, --dataset and --key.")
    if not no_ledger:
        if dataset is None:
            raise Refusal(
                "--dataset is missing: under which name is this release counted? (--no-ledger counts nothing.)"
            )
        from graphveil.privacy.ledger.book import Ledger

        charged = {"ledger": Ledger(ledger or default_ledger()), "dataset": dataset, "key": key}
    domain, budget = read_domain(bounds), Budget(epsilon, delta)
    if writable(output).exists() and key is None:
        raise Refusal(f"{output} exists already, and a release that was paid for is not overwritten. Choose another.")
    with counting("Reading records", as_json) as count:
        made = make(
            data,
            domain=domain,
            budget=budget,
            progress=lambda rows: count(rows, None),
            **charged,
        )
    output = _saved(made, output)
    facts: dict[str, Any] = {"release": str(output), "guarantee": made.guarantee, "checksum": made.checksum}
    if charged:
        left = charged["ledger"].remaining(dataset)
        facts["remaining"] = {"epsilon": left.epsilon, "delta": left.delta}
    if not as_json:
        say_card(console(), made)
    answer(as_json, facts, lambda out: say(out, _said(facts)))


def _saved(made: "Release", output: Path) -> Path:
    """Where the release was written: it is paid for, so a full disk must not lose it."""
    try:
        made.save(output)
    except OSError as error:
        refuge = Path(tempfile.gettempdir()) / f"graphveil-{made.checksum[:16]}.release"
        made.save(refuge)
        warnings.warn(
            f"{output} could not be written ({error.strerror}); the release is in {refuge}.",
            LedgerWarning,
            stacklevel=2,
        )
        return refuge
    return output


def _said(facts: dict[str, Any]) -> str:
    from graphveil.spec.rounding import written_down

    left = facts.get("remaining")
    count = (
        "Not counted in any ledger."
        if left is None
        else (f"Left in the ledger: ε = {written_down(left['epsilon'], 4)} at δ = {left['delta']:.4g}.")
    )
    return f"\nReleased to {facts['release']}; everything from here on is free. {count}"
