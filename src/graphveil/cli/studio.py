"""`graphveil studio`: from a table to a report in a local browser."""

import os
import signal
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphveil.cli._arguments import AsJson
from graphveil.cli._errors import CliError, command
from graphveil.cli._output import echo, emit, note
from graphveil.cli.ledger import LedgerUrl

if TYPE_CHECKING:
    from graphveil.studio.session import Session

__all__ = ["studio"]

_RELEASE = b"graphveil-release "  # how a release file begins


@command
def studio(
    data: Annotated[
        list[str] | None,
        typer.Argument(help="The records, as for `graphveil release`; or releases to show and compare."),
    ] = None,
    ledger: LedgerUrl = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use a bundled public survey.")] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Choose columns and a budget, release, and read the report in a browser. Accessible from this computer only.

    Example: graphveil studio patients.parquet --ledger ledger.db
    """
    from graphveil.studio.server import StudioServer

    data = data or []
    if demo and (data or ledger is not None):
        raise CliError("--demo uses its own records and ledger. Omit the others.")
    with ExitStack() as stack:
        server = stack.enter_context(StudioServer(_open_session(data, ledger, demo, stack)))
        said = f"The studio is open: {server.url}\nTreat this address as a password. Ctrl-C closes the studio."
        emit(as_json, {"url": server.url}, lambda out: echo(out, said))
        if browser:
            _open_browser(server.url, stack)
        _end_with_the_terminal()
        with suppress(KeyboardInterrupt):  # the way to close it
            server.serve_forever(poll_interval=0.1)
        if server.session.is_releasing:
            note("A release is in progress and is finished first. Pressing Ctrl-C again loses the charged release.")
            server.session.wait()
        server.wait()


def _end_with_the_terminal() -> None:
    """As Ctrl-C does: what was charged is finished first."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) == signal.SIG_DFL:
        signal.signal(hangup, signal.default_int_handler)


def _open_session(data: list[str], ledger: str | None, demo: bool, stack: ExitStack) -> "Session":
    """A session for a table, for releases, or for nothing yet. Heavy parts load when the page needs them."""
    from graphveil.studio.session import Session

    if demo:
        from graphveil.studio.demo import demo_session

        return demo_session(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphveil-demo-"))))
    found = ledger or os.environ.get("GRAPHVEIL_LEDGER") or "ledger.db"
    if data and all(map(_is_release, data)):
        return Session(found, releases=data)
    if len(data) > 1:
        raise CliError("Several files must all be releases. For records, name one file, a folder or a pattern.")
    if data and not _may_be_there(data[0]):
        raise CliError(f"{data[0]} does not exist.")
    return Session(found, *data)


def _may_be_there(data: str) -> bool:
    """Whether a path exists; patterns and URIs are checked by the page."""
    return "://" in data or any(sign in data for sign in "*?[") or os.path.exists(os.path.expanduser(data))


def _is_release(data: str) -> bool:
    with suppress(OSError, ValueError), open(os.path.expanduser(data), "rb") as file:
        return file.read(len(_RELEASE)) == _RELEASE
    return False


def _open_browser(url: str, stack: ExitStack) -> None:
    """By a file that only this user can read: what a program is started with, all users of a computer can see."""
    import webbrowser

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphveil-studio-")))
    page = folder / "studio.html"
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={url}">', encoding="utf-8")
    with suppress(Exception):  # there may be none; the address is in the terminal
        webbrowser.open(page.as_uri())
