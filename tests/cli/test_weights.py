"""`weights` lists the features with the largest weights, by the names that users know."""

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

from margins.persistence import load
from margins.regularisers import L1, Bounded

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_of_svmlight_are_their_indices_in_the_file(run, tmp_path, n_classes):
    write_svmlight(tmp_path / "train.svm", *samples(n_classes))
    run("train", tmp_path / "train.svm", tmp_path / "model.skops", "-q")
    rows = run("weights", tmp_path / "model.skops", "--top", "2", "--json").json
    coefs = load(tmp_path / "model.skops").coef_
    assert len(rows) == 2 * len(coefs)
    for row in range(len(coefs)):
        order, listed = np.argsort(-np.abs(coefs[row]))[:2], rows[2 * row : 2 * row + 2]
        assert [each["feature"] for each in listed] == [str(j + 1) for j in order]
        assert [each["weight"] for each in listed] == coefs[row, order].tolist()


def test_columns_and_categories_of_tables_have_their_names(run, tmp_path, table_file):
    options = ("--target", "bought", "--categorical", "colour,shop", "--scale", "-q")
    assert run("train", table_file, tmp_path / "model.skops", *options).code == 0
    result = run("weights", tmp_path / "model.skops")
    names = {line.split()[1] for line in result.out.splitlines()[1:]}
    assert {"size", "colour_blue", "colour_red"} <= names
    assert {line.split()[0] for line in result.out.splitlines()[1:]} == {"yes"}


def test_pairs_of_classes_are_named(run, tmp_path):
    write_svmlight(tmp_path / "train.svm", *samples(n_classes=3))
    run("train", tmp_path / "train.svm", tmp_path / "model.skops", "-q", "-p", "multi_class=ovo")
    rows = run("weights", tmp_path / "model.skops", "--top", "1", "--json").json
    assert [row["class"] for row in rows] == ["0, not 1", "0, not 2", "1, not 2"]


def test_a_kernel_model_has_no_weights_to_list(run, tmp_path, train_file):
    run("train", train_file, tmp_path / "model.skops", "--kernel", "rbf", "-q")
    result = run("weights", tmp_path / "model.skops")
    assert result.code == 2 and "must hold a linear classifier" in result.err


def test_class_weights_reach_the_classifier(run, tmp_path, train_file):
    assert run("train", train_file, tmp_path / "m.skops", "--class-weight", "+1=5,-1.0=.5").code == 0
    assert load(tmp_path / "m.skops").class_weight == {1: 5, -1: 0.5}
    assert run("train", train_file, tmp_path / "m.skops", "--class-weight", "1=5,+1=5").code == 2
    for option in (("--class-weight", "1=5,-1=0.5"), ("-p", "class_weight={1: 5, -1: 0.5}")):
        run("train", train_file, tmp_path / f"{option[0]}.skops", *option, "-q")
    one, other = (load(tmp_path / name) for name in ("--class-weight.skops", "-p.skops"))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.class_weight == {1: 5, -1: 0.5}


def test_compare_gives_parameters_to_all_algorithms_that_have_them(run, train_file):
    command = ("compare", train_file, "pam", "dcd", "--folds", "3", "--json")
    plain = run(*command).json
    changed = run(*command, "-p", "tau=100", "-p", "pam:max_iter=1").json
    assert plain["means"]["dcd"] == changed["means"]["dcd"]
    assert plain["means"]["pam"] != changed["means"]["pam"]


def test_a_study_of_a_table_is_one_path_and_its_parameters_have_their_names(run, tmp_path, table_file):
    rows = table_file.read_text().splitlines()
    table_file.write_text("\n".join([rows[0], *rows[1:] * 10]) + "\n")
    options = ("--target", "bought", "--categorical", "colour,shop", "--outer", "2", "--inner", "2")
    result = run("study", table_file, "-g", "C=0.1,1,10", *options)
    assert result.code == 0 and "path: yes" in result.out
    assert "C=" in result.out and "classifier__" not in result.out


def test_fits_of_a_study_that_prove_nothing_are_one_warning(run, train_file):
    options = "-g C=1,10 --outer 2 --inner 2 -p max_iter=1 -a mpu -p eps=1e-9"
    result = run("study", train_file, *options.split())
    assert result.code == 0 and result.err.count("warning: ") == 1
    assert "fits of double_cross_validation did not converge" in result.err


def test_penalties_and_bounds_reach_the_classifier(run, tmp_path, train_file):
    options = ("--penalty", "l1", "--lower", "-0.25", "--upper", "0.5", "-q")
    assert run("train", train_file, tmp_path / "model.skops", *options).code == 0
    model = load(tmp_path / "model.skops")
    assert model.penalty == Bounded(-0.25, 0.5, L1()) and np.abs(model.coef_).max() <= 0.5
    assert run("certify", tmp_path / "model.skops", train_file).code == 0
    for name in "text", "model.skops":
        options = ("--penalty", "l1", "-C", "0.02", "--force")
        lines = run("train", train_file, tmp_path / name, *options).out.splitlines()
        assert next(line.split() for line in lines if "in use" in line) == ["features", "in", "use", "1"]
        assert (
            run("train", train_file, tmp_path / name, *options, "--json").json["n_features_in_use"] == 1
        )
    options = ("--penalty", "l1", "--points", "2", "--c-min", "1e-3", "--c-max", "0.02")
    header, *rows = run("path", train_file, *options, "-q").out.splitlines()
    assert header.endswith("features in use") and [row.split()[-1] for row in rows] == ["0", "1"]
    for wrong, message in (
        (("--lower", "1", "--upper", "0"), "lower of Bounded must be at most upper. Got 1.0 and 0.0."),
        (("--lower", "3=0,0,1"), "A bound may be given only once. Got several of all: '3=0,0,1'."),
        (
            ("--upper", "5=0"),
            "upper of Bounded must have names of features of X as keys. Got '5'. X has",
        ),
        (("--lower", "1=1", "--upper", "0"), "at most upper. Got 1.0 and 0.0 for feature '1'."),
        (("--lower", "small"), "must be a number less than inf, or one for each feature. Got 'small'."),
        (
            ("--lower", "0", "--penalty", "lasso"),
            "penalty of MarginClassifier must be one of 'l2', 'l1'",
        ),
        (("--l1-ratio", "0.5"), "l1_ratio of MarginClassifier must be None unless"),
        (("--l1-ratio", "0.5", "--lower", "0"), "l1_ratio of MarginClassifier must be None unless"),
    ):
        result = run("train", train_file, tmp_path / "other.skops", *wrong)
        assert result.code == 2 and message in result.err


@pytest.mark.parametrize("options", [(), ("--scale",), ("--categorical", "shop")])
def test_bounds_name_features_as_weights_lists_them(run, tmp_path, table_file, train_file, options):
    lines = [line.split(",") for line in table_file.read_text().splitlines()]
    rows = [
        ",".join((line[0], *line[2:]) if options[:1] == ("--categorical",) else line[::3])
        for line in lines
    ]
    table_file.write_text("\n".join(rows))
    model, bounds = tmp_path / "model.skops", ("--lower", "0,size=-0.25")
    assert run("train", table_file, model, "--target", "bought", *options, *bounds, "-q").code == 0
    weights = {row["feature"]: row["weight"] for row in run("weights", model, "--json").json}
    assert weights.pop("size") == -0.25 and all(weight > 0 for weight in weights.values())
    assert run("certify", model, table_file, "--target", "bought").code == 0
    wrong = run("train", table_file, model, "--target", "bought", *options, "--lower", "sizes=0")
    assert wrong.code == 2 and "Got 'sizes'. Did you mean 'size'?" in wrong.err


def test_bounds_name_features_of_svmlight_by_their_indices(run, tmp_path, train_file):
    for name in "text", "model.skops":
        options = ("--lower", "1=-inf,0", "--upper", "1=0.5", "-q")
        assert run("train", train_file, tmp_path / name, *options).code == 0
        rows = {row["feature"]: row["weight"] for row in run("weights", tmp_path / name, "--json").json}
        assert rows.pop("1") == 0.5 and all(weight > 0 for weight in rows.values())
    options = ("--lower", "1=0.75", "--points", "1", "--c-min", "0.001", "--json")
    [row] = run("path", train_file, *options).json
    assert row["objective"] > 0.75**2 / 2
