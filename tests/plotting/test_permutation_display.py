"""The scores with permuted labels, drawn."""

import numpy as np

from margins.model_selection import PermutationTest
from margins.plotting import PermutationTestDisplay


def test_the_scores_and_the_p_value_are_drawn():
    scores = np.linspace(0.3, 0.7, 99)
    test = PermutationTest(0.9, scores, "accuracy", 252.0, None, 0, 1.0)
    display = PermutationTestDisplay.from_test(test, bins=7)
    assert len(display.ax_.patches) == 7
    assert sum(bar.get_height() for bar in display.ax_.patches) == 99
    assert "labels as passed: 0.9, p = 0.01" in display.ax_.get_legend_handles_labels()[1]
    display.figure_.canvas.draw()
