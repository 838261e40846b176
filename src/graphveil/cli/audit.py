"""`graphveil audit`: attack the guarantee on this machine."""

from typing import Annotated

import typer

from graphveil.cli._arguments import AsJson, Number, WholeNumber
from graphveil.cli._errors import command
from graphveil.cli._exit_codes import BROKEN
from graphveil.cli._output import echo, emit, progress_bar

__all__ = ["audit"]


@command
def audit(
    epsilon: Annotated[float, Number(help="ε to attack; large ones need fewer runs.")] = 4.0,
    delta: Annotated[float, Number(help="δ to attack.")] = 1e-6,
    pair: Annotated[
        str, typer.Option(help="Which neighbouring data sets to distinguish; see gv.audit.")
    ] = "orthogonal",
    runs: Annotated[int, WholeNumber(help="Releases of each of the two data sets.")] = 2000,
    as_json: AsJson = False,
) -> None:
    """Attack the installed code with simulated records; exit code 4 if the guarantee is broken.

    Example: graphveil audit --epsilon 4 --runs 2000
    """
    from graphveil.auditing.run import audit as play
    from graphveil.spec.budget import Budget
    from graphveil.spec.rounding import format_round_down, format_round_up

    with progress_bar("Releasing neighbours and guessing which is which", as_json):
        found = play(Budget(epsilon, delta), pair=pair, runs=runs)
    facts = {
        "pair": found.pair,
        "epsilon": epsilon,
        "delta": delta,
        "claimed_mu": found.claimed_mu,
        "shown_mu": found.mu_low,
        "largest_mu": found.largest_mu,
        "confidence": found.confidence,
        "attack": found.attack,
        "runs": found.runs,
        "broken": found.broken,
    }
    claimed, shown = format_round_up(found.claimed_mu, 4), format_round_down(found.mu_low, 4)
    said = (
        f"Claimed: μ = {claimed}. Shown by the best attack ({found.attack}, {runs:,} runs per side): "
        f"μ ≥ {shown}, {100 * found.confidence:g}% sure.\nVerdict: {found.verdict}."
    )
    emit(as_json, facts, lambda out: echo(out, said), kept=found.broken)  # the exit code then reports it
    if found.broken:
        raise typer.Exit(BROKEN)
