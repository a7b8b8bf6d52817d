"""Chunks of files: the same samples as those of a table in memory, and errors that say where."""

import pickle
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.preprocessing import StandardScaler

import margins
from margins.data.chunks import Chunks
from margins.readers.files import ranges_of_lines
from margins.readers.malformed import MalformedFile
from margins.readers.svmlight import svmlight_parts
from margins.readers.tables import csv_parts

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

CITIES = ["Bonn", "Köln", "a, b\nc"]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "age": rng.integers(18, 90, 60),
            "size": rng.normal(size=60).astype(np.float32),
            "member": rng.random(60) < 0.5,
            "city": rng.choice(CITIES, 60),
            "weight": rng.random(60) + 0.5,
        }
    )
    frame["label"] = np.where(frame["size"] + (frame["city"] == "Bonn") > 0.3, "yes", "no")
    return frame


def expected(table):
    X = table[["age", "size", "member"]].astype(float)
    for city in CITIES:
        X[f"city={city}"] = (table["city"] == city).astype(float)
    return X


def joined(chunks):
    return [np.concatenate(list(map(np.asarray, columns))) for columns in zip(*chunks, strict=True)]


@pytest.fixture
def parquet(table, tmp_path):
    for number, rows in enumerate((slice(25), slice(25, 60))):
        table[rows].to_parquet(tmp_path / f"part{number}.parquet", row_group_size=10)
    return str(tmp_path / "part*.parquet")


PARAMS = {"categories": {"city": CITIES}, "sample_weight": "weight"}


def test_row_groups_of_parquet_are_chunks(table, parquet):
    chunks = Chunks.from_parquet(parquet, "label", **PARAMS)
    assert len(chunks) == 3 + 4
    assert repr(chunks) == "<Chunks: 7 chunks of 2 files, 60 rows, 6 columns>"
    assert chunks[0][0].columns.tolist() == expected(table).columns.tolist()
    X, y, weight = joined(chunks)
    assert_array_equal(X, expected(table))
    assert_array_equal(y, table["label"])
    assert_array_equal(weight, table["weight"])
    assert_array_equal(pickle.loads(pickle.dumps(chunks))[3][0], chunks[3][0])


def test_lines_of_csv_are_chunks_also_if_values_are_quoted(table, tmp_path):
    path = str(tmp_path / "table.csv")
    table.to_csv(path, index=False)
    for n_bytes in (1, 50, 400, 10**6):
        parts = csv_parts([path], "label", None, {"city": CITIES}, "weight", n_bytes)
        X, y, weight = joined(Chunks(parts))
        assert_allclose(X, expected(table), rtol=1e-6)
        assert_array_equal(y, table["label"])
        assert_allclose(weight, table["weight"])
    assert len(parts) == 1 and len(csv_parts([path], "label", None, None, None, 400)) > 4
    chunks = Chunks.from_csv(path, "label", **PARAMS)
    assert repr(chunks) == "<Chunks: 1 chunk of 1 file, rows not counted, 6 columns>"


def test_lines_of_svmlight_are_chunks(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(50, 12, 0.3, "csr", random_state=0)
    y = rng.integers(0, 3, 50)
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    path.write_bytes(path.read_bytes() + b"\n\n")
    for n_bytes in (1, 100, 10**6):
        found = [part() for part in svmlight_parts([str(path)], None, False, n_bytes)]
        assert_allclose(sparse.vstack([part[0] for part in found]).toarray(), X.toarray())
        assert_array_equal(np.concatenate([part[1] for part in found]), y)
    chunks = Chunks.from_svmlight([path, path], n_features=20)
    assert chunks[0][0].shape == (50, 20) and len(chunks) == 2
    d = load_svmlight_file(str(path))[0].shape[1]
    assert Chunks.from_svmlight(path)[0][0].shape[1] == d
    assert repr(Chunks.from_svmlight(path)) == f"<Chunks: 1 chunk of 1 file, 50 rows, {d} columns>"


def test_ranges_end_where_lines_do(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b'a\n"b\nc"\nd\n"e\n\n"x\nlast')
    ranges = list(ranges_of_lines(str(path), 3, delimiter=","))
    text = path.read_bytes()
    assert [text[begin:end] for begin, end in ranges] == [b'a\n"b\nc"\n', b'd\n"e\n\n"x\n', b"last"]
    assert list(ranges_of_lines(str(path), 10**6)) == [(0, len(text))]


# Errors say what, where, and what is allowed.


def test_missing_columns_and_files_are_errors(parquet, tmp_path):
    with pytest.raises(ValueError, match=r"part0.parquet: there is no column 'x'\. Columns: 'age', "):
        Chunks.from_parquet(parquet, "label", columns=["age", "x"])
    with pytest.raises(ValueError, match="there is no column 'class'"):
        Chunks.from_parquet(parquet, "class")
    with pytest.raises(ValueError, match="X must have at least one column; the target 'label'"):
        Chunks.from_parquet(parquet, "label", columns=["label"])
    for paths in (str(tmp_path / "none*.csv"), [str(tmp_path / "none.csv")], []):
        with pytest.raises(ValueError, match="paths of Chunks.from_csv must be files"):
            Chunks.from_csv(paths, "label")
    with pytest.raises(ValueError, match=r"paths of Chunks.from_csv must be a path, .* Got 3\."):
        Chunks.from_csv(3, "label")


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("city", "Rom", r"row group 0, row 4: 'city' must be one of 'Bonn', .*\. Got 'Rom'"),
        ("city", None, "row group 0, row 4: 'city' must be one of"),
        ("size", np.nan, "row group 0, row 4: 'size' must be a finite number. Got None"),
        ("size", np.inf, "row 4: 'size' must be a finite number. Got inf"),
        ("label", None, "row group 0, row 4: the label 'label' must not be missing"),
    ],
)
def test_bad_values_have_their_row(table, tmp_path, column, value, error):
    table.loc[4, column] = value
    table.to_parquet(tmp_path / "a.parquet")
    chunks = Chunks.from_parquet(tmp_path / "a.parquet", "label", **PARAMS)
    with pytest.raises(ValueError, match=error):
        margins.MarginClassifier().fit(chunks)


@pytest.mark.parametrize(
    ("text", "params", "error"),
    [
        (b"a,y\n1,0\n2,1,5\n3,0\n", {}, "csv:3:5: a row must have 2 fields, like the header. Got 3"),
        (b"a,b,y\n1,2,0\n2,1\n", {}, "csv:3:4: a row must have 3 fields, like the header. Got 2"),
        (b"a,a,y\n1,2,0\n", {}, "every column must have a different name"),
        (b"", {}, "csv:1:1: must start with a header"),
        (b"\n \n", {}, "csv:1:1: must start with a header"),
        (b"\x1f\x8b\xff", {}, "csv:1:2: must be text in UTF-8. Got the byte 0x8b"),
        (b"a,y\n1,\xe9\n", {}, "csv:2:3: must be text in UTF-8. Got the byte 0xe9"),
        (b"a,y\n1,0\n", {"sample_weight": "y"}, "must be separate columns"),
        (b"a,y\n1,0\n", {"columns": "a"}, "columns must be a list of names. Got the str 'a'"),
        (b"a,c,y\n1,u,0\n", {"columns": ["a"], "categories": {"c": ["u"]}}, "must be columns of X"),
        (b"c,y\nu,0\n", {"categories": {"c": ["u", "u"]}}, "values of 'c' must be distinct"),
        (b"c,y\nu,0\n", {"categories": {"c": "u"}}, "must be distinct, in a list. Got 'u'"),
        (b"c,y\nu,0\n", {"categories": "c"}, "categories must be a dict of lists.* Got 'c'"),
        (b"c,y\nu,0\n", {"categories": ["d"]}, "there is no column 'd'"),
        (b"c,y\nu,0\n", {"categories": {"c": 3}}, "the categories of 'c' must be a list. Got 3"),
        (b"c,y\nu,0\n", {"columns": 3}, "columns must be None or a list of names. Got 3"),
        (b"c,y\n1,0\n", {"categories": {"c": ["1", 1.0]}}, "values of 'c' must be distinct"),
        (b"c,c=u,y\nu,1,0\n", {"categories": {"c": ["u"]}}, "a different name.* Got 'c=u' twice"),
        (b"a,a=b,y\nu,1,0\n", {"categories": {"a": ["b=c"], "a=b": ["c"]}}, "Got 'a=b=c' twice"),
        (b'c,d,y\n"p\nq",u,0\np,v,1\n', {"categories": {"c": ["p"], "d": ["u"]}}, "csv:2:1: 'c' must"),
        (b"x y,a,y\n3,1,1.5\n", {}, r"csv:2:5: the label 'y' .* may not have a fraction. Got '1.5'"),
        (b'a,y\n1,"0"\n\n18446744073709551616,0\nx,1\n', {}, "csv:5:1: 'a' must .* categories="),
        (b"a,y\n1, NA\n", {}, r"csv:2:3: the label 'y' must not be missing. Got ' NA'"),
        (b'a,y\n1,0\n2,"1\n3,0\n', {}, "csv:3:3: a field that starts with a quote must end with one"),
        (b'a,c,y\n1,"u\n\n2,v,0', {}, "csv:4:6: a row must have 3 fields, like the header. Got 2"),
    ],
)
def test_malformed_csv_is_an_error(tmp_path, text, params, error):
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=error):
        Chunks.from_csv(path, "y", **params)[0]


def test_csv_of_other_systems_and_words_for_missing_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeff"a\nb",c,y\r\n1,NA,0\r\n\r\n2,None,1\r\n'.encode())
    X, y = Chunks.from_csv(path, "y", categories={"c": ["NA", "None"]})[0]
    assert X.columns.tolist() == ["a\nb", "c=NA", "c=None"]
    assert X.to_numpy().tolist() == [[1, 1, 0], [2, 0, 1]] and y.tolist() == [0, 1]


def test_columns_are_found_by_name_in_every_file(tmp_path):
    for name, columns in (("1", ["b", "a", "y"]), ("2", ["y", "a", "b"]), ("3", ["a", "b", "y", "c"])):
        pandas.DataFrame({each: [ord(each), 0] for each in columns}).to_parquet(tmp_path / name)
    paths = [tmp_path / "1", tmp_path / "2"]
    for X, _ in Chunks.from_parquet(paths, "y"):
        assert X.columns.tolist() == ["b", "a"] and X.iloc[0].tolist() == [98, 97]
    with pytest.raises(ValueError, match="3: must have the columns of .*1. Got 'c'"):
        Chunks.from_parquet([*paths, tmp_path / "3"], "y")
    assert len(Chunks.from_parquet([*paths, tmp_path / "3"], "y", columns=["a", "b"])) == 3
    (tmp_path / "4").write_text("x")
    with pytest.raises(ValueError, match="4: is not a Parquet file"):
        Chunks.from_parquet([*paths, tmp_path / "4"], "y")


def test_the_index_of_pandas_is_not_a_feature(table, tmp_path):
    table.sort_values("age").to_parquet(tmp_path / "a")
    table.set_index("age").to_parquet(tmp_path / "b")
    for name, features in (("a", ["age", "size", "member"]), ("b", ["size", "member"])):
        chunks = Chunks.from_parquet(tmp_path / name, "label", **PARAMS)
        assert chunks[0][0].columns.tolist()[:-3] == features


def test_malformed_lines_have_their_place_in_the_file(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:2\n" * 30 + "1 2:x\n" + "1 1:2\n" * 30)
    parts = svmlight_parts([str(path)], 2, False, 50)
    with pytest.raises(MalformedFile, match=r"a\.svm:31:5: .*Got 'x'") as caught:
        [part() for part in parts]
    assert caught.value.line == 31


def test_parts_of_svmlight_may_have_no_samples(tmp_path):
    path, empty = tmp_path / "a.svm", tmp_path / "b.svm"
    path.write_text("# made by hand\n\n1 1:2 3:1\n# the end\n")
    empty.write_text("# nothing yet\n")
    parts = [part() for part in svmlight_parts([str(path)], None, False, 3)]
    assert [X.shape for X, _ in parts] == [(0, 3), (1, 3), (0, 3)]
    chunks = Chunks.from_svmlight([empty, path])
    assert [X.shape for X, _ in chunks] == [(0, 3), (1, 3)]
    assert [len(y) for _, y in chunks] == [0, 1]


def test_skipped_fields_of_svmlight_are_noted_once_for_a_file(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 qid:1 1:2\n" * 30)
    parts = svmlight_parts([str(path)], 1, False, 50)
    with pytest.warns(UserWarning, match=r"a\.svm: qid: are skipped") as caught:
        for _ in range(2):
            assert sum(part()[0].sum() for part in parts) == 60
    assert len(caught) == 1


@pytest.mark.parametrize("n_features", [0, 2.5, True, 2**31])
def test_n_features_of_svmlight_is_checked_before_files_are_read(tmp_path, n_features):
    path = tmp_path / "a.svm"
    path.write_text("what is this")
    with pytest.raises(ValueError, match="n_features of Chunks.from_svmlight must be None or an"):
        Chunks.from_svmlight(path, n_features=n_features)
    with pytest.raises(ValueError, match="zero_based of Chunks.from_svmlight must be True or False"):
        Chunks.from_svmlight(path, zero_based="x")


def test_files_without_a_sample_are_named(tmp_path):
    (tmp_path / "a.svm").write_text("")
    (tmp_path / "a.csv").write_text("x,y\n")
    pandas.DataFrame({"x": [1.0], "y": [0]}).head(0).to_parquet(tmp_path / "a.parquet")
    reads = Chunks.from_svmlight, Chunks.from_csv, Chunks.from_parquet
    for read, name in zip(reads, ("a.svm", "a.csv", "a.parquet"), strict=True):
        target = () if name == "a.svm" else ("y",)
        with pytest.raises(ValueError, match=f"{name}: Chunks.* needs at least one sample. Got none"):
            read(tmp_path / name, *target)


# What is made of chunks.


def test_a_model_of_files_equals_the_model_of_the_table(table, parquet):
    chunks = Chunks.from_parquet(parquet, "label", **PARAMS)
    X, weight = expected(table), table["weight"]
    params = {"eps": 1e-6, "C": 0.5}
    of_files = margins.MarginClassifier(**params).fit(chunks)
    in_memory = margins.MarginClassifier(**params).fit(X, table["label"], weight)
    assert_array_equal(of_files.feature_names_in_, X.columns)
    assert_allclose(of_files.coef_, in_memory.coef_, atol=1e-3)
    assert_array_equal(of_files.predict(chunks), of_files.predict(X))
    assert_allclose(of_files.decision_function(chunks), of_files.decision_function(X), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        of_files.predict(X[X.columns[::-1]])


def test_a_scaler_is_fitted_and_applied_chunk_by_chunk(table, parquet):
    chunks = Chunks.from_parquet(parquet, "label", **PARAMS)
    of_chunks = StandardScaler()
    for X, _, _ in chunks:
        of_chunks.partial_fit(X)
    whole = StandardScaler().fit(expected(table))
    assert_allclose(of_chunks.scale_, whole.scale_)
    scaled = chunks.map(of_chunks.transform)
    X, y, weight = joined(scaled)
    assert_allclose(X, whole.transform(expected(table)), atol=1e-12)
    assert len(scaled) == len(chunks) and len(weight) == len(y) == 60
    assert margins.MarginClassifier().fit(scaled).score(scaled) > 0.8


# Values of chunks.


def chunks_of(tmp_path, text, n_bytes=8, categories=None):
    path = tmp_path / "a.csv"
    path.write_text(text)
    return Chunks(csv_parts([str(path)], "y", None, categories, None, n_bytes))


@pytest.mark.parametrize("categories", [["1", "2"], [1.0, 2.0], ["2.0", "1.0"]])
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


def test_rows_may_be_longer_than_the_blocks_that_pyarrow_reads(tmp_path, monkeypatch):
    monkeypatch.setattr("margins.readers.csv.BLOCK_BYTES", 20)
    text = "x,c,y\n" + "".join(f"{k},{'long ' * 20 * (k == 1)},0\n" for k in range(4))
    chunks = chunks_of(tmp_path, text, 10**6, categories={"c": ["", ("long " * 20).strip()]})
    assert chunks[0][0].to_numpy().tolist() == [[0, 1, 0], [1, 0, 1], [2, 1, 0], [3, 1, 0]]


def test_a_byte_order_mark_within_a_file_is_text(tmp_path):
    chunks = chunks_of(tmp_path, "c,y\n\ufeffa,0\nb,1\n", categories={"c": ["\ufeffa", "b"]})
    assert np.vstack([X for X, _ in chunks]).tolist() == [[1, 0], [0, 1]]
