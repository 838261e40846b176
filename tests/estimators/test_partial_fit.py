"""Rows that come batch by batch: collected exactly, shown to nobody, charged once."""

import copy
import pickle
import traceback

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import graphveil as gv
from graphveil.exceptions import GuaranteeError, InvalidParameter, SourceError
from graphveil.rows.accumulators import RowMoments
from graphveil.spec.augmentation import Constant
from helpers.exact_sums import exact_total

# One round on so few records shows no structure.
pytestmark = pytest.mark.filterwarnings("ignore:Some directions lie within the noise")

ROWS = gv.simulate.gaussian_rows(gv.simulate.paper_model(3, 4), 9000, random_state=0) + 1.0
SETTINGS = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-7, 9)}


class Diary:
    def __init__(self):
        self.events = []

    def charge(self, dataset, event):
        self.events.append(event)


def collected(pieces, **options):
    model = gv.PrivatePrecision(**(SETTINGS | options))
    for piece in pieces:
        model.partial_fit(piece)
    return model


def test_batches_in_any_order_are_the_same_release_as_all_rows_at_once():
    whole = gv.release(
        ROWS, domain=gv.Domain(bounds=(-7, 9)), budget=gv.Budget(1, 1e-6), random_state=5, adaptive=False
    )
    pieces = np.array_split(ROWS, 7)
    for order in (pieces, pieces[::-1], [ROWS[:1], ROWS[1:]]):
        model = collected(order, random_state=5)
        assert model.release() == whole
        np.testing.assert_array_equal(model.precision_, gv.recover(whole).precision)


def test_one_charge_for_all_batches_and_none_before():
    diary = Diary()
    model = collected(np.array_split(ROWS, 3), ledger=diary, dataset="people")
    assert diary.events == []
    made = model.release()
    assert diary.events == [made.event]
    assert made.n_samples == 9000
    assert model.release_ is made


def test_a_refused_charge_keeps_what_was_collected():
    class Empty:
        def charge(self, dataset, event):
            raise RuntimeError("no budget left")

    model = collected([ROWS], ledger=Empty(), dataset="people")
    with pytest.raises(RuntimeError, match="no budget left"):
        model.release()
    model.set_params(ledger=Diary())
    assert model.release().n_samples == 9000


def test_unreleased_sums_cannot_be_seen_copied_or_pickled():
    model = collected([ROWS])
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GuaranteeError, match="unreleased"):
            attempt(model)
    with pytest.raises(GuaranteeError, match="unreleased"):
        pickle.dumps(model._collection)
    said = repr(model) + repr(vars(model)) + str(model._collection)
    exact = {str(int(abs(value))) for value in exact_total(ROWS, gv.Domain(bounds=(-7, 9)), Constant()).ravel()}
    assert not any(number in said for number in exact if len(number) > 6)
    assert clone(model)._collection is None
    model.release()
    assert pickle.loads(pickle.dumps(model)).release_ == model.release_


def test_a_refused_batch_adds_nothing_and_says_no_value():
    model = collected([ROWS[:5000]], random_state=0)
    with pytest.raises(SourceError, match="X has 3 features") as caught:
        model.partial_fit(np.full((10, 3), 1e5 * np.pi))
    assert "314159" not in "".join(traceback.format_exception(caught.value))
    model.partial_fit(ROWS[5000:])
    assert model.release().n_samples == 9000


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_batch_that_was_interrupted_does_not_count_twice_when_it_is_given_again(when, monkeypatch):
    model = collected([ROWS[:5000]], random_state=0)
    merge, held = RowMoments.merge, model._collection.moments()

    def interrupted(self, other):
        joins = self is held or other is held  # the old sums and the new, not those of two workers
        if not joins or when == "after":
            merge(self, other)
        if joins:
            raise KeyboardInterrupt

    monkeypatch.setattr(RowMoments, "merge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(ROWS[5000:])
    monkeypatch.undo()
    made = model.partial_fit(ROWS[5000:]).release()
    assert made == collected([ROWS], random_state=0).release()


def test_later_frames_are_matched_by_name():
    frame = pd.DataFrame(ROWS * [1, 2, 3, 4], columns=["a", "b", "c", "d"])
    bounds = (-40, 40)
    one = collected([frame[:4000], frame[4000:]], bounds=bounds, random_state=0)
    other = collected([frame[:4000], frame[4000:][["d", "b", "a", "c"]]], bounds=bounds, random_state=0)
    assert one.release() == other.release()
    with pytest.raises(SourceError, match="no column 'd'"):
        collected([frame, frame[["a", "b", "c"]]], bounds=bounds)


def test_what_cannot_be_collected():
    with pytest.raises(InvalidParameter, match="call partial_fit or fit first"):
        gv.PrivatePrecision(**SETTINGS).release()
    with pytest.raises(InvalidParameter, match="data_norm must be a number when rows are collected"):
        gv.PrivatePrecision(1, 1e-6, data_norm="private").partial_fit(ROWS)
    model = collected([ROWS])
    model.set_params(bounds=(-100, 100))
    with pytest.raises(InvalidParameter, match="has changed since the rows were collected"):
        model.release()
    with pytest.raises(SourceError, match="no rows"):
        collected([ROWS[:0]]).release()


def test_papers_mechanism_collects_too():
    model = gv.PrivateRidgePrecision(
        0.5, 1e-6, alpha=0.1, mechanism="paper", data_norm=9, assume_centered=True, random_state=1
    )
    for piece in np.array_split(ROWS, 4):
        model.partial_fit(piece)
    made = model.release()
    once = gv.PrivateRidgePrecision(**model.get_params()).fit(ROWS)
    assert made == once.release_
