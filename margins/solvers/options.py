"""The options of a run, as an estimator sets them."""

from collections.abc import Callable
from typing import NamedTuple

from margins.linalg.time_limits import TimeBudget


class RunOptions(NamedTuple):
    """The options of a run, beside samples and loss.

    Attributes
    ----------
    eps : float or None
        Accuracy to prove; None: only a full epoch without changes ends the fit.
    needs_clean_pass : bool
        True: a proof ends the fit only after a full epoch that has changed nothing.
    max_iter : int
        The maximum number of full epochs.
    keep_dual : bool
        True: keep the dual variables.
    report : callable or None
        Called with a line of progress after every full epoch.
    theta : float
        The score of a sample is ``l_k (a.y_k) - theta``; the rules must contain the same threshold.
    shuffle : {"epochs", "once", "never", "draws"}
        When samples are permuted: see `margins.data.permutations.Orders`.
    held_out : float
        The share of the samples, those first in the first order, that are never accessed.
    averaging : callable or None
        ``averaging(weights)`` makes what averages the iterates of the whole run.
    new_weights : callable or None
        ``new_weights(data)`` makes what is trained in place of a `WeightVector`.
    time_budget : margins.linalg.time_limits.TimeBudget or None
        The time of all runs of a fit; None: no limit.
    model_scale : float or None
        The factor from the hypothesis to the model; None: the one of least objective.
    """

    eps: float | None = None
    needs_clean_pass: bool = False
    max_iter: int = 1000
    keep_dual: bool = False
    report: Callable[[str], None] | None = None
    theta: float = 0.0
    shuffle: str = "epochs"
    held_out: float = 0.0
    averaging: Callable | None = None
    new_weights: Callable | None = None
    time_budget: TimeBudget | None = None
    model_scale: float | None = None
