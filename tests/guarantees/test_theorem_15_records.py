"""Theorem 15: what a record becomes depends on its own bytes alone, for every cut of a file, and n on none of them."""

import csv
import io
import random
import re
import time

import numpy as np
import pytest

import graphveil as gv
from graphveil.rows import csv_text
from graphveil.rows.arrow import Selection
from graphveil.rows.csv_text import CsvText, _Reader, _whole_records
from graphveil.spec.rounding import sqrt_round_up
from helpers.exact_sums import exact_sums, exact_total

NAMES = ["a", "x", "b"]
MARK = b"\xef\xbb\xbf"
# Bytes that some reader somewhere treats in a way of its own.
NUMBERS = b"1|2.5|-3e2|+4|0|17e|E5|-|.|1e400|1e-400|12345678901234567890|0.1000000000000000055511151231257827|1,5|1 000"
WORDS = b"nan|NA|inf|infinity|true|0x1|x|#|'|\\|"
MARKS = [
    b" ",
    b"\t",
    b",",
    b";",
    b'"',
    b'""',
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\r",
    b"\x00",
    b"\x1a",
    b"\x0b",
    b"\x0c",
    b"\xff",
]
UNICODE = [b"\x0b", b"\xc3\xa9", b"\xe2\x80\xa8", b"\xc2\x85", b"\xc2\xa0", MARK, b"\xef\xbb", b"\xef", b"\xfe\xff"]
TOKENS = [*NUMBERS.split(b"|"), *WORDS.split(b"|"), *MARKS, *UNICODE]


def reader(separator, labelled):
    labels = gv.Labels(["x", "", "1", "#"], column="x") if labelled else None
    return _Reader(NAMES, Selection(NAMES, gv.Domain(columns=["a", "b"], bounds=(-9, 9)), labels), separator)


def rows_of(read, block):
    """Rows and class numbers of whole records, as bytes: NaN and signs of zero included."""
    found = [*read(block)]
    return b"".join(rows.tobytes() for rows, _ in found), b"".join(c.tobytes() for _, c in found if c is not None)


def records_of(blocks, separator):
    """The records, one by one: what is left when each block is cut at its last record, again and again."""
    for block in blocks:
        while block:
            first, _, _ = csv_text._cut(block, separator, csv_text.AT_CELL)
            assert first > 0, "a block of whole records begins with one"
            yield block[:first]
            block = block[first:]


def cell(draw):
    return b"".join(draw.choice(TOKENS) for _ in range(draw.choice((0, 1, 1, 1, 2, 3))))


def conforming(draw, separator):
    """A record as a writer of RFC 4180 writes it: cells that need quotation marks have them, others may."""
    cells = []
    for _ in NAMES:
        text = cell(draw)
        needs = any(mark in text for mark in (b'"', b"\n", b"\r", separator))
        cells.append(b'"' + text.replace(b'"', b'""') + b'"' if needs or draw.random() < 0.1 else text)
    return separator.join(cells) + draw.choice((b"\n", b"\r\n"))


def arbitrary(draw, separator):
    """Bytes that no writer wrote as a record: cells with bare marks and line ends, too many or too few of them."""
    cells = (cell(draw) for _ in range(draw.choice((1, 2, 3, 3, 3, 4))))
    return separator.join(cells) + draw.choice((b"\n", b"\r\n", b""))


def chunked(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


def check_blocks(seed, cases, write):
    """Rows of blocks are the rows of their records, alone, in any company, and for any size of chunks."""
    draw, n_records = random.Random(seed), 0
    for _ in range(cases):
        separator = draw.choice((",", ";", "\t"))
        read = reader(separator, labelled=draw.random() < 0.3).read
        written = [write(draw, separator.encode()) for _ in range(draw.randint(1, 5))]
        data = b"".join(written)
        blocks = [*_whole_records(data, iter([]), separator)]
        records = [*records_of(blocks, separator)]
        if write is conforming:
            assert records == written
        whole = rows_of(read, b"".join(records))
        alone = [rows_of(read, record) for record in records]
        assert whole == tuple(b"".join(found[i] for found in alone) for i in (0, 1))
        size = draw.choice((1, 2, 3, 7, 20))
        again = [*records_of(_whole_records(b"", iter(chunked(data, size)), separator), separator)]
        assert again == records
        cut = draw.randint(0, len(records))
        assert b"".join(rows_of(read, b"".join(part))[0] for part in (records[:cut], records[cut:])) == whole[0]
        n_records += len(records)
    assert n_records > cases
    return n_records


@pytest.mark.parametrize("write", [conforming, arbitrary])
@pytest.mark.parametrize("seed", range(4))
def test_the_rows_of_a_block_are_the_rows_of_its_records(seed, write):
    """4 × 2 × 6,500 blocks, with 156,000 records; always the same ones."""
    check_blocks(seed, 6500, write)


@pytest.mark.nightly
@pytest.mark.parametrize("write", [conforming, arbitrary])
def test_the_rows_of_a_block_are_the_rows_of_its_records_at_length(write):
    """A million records that were never tried before."""
    seed = time.time_ns()
    assert check_blocks(seed, 200_000, write) > 500_000, seed


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)


def value(cell, separator):
    """What a cell says, by regular expressions and Python's own conversion."""
    text = cell.strip(" \t")
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if separator != "," and text.count(",") <= 1 and not ("." in text and "," in text):
        text = text.replace(",", ".")
    return float(text) if NUMBER.fullmatch(text) else np.nan


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_conforming_records_are_read_as_another_reader_reads_them(separator):
    """Python's csv module, which shares no code with ours: the same records, the same cells, the same numbers."""
    draw = random.Random(15)
    data = b"".join(conforming(draw, separator.encode()) for _ in range(30_000))
    records = csv.reader(io.StringIO(data.decode("latin-1"), newline=""), delimiter=separator, strict=True)
    expected = [[value(first, separator), value(last, separator)] for first, _, last in records]
    found = np.concatenate([rows for rows, _ in reader(separator, False).read(data)])
    np.testing.assert_array_equal(found, expected)


def test_replacing_a_conforming_record_moves_no_other(tmp_path):
    """Files that differ in one record: the other rows are the same, n too; the text of a note adds no record."""
    draw = random.Random(0)
    for _ in range(300):
        before, after = ([conforming(draw, b",") for _ in range(k)] for k in (draw.randint(0, 4), draw.randint(0, 4)))
        found = []
        for _ in range(2):
            record = conforming(draw, b",")
            blocks = _whole_records(b"".join([*before, record, *after]), iter([]), ",")
            rows = np.concatenate([rows for block in blocks for rows, _ in reader(",", False).read(block)])
            assert len(rows) == len(before) + 1 + len(after)
            found.append(np.delete(rows, len(before), axis=0))
        np.testing.assert_array_equal(*found)


# ------------------------------------------------------------------ how it was broken
SMALL = gv.Domain(columns=["a"], bounds=(-1, 1))


def move(tmp_path, *files):
    """How far the exact moments of two files are apart, in sensitivities of one record; n must be the same."""
    found = []
    for number, content in enumerate(files):
        (tmp_path / f"{number}.csv").write_bytes(content)
        found.append(exact_sums(tmp_path / f"{number}.csv", SMALL, lambda e: [])[0])
    assert found[0] == found[1]
    one, other = (int(exact_total(tmp_path / f"{number}.csv", SMALL)[0, 0]) for number in (0, 1))
    bound = sqrt_round_up(2 * (2**40) ** 2)  # of (moment, trace) on the lattice: √2 B²
    return abs(one - other) * np.sqrt(2) / bound


def test_a_longer_spelling_does_not_shift_byte_order_marks_to_the_start_of_a_buffer(tmp_path):
    """Records that begin with a mark stood at multiples of the block size in one file, and after them in the other."""
    block, victim = csv_text._BLOCK, MARK + b"1\n"
    shift, short = 512, b"0\n"
    long = b"0." + b"0" * (shift + 2 - 3) + b"\n"
    parts, size = [b"a\n", long], 2 + len(long)
    for k in range(1, 5):
        room = k * block - size
        parts += [b"0." + b"0" * (room // 2 - 3) + b"\n", b"0." + b"0" * (room - room // 2 - 3) + b"\n", victim]
        size = k * block + len(victim)
    parts.append(b"0\n")
    assert len(long) - len(short) == shift
    assert move(tmp_path, b"".join(parts), b"".join([parts[0], short, *parts[2:]])) == 0.0


@pytest.mark.parametrize("odd", [b"0,0\n", b"x\n", MARK + b"0\n", b'"0\n"\n', b"0\x00\n", b"\r\r\n"])
def test_an_odd_record_does_not_change_how_others_are_read(tmp_path, odd):
    """Every other record begins with a mark, so that wherever a reader starts again it starts with one."""
    records = [MARK + b"1\n", b"0\n"] * 5000
    changed = [*records]
    changed[3333] = odd
    assert move(tmp_path, b"a\n" + b"".join(records), b"a\n" + b"".join(changed)) <= 1.0


def test_a_missing_value_of_the_only_column_is_a_record(tmp_path):
    records = [b"%d\n" % (i % 2) for i in range(3000)]
    for missing in (b"\n", b'""\n', b"\r\n", b"NA\n"):
        changed = [*records]
        changed[7] = missing
        assert move(tmp_path, b"a\n" + b"".join(records), b"a\n" + b"".join(changed)) <= 1.0


def test_a_note_with_line_breaks_in_a_column_that_nobody_asked_for_is_one_record(tmp_path):
    found = []
    for note in ("ok", "felt ill\nsaw Dr B\n70,60,x\n70,60,x\n70,60,x", 'said "no"\r\n', '"', "\n", MARK.decode()):
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(["age", "bmi", "note"])
        writer.writerows([40 + i % 20, 25, note if i == 1234 else "ok"] for i in range(3000))
        (tmp_path / "visits.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
        domain = gv.Domain(bounds={"age": (0, 110), "bmi": (10, 60)})
        n_rows, _, _, _ = exact_sums(tmp_path / "visits.csv", domain, lambda e: [])
        found.append((n_rows, exact_total(tmp_path / "visits.csv", domain).tolist()))
    assert found[0][0] == 3000
    assert all(other == found[0] for other in found)


# ------------------------------------------------------------------ writers
NOTES = [
    "",
    "plain",
    "a,b",
    'say "a"',
    '"',
    '""',
    "one\ntwo",
    "one\r\ntwo\rthree",
    "\n",
    "7,8,9\n7,8,9",
    " blank ",
    "tab\tbed",
    "semi;colon",
    "\ufeff1",
    "é\u2028\u0085",
    "'",
    "\\",
    "\\N",
    "#",
    "=1+1",
    None,
]
TABLE = {"age": [20.5 + i for i in range(len(NOTES))], "note": NOTES, "bmi": [30.25 - i for i in range(len(NOTES))]}


def python_writer(path, frame):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([frame.columns, *frame.itertuples(index=False)])


def python_excel_tab(path, frame):
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, "excel-tab", quoting=csv.QUOTE_ALL).writerows([frame.columns, *frame.itertuples(index=False)])


def pandas_writer(path, frame):
    frame.to_csv(path, index=False)


def pandas_european(path, frame):
    frame.to_csv(path, index=False, sep=";", decimal=",")


def polars_writer(path, frame):
    import polars

    polars.DataFrame({name: frame[name].tolist() for name in frame}).write_csv(path)


def arrow_writer(path, frame):
    import pyarrow.csv

    pyarrow.csv.write_csv(pyarrow.table({name: frame[name].tolist() for name in frame}), path)


def duckdb_writer(path, frame):
    import duckdb

    with duckdb.connect() as connection:
        connection.register("visits", frame)
        connection.execute(f"copy visits to '{path}' (header)")


def postgres_writer(path, frame, server):
    import psycopg

    with psycopg.connect(server.new_schema()) as connection, path.open("wb") as file:
        connection.execute("create table visits (age float8, note text, bmi float8)")
        with connection.cursor() as cursor:
            cursor.executemany("insert into visits values (%s, %s, %s)", [*frame.itertuples(index=False)])
            with cursor.copy("copy visits to stdout (format csv, header)") as copy:
                for part in copy:
                    file.write(part)


WRITERS = [
    python_writer,
    python_excel_tab,
    pandas_writer,
    pandas_european,
    polars_writer,
    arrow_writer,
    duckdb_writer,
    postgres_writer,
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("block", [3, 2**22])
def test_what_a_writer_wrote_as_a_record_is_one(write, block, tmp_path, monkeypatch, request):
    """Notes with every kind of break: as many records as were written, with the numbers that were written."""
    import pandas as pd

    frame, path = pd.DataFrame(TABLE).astype({"note": object}), tmp_path / "visits.csv"
    frame.loc[len(NOTES) - 1, "note"] = None
    write(path, frame, *([request.getfixturevalue("postgres")] if write is postgres_writer else []))
    monkeypatch.setattr(csv_text, "_BLOCK", block)
    source = CsvText(lambda: path.open("rb"), "visits.csv")
    selection = Selection(source.names(), gv.Domain(columns=["age", "bmi"], bounds=(0, 99)), None)
    rows = np.concatenate([rows for part in source.iter_tasks(selection) for rows, _ in part()])
    np.testing.assert_array_equal(rows, np.column_stack([TABLE["age"], TABLE["bmi"]]))
    assert source.count() == len(NOTES)
