"""Newton steps that begin over a sample: where patterns are very many beside the features.

The hinge loss takes many steps, and visits to begin with, over nearly all patterns at first. But what
w looks like, a sample of some hundred patterns for each feature tells nearly as well: its optimum costs
about n_features / size more than that of all, in proportion. So each pattern of a sample stands for
many, its dual variable bounded by many times C_k, and steps over the sample, which cost next to nothing,
go nearly as far as it can tell. Then all patterns get the dual variables that this w tells, by the loss
as it is rounded off by then, and few steps over all are left.

A sample can mislead: where it is separable, and not all patterns are, its w is long and tells nothing.
Then steps over it do not come to an end soon, or the objective over all patterns is not what the sample
makes of it; and the run begins as if nobody had tried.

**Source**: White (1982), Maximum likelihood estimation of misspecified models, on what a sample tells.
"""

import numpy as np

from margins.certificate import Hinge
from margins.linalg.threads import one_thread
from margins.losses._scaling import hinge_sums
from margins.losses._smoothed import Losses
from margins.solvers.newton._dense_hessian import SummedCurvature
from margins.solvers.newton._objective import Objective, products
from margins.solvers.newton.newton import LEFT_OF_ASKED, NewtonEpochs, has_small_hessian

# A sample has so many patterns for each feature at least, LEAST at least, and this share of all: steps
# over it then cost a fifth of a presentation of all. It pays where all are so many times as many as it
# must have. (Time of a fit within 1e-4 and 1 %, beside that without: skin_nonskin 0.52 and 0.43,
# Covertype 0.65 and 0.67, shuttle 0.87 and 0.92. Of random patterns, 40,000 to 300,000 of 4 to 50
# features, C from 1e-3 to 100, 0.79 in the mean, 0.3 to 1.2; 17,000 of 10 features, 8 times as many as
# the sample, 0.95 to 1.25.)
PER_FEATURE, LEAST, SHARE, MANY = 100, 2000, 1 / 64, 16

# Steps over a sample begin with the loss rounded off so much that at w = 0 every dual variable is
# between its bounds: the first one solves a least-squares problem. (From where a fit begins otherwise,
# with 2, it is one along the gradient where C is large: 34 steps of 400 patterns with C = 100, 6 with
# C = 1; from here 10 and 7.) They end at this gap, or at what is asked for.
FIRST_FACTOR, ACCURACY = 0.25, 1e-3

# Steps over a sample that tells enough are at most so many, and the objective over all patterns is at
# most so many times what the sample makes of it.
MOST_STEPS, MISLED = 20, 1.25


def sample_size(patterns, problem):
    """How many patterns the first steps are to be over: int; 0 if a sample does not pay.

    Not for the squared hinge loss, which few steps settle in any case.
    """
    if not (isinstance(problem, Hinge) and has_small_hessian(patterns)):
        return 0
    m = len(patterns)
    size = max(PER_FEATURE * patterns.rows.n_features, LEAST)
    return max(size, int(SHARE * m)) if MANY * size <= m else 0


class SampledNewtonEpochs(NewtonEpochs):
    """Newton epochs, the first of which is over a sample.

    Parameters
    ----------
    run : margins.solvers.driver.Run
        Of the hinge loss, before its first epoch.
    size : int
        So many patterns make up the sample.
    """

    def __init__(self, run, size):
        super().__init__(run)
        self._size = size

    def __call__(self, run):
        """See `NewtonEpochs`."""
        if self._size == 0:
            return super().__call__(run)
        sample, self._size = run.orders.sample(self._size), 0
        run.proof_is_far = True
        accuracy = max(ACCURACY, LEFT_OF_ASKED * run.problem.gap_of(run.eps))
        with one_thread:
            objective, losses = self._sampled(sample)
            n_steps = objective.minimise(accuracy, 0.0, MOST_STEPS)
        if not objective.gap <= accuracy * objective.value:
            return 0, n_steps * len(sample)
        n_visits = len(self.patterns) + n_steps * len(sample)
        margins = products(self.patterns, self._everyone, objective.w)
        loss, _ = hinge_sums(margins, self.C, 1.0)
        if not 0.5 * float(objective.w @ objective.w) + loss <= MISLED * objective.value:
            return 0, n_visits
        self.w, self.margins = objective.w, margins
        self.factor = losses.factor * len(sample) / len(self.patterns)
        self.alpha = self._told()
        run.weights.assign(self.patterns, self.alpha)
        return len(sample), n_visits

    def _sampled(self, sample):
        """The objective as a function of what a sample contributes, and its losses."""
        each_is = len(self.patterns) / len(sample)
        C = each_is * self.C[sample]
        # Rounded off around the middle: nobody knows any dual variable.
        losses = Losses(0.5 * C, C, self.steepness[sample], each_is * FIRST_FACTOR, bounded=True)
        objective = Objective(
            self.patterns,
            sample,
            np.zeros(len(self.w)),
            0.0,
            self.w,
            self.margins[sample],
            losses,
            SummedCurvature(self.patterns, self.steepness),
        )
        return objective, losses

    def _told(self):
        """The dual variables that w tells: ndarray of float64, shape (m,)."""
        alpha = 1 - self.margins  # in place from here on: arrays of all patterns are large
        alpha *= self.factor
        alpha *= self.steepness
        alpha += 0.5 * self.C
        return np.clip(alpha, 0, self.C, out=alpha)
