"""Conjugate passes: unlearning passes over a working set, with a step to the best point after each.

A full epoch accesses every sample once, then repeatedly the samples whose dual variable is between its
bounds or has just changed, each time in a new order: in a fixed order a pass mostly repeats the previous
one. After each pass, a step goes to the best point of the space of the pass and the two previous search
directions (`margins.solvers._conjugate`). After the last pass of an epoch, the certificate comes before
the step, which does not improve the primal value.

The epoch ends as soon as the gap that the next pass would estimate, extrapolated from the last two, is
small. The estimate also tells whether the gap may be small enough for a proof.

**Source**: Hsieh et al. (2008), A dual coordinate descent method for large-scale linear SVM, section
3.2, on orders; Notay (2000), Flexible conjugate gradients.
"""

import math

from margins._activeset import ActiveSets
from margins.solvers._conjugate import ConjugateSteps
from margins.solvers.balance import ROUNDING
from margins.solvers.base import EpochReport, Solver
from margins.tuning import TUNING


class ConjugateSolver(Solver):
    """A solver whose full epochs are conjugate passes.

    rules: unlearning(b, delta_b) with b > 0, Additive, NoShrink: a.y_k is b at the margin.
    max_passes: the solver ends if it is expected to need more passes over all samples than this.
    gap: the gap of another solver. This one ends if too many certificates in a row have no smaller gap
        than the smallest so far, this one included.
    has_stalled: True if it has ended for this reason.
    """

    name = "conjugate"
    corrects_rounding = True

    def __init__(self, rules, max_passes=math.inf, tuning=TUNING.conjugate, gap=math.inf):
        self._rules, self._max_passes, self._tuning = rules, max_passes, tuning
        self._has_budget = not math.isinf(max_passes)
        self._target = rules.condition.b
        self._sets = None
        self._safety = 1.0  # share of the tolerance that an estimated gap may have
        self._least_gap, self._gap_to_beat, self._n_no_better = math.inf, gap, 0
        self._estimate = 0.0  # estimated gap after the last epoch
        self._first_estimate = self._least_estimate = math.inf
        self._gap_of_estimate = None  # proven gap / estimated gap, at the last proof
        self._n_unproven = 0
        self._steps = None
        self._last_centre = None  # the last centre of a free intercept, and the label sum that it led to
        self._centres = [-math.inf, math.inf]  # the nearest centres that were too small and too large
        self._n_since_restart = math.inf  # passes since search directions were restarted
        self._pass_estimate = 0.0  # the gap that the last pass estimated

    @classmethod
    def why_not(cls, problem):
        if not problem.loss.is_finite:
            return "the hard margin (C=inf) has no dual variables at which its estimates hold"
        if problem.loss.is_smooth and problem.loss.has_upper_bounds:
            return (
                f"its estimates of the gap are for losses with either upper bounds or a diagonal, and "
                f"{problem.loss.name!r} has both"
            )
        return None

    def epoch(self, run):
        if self._sets is None:
            self._sets = ActiveSets((), len(run.data))
        sets, tuning = self._sets, self._tuning
        self._required_gap = run.required_gap
        if self._n_unproven == 0:
            self._compare_with_proof(run)
        if self._steps is None or self._steps.a is not run.weights:
            self._steps = ConjugateSteps(run.data, run.weights, self._target, tuning.full_set_share)
        restarts = self._safety < 1 or self._n_since_restart >= tuning.restart
        if restarts:
            self._n_since_restart = 0
        n_accesses_before = sets.n_accesses
        self._steps.begin(restarts)
        n_changed, n_rejected = self._pass(run, run.orders.next()), sets.n_rejected
        check_gap, is_exhausted = True, False
        if n_changed:
            self._estimate, is_exhausted = self._inner_passes(run)
            n_unproven = self._n_unproven + 1
            check_gap = is_exhausted or self._may_be_proven(run) or n_unproven == tuning.epochs_per_check
            self._n_unproven = 0 if check_gap else n_unproven
        if run.data.has_free_intercept and check_gap and run.weights.dual_sum > 0:
            self._recentre(run)
            self._n_since_restart = math.inf  # a direction would include this change, too
        is_exhausted = is_exhausted or self.has_stalled
        n_accesses = sets.n_accesses - n_accesses_before
        return EpochReport(n_changed, n_accesses, n_rejected, check_gap, is_exhausted)

    @property
    def has_stalled(self):
        """True if as many certificates in a row as its patience allows came no closer."""
        return self._n_no_better >= self._tuning.patience

    def release(self):
        self._steps = self._sets = None

    def _recentre(self, run):
        """Penalise a free intercept relative to the point where it will probably end.

        At this point the label sum, which falls as the centre grows, is 0. The secant of the last two
        centres estimates it, between a centre that was too small and one that was too large.
        """
        weights = run.weights
        centre, label_sum = weights.centre, weights.label_sum - weights.centre
        if abs(label_sum) <= ROUNDING * weights.dual_sum:
            # With all dual variables at their bounds, many intercepts balance them.
            signs = run.data.signs
            scores = signs * weights.products(run.data) / self._target
            intercept = run.loss.best_intercept(scores, signs) * self._target
            run.recentre(intercept / run.data.sq_intercept_scaling)
            return
        distance = length = abs(label_sum)  # to the present intercept
        if self._last_centre is not None:
            last_centre, last_label_sum = self._last_centre
            move, fall = centre - last_centre, last_label_sum - label_sum
            longest = self._tuning.max_intercept_step * max(length, abs(move))
            if fall == 0:
                distance = longest
            elif fall * move > 0:
                distance = min(max(length * move / fall, length), longest)
        self._last_centre = centre, label_sum
        near, far = (0, 1) if label_sum > 0 else (1, 0)
        self._centres[near] = centre
        farthest = (self._centres[far] - centre) * math.copysign(1, label_sum)
        if farthest <= length:  # an inexact label sum was misleading
            self._centres[far] = math.copysign(math.inf, label_sum)
        elif farthest <= distance:
            distance = 0.5 * (length + farthest)
        run.recentre(math.copysign(distance - length, label_sum))

    def _pass(self, run, order):
        return self._sets.full_epoch(run.data, run.weights, self._rules, order, None, run.averaging)

    def _compare_with_proof(self, run):
        """Compare the last estimate with the gap that was proven since then."""
        if run.certificate is None:
            return
        gap = run.certificate.gap
        if gap > self._tuning.slow_reduction * self._least_gap:
            self._safety = min(0.5 * self._safety, self._estimate / gap)
        self._least_gap = min(self._least_gap, gap)
        if math.isfinite(self._gap_to_beat):
            self._n_no_better = 0 if gap < self._gap_to_beat else self._n_no_better + 1
            self._gap_to_beat = min(gap, self._gap_to_beat)
        if self._estimate > 0 and math.isfinite(gap):
            self._gap_of_estimate = gap / self._estimate

    def _may_be_proven(self, run):
        """Return True if the gap may be small enough for a proof, or must be computed."""
        limit = self._tuning.check_ratio
        if self._safety < 1 or self._estimate <= limit * self._required(run):
            return True
        if self._gap_of_estimate is None:
            return run.loss.is_smooth
        return self._gap_of_estimate * self._estimate <= limit * self._required_gap

    def _inner_passes(self, run):
        """Pass over the working set until its gap is small; return (estimated gap, is exhausted)."""
        tuning = self._tuning
        working_set, min_gap = self._steps.working_set(), 0.0
        for n_passes in range(tuning.max_passes + 1):
            if n_passes > 0:
                self._steps.step()
                self._n_since_restart += 1
                self._pass(run, run.orders.of(working_set))
            previous_estimate, gap = self._pass_estimate, self._steps.gap()
            self._pass_estimate, required = gap, self._required(run)
            expected = gap * min(gap / previous_estimate, 1) if previous_estimate > 0 else gap
            if expected <= self._safety * required:
                return expected, False
            if self._has_budget and self._exceeds_budget(run, required):
                return gap, True
            if gap <= min_gap:
                break
            if n_passes == 1:
                min_gap = self._safety * tuning.epoch_reduction * gap
        return self._pass_estimate, False

    def _exceeds_budget(self, run, required):
        """Return True if the last pass's estimate predicts more than `max_passes` passes."""
        if math.isinf(self._first_estimate):
            self._first_estimate = self._least_estimate = self._pass_estimate
            return False
        # Estimates may grow before they fall, so the smallest one counts.
        self._least_estimate = min(self._least_estimate, self._pass_estimate)
        times = _repetitions_to(required, self._least_estimate, self._first_estimate)
        return times * self._sets.n_accesses > self._max_passes * len(run.data)

    def _required(self, run):
        """Return the gap to prove, in units of the objective at functional margin 1."""
        dual = dual_value(run.data, run.weights, self._target)
        return self._required_gap * dual if dual > 0 else 0.0


def dual_value(data, weights, target):
    """Return the dual objective at functional margin 1; the margin of `weights` is at `target` > 0."""
    sqnorm = weights.sqnorm
    if data.has_free_intercept:
        sqnorm -= data.sq_intercept_scaling * weights.label_sum**2
    return (weights.dual_sum - 0.5 * sqnorm / target) / target


def _repetitions_to(required, now, before):
    """Return how often the reduction to `now` must be repeated to reach `required`; 0: unknown."""
    if not 0 < required < now:
        return 0.0
    return math.log(now / required) / math.log(before / now) if now < before else math.inf
