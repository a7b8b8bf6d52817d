"""Tables: what is malformed is reported with file, line and column."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from margins.cli.errors import CommandError
from margins.cli.options import Source
from margins.cli.samples import TrainingColumns, read_points, read_samples
from margins.data.chunks import Chunks
from margins.readers.malformed import MalformedFile

HEADER = "size,colour,label\n"


def read(tmp_path, text, categorical=("colour",)):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_samples(Source(str(path), target="label", categorical=categorical))


@pytest.mark.parametrize(
    ("classes", "problem"),
    [([0, 1], "must be a number, as in the model"), ([False, True], "must be true or false, as")],
)
def test_labels_of_a_kind_the_model_lacks_have_their_place(tmp_path, classes, problem):
    path = tmp_path / "t.csv"
    path.write_text(f"size,label\n1,{str(classes[0]).lower()}\n2,red\n")
    with pytest.raises(MalformedFile, match=problem) as caught:
        trained = TrainingColumns(1, ["size"], (), np.array(classes))
        read_points(Source(str(path), target="label"), trained, needs_labels=True)
    assert (caught.value.line, caught.value.column) == (3, 3)


def test_a_column_that_is_not_named_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",label\n1,a\n2,b\n")
    assert list(read_samples(Source(str(path), target="label")).X.columns) == ["Unnamed: 0"]
    path.write_text(",label\n1,a\nx,b\n")
    with pytest.raises(MalformedFile, match=":3:1: 'Unnamed: 0' must be a finite number. Got 'x'"):
        read_samples(Source(str(path), target="label"))


def test_the_index_of_a_data_frame_is_a_feature_with_a_note(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",x,label\n0,1,a\n1,2,b\n")
    for more in (), ("--stream",):
        result = run("train", path, "-o", tmp_path / "m.skops", "--target", "label", *more)
        assert "t.csv: the first column has no name and becomes a feature. If it is" in result.err
    with pytest.warns(UserWarning, match="t.csv: the first column has no name and becomes") as given:
        assert [*Chunks.from_csv(path, "label")[0][0]] == ["Unnamed: 0", "x"]
    assert given[0].filename == __file__
    assert [*Chunks.from_csv(path, "label", columns=["Unnamed: 0"])[0][0]] == ["Unnamed: 0"]  # asked for


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        (HEADER + "1,a,1\nbig,b,0\n", 3, 1, "'size' must be a finite number. Got 'big'. If these"),
        (HEADER + "1,a,1\ninf,b,0\n", 3, 1, "Got 'inf'"),
        (HEADER + "1,a,1\n ,b,0\n", 3, 1, "Got ' '. Fill in missing numbers, or leave out their rows."),
        (HEADER + '1,a,1\n"17,99",b,0\n', 3, 1, "Got '17,99'. Write numbers with a decimal point and"),
        ("its size,colour,label\n1,a,1\nbig,b,0\n", 3, 1, "give --categorical 'its size'."),
        (HEADER + '1,"x, y",1\n2,b,\n', 3, 5, "the label 'label' must not be missing. Got an em"),
        (HEADER + "1,a,1\n\n2,b,0,7\n", 4, 7, "a row must have 3 fields, like the header. Got 4"),
        (HEADER + '1,"a\nb",1\nbig,b,0\n', 4, 1, "Got 'big'"),
        (b"size,colour,label\n1,a\0,1\n", 2, 4, "must be text in UTF-8. Got the byte 0x00"),
        ('\ufeff"a\nb",label,"a\nb"\n1,1,1\n', 2, 10, "Got 'a\\nb' for columns 1 and 3"),
        (HEADER + "1,a,0.5\n2,b,1.7\n", 2, 5, "it may not have a fraction. Got '0.5'"),
        (HEADER + '1,"a' + "\n2,b,1" * 30000, 2, 1, "is not a valid row of CSV: field larger than"),
        ("label,size,colour\ntrue,18446744073709551616,a\n,1_0,b\n", 3, 2, "Got '1_0'"),
        ('label,size,colour\n1","n,",a\n', 2, 4, "Got 'n,'"),
        (HEADER + "true,a,1\n \t\n+2 ,b,0\nbig,b,0\n", 5, 1, "Got 'big'"),
        ("\n" + HEADER + "\nbig,a,1\n", 4, 1, "Got 'big'"),
    ],
)
def test_a_malformed_table_has_the_place_of_its_error(tmp_path, text, line, column, problem):
    with pytest.raises(MalformedFile) as caught:
        read(tmp_path, text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert problem in str(caught.value)


@examples(75)
@given(
    st.lists(
        st.lists(st.sampled_from(["1", "2.5", "x", "", '"', '"a,b"', "NA", "nan", "\n", "label", "-0"])),
        max_size=4,
    )
)
def test_any_table_is_samples_or_an_error_that_names_it(rows):
    text = "".join(",".join(fields) + "\n" for fields in [["size", "label"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(text)
        for categorical in ((), ("size",)):
            try:
                X, y = read_samples(Source(str(path), target="label", categorical=categorical))
            except (CommandError, MalformedFile) as error:
                assert str(error).startswith(str(path))
            else:
                assert X.shape == (len(y), 1)
