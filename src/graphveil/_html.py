"""Text inside HTML and XML, and a short table for notebooks."""

import re
from collections.abc import Iterable
from html import escape

__all__ = ["facts_html", "xml_text"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 120


def facts_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """HTML of a heading and rows of (what, text); everything is escaped, and what is long is cut."""

    def cell(text: str) -> str:
        return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")

    rows = "".join(f"<tr><th>{cell(what)}</th><td>{cell(text)}</td></tr>" for what, text in facts)
    return f"<table><caption>{cell(title)}</caption><tbody>{rows}</tbody></table>"


def xml_text(text: str) -> str:
    """Escaped; what XML cannot say at all (control characters) is replaced."""
    return escape(_NOT_XML.sub("\ufffd", text))
