"""Releases to report on, and reading a report back."""

import base64
import json
import re

import numpy as np

import graphveil as gv

HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script><img src=x onerror='window.pwned=1'>",
    "\"quotes\" & 'more' <!--data-->",
    "größe 身長 \u202e \x00 \u2028",
    "n" * 300,
    "=cmd()",
]

# What spreadsheets calculate, at the beginning of a cell or of what another separator makes one.
FORMULAS = ('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "a;=1", 'a"=1', "a,=1", "a\n=1")


def payload(html):
    """Names and numbers of a page, unpacked as its script does."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL).group(1))

    def unpacked(text, kind="<i2"):
        return None if text is None else np.frombuffer(base64.b64decode(text), kind)

    for name in ("estimate", "lower", "upper"):
        stored = unpacked(data[name])
        data[name] = None if stored is None else np.where(stored == data["none"], np.nan, stored / data["units"])
    data["sure"] = np.unpackbits(unpacked(data["sure"], np.uint8), bitorder="little").astype(bool)
    data["path"] = [
        (unpacked(at["i"], "<u2"), unpacked(at["j"], "<u2"), unpacked(at["r"]) / data["units"]) for at in data["path"]
    ]
    return data


def small(p, n=3000, **options):
    rows = np.random.default_rng(0).normal(size=(n, p))
    domain = gv.Domain(bounds=(-4, 4), **options)
    return gv.release(rows, domain=domain, budget=gv.Budget(1.0, 1e-6))


def simulated(p, n=20_000, epsilon=2.0, columns=None, seed=0, adaptive=True):
    """A seeded release of a small world."""
    truth = gv.simulate.small_world_precision(p, 2 if p < 10 else 4, random_state=seed)
    rows = gv.simulate.gaussian_rows(truth, n, random_state=seed)
    domain = gv.Domain(bounds=(-12, 12), columns=columns or [f"variable {k}" for k in range(p)])
    budget = gv.Budget(epsilon, 1e-6)
    return gv.release(rows, domain=domain, budget=budget, random_state=seed, adaptive=adaptive)
