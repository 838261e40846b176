"""Small charts as SVG text: axes, points, a line. Colours come from the page's style sheet."""

import math
from collections.abc import Sequence
from html import escape

from graphveil._typing import Vector
from graphveil.report.report_data import Spectrum
from graphveil.spec.forecast import Forecast, ForecastPoint

__all__ = ["curve_chart", "error_charts", "interval_chart", "spectrum_chart"]

_WIDTH, _HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 28, 14, 44  # to the right: half of the last tick's number
_NARROW, _NAMES, _LINE = 400, 130, 20  # of a chart of named lines


class _Axis:
    """From values to pixels, linear or logarithmic, with a few round ticks."""

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool) -> None:
        self._log, self._start, self._end = log, start, end
        low, high = (math.log10(low), math.log10(high)) if log else (low, high)
        margin = 0.06 * (high - low) or 0.5
        self._low, self._high = low - margin, high + margin

    def __call__(self, value: float) -> float:
        at = math.log10(value) if self._log else value
        share = (at - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        if self._log:
            decades = range(math.floor(self._low), math.ceil(self._high) + 1)
            for digits in (range(1, 10), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
                found = [digit * 10.0**decade for decade in decades for digit in digits]
                found = [value for value in found if self._low <= math.log10(value) <= self._high]
                if len(found) <= 7:
                    return found
            return found[:: math.ceil(len(found) / 7)]
        step = 10.0 ** math.floor(math.log10((self._high - self._low) / 4.0))
        step *= next(factor for factor in (1, 2, 5, 10) if (self._high - self._low) / (step * factor) <= 6.0)
        first = math.ceil(self._low / step)
        return [step * k for k in range(first, math.floor(self._high / step) + 1)]


def _frame(x: _Axis, y: _Axis, x_title: str, y_title: str) -> str:
    bottom = _HEIGHT - _BOTTOM
    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - _RIGHT}"/>']
    for value in x.ticks():
        parts.append(f'<path class="grid" d="M{x(value):.1f} {_TOP}V{bottom}"/>')
        parts.append(
            f'<text class="tick" x="{x(value):.1f}" y="{bottom + 16}" text-anchor="middle">{_text(value)}</text>'
        )
    for value in y.ticks():
        parts.append(f'<path class="grid" d="M{_LEFT} {y(value):.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{_text(value)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_title)}</text>')
    upright = f'transform="translate(13 {(_TOP + bottom) / 2}) rotate(-90)"'
    parts.append(f'<text class="label" {upright} text-anchor="middle">{escape(y_title)}</text>')
    return "".join(parts)


def _text(value: float) -> str:
    return f"{round(value):,}" if abs(value) >= 1000 else f"{value:.4g}"


def _svg(title: str, body: str, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img"><title>{escape(title)}</title>{body}</svg>'


def spectrum_chart(spectrum: Spectrum) -> str:
    """Eigenvalues before (rings) and after (dots), and the reach of the noise (dashed)."""
    before, after, edge, p = spectrum.before, spectrum.after, spectrum.edge, spectrum.before.size
    x = _Axis(1, max(p, 2), _LEFT, _WIDTH - _RIGHT, log=False)
    ends = min(float(before.min()), 0.0), max(float(before.max()), float(after.max()), edge)
    y = _Axis(*ends, _HEIGHT - _BOTTOM, _TOP, log=False)
    size = 3.5 if p <= 60 else 2.0
    rings = "".join(
        f'<circle class="ring" cx="{x(k + 1):.1f}" cy="{y(v):.1f}" r="{size}"/>' for k, v in enumerate(before)
    )
    dots = "".join(
        f'<circle class="dot" cx="{x(k + 1):.1f}" cy="{y(v):.1f}" r="{size - 0.7}"/>' for k, v in enumerate(after)
    )
    noise = f'<path class="edge-of-noise" d="M{_LEFT} {y(edge):.1f}H{_WIDTH - _RIGHT}"/>'
    title = (
        f"Eigenvalues of the correlation matrix: noisy from {before[0]:.2f} down to {before[-1]:.2f}, denoised from "
        f"{after[0]:.2f} down to {after[-1]:.2f}; noise alone reaches {edge:.2f}."
    )
    return _svg(title, _frame(x, y, "rank", "eigenvalue") + noise + rings + dots)


def interval_chart(names: Sequence[str], values: Vector, lower: Vector, upper: Vector, title: str) -> str:
    """Dots with their intervals, one line each, in the given order."""
    bottom = _TOP + _LINE * len(names)
    x = _Axis(min(0.0, float(lower.min())), max(0.05, float(upper.max())), _NAMES, _NARROW - _RIGHT, log=False)
    parts = []
    for value in x.ticks():
        at = f"{x(value):.1f}"
        parts.append(f'<path class="grid" d="M{at} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">{_text(value)}</text>')
    for k, name in enumerate(names):
        y, short = _TOP + _LINE * k + _LINE // 2, name if len(name) <= 18 else f"{name[:17]}…"
        parts.append(f'<text class="name" x="{_NAMES - 8}" y="{y + 4}" text-anchor="end">{escape(short)}</text>')
        parts.append(f'<path class="span" d="M{x(lower[k]):.1f} {y}H{x(upper[k]):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{x(values[k]):.1f}" cy="{y}" r="4"/>')
    said = "; ".join(f"{name}: {value:.2f}" for name, value in zip(names, values, strict=True))
    return _svg(f"{title}. {said}.", "".join(parts), _NARROW, bottom + 24)


def curve_chart(xs: Sequence[float], ys: Sequence[float], here: int, x_title: str, y_title: str) -> str:
    """A line through points in double logarithmic axes; ``here`` is marked."""
    ys = [max(y, 1e-12) for y in ys]
    x = _Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, log=True)
    y = _Axis(min(ys), max(ys), _HEIGHT - _BOTTOM, _TOP, log=True)
    line = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in zip(xs, ys, strict=True))
    dots = "".join(f'<circle class="dot" cx="{x(a):.1f}" cy="{y(b):.1f}" r="3"/>' for a, b in zip(xs, ys, strict=True))
    mark = f'<circle class="here" cx="{x(xs[here]):.1f}" cy="{y(ys[here]):.1f}" r="7"/>'
    points = ", ".join(f"{_text(a)}: {b:.3g}" for a, b in zip(xs, ys, strict=True))
    return _svg(
        f"{y_title} by {x_title}. {points}.",
        _frame(x, y, x_title, y_title) + f'<path class="line" d="M{line}"/>{dots}{mark}',
    )


def error_charts(forecast: Forecast) -> tuple[str, str]:
    """Expected error against ε and against the number of records."""

    def chart(points: tuple[ForecastPoint, ...], name: str, title: str) -> str:
        here = points.index(forecast.here)
        return curve_chart(
            [getattr(point, name) for point in points], [point.error for point in points], here, title, "expected error"
        )

    return chart(forecast.by_epsilon, "epsilon", "ε"), chart(forecast.by_records, "n_samples", "number of records")
