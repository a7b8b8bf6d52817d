"""Parameter searches."""

import warnings

import margins
from margins.model_selection import parameter_search

from .data import dense

warnings.simplefilter("ignore")


class Search:
    """A grid of eight settings on five folds."""

    params = (["auto", "pam"],)
    param_names = ("name",)

    def setup(self, name):
        self.X, self.y = dense(m=2_000)
        grid = {"C": [0.01, 0.1, 1, 10]} if name == "auto" else {"tau": [0, 0.1, 0.5, 1]}
        self.grid = {**grid, "fit_intercept": [True, False]}
        self.classifier = margins.get(name)(max_iter=20)

    def time_search(self, name):
        parameter_search(
            self.classifier, self.grid, self.X, self.y, cv=5, random_state=0, progress=False
        )
