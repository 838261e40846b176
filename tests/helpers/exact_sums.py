"""What several tests share: the path from rows to exact sums, without gate and noise; what an error says."""

import traceback

import numpy as np

from graphveil.rows.encoding import Encoder
from graphveil.rows.exact_sums import ExactMoments
from graphveil.rows.parallel import accumulate
from graphveil.rows.sources import open_source
from graphveil.rows.statistic import Statistic
from graphveil.spec.quantization import MomentLayout


class Total(Statistic):
    """The whole moment matrix, which a release never takes out of its statistic."""

    def __init__(self, width):
        self.moments = ExactMoments(width)

    def update(self, encoded, weights=None):
        assert weights is None
        self.moments.update(encoded)

    def merge(self, other):
        self.moments.merge(other.moments)

    def to_words(self):
        return self.moments.to_words()

    def add_from_words(self, words):
        self.moments.add_from_words(words)

    def answer(self, query):
        return {"total": self.moments.total()}


def exact_sums(source, domain, make, augment=None):
    """Number of rows and the results of statistics over a source, with its encoder."""
    blocks = open_source(source, domain, augment)
    domain = domain.resolve(blocks.columns, blocks.n_features)
    encoder = Encoder(domain, augment, shift=augment is not None)
    seen, found = accumulate(blocks, encoder, lambda: make(encoder))
    return seen.rows, found, encoder, MomentLayout(blocks.n_features, augment)


def exact_moments(source, domain, augment=None):
    """The unreleased moments of a source, with their encoder and layout."""
    _, (total,), encoder, layout = exact_sums(source, domain, lambda e: [Total(e.width)], augment)
    return total.moments, encoder, layout


def exact_total(source, domain, augment=None):
    return exact_moments(source, domain, augment)[0].total()


def encoded(rows, domain, augment=None, codes=None, *, marks_gaps=False):
    """Integer rows."""
    rows = np.ascontiguousarray(rows, dtype=float)
    encoder = Encoder(domain.resolve(None, rows.shape[1]), augment, shift=augment is not None, marks_gaps=marks_gaps)
    out = np.empty((len(rows), encoder.width))
    encoder.encode(rows, codes, out)
    return out


def asked(augment):
    """Arguments of gv.release that append this to rows: nothing, a constant ("mean"), or labels."""
    if augment is None:
        return {"assume_centered": True}
    return {} if augment == "mean" else {"labels": augment}


def everything_said(error):
    """The message, the whole traceback, and those of all errors behind it, shown or suppressed."""
    said, stack, seen = [], [error], set()
    while stack:
        current = stack.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        said += [repr(current), str(current), *map(repr, current.args), *getattr(current, "__notes__", [])]
        said += traceback.format_exception(current, chain=False)
        stack += [current.__cause__, current.__context__]
    return "\n".join(said)
