"""Fits in lockstep: all parameter settings of a noise-tolerant perceptron, trained in one pass.

Models that differ in parameters, in the way they are read out, or in the class that they tell from the
rest, but share training set, seed and order of presentation, go through the data together
(`margins.model_selection._lockstep`). Whatever has to be settled before and after is asked of the
estimators themselves, so that every result is bit for bit that of a fit.
"""

import copy
import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import gen_batches

from margins._update import Patterns, Readout, WeightVector
from margins.data.binary_problem import augmented_sqnorms, binary_patterns, rows_of
from margins.data.permutations import Orders
from margins.data.validation import validate_points, validate_samples
from margins.estimators.multiclass import positive_codes, seeds_of
from margins.estimators.noise_tolerance import ReadoutClassifier
from margins.kernels import LINEAR
from margins.losses import HardMargin
from margins.model_selection._lockstep import Lockstep

# A matrix of weights should stay in a cache near the processor, but a walk over a row should not be
# for a few models only.
CACHE = 2**19
FEWEST_LANES = 64

# What models may take at a time, in bytes.
MEMORY = 2**28

# What an estimator may not have of its own. (It may have thresholds of its own.)
SHARED = (
    "fit",
    "phases",
    "online_rules",
    "online_readout",
    "decision_function",
    "_weigh",
    "_rows",
    "_run_maker",
    "_options",
    "_limited",
    "_train_all",
    "_collect_model",
    "_scale",
    "_scores",
)


class Trained(NamedTuple):
    """What a fit would have left.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_test,) for two classes, else (n_test, n_classes)
        ``decision_function(X_test)``.
    classes : ndarray, shape (n_classes,)
    n_iter : int
        Full epochs, the largest over the binary problems.
    n_updates : int
        Summed over the binary problems.
    """

    scores: np.ndarray
    classes: np.ndarray
    n_iter: int
    n_updates: int


def reason_against(estimator, settings):
    """Why fits of an estimator with these settings cannot be trained in lockstep.

    Parameters
    ----------
    estimator : classifier
        Of any library.
    settings : sequence of dict
        Parameters of `estimator` to be set, for each fit.

    Returns
    -------
    str or None
        None: `scores_in_lockstep` does it. A parameter that is not allowed is no reason: it is refused
        there as by a fit.
    """
    kind = type(estimator)
    if not isinstance(estimator, ReadoutClassifier):
        return f"{kind.__name__} is not a noise-tolerant perceptron"
    for name in SHARED:
        if getattr(kind, name) is not getattr(ReadoutClassifier, name):
            return f"{kind.__name__} has its own {name}"
    if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
        return "callbacks are set"
    params = estimator.get_params(deep=False)
    for setting in settings:
        reason = _reason_against(params | dict(setting))
        if reason is not None:
            return reason
    return None


def _reason_against(params):
    if not (isinstance(params["kernel"], str) and params["kernel"] == "linear"):
        return f"kernel={params['kernel']!r} is not linear"
    if not (isinstance(params["C"], float) and params["C"] == math.inf):
        return f"C={params['C']!r} is not inf"
    if params["verbose"]:
        return f"verbose={params['verbose']!r} asks for lines of every fit"
    if not isinstance(params["random_state"], Integral):
        return f"random_state={params['random_state']!r} is not an integer: no two fits share an order"
    if isinstance(params["readout"], str) and params["readout"] == "tail":
        return "readout='tail' trains on other patterns"
    return None


def scores_in_lockstep(estimator, settings, X_train, y_train, X_test, sample_weight=None):
    """Train an estimator with every setting, and score a test set.

    Bit for bit what ``clone(estimator).set_params(**setting)`` gives after
    ``fit(X_train, y_train, sample_weight)``, for one setting after the other. No certificates are
    computed, hence no ConvergenceWarning is given.

    Parameters
    ----------
    estimator : classifier
    settings : sequence of dict
        `reason_against` must have nothing against them.
    X_train : array-like or sparse matrix, shape (n_samples, n_features)
    y_train : array-like, shape (n_samples,)
    X_test : array-like or sparse matrix, shape (n_test, n_features)
    sample_weight : array-like of float, shape (n_samples,), optional

    Returns
    -------
    list of Trained
        One for each setting, in order.

    Raises
    ------
    ValueError
        If there is a reason against it; otherwise for what `fit` and `decision_function` refuse.
    """
    settings = list(settings)
    reason = reason_against(estimator, settings)
    if reason is not None:
        raise ValueError(f"{type(estimator).__name__} cannot be trained in lockstep: {reason}.")
    blank = clone(estimator)
    names = blank.get_params(deep=False).keys()  # asking takes longer than training
    data, fits = None, []
    for setting in settings:
        one = copy.copy(blank)
        if setting.keys() <= names:
            vars(one).update(setting)
        else:
            one.set_params(**setting)  # raises, or knows better
        one._check_parameters()
        if data is None:
            data = _Data(one, X_train, y_train, X_test, sample_weight)
        fits.append(_Fit(one, data))
    companies = defaultdict(list)
    for fit in fits:
        companies[fit.company].append(fit)
    for (random_state, shuffle, training_set), company in companies.items():
        seed = seeds_of(random_state, 1)[0]
        size = 8 * training_set.rows.n_features * len(company[0].wants)
        for batch in gen_batches(len(company), max(1, MEMORY // size)):
            _train(company[batch], seed, shuffle)
            for fit in company[batch]:
                fit.conclude(data.X_test)
    return [fit.trained for fit in fits]


class _Data:
    """What the fits share: training and test set, validated by the first of them."""

    def __init__(self, one, X, y, X_test, sample_weight):
        self.X, y, self.codes = validate_samples(one, X, y)
        self.classes = one.classes_
        self._sample_weight = sample_weight
        self._weighed = []
        self.weighed(one)  # refuses weights before the test set is looked at
        self.X_test = validate_points(one, X_test)

    def weighed(self, one):
        """The training set with the class weights of an estimator."""
        for class_weight, training_set in self._weighed:
            if class_weight is one.class_weight:
                return training_set
        training_set = _TrainingSet(one._weigh(self.X, self.codes, self._sample_weight))
        self._weighed.append((one.class_weight, training_set))
        return training_set


class _TrainingSet:
    """Samples, their rows, and the binary problems that are asked for."""

    def __init__(self, samples):
        self.samples = samples
        self.rows = rows_of(samples.X)
        self.sqnorms = self.rows.sqnorms()
        self._augmented = {}
        self._patterns = {}

    def augmented_sqnorms(self, sqrho):
        """|x_k|^2 + rho^2; refuses what cannot be trained on."""
        if sqrho not in self._augmented:
            self._augmented[sqrho] = augmented_sqnorms(
                self.sqnorms, sqrho, hard_margin=True, zero_rows=ReadoutClassifier._takes_zero_rows
            )
        return self._augmented[sqrho]

    def patterns(self, code, sqrho):
        """The binary problem of one class."""
        if (code, sqrho) not in self._patterns:
            self._patterns[code, sqrho] = binary_patterns(
                self.rows,
                self.augmented_sqnorms(sqrho),
                self.samples.codes == code,
                sqrho,
                HardMargin.diag,
                math.inf,
            )
        return self._patterns[code, sqrho]


class _Parameters(NamedTuple):
    """All that a binary problem is trained with, but for the bound: equal ones are trained once."""

    code: int
    sqrho: float
    theta: float
    negative: float
    positive: float
    gain: float
    max_iter: int


@dataclass
class _Model:
    """A model to be trained, as `Lockstep` wants it, and what has become of it."""

    parameters: _Parameters
    bound: float
    patterns: Patterns
    readouts: dict[tuple, Readout]
    leads: bool
    follower: int = -1
    weights: WeightVector | None = None
    n_updates: int = 0
    n_epochs: int = 0


@dataclass
class _Outcome:
    """What a readout takes from a trained model, with the names of `margins.solvers.driver.Run`."""

    model: _Model
    readout: Readout | None
    keep_dual = False

    @property
    def patterns(self):
        return self.model.patterns

    @property
    def theta(self):
        return self.model.parameters.theta

    @property
    def hypothesis(self):
        if self.readout is None:
            return self.model.weights
        return self.readout.hypothesis(self.model.weights, self.model.patterns)


class _Fit:
    """One setting: an estimator with everything settled that a fit settles before it trains.

    Attributes
    ----------
    company : tuple
        random_state, shuffle and training set: who shares them trains together.
    wants : list of _Parameters
        For each binary problem.
    bound : float
        Of its updates of a pattern; inf: none that could be felt.
    """

    def __init__(self, one, data):
        self.one = one
        one.classes_ = data.classes
        one.kernel_ = LINEAR
        self.training_set = data.weighed(one)
        self.company = int(one.random_state), str(one.shuffle), self.training_set
        one._settle(self.training_set.sqnorms)
        sqrho = one._sqrho
        sqnorms = self.training_set.augmented_sqnorms(sqrho)
        condition = one.online_rules(float(np.max(sqnorms))).condition
        gain = float(one.lam / one.eta) if one.lam > 0 else 0.0
        self.wants = [
            _Parameters(
                code, sqrho, one._theta, condition.negative, condition.positive, gain, int(one.max_iter)
            )
            for code in positive_codes(len(data.classes))
        ]
        # An epoch adds a pattern at most once.
        self.bound = float(one.alpha_bound) if one.alpha_bound < one.max_iter else math.inf
        self.readout_name = str(one.readout), str(one.weighting)
        self.models = []

    def conclude(self, X_test):
        """Keep of the models only what is asked for, in `trained`."""
        one = self.one
        runs = [_Outcome(model, model.readouts.get(self.readout_name)) for model in self.models]
        one._collect_model(runs, self.training_set.samples)
        scores = one._scores(X_test)
        self.trained = Trained(
            scores.ravel() if scores.shape[1] == 1 else scores,
            one.classes_,
            max(model.n_epochs for model in self.models),
            sum(model.n_updates for model in self.models),
        )
        del self.one, self.models


def _train(company, seed, shuffle):
    """Train what fits of one company want, and tell them their models."""
    families = defaultdict(lambda: defaultdict(list))  # parameters -> bound -> fits
    for fit in company:
        for parameters in fit.wants:
            families[parameters][fit.bound].append(fit)
    training_set = company[0].training_set
    rows = training_set.rows
    n_lanes = max(CACHE // (8 * rows.n_features), FEWEST_LANES)
    n_lanes = min(n_lanes, MEMORY // (8 * rows.n_features + 4 * rows.n_rows))
    models, found = [], {}
    for parameters, by_bound in families.items():
        if models and len(models) + len(by_bound) > n_lanes:
            _train_together(models, training_set, seed, shuffle)
            models = []
        readouts = {}
        for fit in chain.from_iterable(by_bound.values()):
            if fit.readout_name not in readouts:
                readout = fit.one.online_readout(WeightVector(rows.n_features))
                if readout is not None:
                    readouts[fit.readout_name] = readout
        patterns = training_set.patterns(parameters.code, parameters.sqrho)
        for bound in sorted(by_bound):
            leads = bound == min(by_bound)
            if not leads:
                models[-1].follower = len(models)
            models.append(_Model(parameters, bound, patterns, readouts, leads))
            found[parameters, bound] = models[-1]
    _train_together(models, training_set, seed, shuffle)
    for fit in company:
        fit.models = [found[parameters, fit.bound] for parameters in fit.wants]


def _train_together(models, training_set, seed, shuffle):
    """Train models on the presentations that a run of each alone would make."""
    lockstep = Lockstep(
        training_set.rows, training_set.samples.codes.astype(np.float64), training_set.sqnorms, models
    )
    orders = Orders(training_set.rows.n_rows, training_set.rows, seed, proven=False, shuffle=shuffle)
    n_epochs = 0
    while lockstep.n_lanes:
        lockstep.full_epoch(orders.next())
        n_epochs += 1
        for index in lockstep.ended(n_epochs):
            # Epochs left after a clean one count as presented: see Run.end_epoch.
            left = min(models[index].parameters.max_iter - n_epochs, 2**53 // training_set.rows.n_rows)
            weights, readouts, n_updates, retired = lockstep.retire(index, left)
            for model in (models[index] for index in retired):
                model.weights, model.n_updates, model.n_epochs = weights, n_updates, n_epochs
                model.readouts = readouts
