"""The commands from end to end: files in, files and figures out, exit codes."""

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

import margins
from margins.cli.app import cli
from margins.persistence import dump, load

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_model_is_trained_predicts_and_is_evaluated(run, train_file, test_file, tmp_path):
    model, predictions = tmp_path / "m.skops", tmp_path / "p.txt"
    assert run("train", train_file, model).code == 0
    assert run("predict", model, test_file, predictions) == (0, "", "")
    X, y = samples(seed=1)
    expected = load(model).predict(X)
    assert predictions.read_text().split() == [str(label) for label in expected.tolist()]
    result = run("evaluate", model, test_file, "--json").json
    assert result["accuracy"] == np.mean(expected == y) and result["n_samples"] == len(y)
    assert np.sum(result["confusion_matrix"]) == len(y)
    text = run("evaluate", model, test_file).out
    assert f"{result['accuracy']:.6f}" in text and "precision" in text


@pytest.mark.parametrize(("name", "compress"), [("t.svm.gz", gzip.compress), ("t.bz2", bz2.compress)])
def test_compressed_files_are_read(run, train_file, tmp_path, name, compress):
    packed = tmp_path / name
    packed.write_bytes(compress(train_file.read_bytes()))
    one, other = tmp_path / "one.skops", tmp_path / "other.skops"
    assert run("train", train_file, one).code == run("train", packed, other).code == 0
    np.testing.assert_array_equal(load(one).coef_, load(other).coef_)


def test_json_reports_what_is_proven(run, train_file, tmp_path):
    report = run("train", train_file, tmp_path / "m.skops", "--json", "-C", "10", "--eps", "0.001").json
    (certificate,) = report["certificates"]
    assert report["converged"] and certificate["fraction"] >= 0.999 and certificate["class"] == 1
    assert report["parameters"] == {"C": 10, "eps": 0.001, "random_state": 0}
    assert (report["n_samples"], report["n_features"], report["classes"]) == (60, 4, [-1, 1])
    assert set(report["seconds"]) == {"reading", "training", "writing"}


def test_parameters_reach_the_classifier(run, train_file, tmp_path):
    model = tmp_path / "m.skops"
    code = run(
        "train",
        train_file,
        model,
        "-a",
        "pam",
        "-p",
        "tau=0.5",
        "--max-iter",
        "7",
        "-p",
        "averaging=averaged",
    ).code
    pam = load(model)
    assert code in (0, 4) and type(pam) is margins.get("pam")
    assert (pam.tau, pam.max_iter, pam.averaging, pam.random_state) == (0.5, 7, "averaged", 0)


def test_a_kernel_model_predicts_with_scores(run, train_file, tmp_path):
    model = tmp_path / "m.skops"
    assert run("train", train_file, model, "--kernel", "rbf", "--loss", "hinge").code == 0
    lines = run("predict", model, train_file, "--scores").out.splitlines()
    X, _ = samples()
    scores = load(model).decision_function(X)
    np.testing.assert_array_equal([float(line.split()[1]) for line in lines], scores)


def test_several_classes_have_a_certificate_each(run, tmp_path):
    path = tmp_path / "three.svm"
    write_svmlight(path, *samples(n_classes=3))
    result = run("train", path, tmp_path / "m.skops")
    assert result.code == 0 and "class" in result.out
    assert len(load(tmp_path / "m.skops").certificates_) == 3
    scores = run("predict", tmp_path / "m.skops", path, "--scores").out.splitlines()
    assert all(len(line.split()) == 4 for line in scores)


def test_features_that_the_model_does_not_have_are_left_out(run, train_file, tmp_path):
    model, points = tmp_path / "m.skops", tmp_path / "points.svm"
    run("train", train_file, model)
    points.write_text("1 1:5 9:3\n-1 1:-5\n")
    result = run("predict", model, points)
    assert result.out == "1\n-1\n" and "5 features that the model does not have" in result.err
    points.write_text("1 1:5\n-1 1:-5\n")
    assert run("predict", model, points) == (0, "1\n-1\n", "")


def test_a_table_with_categories_is_trained_and_predicted(run, table_file, tmp_path):
    model = tmp_path / "m.skops"
    options = ("--target", "bought", "--categorical", "colour,shop")
    result = run("train", table_file, model, *options, "--scale", "-C", "10")
    assert result.code == 0, result.err
    assert run("evaluate", model, table_file, "--target", "bought", "--json").json["accuracy"] == 1
    points = tmp_path / "points.csv"
    points.write_text("shop,unused,size,colour\nb,?,2.4,blue\na,?,1.1,violet\n")
    assert run("predict", model, points).out == "no\nyes\n"


def test_parquet_is_read_as_csv_is(run, table_file, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    parquet = tmp_path / "train.parquet"
    pandas.read_csv(table_file).to_parquet(parquet)
    options = ("--target", "bought", "--categorical", "colour", "--categorical", "shop")
    for path, model in ((table_file, tmp_path / "a.skops"), (parquet, tmp_path / "b.skops")):
        assert run("train", path, model, *options).code == 0
    one, other = (load(tmp_path / name).steps[-1][1].coef_ for name in ("a.skops", "b.skops"))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "options",
    [[], ["--loss", "hinge"], ["--kernel", "rbf"], ["--scale", "-C", "100"], ["--eps", "1e-6"]],
    ids=" ".join,
)
def test_train_runs_the_phases_that_explain_prints(run, train_file, tmp_path, options):
    planned = run("explain", train_file, "--json", *options).json["solver"].split(" + ")
    ran = run("train", train_file, tmp_path / "m.skops", "--json", *options).json["solver"].split(" + ")
    phases = iter(planned)
    assert all(solver in phases for solver in ran), (ran, planned)  # in this order
    assert ran[0] == planned[0]


def test_explain_trains_nothing_and_says_which_solver_runs(run, train_file):
    result = run("explain", train_file)
    assert result.code == 0 and "candidates" in result.out
    X, y = samples()
    expected = margins.MarginClassifier(loss="hinge").explain(X, y)
    assert run("explain", train_file, "--loss", "hinge", "--json").json["solver"] == expected.solver


def test_path_has_a_line_for_every_penalty(run, train_file, test_file):
    options = ("--c-min", "0.1", "--c-max", "10", "--points", "3", "--test", test_file)
    rows = run("path", train_file, *options, "--json").json
    assert [row["C"] for row in rows] == [0.1, 1, 10]
    assert all(row["converged"] and row["fraction"] >= 0.99 for row in rows)
    X, y = samples(seed=1)
    alone = margins.MarginClassifier(C=10, random_state=0).fit(*samples())
    assert abs(rows[-1]["objective"] / alone.certificates_[0].primal - 1) < 0.03
    assert abs(rows[-1]["test_accuracy"] - alone.score(X, y)) < 0.04
    assert len(run("path", train_file, *options).out.splitlines()) == 4


def test_compare_prints_paired_differences(run, train_file):
    result = run("compare", train_file, "pam", "auto", "--folds", "3", "-q")
    assert result.code == 0 and "pam - auto" in result.out
    means = run("compare", train_file, "pam", "auto", "--folds", "3", "-q", "--json").json["means"]
    assert set(means) == {"pam", "auto"} and all(0.5 < mean <= 1 for mean in means.values())


def test_study_searches_a_grid_within_each_fold(run, train_file, tmp_path):
    from margins.model_selection import Study

    output = tmp_path / "study.json"
    options = ("-g", "C=0.1,10", "--outer", "3", "--inner", "2", "-q", "-o", output)
    result = run("study", train_file, *options)
    assert result.code == 0 and "chosen by" in result.out
    study = Study.from_json(output.read_text())
    assert len(study.folds) == 3 and study.best_params["C"] in (0.1, 10)


def test_study_halves_a_grid(run, tmp_path):
    data = tmp_path / "train.svm"
    write_svmlight(data, *samples(m=400))
    options = ("-g", "C=0.1,1,10", "--outer", "2", "--inner", "2", "-q", "--json")
    tables = run("study", data, *options, "--halving", "3").json["!Study"]["tables"]
    sizes = [len(table["!Table"]["settings"]) for table in tables]
    assert sizes == [3, 1, 3, 1]  # two rounds in each outer fold
    assert run("study", data, *options, "--halving", "1").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train", "none.svm", "m.skops"], 3, "none.svm: cannot be read: No such file"),
        (["train", "TRAIN", "no/folder/m.skops"], 3, "there is no folder"),
        (["train", "TRAIN", "m.skops", "-a", "pmd"], 2, "Did you mean 'pdm'?"),
        (["train", "TRAIN", "m.skops", "-p", "kernl=rbf"], 2, "Did you mean 'kernel'?"),
        (["train", "TRAIN", "m.skops", "-C", "-1"], 2, "C of auto (MarginClassifier) must be"),
        (["train", "TRAIN", "m.skops", "--eps", "small"], 2, "eps of auto (MarginClassifier) must be"),
        (["train", "TRAIN", "m.skops", "-p", "C"], 2, "NAME=VALUE"),
        (["train", "TRAIN", "m.skops", "--target", "y"], 2, "--target and --categorical are for tables"),
        (["train", "TRAIN"], 2, "Missing argument 'MODEL'"),
        (["train", "TABLE", "m.skops"], 2, "a table needs --target NAME"),
        (
            ["train", "TABLE", "m.skops", "--target", "sold"],
            2,
            "there is no column 'sold'. Columns: 'size'",
        ),
        (["predict", "TRAIN", "TRAIN"], 3, "is no model file of skops, or is damaged"),
        (["predict", "none.skops", "TRAIN"], 3, "none.skops: cannot be read"),
        (["compare", "TRAIN", "pam"], 2, "at least 2 algorithms"),
        (["path", "TRAIN", "-C", "1"], 2, "path sets C itself, from --c-min to --c-max"),
        (["study", "TRAIN", "-g", "C=0"], 2, "C of auto (MarginClassifier) must be"),
        (
            ["path", "TRAIN", "--c-min", "5", "--c-max", "1"],
            2,
            "must be in [1e-100, 1e+100] and in this order",
        ),
        (["path", "TRAIN", "--c-min", "1e-300"], 2, "must be in [1e-100, 1e+100] and in this order"),
        (["path", "TRAIN", "--c-max", "nan"], 2, "must be in [1e-100, 1e+100] and in this order"),
        (
            ["train", "TABLE", "m.skops", "--target", "bought", "--zero-based"],
            2,
            "for svmlight's format",
        ),
        (
            ["train", "TABLE", "m.skops", "--target", "bought", "--categorical", "bought"],
            2,
            "the target 'bought' cannot be a column of X",
        ),
        (
            ["study", "TRAIN", "-g", "C=1", "--cache", "/dev/null/cache"],
            3,
            "margins: cache of study must be a folder that can be written to",
        ),
        (
            ["study", "TRAIN", "-g", "C=1", "--scoring", "neg_log_loss"],
            2,
            "margins: scoring of study must be a metric of predicted labels",
        ),
        (["tran", "TRAIN"], 2, "No such command"),
    ],
)
def test_what_is_wrong_is_one_message_and_an_exit_code(
    run, train_file, table_file, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    files = {"TRAIN": train_file, "TABLE": table_file}
    result = run(*(files.get(argument, argument) for argument in arguments))
    assert result.code == code and message in result.err, result.err
    assert "Traceback" not in result.err and not (tmp_path / "m.skops").exists()


def test_a_malformed_line_is_reported_with_its_place(run, train_file, tmp_path):
    with train_file.open("a") as file:
        file.write("1 1:0.5 2:half\n")
    result = run("train", train_file, tmp_path / "m.skops")
    assert result.code == 3 and not result.out
    assert (
        result.err
        == f"margins: {train_file}:61:11: the value of a feature must be a finite number. Got 'half'.\n"
    )


TRAINING = (
    ("train", "DATA", "m.skops"),
    ("train", "DATA", "m.skops", "-a", "pam"),
    ("explain", "DATA"),
    ("path", "DATA", "--points", "2"),
    ("compare", "DATA", "pam", "mpu", "--folds", "2"),
    ("study", "DATA", "-g", "C=1", "--outer", "2", "--inner", "2"),
)


@pytest.mark.parametrize("arguments", TRAINING, ids=" ".join)
@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("1 1:2\n1 1:3\n", "", "at least 2 classes"),
        ("1\n-1\n1\n-1\n1\n-1\n", "", "at least one feature"),
        ("1 1:1e200\n-1 1:3\n" * 6, "", "too long: its squared norm must be at most"),
        ("0.5 1:2\n1.7 1:3\n", "1:1:", "a label must be a whole number"),
        (
            "1 1:2\n-1 1:1 2000000000:3\n",
            "2:8:",
            "an index must be at most 134217728. Got '2000000000:3'",
        ),
        ("", "1:1:", "at least one sample"),
    ],
)
def test_samples_that_cannot_be_trained_on_name_their_file(
    run, tmp_path, monkeypatch, arguments, text, place, problem
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.svm").write_text(text)
    result = run(*(argument.replace("DATA", "d.svm") for argument in arguments))
    assert result.code == 3 and not result.out and "Traceback" not in result.err
    assert result.err.splitlines()[-1].startswith(f"margins: d.svm:{place} ") and problem in result.err
    assert os.listdir(tmp_path) == ["d.svm"]


def test_the_largest_index_to_train_on_is_that_of_both_bases(run, tmp_path):
    path = tmp_path / "d.svm"
    for option, index in (((), 2**27 + 1), (("--zero-based",), 2**27)):
        path.write_text(f"1 1:2\n-1 {index}:3\n")
        result = run("train", path, tmp_path / "m.skops", *option)
        assert result.code == 3 and f"at most {index - 1}." in result.err


def test_features_that_the_model_does_not_have_may_be_beyond_those_to_train_on(
    run, train_file, tmp_path
):
    points = tmp_path / "points.svm"
    points.write_text("1 1:5 2000000000:3\n-1 1:-5\n")
    run("train", train_file, tmp_path / "m.skops")
    assert run("predict", tmp_path / "m.skops", points, "-q") == (0, "1\n-1\n", "")


def test_what_does_not_suit_the_samples_is_found_when_they_are_read(run, train_file, tmp_path):
    result = run("train", train_file, tmp_path / "m.skops", "-p", "class_weight={5: 1.0}")
    assert result.code == 3 and f"{train_file}: class_weight of" in result.err
    result = run("study", train_file, "-g", "C=1", "--outer", "40", "-q")
    assert result.code == 3 and f"{train_file}: " in result.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--scoring", "exactness"), "scoring of compare must be"),
        (("--scoring", "neg_log_loss"), "scoring of compare must be a metric of predicted labels"),
        (("--jobs", "0"), "n_jobs of compare must be None or"),
        (("--seed", "-1"), "-1 is not in the range"),
    ],
)
def test_options_of_studies_are_checked_before_samples_are_read(run, options, problem):
    result = run("compare", "none.svm", "pam", "mpu", *options)
    assert result.code == 2 and problem in result.err


def test_samples_to_test_a_path_with_are_read_before_it_is_trained(run, train_file, tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:x\n")
    result = run("path", train_file, "--points", "2", "--max-iter", "1", "--test", tmp_path / "bad.svm")
    assert result.code == 3 and result.err.startswith(f"margins: {tmp_path / 'bad.svm'}:1:5: ")
    result = run("path", train_file, "-C", "5")
    assert result.code == 2 and "path sets C itself" in result.err


def test_the_target_is_no_feature_of_the_model(run, table_file, tmp_path):
    model = tmp_path / "m.skops"
    options = ("--target", "bought", "--categorical", "colour,shop,colour")
    assert run("train", table_file, model, *options).code == 0
    result = run("evaluate", model, table_file, "--target", "size")
    assert result.code == 2 and "the target 'size' cannot be a column of X" in result.err
    other = tmp_path / "other.csv"
    other.write_text("size,colour\n1,red\n")
    result = run("predict", model, other)
    assert result.code == 3 and f"{other}: there is no column 'shop'" in result.err


def test_a_model_that_is_not_fitted_is_rejected(run, train_file, tmp_path):
    dump(margins.MarginClassifier(), tmp_path / "m.skops")
    for command in ("predict", "evaluate"):
        result = run(command, tmp_path / "m.skops", train_file)
        assert result.code == 3 and "m.skops: must hold a classifier that is fitted" in result.err


def test_labels_are_exact(run, tmp_path):
    path, model = tmp_path / "d.svm", tmp_path / "m.skops"
    path.write_text("9007199254740993 1:1\n9007199254740992 1:-1\n" * 3)
    assert run("train", path, model).code == 0
    assert run("predict", model, path).out == "9007199254740993\n9007199254740992\n" * 3
    assert run("evaluate", model, path, "--json").json["accuracy"] == 1


@pytest.mark.parametrize(
    "labels", [("true", "false"), ("01", "1"), ("1.0", "2.0"), ("7", "-3"), ("+1", "1")]
)
def test_labels_of_a_table_come_back_as_they_were_written(run, tmp_path, labels):
    path, model = tmp_path / "d.csv", tmp_path / "m.skops"
    path.write_text("x,y\n" + "".join(f"{k},{labels[k > 0]}\n" for k in (-3, -1, 1, 3)))
    assert run("train", path, model, "--target", "y").code == 0
    assert run("predict", model, path).out.split() == [labels[k > 0] for k in (-3, -1, 1, 3)]
    assert run("evaluate", model, path, "--target", "y", "--json").json["accuracy"] == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no device that is full")
@pytest.mark.parametrize(
    "arguments", [("predict", "MODEL", "DATA"), ("evaluate", "MODEL", "DATA"), ("list",)]
)
def test_an_output_that_takes_nothing_is_one_message(train_file, run, tmp_path, arguments):
    model = tmp_path / "m.skops"
    run("train", train_file, model)
    files = {"MODEL": str(model), "DATA": str(train_file)}
    command = [sys.executable, "-m", "margins", *(files.get(each, each) for each in arguments)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (
        3,
        "margins: standard output: cannot be written: No space left on device\n",
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_without_a_reader_ends_the_command(train_file, run, tmp_path):
    run("train", train_file, tmp_path / "m.skops")
    command = [sys.executable, "-m", "margins", "predict", str(tmp_path / "m.skops"), str(train_file)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writer)
    assert (done.returncode, done.stderr) == (3, "")


def test_a_closed_output_is_an_error(train_file, run, tmp_path, monkeypatch):
    run("train", train_file, tmp_path / "m.skops")
    monkeypatch.setattr(sys, "stdout", None)
    assert run("predict", tmp_path / "m.skops", train_file).code == 3


def test_without_a_proof_the_model_is_written_and_the_exit_code_says_so(run, train_file, tmp_path):
    model = tmp_path / "m.skops"
    result = run("train", train_file, model, "--max-iter", "1", "--eps", "1e-6", "-p", "solver=dcd")
    assert result.code == 4 and "did not converge" in result.err
    assert not load(model).converged_


def test_an_old_model_stays_if_the_new_one_cannot_be_trained(run, train_file, tmp_path):
    model = tmp_path / "m.skops"
    run("train", train_file, model)
    before = model.read_bytes()
    train_file.write_text("1 1:x\n")
    assert run("train", train_file, model).code == 3
    assert model.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["m.skops", "train.svm"]


def test_every_command_has_help(run):
    assert "Exit codes" in run("--help").out
    for name in cli.commands:
        result = run(name, "--help")
        assert result.code == 0 and "Usage: margins " + name in result.out
    assert run("--version").out.strip() == f"margins, version {margins.__version__}"


def test_standard_input_and_a_pipe_that_closes(train_file, tmp_path):
    command = [sys.executable, "-m", "margins"]
    for options in (["--max-iter", "1", "--eps", "1e-6"], []):  # both ways read it once
        with train_file.open() as file:
            arguments = [*command, "train", "-", tmp_path / "m.skops", *options]
            done = subprocess.run(arguments, stdin=file, timeout=120, capture_output=True)
        assert done.returncode in ((0, 4) if options else (0,)), done.stderr
    result = subprocess.run(
        f"{sys.executable} -m margins predict {tmp_path / 'm.skops'} {train_file} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert result.stdout in ("1\n", "-1\n") and "Traceback" not in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a child alone")
def test_an_interrupted_fit_leaves_no_file(tmp_path, ctrl_c):
    path = tmp_path / "noise.svm"
    generator = np.random.default_rng(0)
    write_svmlight(path, generator.normal(size=(3000, 30)), generator.integers(2, size=3000))
    arguments = ["train", path, tmp_path / "m.skops", "-C", "1e9", "-p", "eps=1e-9", "-p", "solver=dcd"]
    arguments += ["--max-iter", "1000000000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "margins", *map(str, arguments)], stderr=subprocess.PIPE, text=True
    )
    time.sleep(6)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and err.strip() == "margins: interrupted; no file was written"
    assert sorted(os.listdir(tmp_path)) == ["noise.svm"]


def test_numbers_that_json_does_not_have_are_null(run, train_file, tmp_path):
    result = run("train", train_file, tmp_path / "m.skops", "-C", "inf", "--max-iter", "5", "--json")
    assert json.loads(result.out)["certificates"][0]["gap"] is None and result.code == 4


def test_classes_that_the_model_does_not_have_count_as_wrong(run, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:2\n-1 1:-1 2:0.5\n1 1:2\n-1 1:-3 2:1\n")
    (tmp_path / "b.svm").write_text("1 1:1 2:2\n-1 1:-1 2:0.5\n7 1:2\n")
    model = str(tmp_path / "m.skops")
    run("train", str(tmp_path / "a.svm"), model)
    found = json.loads(run("evaluate", model, str(tmp_path / "b.svm"), "--json").out)
    assert found["balanced_accuracy"] == pytest.approx(2 / 3)
    assert [each["samples"] for each in found["classes"]] == [1, 1, 1]
    assert found["confusion_matrix"][2] == [0, 1, 0]
