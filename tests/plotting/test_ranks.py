"""The critical-difference diagram joins what does not differ."""

import matplotlib.pyplot as plt
import numpy as np

from margins.model_selection import Ranking
from margins.plotting import RanksDisplay
from margins.plotting.comparison import _groups


def test_groups_are_the_largest_ranges_within_the_difference():
    assert _groups([1.0, 1.5, 2.0, 4.0], 1.0) == [(1.0, 2.0)]
    assert _groups([1.0, 1.8, 2.6, 4.0], 1.0) == [(1.0, 1.8), (1.8, 2.6)]
    assert _groups([1.0, 3.0], 1.0) == []
    assert _groups([2.0, 2.0], 0.5) == [(2.0, 2.0)]


def test_every_algorithm_has_its_name_and_rank_and_bars_join_groups():
    generator = np.random.default_rng(0)
    scores = generator.random((15, 5)) * 0.05 + np.array([0.9, 0.9, 0.8, 0.7, 0.7])
    ranking = Ranking(scores, list("abcde"), [str(i) for i in range(15)], "accuracy")
    display = RanksDisplay.from_ranking(ranking)
    display.figure_.canvas.draw()
    texts = [text.get_text().strip() for text in display.ax_.texts]
    expected = zip("abcde", ranking.mean_ranks, strict=True)
    assert sorted(texts) == [f"{name} ({rank:.3g})" for name, rank in expected]
    bars = [line for line in display.ax_.lines if line.get_linewidth() == 4]
    assert len(bars) == len(display.groups) >= 2
    assert f"critical difference {ranking.critical_difference():.3g}" in display.ax_.get_title()


def test_axes_may_be_given():
    figure, ax = plt.subplots()
    display = RanksDisplay(Ranking([[2, 1], [2, 1]], ["a", "b"], ["x", "y"]), 0.9).plot(ax)
    assert display.ax_ is ax and display.figure_ is figure
