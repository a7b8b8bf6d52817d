"""
Several algorithms on several data sets
=======================================

The mean accuracy over different data sets says little, but ranks can be averaged: on each data set,
the best algorithm has rank 1. Two mean ranks must differ by the critical difference before one
algorithm may be called better. Bars join algorithms that differ by less.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

import margins
from margins.model_selection import parameter_search, rank
from margins.plotting import RanksDisplay

NAMES = ("auto", "pam", "averaged-perceptron", "pa-i", "perceptron")

warnings.simplefilter("ignore")  # of fits that end at max_iter
studies = {}
for seed in range(12):
    X, y = make_classification(
        n_samples=150, n_features=30, n_informative=6, flip_y=0.05 * (seed % 4), random_state=seed
    )
    studies[f"data {seed}"] = {
        name: parameter_search(
            margins.get(name)(max_iter=50), {}, X, y, cv=3, random_state=0, progress=False
        )
        for name in NAMES
    }
ranking = rank(studies)
_, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
RanksDisplay.from_ranking(ranking, ax=ax)
plt.show()

# %%
# Friedman's test says whether the mean ranks differ by more than chance at all:

statistic, p_value = ranking.friedman()
print(f"Friedman: {statistic:.1f}, p = {p_value:.2g}")
print(ranking.to_frame().round(3).tail(3).to_string(index=False))
