"""A real Dask cluster on this machine: the same bits, also when a worker is killed in the middle."""

import logging
import os
import signal
import uuid
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import graphveil as gv
import graphveil.engines.dask
import graphveil.rows.partitions
from graphveil.engines.dask import DaskPartitions
from graphveil.exceptions import SourceError
from graphveil.rows.partitions import PartitionSum, add_sums
from helpers.exact_sums import everything_said
from helpers.reference_releases import BY_PERSON, CALLS, EXPECTED, FRAME, NAMES, ROWS, Ledger, assert_same_bits

CANARY = "".join(["27", "18", "28"])


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def frame(npartitions=4):
    return dask.dataframe.from_pandas(FRAME, npartitions=npartitions)


def deadly_frame(folder, count):
    """Four partitions that leave a file whenever they are read; who leaves the last of so many is killed, once."""

    def deadly(part, folder):
        (folder / uuid.uuid4().hex).touch()
        if len(os.listdir(folder)) >= count:
            with suppress(FileExistsError):
                (folder / "killed").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return part

    return frame().map_partitions(deadly, folder, meta=FRAME[:0])


def check_same_bits(folder, caplog):
    empty = FRAME[:0]
    pieces = [FRAME[:1000], empty, FRAME[1000:1001], FRAME[1001:]]
    assert_same_bits(dask.dataframe.from_delayed([dask.delayed(piece) for piece in pieces], meta=empty), ["labels"])


def check_killed_worker(folder, caplog):
    """In the middle of a later pass; its partitions are computed again by another, and count once."""

    assert_same_bits(deadly_frame(folder, 10), ["adaptive"])  # the third pass over four partitions
    assert len(os.listdir(folder)) > 4 * EXPECTED["adaptive"].n_passes  # some partitions were read once too often


def check_people_with_categories(folder, caplog):
    """A category of three levels becomes two columns, after the rows of a person have met."""
    kinds = {"d": (-9, 9), "label": gv.Category(["down", "up", "gone"]), "age": gv.Number(-9, 9)}
    call = {"domain": gv.Domain(kinds, person="person"), "budget": gv.Budget(1.0, 1e-6), "random_state": 1}
    for variation in ("total", "between", "within"):
        asked = call | {"domain": replace(call["domain"], variation=variation)}
        assert gv.release(frame(), **asked) == gv.release(FRAME, **asked)


def check_people(folder, caplog):
    """All rows of a person meet, whichever partitions they were in, and an empty one among them."""
    pieces = [dask.delayed(piece) for piece in (FRAME[:1000], FRAME[:0], FRAME[1000:])]
    assert_same_bits(dask.dataframe.from_delayed(pieces, meta=FRAME[:0]), ["between"])

    assert_same_bits(deadly_frame(folder, 19), ["total"])  # people are counted: this is the first sum, or the second
    assert (folder / "killed").exists()


def check_people_who_do_not_meet(folder, caplog):
    """Somebody with rows in two partitions would count twice: there would be more people than Dask counts."""
    ledger = Ledger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaskPartitions, "_bring_together", DaskPartitions._keyed)
        with pytest.raises(SourceError, match="nothing from this pass is used"):
            gv.release(frame(), ledger=ledger, dataset="d", **BY_PERSON["one round"])
    assert ledger.charged == []


def check_ids_that_cannot_be_read(folder, caplog):
    """What holds no ids is refused by its type, also where only one partition has it; no id is repeated."""

    def other_type(part, partition_info=None):
        return part.assign(number=complex(float(CANARY))) if partition_info["number"] == 2 else part

    numbers = FRAME.assign(number=FRAME["number"].astype(complex))
    for source in (
        frame().map_partitions(other_type, meta=FRAME[:0]),
        dask.dataframe.from_pandas(numbers, npartitions=2),
    ):
        ledger = Ledger()
        with pytest.raises(SourceError, match="Ids of people cannot be of type complex128") as caught:
            gv.release(source, ledger=ledger, dataset="d", **BY_PERSON["total, by number"])
        assert ledger.charged == []
        assert CANARY not in everything_said(caught.value) + caplog.text
    with pytest.raises(SourceError, match="must be a column of the engine's data frame"):
        gv.release(frame(), person=np.arange(3000), **CALLS["adaptive"])


def check_failing_partitions(folder, caplog):
    def fails(part):
        raise ValueError(f"cannot parse {CANARY}")

    def other_schema(part, partition_info=None):
        return part.assign(age="text") if partition_info["number"] == 2 else part

    for change, message in (
        (fails, r"failed while it was summed by Dask.*\(ValueError\)"),
        (other_schema, "Column 'age' has"),
    ):
        ledger = Ledger()
        with pytest.raises(SourceError, match=message) as caught:
            gv.release(frame().map_partitions(change, meta=FRAME[:0]), ledger=ledger, dataset="d", **CALLS["adaptive"])
        assert ledger.charged == []
        assert CANARY not in everything_said(caught.value) + caplog.text


def check_file(folder, caplog):
    FRAME.to_parquet(folder / "rows.parquet", row_group_size=1000)
    assert_same_bits(dask.dataframe.read_parquet(folder / "rows.parquet", split_row_groups=1), ["labels"])


# What a tree could do to the outcomes of four partitions of unequal lengths before it adds them.
FAULTS = {
    "the last is lost": lambda found: found[:-1],
    "the first is lost": lambda found: found[1:],
    "all but one are lost": lambda found: found[:1],
    "all are lost": lambda found: [],
    "one comes twice": lambda found: [*found, found[1]],
    "one is invented": lambda found: [*found, PartitionSum((4,), found[0].words)],
    "one stands for another": lambda found: [*found[:-1], PartitionSum((3,), found[0].words)],
    "one has a part of its sum": lambda found: [PartitionSum(one.parts, one.words[:-1]) for one in found],
}


def check_faults(folder, caplog):
    """A lost, doubled or invented partition is noticed before anything is spent, in one round and in many."""
    cuts = [0, 500, 1200, 1900, 3000]
    pieces = [dask.delayed(FRAME[start:end]) for start, end in pairwise(cuts)]
    source = dask.dataframe.from_delayed(pieces, meta=FRAME[:0])
    assert_same_bits(source, ["labels"])
    for kind, fault in FAULTS.items():
        for call in CALLS:
            ledger = Ledger()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(graphveil.engines.dask, "add_sums", lambda found, fault=fault: add_sums(fault(found)))
                with pytest.raises(SourceError, match=r"The engine has lost|counted twice by the engine"):
                    gv.release(source, ledger=ledger, dataset=kind, **CALLS[call])
            assert ledger.charged == []
    with pytest.MonkeyPatch.context() as patch:
        whole = type(source).to_delayed
        patch.setattr(type(source), "to_delayed", lambda self: whole(self)[:-1])
        with pytest.raises(SourceError, match="Dask has lost a partition"):
            gv.release(source, **CALLS["labels"])


def check_other_version(folder, caplog):
    """A worker with other code could clip in another way than the noise was made for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphveil.rows.partitions, "installed_version", lambda: "0.0.1")
        with pytest.raises(
            SourceError, match=r"A worker of the engine has graphveil \d.*, but the calling process has 0\.0\.1"
        ):
            gv.release(frame(), **CALLS["labels"])


CHECKS = [
    check_same_bits,
    check_killed_worker,
    check_people,
    check_people_with_categories,
    check_people_who_do_not_meet,
    check_ids_that_cannot_be_read,
    check_failing_partitions,
    check_file,
    check_faults,
    check_other_version,
]


def test_a_cluster_from_end_to_end(client, tmp_path, caplog):
    """One test, so that one process of a parallel run starts one cluster."""
    for check in CHECKS:
        folder = tmp_path / check.__name__
        folder.mkdir()
        check(folder, caplog)


# ------------------------------------------------------------------ without a cluster
WRONG = {
    "a missing column": (lambda: frame()[["age", "d"]], "no column 'income'"),
    "text": (lambda: frame().rename(columns={"text": "x y", "x y": "y"}), "Column 'x y' has type .*string"),
    "three dimensions": (lambda: dask.array.zeros((4, 4, 4)), "2 dimensions"),
    "complex": (lambda: dask.array.zeros((4, 4), dtype=complex), "dtype complex128"),
    "a series": (lambda: frame()["age"], "Series"),
    "too wide": (lambda: dask.array.zeros((9, 5)), "has 5 columns, the domain has 4"),
    "no rows": (lambda: dask.array.zeros((0, 4)), "has no rows"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_schema_is_named(kind):
    make, message = WRONG[kind]
    with pytest.raises(SourceError, match=message):
        gv.release(make(), **CALLS["adaptive"])


@pytest.mark.parametrize("count", [1, 2])
def test_a_partition_may_have_one_row(count):
    """Whether a release succeeds must not depend on how many rows somebody has."""
    rows = FRAME[:count].assign(person="somebody")
    call = {"domain": gv.Domain({"d": (-9, 9), "age": (-9, 9)}, person="person"), "budget": gv.Budget(1.0, 1e-6)}
    call |= {"adaptive": False, "random_state": 1}
    assert gv.release(dask.dataframe.from_pandas(rows, npartitions=1), **call) == gv.release(rows, **call)


def test_labels_beside_the_rows_and_batches_are_refused():
    options = CALLS["labels"] | {"labels": gv.Labels(["up"])}
    with pytest.raises(SourceError, match="must be a column of the engine's data frame"):
        gv.release(frame(), **options)
    with pytest.raises(SourceError, match="without separate labels"):
        gv.PrivatePrecision(1.0, 1e-6, bounds=(-9, 9)).partial_fit(dask.array.from_array(ROWS))


@pytest.mark.filterwarnings("ignore::graphveil.exceptions.PrivacyWarning")
def test_an_estimator_fits_a_dask_frame():
    model = gv.PrivatePrecision(4.0, 1e-6, bounds=(-20, 20), random_state=0)
    numbers = frame()[NAMES]
    np.testing.assert_array_equal(model.fit(numbers).precision_, model.fit(FRAME[NAMES]).precision_)
    assert list(model.feature_names_in_) == NAMES


def test_progress_is_told_when_a_pass_is_complete():
    seen = []
    gv.release(frame(), progress=seen.append, **CALLS["adaptive"])
    assert set(seen) == {3000}
    assert len(seen) >= 7


def test_what_is_no_partition_is_refused_without_a_word_of_it(capfd, caplog):
    """A task that raised would be logged with its arguments, which are records."""
    rows = dask.array.from_array(np.full((6, 4), float(CANARY)), chunks=(3, 4))
    for change in (np.ndarray.tolist, lambda part: None, lambda part: part[0, 0]):
        with pytest.raises(SourceError, match=r"A partition is a (list|NoneType|float64)") as caught:
            gv.release(rows.map_blocks(change, dtype=float, meta=np.empty((0, 4))), **CALLS["adaptive"])
        assert CANARY not in everything_said(caught.value) + caplog.text + "".join(capfd.readouterr())


def test_a_partition_counts_once():
    one, two = PartitionSum((0,), np.array([1, 2])), PartitionSum((1,), np.array([10, 20]))
    assert add_sums([one, two]).words.tolist() == [11, 22]
    assert add_sums([one, two]).parts == (0, 1)
    assert "counted twice" in add_sums([one, two, one]).refusal
    assert "counted twice" in add_sums([add_sums([one, two]), one]).refusal
    assert add_sums([one, PartitionSum((2,), np.array([]), "no column")]).refusal == "no column"
    assert "not shown" in repr(one)


def test_names_that_are_numbers_are_found():
    numbered = pd.DataFrame(ROWS)
    domain = gv.Domain(columns=["0", "1", "2", "3"], bounds=(-9, 9))
    options = {"domain": domain, "budget": gv.Budget(1.0, 1e-6), "random_state": 0}
    assert gv.release(dask.dataframe.from_pandas(numbered, npartitions=3), **options) == gv.release(ROWS, **options)


@pytest.mark.parametrize("kind", [str, object, float])
def test_ids_of_another_type_than_the_schema_says_are_the_same_people(kind):
    table = pd.DataFrame({"x": np.zeros(40), "id": np.arange(40) % 10})
    parts = [table[:20], table[20:].astype({"id": str}).astype({"id": kind})]
    frame = dask.dataframe.from_delayed([dask.delayed(part) for part in parts], meta=table, verify_meta=False)
    call = {"domain": gv.Domain({"x": (-1, 1)}, person="id"), "budget": gv.Budget(1.0, 1e-4), "adaptive": False}
    assert gv.release(frame, **call).n_samples == 10
