"""CSV: every line is one record and depends on itself alone, and what pyarrow says about a cell is never repeated."""

import logging

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.rows import lines
from graphveil.rows.arrow import Selection
from graphveil.rows.lines import Lines
from support import everything_said

DOMAIN = gv.Domain(columns=["a", "b"], bounds=(-9, 9))


def parsed(text, labels=None, separator=b","):
    """Rows of lines below the names a, x, b."""
    content = separator.join([b"a", b"x", b"b"]) + b"\n" + text
    source = Lines(lambda: pa.BufferReader(content), "f")
    blocks = [block for part in source.fetch(Selection(source.names(), DOMAIN, labels)) for block in part()]
    rows = np.concatenate([rows for rows, _ in blocks]) if blocks else np.empty((0, 2))
    assert source.count() == len(rows)
    return rows


CELLS = {
    "1.5": 1.5,
    " -2\t": -2.0,
    "+3": 3.0,
    "1e2": 100.0,
    ".5": 0.5,
    "7.": 7.0,
    "inf": np.inf,
    "-Infinity": -np.inf,
    "1e999": np.inf,
    "1e-999": 0.0,
    '"4"': 4.0,
    "": np.nan,
    "NA": np.nan,
    "nan": np.nan,
    "nan(1)": np.nan,
    "true": 1.0,
    "FALSE": 0.0,
    " True ": 1.0,
    "truest": np.nan,
    "t": np.nan,
    "0x10": np.nan,
    "1_000": np.nan,
    '"1,000"': np.nan,
    "1e": np.nan,
    "²": np.nan,
    "\x00": np.nan,
    "12 kg": np.nan,
    "2020-01-01": np.nan,
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_a_number_or_nan(cell):
    rows = parsed(f"{cell},t,1\n2,t,{cell}\n".encode())
    np.testing.assert_array_equal(rows, [[CELLS[cell], 1.0], [2.0, CELLS[cell]]])


EUROPEAN = {
    "1,5": 1.5,
    "1.5": 1.5,
    " -2,25\t": -2.25,
    "1,5e2": 150.0,
    ",5": 0.5,
    "7,": 7.0,
    "True": 1.0,
    "1.234,5": np.nan,
    "1,234,5": np.nan,
    "n/a": np.nan,
}


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("cell", EUROPEAN)
def test_the_names_say_what_separates_and_then_a_comma_is_a_decimal_point(cell, separator):
    text = "{0}{1}t{1}1\n2{1}t{1}{0}\n".format(f'"{cell}"' if separator in cell else cell, separator)
    rows = parsed(text.encode(), separator=separator.encode())
    np.testing.assert_array_equal(rows, [[EUROPEAN[cell], 1.0], [2.0, EUROPEAN[cell]]])


def test_names_with_separators_inside_quotation_marks():
    assert lines._separator(b'"a;b;c;d",e\n') == ","
    assert lines._separator(b'"a,b,c";d\n') == ";"
    assert lines._separator(b"alone\n") == ","


CELL = st.one_of(
    st.sampled_from([cell.encode() for cell in CELLS]),
    st.floats().map(lambda value: repr(value).encode()),
    st.text("0123456789+-.,eEinfatyINF _\"'xé\t", max_size=8).map(str.encode),
)
LINE = st.one_of(
    st.lists(CELL, min_size=3, max_size=3).map(b",".join),
    st.lists(CELL, max_size=5).map(b",".join),
    st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")),
    st.sampled_from([b"", b"\r", b"\r\r", b'"', b'x",1,"a', b"1\r2,t,3", b'1,"t,2', b"1,t,2\r", b"1,\xff,2", b" "]),
)


@settings(max_examples=150)
@given(st.lists(LINE, max_size=8))
def test_every_line_is_one_record_and_depends_on_itself_alone(texts):
    """Together, alone, and beside others: the same bits; only blank lines are none."""
    records = [text for text in texts if text.strip(b"\r")]
    together = parsed(b"".join(text + b"\n" for text in texts))
    assert len(together) == len(records)
    for row, text in zip(together, records, strict=True):
        np.testing.assert_array_equal(row, parsed(text + b"\n")[0])
        np.testing.assert_array_equal(row, parsed(b"1,t,2\n" + text + b"\n?,t,?\n")[1])


@settings(max_examples=300)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6), st.sampled_from([b",", b";", b"\t"]))
def test_patience_changes_no_bit(cells, separator):
    """What pyarrow parses as a number by itself is the same number where a neighbour makes it parse bytes."""
    text = b"".join(separator.join([one, b"t", other]) + b"\n" for one, other in cells)
    parser = lines._Parser(["a", "x", "b"], Selection(["a", "x", "b"], DOMAIN, None), separator.decode())
    comma = separator != b","
    *fast, slow = (parser._table(text, decimal) for decimal in (*parser._decimals, None))
    for quick in fast:
        if quick is not None and slow is not None and quick.num_rows == slow.num_rows:
            for one, other in zip(quick.columns, slow.columns, strict=True):
                np.testing.assert_array_equal(lines._numbers(one, comma), lines._numbers(other, comma))


def test_blocks_end_where_lines_end(monkeypatch):
    text = b"".join(b"%d,t,%d\r\n" % (i % 10, i % 7) for i in range(500))
    expected = [[i % 10, i % 7] for i in range(500)]
    for size in (1, 7, 64, 2**20):
        monkeypatch.setattr(lines, "_BLOCK", size)
        np.testing.assert_array_equal(parsed(text), expected)
        np.testing.assert_array_equal(parsed(text.rstrip()), expected)


def test_long_lines_and_a_byte_order_mark(monkeypatch):
    monkeypatch.setattr(lines, "_CACHED", 50)
    long = b"1," + b"t" * 500 + b",2\n"
    np.testing.assert_array_equal(parsed(long + b"3,t,4\n"), [[1, 2], [3, 4]])
    marked = Lines(lambda: pa.BufferReader(b"\xef\xbb\xbfa,b\n1,2\n"), "f")
    assert marked.names() == ["a", "b"]
    assert Lines(lambda: pa.BufferReader(b"\xef\xbb\xbfa,b"), "f").names() == ["a", "b"]
    monkeypatch.setattr(lines, "_LONGEST", 100)
    monkeypatch.setattr(lines, "_BLOCK", 64)
    with pytest.raises(gv.exceptions.SourceError, match="The first line of the file 'f' has more than 100 bytes"):
        Lines(lambda: pa.BufferReader(b"a" * 300), "f").names()


@pytest.mark.parametrize("block", [1, 7, 64, 100])  # never more than the longest line
@pytest.mark.parametrize("before", range(0, 60, 7))
def test_a_line_that_is_too_long_is_a_record_without_numbers(monkeypatch, block, before):
    """Whether a release succeeds does not depend on a line, and what it becomes does not depend on its neighbours."""
    monkeypatch.setattr(lines, "_LONGEST", 100)
    monkeypatch.setattr(lines, "_BLOCK", block)
    first = b"1," + b"t" * before + b",2\n"
    fits, too_long = b"3," + b"t" * 95 + b",4\n", b"3," + b"t" * 97 + b",4\n"
    assert (len(fits), len(too_long)) == (100, 102)  # with their ends
    nothing = [np.nan, np.nan]
    for text, expected in (
        (first + fits + b"5,t,6\n", [[1, 2], [3, 4], [5, 6]]),
        (first + too_long + b"5,t,6\n", [[1, 2], nothing, [5, 6]]),
        (first + too_long * 2 + b"5,t,6\n" + too_long, [[1, 2], nothing, nothing, [5, 6], nothing]),
        (first + too_long[:-1], [[1, 2], nothing]),
        (first + b"7" * 1000, [[1, 2], nothing]),
    ):
        np.testing.assert_array_equal(parsed(text), expected)


def test_no_cell_is_ever_quoted(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    canary = "".join(["27", "18", "28"])
    path = tmp_path / "r.csv"
    said = ""
    for bad in (
        f"{canary}x,t,1",
        f"{canary}",
        f'"{canary},t,1',
        f"{canary},{canary},{canary},{canary}",
        f"\xff{canary}",
    ):
        path.write_bytes(b"a,x,b\n1,t,2\n" + bad.encode("latin-1") + b"\n")
        made = gv.release(path, domain=DOMAIN, budget=gv.Budget(1.0, 1e-3), random_state=0)
        assert made.n_samples == 2
        path.write_bytes(bad.encode("latin-1") + b"\n1,t,2\n")  # no names at all
        with pytest.raises(gv.exceptions.SourceError) as caught:
            gv.release(path, domain=DOMAIN, budget=gv.Budget(1.0, 1e-3))
        said += everything_said(caught.value)
    out, err = capfd.readouterr()
    assert canary not in said + out + err + caplog.text
