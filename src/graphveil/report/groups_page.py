"""The page of several groups: their numbers, their networks on one layout, their differences. It has no script."""

import warnings
from html import escape
from itertools import combinations

import numpy as np

from graphveil._graph_layout import Layout
from graphveil._network_plot import Panel, common_layout, draw_panel
from graphveil._typing import Matrix
from graphveil.exceptions import PrivacyWarning
from graphveil.inference.comparison import Comparison, Side, compare_sides
from graphveil.inference.differences import Differences
from graphveil.released.grouped import GroupedRelease
from graphveil.released.release import Release
from graphveil.report.page_parts import render_card, render_numbers, render_page
from graphveil.report.privacy_card import privacy_card
from graphveil.report.report_data import FDR, LEVEL, collect_notes

__all__ = ["groups_html"]

_WIDTH = 500  # pixels of a network
_MOST_ROWS = 40  # differences of two groups, the surest first: what follows is in `graphveil compare -o`


def groups_html(groups: GroupedRelease, title: str | None = None) -> str:
    """The text of the report of several groups."""
    column = groups.event.grouping.column
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the notes say it
        sides = [Side.of(release, str(level), LEVEL) for level, release in groups.items()]
    networks = [side.network(FDR) for side in sides]
    panels = [side.panel(network) for side, network in zip(sides, networks, strict=True)]
    release, card = groups.parts[0], privacy_card(groups)
    names = release.variable_labels
    overlap = groups.event.groups_per_person > 1
    pairs = [compare_sides(a, b, fdr=FDR, overlap=overlap) for a, b in combinations(sides, 2)]
    differences = [pair.panels[2] for pair in pairs if pair.networks is not None]
    layout = common_layout(names, [*panels, *differences], _WIDTH)
    parts = {
        "skip": "networks",
        "card": render_card(card),
        "numbers": "".join(map(_render_group, groups.event.groups, sides, networks)),
        "networks": "".join(
            _render_network(names, panel, layout, side.edges.reason) for side, panel in zip(sides, panels, strict=True)
        ),
        "joint": "" if len(release.columns or ()) > len(names) else "hidden",
        "differences": "".join(_render_pair(release, pair, layout, unfolded=pair is pairs[0]) for pair in pairs),
    }
    title = title or f"Private networks of {len(names)} variables, by {column}"
    return render_page("groups.html", title, card, release.versions, parts)


def _render_group(name: str, side: Side, network: Matrix) -> str:
    seen = "none" if side.edges.reason is not None else f"{np.count_nonzero(np.triu(network)):,}"
    tiles = render_numbers(side.release, side.estimate, side.edges, seen)
    notes = collect_notes(side.release, side.estimate, side.edges)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    below = f"<details><summary>Before you read on ({len(notes)})</summary><ul>{said}</ul></details>" if notes else ""
    return f'<section class="strip"><h2>{escape(name)}</h2><div class="tiles">{tiles}</div>{below}</section>'


def _render_network(names: tuple[str, ...], panel: Panel, layout: Layout, reason: str | None = None) -> str:
    count = len(panel.edges())
    said = f"{panel.title}: {count} {'edge' if count == 1 else 'edges'}" if reason is None else reason
    drawn = draw_panel(names, panel, layout)
    below = "" if reason is None else f"<p>{escape(reason)}</p>"
    return (
        f'<figure><h3>{escape(panel.title)}</h3><svg class="still" viewBox="0 0 {_WIDTH} {layout.height:.0f}" '
        'role="img">'
        f"<title>{escape(said)}</title>{drawn}</svg>{below}</figure>"
    )


def _render_pair(release: Release, pair: Comparison, layout: Layout, *, unfolded: bool) -> str:
    counts = [(int(pair.differ(kind).sum()), kind) for kind in pair.kinds]
    said = ", ".join(f"{count} of {len(kind.labels)} {kind.what}s" for count, kind in counts)
    drawn = "" if pair.networks is None else _render_network(release.variable_labels, pair.panels[2], layout)
    why = "" if pair.missing is None else f"<p>{escape(pair.missing)}</p>"
    return (
        f'<details class="pair-of-groups"{" open" if unfolded else ""}><summary>{escape(pair.names[1])} compared with '
        f"{escape(pair.names[0])}: {said} differ</summary>{why}"
        f'<div class="panels">{drawn}<div>{_render_differences(release, pair)}</div></div></details>'
    )


def _render_differences(release: Release, pair: Comparison) -> str:
    found = [(kind, int(k)) for kind in pair.kinds for k in np.flatnonzero(pair.differ(kind))]
    if not found:
        return "<p>No difference was found.</p>"
    found.sort(key=lambda item: float(item[0].p_value[item[1]]))
    rows = "".join(_render_difference(release, kind, k) for kind, k in found[:_MOST_ROWS])
    left = len(found) - _MOST_ROWS
    more = f"<p>And {left:,} more: <code>graphveil compare</code> lists all.</p>" if left > 0 else ""
    heads = "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in (*pair.names, "Difference"))
    return (
        f'<div class="scroll"><table class="plain differences"><caption class="unseen">{escape(pair.names[1])} minus '
        f'{escape(pair.names[0])}</caption><thead><tr><th scope="col">What</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}"
    )


def _render_difference(release: Release, kind: Differences, k: int) -> str:
    what = f'<th scope="row"><small>{escape(kind.what)}</small> {escape(_label(release, kind, k))}</th>'
    if np.isnan(kind.difference[k]) and kind.levels is not None:  # a category: what its levels differ by follows
        together = f"{kind.df[k]} levels together, p = {kind.p_value[k]:.2g}"
        own = [_render_difference(release, kind.levels, j) for j in kind.levels_of(k)]
        return f'<tr>{what}<td class="number" colspan="3"><small>{together}</small></td></tr>{"".join(own)}'
    interval = f"{_number(kind.lower[k], '+.2g')} to {_number(kind.upper[k], '+.2g')}"
    return (
        f'<tr>{what}<td class="number">{_number(kind.first[k])}</td><td class="number">{_number(kind.second[k])}</td>'
        f'<td class="number">{_number(kind.difference[k], "+.2g")} <small>{interval}</small></td></tr>'
    )


def _label(release: Release, kind: Differences, k: int) -> str:
    """The label of a variable or a level, or of two."""
    known = dict(zip(release.variables, release.variable_labels, strict=True))
    known |= zip(release.column_names, release.column_labels, strict=True)
    name = kind.labels[k]
    if name in known:
        return known[name]
    pairs = ((one, name.removeprefix(f"{one} — ")) for one in known if name.startswith(f"{one} — "))
    return next(f"{known[one]} — {known[other]}" for one, other in pairs if other in known)


def _number(number: float, form: str = ".3g") -> str:
    return format(number, form).replace("-", "\N{MINUS SIGN}")
