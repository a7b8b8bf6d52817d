"""Values of tables: equal ones are read as equal, in any spelling, and wrong ones have their row."""

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from margins.readers.labels import check_present, kind_of, labels_like, labels_of, labels_to_train
from margins.readers.parquet import column_of
from margins.readers.values import Column, WrongValue, number_of, text_of

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")


def column(values, name="x"):
    return Column(name, pyarrow.chunked_array([pyarrow.array(values)]))


def texts_of(values):
    return column(values).distinct().mapped(text_of).tolist()


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
        ("", " ", None, np.nan, pandas.NA, pandas.NaT, Decimal("NaN")),
        ("2020-01-01", "2020-01-01 00:00:00", pandas.Timestamp("2020-01-01")),
        ("01",),
        ("+1",),
        ("1e400",),
        ("nan", b"nan"),
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
        (Decimal("sNaN"), np.nan),
        ("nan", np.nan),
        ("1_0", np.nan),
        ("\u0663", np.nan),
        (b"1", np.nan),
        (1j, np.nan),
        (None, np.nan),
    ],
)
def test_a_number_is_read_as_float64(value, expected):
    assert_array_equal(number_of(value), expected)
    if isinstance(value, str):
        for values in ([value], [value, "true"], [value, " 2"]):
            try:
                read = column(values).numbers()
            except WrongValue as error:
                assert error.row == 0 and not np.isfinite(expected)
            else:
                assert_array_equal(read, [expected, number_of(values[-1])][: len(values)])


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        np.array([2**64 - 2048, 7], np.uint64),
        [2**62 + 1, -7],
        [Decimal("0.5"), Decimal(3)],
        np.array([0.1, 2], np.float32),
        ["0.5", " 2\t"],
        ["true", "1e3"],
    ],
)
def test_columns_of_any_type_of_numbers_are_float64(values):
    numbers = column(values).numbers()
    assert numbers.dtype == np.float64
    assert_array_equal(numbers, [number_of(value) for value in values])
    encoded = Column("x", column(values).array.dictionary_encode())
    assert_array_equal(encoded.numbers(), numbers)


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (["1", "b"], "'b'. No."),
        (["true", ""], "an empty field. Fill in"),
        ([1.0, np.inf], "inf."),
        ([True, None], "None."),
        ([Decimal(1), None], "None."),
        ([b"1", b"2"], "b'1'."),
        (pandas.to_datetime(["2020-01-01"] * 2), "Timestamp|datetime"),
    ],
)
def test_a_value_that_is_not_a_number_has_its_row(values, got):
    with pytest.raises(WrongValue, match=f"^'x' must be a finite number. Got ({got})") as caught:
        column(values).numbers(" No.")
    assert caught.value.row == int(not isinstance(values[0], bytes) and not hasattr(values, "day"))


def test_categories_of_parquet_equal_what_pandas_writes_in_csv(tmp_path):
    for values in (
        np.array([0.1, 2.5, 3], np.float32),
        np.array([0.1, 2.5, np.nan]),
        pandas.array([1, None, 3], dtype="Int64"),
        pandas.array([True, None, False], dtype="boolean"),
        pandas.to_datetime(["2020-01-01", "2020-01-02", None]),
        pandas.to_datetime(["2020-01-01 00:00:00", "2020-01-02 12:30:00", None]),
        pandas.Categorical(["p", None, "q"]),
    ):
        series = pandas.Series(values, name="c")
        series.to_frame().to_csv(tmp_path / "c.csv", index=False)
        written = pandas.read_csv(tmp_path / "c.csv", dtype=str, skip_blank_lines=False)["c"]
        assert texts_of(series) == texts_of(written)


def test_nested_values_are_refused():
    for read in (Column.distinct, Column.numbers):
        with pytest.raises(WrongValue, match=r"'x' must be a single value in each row. Got \[1, 2\]"):
            read(column([[1, 2], [3]]))


def test_distinct_values_of_several_chunks_have_their_first_row():
    chunks = pyarrow.chunked_array([["b", "a"], ["a", "c"], ["b"]])
    values = Column("x", chunks).distinct()
    assert values.mapped(str).tolist() == ["b", "a", "a", "c", "b"]
    with pytest.raises(WrongValue, match="Got 'c'") as caught:
        values.check("'x'", lambda value: value == "c")
    assert caught.value.row == 3
    assert Column("x", pyarrow.chunked_array([], pyarrow.string())).distinct().mapped(str).shape == (0,)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1", " 1", "-2"], [1, 1, -2]),
        (["1", "1.0", "2"], [1, 1, 2]),
        (["1.0", "2.0", "2.0 "], ["1.0", "2.0", "2.0"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["01", "1"], ["01", "1"]),
        (["-0", "0"], ["-0", "0"]),
        (["9007199254740993", "9007199254740992"], [2**53 + 1, 2**53]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["1.5", "red"], ["1.5", "red"]),
        (["true", "True", "no"], ["True", "True", "no"]),
        (["true", "false", "true"], ["true", "false", "true"]),
        (["p", " p", "q"], ["p", "p", "q"]),
        ([Decimal("1.0"), Decimal("2"), Decimal("1")], [1, 2, 1]),
        ([1.0, 2.0], [1, 2]),
        ([True, False], [True, False]),
    ],
)
def test_labels_that_are_equal_are_one_class(written, expected):
    labels = labels_to_train(column(written).distinct())
    assert labels.tolist() == expected and labels.dtype.kind == np.array(expected).dtype.kind


@pytest.mark.parametrize(
    ("classes", "written", "expected"),
    [
        ([0, 1], ["1.0", "0"], [1, 0]),
        ([0, 1], ["1", "2.0"], [1, 2]),
        ([0.5, 1.5], ["0.5", "1"], [0.5, 1]),
        ([0, 1], [Decimal("1.0"), Decimal("0.5")], [1, 0.5]),
        ([0, 1], [True, False], [True, False]),
        (["0.0", "1.0"], ["1", " 0"], ["1.0", "0.0"]),
        (["0.0", "1.0"], [1, 0], ["1.0", "0.0"]),
        (["false", "true"], ["True", "FALSE"], ["true", "false"]),
        (["false", "true"], [True, False], ["true", "false"]),
        (["p", "q"], [" p", "r"], ["p", "r"]),
        ([False, True], [" true", "False"], [True, False]),
    ],
)
def test_labels_become_the_equal_ones_of_a_model(classes, written, expected):
    assert labels_like(column(written).distinct(), np.array(classes)).tolist() == expected


def test_labels_of_another_kind_have_their_row():
    for kind, written, value in (
        ("whole", ["1", "red"], "'red'"),
        ("whole", [1.0, 0.5], "0.5"),
        ("boolean", ["true", "1"], "'1'"),
    ):
        with pytest.raises(WrongValue, match=f"must be .*, as before. Got {value}") as caught:
            labels_of(column(written).distinct(), kind, ", as before")
        assert caught.value.row == 1
    assert labels_of(column([" a", "1.0"]).distinct(), "text").tolist() == ["a", "1.0"]
    with pytest.raises(WrongValue, match="it may not have a fraction. Got '1.5'"):
        kind_of(column(["1", "1.5"]).distinct())
    with pytest.raises(WrongValue, match="must not be missing. Got None"):
        check_present(column([1, None]).distinct(), {""})


def test_a_column_with_fewer_values_than_rows_is_damaged():
    class File:
        metadata = SimpleNamespace(row_group=lambda group: SimpleNamespace(num_rows=3))

        def read_row_group(self, group, columns, use_threads):
            return pyarrow.table({columns[0]: [1.0, 2.0]})

    problem = "^f: row group 1, column 'x' is damaged: .*2 values for 3 rows"
    with pytest.raises(ValueError, match=problem):
        column_of(File(), "f", 1, "x")
