"""What a notebook shows: short, useful, escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest

import graphveil as gv

NAMES = ["<b>age</b>", "b\"&'", "n" * 300, "plain"]
OPTIONS = {"epsilon": 1.0, "delta": 1e-6, "bounds": dict.fromkeys(NAMES, (-4, 4))}


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.words = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not attrs

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def rows():
    import pandas

    noise = np.random.default_rng(0).normal(size=(5000, 4))
    noise[:, 1] += 0.5 * noise[:, 0]
    return pandas.DataFrame(noise, columns=NAMES)


def read(shown):
    tags = Tags(shown)
    assert tags.seen <= {"table", "caption", "tbody", "tr", "th", "td"}
    assert len(shown) < 2000
    return " ".join(tags.words)


@pytest.mark.parametrize("kind", [gv.PrivatePrecision, gv.PrivateGraphicalLasso, gv.PrivateRidgePrecision])
def test_estimators(rows, kind):
    model = kind(**OPTIONS)
    assert "not fitted" in read(model._repr_html_())
    words = read(model.fit(rows)._repr_mimebundle_()["text/html"])
    assert "(1, 1e-06)-differentially private" in words
    assert "<b>age</b> — b\"&' +0." in words


def test_a_classifier(rows):
    labels = np.where(rows["plain"] > 0, "yes", "no")
    model = gv.PrivateLDA(classes=["no", "yes"], epsilon=4.0, delta=1e-6, bounds=(-4, 4)).fit(rows.to_numpy(), labels)
    assert "differentially private" in read(model._repr_html_())


def test_releases_and_forecasts(rows):
    domain, budget = gv.Domain(bounds=OPTIONS["bounds"]), gv.Budget(1.0, 1e-6)
    words = read(gv.release(rows, domain=domain, budget=budget, assume_centered=True, adaptive=False)._repr_html_())
    assert "5,000, as good as" in words
    assert "<b>age</b>" in words
    assert "Seeded: not private" in read(
        gv.release(
            rows, domain=domain, budget=budget, random_state=0, assume_centered=True, adaptive=False
        )._repr_html_()
    )
    assert "noise-free" in read(gv.plan(n=2000, p=1, budget=budget)._repr_html_())
