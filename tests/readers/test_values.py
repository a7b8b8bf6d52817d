"""Values of tables: equal ones are read as equal, by the command line's readers and in chunks."""

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from margins.data.chunks import Chunks
from margins.readers.labels import check_present, kind_of, labels_like, labels_of, labels_to_train
from margins.readers.malformed import MalformedFile
from margins.readers.parquet import column_of
from margins.readers.tables import csv_parts
from margins.readers.values import Distinct, WrongValue, number_of, numbers_of, text_of, texts_of

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")


def distinct(values):
    return Distinct(pandas.Series(values, name="y"))


@pytest.mark.parametrize(
    "equal",
    [
        ("1", "1.0", " 1", "1e0", "1.", 1, 1.0, np.float32(1), Decimal("1.00"), "10e-1"),
        ("0", "0.0", "-0.0", "1e-400", 0, -0.0),
        ("0.1", ".1", "0.10", "1e-1", 0.1, np.float32(0.1), Decimal("0.1")),
        ("10000000000000000", "1e16", "1e+16", 10**16, 1e16),
        ("9007199254740993", "9007199254740993.0", 2**53 + 1),
        ("9007199254740992", 2.0**53),
        ("True", "true", "TRUE", " true\t", True, np.True_),
        ("p", " p", "p ", b"p"),
        ("", " ", None, np.nan, pandas.NA, pandas.NaT),
        ("2020-01-01", "2020-01-01 00:00:00", pandas.Timestamp("2020-01-01")),
        ("01",),
        ("+1",),
        ("1e400",),
        ("nan",),
        ("1_0",),
        ("1" * 5000,),
    ],
)
def test_equal_values_have_one_text_that_is_their_own(equal):
    texts = {text_of(value) for value in equal}
    assert texts == {text_of(str(equal[0]))} and text_of(*texts) in texts
    others = {"1", "0", "0.1", "True", "p", "", "01", "+1", "9007199254740992", "1" * 5000} - texts
    assert not texts & {text_of(other) for other in others}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("18446744073709551616", 2.0**64),
        (2**64, 2.0**64),
        (Decimal("1.25"), 1.25),
        ("true", 1),
        (False, 0),
        (" 1 ", 1),
        ("+1", 1),
        (".5", 0.5),
        (10**400, np.inf),
        ("1e999", np.inf),
        (Decimal("NaN"), np.nan),
        (Decimal("sNaN"), np.nan),
        ("nan", np.nan),
        ("inf", np.nan),
        ("1_0", np.nan),
        ("\u0663", np.nan),
        (b"1", np.nan),
        (1j, np.nan),
        (None, np.nan),
        ([1], np.nan),
    ],
)
def test_a_number_is_read_as_float64(value, expected):
    assert_array_equal(number_of(value), expected)


def test_columns_of_numbers_of_no_single_type_are_float64():
    for values in ([2**64, -1], ["9223372036854775808", "-1"], [Decimal("0.5"), Decimal(3)], [True, 2]):
        column = pandas.Series(values, dtype=object, name="x")
        assert_array_equal(numbers_of(column), [float(value) for value in values])
    with pytest.raises(WrongValue, match="'x' must be a finite number. Got nan.") as caught:
        numbers_of(pandas.Series([True, np.nan, False], dtype=object, name="x"))
    assert caught.value.row == 1


def test_categories_of_parquet_are_those_that_pandas_writes_in_csv(tmp_path):
    for values in (
        np.array([0.1, 2.5, 3], np.float32),
        np.array([0.1, 2.5, np.nan]),
        pandas.array([1, None, 3], dtype="Int64"),
        pandas.array([True, None, False], dtype="boolean"),
        pandas.to_datetime(["2020-01-01", "2020-01-02", None]),
        pandas.to_datetime(["2020-01-01 00:00:00", "2020-01-02 12:30:00", None]),
        pandas.Categorical(["p", None, "q"]),
    ):
        column = pandas.Series(values, name="c")
        column.to_frame().to_csv(tmp_path / "c.csv", index=False)
        written = pandas.read_csv(tmp_path / "c.csv", dtype=str, skip_blank_lines=False)["c"]
        assert texts_of(column).tolist() == texts_of(written).tolist()


def test_nested_values_are_refused():
    for read in (check_present, kind_of, labels_to_train):
        with pytest.raises(WrongValue, match="'x' must be a single value in each row. Got ") as caught:
            read(Distinct(pandas.Series(["a", [1, 2]], dtype=object, name="x")))
        assert caught.value.row == 1


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1", " 1", "2"], [1, 1, 2]),
        (["1", "1.0", "2"], [1, 1, 2]),
        (["1.0", "2.0", "2.0 "], ["1.0", "2.0", "2.0"]),
        (["true", "True", "no"], ["True", "True", "no"]),
        (["true", "false", "true"], ["true", "false", "true"]),
        (["p", " p", "q"], ["p", "p", "q"]),
        ([Decimal("1.0"), Decimal("2"), Decimal("1")], [1, 2, 1]),
    ],
)
def test_labels_that_are_equal_are_one_class(written, expected):
    labels = labels_to_train(distinct(written))
    assert labels.tolist() == expected and labels.dtype.kind in "iU"


@pytest.mark.parametrize(
    ("classes", "written", "expected"),
    [
        ([0, 1], ["1.0", "0"], [1, 0]),
        ([0, 1], [Decimal("1.0"), Decimal("0.5")], [1, 0.5]),
        (["0.0", "1.0"], ["1", " 0"], ["1.0", "0.0"]),
        (["0.0", "1.0"], [1, 0], ["1.0", "0.0"]),
        (["false", "true"], ["True", "FALSE"], ["true", "false"]),
        (["false", "true"], [True, False], ["true", "false"]),
        (["p", "q"], [" p", "r"], ["p", "r"]),
        ([False, True], [" true", "False"], [True, False]),
    ],
)
def test_labels_become_the_equal_ones_of_a_model(classes, written, expected):
    assert labels_like(distinct(written), np.array(classes)).tolist() == expected


def test_labels_of_a_kind_are_of_it():
    for kind, written, value in (("whole", ["1", "red"], "red"), ("boolean", ["true", "1"], "1")):
        with pytest.raises(WrongValue, match=f"must be .*, as before. Got '{value}'") as caught:
            labels_of(distinct(written), kind, ", as before")
        assert caught.value.row == 1
    assert labels_of(distinct([" a", "1.0"]), "text").tolist() == ["a", "1.0"]


# Of chunks.


def chunks_of(tmp_path, text, n_bytes=8, **params):
    path = tmp_path / "a.csv"
    path.write_text(text)
    return Chunks(csv_parts([str(path)], "y", None, params.get("categories"), None, n_bytes))


@pytest.mark.parametrize("categories", [["1", "2"], [1, 2], [1.0, 2.0], ["2.0", "1.0"]])
def test_categories_are_compared_as_numbers_in_all_files(tmp_path, categories):
    order = 1 if float(categories[0]) == 1 else -1
    for values in (["1", "2"], [1, 2], [1.0, 2.0], [Decimal(1), Decimal(2)]):
        frame = pandas.DataFrame({"c": values, "y": [0, 1]})
        frame.to_parquet(tmp_path / "a.parquet")
        frame.to_csv(tmp_path / "a.csv", index=False)
        for name, read in (("a.parquet", Chunks.from_parquet), ("a.csv", Chunks.from_csv)):
            X, _ = read(tmp_path / name, "y", categories={"c": categories})[0]
            assert X.columns.tolist() == [f"c={value}" for value in categories]
            assert_array_equal(X, np.eye(2)[::order])


def test_booleans_and_missing_values_are_categories(tmp_path):
    text = "c,y\ntrue,1\n,0\n TRUE,1\nFalse,0\n"
    X, _ = chunks_of(tmp_path, text, 10**6, categories={"c": [True, False, ""]})[0]
    assert X.to_numpy().argmax(axis=1).tolist() == [0, 2, 0, 1]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "0", "1.0", " 0"], [1, 0, 1, 0]),
        (["True", "false", "TRUE", "False"], [True, False, True, False]),
        (["a", "1", "1", " a"], ["a", "1", "1", "a"]),
    ],
)
def test_labels_of_csv_have_one_type_in_all_parts(tmp_path, labels, expected):
    chunks = chunks_of(tmp_path, "x,y\n" + "".join(f"0.0001,{label}\n" for label in labels))
    parts = [y for _, y in chunks]
    assert len(parts) == 4 and len({y.dtype.kind for y in parts}) == 1
    assert np.concatenate(parts).tolist() == expected


@pytest.mark.parametrize(
    ("first", "other", "problem"),
    [
        ("1", "True", "must be a whole number of 64 bits, as the first labels of the files. Got 'True'"),
        ("1", "red", "must be a whole number of 64 bits, as the first labels of the files. Got 'red'"),
        ("True", "1", "must be true or false, as the first labels of the files. Got '1'"),
    ],
)
def test_labels_of_another_type_than_the_first_have_their_place(tmp_path, first, other, problem):
    chunks = chunks_of(tmp_path, f"x,y\n0.0001,{first}\n0.0002,{first}\n0.0003,{other}\n")
    with pytest.raises(MalformedFile, match=problem) as caught:
        list(chunks)
    assert (caught.value.line, caught.value.column) == (4, 8)


def test_labels_of_parquet_have_one_type_in_all_files(tmp_path):
    for name, labels in (("a", [0, 1]), ("b", [0.0, 1.0]), ("c", [False, True]), ("d", ["0", "1"])):
        pandas.DataFrame({"x": [1.0, 2.0], "y": labels}).to_parquet(tmp_path / name)
    assert len(Chunks.from_parquet([tmp_path / "a", tmp_path / "b"], "y")) == 2
    for name, kind in (("c", "boolean"), ("d", "text")):
        problem = f"{name}: the labels 'y' must be numbers, as in .*a. Got {kind}."
        with pytest.raises(ValueError, match=problem):
            Chunks.from_parquet([tmp_path / "a", tmp_path / name], "y")


def test_decimals_of_parquet_are_numbers_and_labels(tmp_path):
    columns = {"x": [Decimal("0.5"), Decimal("2")], "y": [Decimal(1), Decimal(0)]}
    pandas.DataFrame(columns).to_parquet(tmp_path / "a")
    X, y = Chunks.from_parquet(tmp_path / "a", "y")[0]
    assert X["x"].tolist() == [0.5, 2] and y.tolist() == [1, 0] and y.dtype == np.int64


def test_a_column_with_fewer_values_than_rows_is_damaged():
    class File:
        metadata = SimpleNamespace(row_group=lambda group: SimpleNamespace(num_rows=3))

        def read_row_group(self, group, columns, use_threads):
            return pyarrow.table({columns[0]: [1.0, 2.0]})

    with pytest.raises(ValueError, match="row group 1, column 'x' is damaged: .*2 values for 3 rows"):
        column_of(File(), 1, "x")


@pytest.mark.parametrize(
    ("value", "expected"), [("18446744073709551616", 2.0**64), ("9223372036854775808", 2.0**63)]
)
def test_numbers_beyond_64_bits_are_read_and_others_have_their_place(tmp_path, value, expected):
    chunks = chunks_of(tmp_path, f"x,y\n{value},0\n-1,1\n", 10**6)
    assert chunks[0][0]["x"].tolist() == [expected, -1]
    chunks = chunks_of(tmp_path, f'x,y\n1,"0"\n\n{value},0\nx,1\n')
    with pytest.raises(MalformedFile, match=r"csv:5:1: 'x' must be a finite number. Got 'x'") as caught:
        list(chunks)
    assert "categories={'x': [...]}" in str(caught.value)


def test_a_stray_quote_does_not_end_a_part_within_a_field(tmp_path):
    rows = ['1,"a\nb",0', '2,5" pipe,1', '3,"c ""d""\n",0', '4,x"y"",1', '5,"e\n,"z,0', '6,"f",1']
    text = "x,c,y\n" + "".join(f"{row}\n" for row in rows)
    (tmp_path / "b.csv").write_text(text)
    values = pandas.read_csv(tmp_path / "b.csv")["c"].tolist()
    for n_bytes in (1, 12, 30, 10**6):
        chunks = chunks_of(tmp_path, text, n_bytes, categories={"c": values})
        assert_array_equal(np.concatenate([X["x"] for X, _ in chunks]), [1, 2, 3, 4, 5, 6])
        assert_array_equal(np.vstack([X.iloc[:, 1:] for X, _ in chunks]), np.eye(6))
    assert len(chunks_of(tmp_path, text, 1, categories={"c": values})) == 6
