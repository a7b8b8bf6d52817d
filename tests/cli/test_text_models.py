"""Model files as text: the road from svmlight files to a model and predictions without scikit-learn."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

import margins
from margins.interchange import load_libsvm

LISTED = """
import sys
from margins.cli.app import main
code = main(sys.argv[1:])
names = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(code, *sorted(name for name in names if not name.startswith("_")), file=sys.stderr)
"""


def test_train_imports_numpy_and_click_alone_and_predict_no_numpy(train_file, tmp_path):
    for command in (
        ("train", train_file, tmp_path / "m"),
        ("train", train_file, tmp_path / "m", "--loss", "hinge", "--class-weight", "balanced"),
        ("predict", tmp_path / "m", train_file, tmp_path / "p"),
        ("list",),
    ):
        result = subprocess.run([sys.executable, "-c", LISTED, *command], capture_output=True, text=True)
        code, *packages = result.stderr.split("\n")[-2].split()
        allowed = {"click", "cython_runtime", "margins"} | (
            {"numpy"} if command[0] == "train" else set()
        )
        assert code == "0" and not [
            name for name in packages if name not in allowed and "edit" not in name
        ]


@pytest.mark.parametrize("options", [(), ("--loss", "hinge", "-C", "5"), ("-p", "fit_intercept=false")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_text_model_is_that_of_the_classifier(run, tmp_path, options, n_classes):
    data = tmp_path / "data.svm"
    X, y = samples(n_classes)
    write_svmlight(data, X, y)
    trained = run("train", data, tmp_path / "m", *options, "--json").json
    model = load_libsvm(tmp_path / "m")
    parameters = {"loss": "hinge", "C": 5.0} if "-C" in options else {}
    certificates = margins.certify(model, X, y, C=parameters.get("C", 1.0)).certificates
    for proof, certificate in zip(trained["certificates"], certificates, strict=True):
        assert proof["primal"] == pytest.approx(certificate.primal, rel=1e-9)
        assert proof["dual"] <= certificate.primal
    predicted = run("predict", tmp_path / "m", data, "-q").out.split()
    np.testing.assert_array_equal(np.array(predicted, int), model.predict(X))
    scores = run("predict", tmp_path / "m", data, "--scores", "-q").out.split("\n")[0].split()[1:]
    np.testing.assert_allclose(np.array(scores, float), np.ravel(model.decision_function(X[:1])))
    liblinear = shutil.which("liblinear-predict")
    if liblinear is not None:
        subprocess.run([liblinear, "-q", data, tmp_path / "m", tmp_path / "theirs"], check=True)
        assert (tmp_path / "theirs").read_text().split() == predicted


@pytest.mark.parametrize("labels", ["1 -1", "-1 1", "3 1 2"])
@pytest.mark.parametrize("bias", [-1.0, 0.0, 2.0])
def test_predict_knows_labels_in_any_order(run, tmp_path, labels, bias):
    """`predict` of the shell and of the class that reads the same file share no code."""
    n_columns = 1 if labels.count(" ") == 1 else 3
    table = np.random.default_rng(0).standard_normal((3 + (bias >= 0), n_columns))
    rows = "\n".join(" ".join(map(repr, row)) for row in table.tolist())
    head = f"solver_type L2R_L2LOSS_SVC\nnr_class {labels.count(' ') + 1}\nlabel {labels}\n"
    (tmp_path / "m").write_text(f"{head}nr_feature 3\nbias {bias}\nw\n{rows}\n")
    model, (X, y) = load_libsvm(tmp_path / "m"), samples(n_classes=max(n_columns, 2))
    write_svmlight(tmp_path / "data", X, y)  # has one more feature
    result = run("predict", tmp_path / "m", tmp_path / "data", "--scores")
    predicted = np.array([line.split() for line in result.out.splitlines()], float)
    np.testing.assert_array_equal(predicted[:, 0], model.predict(X[:, :3]))
    expected = model.decision_function(X[:, :3]).reshape(len(X), -1)
    np.testing.assert_allclose(predicted[:, 1:], expected, rtol=1e-12, atol=1e-12)
    assert "left out: index 4" in result.err


def test_other_algorithms_kernels_and_streams_are_text_too(run, train_file, tmp_path):
    for options in (
        ("-a", "pdm"),
        ("--kernel", "rbf"),
        ("--stream", "-o", tmp_path / "m"),
        ("-p", "penalize_intercept=false"),
        ("--class-weight", "1=2,-1=0.5"),
        ("-C", "inf"),
    ):
        files = [train_file] if "-o" in options else [train_file, tmp_path / "m"]
        assert run("train", *files, *options).code in (0, 4), options
        result = run("evaluate", tmp_path / "m", train_file, "--json")
        assert result.json["accuracy"] > 0.8, options


def test_without_a_model_its_name_is_that_of_the_data(run, train_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("train", train_file).code == 0
    assert (tmp_path / f"{train_file.name}.model").read_text().startswith("solver_type ")


def test_what_a_text_cannot_hold_needs_skops(run, train_file, table_file, tmp_path):
    for files, message in (
        ((table_file, tmp_path / "m", "--target", "bought"), "columns with names"),
        ((train_file, tmp_path / "m", "--scale"), "--scale"),
        ((train_file, tmp_path / "m", "--zero-based"), "--zero-based"),
        ((train_file, tmp_path / "m", "-a", "voted-perceptron"), "must have a weight vector"),
    ):
        result = run("train", *files)
        assert result.code == 2 and message in result.err and ".skops" in result.err
    train_file.write_text("1 1:1\n99999999999 1:-1\n")
    result = run("train", train_file, tmp_path / "m")
    assert result.code == 2 and "integers of 32 bits. Got 99999999999" in result.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "ours"),
    [
        ("-s 2", "--loss"),
        ("-t 2", "--kernel"),
        ("-c 1", "-C"),
        ("-B 1", "intercept_scaling"),
        ("-w1 5", "--class-weight"),
        ("-w-1 5", "--class-weight"),
        ("-v 5", "compare"),
        ("-e 0.1", "--eps"),
    ],
)
def test_options_of_liblinear_are_answered_with_ours(run, train_file, options, ours):
    result = run("train", *options.split(), train_file, "m")
    assert result.code == 2
    assert f"No such option: {options.split()[0]}. Here it is" in result.err and ours in result.err


def test_certify_proves_a_text_and_a_skops_model(run, train_file, tmp_path):
    for name, options in (("m", ("-C", "1")), ("m.SKOPS", ()), ("rbf.skops", ())):
        more = ("--kernel", "rbf") if name == "rbf.skops" else ()
        assert run("train", train_file, tmp_path / name, *more).code == 0
        result = run("certify", tmp_path / name, train_file, *options, "--json").json
        (proof,) = result["certificates"]
        assert proof["gap"] < 0.03 and proof["dual"] > 0 and result["n_different"] <= 2
        text = run("certify", tmp_path / name, train_file, *options).out
        assert "above the optimum" in text and "training predictions differ" in text
    result = run("certify", tmp_path / "m", train_file)
    assert result.code == 2 and "Exactly one of C and alpha" in result.err
    result = run("certify", tmp_path / "m.SKOPS", train_file, "-C", "3")
    assert result.code == 2 and "must be omitted, or 1.0" in result.err
    for options in (
        "-C -1",
        "--alpha 0",
        "-C 1 --loss x",
        "-C 1 --accuracy 3",
        "-C 1 --class-weight 1=-1",
    ):
        result = run("certify", tmp_path / "m", train_file, *options.split())
        assert result.code == 2 and " of certify must be " in result.err, options
    train_file.write_text("1 1:2\n1 1:3\n")
    result = run("certify", tmp_path / "m", train_file, "-C", "1")
    assert result.code == 3 and result.err.startswith(f"margins: {train_file}: ")


def test_certify_is_told_what_a_text_does_not_say(run, train_file, tmp_path):
    options = {"squared": ("--kernel", "rbf"), "free": ("-p", "penalize_intercept=false")}
    options["net"] = ("--penalty", "elasticnet", "--l1-ratio", "0.25", "--lower", "0,2=-inf")
    stated = {
        "squared": ("--loss", "squared_hinge"),
        "free": ("--free-intercept",),
        "net": options["net"],
    }
    for name, trained in options.items():
        run("train", train_file, tmp_path / name, "--eps", "1e-6", *trained)
        result = run("certify", tmp_path / name, train_file, "-C", "1", *stated[name], "--json").json
        assert result["certificates"][0]["gap"] < 1e-4 and result["n_different"] == 0
    result = run("certify", tmp_path / "net", train_file, "-C", "1", "--lower", "99=0")
    assert result.code == 2 and "Got '99'" in result.err
    wide = tmp_path / "wide.svm"
    wide.write_text(train_file.read_text().replace("\n", " 9:1\n", 1))
    result = run("certify", tmp_path / "free", wide, "-C", "1")
    assert result.code == 3 and "has more" in result.err


def test_certify_reads_each_file_once_and_like_the_file_of_the_training(run, train_file, tmp_path):
    run("train", train_file, tmp_path / "m")
    lines = train_file.read_text().splitlines(keepends=True)
    parts = tmp_path / "first.svm", tmp_path / "second.svm"
    parts[0].write_text(lines[0].replace(" ", " qid:1 ", 1) + "".join(lines[1:20]))
    parts[1].write_text("".join(lines[20:]))
    together = run("certify", tmp_path / "m", *parts, "-C", "1", "--json")
    assert together.json == run("certify", tmp_path / "m", train_file, "-C", "1", "--json").json
    assert together.err.count("qid") == 1
    from_zero = tmp_path / "zero.svm"
    from_zero.write_text("1 0:1 1:2\n-1 0:-1 1:-1\n1 0:2\n-1 1:-2\n")
    run("train", from_zero, tmp_path / "zero.skops", "--zero-based")
    assert run("certify", tmp_path / "zero.skops", from_zero, "--json").json["n_different"] == 0


def test_notes_that_are_no_models_are_kept(run, train_file, tmp_path):
    notes = tmp_path / "notes"
    notes.write_text("solver_type of heat pumps\nmore notes\n")
    assert run("train", train_file, notes).code == 3 and "heat pumps" in notes.read_text()


def test_a_study_of_one_setting_has_no_inner_folds(run, train_file):
    text = run("study", train_file, "-g", "C=1", "--outer", "3").out
    assert text.startswith("parameter search of") and "\n2 " in text and "\n3 " not in text
    text = run("study", train_file, "-g", "C=1,2", "--outer", "2", "--inner", "2").out
    assert "lockstep" in text.splitlines()[-1] + text.splitlines()[-2]


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line_without_the_place_in_our_code(run, train_file, tmp_path):
    model = tmp_path / "m"
    kernel = ("--kernel", "rbf", "--loss", "hinge", "-p", "multi_class=ovo")
    assert run("train", train_file, model, *kernel, "-p", "penalize_intercept=false").code == 0
    model.write_text(model.read_text().replace("nr_sv", "probA 1\nprobB 0\nnr_sv"))
    warning = f"warning: {model}: probA and probB are left out: predictions are by scores."
    assert run("predict", model, train_file, tmp_path / "p").err.splitlines() == [warning]
    result = run("train", train_file, tmp_path / "m.skops", "-a", "pa-i", "-C", "2")
    assert all(line.startswith("warning: ") for line in result.err.splitlines())
    assert result.err.count("slack terms") == 1
