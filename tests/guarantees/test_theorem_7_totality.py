"""Theorem 7: every record lands in the ball, none raises, and nothing that is said holds a number of the data."""

import gc
import logging
import os
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphveil as gv
from graphveil.exceptions import GraphveilError, SourceError
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import RowGrid
from helpers.exact_sums import asked, encoded, everything_said

BUDGET = gv.Budget(1.0, 1e-6)
# Written so that no source line, which a traceback may quote, holds its digits together.
CANARY = float("".join(["27", "18", "28"])) + 0.25
CANARY_DIGITS = str(int(CANARY))

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True, width=64)


@settings(max_examples=300)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=ANY_FLOAT),
    st.sampled_from([{"bounds": (-1, 1)}, {"bounds": (0, 2.0**-199)}, {"bounds": (-(2.0**199), 2.0**200)},
                     {"data_norm": 1.0}, {"data_norm": 2.0**-200}, {"data_norm": 2.0**200},
                     {"bounds": (-1, 7), "data_norm": 0.5}]),
    st.sampled_from([None, Constant(), gv.Labels(["a"])]),
)  # fmt: skip
def test_every_bit_pattern_lands_in_the_ball(rows, domain, augment):
    domain = gv.Domain(**domain)
    codes = np.zeros(len(rows), dtype=np.intp) if isinstance(augment, gv.Labels) else None
    out = encoded(rows, domain, augment, codes)
    p = rows.shape[1]
    lattice = RowGrid.of(domain.resolve(None, p), augment)
    integers = np.array([[int(value) for value in row] for row in out], dtype=object)
    np.testing.assert_array_equal(integers.astype(float), out)
    assert (integers[:, :p] ** 2).sum(axis=1).max() <= lattice.row_square
    assert (integers**2).sum(axis=1).max() <= lattice.total_square


@settings(max_examples=200)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9), elements=ANY_FLOAT))
def test_a_row_depends_on_itself_alone(rows):
    for domain in (gv.Domain(bounds=(-2, 1)), gv.Domain(data_norm=1.0)):
        together = encoded(rows, domain)
        np.testing.assert_array_equal(together, np.vstack([encoded(row[None], domain) for row in rows]))


def test_the_edge_cases_of_the_table():
    box = gv.Domain(bounds=([0, 0, 0, 0, 0], [2, 2, 2, 2, 2]))
    levels = RowGrid.of(box, Constant()).levels
    rows = np.array([[np.nan, np.inf, -np.inf, 1e308, 1.0]])
    np.testing.assert_array_equal(encoded(rows, box, Constant())[0, :5], [0, levels, -levels, levels, 0])
    ball = gv.Domain(data_norm=5.0, n_features=2)
    size = RowGrid.of(ball, None).ball
    np.testing.assert_array_equal(encoded([[np.inf, np.nan]], ball), [[size, 0]])
    np.testing.assert_allclose(encoded([[-np.inf, np.inf]], ball), [[-size / 2**0.5, size / 2**0.5]], atol=1)
    np.testing.assert_allclose(encoded([[1.8e150, 2.4e150]], ball), [[0.6 * size, 0.8 * size]], atol=1)
    np.testing.assert_allclose(encoded([[3e300, -4e300]], ball), [[size / 2**0.5, -size / 2**0.5]], atol=1)
    np.testing.assert_array_equal(encoded([[5e-324, -1e-310]], ball), [[0, 0]])
    np.testing.assert_array_equal(encoded([[5e-324, -0.0]], ball), [[0, 0]])
    np.testing.assert_allclose(encoded([[0.3, -0.4]], ball), [[0.06 * size, -0.08 * size]], atol=1)


def test_without_augmentation_bounds_scale_and_do_not_shift():
    domain = gv.Domain(bounds=([20, -1], [80, 4]))
    levels = RowGrid.of(domain, None).levels
    rows = [[40, 2], [100, -9], [0, 0], [np.nan, np.nan]]
    expected = np.array([[0.5, 0.5], [1, -0.25], [0.25, 0], [0, 0]]) * levels
    np.testing.assert_allclose(encoded(rows, domain), expected, atol=1)


# ------------------------------------------------------------------ ten thousand bad inputs and a canary
class Exploding:
    """A source of the user's that quotes a value when it fails."""

    def __init__(self, after):
        self.after = after

    def __iter__(self):
        for _ in range(self.after):
            yield np.full((2, 2), CANARY)
        raise ValueError(f"could not convert {CANARY} to something")


def bad_input(rng):
    """One random input out of about fifty kinds, with the canary inside."""
    n, p = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    rows = rng.choice([CANARY, -CANARY, 0.0, 1.0, np.nan, np.inf, -np.inf, 5e-324, 1e308, -1e308], size=(n, p))
    rows[0, 0] = CANARY
    names = [f"c{j}" for j in range(p)]
    text = rows.astype(str)
    mixed = rows.astype(object)
    mixed[-1, -1] = str(CANARY)
    safe = np.where(np.isfinite(rows), np.clip(rows, -1e9, 1e9), 0.0)
    makers = [
        lambda: rows,
        lambda: np.asfortranarray(rows),
        lambda: rows.astype(np.float32),
        lambda: rows.astype(np.float16),
        lambda: safe.astype(np.int64),
        lambda: safe.astype(np.int32),
        lambda: rows > 0,
        lambda: rows.astype(complex),
        lambda: mixed,
        lambda: text,
        lambda: text.astype(bytes),
        lambda: safe.astype("datetime64[s]"),
        lambda: safe.astype("timedelta64[s]"),
        lambda: np.ma.masked_greater(safe, 0.5),
        lambda: np.ma.masked_all((n, p)),
        lambda: safe.view(np.matrix),
        lambda: scipy.sparse.csr_matrix(safe),
        lambda: scipy.sparse.coo_array(safe),
        lambda: rows[0],
        lambda: rows[None],
        lambda: rows[:0],
        lambda: rows[:, :0],
        lambda: np.float64(CANARY),
        lambda: CANARY,
        lambda: str(CANARY),
        lambda: str(CANARY).encode(),
        lambda: None,
        lambda: {"a": [CANARY]},
        lambda: {CANARY},
        lambda: rows.tolist(),
        lambda: [],
        lambda: [rows, rows],
        lambda: [rows, rows[:, :-1]],
        lambda: [rows, text],
        lambda: [rows, rows.tolist()],
        lambda: (rows, rows),
        lambda: iter([rows]),
        lambda: (batch for batch in [rows]),
        lambda: map(np.asarray, [rows]),
        lambda: Exploding(int(rng.integers(0, 3))),
        lambda: np.rec.fromarrays(list(safe.T)),
        lambda: pd.DataFrame(rows, columns=names),
        lambda: pd.DataFrame(rows, columns=names).astype("Float64"),
        lambda: pd.DataFrame(mixed, columns=names),
        lambda: pd.DataFrame(text, columns=names),
        lambda: pd.DataFrame(safe, columns=["c0"] * p),
        lambda: pd.DataFrame(safe, columns=names).astype("category"),
        lambda: pd.DataFrame(text, columns=names).astype("category"),
        lambda: pd.DataFrame(safe, columns=names, index=rows[:, 0]),
        lambda: pd.DataFrame(safe.astype("datetime64[s]"), columns=names),
        lambda: pd.DataFrame({"c0": [[CANARY]] * n}),
        lambda: pd.DataFrame({"c0": [complex(CANARY)] * n}),
        lambda: pd.Series(rows[:, 0]),
        lambda: pl.DataFrame(rows, schema=names),
        lambda: pl.DataFrame(text, schema=names),
        lambda: pl.DataFrame({"c0": [CANARY, None]}),
        lambda: pl.DataFrame({"c0": pl.Series([CANARY] * n, dtype=pl.Object)}),
        lambda: pl.DataFrame({"c0": [[CANARY]] * n}),
        lambda: pl.DataFrame(rows, schema=names).lazy(),
        lambda: pa.table({"c0": pa.array([CANARY, None])}),
        lambda: pa.table({"c0": pa.array([None, None])}),
        lambda: pa.table({"c0": pa.array(text[:, 0])}),
        lambda: pa.table({"c0": pa.array(safe[:, 0]).dictionary_encode()}),
        lambda: pa.table({"c0": pa.array(text[:, 0]).dictionary_encode()}),
        lambda: pa.table([pa.array(safe[:, 0])] * 2, names=["c0", "c0"]),
        lambda: pa.table({"c0": pa.array([int(CANARY)] * n, pa.decimal128(20, 2))}),
        lambda: pa.table({"c0": pa.array([{"x": CANARY}])}),
        lambda: pa.table({"c0": pa.array([int(CANARY)], pa.timestamp("s"))}),
        lambda: pa.table({"c0": pa.array(safe[:, 0])}).to_reader(),
        lambda: pa.record_batch({"c0": pa.array(safe[:, 0])}),
        lambda: pa.table({}),
    ]
    with warnings.catch_warnings():  # what numpy says about the making of such inputs is not ours
        warnings.simplefilter("ignore")
        return makers[int(rng.integers(len(makers)))]()


DOMAINS = [
    gv.Domain(bounds=(-1, 1)),
    gv.Domain(data_norm=1.0),
    gv.Domain(columns=["c0"], bounds=(-1, 1)),
    gv.Domain(n_features=2, data_norm=3.0),
]
AUGMENTS = [None, "mean", gv.Labels(["a", "b"]), gv.Labels(["a"], column="c0")]


def probe(source, domain, augment, caplog):
    """Release it; return what was said, whether it succeeded, and the error."""
    said, error, result = [], None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = gv.release(source, domain=domain, budget=BUDGET, random_state=0, **asked(augment), adaptive=False)
        except BaseException as problem:
            error = problem
            said.append(everything_said(problem))
    said += [str(item.message) for item in caught]
    said += [record.getMessage() for record in caplog.records]
    said.append(repr(result))
    return "\n".join(said), error, [item.category for item in caught]


@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_bad_inputs_say_nothing_about_the_data(part, caplog):
    rng = np.random.default_rng(part)
    caplog.set_level(logging.DEBUG)
    released = refused = 0
    for _ in range(1000):
        augment = AUGMENTS[int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))]
        source = bad_input(rng)
        if isinstance(augment, gv.Labels) and augment.column is None and rng.random() < 0.7:
            source = (source, [str(CANARY), "a", None, CANARY, b"b"][: int(rng.integers(1, 6))])
        said, error, categories = probe(source, DOMAINS[int(rng.integers(4))], augment, caplog)
        assert CANARY_DIGITS not in said, said
        assert error is None or isinstance(error, GraphveilError), said
        assert set(categories) <= {gv.exceptions.PrivacyWarning}
        released += error is None
        refused += error is not None
    assert released > 150
    assert refused > 150


def test_the_search_would_find_a_leak(caplog):
    """A negative control: a callback of the caller's own is not shielded, and what it says is found."""

    def leaky(_):
        raise ValueError(f"value {CANARY}")

    with pytest.raises(ValueError, match="value") as caught:
        gv.release(
            np.zeros((3, 2)), domain=DOMAINS[0], budget=BUDGET, progress=leaky, assume_centered=True, adaptive=False
        )
    assert CANARY_DIGITS in everything_said(caught.value)


def raising(error, where):
    """A source that raises ``error`` when it is opened, read or closed."""

    class Source:
        def __iter__(self):
            if where == "iter":
                raise error
            return self.batches()

        def batches(self):
            try:
                yield np.full((2, 2), CANARY)
                if where == "next":
                    raise error
                yield np.full((2, 2), CANARY)
            finally:
                if where == "close":
                    raise error

    return Source()


def with_cause():
    error = SourceError(f"value {CANARY}")
    error.__cause__ = ValueError(f"behind it {CANARY}")
    error.add_note(f"note {CANARY}")
    return error


class Panic(BaseException):
    """Like the one of polars: not an Exception."""


FOREIGN = {
    "ValueError": lambda: ValueError(f"bad {CANARY}"),
    "SourceError with a cause": with_cause,
    "OSError with a number": lambda: OSError(int(CANARY), "x"),
    "OSError with a text": lambda: OSError("cannot parse", str(CANARY)),
    "OSError with a float": lambda: OSError(CANARY, "x"),
    "panic": lambda: Panic(f"called on {CANARY}"),
    "exit": lambda: SystemExit(CANARY),
    "interruption": lambda: KeyboardInterrupt(CANARY),
    "GeneratorExit": lambda: GeneratorExit(CANARY),
    "unicode": lambda: UnicodeDecodeError("utf-8", str(CANARY).encode(), 0, 1, str(CANARY)),
}


@pytest.mark.parametrize("where", ["iter", "next", "close"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_whatever_a_source_raises_loses_its_words(kind, where, caplog, capfd):
    said, error, _ = probe(raising(FOREIGN[kind](), where), DOMAINS[0], None, caplog)
    gc.collect()
    assert error is not None
    assert isinstance(error, SourceError | KeyboardInterrupt | SystemExit)
    out, err = capfd.readouterr()
    assert CANARY_DIGITS not in said + out + err


class Hostile(list):
    """Labels that fail while they are converted."""

    def __iter__(self):
        raise ValueError(f"label {CANARY}")


LABELS = {
    "a failing list": lambda: Hostile([1, 2, 3]),
    "arrow with a null": lambda: pa.array([1, None, 2]),
    "arrow text": lambda: pa.array(["a", None, str(CANARY)]),
    "arrow nested": lambda: pa.array([[CANARY], None, []]),
    "polars": lambda: pl.Series(["a", None, str(CANARY)]),
    "polars objects": lambda: pl.Series([CANARY, object(), "a"], dtype=pl.Object),
    "pandas": lambda: pd.Series(["a", None, CANARY], dtype=object),
    "not decodable": lambda: pa.array([b"a", b"\xff", b"b"]).cast(pa.string(), safe=False),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_say_nothing_and_fail_only_by_type(kind, caplog):
    said, error, _ = probe((np.full((3, 2), CANARY), LABELS[kind]()), DOMAINS[0], gv.Labels(["a", "b"]), caplog)
    assert CANARY_DIGITS not in said
    assert error is None or isinstance(error, SourceError)
    assert (error is None) == (kind != "a failing list")


def test_arguments_that_were_mixed_up_are_not_quoted(caplog):
    y = np.full(5, CANARY)
    rows = np.full((5, 2), CANARY)
    calls = [
        lambda: gv.release(rows, domain=rows, budget=BUDGET, assume_centered=True, adaptive=False),
        lambda: gv.release(rows, domain=DOMAINS[0], budget=y, assume_centered=True, adaptive=False),
        lambda: gv.release(rows, domain=DOMAINS[0], budget=BUDGET, labels=y, adaptive=False),
        lambda: gv.release(
            rows, domain=DOMAINS[0], budget=BUDGET, random_state=y, assume_centered=True, adaptive=False
        ),
        lambda: gv.release(rows, domain=DOMAINS[0], budget=BUDGET, assume_centered=True, adaptive=rows),
        lambda: gv.release(
            rows, domain=DOMAINS[0], budget=BUDGET, mechanism=str(rows), assume_centered=True, adaptive=False
        ),
        lambda: gv.Labels(y.tolist()),
        lambda: gv.Labels(y),
        lambda: gv.Domain(bounds=rows),
        lambda: gv.Domain(data_norm=y),
        lambda: gv.Domain(data_norm=1.0, columns=y),
    ]
    for call in calls:
        with pytest.raises(GraphveilError) as caught:
            call()
        assert CANARY_DIGITS not in everything_said(caught.value)


def test_a_failing_sampler_leaves_no_exact_number_in_reach(monkeypatch):
    """Error reporters print local variables; none of them may hold unreleased sums."""
    from graphveil.privacy import noise

    def fails(scale, count):
        raise MemoryError

    monkeypatch.setattr(noise, "draw_discrete_gaussian", fails)
    with pytest.raises(MemoryError) as caught:
        gv.release(np.ones((3, 2)), domain=gv.Domain(bounds=(-1, 1)), budget=BUDGET, adaptive=False)
    total = encoded(np.ones((3, 2)), gv.Domain(bounds=(-1, 1)), Constant())
    unreleased = {str(int(value)) for value in (total.T @ total).ravel()}
    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack
    ours = [frame for frame in frames if "graphveil" in frame.filename and "tests" not in frame.filename]
    assert ours
    said = " ".join(str(frame.locals) for frame in ours)
    assert not [number for number in unreleased if number in said]


def test_a_cast_that_overflows_says_nothing(recwarn):
    rows = np.full((3, 2), np.longdouble(1e300) ** 5)
    gv.release(rows, domain=DOMAINS[0], budget=BUDGET, assume_centered=True, adaptive=False)
    assert not recwarn.list


UNCOMPILED = """
import sys
import graphveil as gv
gv.release(sys.argv[1], domain=gv.Domain(columns=["a"], bounds=(0, 1)), budget=gv.Budget(1.0, 1e-6))
"""


def test_kernels_that_are_not_compiled_are_refused_whatever_they_would_read(tmp_path):
    """Integers of numpy overflow, so that 1.234e5 in a CSV file was an error and 12345 was none."""
    path, said = tmp_path / "r.csv", []
    for cell in ("12345", "1.234e5"):
        path.write_text(f"a\n{cell}\n0\n")
        command, environment = [sys.executable, "-c", UNCOMPILED, path], os.environ | {"NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        said.append(done.stderr)
    assert said[0] == said[1]
    assert "GuaranteeError: NUMBA_DISABLE_JIT is set" in said[0]


def test_types_of_categories_do_not_tell_how_many_there_are():
    for count in (3, 200):
        frame = pd.DataFrame({"c0": pd.Categorical([f"v{i}" for i in range(count)])})
        with pytest.raises(SourceError) as caught:
            gv.release(frame, domain=DOMAINS[0], budget=BUDGET, assume_centered=True, adaptive=False)
        assert "int8" not in str(caught.value)
        assert "int16" not in str(caught.value)


def test_what_is_refused_depends_on_the_schema_and_not_on_values():
    """The same schema with harmless and with hostile values: same outcome."""
    hostile = [np.nan, np.inf, 1e308, 5e-324, CANARY]
    for value in hostile:
        for source in (
            np.full((3, 2), value),
            pd.DataFrame({"a": [value], "b": [1.0]}),
            pl.DataFrame({"a": [value], "b": [1.0]}),
            pa.table({"a": [value], "b": [1.0]}),
        ):
            assert (
                gv.release(
                    source, domain=gv.Domain(bounds=(-1, 1)), budget=BUDGET, assume_centered=True, adaptive=False
                ).n_samples
                > 0
            )


def test_objects_of_the_private_side_have_blind_reprs():
    from graphveil.rows.encoding import Encoder
    from graphveil.rows.sources import open_source

    domain = gv.Domain(bounds=(-1, 1), n_features=1)
    for source in (np.full((2, 1), CANARY), pd.DataFrame({"a": [CANARY]}), [np.full((2, 1), CANARY)]):
        assert CANARY_DIGITS not in repr(open_source(source, domain, None))
    assert CANARY_DIGITS not in repr(open_source((np.full((1, 1), CANARY), ["a"]), domain, gv.Labels(["a"])))
    assert "object at" in repr(Encoder(domain, None, shift=False))


def test_an_interruption_stays_one_when_an_engine_fails_while_it_cleans_up():
    def interrupted():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("271828")

    with pytest.raises(KeyboardInterrupt) as caught:
        call_sanitized(interrupted, "summed")
    assert caught.value.args == ()
    assert caught.value.__context__ is None
