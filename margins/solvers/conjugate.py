"""Conjugate passes: a schedule for dual variables that settle slowly.

A full epoch presents every pattern once, then, again and again, those whose dual variable is between
its bounds or has just changed. Each of these passes has an order of its own: where one order is kept,
the next pass mostly repeats what the last one has done. (Sector, 6412 documents, C = 0.01: after one
pass more the gap is 1.6e-4 in a new order, 1.2e-2 in the old one.) And from each, before the next one,
the dual variables go on, all at once, to the best point that it and the two moves before it lead to
(`margins.solvers._conjugate`); also from the last pass of an epoch, but not before its proof: the primal
value is a pass behind a step.

As soon as these patterns have little left to gain, it is the others' turn: the epoch ends. A pass tells
how much it has found left to gain; the next one will find less, in the proportion in which this one has
found less than the one before. That also tells how far the proof is: it is looked for where it is near.

**Source**: Hsieh et al. (2008), A dual coordinate descent method for large-scale linear SVM, section
3.2, on orders; Notay (2000), Flexible conjugate gradients.
"""

import math

from margins._activeset import ActiveSets
from margins.certificate import Hinge
from margins.solvers._conjugate import ConjugateSteps

# So many passes in an epoch at most.
PASSES = 30
# An epoch ends when a pass over its patterns finds less left to gain than this share of what the first
# one found, or when the next one would find no more than what is asked for. (Not this one: visits a
# pattern, of ten fits, with C = 0.01, sector 2.0, before 3.0, relathe 3.5, 3.9; hinge loss within 1 %,
# pcmac 9.1, 9.4, relathe 13.5, 14.3, sector 7.4, 7.0, news20 8.1, 10.3; within 1e-4, sector 25.6, 28.5,
# news20 16.4, 20.2.) What a pass finds is a guess at the gap, and too hopeful where an epoch has left
# more than SLOW of it: half as much is to be left from then on, or less, if the gap was more than twice
# the guess.
LEFT = 0.4
SLOW = 0.8
# Moves last from epoch to epoch, so many passes, and only while gaps fall: then an epoch begins anew.
# (Visits of a pattern, first with new moves in every epoch, averages of twelve fits: relathe with
# C = 100 29.2, 24.4, pcmac 23.8, 19.6, basehock 26.0, 24.6; hinge loss within 1e-4: relathe 24.9, 23.2,
# pcmac 18.5, 17.7, basehock 15.3, 14.4. Of 4000 small random fits, many of contradicting patterns, 28
# took more than three times the visits with such moves, at most 13 times, and 13 less than a third of
# them; with moves that last for ever 42, one 5000 times, and 5.)
LASTING = 20
# The proof is looked for where it is near: where an epoch has left at most so many times what is asked
# for, by itself or in proportion to the gap last proven. (With private coordinates what is left can be a
# thousand times the gap, which another scale of the weights closes: there the first epoch's gap is
# proven in any case. Without them it tells too little: fits within 1 % of pcmac, basehock, sector took
# 0.89, 0.94, 0.91 of the time without it.) Every so many epochs one is looked for all the same, and what
# updates have rounded off is put right; after every one, once gaps have hardly fallen: they tell how
# much is to be left.
FAR = 2.0
EPOCHS_PER_PROOF = 4


class ConjugatePasses:
    """Full epochs of conjugate passes, for `Stage.presenter`.

    Parameters
    ----------
    run : margins.solvers.driver.Run
        With private coordinates, or with bounded dual variables.
    rules : Rules
        Unlearning, Additive, NoShrink: a.y_k is to be the threshold b at the margin.
    rival : float
        What else could be done is worth so many presentations of every pattern; inf: nothing else can.

    Attributes
    ----------
    outpaced : bool
        True: passes would take more than that. An epoch ends as soon as it shows.
    """

    def __init__(self, run, rules, rival=math.inf):
        self._run = run
        self._rival = rival
        self.outpaced = False
        self._target = rules.condition.b
        self._visits = ActiveSets((), len(run.patterns))
        self._hope = 1.0  # how much of what is to be left may be
        self._least_gap = math.inf
        self._left = 0.0  # after the last epoch
        self._first_found = self._least_found = math.inf
        self._gap_of_left = None  # when a gap was last proven
        self._n_unproven = 0
        self._steps = None
        self._n_lasted = math.inf  # passes since moves began
        self._found = 0.0  # what the last pass has found left to gain

    @property
    def n_visits(self):
        """Presentations so far."""
        return self._visits.n_visits

    def full_epoch(self, patterns, weights, rules, order, full_pass_rules=None, readout=None):
        """See `ActiveSets.full_epoch`."""
        if self._n_unproven == 0:
            self._look_back()
        if self._steps is None or self._steps.a is not weights:
            self._steps = ConjugateSteps(patterns, weights, self._target)
        anew = self._hope < 1 or self._n_lasted >= LASTING
        if anew:
            self._n_lasted = 0
        self._steps.begin(anew)
        n_changed = self._visits.full_epoch(patterns, weights, rules, order, full_pass_rules, readout)
        self.n_refused = self._visits.n_refused
        if n_changed:
            self._left = self._settle(patterns, weights, rules, readout)
            self._n_unproven += 1
            if self.outpaced or self._is_near(weights) or self._n_unproven == EPOCHS_PER_PROOF:
                self._n_unproven = 0
            self._run.proof_is_far = self._n_unproven > 0
        return n_changed

    def _look_back(self):
        """Learn from what has been proven after the last epoch."""
        if self._run.certificate is None:
            return
        gap = self._run.certificate.gap
        if gap > SLOW * self._least_gap:
            self._hope = min(0.5 * self._hope, self._left / gap)
        self._least_gap = min(self._least_gap, gap)
        if self._left > 0 and math.isfinite(gap):
            self._gap_of_left = gap / self._left

    def _is_near(self, weights):
        """True if the epoch may have come near enough for a proof, or its gap is to be known."""
        if self._hope < 1 or self._left <= FAR * self._asked(weights):
            return True
        if self._gap_of_left is None:
            return not isinstance(self._run.problem, Hinge)
        return self._gap_of_left * self._left <= FAR * self._run.problem.gap_of(self._run.eps)

    def _settle(self, patterns, weights, rules, readout):
        """After a pass over all patterns, present the unsettled until they have little left to gain.

        Returned is about how much.
        """
        members, enough = self._steps.unsettled(), 0.0
        for n_passes in range(PASSES + 1):
            if n_passes > 0:
                self._steps.step()
                self._n_lasted += 1
                order = self._run.orders.of(members)
                self._visits.full_epoch(patterns, weights, rules, order, None, readout)
            before, self._found = self._found, self._steps.gap()
            asked = self._asked(weights)
            next_found = self._found * min(self._found / before, 1) if before > 0 else self._found
            if next_found <= self._hope * asked:
                return next_found
            self.outpaced = self._is_outpaced(asked)
            if self.outpaced or self._found <= enough:
                break
            if n_passes == 1:
                enough = self._hope * LEFT * self._found
        return self._found

    def _is_outpaced(self, asked):
        """True if what else could be done seems to take less, after what the last pass has found."""
        if math.isinf(self._first_found):
            self._first_found = self._least_found = self._found
            return False
        if math.isinf(self._rival):
            return False
        # What passes find may grow before it falls, so the least counts.
        self._least_found = min(self._least_found, self._found)
        times = _times_to(asked, self._least_found, self._first_found)
        return times * self.n_visits > self._rival * len(self._run.patterns)

    def _asked(self, weights):
        """The gap to be proven, in units of the objective at functional margin 1."""
        dual = dual_value(weights, self._target)
        return self._run.problem.gap_of(self._run.eps) * dual if dual > 0 else 0.0


def dual_value(weights, target):
    """The dual objective at functional margin 1, of a weight vector whose margin is at `target` > 0."""
    return (weights.dual_sum - 0.5 * weights.sqnorm / target) / target


def _times_to(asked, now, before):
    """How often it takes what has made a gap fall from `before` to `now` until it is `asked`.

    0 where it is that small already, or nobody can tell.
    """
    if not 0 < asked < now:
        return 0.0
    return math.log(now / asked) / math.log(before / now) if now < before else math.inf
