"""Data frames: columns of vectors, and the original columns of a model's categories."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import margins
from margins.data.chunks import Chunks
from margins.data.validation import validate_matrix

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
VECTORS = rng.integers(-8, 8, (20, 3)).astype(np.float32)
LABELS = (VECTORS[:, 0] > 0).astype(int)
FIXED = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(VECTORS.ravel()), 3)


def frames_of(library):
    if library == "pandas":
        index = rng.permutation(20)
        yield pandas.DataFrame({"emb": list(VECTORS)}, index=index)
        yield pandas.DataFrame({"emb": list(VECTORS.astype(np.float16))}, index=index)
        table = pyarrow.table({"emb": FIXED})
        yield table.to_pandas(types_mapper=pandas.ArrowDtype)
    elif library == "pyarrow":
        tensor = pyarrow.fixed_shape_tensor(pyarrow.float32(), (3,))
        yield pyarrow.table({"emb": FIXED})
        yield pyarrow.table({"emb": FIXED.cast(pyarrow.large_list(pyarrow.float16()))})
        yield pyarrow.table({"emb": pyarrow.ExtensionArray.from_storage(tensor, FIXED)})
    else:
        polars = pytest.importorskip("polars")
        yield polars.DataFrame({"emb": VECTORS})
        yield polars.DataFrame({"emb": polars.Series(VECTORS).arr.to_list()})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_elements_of_vectors_are_features(library):
    expected = margins.MarginClassifier(eps=1e-6).fit(VECTORS, LABELS)
    for frame in frames_of(library):
        X = validate_matrix(frame, "X")
        assert X.dtype == np.float32
        assert_array_equal(X, VECTORS)
        classifier = margins.MarginClassifier(eps=1e-6).fit(frame, LABELS)
        assert_array_equal(classifier.feature_names_in_, ["emb[0]", "emb[1]", "emb[2]"])
        assert_array_equal(classifier.coef_, expected.coef_)
        assert_array_equal(classifier.predict(frame), expected.predict(VECTORS))


def test_vectors_next_to_numbers_and_in_chunks_of_a_frame():
    frame = pandas.DataFrame({"age": np.arange(20), "emb": VECTORS.tolist()})
    X = validate_matrix(frame, "X")
    assert_array_equal(X, np.column_stack([np.arange(20), VECTORS]))
    chunks = Chunks.of_rows(frame, LABELS, n_rows=6)
    for classifier in (margins.MarginClassifier(), margins.get("pdm")(eps=0.1)):
        assert classifier.fit(chunks).feature_names_in_.tolist() == ["age", "emb[0]", "emb[1]", "emb[2]"]
        assert_array_equal(classifier.predict(frame), classifier.predict(chunks))


def test_partitions_of_dask_may_hold_vectors():
    dask = pytest.importorskip("dask.dataframe")
    frame = pyarrow.table({"emb": FIXED}).to_pandas(types_mapper=pandas.ArrowDtype)
    X, y = (dask.from_pandas(each, npartitions=2) for each in (frame, pandas.Series(LABELS)))
    classifier = margins.MarginClassifier().fit(X, y)
    assert_array_equal(classifier.predict(X), classifier.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(X.rename(columns={"emb": "b"})).compute()


def test_the_first_vector_may_be_missing():
    frame = pandas.DataFrame({"emb": [None, *VECTORS[1:]]})
    with pytest.raises(ValueError, match="row 0: 'emb' must be a vector of 3 numbers. Got None"):
        margins.MarginClassifier().fit(frame, LABELS)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([1.0], r"row 5: 'emb' must be a vector of 3 numbers. Got 1\."),
        (None, r"row 5: 'emb' must be a vector of 3 numbers. Got None\."),
        ([1.0, np.nan, 2.0], r"row 5: 'emb\[1\]' must be a finite number. Got None\."),
        (7.0, "column 'emb': cannot mix list and non-list"),
        (np.ma.masked_equal([1.0, 2, 3], 2), r"row 5: 'emb' must not be masked. Got masked_array"),
        ([2**70, 1, 2], "column 'emb': .* too large"),
    ],
)
def test_wrong_vectors_have_their_row_and_column(value, error):
    vectors = VECTORS.tolist()
    vectors[5] = value
    with pytest.raises(ValueError, match=f"X of MarginClassifier: {error}"):
        margins.MarginClassifier().fit(pandas.DataFrame({"emb": vectors}), LABELS)


def test_nested_vectors_have_their_row_and_column():
    for nested in ([[1, 2], [3]], [[1, 2], [3, 4]]):
        with pytest.raises(ValueError, match=r"row 0: the vectors 'emb' must hold numbers. Got \[\["):
            margins.MarginClassifier().fit(pandas.DataFrame({"emb": [nested] * 20}), LABELS)


@pytest.fixture
def table(tmp_path):
    """A table with categories, its samples in Chunks that find them, and its file."""
    frame = pandas.DataFrame({"age": rng.integers(18, 90, 20), "emb": list(VECTORS)})
    frame["city"] = rng.choice(["Bonn", "a=b", None], 20)
    frame["member"] = rng.random(20) < 0.5
    path = tmp_path / "table.parquet"
    frame.assign(y=LABELS).to_parquet(path, row_group_size=6)
    return frame, Chunks.from_parquet(path, "y", categories=["city", "member"]), path


def test_values_of_categories_are_found_in_the_files(table):
    frame, chunks, path = table
    names = ["city=", "city=Bonn", "city=a=b", "member=False", "member=True"]
    assert chunks[0][0].columns.tolist() == ["age", "emb[0]", "emb[1]", "emb[2]", *names]
    stated = {"city": [None, "Bonn", "a=b"], "member": [False, True]}
    same = Chunks.from_parquet(path, "y", categories=stated)
    for found, expected in zip(chunks, same, strict=True):
        pandas.testing.assert_frame_equal(found[0], expected[0])


def test_models_of_chunks_predict_the_original_columns(table, tmp_path, capsys):
    from margins.cli.app import main
    from margins.persistence import dump

    frame, chunks, path = table
    classifier = margins.MarginClassifier().fit(chunks)
    scores = classifier.decision_function(chunks)
    frames = [frame, pyarrow.Table.from_pandas(frame), frame.astype({"city": "category"})]
    for each in frames:
        np.testing.assert_allclose(classifier.decision_function(each), scores, rtol=1e-12)
    for k in (0, 7):
        row = frame.iloc[k].to_dict()
        for order in (row, dict(reversed(row.items()))):
            np.testing.assert_allclose(classifier.decision_function(order), scores[k : k + 1])
    with pytest.raises(ValueError, match="row 0: 'city' must be one of '', 'Bonn', 'a=b'. Got 'Rome'"):
        classifier.predict({**row, "city": "Rome"})
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="only models of named columns predict a dict"):
        margins.MarginClassifier().fit(VECTORS, LABELS).predict(row)
    dump(classifier, tmp_path / "m.skops")
    assert main(["predict", str(tmp_path / "m.skops"), str(path), str(tmp_path / "p"), "-q"]) == 0
    assert (tmp_path / "p").read_text().split() == list(map(str, classifier.predict(chunks)))
