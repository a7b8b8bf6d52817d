"""Batched training: all parameter settings of a noise-tolerant perceptron in one pass over the data.

Models that differ in parameters, averaging or positive class, but share training set, seed and order of
the samples, are trained together (`margins.model_selection._lockstep`). The estimators' methods do
everything before and after the training, so that every result equals the result of a fit, bit for bit.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from margins._update import Averaging, BinaryData, WeightVector
from margins.data.permutations import Orders, seeds_of
from margins.data.validation import validate_points, validate_samples, weighted_samples
from margins.estimators.callbacks import has_callbacks
from margins.estimators.messages import Unproven
from margins.estimators.names import MessageName, display_name
from margins.estimators.noise_tolerance import AveragingClassifier
from margins.estimators.predictions import VOTING
from margins.estimators.votes import count_in_blocks
from margins.kernels import LINEAR
from margins.model_selection._lockstep import Lockstep
from margins.solvers.outcome import Outcome, hypothesis_of
from margins.training.fit import model_of

# The weight matrix should stay in the second-level cache (bytes), but each traversal of a row should
# serve at least MIN_COLUMNS models.
CACHE_BYTES = 2**19
MIN_COLUMNS = 64
# Memory for the models that are trained together, in bytes.
MEMORY_BYTES = 2**28

# Methods that an estimator may not override. (It may override `thresholds`.)
SHARED = ["fit", "training_set", "specification", "phases"]
SHARED += ["online_rules", "chunk_rules", "decision_function"]


class Trained(NamedTuple):
    """The results of one fit."""

    # float64, shape (n_test,) for two classes, else (n_test, n_classes): ``decision_function(X_test)``
    scores: np.ndarray
    classes: np.ndarray  # shape (n_classes,)
    n_iter: int  # full epochs, the maximum over the binary problems
    n_updates: int  # sum over the binary problems
    unproven: Unproven | None = None  # the worst of the binary problems that did not converge


def reason_against(estimator, settings):
    """Return the reason why these settings cannot be trained in lockstep: str or None."""
    kind = type(estimator)
    if not isinstance(estimator, AveragingClassifier):
        return f"{display_name(estimator)} is not a noise-tolerant perceptron"
    for name in SHARED:
        if getattr(kind, name) is not getattr(AveragingClassifier, name):
            return f"{display_name(estimator)} overrides {name}"
    if has_callbacks(estimator):
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
    reason = reason_for_single_fits(params)
    if reason is not None:
        return reason
    if not isinstance(params["random_state"], Integral):
        return f"random_state={params['random_state']!r} is not an integer: no two fits share an order"
    if isinstance(params["averaging"], str) and params["averaging"] == "tail":
        return "averaging='tail' trains on a different set of samples"
    return None


def reason_for_single_fits(params):
    """Return the reason why parameters apply to a single fit, so that fits are not joined, or None."""
    if params["max_time"] is not None:
        return f"max_time={params['max_time']!r} limits each fit"
    if params.get("tol") is not None:
        return f"tol={params['tol']!r} ends each fit separately"
    if params["verbose"]:
        return f"verbose={params['verbose']!r} prints lines for every fit"
    return None


def scores_in_lockstep(estimator, settings, X_train, y_train, X_test, sample_weight=None):
    """Score a test set with every setting; the scores equal, bit for bit, those of separate fits."""
    settings = list(settings)
    reason = reason_against(estimator, settings)
    if reason is not None:
        raise ValueError(f"{display_name(estimator)} cannot be trained in lockstep: {reason}.")
    params = estimator.get_params(deep=False)  # only once, because it takes longer than training
    blank = type(estimator)(**params)  # a clone would copy every parameter
    names = params.keys()
    data, candidates = None, []
    for setting in settings:
        configured = object.__new__(type(blank))
        vars(configured).update(vars(blank))
        if setting.keys() <= names:
            vars(configured).update(setting)
        else:
            configured.set_params(**setting)  # nested parameters, or an error
        configured.check_parameters()
        if data is None:
            data = StudyData(configured, X_train, y_train, X_test, sample_weight)
        candidates.append(_Candidate(configured, data))
    batches = defaultdict(list)
    for candidate in candidates:
        batches[candidate.batch_key].append(candidate)
    for (random_state, shuffle, training_set), batch in batches.items():
        seed = seeds_of(random_state, 1)[0]
        size = 8 * training_set.rows.n_features * len(batch[0].jobs)
        for part in gen_batches(len(batch), max(1, MEMORY_BYTES // size)):
            _train_batch(batch[part], seed, shuffle)
            _score_batch(batch[part], data.X_test)
    return [candidate.trained for candidate in candidates]


class StudyData:
    """Training and test set of all fits, validated by the first fit."""

    def __init__(self, estimator, X, y, X_test, sample_weight):
        self._valid = validate_samples(estimator, X, y, MessageName(estimator, "fit"))
        self._sample_weight = sample_weight
        self._training_sets = []
        samples = self.training_set(estimator).samples  # checks the weights before the test set
        self.X_test = validate_points(estimator, X_test, samples)

    def training_set(self, estimator):
        """Return the TrainingSet with the class weights of an estimator."""
        for class_weight, training_set in self._training_sets:
            if class_weight is estimator.class_weight:
                return training_set
        name, class_weight = MessageName(estimator, "fit"), estimator.class_weight
        samples = weighted_samples(name, self._valid, self._sample_weight, class_weight)
        training_set = estimator.training_set_of(samples)
        self._training_sets.append((class_weight, training_set))
        return training_set


class _Parameters(NamedTuple):
    """Parameters of a binary problem, without the bound; equal problems share a model."""

    code: int
    sq_intercept_scaling: float
    theta: float
    negative: float
    positive: float
    gain: float
    max_iter: int


@dataclass
class _Model:
    """A model to train, with the attributes that `Lockstep` reads, and the results."""

    parameters: _Parameters
    bound: float
    data: BinaryData
    averagings: dict[tuple, Averaging]
    has_parent: bool
    child: int = -1
    weights: WeightVector | None = None
    n_updates: int = 0
    n_epochs: int = 0

    def outcome(self, specification, averaging):
        """Return the outcome of the model with one of its averagings (Outcome)."""
        hypothesis, data = hypothesis_of(self.weights, averaging, self.data), self.data
        return Outcome(
            specification,
            data,
            hypothesis,
            self.weights,
            certificate=None,
            ending=None,
            history=[],
            phases=[],
            scale=specification.model_scale,
            theta=self.parameters.theta,
            averaging=averaging,
        )


class _Candidate:
    """One setting, and the data of its fit; those with equal `batch_key` are trained together."""

    def __init__(self, estimator, data):
        self.training_set = training_set = data.training_set(estimator)
        self.specification = specification = estimator.specification(training_set.sqnorms)
        self.batch_key = int(estimator.random_state), str(estimator.shuffle), training_set
        sqradius = float(np.max(training_set.augmented_sqnorms(specification)))
        condition = estimator.chunk_rules(sqradius, specification).condition
        parameters = _Parameters(
            code=-1,  # of each binary problem
            sq_intercept_scaling=specification.sq_intercept_scaling,
            theta=specification.theta,
            negative=condition.negative,
            positive=condition.positive,
            gain=float(specification.offset_ratio),
            max_iter=int(specification.max_iter),
        )
        self.jobs = [parameters._replace(code=code) for code in training_set.scheme.positive]
        # The maximum number of updates by one sample, which an epoch adds at most once.
        bound, max_iter = specification.max_dual, specification.max_iter
        self.bound = float(bound) if bound < max_iter else math.inf
        self.averaging_name = str(estimator.averaging), str(estimator.weighting)
        self.models = []

    @property
    def is_voting(self):
        """True if the model is a list of votes."""
        return self.averaging_name[0] in VOTING

    @property
    def outcomes(self):
        """The outcomes of the trained models with the averaging of this setting: list of Outcome."""
        specification, name = self.specification, self.averaging_name
        return [model.outcome(specification, model.averagings.get(name)) for model in self.models]

    def scores(self, X_test):
        """Return the test set's scores, as the estimator computes them: shape (n_test, n_problems)."""
        if self.is_voting:
            return votes_of_all([self.outcomes], self.training_set.samples, X_test)[0]
        return model_of(self.outcomes, self.specification, self.training_set).scores(X_test)

    def collect(self, scores):
        """Store the results in `trained`, and release the models."""
        n_epochs = max(model.n_epochs for model in self.models)
        n_updates = sum(model.n_updates for model in self.models)
        scores = scores.ravel() if scores.shape[1] == 1 else scores
        self.trained = Trained(scores, self.training_set.classes, n_epochs, n_updates)
        del self.models, self.specification


def _train_batch(batch, seed, shuffle):
    """Train the jobs of candidates with equal `batch_key`, and set their models."""
    groups = defaultdict(lambda: defaultdict(list))  # parameters -> bound -> candidates
    for candidate in batch:
        for parameters in candidate.jobs:
            groups[parameters][candidate.bound].append(candidate)
    training_set = batch[0].training_set
    rows = training_set.rows
    n_columns = max(CACHE_BYTES // (8 * rows.n_features), MIN_COLUMNS)
    n_columns = min(n_columns, MEMORY_BYTES // (8 * rows.n_features + 4 * rows.n_rows))
    models, model_of_job, data_of = [], {}, {}
    for parameters, by_bound in groups.items():
        if models and len(models) + len(by_bound) > n_columns:
            _train_models(models, training_set, seed, shuffle)
            models = []
        candidates, averagings = list(chain.from_iterable(by_bound.values())), {}
        for candidate in candidates:
            if candidate.averaging_name not in averagings:
                averaging = candidate.specification.averaging(WeightVector(rows.n_features))
                if averaging is not None:
                    averagings[candidate.averaging_name] = averaging
        key = parameters.code, parameters.sq_intercept_scaling
        if key not in data_of:
            # Without bounds and offsets, because Lockstep applies them.
            plain = candidates[0].specification._replace(offset_ratio=0.0, max_dual=math.inf)
            data_of[key] = training_set.problem(parameters.code, plain).data
        for bound in sorted(by_bound):
            has_parent = bound > min(by_bound)
            if has_parent:
                models[-1].child = len(models)
            models.append(_Model(parameters, bound, data_of[key], averagings, has_parent))
            model_of_job[parameters, bound] = models[-1]
    _train_models(models, training_set, seed, shuffle)
    for candidate in batch:
        candidate.models = [model_of_job[job, candidate.bound] for job in candidate.jobs]


def _score_batch(batch, X_test):
    """Score a test set with the models of candidates with equal `batch_key`, and release the models."""
    samples = batch[0].training_set.samples
    # Sums over sparse rows do not depend on the size of blocks; sums by BLAS do.
    are_sparse = sparse.issparse(X_test) or sparse.issparse(samples.X)
    voting, singles = [], []
    for candidate in batch:
        (voting if are_sparse and candidate.is_voting else singles).append(candidate)
    votes = votes_of_all([candidate.outcomes for candidate in voting], samples, X_test)
    for candidate, scores in zip(voting, votes, strict=True):
        candidate.collect(scores)
    for candidate in singles:
        candidate.collect(candidate.scores(X_test))


def _train_models(models, training_set, seed, shuffle):
    """Train models on the samples that each would process in a fit, in the same order."""
    codes = training_set.samples.codes.astype(np.float64)
    lockstep = Lockstep(training_set.rows, codes, training_set.sqnorms, models)
    orders = Orders(training_set.rows.n_rows, seed, proven=False, shuffle=shuffle)
    n_epochs = 0
    while lockstep.n_columns:
        n_epochs = lockstep.full_epochs(orders.next(), n_epochs, shuffle == "epochs")
        for index in lockstep.ended(n_epochs):
            # The epochs that remain after an epoch without updates count as processed: see
            # Run.end_epoch.
            n_left = min(models[index].parameters.max_iter - n_epochs, 2**53 // training_set.rows.n_rows)
            weights, averagings, n_updates, finished = lockstep.finish(index, n_left)
            for model in (models[index] for index in finished):
                model.weights, model.n_updates, model.n_epochs = weights, n_updates, n_epochs
                model.averagings = averagings


def votes_of_all(fits, samples, X_test):
    """Return the votes of fits to the same samples: list of ndarray, shape (n_test, n_problems)."""
    outcomes = list(chain.from_iterable(fits))
    if not outcomes:
        return []
    position_in_support = np.full(len(samples.codes), -1, dtype=np.int32)
    for outcome in outcomes:
        position_in_support[outcome.averaging.mistakes] = 0
    support = np.flatnonzero(position_in_support == 0)
    position_in_support[support] = np.arange(len(support))
    weight = outcomes[0].data.weights[support]
    labels = {id(data): data.signs[support] * weight for data in (end.data for end in outcomes)}
    lists = [[_list_of(end, position_in_support, labels) for end in problems] for problems in fits]
    return count_in_blocks(LINEAR, X_test, samples.X[support], support, lists)


def _list_of(outcome, position_in_support, labels):
    """Return the arguments of `count_votes` after the products."""
    data, averaging = outcome.data, outcome.averaging
    mistakes = position_in_support[averaging.mistakes]
    return mistakes, labels[id(data)], averaging.votes, outcome.theta, data.sq_intercept_scaling
