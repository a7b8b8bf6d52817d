"""Fits of samples in partitions: the scan, starts, and the steps of all binary problems together."""

import contextlib
import math
import uuid
from typing import Any, NamedTuple

import numpy as np

from margins.data.samples import class_weights_of, classes_without
from margins.linalg.memory import check_model_fits
from margins.losses import loss_of
from margins.losses._smoothed import max_curvature_ratio
from margins.partitions.newton import NewtonRun
from margins.partitions.partition import PartitionedProblem, Setting
from margins.partitions.requests import Confusion
from margins.partitions.samples import FoldsOfRows, Sizes, codes_of, merged_classes
from margins.partitions.start import start_at_zero, start_of, together
from margins.partitions.vectors import finished
from margins.solvers.auto import plan_of_partitions
from margins.training.fit import AbsentRun
from margins.training.schemes import positive_codes
from margins.training.specification import Specification
from margins.tuning import TUNING

# What partitions keep of a sample for one problem, in bytes: products, and of losses that are not smooth
# dual variables and centres, each at two points. And Hessians that a run holds.
BYTES_OF_SMOOTH, BYTES_OF_OTHERS, HESSIANS = 16, 48, 3


class Scanned(NamedTuple):
    """What the first pass has found in all partitions."""

    classes: np.ndarray
    n_samples: int
    n_features: int
    n_stored: int
    # totals, lightest, heaviest: float64, shape (n_classes,): of the sample weights of each class: the
    # sum, the smallest that is not 0, the largest; 0 of a class whose weights are all 0
    totals: np.ndarray
    lightest: np.ndarray
    heaviest: np.ndarray
    # max_sqnorm, median_sqnorm: the largest |x_k|^2; about the median of |x_k|^2 times the sample weight
    max_sqnorm: float
    median_sqnorm: float
    feature_names: np.ndarray | None  # str or None
    subsamples: list | None
    in_folds: np.ndarray | None = None  # int, shape (n_folds, n_classes): samples of positive weight


class Summary(NamedTuple):
    """Sizes of a binary problem that its run reads."""

    n_samples: int
    n_features: int
    # sqrho, max_sqnorm: the second: the largest |x_k|^2 + rho^2
    sqrho: float
    has_free_intercept: bool
    max_sqnorm: float
    # loss, mean_loss: with the largest penalty, and with the mean one, of all
    # samples
    loss: Any
    mean_loss: Any

    @property
    def ordinary_sqnorms(self):
        """As those of samples in memory, as far as messages need them."""
        return np.array([self.max_sqnorm])


class FitSettings(NamedTuple):
    """The arguments of a fit, other than the samples."""

    name: Any  # object: its str is the name of the method, for errors
    specification: Specification  # its C is that of a problem
    class_weight: Any  # mapping, "balanced" or None
    seed: int
    end_of_time: float = math.inf  # when the steps end, in seconds of `time.perf_counter`
    folds: FoldsOfRows | None = None


class PartitionedFit:
    """Fits of samples in partitions, which are scanned once, in a context.

    Parameters
    ----------
    executor : ChunkExecutor or DaskExecutor
    settings : FitSettings

    Attributes
    ----------
    scanned : Scanned
    """

    def __init__(self, executor, settings):
        self._executor, self._settings, self._key = executor, settings, uuid.uuid4().hex
        name, specification = str(settings.name), settings.specification
        try:
            sizes = Sizes(settings.seed, executor.n_partitions, settings.folds)
            self.scanned = scanned = merged(executor.scan(self._key, name, sizes), name)
            check_model_fits(name, len(positive_codes(len(scanned.classes))), scanned.n_features)
            self._class_weights = class_weights_of(
                name, scanned.classes, settings.class_weight, scanned.totals
            )
            self._by_class = np.ones(len(scanned.classes))
            if self._class_weights is not None:
                self._by_class = self._class_weights
            self._absent = {
                None: classes_without(name, self._by_class * scanned.totals, scanned.classes)
            }
            if scanned.in_folds is not None:
                left = self._by_class * (scanned.in_folds.sum(axis=0) - scanned.in_folds)
                for fold, of_fold in enumerate(left):
                    where = f"{name}, without the samples of fold {fold} of cv,"
                    self._absent[fold] = classes_without(where, of_fold, scanned.classes)
            self._subsample = None
            if scanned.subsamples is not None:
                self._subsample = together(scanned.subsamples, scanned.classes, self._class_weights)
                self.scanned = scanned._replace(subsamples=None)  # it has copies
        except BaseException:
            executor.forget(self._key)
            raise
        if specification.report is not None:
            specification.report(
                f"pass 1: {scanned.n_samples} samples of {scanned.n_features} features in "
                f"{len(executor.indices)} chunks"
            )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._executor.forget(self._key)

    def problems(self, Cs, folds=(None,)):
        """The binary problems of all classes, for each C and fold: list of PartitionedProblem."""
        positive = positive_codes(len(self.scanned.classes))
        return [
            PartitionedProblem(code, float(C), fold) for C in Cs for fold in folds for code in positive
        ]

    def absent(self, fold=None):
        """The classes without samples of positive weight, of all or of the training set of a fold."""
        return self._absent[fold]

    def check_penalties(self, Cs):
        """Raise ValueError if a C, times the weight of a sample, is not allowed."""
        scanned = self.scanned
        ends = np.concatenate([self._by_class * scanned.lightest, self._by_class * scanned.heaviest])
        ends = ends[(ends > 0) & (ends < math.inf)]
        for C in (min(Cs), max(Cs)):
            self._settings.specification._replace(C=float(C)).penalties(ends)

    def train(self, problems):
        """Train binary problems, as many at a time as what partitions keep of them is within a limit.

        Returns
        -------
        list of NewtonRun
            In their order.
        """
        self.check_penalties([problem.C for problem in problems])
        setting, runs = self._setting(problems), []
        of_all_classes = len(self.problems([1.0]))
        size = max(1, self._most_together(setting) // of_all_classes) * of_all_classes
        for begin in range(0, len(problems), size):
            group = range(begin, min(begin + size, len(problems)))
            with self._kept(setting) as setting:
                together = [self._run(number, problems[number], setting) for number in group]
                run_together(
                    self._executor, setting, [run for run in together if run.problem is not None]
                )
            runs += together
        return runs

    def confusions(self, models):
        """What models predict of the samples that they have left out, in one pass.

        Parameters
        ----------
        models : list of (int, ndarray, ndarray)
            For each the fold, and the weights and intercepts of all its binary problems.

        Returns
        -------
        list of ndarray of float64, shape (n_classes, n_classes)
            Numbers of samples, by class and predicted class.
        """
        with self._kept(self._setting([])) as setting:
            requests = tuple(Confusion(*model) for model in models)
            return finished(self._executor.collect(setting, requests))

    @contextlib.contextmanager
    def _kept(self, setting):
        """The setting of passes whose states partitions keep until they have ended."""
        try:
            yield setting._replace(key=self._key)
        finally:
            self._executor.forget(self._key)
            self._key = uuid.uuid4().hex

    def _most_together(self, setting):
        """How many problems are trained together at most: int."""
        n_samples, n_weights = self.scanned.n_samples, setting.n_weights
        is_smooth = loss_of(setting.loss, 1.0).is_smooth
        n_bytes = n_samples * (BYTES_OF_SMOOTH if is_smooth else BYTES_OF_OTHERS)
        if setting.is_stored:
            n_bytes += HESSIANS * 8 * n_weights * n_weights
        return max(1, int(TUNING.partitions.state_bytes * self._executor.n_processes // n_bytes))

    def _run(self, number, problem, setting):
        """The run of one binary problem: NewtonRun, or AbsentRun."""
        settings, scanned = self._settings, self.scanned
        specification = settings.specification._replace(C=problem.C)
        if problem.positive in self.absent(problem.fold) and specification.has_free_intercept:
            return AbsentRun(specification, scanned.n_features, 0)
        largest = problem.C * float((self._by_class * scanned.heaviest).max())
        mean = problem.C * float(self._by_class @ scanned.totals) / scanned.n_samples
        losses = loss_of(setting.loss, largest), loss_of(setting.loss, mean)
        summary = Summary(
            scanned.n_samples,
            scanned.n_features,
            specification.sqrho,
            specification.has_free_intercept,
            scanned.max_sqnorm + specification.sqrho,
            *losses,
        )
        start = start_at_zero(setting.n_weights, losses[0])
        if self._subsample is not None and setting.is_stored:
            required = losses[0].required_gap(specification.eps)
            start = start_of(self._subsample, problem, setting, required)
        end = settings.end_of_time
        return NewtonRun(number, summary, specification, setting.is_stored, start, end)

    def _setting(self, problems):
        """The setting of all partitions."""
        settings, scanned, executor = self._settings, self.scanned, self._executor
        specification, by_class = settings.specification, self._by_class
        n_weights = scanned.n_features + (specification.sqrho > 0)
        plan = plan_of_partitions(n_weights, scanned.n_samples, scanned.n_stored)
        # Wider smoothing of samples that are much longer than most: only where there are such.
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
            sqrho=specification.sqrho,
            has_free_intercept=specification.has_free_intercept,
            median=median if is_uneven else None,
            is_stored=plan.is_stored,
            in_blocks=plan.in_blocks,
            kept_bytes=TUNING.partitions.kept_bytes * executor.n_processes / len(executor.indices),
        )


def run_together(executor, setting, runs):
    """Make the steps of all binary problems; requests that read the samples share a pass."""
    pending = {}
    for run in runs:
        steps = run.steps()
        pending[run.problem] = (run, steps, next(steps))
    while pending:
        rounds = [each for each in pending.values() if not any(part.reads for part in each[2])]
        rounds = rounds or list(pending.values())
        requests = tuple(request for _, _, several in rounds for request in several)
        answers = iter(finished(executor.collect(setting, requests)))
        for run, steps, several in rounds:
            found = tuple(next(answers) for _ in several)
            if any(request.reads for request in several):
                run.count_pass()
            try:
                pending[run.problem] = (run, steps, steps.send(found))
            except StopIteration:
                del pending[run.problem]


def merged(counts, name):
    """The counts of all partitions as one: Scanned.

    Raises
    ------
    ValueError
        If there are no samples, one class only, or chunks do not fit each other.
    """
    if not counts:
        raise ValueError(f"X of {name} must hold samples. Got only empty chunks.")
    first = counts[0]
    for index, each in enumerate(counts):
        if each.n_features != first.n_features:
            raise ValueError(
                f"All chunks of {name} must have {first.n_features} features, as the first one. "
                f"Got {each.n_features} in chunk {index}."
            )
        names = [
            None if part.feature_names is None else list(part.feature_names) for part in (first, each)
        ]
        if names[0] != names[1]:
            raise ValueError(
                f"All chunks of {name} must have the columns of the first one, {names[0]}. "
                f"Got {names[1]} in chunk {index}."
            )
    classes = merged_classes([each.classes for each in counts], name)
    if len(classes) < 2:
        raise ValueError(
            f"y of {name} must hold at least 2 classes. Got 1 class: {classes.tolist()[0]!r}."
        )
    totals, lightest = np.zeros(len(classes)), np.full(len(classes), np.inf)
    heaviest, in_folds = np.zeros(len(classes)), None
    if first.in_folds is not None:
        in_folds = np.zeros((len(first.in_folds), len(classes)), int)
    for each in counts:
        codes = codes_of(classes, each.classes)
        if in_folds is not None:
            in_folds[:, codes] += each.in_folds
        totals[codes] += each.totals
        lightest[codes] = np.minimum(lightest[codes], each.lightest)
        heaviest[codes] = np.maximum(heaviest[codes], each.heaviest)
    subsamples = [each.subsample for each in counts]
    return Scanned(
        classes,
        sum(each.n_samples for each in counts),
        first.n_features,
        sum(each.n_stored for each in counts),
        totals,
        np.where(lightest < np.inf, lightest, 0.0),
        heaviest,
        max(each.max_sqnorm for each in counts),
        float(np.median([each.median_sqnorm for each in counts])),
        first.feature_names,
        None if any(each is None for each in subsamples) else subsamples,
        in_folds,
    )
