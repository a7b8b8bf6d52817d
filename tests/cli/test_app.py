"""The commands from end to end: files in, files and figures out."""

import bz2
import os
import sys

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

import margins
from margins.cli.app import cli
from margins.model_selection import Study
from margins.persistence import load

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_model_is_trained_predicts_and_is_evaluated(run, train_file, test_file, tmp_path):
    model, predictions = tmp_path / "m.skops", tmp_path / "p.txt"
    assert run("train", train_file, model).code == 0
    X, y = samples(seed=1)
    expected = load(model).predict(X)
    share = f"accuracy {np.mean(expected == y):.6f}  ({np.sum(expected == y)} of {len(y)})\n"
    assert run("predict", model, test_file, predictions) == (0, share, "")
    assert run("predict", model, test_file, predictions, "-q") == (0, "", "")  # it may replace its own
    assert predictions.read_text().split() == [str(label) for label in expected.tolist()]
    result = run("evaluate", model, test_file, "--json").json
    assert result["accuracy"] == np.mean(expected == y) and result["n_samples"] == len(y)
    assert result["n_correct"] == np.sum(expected == y)
    assert np.sum(result["confusion_matrix"]) == len(y)
    text = run("evaluate", model, test_file).out
    assert f"{result['accuracy']:.6f}" in text and "precision" in text


def test_files_compressed_by_bzip2_are_read(run, train_file, tmp_path):
    packed = tmp_path / "t.bz2"
    packed.write_bytes(bz2.compress(train_file.read_bytes()))
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
    options = "-a pam -p tau=0.5 --max-iter 7 -p averaging=averaged"
    code = run("train", train_file, model, *options.split()).code
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


def test_fields_that_are_skipped_are_noted_once_for_each_file(run, train_file, tmp_path):
    model, path = tmp_path / "m.skops", tmp_path / "ranked.svm"
    path.write_text(train_file.read_text().replace(" ", " qid:3 cost:0.5 ", 20))
    note = f"note: {path}: cost: and qid: are skipped, because classifiers do not use them.\n"
    trained = run("train", path, model)
    assert (trained.code, trained.err) == (0, note)
    assert run("train", path, model, "-q") == (0, "", "")
    plain = run("predict", model, train_file, "-q")
    assert run("predict", model, path).err.startswith(note)
    assert run("predict", model, path, "-q") == (0, plain.out, "")


def test_features_that_the_model_does_not_have_are_left_out(run, train_file, tmp_path):
    model, points = tmp_path / "m.skops", tmp_path / "points.svm"
    run("train", train_file, model)
    for text, indices in (
        ("1 1:5 9:3\n-1 1:-5\n", "index 9"),
        ("1 1:5 8:1 1000000:3\n-1 1:-5 8:2\n", "2 indices up to 1000000"),
        ("1 1:5 2000000000:3\n-1 1:-5\n", "index 2000000000"),  # beyond those to train on
    ):
        points.write_text(text)
        result = run("predict", model, points)
        left_out = f"features that are not in the model are left out: {indices}.\n"
        assert result == (0, "1\n-1\n", f"note: {points}: {left_out}accuracy 1.000000  (2 of 2)\n")
        assert run("predict", model, points, "-q") == (0, "1\n-1\n", "")
        assert left_out in run("path", train_file, "--points", "2", "--test", points).err
    points.write_text("1 1:5\n-1 1:-5\n")
    assert run("predict", model, points, "-q") == (0, "1\n-1\n", "")
    points.write_text("1 0:5\n-1 0:-5\n")
    run("train", points, model, "--zero-based")
    points.write_text("1 0:5 1000000:3\n-1 0:-5\n")
    assert "are left out: index 1000000.\n" in run("predict", model, points).err


def test_a_table_with_categories_is_trained_and_predicted(run, table_file, tmp_path):
    model = tmp_path / "m.skops"
    options = ("--target", "bought", "--categorical", "colour,shop")
    result = run("train", table_file, model, *options, "--scale", "-C", "10")
    assert result.code == 0, result.err
    assert run("evaluate", model, table_file, "--target", "bought", "--json").json["accuracy"] == 1
    predicted = run("predict", model, table_file, tmp_path / "labels", "--target", "bought")
    assert predicted.out.startswith("accuracy 1.000000 ")
    assert run("predict", model, table_file, "--target", "nonsense").code == 2
    points = tmp_path / "points.csv"
    points.write_text("shop,unused,size,colour\nb,?,2.4,blue\na,?,1.1,violet\n")
    assert run("predict", model, points).out == "no\nyes\n"


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


def test_labels_are_exact(run, tmp_path):
    path, model = tmp_path / "d.svm", tmp_path / "m.skops"
    path.write_text("9007199254740993 1:1\n9007199254740992 1:-1\n" * 3)
    assert run("train", path, model).code == 0
    assert run("predict", model, path).out == "9007199254740993\n9007199254740992\n" * 3
    assert run("evaluate", model, path, "--json").json["accuracy"] == 1


def test_every_command_has_help(run):
    assert "Exit codes" in run("--help").out
    for name in cli.commands:
        result = run(name, "--help")
        assert result.code == 0 and "Usage: margins " + name in result.out
    assert run("--version").out.strip() == f"margins, version {margins.__version__}"


@pytest.mark.parametrize("options", [("--max-iter", "1", "--eps", "1e-6"), ()])  # both read it once
def test_samples_may_come_from_a_pipe(run, train_file, tmp_path, monkeypatch, options):
    expected = run("train", train_file, tmp_path / "file.skops", *options)
    reader, writer = os.pipe()
    os.write(writer, train_file.read_bytes())
    os.close(writer)
    with open(reader) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        result = run("train", "-", tmp_path / "pipe.skops", *options)
    assert result.code == expected.code and result.code in ((0, 4) if options else (0,))
    one, other = (load(tmp_path / name).coef_ for name in ("file.skops", "pipe.skops"))
    np.testing.assert_array_equal(one, other)


def test_numbers_that_json_does_not_have_are_null(run, train_file, tmp_path):
    result = run("train", train_file, tmp_path / "m.skops", "-C", "inf", "--max-iter", "5", "--json")
    assert result.json["certificates"][0]["gap"] is None and result.code == 4


def test_classes_that_the_model_does_not_have_count_as_wrong(run, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:2\n-1 1:-1 2:0.5\n1 1:2\n-1 1:-3 2:1\n")
    (tmp_path / "b.svm").write_text("1 1:1 2:2\n-1 1:-1 2:0.5\n7 1:2\n")
    run("train", tmp_path / "a.svm", tmp_path / "m.skops")
    found = run("evaluate", tmp_path / "m.skops", tmp_path / "b.svm", "--json").json
    assert found["balanced_accuracy"] == pytest.approx(2 / 3)
    assert [each["samples"] for each in found["classes"]] == [1, 1, 1]
    assert found["confusion_matrix"][2] == [0, 1, 0]


@pytest.mark.parametrize("labels", ["7", "-7 7", "1 7"])  # all unknown, and one that is known
def test_samples_are_counted_in_integers(run, train_file, tmp_path, labels):
    points, model = tmp_path / "points.svm", tmp_path / "m.skops"
    points.write_text("".join(f"{label} 1:-9\n" for label in labels.split()))
    run("train", train_file, model)
    found = run("evaluate", model, points, "--json").json["classes"]
    assert [type(each["samples"]) for each in found] == [int] * len(found)
    assert sum(each["samples"] for each in found) == len(labels.split())
    rows = run("evaluate", model, points).out.splitlines()[4:]
    assert [row.split()[-1] for row in rows] == [str(each["samples"]) for each in found]
