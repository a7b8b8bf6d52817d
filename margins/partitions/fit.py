"""Fits of samples in partitions: the scan, the starts, and the steps of all binary problems together."""

import contextlib
import math
import uuid
from typing import Any, NamedTuple

import numpy as np

from margins.data.validation import class_weights_of, classes_without
from margins.linalg.memory import check_model_fits
from margins.losses import loss_of
from margins.losses._smoothed import max_curvature_ratio
from margins.losses.checks import checked
from margins.partitions.newton import NewtonRun
from margins.partitions.partition import PartitionedProblem, Setting
from margins.partitions.proximal import ProximalRun
from margins.partitions.requests import Confusion
from margins.partitions.samples import FoldsOfRows, Sizes, codes_among, merged_classes
from margins.partitions.start import stack, start_at_zero, start_of
from margins.partitions.vectors import finished
from margins.solvers.auto import plan_of_partitions
from margins.solvers.penalised import Penalty
from margins.solvers.specification import Specification
from margins.training.fit import nothing_to_separate
from margins.training.schemes import positive_codes
from margins.tuning import TUNING

# Bytes that partitions keep per sample for one problem: a smooth loss needs products at two points,
# other losses also dual variables and centres. And the number of Hessians that a run holds.
BYTES_OF_SMOOTH, BYTES_OF_OTHERS, HESSIANS = 16, 48, 3
ONE_EACH = np.array([1, -1])


def holds_hessians(n_weights):
    """Return whether a process may hold the Hessians of a run with so many weights."""
    return HESSIANS * 8 * n_weights**2 <= TUNING.partitions.state_bytes


class Summary(NamedTuple):
    """The sizes of a binary problem that its run needs."""

    n_samples: int
    n_features: int
    sq_intercept_scaling: float
    has_free_intercept: bool
    max_sqnorm: float  # the largest |x_k|^2 + rho^2
    loss: Any  # the loss with the largest penalty of any sample
    mean_loss: Any  # the loss with the mean penalty of all samples
    constant: float  # the objective of the best constant classifier

    @property
    def ordinary_sqnorms(self):
        """Stand-in for the squared norms of samples in memory: all that messages need."""
        return np.array([self.max_sqnorm])

    @property
    def signs(self):
        """The labels of the two classes, as if each had one sample."""
        return ONE_EACH


class FitSettings(NamedTuple):
    """The arguments of a fit, other than the samples."""

    name: Any  # object: its str is the name of the method, for errors
    specification: Specification  # each problem replaces its C
    class_weight: Any  # mapping, "balanced" or None
    seed: int
    end_of_time: float = math.inf  # time limit of the steps, in seconds of `time.perf_counter`
    folds: FoldsOfRows | None = None


class PartitionedFit:
    """Context of fits to samples in partitions, which are scanned once."""

    def __init__(self, executor, settings):
        self._executor, self._settings, self._key = executor, settings, uuid.uuid4().hex
        name, specification = str(settings.name), settings.specification
        try:
            sizes = Sizes(settings.seed, executor.n_partitions, settings.folds)
            self.scanned = scanned = merged(executor.scan(self._key, name, sizes), name)
            check_model_fits(name, len(positive_codes(len(scanned.classes))), scanned.n_features)
            classes, totals = scanned.classes, scanned.totals
            self._class_weights = class_weights_of(name, classes, settings.class_weight, totals)
            self._by_class = np.ones(len(classes))
            if self._class_weights is not None:
                self._by_class = self._class_weights
            self._absent = {None: classes_without(name, self._by_class * totals, classes)}
            if scanned.in_folds is not None:
                for fold in range(len(scanned.in_folds)):
                    fold_name = f"{name}, without the samples of fold {fold} of cv,"
                    totals = self._by_class * scanned.totals_of(fold)
                    self._absent[fold] = classes_without(fold_name, totals, classes)
            self._subsample = None
            self.penalise(specification.regulariser)
            if scanned.subsample is not None:
                self._subsample = stack(scanned.subsample, scanned.classes, self._class_weights)
                self.scanned = scanned._replace(subsample=None)  # the stacked subsample has copies
        except BaseException:
            executor.forget(self._key)
            raise
        if specification.report is not None:
            specification.report(
                f"pass 1: {scanned.n_samples} samples with {scanned.n_features} features in "
                f"{len(executor.indices)} chunks"
            )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._executor.forget(self._key)

    def penalise(self, regulariser):
        """Set the regulariser of the problems that follow; None: |w|^2 / 2."""
        scanned, specification = self.scanned, self._settings.specification
        specification = specification._replace(regulariser=regulariser)
        self.penalty, self._settings = None, self._settings._replace(specification=specification)
        if regulariser is None:
            return
        penalty = Penalty(regulariser, scanned.n_features, names=scanned.feature_names)
        if penalty.start.any() or not self._setting([]).is_stored:
            allowed = "have its minimum at w = 0" if penalty.start.any() else "be 'l2'"
            raise ValueError(
                f"penalty of {self._settings.name} must {allowed} with {scanned.n_features} features of "
                f"samples that are never all in memory at once. Got {regulariser!r}."
            )
        self.penalty = penalty

    def problems(self, Cs, folds=(None,)):
        """Return a list of PartitionedProblem: all classes, for each C and fold."""
        positive = positive_codes(len(self.scanned.classes))
        return [
            PartitionedProblem(code, float(C), fold) for C in Cs for fold in folds for code in positive
        ]

    def absent(self, fold=None):
        """Return the classes without samples of positive weight, in all data or without a fold."""
        return self._absent[fold]

    def check_penalties(self, Cs):
        """Raise ValueError if any C times the weight of a sample is not allowed."""
        scanned = self.scanned
        extreme_weights = np.append(self._by_class * scanned.lightest, self._by_class * scanned.heaviest)
        extreme_weights = extreme_weights[(extreme_weights > 0) & (extreme_weights < math.inf)]
        for C in (min(Cs), max(Cs)):
            self._settings.specification._replace(C=float(C)).penalties(extreme_weights)

    def train(self, problems, points=None):
        """Train problems as memory allows, or prove `points`, shape (n_problems, n), in one pass."""
        self.check_penalties([problem.C for problem in problems])
        setting, outcomes = self._setting(problems), []
        n_per_fit = len(self.problems([1.0]))
        size = max(1, self._max_together(setting) // n_per_fit) * n_per_fit
        for begin in range(0, len(problems), size):
            group = range(begin, min(begin + size, len(problems)))
            with self._storing_states(setting) as setting:
                runs = [self._run(number, problems[number], setting, points) for number in group]
                trained = run_together(self._executor, setting, list(filter(None, runs)))
            for number, run in zip(group, runs, strict=True):
                specification = self._settings.specification._replace(C=problems[number].C)
                nothing = nothing_to_separate(specification, self.scanned.n_features, 0)
                outcomes.append(nothing if run is None else trained[number])
        return outcomes

    def confusions(self, models):
        """Predict, with each model, the samples of the fold that it left out, in one pass."""
        with self._storing_states(self._setting([])) as setting:
            requests = tuple(Confusion(*model) for model in models)
            return finished(self._executor.collect(setting, requests))

    @contextlib.contextmanager
    def _storing_states(self, setting):
        """Context of passes whose states partitions keep until it ends: its value is the setting."""
        try:
            yield setting._replace(key=self._key)
        finally:
            self._executor.forget(self._key)
            self._key = uuid.uuid4().hex

    def _max_together(self, setting):
        """Return the largest number of problems that are trained together."""
        n_samples, n_weights = self.scanned.n_samples, setting.n_weights
        is_smooth = loss_of(setting.loss, 1.0).is_smooth
        n_bytes = n_samples * (BYTES_OF_SMOOTH if is_smooth else BYTES_OF_OTHERS)
        if setting.is_stored:
            n_bytes += HESSIANS * 8 * n_weights * n_weights
        return max(1, int(TUNING.partitions.state_bytes * self._executor.n_processes // n_bytes))

    def _run(self, number, problem, setting, points=None):
        """Return the NewtonRun of a binary problem; None if a class has no samples."""
        settings, scanned = self._settings, self.scanned
        specification = settings.specification._replace(C=problem.C)
        if problem.positive in self.absent(problem.fold) and specification.has_free_intercept:
            return None
        largest = problem.C * float((self._by_class * scanned.heaviest).max())
        mean = problem.C * float(self._by_class @ scanned.totals) / scanned.n_samples
        losses = loss_of(setting.loss, largest), loss_of(setting.loss, mean)
        if not isinstance(setting.loss, str):
            checked(losses[0], largest)
        weights = problem.C * self._by_class * scanned.totals_of(problem.fold)
        of_classes = np.array([weights[problem.positive], np.delete(weights, problem.positive).sum()])
        free, scaling = specification.has_free_intercept, specification.sq_intercept_scaling
        loss_of_classes = loss_of(setting.loss, of_classes)
        summary = Summary(
            n_samples=scanned.n_samples,
            n_features=scanned.n_features,
            sq_intercept_scaling=scaling,
            has_free_intercept=free,
            max_sqnorm=scanned.max_sqnorm + scaling,
            loss=losses[0],
            mean_loss=losses[1],
            constant=loss_of_classes.constant_objective(ONE_EACH, math.inf if free else scaling),
        )
        start = start_at_zero(setting.n_weights, losses[0])
        if points is not None:
            start, specification = start._replace(w=points[number]), specification._replace(max_iter=1)
        elif self._subsample is not None and setting.is_stored and self.penalty is None:
            required = losses[0].required_gap(specification.eps)
            start = start_of(self._subsample, problem, setting, required)
        end = settings.end_of_time
        if self.penalty is None:
            return NewtonRun(number, summary, specification, setting.is_stored, start, end)
        summary = summary._replace(constant=self.penalty.constant_objective(loss_of_classes, summary))
        if free and points is None:
            start.w[-1] = loss_of_classes.best_intercept(np.zeros(2), ONE_EACH) / math.sqrt(scaling)
        return ProximalRun(number, summary, specification, start, end, self.penalty)

    def _setting(self, problems):
        """Return the setting of all partitions."""
        settings, scanned, executor = self._settings, self.scanned, self._executor
        specification, by_class = settings.specification, self._by_class
        n_weights = scanned.n_features + (specification.sq_intercept_scaling > 0)
        is_stored, in_blocks = plan_of_partitions(n_weights, scanned.n_samples, scanned.n_stored)
        has_penalty = specification.regulariser is not None  # whose steps need stored Hessians
        is_stored |= has_penalty and holds_hessians(n_weights)
        # Samples that are much longer than most need wider smoothing; without such samples it is off.
        mean = float(by_class @ scanned.totals) / scanned.totals.sum()
        median, largest = mean * scanned.median_sqnorm, float((by_class * scanned.heaviest).max())
        is_uneven = largest * scanned.max_sqnorm > max_curvature_ratio * median > 0
        return Setting(
            key=self._key,
            name=str(settings.name),
            n_features=scanned.n_features,
            classes=scanned.classes,
            problems=tuple(problems),
            folds=settings.folds,
            class_weights=self._class_weights,
            loss=specification.loss,
            sq_intercept_scaling=specification.sq_intercept_scaling,
            has_free_intercept=specification.has_free_intercept,
            median=median if is_uneven else None,
            is_stored=is_stored,
            in_blocks=in_blocks,
            kept_bytes=TUNING.partitions.kept_bytes * executor.n_processes / len(executor.indices),
        )


def run_together(executor, setting, runs):
    """Return outcomes by problem numbers; requests of the runs that read samples share a pass."""
    pending, outcomes = {}, {}
    for run in runs:
        steps = run.steps()
        pending[run.problem] = (run, steps, next(steps))
    while pending:
        ready = [entry for entry in pending.values() if not any(part.reads for part in entry[2])]
        ready = ready or list(pending.values())
        requests = tuple(request for _, _, requests_of_run in ready for request in requests_of_run)
        answers = iter(finished(executor.collect(setting, requests)))
        for run, steps, requests_of_run in ready:
            answers_of_run = tuple(next(answers) for _ in requests_of_run)
            if any(request.reads for request in requests_of_run):
                run.count_pass()
            try:
                pending[run.problem] = (run, steps, steps.send(answers_of_run))
            except StopIteration as end:
                outcomes[run.problem] = end.value
                del pending[run.problem]
    return outcomes


def merged(counts, name):
    """Merge the Counts of all partitions; a class whose weights are all 0 has the lightest weight 0."""
    if not counts:
        raise ValueError(f"X of {name} must hold samples. Got only empty chunks.")
    first = counts[0]
    for index, count in enumerate(counts):
        if count.n_features != first.n_features:
            raise ValueError(
                f"All chunks of {name} must have {first.n_features} features, like the first chunk. "
                f"Got {count.n_features} in chunk {index}."
            )
        expected, names = (part.feature_names for part in (first, count))
        expected, names = (None if each is None else list(each) for each in (expected, names))
        if expected != names:
            raise ValueError(
                f"All chunks of {name} must have the columns of the first chunk, {expected}.  "
                f"Got {names} in chunk {index}."
            )
    classes = merged_classes([count.classes for count in counts], name)
    if len(classes) < 2:
        raise ValueError(
            f"y of {name} must hold at least 2 classes. Got 1 class: {classes.tolist()[0]!r}."
        )
    totals, lightest = np.zeros(len(classes)), np.full(len(classes), np.inf)
    heaviest, in_folds = np.zeros(len(classes)), None
    if first.in_folds is not None:
        in_folds = np.zeros((len(first.in_folds), len(classes)))
    for count in counts:
        codes = codes_among(classes, count.classes)
        if in_folds is not None:
            in_folds[:, codes] += count.in_folds
        totals[codes] += count.totals
        lightest[codes] = np.minimum(lightest[codes], count.lightest)
        heaviest[codes] = np.maximum(heaviest[codes], count.heaviest)
    subsamples = [count.subsample for count in counts]
    return first._replace(
        n_samples=sum(count.n_samples for count in counts),
        n_stored=sum(count.n_stored for count in counts),
        classes=classes,
        totals=totals,
        lightest=np.where(lightest < np.inf, lightest, 0.0),
        heaviest=heaviest,
        max_sqnorm=max(count.max_sqnorm for count in counts),
        median_sqnorm=float(np.median([count.median_sqnorm for count in counts])),
        subsample=None if any(subsample is None for subsample in subsamples) else subsamples,
        in_folds=in_folds,
    )
