"""A picture of a path: each feature's coefficients, the largest of them in the legend."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

import margins
from margins.plotting import CoefficientPathDisplay

CS = [1.0, 0.01, 100.0]


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def test_each_line_is_a_feature_in_the_order_of_C(flowers):
    X, y = flowers
    kept = y != "setosa"
    path = margins.svm_path(X[kept], y[kept], CS)
    display = CoefficientPathDisplay.from_path(path, n_shown=2, chosen=0.5)
    assert len(display.lines_) == 4
    for feature, line in enumerate(display.lines_):
        assert line.get_xdata().tolist() == [0.01, 1.0, 100.0]
        assert line.get_ydata().tolist() == path.coefs[[1, 0, 2], 0, feature].tolist()
    largest = np.abs(path.coefs[:, 0]).max(axis=0).argsort()[-2:]
    assert display.shown == sorted(largest.tolist())
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [*map(str, display.shown), "C = 0.5"]
    assert display.ax_.get_xscale() == "log" and display.ax_.get_xlabel() == "C"
    assert "coefficient" in display.ax_.get_ylabel()


def test_a_class_is_drawn_on_given_axes_and_again(flowers):
    pandas = pytest.importorskip("pandas")
    X, y = flowers
    path = margins.svm_path(pandas.DataFrame(X, columns=list("abcd")), y, CS)
    _, ax = plt.subplots()
    display = CoefficientPathDisplay.from_path(path, label="virginica", ax=ax, linewidth=3)
    assert display.ax_ is ax and display.names == list("abcd")
    assert display.lines_[1].get_ydata().tolist() == path.coefs[[1, 0, 2], 2, 1].tolist()
    assert {line.get_linewidth() for line in display.lines_} == {3}
    assert display.plot().ax_ is not ax


def test_what_cannot_be_drawn_is_an_error(flowers):
    path = margins.svm_path(*flowers, CS)
    message = r"label of .* must be one of the classes, \['setosa'.* Got 'x'"
    with pytest.raises(ValueError, match=message):
        CoefficientPathDisplay.from_path(path, label="x")
    with pytest.raises(ValueError, match="must be 4 names, one for each feature. Got 1"):
        CoefficientPathDisplay.from_path(path, names=["a"])
    with pytest.raises(ValueError, match="n_shown of CoefficientPathDisplay must be"):
        CoefficientPathDisplay.from_path(path, n_shown=-1)
    kernel = margins.svm_path(*flowers, CS, kernel="rbf")
    with pytest.raises(ValueError, match="must have the linear kernel"):
        CoefficientPathDisplay.from_path(kernel)


def test_without_a_legend_all_lines_are_grey(flowers):
    display = CoefficientPathDisplay.from_path(margins.svm_path(*flowers, CS), n_shown=0)
    assert display.ax_.get_legend() is None
    assert {line.get_color() for line in display.lines_} == {"0.5"}
