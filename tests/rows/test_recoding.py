"""Cells become numbers as a codebook says: the same bits from every source, whatever the cells hold."""

import math

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import SourceError
from graphveil.rows.encoding import Encoder
from graphveil.rows.recoding import Recoder, logarithm
from graphveil.spec.augmentation import Constant
from graphveil.spec.codebook import Codebook

BUDGET = gv.Budget(2.0, 1e-6)
RNG = np.random.default_rng(3)
N = 2000
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.05, 999.0, RNG.uniform(20, 90, N).round(1)),
        "cost": np.exp(RNG.normal(5, 1, N)).round(2),
        "ward": RNG.choice(["A", "B", "C, ü", 'D "x"', "other"], N),
        "mood": RNG.choice(["never", "often", "always"], N),
        "smoker": RNG.random(N) < 0.3,
        "site": RNG.choice([1, 2, 9, 7], N),
    }
).astype({"ward": "string", "mood": "string"})
FRAME.loc[::31, "ward"] = None
KINDS = {
    "age": gv.Number(0, 110, missing=[999]),
    "cost": gv.Number(1, 1e5, scale="log"),
    "ward": gv.Category(["A", "B", "C, ü", 'D "x"']),
    "mood": gv.Ordinal(["never", "often", "always"]),
    "smoker": gv.Category([False, True]),
    "site": gv.Category([1, 2, 9], missing="level"),
}
DOMAIN = gv.Domain(KINDS)
EXPECTED = gv.release(FRAME, domain=DOMAIN, budget=BUDGET, random_state=1)


def parquet(folder):
    FRAME.astype({"ward": "category"}).to_parquet(folder / "rows.parquet", row_group_size=333)
    return folder / "rows.parquet"


def csv(folder):
    FRAME.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def european_csv(folder):
    FRAME.to_csv(folder / "rows.csv", index=False, sep=";", decimal=",", lineterminator="\r\n")
    return folder / "rows.csv"


SOURCES = {
    "objects": lambda _: FRAME.astype({"ward": object, "mood": object}),
    "categories": lambda _: FRAME.astype({"ward": "category", "mood": "category"}),
    "categories of objects": lambda _: FRAME.astype({"ward": object, "mood": object}).astype({"mood": "category"}),
    "polars": lambda _: pl.DataFrame(FRAME),
    "polars, categorical": lambda _: pl.DataFrame(FRAME).with_columns(pl.col("mood").cast(pl.Categorical)),
    "arrow": lambda _: pa.Table.from_pandas(FRAME.sample(frac=1.0, random_state=0)),
    "text views": lambda _: pa.Table.from_pandas(FRAME).cast(
        pa.schema([(field.name, pa.string_view() if field.name == "ward" else field.type) for field in SCHEMA])
    ),
    "batches": lambda _: [FRAME[:7], pl.DataFrame(FRAME[7:1000]), FRAME[1000:]],
    "parquet": parquet,
    "csv": csv,
    "csv of a spreadsheet": european_csv,
    "dask": lambda _: dask.dataframe.from_pandas(FRAME, npartitions=3),
}
SCHEMA = pa.Schema.from_pandas(FRAME, preserve_index=False)


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_bits(kind, tmp_path):
    assert gv.release(SOURCES[kind](tmp_path), domain=DOMAIN, budget=BUDGET, random_state=1) == EXPECTED


def test_arrays_have_the_columns_in_order():
    kinds = {name: kind for name, kind in KINDS.items() if name not in ("ward", "mood")}
    options = {"domain": gv.Domain(kinds), "budget": BUDGET, "random_state": 1}
    array = FRAME[[*kinds]].astype(float).to_numpy()
    assert gv.release(array, **options) == gv.release(FRAME, **options)
    with pytest.raises(SourceError, match="'ward' has levels that are text, and an array holds numbers"):
        gv.release(np.zeros((9, 6)), domain=DOMAIN, budget=BUDGET)


def test_a_codebook_of_numbers_releases_the_bits_of_bounds():
    columns, array = ["age", "cost"], FRAME[["age", "cost"]].to_numpy()
    plain = gv.Domain(bounds={"age": (0, 110), "cost": (0, 5000)})
    labelled = gv.Domain({"age": gv.Number(0, 110, label="Age", unit="years"), "cost": (0, 5000)})
    assert labelled.codebook is not None
    for adaptive in (True, False):
        pair = [
            gv.release(rows, domain=domain, budget=BUDGET, adaptive=adaptive, random_state=5)
            for domain, rows in ((plain, FRAME[columns]), (labelled, array))
        ]
        assert pair[0].event == pair[1].event
        for one, other in zip(*(made.answers for made in pair), strict=True):
            assert one.facts() == other.facts()
            for name, values in one.arrays().items():
                np.testing.assert_array_equal(values, other.arrays()[name])


def test_a_release_survives_its_file(tmp_path):
    EXPECTED.save(tmp_path / "a.release")
    found = gv.Release.load(tmp_path / "a.release")
    assert found == EXPECTED
    assert found.domain == DOMAIN
    assert found.columns[:4] == ("age", "log(cost)", "ward[B]", "ward[C, ü]")


def test_estimates_are_those_of_the_declared_columns():
    release = gv.release(FRAME, domain=DOMAIN, budget=gv.Budget(30.0, 1e-6), random_state=1)
    with pytest.warns(gv.exceptions.PrivacyWarning, match="none of the declared levels.*ward"):
        estimate = gv.recover(release)
    found = dict(zip(estimate.columns, estimate.location, strict=True))
    assert found["log(cost)"] == pytest.approx(np.log(FRAME["cost"]).mean(), abs=0.1)
    assert found["mood"] == pytest.approx(2.0, abs=0.1)
    assert found["smoker[true]"] == pytest.approx(0.3, abs=0.04)
    assert found["site[missing]"] == pytest.approx(0.25, abs=0.04)
    unknown = (FRAME["ward"].isna() | (FRAME["ward"] == "other")).mean()
    assert found["ward[B]"] == pytest.approx((FRAME["ward"] == "B").mean() + unknown / 4, abs=0.04)


def recode(kind, cells):
    rows = np.asarray(cells, dtype=np.float64)[:, None]
    return Recoder(Codebook.of({"a": kind})).recode(rows)


def test_each_cell_by_its_kind():
    nan, inf = math.nan, math.inf
    found = recode(gv.Number(0, 9, missing=[99, -1.1]), [3, 99, -1.1, np.float32(-1.1), nan, inf, -inf, -1])
    np.testing.assert_array_equal(found[:, 0], [3, nan, nan, nan, nan, inf, -inf, -1])
    found = recode(gv.Number(1, 16, scale="sqrt"), [4, 0, -5, nan, inf, 17])
    np.testing.assert_array_equal(found[:, 0], [2, 1, 1, nan, 4, 4])
    found = recode(gv.Number(1, 16, scale="log"), [1, 0, nan, -inf])
    np.testing.assert_array_equal(found[:, 0], [0, 0, nan, 0])
    np.testing.assert_array_equal(recode(gv.Ordinal([0, 2, 5]), [5, 1, nan])[:, 0], [5, nan, nan])
    np.testing.assert_array_equal(recode(gv.Ordinal(["a", "b"]), [0, 1, 2])[:, 0], [1, 2, nan])
    cells = [1, 2, 3, 4, nan]
    thirds = [1 / 3, 1 / 3]
    np.testing.assert_array_equal(recode(gv.Category([1, 2, 3]), cells), [[0, 0], [1, 0], [0, 1], thirds, thirds])
    own = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    np.testing.assert_array_equal(recode(gv.Category([1, 2, 3], missing="level"), cells), own)
    gone = [[0, 0], [1, 0], [0, 1], [nan, nan], [nan, nan]]
    np.testing.assert_array_equal(recode(gv.Category([1, 2, 3], missing=True), cells), gone)


def test_the_logarithm_is_nearly_exact():
    values = np.concatenate(
        [np.exp(RNG.uniform(-300, 300, 2000)), 1 + RNG.normal(0, 1e-3, 2000), 2.0 ** np.arange(-9, 9)]
    )
    found = np.array([logarithm(value) for value in values])
    np.testing.assert_allclose(found, np.log(values), rtol=2.0**-50, atol=0.0)


ANY = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.sampled_from([0.0, 1.0, 2.0, 3.0, 999.0])
NUMBER = st.builds(
    gv.Number,
    st.floats(1e-3, 1.0),
    st.floats(1.5, 1e9),
    missing=st.sampled_from([False, True, [999], [0, 1.5]]),
    scale=st.sampled_from(["linear", "log", "sqrt"]),
)
CATEGORY = st.builds(gv.Category, st.integers(2, 40).map(range), missing=st.sampled_from([False, True, "level"]))
KIND = NUMBER | CATEGORY | st.builds(gv.Ordinal, st.integers(2, 9).map(range), missing=st.booleans())


@settings(max_examples=300, deadline=None)
@given(st.lists(KIND, min_size=1, max_size=6), st.sampled_from([None, Constant()]), st.data())
def test_any_codebook_keeps_any_row_in_the_ball(kinds, augment, data):
    """Exact integers, and the row of a record read alone is the row that it is in a block."""
    domain = gv.Domain({f"x{i}": kind for i, kind in enumerate(kinds)} | {"y": gv.Number(0, 1, label="y")})
    cells = st.lists(ANY, min_size=len(kinds) + 1, max_size=len(kinds) + 1)
    rows = np.array(data.draw(st.lists(cells, min_size=1, max_size=9)))
    encoder = Encoder(domain, augment, shift=augment is not None)
    out = np.empty((len(rows), encoder.width))
    encoder.encode(rows, None, out)
    integers = np.array([[int(value) for value in row] for row in out], dtype=object)
    p = domain.n_features
    assert (integers[:, :p] ** 2).sum(axis=1).max() <= encoder.lattice.row_square
    assert (integers**2).sum(axis=1).max() <= encoder.lattice.total_square <= 2**40
    for row, expected in zip(rows, out, strict=True):
        alone = np.empty((1, encoder.width))
        encoder.encode(row[None].copy(), None, alone)
        np.testing.assert_array_equal(alone[0], expected)


def test_too_many_levels_for_the_lattice_are_refused_before_a_row_is_read(monkeypatch):
    """The check that indicators stay as short as one column is made on the integers themselves."""
    monkeypatch.setattr("graphveil.spec.codebook._STEPS", 2.0**200)  # no margin for rounding
    with pytest.raises(gv.exceptions.GuaranteeError, match="too many levels"):
        Encoder(gv.Domain({"a": gv.Category(range(401)), "b": (0, 1)}), None, shift=True)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1, 2]}), "'a' has type int64, but its levels are text"),
        (pd.DataFrame({"a": [True, False]}), "'a' has type bool, but its levels are text"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "'a' has type timestamp.*, but its levels are text"),
    ],
)
def test_types_that_hold_no_levels_are_refused_by_their_type(frame, message):
    with pytest.raises(SourceError, match=message):
        gv.release(frame, domain=gv.Domain({"a": gv.Category(["x", "y"])}), budget=BUDGET)


def test_text_without_levels_is_refused_with_the_remedy():
    with pytest.raises(SourceError, match=r"'ward' has type .*string.*gv.Category\(\[\"F\", \"M\"\]\)"):
        gv.release(FRAME, domain=gv.Domain({"ward": (0, 1)}), budget=BUDGET)
