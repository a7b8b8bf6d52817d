"""The readers of real data: every set against the published shapes and class counts."""

import bz2
import gzip
import lzma
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
import real_data
from scipy import sparse

needs_data = pytest.mark.skipif(
    not os.environ.get("MARGINS_DATA"),
    reason="MARGINS_DATA is not set: the real data sets are not part of the project",
)
# Read every day, for they are small: what each way to write a file is, and each rule of a binary task.
# The long run reads all.
SMALL = {"mushrooms", "splice", "satimage", "breast-cancer-wisconsin", "wdbc", "wpbc", "crx"}
SMALL |= {"ionosphere", "sonar", "bupa", "promoters", "spambase", "australian"}

SETS = tomllib.loads(Path(__file__).with_name("published_sets.toml").read_text(encoding="utf-8"))
PUBLISHED = {(name, part): sizes for name, parts in SETS.items() for part, sizes in parts.items()}
PARTS = [
    pytest.param(*key, marks=[] if key[0] in SMALL else [pytest.mark.slow], id="-".join(key))
    for key in PUBLISHED
]


def positive_classes(name, classes):
    """Return the classes that the documented rule of the binary task makes positive."""
    if name == "covtype" or set(classes) == {"+", "-"}:
        return classes[:1]
    return classes[1:] if len(classes) == 2 else classes[: len(classes) // 2]


@needs_data
@pytest.mark.parametrize(("name", "part"), PARTS)
def test_set_is_the_published_one(name, part, monkeypatch):
    if name not in real_data.available():
        pytest.skip(f"{name} is not complete under MARGINS_DATA")
    published, dataset = PUBLISHED[name, part], real_data.load(name, part)
    assert dataset.name == name and dataset.source
    assert list(dataset.X.shape) == published["shape"] and dataset.X.dtype == np.float64
    classes, counts = np.unique(dataset.y, return_counts=True)
    if "summary" in published:
        assert [len(classes), counts.min(), counts.max()] == published["summary"]
    else:
        assert dict(zip(map(str, classes), counts, strict=True)) == published["classes"]
    if sparse.issparse(dataset.X):
        assert dataset.X.format == "csr"
        assert dataset.X.indices.dtype == dataset.X.indptr.dtype == np.int32
    assert np.isfinite(dataset.X.data if sparse.issparse(dataset.X) else dataset.X).all()
    monkeypatch.setattr(real_data, "load", lambda name, part: dataset)  # each file is read once
    task = real_data.binary(name, part)
    positive = positive_classes(name, np.unique(dataset.y).tolist())
    assert task.y.dtype == np.int64
    np.testing.assert_array_equal(task.y, np.where(np.isin(dataset.y, positive), 1, -1))
    factor = 0.001 if name == "covtype" else 1.0
    assert task.X.max() == pytest.approx(factor * dataset.X.max())


def test_published_figures_cover_the_table():
    parts = {(name, "train") for name in real_data.ENTRIES}
    parts |= {(name, "test") for name, entry in real_data.ENTRIES.items() if entry.test}
    assert parts == set(PUBLISHED)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Stand in for the data: a folder that starts empty and a function that writes one file."""
    monkeypatch.setenv("MARGINS_DATA", str(tmp_path))

    def write(file, content):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        openers = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
        with openers.get(path.suffix, open)(path, "wb") as stream:
            stream.write(content)
        return path

    return write


def test_svmlight_keeps_the_features_that_a_part_does_not_show(folder):
    folder("a9a/a9a.t.bz2", b"-1 1:1 3:0.5\n+1 122:2\n")
    X, y = real_data.load("a9a", "test")[1:3]
    assert X.shape == (2, 123) and X.nnz == 3 and y.tolist() == [-1, 1]
    assert X[0, 0] == 1 and X[0, 2] == 0.5 and X[1, 121] == 2


def test_integers_become_a_sparse_matrix(folder):
    rows = np.random.default_rng(0).integers(-3, 4, size=(7, 55))
    rows[:, -1] = [1, 2, 3, 4, 5, 6, 7]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    folder("covtype/covtype.data.xz", text.encode())
    X, y = real_data.load("covtype")[1:3]
    np.testing.assert_array_equal(X.toarray(), rows[:, :-1])
    np.testing.assert_array_equal(y, rows[:, -1])
    task = real_data.binary("covtype")
    np.testing.assert_allclose(task.X.toarray(), 0.001 * rows[:, :-1])
    assert task.y.tolist() == [1, -1, -1, -1, -1, -1, -1]


def test_images_become_rows_of_raw_pixels(folder):
    pixels = np.arange(3 * 784).reshape(3, 784) % 256
    header = bytes([0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28])
    folder("mnist/t10k-images-idx3-ubyte.gz", header + pixels.astype(np.uint8).tobytes())
    folder("mnist/t10k-labels-idx1-ubyte.gz", bytes([0, 0, 8, 1, 0, 0, 0, 3, 4, 5, 9]))
    X, y = real_data.load("mnist", "test")[1:3]
    np.testing.assert_array_equal(X.toarray(), pixels)
    assert y.tolist() == [4, 5, 9]
    assert real_data.binary("mnist", "test").y.tolist() == [1, -1, -1]


def test_missing_number_is_the_mean_of_its_column(folder):
    folder(
        "breast-cancer-wisconsin/breast-cancer-wisconsin.data",
        b"11,1,1,1,1,2,?,1,1,1,2\n12,1,1,1,1,4,3,1,1,1,4\n13,1,1,1,1,6,8,1,1,1,2\n",
    )
    X, y = real_data.load("breast-cancer-wisconsin")[1:3]
    assert X[:, 4:6].tolist() == [[2, 5.5], [4, 3], [6, 8]] and y.tolist() == [2, 4, 2]


def test_sequence_becomes_one_indicator_a_letter_and_place(folder):
    words = ["a" * 57, "c" * 57, "g" * 57, "t" * 57]
    text = "".join(f"{'+-'[k % 2]},N{k},\t\t{word}\r\n" for k, word in enumerate(words))
    folder("promoters/promoters.data", text.encode())
    X = real_data.load("promoters").X
    np.testing.assert_array_equal(X, np.tile(np.eye(4), 57))
    assert real_data.binary("promoters").y.tolist() == [1, -1, 1, -1]


@needs_data
def test_missing_nominal_value_has_no_indicator():
    if "crx" not in real_data.available():
        pytest.skip("crx is not complete under MARGINS_DATA")
    X = real_data.load("crx").X
    attribute = X[:, :2]  # the first attribute: a, b, and "?" in 12 rows
    assert attribute.sum(axis=0).tolist() == [210, 468]
    assert (attribute.sum(axis=1) == 0).sum() == 12


def test_unknown_names_and_parts_are_errors_that_say_what_is_allowed():
    with pytest.raises(ValueError, match=r"name .* must be one of a9a, .*wpbc\. Got 'A9B'\. ") as e:
        real_data.load("A9B")
    assert str(e.value).endswith("Did you mean 'a9a'?")
    with pytest.raises(ValueError, match=r"Got 'zzzzzz'\.$"):
        real_data.binary("zzzzzz")
    with pytest.raises(ValueError, match=r"part of data set a9a must be 'train' or 'test'. Got 'v"):
        real_data.load("a9a", "valid")
    with pytest.raises(ValueError, match=r"part of data set w8a must be 'train'\. Got 'test'\."):
        real_data.load("w8a", "test")


def test_file_of_another_form_is_rejected(folder):
    path = folder("wpbc/wpbc.data", b"N,1,2,3\nR,4,5,6\n")
    with pytest.raises(ValueError) as e:
        real_data.load("wpbc")
    assert str(e.value) == f"{path} must give wpbc its 33 features. Got 3."
