"""Margins with and without each sample, drawn."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.text import Text
from sklearn.datasets import load_iris

import margins
from margins.plotting import InfluenceDisplay


def test_every_sample_is_drawn_and_the_smallest_margins_are_marked():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:].copy()
    y[[3, 77]] = 3 - y[[3, 77]]
    result = margins.leave_one_out(margins.MarginClassifier(C=0.1), X, y)
    display = InfluenceDisplay.from_result(result, n_marked=5)
    display.figure_.canvas.draw()
    assert sum(len(points.get_offsets()) for points in display.ax_.collections) == 100
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [str(number) for number in display.marked]
    assert {"3", "77"} <= set(texts)
    np.testing.assert_array_equal(np.sort(result.margins)[:5], result.margins[display.marked])


def test_numbers_of_samples_do_not_overlap():
    X, y = load_iris(return_X_y=True)
    result, n_marked = margins.leave_one_out(margins.MarginClassifier(C=0.1), X[80:120], y[80:120]), 12
    display = InfluenceDisplay.from_result(result, n_marked=n_marked)
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in display.ax_.texts]  # without the lines
    assert len(boxes) == n_marked
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))
    assert all(box.x0 > display.ax_.bbox.x1 for box in boxes)


def test_a_sample_without_a_finite_margin_is_left_out():
    X, y = load_iris(return_X_y=True)
    X, y = X[40:51], y[40:51]  # one of the second class
    figure, ax = plt.subplots()
    result = margins.leave_one_out(margins.MarginClassifier(), X, y)
    display = InfluenceDisplay(result, 3).plot(ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert sum(len(points.get_offsets()) for points in ax.collections) == 10
