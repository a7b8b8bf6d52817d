"""The noise-tolerant perceptrons: one training loop with options, and averaging over its iterates.

The loop of Khardon & Wachman (2007), Figure 2, for weights w, a threshold theta and labels l = -1, +1:

    SUM = w.x_k + l_k lam K(x_k, x_k) [if k has been added before]
    if l_k (SUM - theta) <= tau theta_init, and k has been added less than alpha_bound times:
        w <- w + eta l_k x_k,   theta <- theta - eta l_k C

Here it is the loop of all other algorithms. The threshold is a constant feature of size sqrt(C) whose
weight starts at -theta_init / sqrt(C); divided by eta, with a = sum_k alpha_k y_k starting at 0,

    misclassified iff  a.y_k + bonus_k <= (tau theta_init + l_k theta_init) / eta

(Their figures add eta l_k C to theta, which has the wrong sign and contradicts their results.)

Source: Khardon & Wachman (2007), Noise Tolerant Variants of the Perceptron Algorithm.
"""

import math
from contextlib import contextmanager
from typing import Literal, get_args

import numpy as np
from joblib import effective_n_jobs

from margins.data.binary_data import of_each
from margins.estimators.base import BaseMarginClassifier
from margins.estimators.multiclass import one_vs_rest, positive_codes, seeds_of
from margins.estimators.online import OnlineMixin
from margins.estimators.votes import OfVotes, VotedModel, count_in_blocks
from margins.parameters import AnyOf, Interval, OneOf, optional, parameter
from margins.partitions.streamed import StreamedMatrix
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

AveragingName = Literal["last", "longest", "voted", "averaged", "pocket", "tail"]
AVERAGINGS = get_args(AveragingName)
VOTING = ("voted", "tail")


class AveragingClassifier(OnlineMixin, BaseMarginClassifier):
    """A perceptron with a fixed number of epochs, and averaging or selection over its iterates."""

    ABOUT_ETA = (
        "Learning rate: the step of an update. Decisions depend only on thresholds in units of it."
    )
    ABOUT_SCALING = (
        "Square root of C, by eta times which an update moves the threshold. None: C is the mean of "
        "K(x, x) over the training set, in a stream 1. 0: the threshold stays."
    )
    SCALINGS = optional(Interval(0, 1e60))
    ABOUT_SHUFFLE = (
        "When the samples are permuted: before every epoch, once, or never (the order of X). Streams "
        "are processed in order."
    )

    C: float = parameter(
        Interval(0, math.inf, "right"),
        "Penalty of the 2-norm soft margin, whose slack terms make any data separable; inf: the hard "
        "margin. The lambda-trick is an approximation of it.",
        default=math.inf,
    )
    eta: float = parameter(Interval(1e-60, 1e60), ABOUT_ETA, default=0.1)
    lam: float = parameter(
        Interval(0, 1e60),
        "The lambda-trick: once a sample has been added, lam K(x, x) is added to its own l (score).",
        default=0.0,
    )
    alpha_bound: float = parameter(
        AnyOf(OneOf(math.inf), Interval(1, 2**53, integer=True)),
        "Maximum number of updates of a sample.",
        default=math.inf,
    )
    intercept_scaling: float | None = parameter(  # type: ignore[assignment]  # None too
        SCALINGS, ABOUT_SCALING, default=None
    )
    averaging: AveragingName = parameter(
        OneOf(*AVERAGINGS),
        "Averaging or selection over iterates: the last hypothesis; the longest survivor; the votes of "
        "all, each weighted by its number of correct predictions; their average; the pocket with "
        "ratchet, the longest survivor that also classifies more training samples correctly than the "
        "one before (in a stream: without ratchet); or the votes of the tail of hypotheses with the "
        "fewest errors on samples held out (our definition). With votes the certificate is that of the "
        "last hypothesis.",
        default="last",
    )
    weighting: Literal["votes", "accesses"] = parameter(
        OneOf("votes", "accesses"),
        "Weights of averaging='averaged': numbers of correct predictions, or of all predictions.",
        default="votes",
    )
    validation_fraction: float = parameter(
        Interval(0, 1, "neither"),
        "The share of the samples held out, with averaging='tail'.",
        default=0.1,
    )
    shuffle: Literal["epochs", "once", "never"] = parameter(
        OneOf("epochs", "once", "never"), ABOUT_SHUFFLE, default="once"
    )
    max_iter: int = parameter(
        Interval(1, math.inf, "left", integer=True),
        "Epochs. A fit ends earlier if one makes no update; the result is that of all.",
        default=100,
    )

    _kept = (
        "the weight vector, the number of updates, the squared norm of the weight vector and the sum of "
        "the dual variables; averages, the survivor or the mistakes with their votes; the units. Dual "
        "variables, for the lambda-trick and the alpha-bound, only with ``warm_start=True``: in a "
        "stream every sample is new."
    )
    # No separating hyperplane, which zero rows would rule out, is required.
    _takes_zero_rows = True
    support_ = OfVotes("support")
    support_vectors_ = OfVotes("support_vectors")
    mistakes_ = OfVotes("mistakes")
    votes_ = OfVotes("votes")

    # True: a fit warns if it does not end with an epoch without updates.
    _warns = False

    def _thresholds(self):
        """The thresholds of scores of negative and of positive samples, in units of updates."""
        raise NotImplementedError(f"{type(self).__name__} must define _thresholds().")

    def _why_not_in_partitions(self):
        if self.averaging in (*VOTING, "pocket"):  # rows of mistakes, and of all samples, at any time
            return "averaging", "'last', 'longest' or 'averaged'", self.averaging
        return super()._why_not_in_partitions()

    @property
    def _theta(self):
        """The threshold before the first update, in units of updates."""
        return 0.0

    @property
    def _sqrho(self):
        return self.sqrho_

    @property
    def _keeps_dual(self):
        return self.lam > 0 or self.alpha_bound < math.inf

    def _prepare_scales(self, sqnorms):
        if self._resumed is not None:
            return  # the model has its units
        if not self.fit_intercept:
            self.sqrho_ = 0.0
        elif self.intercept_scaling is None:
            self.sqrho_ = self._default_sqrho(sqnorms)
        else:
            self.sqrho_ = float(self.intercept_scaling) ** 2

    def _default_sqrho(self, sqnorms):
        return mean_of(sqnorms)

    def online_rules(self, sqradius):
        negative, positive = self._thresholds()
        condition = UnevenThreshold(negative - self._theta, positive + self._theta)
        return Rules(condition, Additive(most=1), NoShrink())

    def online_averaging(self, weights):
        if self.averaging == "longest":
            return LongestSurvivor(weights)
        if self.averaging == "averaged":
            return Average(weights, self.weighting)
        if self.averaging == "pocket":
            return Pocket(weights, self._theta)
        return MistakeHistory() if self.averaging in VOTING else None

    def phases(self, run):
        yield Phase(self.online_rules(run.sqradius))

    def _options(self, rows):
        held_out = self.validation_fraction if self.averaging == "tail" else 0.0
        n_held_out = math.ceil(held_out * rows.n_rows)
        if n_held_out == rows.n_rows:
            raise ValueError(
                f"validation_fraction of {self._display_name()} must leave samples to train on. "
                f"Got {self.validation_fraction!r}, which holds out all {n_held_out}."
            )
        return (
            super()
            ._options(rows)
            ._replace(shuffle=self.shuffle, held_out=held_out, averaging=self.online_averaging)
        )

    def _limited(self, data):
        if self.lam > 0:
            offset = self.lam / self.eta * data.rows.sqnorms()
            data = data.with_limits(offset=offset)
        if self.alpha_bound < math.inf:
            upper = of_each(float(self.alpha_bound), len(data))
            data = data.with_limits(upper=upper)
        return data

    def _train_all(self, samples, fit):
        """Train all binary problems in one order; with one thread, all in each pass over the data."""
        make = self._run_maker(samples, fit)
        seeds = seeds_of(self.random_state, 1)
        seeds *= len(positive_codes(len(self.classes_)))

        def train(index, seed):
            run = make(index, seed)
            run.train(self.phases(run))
            return run

        is_streamed = isinstance(samples.X, StreamedMatrix)
        if is_streamed or len(seeds) == 1 or effective_n_jobs(self.n_jobs) > 1:
            return one_vs_rest(train, seeds, self.n_jobs)
        runs = [make(index, seed) for index, seed in enumerate(seeds)]
        train_in_one_pass(runs, [phase for run in runs for phase in self.phases(run)])
        return runs

    @property
    def _model_scale(self):
        return self.eta

    def _collect_model(self, runs, samples):
        if self.averaging not in VOTING:
            super()._collect_model(runs, samples)
            return
        self._first_theta = self._theta  # eta may have changed when votes are counted
        support = np.unique(np.concatenate([run.averaging.mistakes for run in runs]))
        more = (
            samples.X[:0, :0] if self._is_precomputed else samples.X[support],
            samples.kept[support] + (0 if self._resumed is None else self._resumed.n_seen),
            samples.codes[support],
            [np.searchsorted(support, run.averaging.mistakes).astype(np.int32) for run in runs],
            [run.averaging.votes for run in runs],
        )
        model = getattr(self, "_voted_model", None)
        if model is None:
            self._voted_model = VotedModel(*more)
        else:  # of earlier chunks or fits
            if self._resumed is not None:
                # A fit that is interrupted later leaves the model as it was.
                self._voted_model = model = VotedModel(*model.parts)
            model.extend(*more)
        if self.averaging == "tail":
            self._choose_tails(runs, samples)

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

    def _forget(self):
        super()._forget()
        if self._resumed is None:
            self._voted_model = None

    def _choose_tails(self, runs, samples):
        """Keep only the votes of the tail of hypotheses with the fewest errors on held-out samples."""
        model = self._voted_model
        # Of a precomputed X both rows and columns are selected.
        support = np.searchsorted(samples.kept, model.support)
        for index, run in enumerate(runs):
            held_out = run.orders.held_out
            truth = run.data.signs[held_out]
            errors = np.zeros(len(model.votes[index]), dtype=np.int64)
            lists = self._lists_of_mistakes()[index]
            for batch, products in self.kernel_.blocks(
                samples.X[held_out], model.support_vectors, support
            ):
                errors += tail_errors(products, *lists, np.ascontiguousarray(truth[batch]))
            model.keep_tail(index, int(np.argmin(errors)))  # of equals, the longest tail

    def _lists_of_mistakes(self):
        """The arguments of `count_votes` after the products, for each binary problem."""
        model, codes = self._voted_model, positive_codes(len(self.classes_))
        return [
            (mistakes, model.labels(code), votes, self._first_theta, self.sqrho_)
            for code, (mistakes, votes) in zip(codes, model.lists, strict=True)
        ]

    def _scores(self, X):
        if getattr(self, "_voted_model", None) is None:
            return super()._scores(X)
        lists = self._lists_of_mistakes()  # before the rows: another thread may add to both
        vectors, support = self.support_vectors_, self.support_
        return count_in_blocks(self.kernel_, X, vectors, support, [lists])[0]

    @property
    def _needs_same_samples(self):
        return self.averaging == "pocket"  # the ratchet counts over them

    def _collect(self, runs, samples):
        super()._collect(runs, samples)
        self._model_averaging = self.averaging, self.weighting

    def _check_stream(self):
        super()._check_stream()
        self._check_averaging("partial_fit", "in a stream", getattr(self, "_streams", None))

    def _check_warm_start(self, streams):
        super()._check_warm_start(streams)
        self._check_averaging("fit", "with warm_start=True", streams)

    def _check_averaging(self, method, where, streams):
        """Raise ValueError if the model cannot continue with this averaging."""
        given, name = (self.averaging, self.weighting), self._display_name(method)
        if self.averaging == "tail":
            raise ValueError(
                f"averaging of {name} must not be 'tail' {where}, which is chosen on samples "
                "held out of a training set. Got 'tail'."
            )
        if streams is not None and given != self._model_averaging:
            raise ValueError(
                f"averaging and weighting of {name} must stay {self._model_averaging} until "
                f"the end of the stream. Got {given}."
            )

    def _warn(self, runs):
        if self._warns:
            super()._warn(runs)


class NoiseTolerantClassifier(AveragingClassifier):
    """The options of Khardon & Wachman with their defaults."""

    ABOUT_THETA = (
        "The threshold before the first update, and the unit of tau. None: the mean of K(x, x) over the "
        "training set, in a stream 1."
    )
    THETAS = optional(Interval(0, 1e60))

    tau: float = parameter(
        Interval(0, 1e60),
        "Margin, in units of theta_init: a sample is misclassified if l (score) <= tau theta_init.",
        default=0.0,
    )
    theta_init: float | None = parameter(THETAS, ABOUT_THETA, default=None)

    def _check_parameters(self):
        super()._check_parameters()
        if self.tau > 0 and self.theta_init == 0:
            raise ValueError(
                f"tau of {self._display_name()} is in units of theta_init, so it must be 0 where "
                f"theta_init is 0. Got tau={self.tau!r}. Give theta_init=None or a positive number."
            )

    def _prepare_scales(self, sqnorms):
        super()._prepare_scales(sqnorms)
        if self._resumed is None:
            self.theta_init_ = float(mean_of(sqnorms) if self.theta_init is None else self.theta_init)

    @property
    def _theta(self):
        return self.theta_init_ / self.eta if self.fit_intercept else 0.0

    def _thresholds(self):
        return (self.tau * self.theta_init_ / self.eta,) * 2


def mean_of(values):
    """The mean of an array, as np.mean computes it but without its overhead, as long as a short fit."""
    return float(np.add.reduce(values) / len(values))
