"""CSV: what a cell, a record and a line of names mean, and that none of them is ever quoted."""

import logging

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.rows import csv_text
from graphveil.rows.arrow import Selection
from graphveil.rows.csv_kernels import cut_records
from graphveil.rows.csv_text import CsvText
from helpers.exact_sums import everything_said

DOMAIN = gv.Domain(columns=["a", "b"], bounds=(-9, 9))


def parsed(text, labels=None, separator=b","):
    """Rows of lines below the names a, x, b."""
    content = separator.join([b"a", b"x", b"b"]) + b"\n" + text
    source = CsvText(lambda: pa.BufferReader(content), "f")
    blocks = [block for part in source.iter_tasks(Selection(source.names(), DOMAIN, labels)) for block in part()]
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
    '"1,000"': 1000.0,
    '"-12,345,678.25"': -12345678.25,
    '"1,00"': np.nan,
    '"1000,000"': np.nan,
    '"0,125"': np.nan,
    '"1,,000"': np.nan,
    '"1,000.5.5"': np.nan,
    '"1,000e3"': np.nan,
    '"123,456,789,012,345,678"': np.nan,
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
    "1.234,5": 1234.5,
    "1.234.567": 1234567.0,
    "1.234": 1.234,
    "1.23,5": np.nan,
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
    assert csv_text._separator(b'"a;b;c;d",e\n') == ","
    assert csv_text._separator(b'"a,b,c";d\n') == ";"
    assert csv_text._separator(b"alone\n") == ","


DECIMAL = st.from_regex(r"[-+]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][-+]?[0-9]{1,4})?", fullmatch=True)


@settings(max_examples=400)  # of six numbers on average: a list is made as fast as a number
@given(
    st.lists(st.one_of(DECIMAL, st.floats(allow_nan=False).map(repr)), min_size=1), st.sampled_from([",", ";", "\t"])
)
def test_numbers_are_the_nearest_floats(texts, separator):
    """The same bits as Python's own conversion, whatever the number of digits and the exponent."""
    written = [text if separator == "," else text.replace(".", ",") for text in texts]
    rows = parsed(
        "".join(f"{text}{separator}t{separator}7\n" for text in written).encode(), separator=separator.encode()
    )
    assert rows.tobytes() == np.array([[float(text), 7.0] for text in texts]).tobytes()


def test_numbers_at_the_edge_of_what_is_computed_at_once():
    """2⁵³, 10²², 19 and more digits, halves between two floats, and trailing zeros."""
    edges = [2**53 + k for k in range(-3, 4)] + [10**k + j for k in range(15, 24) for j in (-1, 0, 1)]
    texts = [f"{edge}{tail}" for edge in edges for tail in ("", ".0", "e22", "e-22", "e23", "e-23", "0" * 5, ".5")]
    texts += ["0" * 30 + "1", "0." + "0" * 30 + "1", "0e999999999999", "-0.0", "1e-22", "9007199254740993e-1"]
    rows = parsed("".join(f"{text},t,-{text}\n" for text in texts).encode())
    expected = [[float(text), float("-" + text) if text[0] != "-" else np.nan] for text in texts]
    np.testing.assert_array_equal(rows, expected)


def test_blocks_end_where_lines_end(monkeypatch):
    text = b"".join(b"%d,t,%d\r\n" % (i % 10, i % 7) for i in range(500))
    expected = [[i % 10, i % 7] for i in range(500)]
    for size in (1, 7, 64, 2**20):
        monkeypatch.setattr(csv_text, "_BLOCK", size)
        np.testing.assert_array_equal(parsed(text), expected)
        np.testing.assert_array_equal(parsed(text.rstrip()), expected)


def test_a_byte_order_mark_and_a_line_of_names_without_an_end(monkeypatch):
    marked = CsvText(lambda: pa.BufferReader(b"\xef\xbb\xbfa,b\n1,2\n"), "f")
    assert marked.names() == ["a", "b"]
    assert CsvText(lambda: pa.BufferReader(b"\xef\xbb\xbfa,b"), "f").names() == ["a", "b"]
    monkeypatch.setattr(csv_text, "_LONGEST", 100)
    monkeypatch.setattr(csv_text, "_BLOCK", 64)
    with pytest.raises(gv.exceptions.SourceError, match="Its first line has more than 100 bytes"):
        CsvText(lambda: pa.BufferReader(b"a" * 300), "f").names()


@pytest.mark.parametrize("block", [1, 7, 64, 100])  # never more than the longest line
@pytest.mark.parametrize("before", range(0, 60, 7))
def test_a_line_that_is_too_long_is_a_record_without_numbers(monkeypatch, block, before):
    """Whether a release succeeds does not depend on a line, and what it becomes does not depend on its neighbours."""
    monkeypatch.setattr(csv_text, "_LONGEST", 100)
    monkeypatch.setattr(csv_text, "_BLOCK", block)
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


SHAPES = {
    "1,t,2\n": [1, 2],
    "1,t,2\r\n": [1, 2],
    '1,"t,\n""x"",\r\n7,7,7\n",2\n': [1, 2],  # line ends and separators inside of quotation marks are text
    '"1","t","2"\r\n': [1, 2],
    '1,5" pipe,2\n': [1, 2],  # a mark that does not begin a cell is text
    '1,"t"x,2\n': [1, 2],
    '1,t,"2"x\n': [1, np.nan],
    '1,t,"2""3"\n': [1, np.nan],
    "1,t,2,,\n": [1, 2],  # empty cells beyond the last name, as from a trailing comma
    "1,t,2,x\n": [np.nan, np.nan],  # which cell is which?
    '1,t,2,""\n': [np.nan, np.nan],
    "1,t\n": [1, np.nan],  # spreadsheets leave empty cells at the end out
    "1\n": [1, np.nan],
    " \n": [np.nan, np.nan],
    "1,t\rt,2\n": [1, 2],  # a bare carriage return ends nothing
    "\ufeff1,t,2\n": [np.nan, 2],  # a byte order mark is one at the beginning of a file only
    "1,\x00,2\n": [1, 2],
    "1,\u2028\x85\x0b\x0c,2\n": [1, 2],
}


@pytest.mark.parametrize("record", SHAPES)
def test_a_record_is_one_row(record):
    for text, expected in ((record, [SHAPES[record]]), (record * 3, [SHAPES[record]] * 3)):
        np.testing.assert_array_equal(parsed(text.encode()), expected)
        np.testing.assert_array_equal(parsed(b"8,t,8\n" + text.encode() + b"9,t,9\n"), [[8, 8], *expected, [9, 9]])
        np.testing.assert_array_equal(parsed(text.encode().removesuffix(b"\n")), expected)


def test_a_blank_line_is_a_record_where_there_is_one_column():
    """Writers write a missing value of a table with one column as nothing."""
    assert len(parsed(b"1,t,2\n\n\r\n3,t,4\n\n")) == 2
    domain = gv.Domain(columns=["a"], bounds=(-9, 9))
    for end in (b"\n", b"\r\n"):
        source = CsvText(lambda end=end: pa.BufferReader(end.join([b"a", b"1", b"", b'""', b"2", b""])), "f")
        (part,) = source.iter_tasks(Selection(source.names(), domain, None))
        ((rows, _),) = part()
        np.testing.assert_array_equal(rows, [[1], [np.nan], [np.nan], [2]])
        assert source.count() == 4


def test_labels_are_compared_as_they_are_written():
    labels = gv.Labels(["a", 'say "a"', "x\ny", "1", "", "é"], column="x")
    text = '1,a,2\n1,"a",2\n1,"say ""a""",2\n1,"x\ny",2\n1,1,2\n1,,2\n1,é,2\n1, a,2\n1,a,2,9\n1\n'.encode()
    source = CsvText(lambda: pa.BufferReader(b"a,x,b\n" + text), "f")
    (part,) = source.iter_tasks(Selection(source.names(), DOMAIN, labels))
    ((rows, codes),) = part()
    assert codes.tolist() == [0, 0, 1, 2, 3, 4, 5, -1, 4, 4]
    assert len(rows) == len(codes)


NAMES = {
    b"a,b\n": ["a", "b"],
    b"a,b\r\n1,2": ["a", "b"],
    b'"a\nx","b, c"\n1,2\n': ["a\nx", "b, c"],
    b'"say ""a""";b\n': ['say "a"', "b"],
    "größe\tb\n".encode(): ["größe", "b"],
    b",b\n": ["", "b"],
    b'waist 34",b\n1,"2"\n': ['waist 34"', "b"],  # a mark that does not begin a cell is text
    b'\xef\xbb\xbf"a\nx";waist 34";b\r\n1;2;3\n': ["a\nx", 'waist 34"', "b"],
}
NO_NAMES = {
    "a,b\n1,2\n".encode("utf-16"): "UTF-16",
    "a,b\n1,2\n".encode("utf-16-le"): "NUL bytes",
    "größe,b\n".encode("latin-1"): "not UTF-8",
    b"\n1,2\n": "blank",
    b"\r\n1,2\n": "blank",
    b"\xef\xbb\xbf\n1,2\n": "blank",
    b"a,b\r1,2\r3,4\r": "bare carriage return",
    b'a,"b\n1,2\n': "never closed",
    b'a,"b"c\n1,2\n': "misplaced",
    b"\x1f\x8b\x08\x00": "gzip",
    b"PK\x03\x04\x14": "spreadsheet",
    b"PAR1\x15\x04": "Parquet",
}


@pytest.mark.parametrize("content", NAMES)
@pytest.mark.parametrize("block", [1, 5, 2**22])
def test_names(content, block, monkeypatch):
    monkeypatch.setattr(csv_text, "_BLOCK", block)
    assert CsvText(lambda: pa.BufferReader(content), "f").names() == NAMES[content]


def test_every_byte_is_looked_at_once_for_a_mark_that_is_never_closed(monkeypatch):
    """Looking for its end again after every line took a minute for 200,000 lines."""
    content, looked_at = b'a,"b\n' + b"12.5,40\n" * 200_000, []

    def cut(data, *rest):
        looked_at.append(len(data))
        return cut_records(data, *rest)

    monkeypatch.setattr(csv_text, "cut_records", cut)
    with pytest.raises(gv.exceptions.SourceError, match="never closed"):
        CsvText(lambda: pa.BufferReader(content), "f").names()
    assert looked_at == [len(b'a,"b\n'), len(content)]


@pytest.mark.parametrize("content", NO_NAMES)
def test_what_is_wrong_with_a_line_of_names_is_said_without_repeating_it(content):
    with pytest.raises(gv.exceptions.SourceError, match=NO_NAMES[content]) as caught:
        CsvText(lambda: pa.BufferReader(content), "f").names()
    assert "größe" not in everything_said(caught.value)


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
        made = gv.release(
            path, domain=DOMAIN, budget=gv.Budget(1.0, 1e-3), random_state=0, assume_centered=True, adaptive=False
        )
        assert made.n_samples == 2
        path.write_bytes(bad.encode("latin-1") + b"\n1,t,2\n")  # no names at all
        with pytest.raises(gv.exceptions.SourceError) as caught:
            gv.release(path, domain=DOMAIN, budget=gv.Budget(1.0, 1e-3), assume_centered=True, adaptive=False)
        said += everything_said(caught.value)
    out, err = capfd.readouterr()
    assert canary not in said + out + err + caplog.text
