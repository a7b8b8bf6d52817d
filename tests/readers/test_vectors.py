"""Columns of vectors in Parquet: each element is a feature, through every door."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import margins
from margins.cli.app import main
from margins.cli.errors import CommandError
from margins.cli.options import Source
from margins.cli.tables import read_tables
from margins.data.chunks import Chunks

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

rng = np.random.default_rng(0)
VECTORS = rng.integers(-8, 8, (20, 3)).astype(np.float32)
LABELS = (VECTORS[:, 0] > 0).astype(int)
NAMES = ["emb[0]", "emb[1]", "emb[2]"]
FIXED = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(VECTORS.ravel()), 3)
LIST = pyarrow.list_(pyarrow.float32())
TENSOR = pyarrow.fixed_shape_tensor(pyarrow.float32(), (3,))
COLUMNS = {
    "fixed": (FIXED, "f4"),
    "list": (FIXED.cast(LIST), "f4"),
    "large": (FIXED.cast(pyarrow.large_list(pyarrow.float64())), "f8"),
    "half": (pyarrow.array(list(VECTORS.astype("f2"))), "f4"),
    "whole": (FIXED.cast(pyarrow.list_(pyarrow.int8())), "f8"),
    "tensor": (pyarrow.ExtensionArray.from_storage(TENSOR, FIXED), "f4"),
}


def write(path, vectors, **others):
    table = pyarrow.table({"emb": vectors, "y": LABELS[: len(vectors)], **others})
    parquet.write_table(table, path, row_group_size=8)
    return str(path)


@pytest.mark.parametrize("kind", COLUMNS)
def test_elements_are_features_in_chunks(tmp_path, kind):
    vectors, dtype = COLUMNS[kind]
    chunks = Chunks.from_parquet(write(tmp_path / "a.parquet", vectors), "y")
    assert chunks[1][0].columns.tolist() == NAMES and set(chunks[1][0].dtypes) == {np.dtype(dtype)}
    assert_array_equal(np.vstack([X for X, _ in chunks]), VECTORS)
    classifier = margins.MarginClassifier(eps=1e-6).fit(chunks)
    assert_array_equal(classifier.feature_names_in_, NAMES)


def test_vectors_and_other_columns(tmp_path):
    path = write(tmp_path / "a.parquet", FIXED, city=["Bonn", "Rome"] * 10, age=np.arange(20))
    chunks = Chunks.from_parquet(path, "y", categories={"city": ["Rome", "Bonn"]})
    assert chunks[0][0].columns.tolist() == [*NAMES, "city=Rome", "city=Bonn", "age"]
    assert chunks[2][0].iloc[1].tolist() == [*VECTORS[17], 1, 0, 17]
    X, _ = Chunks.from_parquet(path, "y", columns=["emb"])[0]
    assert X.columns.tolist() == NAMES
    with pytest.raises(ValueError, match="'emb' must be a single value in each row"):
        Chunks.from_parquet(path, "y", columns=["emb"], categories={"emb": [1]})[0]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([1.0, 2.0], r"row 2: 'emb' must be a vector of 3 numbers. Got 2\."),
        (None, r"row 2: 'emb' must be a vector of 3 numbers. Got None\."),
        ([1.0, None, 0.0], r"row 2: 'emb\[1\]' must be a finite number. Got None\."),
        ([1.0, 0.0, np.inf], r"row 2: 'emb\[2\]' must be a finite number. Got inf\."),
    ],
)
def test_wrong_vectors_have_their_row_and_column(tmp_path, capsys, value, error):
    vectors = VECTORS.tolist()
    vectors[10] = value
    path = write(tmp_path / "a.parquet", vectors)
    with pytest.raises(ValueError, match=f"row group 1, {error}"):
        margins.MarginClassifier().fit(Chunks.from_parquet(path, "y"))
    assert main(["train", path, "-o", str(tmp_path / "m.skops"), "--target", "y"]) == 3
    assert f"{path}: row 10: 'emb" in capsys.readouterr().err


def test_messages_list_few_of_many_elements(tmp_path):
    path = write(tmp_path / "a.parquet", [[0.0] * 300] * 20)
    with pytest.raises(ValueError, match=r"there is no column 'z'. Columns: 'emb', 'y'"):
        Chunks.from_parquet(path, "z")
    other = write(tmp_path / "b.parquet", [[0.0] * 299] * 20)
    with pytest.raises(CommandError, match=r"no column 'emb\[299\]'.* 'emb\[19\]' and 280 more"):
        read_tables([Source(each, target="y") for each in (path, other)])


def test_vectors_of_texts_and_names_that_occur_twice_are_errors(tmp_path):
    path = write(tmp_path / "a.parquet", [["a", "b"]] * 20)
    with pytest.raises(ValueError, match="row 0: the vectors 'emb' must hold numbers"):
        Chunks.from_parquet(path, "y")[0]
    path = write(tmp_path / "b.parquet", FIXED, **{"emb[1]": np.arange(20)})
    with pytest.raises(ValueError, match=r"must have a different name. Got 'emb\[1\]' twice"):
        Chunks.from_parquet(path, "y")


def test_row_groups_without_rows_say_nothing_of_vectors(tmp_path):
    full = [write(tmp_path / "b.parquet", VECTORS.tolist())]
    empty = [
        write(tmp_path / f"{name}.parquet", x[:0]) for name, x in (("a", FIXED.cast(LIST)), ("c", [1.0]))
    ]
    chunks = Chunks.from_parquet([empty[0], *full, empty[1]], "y")
    assert_array_equal(np.vstack([X for X, _ in chunks]), VECTORS)
    with pytest.raises(ValueError, match="a.parquet: Chunks.from_parquet needs at least one sample"):
        Chunks.from_parquet(empty[0], "y")
    with pytest.raises(ValueError, match="Got only vectors without elements"):
        Chunks.from_parquet(write(tmp_path / "d.parquet", [[]] * 9), "y")


@pytest.mark.parametrize("more", [(), ("--stream",), ("--scale",)])
def test_the_shell_trains_and_predicts_vectors(tmp_path, capsys, more):
    paths = [write(tmp_path / f"{kind}.parquet", COLUMNS[kind][0]) for kind in ("fixed", "list")]
    model = str(tmp_path / "m.skops")
    assert main(["train", *paths, "-o", model, "--target", "y", "-q", *more]) == 0
    assert main(["evaluate", model, *paths, "--target", "y"]) == 0
    assert "accuracy           1.000000  (40 of 40)" in capsys.readouterr().out
    assert main(["weights", model]) == 0
    assert "emb[0]" in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_files_with_vectors_of_other_lengths_are_errors(tmp_path, capsys, more):
    short, long = VECTORS.tolist(), [[*vector, 1.0] for vector in VECTORS.tolist()]
    paths = [write(tmp_path / f"{name}.parquet", x) for name, x in (("a", short), ("b", long))]
    assert main(["train", *paths, "-o", str(tmp_path / "m.skops"), "--target", "y", *more]) == 3
    assert "b.parquet: must have the columns of" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"row 0: 'emb' must be a vector of 3 numbers. Got 4\."):
        margins.MarginClassifier().fit(Chunks.from_parquet(paths, "y"))
