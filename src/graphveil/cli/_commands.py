"""The list of commands, and how they are called."""

import os
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from graphveil.cli._errors import explain_failure
from graphveil.cli._exit_codes import DONE, USAGE
from graphveil.cli._output import echo, emit, open_streams, refuse
from graphveil.cli.audit import audit
from graphveil.cli.bounds import bounds
from graphveil.cli.codebook import codebook
from graphveil.cli.compare import compare
from graphveil.cli.components import components
from graphveil.cli.demo import demo
from graphveil.cli.fit import fit
from graphveil.cli.ledger import ledger
from graphveil.cli.plan import plan
from graphveil.cli.regress import regress
from graphveil.cli.release import release
from graphveil.cli.report import report
from graphveil.cli.sample import sample
from graphveil.cli.show import show
from graphveil.cli.studio import studio

__all__ = ["app", "call"]

_EPILOG = (
    "Exit codes: 0 done; 1 refused, 2 wrong usage, 3 no budget left, 4 an audit or a ledger check failed: nothing was "
    "charged, and running it again gives the same result; 5 released, but saved elsewhere; 6 charged and lost; 70 a "
    "bug; 75 the ledger, the storage or the network is unavailable, try again later; 130, 143 interrupted."
)

_ONE_SOURCE = " Several files are one source: give their folder, or a pattern in quotes, such as 'visits/*.parquet'."

app = typer.Typer(
    name="graphveil",
    help="Publish the network of sensitive records under differential privacy.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in (demo, plan, release, show, fit, regress, components, compare, sample, report, audit, studio):
    app.command()(function)
app.add_typer(bounds, name="bounds")
app.add_typer(codebook, name="codebook")
app.add_typer(ledger, name="ledger")


def _version(wanted: bool) -> None:
    if wanted:
        import graphveil

        emit(False, {}, lambda out: echo(out, f"graphveil {graphveil.__version__}"))
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


_command_of = cache(typer.main.get_command)  # which reads all signatures; a process may call more than once


def call(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code, whatever happens."""
    open_streams()
    command = _command_of(app)
    if "_GRAPHVEIL_COMPLETE" in os.environ:
        command.main(prog_name="graphveil")
    try:
        # Not `main`, which makes an exit code of its own of an interruption, and says nothing.
        with command.make_context("graphveil", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except SystemExit:  # the reader of the help has gone
        return DONE
    except BaseException as error:
        return _explain_refusal(error, as_json="--json" in arguments)
    return DONE


def _explain_refusal(error: Any, *, as_json: bool) -> int:
    """Say what went wrong before a command began: mostly a mistake in how it was called."""
    if not hasattr(error, "format_message"):
        return refuse(as_json, *explain_failure(error))
    said, context = error.format_message(), getattr(error, "ctx", None)
    if not said:  # no command was given, and the help has been shown
        return USAGE
    path = context.command_path if context is not None else "graphveil"
    hint = _ONE_SOURCE if "unexpected extra argument" in said and _reads_records(context) else ""
    return refuse(as_json, "UsageError", f"{said.rstrip('.')}.{hint} See `{path} --help`.", USAGE)


def _reads_records(context: Any) -> bool:
    return context is not None and any(parameter.name == "data" for parameter in context.command.params)
