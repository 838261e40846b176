"""Spark data frames: ``mapInArrow`` sums every partition, and a shuffle of pieces adds the sums.

The words of a partition are cut into pieces. All pieces of one number meet on one executor, so that executors share the
addition, and the driver receives each piece once: p² numbers, however many partitions there are.

With a person column, another shuffle brings all rows of a person into one partition first. Ids travel in it, and
nowhere else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.group_rows import number_groups
from graphveil.rows.ids import write_ids
from graphveil.rows.parallel import as_floats
from graphveil.rows.partitions import Partitions, PartitionSum, PartitionTask, add_sums
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.rows.sources import open_batch
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping

if TYPE_CHECKING:
    from pyarrow import RecordBatch

__all__ = ["SparkPartitions"]

_PIECE = 2**17  # words: 1 MB
_COUNTING = "counted by Spark, whose own log says more"
_COLUMNS = "piece int, parts binary, words binary, refusal string"


class SparkPartitions(Partitions):
    """The partitions of a Spark data frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Its plan must give the same rows every time. ``graphveil`` must be installed where its executors run.
    domain : Domain
    labels : Labels or None
        With a column.
    by : Grouping or None
        The column of levels that makes groups.
    """

    knows_count = True  # Spark counts rows without Python

    def __init__(self, frame: Any, domain: Domain, labels: Labels | None, by: Grouping | None = None) -> None:
        if getattr(frame, "isStreaming", False):
            raise SourceError("This Spark frame is a stream, which never ends. Write it to a table, and release that.")
        reading = domain if by is None else by.as_column_of(domain)
        opened = open_batch(call_sanitized(lambda: _empty(frame), "opened"), reading, labels)
        assert opened is not None  # a table is a frame
        self.match(opened, domain, by)
        beside = domain.person if labels is None else labels.column
        wanted = [*(opened.columns or ()), *([] if beside is None else [beside])]
        # Executors know the columns by number: Spark does not find all names that it allows (those with dots).
        numbers = [str(number) for number in range(len(wanted))]
        matched = reading.resolve(opened.columns, opened.n_features)
        person = None if domain.person is None else numbers[-1]
        self.reading = replace(matched.rename_source_columns(tuple(numbers[: opened.n_features])), person=person)
        self.labels = None if labels is None else replace(labels, column=numbers[-1])
        rows = self._frame = self._counted = call_sanitized(lambda: _select_columns(frame, wanted, numbers), "opened")
        self._kept = getattr(frame, "is_cached", False)
        if person is not None:
            self._counted = call_sanitized(lambda: _with_exact_ids(self._frame, person), "opened")
            self._frame = call_sanitized(lambda: _bring_together(self._counted, person), "opened")
            self._kept = False  # what the caller keeps is not yet by person
        self._rows, self._ids = (
            call_sanitized(partial(_reading_every_column, read), "opened") for read in (rows, self._counted)
        )
        self._n_rows: int | None = None  # once counted
        self._n_people: int | None = None

    def run(self, work: PartitionTask) -> tuple[PartitionSum, int]:
        """One job of two stages: sum partitions, add pieces. Rows are counted by another, once, without any Python."""

        def total() -> list[Any]:
            # Spark broadcasts a function of more than 1 MB by itself, with the integer matrix that it holds.
            sums = self._frame.mapInArrow(_summing(work), _COLUMNS)
            pieces = -(-work.size // _PIECE)
            return list(sums.repartition(pieces, "piece").mapInArrow(_adding, _COLUMNS).toArrow().to_pylist())

        pieces: dict[int, list[PartitionSum]] = {}
        rows = call_sanitized(
            partial(_unless_missing, total, self._frame.sparkSession), "summed by Spark, whose own log says more"
        )
        if rows is None:
            raise SourceError(
                "graphveil is not installed where Spark's executors run Python. Install it there, or point "
                "spark.pyspark.python (PYSPARK_PYTHON) to an environment that has it."
            )
        for row in rows:
            pieces.setdefault(row["piece"], []).append(_outcome(row))
        # A piece whose parts are not those of the others would be a partition that was lost, or counted twice.
        added = [add_sums(pieces[number]) for number in sorted(pieces)]
        refused = next((piece for piece in added if piece.refusal is not None), None)
        if refused is not None:
            return refused, 0
        if not added:
            return PartitionSum((), np.zeros(work.size, dtype=np.int64)), self.count()
        if any(piece.parts != added[0].parts for piece in added):
            return PartitionSum((), added[0].words, "The engine has lost a part of a sum."), 0
        return PartitionSum(added[0].parts, np.concatenate([piece.words for piece in added])), self.count()

    def count(self) -> int:
        """Number of rows, counted by Spark itself."""
        if self._n_rows is None:
            self._n_rows = int(call_sanitized(self._rows.count, _COUNTING))
        return self._n_rows

    def count_people(self) -> int:
        """Number of different ids, in each group, counted by Spark itself before rows are brought together."""
        if self._n_people is None:
            ids = self._ids.select(self.reading.person)
            if self.marks:
                pick = _picking(replace(self.reading, person=None), str(self.reading.person), self.place, self.marks)
                ids = self._counted.mapInArrow(pick, ids.schema.add("group", "long"))
            different = ids.distinct()  # one of them null, if there are any
            self._n_people = int(call_sanitized(different.count, _COUNTING))
        return self._n_people

    @contextmanager
    def cached(self) -> Iterator[None]:
        """Let executors keep in memory what fits, and read the rest again."""
        from pyspark import StorageLevel

        if self._kept:
            yield
            return
        call_sanitized(lambda: self._frame.persist(StorageLevel.MEMORY_ONLY), "opened")
        try:
            yield
        finally:
            with suppress(SourceError):  # the rows were read, or another error says why not
                call_sanitized(self._frame.unpersist, "closed")


def _empty(frame: Any) -> Any:
    """A table without rows that has the schema."""
    import pyarrow as pa

    return pa.schema([(field.name, _arrow_type(field.dataType)) for field in frame.schema.fields]).empty_table()


def _arrow_type(kind: Any) -> Any:
    """The type that a column has in Arrow; some (timestamps, intervals) have none without settings of a session."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind)
    except Exception:
        return pa.timestamp("us") if "timestamp" in kind.typeName() else pa.duration("us")


def _select_columns(frame: Any, wanted: list[str], numbers: list[str]) -> Any:
    quoted = ["`" + name.replace("`", "``") + "`" for name in wanted]
    return frame.select(*quoted).toDF(*numbers)


def _reading_every_column(frame: Any) -> Any:
    """The same rows; whoever counts them reads every cell, as whoever sums them does.

    Spark leaves out what is not asked for, and then does not notice that a line of a text file is malformed: it would
    count a line that it drops when it is read, and that cell would decide whether a release succeeds.
    """
    from pyspark.sql import functions as f

    return frame.where(f.pmod(f.xxhash64(*frame.columns), f.lit(2)) < 2)


def _with_exact_ids(frame: Any, person: str) -> Any:
    """Ids in the form in which they are compared; null for what is nobody's, so that all of nobody's rows meet."""
    from pyspark.sql.types import BinaryType, IntegralType, StructField, StructType

    if isinstance(frame.schema[person].dataType, IntegralType):
        return frame

    def rewrite(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        for batch in batches:
            place = batch.schema.get_field_index(person)
            yield batch.set_column(place, person, write_ids(batch.column(place)))

    fields = [field if field.name != person else StructField(person, BinaryType()) for field in frame.schema.fields]
    return frame.mapInArrow(rewrite, StructType(fields))


def _bring_together(frame: Any, person: str) -> Any:
    """All rows of a person in one partition, and all rows without an id in one."""
    return frame.repartition(person)


def _unless_missing(job: Callable[[], list[Any]], session: Any) -> list[Any] | None:
    """What a job returns, or None if it fails because executors lack this package.

    What the error says is not looked at: it may quote a record, which would then choose our words.
    """
    try:
        return job()
    except Exception:
        if _is_missing(session):
            return None
        raise


def _is_missing(session: Any) -> bool:
    """Whether executors lack this package; a job without records tells."""

    def look(
        batches: "Iterator[RecordBatch]",
    ) -> "Iterator[RecordBatch]":  # travels as it is, and needs no import of us
        from importlib import import_module

        import pyarrow as pa

        for _ in batches:
            pass
        missing = False
        try:
            import_module("graphveil")
        except ImportError:
            missing = True
        yield pa.record_batch([pa.array([missing])], names=["missing"])

    with suppress(Exception):
        return any(row["missing"] for row in session.range(0, 1, 1, 1).mapInArrow(look, "missing boolean").collect())
    return False


def _summing(work: PartitionTask) -> "Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]":
    """What an executor does with a partition."""

    def sum_partition(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None  # this runs on an executor
        outcome = work(task.partitionId(), batches)
        for _ in batches:  # what was refused half-way is read to its end, as Spark wants it
            pass
        for number in range(max(1, -(-outcome.words.size // _PIECE))):
            words = outcome.words[number * _PIECE : (number + 1) * _PIECE]
            yield _row(number, PartitionSum(outcome.parts, words, outcome.refusal))

    return sum_partition


def _picking(
    reading: Domain, person: str, place: int, marks: tuple[float, ...]
) -> "Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]":
    """Ids and groups of the rows that are in some group."""

    def pick_ids(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            codes = [np.zeros(0, dtype=np.intp)]
            with suppress(Exception):  # Spark logs what is raised; the pass that counts rows says why
                opened = open_batch(batch, reading, None)
                assert opened is not None
                codes += [number_groups(as_floats(rows)[:, place], marks) for rows, _ in opened.read()]
            found = np.concatenate(codes)
            ids = batch.column(person).slice(0, len(found)).filter(pa.array(found >= 0))
            yield pa.record_batch([ids, pa.array(found[found >= 0], pa.int64())], names=[person, "group"])

    return pick_ids


def _adding(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
    """Add the pieces of one number, one after the other."""
    total: dict[int, PartitionSum] = {}
    for batch in batches:
        for row in batch.to_pylist():
            before = [total[row["piece"]]] if row["piece"] in total else []
            total[row["piece"]] = add_sums([*before, _outcome(row)])
    for number, outcome in total.items():
        yield _row(number, outcome)


def _row(number: int, outcome: PartitionSum) -> "RecordBatch":
    import pyarrow as pa

    parts = np.asarray(outcome.parts, dtype=np.int64).tobytes()
    values = [[number], [parts], [outcome.words.tobytes()], [outcome.refusal]]
    kinds = [pa.int32(), pa.binary(), pa.binary(), pa.string()]
    names = ["piece", "parts", "words", "refusal"]
    return pa.record_batch([pa.array(v, kind) for v, kind in zip(values, kinds, strict=True)], names=names)


def _outcome(row: dict[str, Any]) -> PartitionSum:
    parts = tuple(np.frombuffer(row["parts"], dtype=np.int64).tolist())
    return PartitionSum(parts, np.frombuffer(row["words"], dtype=np.int64), row["refusal"])
