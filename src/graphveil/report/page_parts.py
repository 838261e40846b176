"""Parts shared by the pages of one release and of several groups."""

import base64
import hashlib
from collections.abc import Mapping
from datetime import date
from html import escape
from importlib.resources import files

from graphveil.recovery.edge_intervals import EdgeIntervals
from graphveil.recovery.estimate import Estimate
from graphveil.released.release import Release
from graphveil.report.privacy_card import PrivacyCard

__all__ = ["asset", "policy", "render_card", "render_numbers", "render_page"]


def asset(name: str) -> str:
    """The text of a file beside this one."""
    return files("graphveil.report").joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """Nothing but this very script and style may run, and nothing may be loaded."""

    def stamp(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return (
        f"default-src 'none'; script-src {stamp(script)}; style-src {stamp(style)}; base-uri 'none'; form-action 'none'"
    )


def render_page(
    body: str, title: str, card: PrivacyCard, versions: Mapping[str, str], parts: dict[str, str], script: str = ""
) -> str:
    """A page: what all of them begin with, and the template ``body`` below it, with their marks replaced."""
    style = asset("page.css")
    common = {
        "policy": policy(style, script),
        "style": style,
        "script": script,
        "title": escape(title),
        "date": f"{date.today():%-d %B %Y}",
        "verdict": _render_verdict(card),
        "versions": escape(", ".join(f"{name} {version}" for name, version in sorted(versions.items()))),
    }
    page = asset("head.html") + asset(body)
    for name, text in (common | parts).items():  # no text can hold a mark: every "<" of a name is escaped
        page = page.replace(f"<!--{name}-->", text)
    return page


def _render_verdict(card: PrivacyCard) -> str:
    """The one sentence."""
    state, verdict = ("private", "Private under the conditions below.") if card.private else ("open", "Not private.")
    return f'<strong class="{state}">{verdict}</strong> {escape(card.headline)}'


def render_card(card: PrivacyCard) -> str:
    """The facts of the privacy card."""
    facts = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in card.facts)
    return f'<dl class="facts">{facts}</dl>'


def render_numbers(release: Release, found: Estimate, intervals: EdgeIntervals, seen: str) -> str:
    """The accuracy of a release as tiles of one number each; ``seen`` is the number of edges."""
    lost = int(found.undetermined.sum())
    drowned = f", except for {lost} {'column' if lost == 1 else 'columns'} hidden by the noise" if lost else ""
    smallest = intervals.smallest_edge
    tiles = [
        (f"{release.n_samples:,}", release.event.counted),
        (f"{len(release.variables):,}", "variables"),
        (f"{found.n_eff:,.0f}", f"noise-free records with as much information (n_eff){drowned}"),
        (seen, "edges that are unlikely to be noise"),
        ("none" if smallest is None else f"{smallest:.2g}", "partial correlation detected 4 times out of 5"),
    ]
    return "".join(f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in tiles)
