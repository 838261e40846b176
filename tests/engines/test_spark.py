"""A real Spark cluster on this machine, two executors of their own: the same bits, also when one of them is killed."""

import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import graphveil as gv
import graphveil.engines.spark
from graphveil.engines.spark import _adding, _outcome, _row
from graphveil.exceptions import SourceError
from graphveil.rows.partitions import PartitionSum
from helpers.exact_sums import everything_said
from helpers.reference_releases import BY_PERSON, CALLS, EVERY_CALL, EXPECTED, FRAME, WEIGHED, Ledger, assert_same_bits


@pytest.fixture(scope="module")
def session():
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a test is over before better machine code would pay
    settings = {
        "spark.driver.extraJavaOptions": quick,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": quick,
        "spark.executor.memory": "512m",
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": False,
        "spark.sql.codegen.wholeStage": False,
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    builder = SparkSession.builder.master("local-cluster[2,1,640]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files, one of them without rows."""
    folder = tmp_path_factory.mktemp("rows")
    for number, part in enumerate((FRAME[:1700], FRAME[:0], FRAME[1700:])):
        part.to_parquet(folder / f"{number}.parquet")
    return folder


def check_same_bits(session, files, folder):
    """In every round, with rows that executors keep meanwhile, and an empty partition."""
    frame = session.read.parquet(str(files))
    assert_same_bits(frame, ["adaptive"])
    assert not frame.select("age").storageLevel.useMemory  # what was kept is given back


def check_killed_executor(session, files, folder):
    """In the middle of a pass; its partitions are computed again by another, and count once."""
    frame = session.read.parquet(str(files))
    assert_same_bits(with_deadly(frame, folder / "killed"), ["labels"])
    assert not Path(f"/proc/{(folder / 'killed').read_text()}").exists()


def with_deadly(frame, path):
    """A frame whose first reader kills its executor, and leaves its number in a file."""
    marker = str(path)

    def deadly(batches):
        import os
        import signal

        yield from batches
        if not os.path.exists(marker):
            with open(f"/proc/{os.getppid()}/stat") as stat:  # of the daemon that has started this worker
                executor = int(stat.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{executor}/cmdline") as command:
                assert "CoarseGrainedExecutorBackend" in command.read()
            with open(marker, "w") as file:
                file.write(str(executor))
            os.kill(executor, signal.SIGKILL)

    return frame.mapInArrow(deadly, frame.schema)


def check_people(session, files, folder):
    """All rows of a person meet, whichever partitions they were in, also if an executor is killed."""
    frame = session.read.parquet(str(files))
    assert_same_bits(with_deadly(frame, folder / "killed"), ["one round"])
    assert (folder / "killed").exists()


def check_people_who_do_not_meet(session, files, folder):
    """Somebody with rows in two partitions would count twice: there would be more people than Spark counts."""
    frame = session.read.parquet(str(files)).repartition(3)
    ledger = Ledger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphveil.engines.spark, "_bring_together", lambda frame, person: frame)
        with pytest.raises(SourceError, match="nothing from this pass is used"):
            gv.release(frame, ledger=ledger, dataset="d", **BY_PERSON["total"])
    assert ledger.charged == []
    booleans = frame.withColumn("number", frame["number"] > 0)
    with pytest.raises(SourceError, match="person column 'number' has type bool"):
        gv.release(booleans, **BY_PERSON["total, by number"])


def check_ids_as_other_types(session, files, folder):
    """A number is the same id as text, as a decimal and as a float; NaN is nobody's, like what is missing."""
    frame, asked = session.read.parquet(str(files)), BY_PERSON["total, by number"]
    for written in ("string(number)", "concat(number, '.00  ')", "cast(number as decimal(20, 3))", "double(number)"):
        made = gv.release(frame.selectExpr("* except (number)", f"{written} number"), **asked)
        assert made == gv.release(FRAME, **asked)
    missing = "case when number = 3 then double('NaN') when number <> 5 then double(number) end"
    made = gv.release(frame.selectExpr("* except (number)", f"{missing} number"), **asked)
    assert made == gv.release(FRAME.assign(number=FRAME["number"].where(~FRAME["number"].isin([3, 5]))), **asked)


def check_truncated_file(session, files, folder):
    """Nothing is spent and nothing is said about it but that it failed."""
    FRAME.to_parquet(folder / "1.parquet")
    FRAME.to_parquet(folder / "2.parquet")
    frame = session.read.parquet(str(folder))
    content = (folder / "2.parquet").read_bytes()
    (folder / "2.parquet").write_bytes(content[: len(content) // 2])
    ledger = Ledger()
    with pytest.raises(SourceError, match="failed while it was summed by Spark") as caught:
        gv.release(frame, ledger=ledger, dataset="d", **CALLS["labels"])
    assert ledger.charged == []
    assert "parquet" not in everything_said(caught.value).lower()


def check_quoted_record(session, files, folder):
    """Spark quotes the record that it cannot read; that does not choose our words."""
    said = set()
    for text in ("oops", "No module named 'graphveil'"):
        (folder / "rows.csv").write_text(f"1,2\n2,1\n{text},1\n")
        reader = session.read.schema("x double, y double").option("mode", "FAILFAST")
        asked = {"domain": gv.Domain({"x": (0, 4), "y": (0, 4)}), "budget": gv.Budget(1.0, 1e-6), "adaptive": False}
        with pytest.raises(SourceError, match="failed while it was summed by Spark") as caught:
            gv.release(reader.csv(str(folder / "rows.csv")), **asked)
        said.add(str(caught.value))
    assert len(said) == 1


def check_wrong_schema(session, files, folder):
    """It is named before a job starts."""
    frame = session.read.parquet(str(files))
    for source, message in (
        (frame.drop("age"), "no column 'age'"),
        (frame.withColumnRenamed("age", "y").withColumnRenamed("text", "age"), "Column 'age' has type string"),
        (frame.limit(0), "has no rows"),
    ):
        with pytest.raises(SourceError, match=message):
            gv.release(source, **CALLS["adaptive"])
    with pytest.raises(SourceError, match="must be a column of the engine's data frame"):
        gv.release(frame, **(CALLS["labels"] | {"labels": gv.Labels(["up"])}))


def check_columns_that_nobody_asked_for(session, files, folder):
    """Types without an Arrow type do no harm unless they are named; names with dots are names."""
    frame = session.read.parquet(str(files)).selectExpr(
        "*", "current_timestamp() ts", "interval '1' year span", "age as `a.ge`"
    )
    dotted = CALLS["labels"]["domain"]
    dotted = gv.Domain(columns=["a.ge", *dotted.columns[1:]], bounds=dotted.bounds, data_norm=dotted.data_norm)
    made = gv.release(frame, **(CALLS["labels"] | {"domain": dotted}))
    assert made.columns[0] == "a.ge"
    assert np.array_equal(made.second_moment, EXPECTED["labels"].second_moment)
    with pytest.raises(SourceError, match="Column 'ts' has type timestamp"):
        gv.release(
            frame,
            domain=gv.Domain(bounds={"ts": (0, 1)}),
            budget=gv.Budget(1.0, 1e-6),
            assume_centered=True,
            adaptive=False,
        )
    stream = session.readStream.format("rate").load()
    with pytest.raises(SourceError, match="is a stream"):
        gv.release(
            stream,
            domain=gv.Domain(bounds={"value": (0, 1)}),
            budget=gv.Budget(1.0, 1e-6),
            assume_centered=True,
            adaptive=False,
        )
    with pytest.raises(SourceError, match="Did you mean 'age'"):
        gv.release(
            frame,
            domain=gv.Domain(bounds={"AGE": (0, 1)}),
            budget=gv.Budget(1.0, 1e-6),
            assume_centered=True,
            adaptive=False,
        )


def faults():
    """What could become of the outcome of a partition, one of four; in here, so that executors get it by value."""

    def renumbered(row, part):
        from graphveil.engines.spark import _outcome, _row
        from graphveil.rows.partitions import PartitionSum

        (found,) = row.to_pylist()
        return _row(found["piece"], PartitionSum((part,), _outcome(found).words))

    return {
        "none": lambda part, rows: rows,
        "the last is lost": lambda part, rows: [] if part == 3 else rows,
        "one in the middle is lost": lambda part, rows: [] if part == 1 else rows,
        "all are lost": lambda part, rows: [],
        "one comes twice": lambda part, rows: [*rows, *rows] if part == 2 else rows,
        "one is invented": lambda part, rows: [*rows, *(renumbered(row, 4) for row in rows if part == 0)],
        "one stands for another": lambda part, rows: [
            *(row for row in rows if part != 3),
            *(renumbered(row, 3) for row in rows if part == 0),
        ],
    }


class Faulty:
    """A frame of a real session in which something becomes of what executors return."""

    def __init__(self, frame, fault):
        self.frame, self.fault = frame, fault

    def mapInArrow(self, function, schema):
        fault = self.fault

        def changed(batches):
            from pyspark import TaskContext

            yield from fault(TaskContext.get().partitionId(), list(function(batches)))

        return self.frame.mapInArrow(changed, schema)

    def __getattr__(self, name):
        return getattr(self.frame, name)


def check_faults(session, files, folder):
    """A lost, doubled or invented partition is noticed before anything is spent, in one round and in many."""
    for number, (start, end) in enumerate(pairwise([0, 500, 1200, 1900, 3000])):
        FRAME[start:end].to_parquet(folder / f"{number}.parquet")
    one_a_file = {"spark.sql.files.maxPartitionBytes": 2**20, "spark.sql.files.openCostInBytes": 2**20}
    for name, value in one_a_file.items():
        session.conf.set(name, value)
    frame = session.read.parquet(str(folder))
    narrowed = graphveil.engines.spark._select_columns
    for kind, fault in faults().items():
        for call in ["labels"] if kind != "the last is lost" else CALLS:
            ledger = Ledger()
            with pytest.MonkeyPatch.context() as patch:
                faulty = lambda *given, fault=fault: Faulty(narrowed(*given), fault)  # noqa: E731
                patch.setattr(graphveil.engines.spark, "_select_columns", faulty)
                if kind == "none":
                    assert_same_bits(frame, [call])
                    continue
                with pytest.raises(SourceError, match=r"The engine has lost|counted twice by the engine"):
                    gv.release(frame, ledger=ledger, dataset=kind, **CALLS[call])
            assert ledger.charged == []
    for name in one_a_file:
        session.conf.unset(name)


def check_groups(session, files, folder):
    """Rows of a level are picked where they are, whatever others there are; people are in two groups, or in none."""
    frame = session.read.parquet(str(files)).selectExpr("*", "case when d > 0 then label end some")
    asked = BY_PERSON["one round"] | {"by": {"some": ["up", "down"]}}
    made = gv.release(frame, **asked)
    assert made == gv.release(FRAME.assign(some=FRAME["label"].where(FRAME["d"] > 0)), **asked)
    assert made.event.groups_per_person == 2


def check_malformed_lines(session, files, folder):
    """A cell decides whether Spark drops its line, but not whether a release succeeds: the line counts nowhere."""
    lines = [f"{number % 5},{number % 7 - 3},{number},{'AB'[number % 2]}" for number in range(40)]
    table = pd.DataFrame([line.split(",") for line in lines], columns=["x", "y", "id", "g"])
    table = table.astype({"x": float, "y": float, "id": int})
    lines[20:20] = ["0,oops,99,A"]
    (folder / "rows.csv").write_text("\n".join(lines))
    reader = session.read.schema("x double, y double, id long, g string").option("mode", "DROPMALFORMED")
    frame = reader.csv(str(folder / "rows.csv"))
    bounds = {"x": (0, 4), "y": (-3, 3)}
    for domain in (
        gv.Domain(bounds),
        gv.Domain(bounds, person="id"),
        gv.Domain(bounds, person="id", neighbours="add-remove"),
    ):
        for by in ({}, {"by": {"g": ["A", "B"]}}):
            asked = {"domain": domain, "budget": gv.Budget(1.0, 1e-3), "adaptive": False, "random_state": 1} | by
            assert gv.release(frame, **asked) == gv.release(table, **asked)


CHECKS = [
    check_same_bits,
    check_malformed_lines,
    check_groups,
    check_faults,
    check_killed_executor,
    check_people,
    check_people_who_do_not_meet,
    check_ids_as_other_types,
    check_truncated_file,
    check_quoted_record,
    check_wrong_schema,
    check_columns_that_nobody_asked_for,
]


def test_a_cluster_from_end_to_end(session, files, tmp_path):
    """One test, so that one process of a parallel run starts one cluster."""
    for check in CHECKS:
        folder = tmp_path / check.__name__
        folder.mkdir()
        check(session, files, folder)


@pytest.mark.nightly
def test_people_in_every_round(session, files):
    assert_same_bits(session.read.parquet(str(files)), BY_PERSON)
    assert_same_bits(session.read.parquet(str(files)), WEIGHED)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["adaptive", "total", "within", "weighted people", "weighted rows, one round"])
def test_groups_in_every_round(session, files, name):
    asked = EVERY_CALL[name] | {"by": {"label": ["up", "down"]}}
    assert gv.release(session.read.parquet(str(files)), **asked) == gv.release(FRAME, **asked)


@pytest.mark.nightly
def test_types_of_columns_and_sums_in_many_pieces(session):
    """Casts as documented; the sums of 383 columns travel in two pieces."""
    values = np.random.default_rng(0).integers(0, 2, size=(40, 3))
    frame = session.createDataFrame([tuple(row) for row in values.tolist()], "a int, b int, c int").coalesce(1)
    more = [f"cast(a + {j} as float) x{j}" for j in range(380)]
    frame = frame.selectExpr("cast(a as boolean) a", "cast(b as decimal(9, 2)) b", "nullif(c, 0) c", *more)
    domain = gv.Domain(columns=["a", "b", "c", *(f"x{j}" for j in range(380))], bounds=(-1, 400))
    options = {"domain": domain, "budget": gv.Budget(1.0, 1e-6), "adaptive": False, "random_state": 0}
    with_nulls = np.where(values == 0, [0, 0, np.nan], values)
    wide = np.hstack([with_nulls, values[:, :1] + np.arange(380)])
    assert gv.release(frame, **options) == gv.release(wide, **options)


# ------------------------------------------------------------------ without a session
def test_pieces_are_added_by_number_and_partitions_count_once():
    def piece(number, part, word):
        return _row(number, PartitionSum((part,), np.array([word])))

    batches = [piece(0, 0, 1), piece(1, 0, 2), piece(0, 1, 10), piece(1, 1, 20)]
    found = {row["piece"]: _outcome(row) for batch in _adding(iter(batches)) for row in batch.to_pylist()}
    assert {number: (outcome.parts, outcome.words.tolist()) for number, outcome in found.items()} == {
        0: ((0, 1), [11]),
        1: ((0, 1), [22]),
    }
    twice = [_outcome(row) for batch in _adding(iter([*batches, piece(0, 1, 10)])) for row in batch.to_pylist()]
    assert "counted twice" in twice[0].refusal
