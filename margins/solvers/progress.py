"""The losses of epochs, which end a fit with `tol`: see `margins.solvers.specification.Patience`."""

import math

import numpy as np


class Progress:
    """The mean losses after the epochs of a run."""

    def __init__(self, patience):
        self._patience, self.losses, self._least_loss, self._n_without = patience, [], math.inf, 0

    def has_ended(self, run):
        """Measure the loss after an epoch of a run, and return True if the run should end."""
        self.losses.append(self._loss_of(run))
        is_slow = self.losses[-1] > self._least_loss - self._patience.tol
        self._n_without = self._n_without + 1 if is_slow else 0
        self._least_loss = min(self._least_loss, self.losses[-1])
        return self._n_without >= self._patience.n_iter_no_change

    def _loss_of(self, run):
        """Return the mean loss of the samples at the last iterate, not at an average."""
        scores = run.weights.products(run.data) - run.theta * run.data.signs
        scale = run.specification.model_scale
        losses = np.maximum(self._patience.margin - (1.0 if scale is None else scale) * scores, 0)
        return float(np.average(losses, weights=run.data.weights))
