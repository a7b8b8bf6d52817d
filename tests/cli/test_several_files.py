"""`train` of several files: as of one file with all rows, or streamed."""

import gzip

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

import margins.linalg.memory
from margins.persistence import load

pandas = pytest.importorskip("pandas")

COLOURS = np.array(["red", "7", "green", "", "blue"])
OPTIONS = {
    "svm": (),
    "csv": ("--target", "y", "--categorical", "colour"),
    "parquet": ("--target", "y", "--categorical", "colour"),
}


def frame_of(X, y):
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.insert(1, "colour", COLOURS[np.arange(len(y)) * 7 % 11 % 5])
    one = np.where(np.arange(len(y)) % 3, "1", "1.0")  # which are one label
    frame["y"] = np.where(y == 1, "no", np.where(y == 2, "2.5", one))
    return frame


def write(path, X, y, rows):
    if path.suffix == ".svm":
        write_svmlight(path, X[rows], y[rows])
    elif path.suffix == ".csv":
        frame_of(X, y)[rows].to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame_of(X, y)[rows].to_parquet(path, row_group_size=17)
    return path


@pytest.fixture
def files(tmp_path):
    """``files(kind)`` writes a file of all rows and three of its parts: path, list of paths."""

    def written(kind, n_classes=2):
        X, y = samples(n_classes, m=120)
        X[:50, 3] = 0  # so that the first part has fewer features in svmlight's format
        whole = write(tmp_path / f"whole.{kind}", X, y, slice(None))
        parts = enumerate((slice(0, 50), slice(50, 51), slice(51, None)))
        paths = [write(tmp_path / f"p{number}.{kind}", X, y, rows) for number, rows in parts]
        if kind == "csv":  # columns in another order
            table = pandas.read_csv(paths[2], dtype=str)
            table[table.columns[::-1]].to_csv(paths[2], index=False)
        elif kind == "parquet":
            table = pandas.read_parquet(paths[2])
            table[table.columns[::-1]].to_parquet(paths[2])
        return whole, paths

    return written


def arrays_of(path):
    model = load(path)
    classifier = model[-1] if hasattr(model, "steps") else model
    return classifier.coef_, classifier.intercept_, model.classes_


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("more", [(), ("--scale", "--kernel", "rbf", "-C", "3")])
def test_several_files_give_the_model_of_one_file_bit_for_bit(run, files, tmp_path, kind, more):
    whole, parts = files(kind, n_classes=3)
    one, several = tmp_path / "one.skops", tmp_path / "several.skops"
    expected = run("train", whole, one, "--json", *OPTIONS[kind], *more)
    result = run("train", *parts, "-o", several, "--json", *OPTIONS[kind], *more)
    assert (expected.code, expected.err) == (result.code, result.err) == (0, "")
    reports = [expected.json, result.json]
    for report in reports:
        del report["seconds"], report["model"]
    assert reports[0] == reports[1]
    predictions = [run("predict", model, whole, "--scores").out for model in (one, several)]
    assert predictions[0] == predictions[1]
    if not more:
        for array, other in zip(arrays_of(one), arrays_of(several), strict=True):
            np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize(
    ("kind", "more"),
    [(kind, ("--scale",)) for kind in OPTIONS] + [("svm", ()), ("csv", ("--loss", "hinge", "--scale"))],
)
def test_streamed_files_give_a_model_as_in_memory(run, files, tmp_path, kind, more):
    whole, parts = files(kind, n_classes=3)
    one, streamed = tmp_path / "one.skops", tmp_path / "streamed.skops"
    options = (*OPTIONS[kind], "--eps", "1e-6", *more)
    expected = run("train", whole, one, "--json", *options).json
    result = run("train", *parts, "-o", streamed, "--stream", "--json", *options)
    assert result.code == 0
    assert result.err == f"note: {parts[0]} and 2 other files: streamed, because --stream is given.\n"
    for name in ("n_samples", "n_features", "classes", "converged"):
        assert result.json[name] == expected[name]
    models = [load(path) for path in (one, streamed)]
    assert models[0].classes_.dtype == models[1].classes_.dtype
    for array, other in zip(arrays_of(one), arrays_of(streamed), strict=True):
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, other, atol=2e-3)
        else:
            np.testing.assert_array_equal(array, other)
    if hasattr(models[0], "steps"):
        assert_same_steps(*models)
    elif kind == "svm":
        assert models[1].first_index_ == 1
    outputs = [run("predict", model, whole, "--scores").out for model in (one, streamed)]
    labels, scores = zip(*map(labels_and_scores, outputs), strict=True)
    np.testing.assert_allclose(*scores, atol=5e-3)
    ordered = np.sort(scores[0], axis=1)
    is_tie = ordered[:, -1] - ordered[:, -2] < 1e-2  # which the accuracy leaves open
    assert is_tie.sum() < 3 and labels[0][~is_tie].tolist() == labels[1][~is_tie].tolist()
    target = options[:2] if kind != "svm" else ()
    results = [run("evaluate", path, whole, "--json", *target).json for path in (one, streamed)]
    assert abs(results[0]["n_correct"] - results[1]["n_correct"]) <= is_tie.sum()


def labels_and_scores(text):
    rows = np.array([line.split() for line in text.splitlines()])
    return rows[:, 0], rows[:, 1:].astype(float)


def assert_same_steps(model, other):
    names = getattr(model, "feature_names_in_", None)
    np.testing.assert_array_equal(names, getattr(other, "feature_names_in_", None))
    if "columns" in model.named_steps:
        columns, others = model.named_steps["columns"], other.named_steps["columns"]
        assert columns.sparse_output_ == others.sparse_output_
        for categories, expected in zip(
            others.named_transformers_["categories"].categories_,
            columns.named_transformers_["categories"].categories_,
            strict=True,
        ):
            assert categories.tolist() == expected.tolist()
    if "scale" in model.named_steps:
        scale, others = model.named_steps["scale"], other.named_steps["scale"]
        np.testing.assert_array_equal(scale.scale_, others.scale_)
        assert scale.n_samples_seen_ == others.n_samples_seen_


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("labels", [["true", "False"], [True, False], [1.0, 2.0], ["01", "1"]])
def test_streamed_labels_equal_labels_in_memory(run, tmp_path, kind, labels):
    frame = pandas.DataFrame({"x": np.tile([1.0, -1.5], 10), "y": labels * 10})
    path = tmp_path / f"t.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    one, streamed = tmp_path / "one.skops", tmp_path / "streamed.skops"
    options = ("--target", "y", "-q")
    assert run("train", path, one, *options).code == 0
    assert run("train", path, path, "-o", streamed, "--stream", *options).code == 0
    models = [load(one), load(streamed)]
    assert models[0].classes_.tolist() == models[1].classes_.tolist()
    assert models[0].classes_.dtype == models[1].classes_.dtype
    assert models[1].feature_names_in_.tolist() == ["x"]
    assert run("predict", one, path).out == run("predict", streamed, path).out


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_files_whose_indices_begin_at_0_keep_it(run, tmp_path, stream):
    (tmp_path / "a.svm").write_text("1 0:1\n-1 0:-1 3:1\n")
    (tmp_path / "b.svm").write_text("1 0:2 4:1\n-1 0:-2\n")
    files, model = [tmp_path / "a.svm", tmp_path / "b.svm"], tmp_path / "m.skops"
    assert run("train", *files, "-o", model, "--zero-based", *stream).code == 0
    assert load(model).first_index_ == 0 and load(model).n_features_in_ == 5
    assert run("predict", model, files[1]).out.split() == ["1", "-1"]
    result = run("train", *files, "-o", model, *stream)
    assert result.code == 3 and "a.svm:1:3" in result.err and "--zero-based" in result.err


@pytest.mark.parametrize("kind", OPTIONS)
def test_files_that_do_not_fit_into_memory_are_streamed(run, files, tmp_path, monkeypatch, kind):
    whole, parts = files(kind)
    model = tmp_path / "m.skops"
    monkeypatch.setattr(margins.linalg.memory, "available_bytes", lambda: 10)
    assert "streamed" not in run("train", whole, model, *OPTIONS[kind]).err
    result = run("train", *parts, "-o", model, *OPTIONS[kind])
    assert result.code == 0 and "2 other files: streamed, because they may need 0.0 GB" in result.err
    assert run("train", *parts, "-o", model, *OPTIONS[kind], "-q").err == ""
    monkeypatch.setattr(margins.linalg.memory, "available_bytes", lambda: None)
    assert run("train", *parts, "-o", model, *OPTIONS[kind]).err == ""


def test_compressed_files_are_read_in_memory_and_not_streamed(run, files, tmp_path, monkeypatch):
    whole, parts = files("svm")
    packed = [path.with_suffix(".svm.gz") for path in parts]
    for path, new in zip(parts, packed, strict=True):
        new.write_bytes(gzip.compress(path.read_bytes()))
    models = [tmp_path / "a.skops", tmp_path / "b.skops"]
    assert run("train", whole, models[0]).code == run("train", *packed, "-o", models[1]).code == 0
    np.testing.assert_array_equal(*(load(model).coef_ for model in models))
    for reason in ("--stream is given", "they may need"):
        result = run("train", *packed, "-o", models[1], *(["--stream"] if "--" in reason else []))
        assert result.code == 3 and f"{packed[0]}: cannot be streamed: it is compressed" in result.err
        assert reason in result.err
        monkeypatch.setattr(margins.linalg.memory, "available_bytes", lambda: 10)


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_an_error_names_the_file_that_differs(run, tmp_path, stream):
    pytest.importorskip("pyarrow")
    model = tmp_path / "m.skops"

    def failed(code, *paths):
        result = run("train", *paths, "-o", model, "--target", "y", *stream)
        assert result.code == code and not model.exists() and result.out == ""
        return [line for line in result.err.splitlines() if line.startswith("margins: ")][0]

    first, other = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("x,z,y\n1,2,u\n3,4,v\n")
    pandas.read_csv(first).to_parquet(tmp_path / "c.parquet")
    other.write_text("x,y\n1,u\n")
    assert f"{other}: there is no column 'z', which {first} has" in failed(3, first, other)
    other.write_text("x,z,w,y\n1,2,3,u\n")
    assert f"{other}: must have the columns of {first}. Got 'w'" in failed(3, first, other)
    other.write_text("x,z\n1,2\n")
    assert f"{other}: there is no column 'y'" in failed(2 if not stream else 3, first, other)
    other.write_text("x,z,y\n1,2,u\n1,big,v\n")
    assert f"{other}:3:3: 'z' must be a finite number. Got 'big'" in failed(3, first, other)
    assert "--categorical z" in failed(3, first, other)
    other.write_text("x,z,y\n")
    assert f"{other}: must hold at least one sample" in failed(3, first, other)
    problem = f"{tmp_path / 'c.parquet'}: all files must have the format of {first}, csv. Got parquet"
    assert problem in failed(2, first, tmp_path / "c.parquet")
    assert f"{tmp_path / 'no.csv'}: cannot be read" in failed(3, first, tmp_path / "no.csv")
    assert "standard input cannot be one of several files" in failed(2, first, "-")
    pandas.DataFrame({"x": [1], "z": [2], "y": [5]}).to_parquet(tmp_path / "d.parquet")
    problem = f"{tmp_path / 'd.parquet'}: the labels 'y' must be text, as in {tmp_path / 'c.parquet'}"
    assert problem in failed(3, tmp_path / "c.parquet", tmp_path / "d.parquet")
    first.write_text("x,z,y\n1,2,1\n3,4,2\n")
    other.write_text("x,z,y\n1,2,2\n1,2,1.5\n")
    problem = failed(3, first, other)
    assert str(other) in problem and "may not have a fraction. Got '1.5'" in problem


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("label", ["w\x01", "a\nb", "a\u2028b", "1.5"])
def test_a_label_that_is_not_allowed_has_its_line(run, tmp_path, stream, kind, label):
    for name, wrong in (("a", False), ("b", True)):
        labels = ["3", "4"] * 3 if label == "1.5" else ["u", "v"] * 3
        table = pandas.DataFrame({"x": np.arange(6.0), "y": labels})
        if wrong:
            table.loc[4, "y"] = label
        if kind == "csv":
            table.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            pytest.importorskip("pyarrow")
            table.to_parquet(tmp_path / f"{name}.parquet")
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    result = run("train", *paths, "-o", tmp_path / "model.skops", "--target", "y", *stream)
    group = ", row group 0, row 4: " if stream else ": row 4: "
    place = ":6:5: " if kind == "csv" else group
    assert result.code == 3 and f"margins: {paths[1]}{place}the label 'y' must be" in result.err


@pytest.mark.parametrize("kind", ["svm", "csv", "parquet"])
def test_predictions_and_measures_of_several_files_equal_those_of_one_file(run, files, tmp_path, kind):
    whole, paths = files(kind, n_classes=3)
    model = tmp_path / "model.skops"
    assert run("train", whole, model, *OPTIONS[kind]).code == 0
    outputs = [tmp_path / "whole.txt", tmp_path / "parts.txt"]
    assert run("predict", model, whole, outputs[0]).code == 0
    result = run("predict", model, *paths, "-o", outputs[1], "--json")
    assert result.code == 0 and result.json["n_samples"] == 120
    assert outputs[0].read_text() == outputs[1].read_text()
    of_one = labels_and_scores(run("predict", model, whole, "--scores").out)
    of_several = labels_and_scores(run("predict", model, *paths, "-o", "-", "--scores").out)
    assert of_several[0].tolist() == of_one[0].tolist()
    # BLAS adds in another order if a file has a single row.
    np.testing.assert_allclose(of_several[1], of_one[1], rtol=1e-12)
    target = OPTIONS[kind][:2]
    of_one, of_several = (run("evaluate", model, *data, *target, "--json") for data in ([whole], paths))
    assert of_several.code == 0 and of_several.json == of_one.json


def test_files_to_predict_are_of_one_format_and_no_output_is_guessed(run, files, tmp_path):
    whole, paths = files("svm")
    model = tmp_path / "model.skops"
    assert run("train", whole, model).code == 0
    result = run("predict", model, *paths)
    assert result.code == 2 and "Got 3 files after the model without -o" in result.err
    for command in (("predict", "-o", tmp_path / "out.txt"), ("evaluate",)):
        name, *output = command
        result = run(name, model, paths[0], tmp_path / "b.csv", *output)
        assert result.code == 2 and "b.csv: all files must have the format of" in result.err
        result = run(name, model, paths[0], "-", *output)
        assert result.code == 2 and "standard input cannot be one of several files" in result.err
        result = run(name, model, paths[0], tmp_path / "missing.svm", *output)
        assert result.code == 3 and "missing.svm: cannot be read" in result.err
    assert not (tmp_path / "out.txt").exists()
    before = paths[1].read_bytes()
    assert run("predict", model, *paths, "-o", paths[1]).code == 3 and paths[1].read_bytes() == before


def test_only_one_argument_is_the_model_without_an_option(run, train_file, test_file, tmp_path):
    model = tmp_path / "m.skops"
    result = run("train", train_file, test_file, model)
    assert result.code == 2 and "-o" in result.err and "Got 3 files" in result.err
    result = run("train", "-")
    assert result.code == 2 and "Missing argument 'MODEL'" in result.err
    assert run("train").code == 2
    assert run("train", train_file, test_file).code == 3  # exists, and is no model
    assert run("train", train_file, test_file, "-o", model).code == 0
    assert run("train", train_file, "-o", model).code == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--kernel", "rbf"), "kernel of MarginClassifier.fit must be 'linear'"),
        (("-C", "inf"), "C of MarginClassifier.fit must be finite"),
        (("-a", "pegasos"), "must be in memory here. Got Chunks"),
        (("--target", "y"), "--target and --categorical are for tables"),
    ],
)
def test_what_is_not_streamed_is_refused_before_any_work(run, tmp_path, options, problem):
    files = [tmp_path / "a.svm", tmp_path / "b.svm"]
    for path in files:
        path.write_text("what is malformed is not read")
    result = run("train", *files, "-o", tmp_path / "m.skops", "--stream", *options)
    assert (result.code, result.out) == (2, "") and problem in result.err
    if "target" not in options[0]:
        assert "--stream is given" in result.err


def test_rules_are_streamed_and_skipped_fields_are_noted_once(run, tmp_path):
    files = [tmp_path / "a.svm", tmp_path / "b.svm"]
    for path in files:
        path.write_text("1 qid:1 1:1\n-1 1:-1 2:0.5\n")
    result = run("train", *files, "-o", tmp_path / "m.skops", "--stream", "-a", "pdm")
    assert result.code == 0 and result.err.count("qid:") == 2
    assert f"note: {files[1]}: qid: are skipped" in result.err and "warning" not in result.err


def test_a_folder_may_hold_parts_of_parquet_without_rows(run, tmp_path):
    X, y = samples(n_classes=2)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, rows in enumerate((slice(0, 30), slice(0, 0), slice(30, None))):
        write(folder / f"part-{number}.parquet", X, y, rows)
    (folder / "_SUCCESS").touch()
    for more in ((), ("--stream",)):
        options = (*OPTIONS["parquet"], "-o", tmp_path / "m.skops", "--force", "--json", *more)
        result = run("train", folder, *options)
        assert result.code == 0 and result.json["n_samples"] == len(y)
    alone = run("train", folder / "part-1.parquet", tmp_path / "m.skops", "--force", *OPTIONS["parquet"])
    assert alone.code == 3 and "must hold at least one sample" in alone.err
