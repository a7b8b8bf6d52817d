"""Tables: what is malformed is reported with file, line and column."""

import numpy as np
import pytest

from margins.cli.errors import CommandError
from margins.cli.samples import Source, read_samples
from margins.data.malformed import MalformedFile

HEADER = "size,colour,label\n"


def read(tmp_path, text, categorical=("colour",)):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_samples(Source(str(path), target="label", categorical=categorical))


def test_numbers_categories_and_labels_have_their_types(tmp_path):
    X, y, _ = read(tmp_path, HEADER + "1,NA,1\n2.5,7,0\nTrue,,1\n".replace("True", "3"))
    assert X["size"].tolist() == [1, 2.5, 3] and X["size"].dtype == np.float64
    assert X["colour"].tolist() == ["NA", "7", ""]
    assert y.tolist() == [1, 0, 1] and y.dtype.kind == "i"


def test_labels_may_be_text(tmp_path):
    assert read(tmp_path, HEADER + "1,a,yes\n2,b,no\n").y.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (
            HEADER + "1,a,1\nbig,b,0\n",
            3,
            1,
            "'size' must be a finite number. Got 'big'. If these are categ",
        ),
        (HEADER + "1,a,1\n,b,0\n", 3, 1, "Got an empty field"),
        (HEADER + "1,a,1\ninf,b,0\n", 3, 1, "Got 'inf'"),
        (
            HEADER + '1,"x, y",1\n2,b,\n',
            3,
            5,
            "the label 'label' must not be missing. Got an empty field",
        ),
        (HEADER + "1,a,1\n\n2,b,0,7\n", 4, 7, "a row must have 3 fields, as the header. Got 4"),
        (HEADER + "1,a,1\n2,b\n", 3, 4, "a row must have 3 fields, as the header. Got 2"),
        (HEADER + '1,"a\nb",1\nbig,b,0\n', 4, 1, "Got 'big'"),
        (b"size,colour,label\n1,\xff,1\n", 2, 3, "must be text in UTF-8. Got the byte 0xff"),
    ],
)
def test_what_is_malformed_has_its_place(tmp_path, text, line, column, problem):
    with pytest.raises(MalformedFile) as caught:
        read(tmp_path, text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("text", [HEADER + "1,2,1,9\n2,3,0,9\n", HEADER + "1,2,1\n2,3,0,9\n"])
def test_no_field_is_dropped_in_silence(tmp_path, text):
    with pytest.raises(MalformedFile, match="a row must have 3 fields"):
        read(tmp_path, text, categorical=())


def test_an_empty_table_is_an_error(tmp_path):
    with pytest.raises(CommandError, match="at least one sample"):
        read(tmp_path, HEADER)
    with pytest.raises(CommandError, match="no CSV file"):
        read(tmp_path, "")


def test_what_is_no_parquet_is_an_error(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    path.write_bytes(b"something else")
    with pytest.raises(CommandError, match="is no Parquet file"):
        read_samples(Source(str(path), target="label"))
