"""The records of a run, and the messages made from them."""

import math
from typing import NamedTuple

import numpy as np

from margins.certificate import Certificate


class Epoch(NamedTuple):
    """One full epoch of a run."""

    epoch: int  # Number of the epoch, from 1
    updates: int  # Updates since the start of the run, counting multiplicities
    # Misclassified samples of the full pass, by the rules' condition, including samples whose dual
    # variable was at its upper bound. If a solver changes many dual variables at once, the number that
    # it changed.
    mistakes: int
    # Certificate at the end of the epoch. It is not computed (None) if the estimated gap is above the
    # tolerance or, if the fit must end with an epoch that changes nothing, before such an epoch.
    certificate: Certificate | None
    solver: str = "rules"  # Name of the solver
    # Accesses of a sample since the start of the run, with or without an update; 0 in older files.
    accesses: int = 0


def progress(epoch, moves_together):
    """Return the progress line of a full epoch."""
    samples = "moved together" if moves_together else "misclassified"
    line = f"epoch {epoch.epoch} ({epoch.solver}): {epoch.mistakes} samples {samples}"
    line += f", {epoch.updates} updates"
    certificate = epoch.certificate
    if certificate is not None:
        line += f", proven fraction {certificate.fraction:.6g}, gap {certificate.gap:.3g}"
    return line


def standstill(n_unmoved, rules):
    """Return why an epoch that changed nothing does not mean convergence."""
    samples, are = ("samples", "are") if n_unmoved > 1 else ("sample", "is")
    return (
        f"{n_unmoved} {samples} below the upper bound of the dual variable {are} misclassified by "
        f"{rules.condition!r}, and {rules.update!r} does not move the weight vector"
    )


class Progress:
    """The mean losses after the epochs of a run, which end a fit with `tol`: see `Patience`."""

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
