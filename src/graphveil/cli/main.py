"""The list of verbs."""

from typing import Annotated

import typer

from graphveil.cli.audit import audit
from graphveil.cli.bounds import bounds
from graphveil.cli.demo import demo
from graphveil.cli.fit import fit
from graphveil.cli.ledger import ledger
from graphveil.cli.plan import plan
from graphveil.cli.release import release
from graphveil.cli.report import report
from graphveil.cli.show import show

__all__ = ["app", "run"]

_EPILOG = (
    "Exit codes: 0 done; 1 refused, the sentence says why; 2 wrong usage; 3 no budget left; 4 an audit or a check of a "
    "ledger failed; 70 a bug."
)

app = typer.Typer(
    name="graphveil",
    help="Publish the network of sensitive records under differential privacy.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in (demo, plan, release, show, fit, report, audit):
    app.command()(function)
app.add_typer(bounds, name="bounds")
app.add_typer(ledger, name="ledger")


def _version(wanted: bool) -> None:
    if wanted:
        import graphveil

        print(f"graphveil {graphveil.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Entry point of the program."""
    app()
