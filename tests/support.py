"""What several tests share: the path from rows to exact moments, without the gate and without noise."""

import numpy as np

from graphveil.rows.accumulate import accumulate
from graphveil.rows.blocks import open_source
from graphveil.rows.clipping import Encoder
from graphveil.spec.lattice import MomentLayout


def exact_moments(source, domain, augment=None):
    """The unreleased moments of a source, with their encoder and layout."""
    blocks = open_source(source, domain, augment)
    domain = domain.matched_to(blocks.columns, blocks.n_features)
    encoder = Encoder(domain, augment)
    return accumulate(blocks, encoder), encoder, MomentLayout(blocks.n_features, augment)


def exact_total(source, domain, augment=None):
    return exact_moments(source, domain, augment)[0].total()


def encoded(rows, domain, augment=None, codes=None):
    """Integer rows."""
    rows = np.ascontiguousarray(rows, dtype=float)
    encoder = Encoder(domain.matched_to(None, rows.shape[1]), augment)
    out = np.empty((len(rows), encoder.width))
    encoder.encode(rows, codes, out)
    return out
