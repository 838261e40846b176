"""Pictures of intervals, with matplotlib and without it."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import graphveil as gv
from graphveil._interval_plot import plot_intervals

LABELS, VALUE, LOWER, UPPER = ["<a>", "b\n" * 30, "c"], [0.5, -0.1, 0.2], [0.4, -0.3, np.nan], [0.6, 0.1, np.nan]
SVG = "{http://www.w3.org/2000/svg}"


def test_svg_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = plot_intervals(LABELS, VALUE, LOWER, UPPER, "A & B")
    root = ElementTree.fromstring(picture._repr_svg_())
    texts = [node.text for node in root.iter(f"{SVG}text")]
    assert texts[:2] == ["A & B", "<a>"]
    assert all(len(text) <= 30 for text in texts)
    fills = [node.get("fill") for node in root.iter(f"{SVG}circle")]
    assert fills[:2] == ["black", "white"], "open where the interval holds zero"
    assert len(list(root.iter(f"{SVG}line"))) == 3, "zero, and the two intervals that there are"


def test_axes_with_matplotlib():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = plot_intervals(LABELS, VALUE, LOWER, UPPER, "$A$")
    assert [tick.get_text()[:3] for tick in axes.get_yticklabels()] == ["<a>", "b\\n", "c"]
    axes.figure.canvas.draw()
    matplotlib.pyplot.close(axes.figure)


def test_results_draw_their_own_numbers(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    rows[:, 2] += rows[:, 0]
    domain = gv.Domain(columns=["a", "b", "y"], bounds=(-6, 6))
    made = gv.release(rows, domain=domain, budget=gv.Budget(2.0, 1e-6), random_state=0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for result, expected in ((gv.regression(made, "y"), ["a", "b"]), (gv.recover(made), ["a — y"])):
        texts = [node.text for node in ElementTree.fromstring(result.plot().svg).iter(f"{SVG}text")]
        assert texts[1 : 1 + len(expected)] == expected, "in the order of the table, or the surest first"
