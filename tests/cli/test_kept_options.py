"""A model keeps how its training data were read, and files to predict are read likewise."""

import io
import re

import numpy as np
import pytest
from cli.conftest import samples, write_svmlight

import margins
from margins.persistence import dump, load


def write_zero_based(path, X, y):
    """Rows without the feature 0, which alone would tell where indices begin, unless it is needed."""
    write_svmlight(path, X, y)
    path.write_text(re.sub(r"(\d+):", lambda index: f"{int(index[1]) - 1}:", path.read_text()))


@pytest.fixture
def zero_based(tmp_path):
    X, y = samples()
    write_zero_based(tmp_path / "train.svm", X[:, [1, 0, 2, 3]], y)
    X, y = samples(seed=1)
    X = X[:, [1, 0, 2, 3]]
    X[:, 0] = 0
    write_zero_based(tmp_path / "test.svm", X, y)
    return tmp_path, X, y


@pytest.mark.parametrize("options", [(), ("--scale",), ("-a", "voted-perceptron", "--max-iter", "5")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_indices_that_begin_at_0_do_so_in_files_to_predict(run, zero_based, options):
    folder, X, y = zero_based
    model = folder / "m.skops"
    assert run("train", folder / "train.svm", model, "--zero-based", *options).code in (0, 4)
    expected = load(model).predict(X)
    for repeated in ((), ("--zero-based",)):
        predicted = run("predict", model, folder / "test.svm", *repeated).out.split()
        assert predicted == [str(label) for label in expected.tolist()]
        accuracy = run("evaluate", model, folder / "test.svm", "--json", *repeated).json["accuracy"]
        assert accuracy == np.mean(expected == y)


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_an_option_that_contradicts_the_model_is_refused(run, train_file, table_file, tmp_path, command):
    run("train", train_file, tmp_path / "m.skops")
    result = run(command, tmp_path / "m.skops", train_file, "--zero-based")
    assert (result.code, result.out) == (2, "")
    assert f"{train_file}: --zero-based contradicts the model" in result.err
    columns = ("--target", "bought")
    run("train", table_file, tmp_path / "m.skops", *columns, "--categorical", "colour,shop")
    result = run(command, tmp_path / "m.skops", table_file, *columns, "--categorical", "colour")
    problem = "the model's training data, 'colour', 'shop'. Got 'colour'"
    assert result.code == 2 and problem in result.err
    columns += ("--categorical", "shop,colour")
    assert run(command, tmp_path / "m.skops", table_file, *columns).code == 0


def test_a_model_that_does_not_say_is_read_as_the_option_says(run, train_file, tmp_path):
    X, y = samples()
    dump(margins.MarginClassifier().fit(X, y), tmp_path / "m.skops")
    plain = run("predict", tmp_path / "m.skops", train_file, "-q").out
    shifted = run("predict", tmp_path / "m.skops", train_file, "-q", "--zero-based").out
    assert plain != shifted


def test_another_fit_forgets_it_and_a_damaged_value_is_refused(run, train_file, tmp_path):
    run("train", train_file, tmp_path / "m.skops")
    classifier = load(tmp_path / "m.skops")
    assert classifier.first_index_ == 1
    classifier.first_index_ = 7
    file = io.BytesIO()
    dump(classifier, file)
    with pytest.raises(ValueError, match="first_index_ must be 0 or 1. Got 7"):
        load(io.BytesIO(file.getvalue()))
    assert not hasattr(classifier.fit(*samples()), "first_index_")
