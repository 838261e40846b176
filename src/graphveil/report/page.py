"""The page: one HTML file with its style, its script and its numbers inside, and no way to reach the network."""

import base64
import json
import os
import re
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil._files import write_file
from graphveil._graph_layout import lay_out
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.recovery.associations import association_strengths
from graphveil.released.grouped import GroupedRelease, require_release
from graphveil.released.release import Release
from graphveil.report.charts import error_charts, interval_chart, spectrum_chart
from graphveil.report.findings import describe_findings
from graphveil.report.groups_page import groups_html
from graphveil.report.page_parts import asset, policy, render_card, render_numbers, render_page
from graphveil.report.privacy_card import privacy_card
from graphveil.report.report_data import Content, collect_report_data
from graphveil.spec.forecast import Forecast
from graphveil.spec.rounding import format_exact

__all__ = ["PAGE", "forecast_html", "report_html", "write_report"]

PAGE = re.compile(rb"<!doctype html>\n<!-- graphveil -->")  # how a page of ours begins, which another may replace

_MOST_CENTRAL = 30  # variables of a chart
_FIRST_EDGES, _MOST_FIRST_EDGES = 24, 80  # drawn first, however few variables or many; in between 0.8 of them
_MOST_NARROW = 24  # variables with edges that a narrow screen has room for
_UNITS = 10_000  # partial correlations are stored as integers in this unit: Int16, four digits
_NONE = -32_768  # stands for a number that is not given


def write_report(
    release: Release | GroupedRelease,
    path: "str | os.PathLike[str]",
    forecast: Forecast | None = None,
    *,
    title: str | None = None,
) -> None:
    """Write a report of a release as one HTML file that opens anywhere and loads nothing.

    Parameters
    ----------
    release : Release or GroupedRelease
        The only input of the report. For several groups, the report shows the networks on one layout and their
        differences.
    path : path
        Where to write. An earlier report is replaced; any other file is left alone, with an error.
    forecast : Forecast, optional
        An earlier forecast (:func:`graphveil.plan`), to compare with.
    title : str, optional
        The title of the report; by default, it gives the number of variables.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, graphveil as gv
    >>> rows = np.random.default_rng(0).normal(size=(5000, 3))
    >>> out = gv.release(rows, domain=gv.Domain(bounds=(-4, 4)), budget=gv.Budget(1.0, 1e-6))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "report.html"
    ...     write_report(out, page)
    ...     page.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    write_file(path, report_html(release, forecast, title).encode(), PAGE)


def report_html(release: Release | GroupedRelease, forecast: Forecast | None = None, title: str | None = None) -> str:
    """The text of the report; see :func:`write_report`."""
    if isinstance(release, GroupedRelease):
        if forecast is not None:
            raise InvalidParameter("a forecast is of one release: compare it with the report of one group.")
        return groups_html(release, title)
    given: Any = (release, forecast)
    require_release("release", given[0])
    if not isinstance(given[1], Forecast | None):
        raise InvalidParameter.of("forecast", "a gv.Forecast", given[1])
    content, card = collect_report_data(release), privacy_card(release)
    parts = {
        "skip": "network",
        "data": _data(content),
        "card": render_card(card) + _render_bounds(release, content.columns),
        "findings": _render_findings(release, content),
        "numbers": _render_numbers(release, content),
        "notes": _render_notes(content),
        "interval": "" if content.intervals.reason is None else "hidden",
        "joint": "" if content.has_joint_edges else "hidden",
        "dependent": "" if release.event.rows_per_person > 1 else "hidden",
        "spectrum": spectrum_chart(content.spectrum),
        "regression": _render_regression(content),
        "centrality": _render_centrality(content),
        "plan": "" if forecast is None else _render_comparison(release, content, forecast),
    }
    title = title or f"Private network of {len(content.names)} variables"
    return render_page("page.html", title, card, release.versions, parts, asset("page.js"))


def forecast_html(forecast: Forecast) -> str:
    """Words and plots of the expected error, as a small page of its own, in the style of the report."""
    style, budget = asset("page.css"), forecast.budget
    title = (
        f"Plan: {forecast.n_samples:,} records, {forecast.n_features} variables, ε = {format_exact(budget.epsilon)}, "
        f"δ = {format_exact(budget.delta)}"
    )
    return (
        '<!doctype html>\n<!-- graphveil -->\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, "")}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f'<body><header><p class="brand">graphveil</p><h1>{escape(title)}</h1></header>'
        f"<main><section>{_render_forecast(forecast)}</section></main></body></html>\n"
    )


def _render_bounds(release: Release, names: tuple[str, ...]) -> str:
    if release.domain.bounds is None:
        return ""
    lower, upper = (np.broadcast_to(end, len(names)) for end in release.domain.bounds)
    codebook = release.domain.codebook
    sources = ("",) * len(names) if codebook is None else codebook.sources
    known = any(sources)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{low:.10g}</td><td>{high:.10g}</td>'
        + (f"<td>{escape(source)}</td>" if known else "")
        + "</tr>"
        for name, low, high, source in zip(names, lower, upper, sources, strict=True)
    )
    how = '<th scope="col">how it is known</th>' if known else ""
    return (
        '<details><summary>The declared bounds of each column</summary><div class="scroll"><table class="plain">'
        f'<thead><tr><th scope="col">column</th><th scope="col">from</th><th scope="col">to</th>{how}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _render_numbers(release: Release, content: Content) -> str:
    edges = np.triu(association_strengths(content.path[content.chosen].solution.precision, content.places), 1) != 0.0
    seen = f"{(content.sure & edges).sum():,} of {edges.sum():,}"
    return render_numbers(release, content.found, content.intervals, seen)


def _render_findings(release: Release, content: Content) -> str:
    found = describe_findings(release, content)
    links = "".join(
        f"<li>{escape(said[0].upper() + said[1:])}{numbers and f' <small>({escape(numbers)})</small>'}</li>"
        for said, numbers in found.links
    )
    return (
        '<section id="findings" aria-labelledby="findings-title"><h2 id="findings-title">What was found</h2>'
        f"<p>{escape(found.lead)}</p>{f'<ul>{links}</ul>' if links else ''}<p>{escape(found.rest)}</p></section>"
    )


def _render_notes(content: Content) -> str:
    if not content.notes:
        return ""
    items = "".join(f"<li>{escape(note)}</li>" for note in content.notes)
    return (
        '<section class="notes" aria-labelledby="notes-title"><h2 id="notes-title">What not to use this report for</h2>'
        f"<ul>{items}</ul></section>"
    )


def _render_regression(content: Content) -> str:
    if not content.regressions:
        return ""
    levels = ""
    if content.has_joint_edges:
        levels = (
            " The levels of a category are compared with its first level, and tested together (χ²). As an outcome, a "
            "level is 1 or 0, and coefficients are differences in its probability."
        )
    heads = "".join(
        f'<th scope="col" class="number">{name}</th>' for name in ("Coefficient", "from", "to", "Standardized")
    )
    return (
        '<section class="live" aria-labelledby="regression-title"><h2 id="regression-title">Regressions</h2>'
        "<p>Least squares of one variable on all others, from the release alone, with 95% intervals that account for "
        f"sampling and privacy noise. Grey: the interval contains zero.{levels}</p>"
        '<div class="controls"><label for="outcome">Outcome <select id="outcome"></select></label></div>'
        '<p id="fit-said" class="count" role="status" aria-live="polite"></p>'
        '<div class="scroll"><table id="regression" class="plain">'
        '<caption class="unseen">Coefficients of the chosen regression</caption>'
        f'<thead><tr><th scope="col">Variable</th>{heads}</tr></thead><tbody></tbody></table></div></section>'
    )


def _render_centrality(content: Content) -> str:
    found = content.centrality
    charts, said = [], ""
    for name, measure in found.measures.items():
        order = measure.order[:_MOST_CENTRAL]
        named = [content.names[k] for k in order]
        title = name.replace("_", " ").capitalize()
        drawn = interval_chart(named, measure.value[order], measure.lower[order], measure.upper[order], title)
        charts.append(f"<figure><h3>{title}</h3>{drawn}</figure>")
        if name == "strength":
            said = (
                f"Another study of as many people with the same budget would rank {escape(named[0])} first again with "
                f"a probability of {measure.same_first:.0%}; the expected rank correlation of its strengths with these "
                f"is {measure.rank_correlation:.2f}."
            )
    if not charts:
        return ""
    unsigned = " Edges of categories have no sign: expected influence omits them." if content.has_joint_edges else ""
    cut = f" The {_MOST_CENTRAL} most central are shown." if len(content.names) > _MOST_CENTRAL else ""
    return (
        '<section aria-labelledby="centrality-title"><h2 id="centrality-title">Centrality</h2><p>Sums of the partial '
        "correlations of a variable's edges that are unlikely to be noise, without "
        f"(strength) and with signs (expected influence), with 95% intervals. {said}{cut}{unsigned}</p>"
        f'<div class="pair">{"".join(charts)}</div></section>'
    )


def _render_comparison(release: Release, content: Content, forecast: Forecast) -> str:
    here, smallest = forecast.here, content.intervals.smallest_edge
    rows = [
        (release.event.counted, f"{here.n_samples:,}", f"{release.n_samples:,}"),
        ("columns", f"{forecast.n_features}", f"{len(release.column_names)}"),
        ("ε", format_exact(forecast.budget.epsilon), format_exact(release.budget.epsilon)),
        ("δ", format_exact(forecast.budget.delta), format_exact(release.budget.delta)),
        ("records per person", f"{forecast.rows_per_person}", f"{release.event.rows_per_person}"),
        ("noise-free records (n_eff)", f"{here.n_eff:,.0f}", f"{content.found.n_eff:,.0f}"),
        (
            "partial correlation detected 4 times out of 5",
            "none" if here.smallest_edge is None else f"{here.smallest_edge:.2g}",
            "none" if smallest is None else f"{smallest:.2g}",
        ),
        ("error of the precision matrix", f"{here.error:.2g}", "cannot be known from a release"),
    ]
    body = "".join(
        f'<tr><th scope="row">{escape(what)}</th><td>{escape(then)}</td><td>{escape(now)}</td></tr>'
        for what, then, now in rows
    )
    return (
        '<section aria-labelledby="plan-title"><h2 id="plan-title">Compared with the plan</h2>'
        '<div class="scroll"><table class="plain"><thead><tr><th scope="col">what</th><th scope="col">planned</th>'
        f'<th scope="col">this release</th></tr></thead><tbody>{body}</tbody></table></div>'
        f"{_render_forecast(forecast)}</section>"
    )


def _render_forecast(forecast: Forecast) -> str:
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in forecast.sentences)
    charts = "".join(f"<figure>{chart}</figure>" for chart in error_charts(forecast))
    return f'{said}<div class="pair">{charts}</div>'


def _data(content: Content) -> str:
    """Names and numbers for the script, as JSON that cannot end its element."""
    pairs = np.triu_indices(len(content.names), 1)
    path = [association_strengths(point.solution.precision, content.places) for point in content.path]
    data: dict[str, Any] = {
        "names": content.names,
        "columns": content.columns,
        "widths": [len(place) for place in content.places],
        "order": content.order.tolist(),
        "layouts": _layouts(content, path[content.chosen]),
        "main": [int(pair) for pair in _pair_numbers(len(content.names))[_main_edges(content, path[content.chosen])]],
        "path": [_edges(strengths) for strengths in path],
        "scales": [round(point.scale / content.path[content.chosen].scale, 4) for point in content.path],
        "chosen": content.chosen,
        "units": _UNITS,
        "none": _NONE,
        "estimate": _pack(content.estimate[pairs]),
        "lower": None if content.intervals.reason else _pack(content.intervals.lower[pairs]),
        "upper": None if content.intervals.reason else _pack(content.intervals.upper[pairs]),
        "evidence": None if content.intervals.reason else _pack_p_values(content.intervals.p_value[pairs]),
        "sure": base64.b64encode(np.packbits(content.sure[pairs], bitorder="little").tobytes()).decode(),
    }
    if content.regressions:
        data["regressions"] = _regressions(content)
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _main_edges(content: Content, network: Matrix) -> Matrix:
    """Which edges are drawn first: the strongest, and each variable's own strongest, so that few stand alone.

    Edges are as strong as the end of their interval that is nearer to zero, so that a wide interval does not lead.
    """
    p = len(network)
    drawn = np.triu(network != 0.0, 1)
    if (drawn & content.sure).any():
        drawn &= content.sure
    nearer = np.minimum(np.abs(content.intervals.lower), np.abs(content.intervals.upper))
    at_least = np.where(np.isnan(nearer), np.abs(network), nearer) * drawn
    strongest = np.sort(at_least[drawn])[::-1][: min(max(_FIRST_EDGES, int(0.8 * p)), _MOST_FIRST_EDGES)]
    main = drawn & (at_least >= (strongest[-1] if len(strongest) else 0.0))
    if p <= _MOST_FIRST_EDGES:
        either = at_least + at_least.T
        for k in np.flatnonzero((drawn | drawn.T).any(axis=0)):
            i, j = sorted((int(k), int(either[k].argmax())))
            main[i, j] |= drawn[i, j]
    return np.asarray(main)


def _pair_numbers(p: int) -> NDArray[np.intp]:
    """The number of each pair i < j, counted by rows; zero elsewhere."""
    numbers = np.zeros((p, p), np.intp)
    numbers[np.triu_indices(p, 1)] = np.arange(p * (p - 1) // 2)
    return numbers


def _layouts(content: Content, network: Matrix) -> dict[str, Any]:
    """Places for a wide screen, and for a narrow one where it has room for so many."""
    main = network * _main_edges(content, network)
    widths = {"wide": 1036.0, **({"narrow": 356.0} if (main != 0.0).any(axis=0).sum() <= _MOST_NARROW else {})}
    found = {}
    for name, width in widths.items():
        layout = lay_out(main + main.T, content.names, width)
        found[name] = {
            "width": layout.width,
            "height": round(layout.height),
            "nodes": layout.nodes.round(1).tolist(),
            "names": layout.names.round(1).tolist(),
            "lines": layout.lines,
            "bends": {f"{i},{j}": bend for (i, j), bend in layout.bends.items()},
        }
    return found


def _regressions(content: Content) -> dict[str, str]:
    """What the script shows of regressions, as packed float32; NaN for none, and for what is too large for a float32.

    Coefficients (outcome by column) with their ends, R² with its own if it is determined, and joint tests (outcome by
    variable): χ² and p.
    """
    p = len(content.columns)
    tables = {name: np.full((p, p), np.nan) for name in ("coef", "lower", "upper", "standard")}
    tests = np.full((p, len(content.places), 2), np.nan)
    fit = np.array([[found.r_squared, *found.r_squared_interval] for found in content.regressions])
    fit[[not found.determines_r_squared for found in content.regressions], 1:] = np.nan
    place_of = np.repeat(np.arange(len(content.places)), [len(place) for place in content.places])
    several = [k for k, place in enumerate(content.places) if len(place) > 1]
    for k, found in enumerate(content.regressions):
        others, skip = place_of != place_of[k], int(found.has_intercept)
        for place, test in zip([one for one in several if one != place_of[k]], found.tests, strict=True):
            tests[k, place] = test.chi2, test.p_value
        tables["coef"][k, others] = found.terms.value[skip:]
        tables["lower"][k, others], tables["upper"][k, others] = found.terms.lower[skip:], found.terms.upper[skip:]
        tables["standard"][k, others] = found.standardized
    packed = {**tables, "fit": fit, **({"tests": tests} if content.has_joint_edges else {})}
    most = np.finfo(np.float32).max
    shown = {name: np.where(np.abs(values) <= most, values, np.nan).astype("<f4") for name, values in packed.items()}
    return {name: base64.b64encode(values.tobytes()).decode() for name, values in shown.items()}


def _edges(partial: NDArray[np.float64]) -> dict[str, str]:
    """Both ends and the strength of every edge of one network."""
    first, second = np.nonzero(np.triu(partial, 1))
    return {
        "i": base64.b64encode(first.astype("<u2").tobytes()).decode(),
        "j": base64.b64encode(second.astype("<u2").tobytes()).decode(),
        "r": _pack(partial[first, second]),
    }


def _pack(correlations: NDArray[np.float64]) -> str:
    stored = np.where(np.isnan(correlations), _NONE, np.rint(np.clip(correlations, -1, 1) * _UNITS))
    return base64.b64encode(stored.astype("<i2").tobytes()).decode()


def _pack_p_values(p_value: NDArray[np.float64]) -> str:
    """Their negative logarithms to base 10 in thousandths, UInt16; 0 where there are none."""
    found = -np.log10(np.clip(np.where(np.isnan(p_value), 1.0, p_value), 1e-65, 1.0))
    return base64.b64encode(np.rint(1000.0 * found).astype("<u2").tobytes()).decode()
