"""Tables on the command line: equal values are equal, finite numbers are read, damage has its place."""

import json
from decimal import Decimal

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

import margins
from margins.cli.options import Source
from margins.cli.samples import read_samples
from margins.persistence import dump, load

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

ROWS = {"c": ["1", "2", "", "1", "2", ""], "x": [1, 2, 3, 2, 1, 3], "y": [0, 1, 0, 0, 1, 0]}


def csv_of(path, categories):
    pandas.DataFrame({**ROWS, "c": categories}).to_csv(path, index=False)
    return path


@pytest.fixture
def model(run, tmp_path):
    path = tmp_path / "m.skops"
    data = csv_of(tmp_path / "train.csv", ROWS["c"])
    assert run("train", data, path, "--target", "y", "--categorical", "c").code == 0
    return path


@pytest.mark.parametrize(
    "written",
    [
        [1.0, 2.0, None, 1.0, 2.0, None],
        [" 1", "2 ", " ", "1e0", "2", ""],
        [Decimal("1.0"), Decimal(2), None, Decimal(1), Decimal("2.00"), None],
    ],
)
def test_categories_match_the_model_in_any_spelling(run, tmp_path, model, written):
    expected = run("predict", model, tmp_path / "train.csv", "--scores")
    frame = pandas.DataFrame({**ROWS, "c": written})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        assert run("predict", model, tmp_path / name, "--scores") == expected
    assert expected.code == 0 and not expected.err


@pytest.mark.parametrize("label", ["true", "True", "01", "1", "1.0", "none", "inf", "[1]", "a=b"])
def test_a_class_weight_names_a_label_as_it_is_written(run, tmp_path, label):
    data, target = tmp_path / "t.csv", ("--target", "y")
    pandas.DataFrame({"x": [1, 2, 3, 2], "y": [label, "x", label, "x"]}).to_csv(data, index=False)
    weight = ("--class-weight", f"{label}=3")
    certificates = []
    for option in ((), ("--stream",)):
        model = tmp_path / "m.skops"
        result = run("train", data, "-o", model, *target, *weight, *option, "--json")
        assert load(model).class_weight == {label: 3}
        certificates.append(result.json["certificates"][0]["primal"])
    assert certificates[0] == pytest.approx(certificates[1])
    penalties = ("--c-min", "1", "--c-max", "1", "--points", "1", "--json")
    (fit,) = run("path", data, *target, *weight, *penalties).json
    assert fit["objective"] == pytest.approx(certificates[0], rel=1e-3)
    assert run("certify", model, data, *target, *weight).code == 0
    unweighted = run("train", data, tmp_path / "u.skops", *target, "--json").json
    assert unweighted["certificates"][0]["primal"] < 0.9 * certificates[0]


def test_a_class_weight_names_a_boolean(run, tmp_path):
    data, model = tmp_path / "t.parquet", tmp_path / "m.skops"
    pandas.DataFrame({"x": [1, 2, 3, 2], "y": [True, False] * 2}).to_parquet(data)
    assert run("train", data, model, "--target", "y", "--class-weight", "True=3").code == 0
    assert load(model).class_weight == {True: 3}


def test_a_note_counts_unknown_categories_by_column(run, tmp_path):
    frame = {"c": ["p", "q"] * 3, "d": ["u", "v"] * 3, "x": range(6), "y": [0, 1] * 3}
    path, model = tmp_path / "t.csv", tmp_path / "m.skops"
    pandas.DataFrame(frame).to_csv(path, index=False)
    options = ("--target", "y", "--categorical", "c,d")
    assert run("train", path, model, *options).code == 0
    other = tmp_path / "other.csv"
    frame |= {"c": ["p", "r", "s", "r", "q", "s"], "d": ["u", "u", "w", "u", "u", "u"]}
    pandas.DataFrame(frame).to_csv(other, index=False)
    note = (
        f"note: {other}: categories that are not in the model become zeros: "
        "2 of 'c' in 4 rows, such as 'r'; 1 of 'd' in 1 rows, such as 'w'.\n"
    )
    for command in (("predict", model, other), ("evaluate", model, other, "--target", "y")):
        result = run(*command)
        assert result.code == 0 and result.err == note
        assert run(*command, "-q").err == ""
    assert note in run("path", path, "--test", other, "--points", "2", *options).err


def test_categories_of_older_models_are_found_as_they_are(run, tmp_path):
    X = pandas.DataFrame({"c": ["1.0", "2.0", " p", "nan"] * 2, "x": np.arange(8.0)})
    encoded = ("categories", OneHotEncoder(handle_unknown="ignore"), ["c"])
    columns = ColumnTransformer([encoded, ("x", "passthrough", ["x"])])
    steps = [("columns", columns), ("classifier", margins.MarginClassifier())]
    dump(Pipeline(steps).fit(X, [0, 1, 1, 0] * 2), tmp_path / "m.skops")
    X.assign(c=["1", " 2", "p", "nan"] * 2).to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", tmp_path / "m.skops", tmp_path / "t.csv")
    assert result.err == "" and result.out.split() == ["0", "1", "1", "0"] * 2


@pytest.mark.parametrize(
    ("trained", "written"),
    [
        (["1", "0"], ["1.0", " 0.0"]),
        (["true", "false"], [True, False]),
        ([True, False], ["true", "false"]),
        (["yes", "no"], [" yes", "no "]),
        ([1, 0], [1.0, 0.0]),
    ],
)
def test_labels_match_the_model_in_any_spelling(run, tmp_path, trained, written):
    model = tmp_path / "m.skops"

    def write(labels, name):
        frame = pandas.DataFrame({"x": [1.0, -1.0] * 3, "y": labels * 3})
        frame.to_parquet(tmp_path / f"{name}.parquet")
        frame.to_csv(tmp_path / f"{name}.csv", index=False)

    write(trained, "train")
    write(written, "test")
    for kind in ("csv", "parquet"):
        assert run("train", tmp_path / f"train.{kind}", model, "--target", "y").code == 0
        for other in ("csv", "parquet"):
            result = run("evaluate", model, tmp_path / f"test.{other}", "--target", "y", "--json")
            assert json.loads(result.out)["accuracy"] == 1 and not result.err


def test_names_of_parquet_need_not_be_text(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pandas.DataFrame([[0.5, 0], [1.5, 1]], index=pandas.Index([5, 7], name="key"))
    frame.to_parquet(path)
    assert read_samples(Source(str(path), target="1")).X.columns.tolist() == ["0"]
    frame.columns = pandas.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    frame.to_parquet(path)
    assert read_samples(Source(str(path), target="('a', 'c')")).X.columns.tolist() == ["('a', 'b')"]


# Damage.


def test_a_damaged_table_of_parquet_is_an_error_that_says_what(run, tmp_path):
    path = tmp_path / "t.parquet"
    pandas.DataFrame({"x": [0.5, 1.5], "name": ["ab", "cd"], "y": [0, 1]}).to_parquet(
        path, compression="none"
    )
    whole = path.read_bytes()

    def check(problem):
        result = run("train", path, tmp_path / "m.skops", "--target", "y", "--categorical", "name")
        assert result.code == 3 and f"margins: {path}: {problem}" in result.err, result.err
        assert result.err.count("\n") == 1

    for old, new, problem in (
        (b"ab", b"\xff\xff", "row group 0, column 'name' is damaged"),
        (b"PAR1", b"PAR2", "is not a Parquet file"),
    ):
        path.write_bytes(whole.replace(old, new))
        check(problem)
    parquet = pytest.importorskip("pyarrow.parquet")
    path.write_bytes(whole)
    table = parquet.read_table(path)
    metadata = table.schema.metadata[b"pandas"]
    for old, new in (
        (b'"index_columns"', b'"index_co\xffumns"'),
        (b'"index_columns"', b'"index_colums"'),
        (b'"index_columns": [', b'"index_columns": ["__index_level_0__", '),
    ):
        damaged = metadata.replace(old, new)
        parquet.write_table(table.replace_schema_metadata({b"pandas": damaged}), path)
        check("its pandas metadata is damaged")
