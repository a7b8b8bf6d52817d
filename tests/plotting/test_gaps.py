"""Gaps of models, drawn side by side."""

import math

import numpy as np
import pytest
from problems import tumours
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

import margins
from margins.plotting import GapsDisplay

pytest.importorskip("matplotlib")


def test_each_model_has_a_row_and_each_problem_a_point():
    X, y = tumours()
    models = {"LinearSVC": LinearSVC(random_state=0), "SGD": SGDClassifier(random_state=0)}
    results = {name: margins.certify(model.fit(X, y), X, y) for name, model in models.items()}
    display = GapsDisplay.from_results(results)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["LinearSVC", "SGD"]
    for row, (line, result) in enumerate(zip(display.ax_.lines, results.values(), strict=True)):
        gap = max(result.certificates[0].gap, 1e-16)
        np.testing.assert_array_equal(line.get_xydata(), [[gap, row]])
    assert display.ax_.get_xscale() == "log"
    assert display.plot().gaps == display.gaps


def test_models_without_a_bound_are_marked_at_the_end():
    display = GapsDisplay({"a": [0.1, 0.5], "b": [math.inf]}).plot()
    points, _, mark = display.ax_.lines
    assert points.get_xdata().tolist() == [0.1, 0.5] and mark.get_xdata()[0] > 0.5
    with pytest.raises(ValueError, match="at least one model"):
        GapsDisplay({}).plot()
