"""Noise-tolerant perceptrons: one training loop with options, and averaging over its iterates.

The loop of Khardon & Wachman (2007), Figure 2, for weights w, a threshold theta and labels l = -1, +1:

    SUM = w.x_k + l_k lam K(x_k, x_k) [if k has been added before]
    if l_k (SUM - theta) <= tau theta_init, and k has been added less than alpha_bound times:
        w <- w + eta l_k x_k,   theta <- theta - eta l_k C

We run it in the common loop of all algorithms. The threshold is a constant feature of size sqrt(C) whose
weight starts at -theta_init / sqrt(C). Divided by eta, with a = sum_k alpha_k y_k starting at 0,

    misclassified iff  a.y_k + bonus_k <= (tau theta_init + l_k theta_init) / eta

(The paper's figures add eta l_k C to theta. This sign is wrong and contradicts the paper's results.)

Source: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm.
"""

import math
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Literal, get_args

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from margins.data.permutations import seeds_of
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.online import OnlineMixin, PatienceMixin
from margins.estimators.predictions import VOTING
from margins.estimators.votes import OfVotes, VotedModel, count_in_blocks
from margins.parameters import AnyOf, Interval, OneOf, optional, parameter
from margins.rules import (
    Additive,
    Average,
    LongestSurvivor,
    MistakeHistory,
    NoShrink,
    Pocket,
    Rules,
    UnevenThreshold,
)
from margins.rules._voting import tail_errors
from margins.solvers.base import Phase
from margins.solvers.one_pass import train_in_one_pass
from margins.training.schemes import positive_codes

AveragingName = Literal["last", "longest", "voted", "averaged", "pocket", "tail"]


class AveragingClassifier(OnlineMixin, PatienceMixin, BaseMarginClassifier):
    """Perceptron with a fixed number of epochs, and averaging or selection over its iterates."""

    WEIGHTS_MULTIPLY = "updates"
    LOSS_MARGIN = 0.0  # the loss of the perceptron

    C = math.inf
    max_iter = 100
    eta: float = parameter(
        Interval(1e-60, 1e60),
        "Learning rate: the step of an update. Decisions depend only on thresholds in units of eta.",
        default=0.1,
    )
    lam: float = parameter(
        Interval(0, 1e60),
        "The lambda-trick, which approximates a soft margin: once a sample has been added, its "
        "l (score) is increased by lam K(x, x).",
        default=0.0,
    )
    alpha_bound: float = parameter(
        AnyOf(OneOf(math.inf), Interval(1, 2**53, integer=True)),
        "Maximum number of updates of a sample.",
        default=math.inf,
    )
    intercept_scaling: float | None = parameter(  # type: ignore[assignment]  # None too
        optional(Interval(0, 1e60)),
        "Square root of C; an update moves the threshold by eta times C. None: C is the mean of "
        "K(x, x) over the training set, or 1 in a stream. 0: the threshold stays fixed.",
        default=None,
    )
    averaging: AveragingName = parameter(
        OneOf(*get_args(AveragingName)),
        "Averaging or selection over iterates. 'last': the last hypothesis. 'longest': the longest "
        "survivor. 'voted': the votes of all hypotheses, weighted by their numbers of correct "
        "predictions. 'averaged': their average. 'pocket': the pocket with ratchet, the longest "
        "survivor that also classifies more training samples correctly than its predecessor (in a "
        "stream: without ratchet). 'tail': the votes of the tail of hypotheses with the fewest errors "
        "on held-out samples (our definition). With votes, the certificate describes the last "
        "hypothesis.",
        default="last",
    )
    weighting: Literal["votes", "accesses"] = parameter(
        OneOf("votes", "accesses"),
        "Weights of averaging='averaged': the numbers of correct predictions, or of all predictions.",
        default="votes",
    )
    validation_fraction: float = parameter(
        Interval(0, 1, "neither"), "Share of the samples to hold out with averaging='tail'.", default=0.1
    )
    shuffle: Literal["epochs", "once", "never"] = parameter(
        OneOf("epochs", "once", "never"),
        "When to permute the samples: before every epoch, once, or never (the order of X). Streams "
        "are processed in order.",
        default="once",
    )

    STREAM_STATE = (
        "the weight vector, the number of updates, the squared norm of the weight vector and the sum of "
        "the dual variables; averages, the survivor or the mistakes with their votes; the units. Dual "
        "variables, for the lambda-trick and the alpha-bound, are kept only with ``warm_start=True``: "
        "in a stream every sample is new."
    )
    # True: a fit warns if it does not end with an epoch without updates.
    WARNS = False
    support_ = OfVotes(BaseMarginClassifier.support_)
    support_vectors_, mistakes_, votes_ = OfVotes(), OfVotes(), OfVotes()

    def thresholds(self, units: Mapping[str, float]) -> tuple[float, float]:
        """Return the score thresholds of negative and positive samples, in units of updates.

        `units` is the result of `units_of` for the training set or the stream.
        """
        raise NotImplementedError(f"{type(self).__name__} must define thresholds(units).")

    def units_of(self, sqnorms: NDArray[np.float64]) -> dict[str, float]:
        """Return the units of thresholds, as fitted attributes (dict).

        `sqnorms`, shape (m,), has K(x_k, x_k) of the training set; in a stream, only the unit 1.
        """
        if not self.fit_intercept:
            return {"sq_intercept_scaling_": 0.0}
        if self.intercept_scaling is None:
            return {"sq_intercept_scaling_": mean_of(sqnorms)}
        return {"sq_intercept_scaling_": float(self.intercept_scaling) ** 2}

    def first_theta(self, units: Mapping[str, float]) -> float:
        """Return the threshold before the first update, in units of updates (float)."""
        return 0.0

    def why_not_in_partitions(self):
        if self.averaging in (*VOTING, "pocket"):  # they read rows of mistakes, or all rows, at any time
            return "averaging", "'last', 'longest' or 'averaged'", self.averaging
        return super().why_not_in_partitions()

    def specification(self, sqnorms, continues=False):
        units = self.units_of(sqnorms)
        if continues:  # keep the units of the model
            units = {name: getattr(self, name) for name in units}
        theta, is_bounded = self.first_theta(units), self.alpha_bound < math.inf
        specification = super().specification(sqnorms, continues)
        return specification._replace(
            sq_intercept_scaling=units["sq_intercept_scaling_"],
            allows_zero_rows=True,  # no separating hyperplane is required
            offset_ratio=self.lam / self.eta if self.lam > 0 else 0.0,
            max_dual=float(self.alpha_bound),
            theta=theta,
            weights="relative updates" if theta != 0 or any(self.thresholds(units)) else "updates",
            units=units,
            warns=self.WARNS,
            keep_dual=not math.isinf(self.C) or self.lam > 0 or is_bounded,
            model_scale=self.eta,
            shuffle=self.shuffle,
            held_out=self._held_out(len(sqnorms)) if self.averaging == "tail" else 0.0,
            averaging=lambda weights: self._make_averaging(weights, theta),
            needs_same_samples=self.averaging == "pocket",  # the ratchet counts over these samples
        )

    def __setstate__(self, state):
        state = dict(state)
        if "sqrho_" in state:  # its name until 0.3
            state["sq_intercept_scaling_"] = state.pop("sqrho_")
        super().__setstate__(state)

    def _held_out(self, n_samples):
        """Return the share of the samples to hold out (float)."""
        n_held_out = math.ceil(self.validation_fraction * n_samples)
        if n_held_out == n_samples:
            raise ValueError(
                f"validation_fraction of {self._display_name()} must leave samples to train on. "
                f"Got {self.validation_fraction!r}, which holds out all {n_held_out} samples."
            )
        return self.validation_fraction

    def _make_averaging(self, weights, theta):
        """Return the averaging or selection of iterates (Averaging or None)."""
        if self.averaging == "longest":
            return LongestSurvivor(weights)
        if self.averaging == "averaged":
            return Average(weights, self.weighting)
        if self.averaging == "pocket":
            return Pocket(weights, theta)
        return MistakeHistory() if self.averaging in VOTING else None

    def online_rules(self, sqradius):
        """Return None: the rules depend on units of the training set. A subclass may return rules."""

    def chunk_rules(self, sqradius, specification, weight=1.0):
        rules = self.online_rules(sqradius)
        if rules is not None:
            return rules
        negative, positive = self.thresholds(specification.units)
        theta = specification.theta
        condition = UnevenThreshold(negative - theta, positive + theta)
        return Rules(condition, Additive(most=1), NoShrink())

    def phases(self, run):
        yield Phase(self.chunk_rules(run.sqradius, run.specification))

    def _train(self, training):
        """Train all binary problems in one sample order; one thread trains all in each pass."""
        n_problems = training.n_problems
        seeds = seeds_of(self.random_state, 1) * n_problems
        is_in_parts = training.training_set.is_in_parts
        if is_in_parts or n_problems == 1 or effective_n_jobs(self.n_jobs) > 1:
            return training.train_with_seeds(self.phases, seeds)
        runs = [training.make_run(index, seed) for index, seed in enumerate(seeds)]
        phases = [phase for run in runs for phase in self.phases(run)]
        end_of_time = math.inf if training.budget is None else training.budget.end
        return train_in_one_pass(runs, phases, end_of_time)

    # With votes, the model is the mistakes and votes of all hypotheses.

    def _model_attributes(self, fit):
        attributes = {"_model_averaging": (self.averaging, self.weighting), "_voted_model": None}
        if self.averaging not in VOTING:
            return {**attributes, **super()._model_attributes(fit)}
        voted = self._voted_model if fit.n_seen > 0 else None
        if voted is not None and fit.continuation is not None:
            voted = VotedModel(*voted.parts)  # an interrupted fit must leave the model unchanged
        voted = self._with_votes_of(fit, voted)
        if self.averaging == "tail":
            self._choose_tails(fit, voted)
        # Store the threshold: eta may change before votes are counted.
        return {**attributes, "_voted_model": voted, "_first_theta": fit.specification.theta}

    def _with_votes_of(self, fit, voted):
        """Return a model, new if it is None, with the mistakes and votes of a fit added (VotedModel)."""
        histories = [outcome.averaging for outcome in fit.outcomes]
        numbers = np.unique(np.concatenate([history.mistakes for history in histories]))
        vectors, support = fit.training_set.support(numbers)
        votes = (
            vectors,
            support + (0 if fit.continuation is None else fit.n_seen),
            fit.training_set.samples.codes[numbers],
            fit.outcomes[0].data.weights[numbers],
            [np.searchsorted(numbers, history.mistakes).astype(np.int32) for history in histories],
            [history.votes for history in histories],
        )
        if voted is None:
            return VotedModel(*votes)
        voted.extend(*votes)
        return voted

    @contextmanager
    def _model_restored_on_error(self, streams):
        model = getattr(self, "_voted_model", None)
        saved = None if model is None else model.saved
        with super()._model_restored_on_error(streams):
            try:
                yield
            except BaseException:
                if model is not None:
                    model.restore(saved)
                raise

    def _choose_tails(self, fit, model):
        """Keep only the votes of the tail of hypotheses with the fewest errors on held-out samples."""
        samples, kernel = fit.training_set.samples, fit.training_set.kernel
        # In a precomputed X, both rows and columns have been selected.
        support = np.searchsorted(samples.kept, model.support)
        lists = model.arguments(
            fit.training_set.scheme.positive,
            fit.specification.theta,
            fit.specification.sq_intercept_scaling,
        )
        for index, outcome in enumerate(fit.outcomes):
            held_out = outcome.orders.held_out
            truth = outcome.data.signs[held_out]
            errors = np.zeros(len(model.votes[index]), dtype=np.int64)
            for batch, products in kernel.blocks(samples.X[held_out], model.support_vectors, support):
                errors += tail_errors(products, *lists[index], np.ascontiguousarray(truth[batch]))
            model.keep_tail(index, int(np.argmin(errors)))  # argmin breaks ties by the longest tail

    def _scores(self, X):
        model = getattr(self, "_voted_model", None)
        if model is None:
            return super()._scores(X)
        codes = positive_codes(len(self.classes_))
        # Read the votes before the rows: another thread may be adding to both.
        lists = model.arguments(codes, self._first_theta, self.sq_intercept_scaling_)
        return count_in_blocks(self.kernel_, X, self.support_vectors_, self.support_, [lists])[0]

    def _check_stream(self):
        super()._check_stream()
        self._check_averaging("partial_fit", "in a stream", getattr(self, "_state", None))

    def _check_warm_start(self, state):
        super()._check_warm_start(state)
        self._check_averaging("fit", "with warm_start=True", state)

    def _check_averaging(self, method, where, state):
        """Raise a ValueError if the model cannot continue with this averaging."""
        averaging, name = (self.averaging, self.weighting), self._display_name(method)
        if self.averaging == "tail":
            raise ValueError(
                f"averaging of {name} must not be 'tail' {where}: the tail is chosen on samples "
                "held out of a training set. Got 'tail'."
            )
        if state is not None and averaging != self._model_averaging:
            raise ValueError(
                f"averaging and weighting of {name} must stay {self._model_averaging} until "
                f"the end of the stream. Got {averaging}."
            )


class NoiseTolerantClassifier(AveragingClassifier):
    """Perceptron with the options of Khardon & Wachman, and their defaults."""

    tau: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of theta_init: a sample is misclassified if l (score) <= tau theta_init.",
        default=0.0,
    )
    theta_init: float | None = parameter(
        optional(Interval(0, 1e60)),
        "Threshold before the first update, and the unit of tau. None: the mean of K(x, x) over the "
        "training set, or 1 in a stream.",
        default=None,
    )

    def check_parameters(self):
        super().check_parameters()
        if self.tau > 0 and self.theta_init == 0:
            raise ValueError(
                f"tau of {self._display_name()} is in units of theta_init, so it must be 0 if "
                f"theta_init is 0. Got tau={self.tau!r}. Set theta_init to None or a positive number."
            )

    def units_of(self, sqnorms):
        theta_init = mean_of(sqnorms) if self.theta_init is None else self.theta_init
        return {**super().units_of(sqnorms), "theta_init_": float(theta_init)}

    def first_theta(self, units):
        return units["theta_init_"] / self.eta if self.fit_intercept else 0.0

    def thresholds(self, units):
        return (self.tau * units["theta_init_"] / self.eta,) * 2


def mean_of(values):
    """Return the same mean as np.mean, whose overhead is as long as a short fit."""
    return float(np.add.reduce(values) / len(values))
