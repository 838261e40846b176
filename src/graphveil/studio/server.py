"""The studio's web server: one page for one person on this computer.

It listens on 127.0.0.1 alone, on a port of its own, and answers nobody who does not know the random token in the
address. A page of another site can make a browser send requests here, so every request must name this very host, and
must not come from another origin; no cookie is set, and nothing is allowed to be loaded from elsewhere. Who is refused
gets a status and nothing else.
"""

import json
import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any

from graphveil.exceptions import GraphveilError
from graphveil.studio.session import Session

__all__ = ["StudioServer"]

_ADDRESS = "127.0.0.1"
_LARGEST_BODY = 2**22  # bytes: a codebook of thousands of columns
_SILENCE_SECONDS = 60.0  # of a connection, before it is closed
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ASSETS = {
    "": ("graphveil.studio", "page.html", "text/html"),
    "page.js": ("graphveil.studio", "page.js", "text/javascript"),
    "page.css": ("graphveil.studio", "page.css", "text/css"),
    "report.css": ("graphveil.report", "page.css", "text/css"),
}
_REPORT = re.compile(r"report-([0-9a-f]{64})")  # by the checksum of its release
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class StudioServer(ThreadingHTTPServer):
    """Serves a session.

    Parameters
    ----------
    session : Session
        What the page asks.
    """

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, session: Session) -> None:
        self.session, self.token = session, secrets.token_urlsafe(24)
        self._answering, self._idle = 0, threading.Condition()
        super().__init__((_ADDRESS, 0), _Handler)
        self.host = f"{_ADDRESS}:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Without the look-up of a host name that the standard library makes here: it may ask the network."""
        TCPServer.server_bind(self)

    @property
    def url(self) -> str:
        """Where the page is; whoever knows it can do what the page can."""
        return f"http://{self.host}/{self.token}/"

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While an answer is made."""
        with self._idle:
            self._answering += 1
        try:
            yield
        finally:
            with self._idle:
                self._answering -= 1
                self._idle.notify_all()

    def wait(self) -> None:
        """Until no answer is being made: a program that ends while a thread loads compiled code may crash."""
        with self._idle:
            self._idle.wait_for(lambda: self._answering == 0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a traceback may show anything."""


class _Handler(BaseHTTPRequestHandler):
    server: StudioServer
    protocol_version = "HTTP/1.1"
    timeout = _SILENCE_SECONDS

    def version_string(self) -> str:
        """Nobody needs to know which Python this is."""
        return "graphveil"

    def log_message(self, *_: Any) -> None:
        """Nothing is logged: addresses hold the token."""

    def send_error(self, code: int, *_: Any) -> None:
        """A status without a page."""
        self.close_connection = True
        self._send(HTTPStatus(code), b"", "text/plain")

    def do_GET(self) -> None:
        """Send a file of the page, what is known, or the report."""
        name = self._wanted()
        if name in _ASSETS:
            package, file, kind = _ASSETS[name]
            self._send(HTTPStatus.OK, files(package).joinpath(file).read_bytes(), kind)
        elif name is not None and _REPORT.fullmatch(name):
            self._answer(self.server.session.report_html, {"which": name.partition("-")[2]}, "text/html")
        elif name in self.server.session.shown:
            self._answer(self.server.session.shown[name], {})
        elif name is not None:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Do what the page asks."""
        name = self._wanted()
        if name is None:
            return
        length = self.headers.get("Content-Length", "")
        plain = self.headers.get("Content-Type", "") == "application/json"
        if name not in self.server.session.asked or not plain or self.headers.get("Origin") != self._origin:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif not length.isascii() or not length.isdigit() or int(length) > _LARGEST_BODY:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._act(name, self.rfile.read(int(length)))

    def _act(self, name: str, body: bytes) -> None:
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, dict) and all(isinstance(content.get(name, {}), dict) for name in ("draft", "window")):
            self._answer(self.server.session.asked[name], content)
        else:
            self.send_error(HTTPStatus.BAD_REQUEST)

    @property
    def _origin(self) -> str:
        return f"http://{self.server.host}"

    def _wanted(self) -> str | None:
        """What of the page is asked for; None where the request was refused."""
        named = self.headers.get_all("Host") == [self.server.host]
        token, slash, name = self.path.removeprefix("/").partition("/")
        own = self.headers.get("Origin") in (None, self._origin) and (
            self.headers.get("Sec-Fetch-Site") in (None, "none", "same-origin") or self._opens_page(name)
        )
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not (named and own and known and slash):
            self.send_error(HTTPStatus.FORBIDDEN if known else HTTPStatus.NOT_FOUND)
            return None
        return name

    def _opens_page(self, name: str) -> bool:
        """Whether a browser goes to the page from elsewhere, in a window of its own: by a link with the token in it."""
        return name == "" and self.command == "GET" and self.headers.get("Sec-Fetch-Dest") == "document"

    def _answer(self, action: Any, content: Mapping[str, Any], kind: str = "application/json") -> None:
        """Send what an action returns, or a sentence about what went wrong."""
        status = HTTPStatus.OK
        try:
            with self.server.answering():
                result = action(**content)
        except (GraphveilError, TypeError, OSError) as error:
            status, result, kind = HTTPStatus.BAD_REQUEST, {"error": _explain(error)}, "application/json"
        except Exception as error:
            # The message of an unknown error may hold anything, data too: only its kind is shown.
            message = f"This is a bug in graphveil ({type(error).__name__}). Please report what you did."
            status, result, kind = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": message}, "application/json"
        text = result if isinstance(result, str) else json.dumps(result, allow_nan=False)
        self._send(status, text.encode(), kind)

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        # A report has a policy of its own inside, by the hash of its script.
        framed = "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        self.send_header(
            "Content-Security-Policy", framed if _REPORT.fullmatch(self.path.rpartition("/")[2]) else _POLICY
        )
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _explain(error: Exception) -> str:
    if isinstance(error, TypeError):
        return "The page asked for something that this version of graphveil does not know. Load it again."
    if isinstance(error, OSError):
        return f"{error.strerror or 'Input or output failed'}."
    return str(error)
