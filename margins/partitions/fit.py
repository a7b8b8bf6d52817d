"""One fit of samples in partitions: the scan, a start, and the steps of all binary problems together."""

import math
import uuid
from typing import Any, NamedTuple

import numpy as np

from margins.data.samples import class_weights_of
from margins.linalg.memory import check_model_fits
from margins.losses import loss_of
from margins.losses._smoothed import max_curvature_ratio
from margins.partitions.newton import NewtonRun
from margins.partitions.partition import Setting
from margins.partitions.samples import Sizes, codes_of, merged_classes
from margins.partitions.start import start_at_zero, start_of, together
from margins.partitions.vectors import finished
from margins.solvers.auto import plan_of_partitions
from margins.training.schemes import positive_codes
from margins.training.specification import Specification
from margins.tuning import TUNING


class Scanned(NamedTuple):
    """What the first pass has found in all partitions."""

    classes: np.ndarray
    n_samples: int
    n_features: int
    n_stored: int
    # totals, lightest, heaviest: float64, shape (n_classes,): of the sample weights of each class: the
    # sum, the smallest that is not 0, the largest
    totals: np.ndarray
    lightest: np.ndarray
    heaviest: np.ndarray
    # max_sqnorm, median_sqnorm: the largest |x_k|^2; about the median of |x_k|^2 times the sample weight
    max_sqnorm: float
    median_sqnorm: float
    feature_names: np.ndarray | None  # str or None
    subsamples: list | None


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
    specification: Specification
    class_weight: Any  # mapping, "balanced" or None
    seed: int
    end_of_time: float  # when the time limit ends the steps, in seconds of `time.perf_counter`


def fit_partitions(executor, settings):
    """Fit samples in partitions: Scanned, and for each binary problem a NewtonRun."""
    key, specification, name = uuid.uuid4().hex, settings.specification, str(settings.name)
    try:
        sizes = Sizes(settings.seed, executor.n_partitions)
        scanned = merged(executor.scan(key, name, sizes), name)
        n_problems = len(positive_codes(len(scanned.classes)))
        check_model_fits(name, n_problems, scanned.n_features)
        setting, losses = _setting(key, scanned, executor, settings)
        if specification.report is not None:
            specification.report(
                f"pass 1: {scanned.n_samples} samples of {scanned.n_features} features in "
                f"{len(executor.indices)} chunks"
            )
        summary = Summary(
            scanned.n_samples,
            scanned.n_features,
            specification.sqrho,
            specification.has_free_intercept,
            scanned.max_sqnorm + specification.sqrho,
            *losses,
        )
        runs = [
            NewtonRun(problem, summary, specification, setting.is_stored, start, settings.end_of_time)
            for problem, start in enumerate(_starts(setting, scanned, losses[0], specification))
        ]
        run_together(executor, setting, runs)
        return scanned, runs
    finally:
        executor.forget(key)


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
    heaviest = np.zeros(len(classes))
    for each in counts:
        codes = codes_of(classes, each.classes)
        totals[codes] += each.totals
        lightest[codes] = np.minimum(lightest[codes], each.lightest)
        heaviest[codes] = np.maximum(heaviest[codes], each.heaviest)
    if not totals.all():
        raise ValueError(
            f"Every class of {name} must have a sample of positive weight. "
            f"Got none of class {classes.tolist()[int(np.argmin(totals))]!r}."
        )
    subsamples = [each.subsample for each in counts]
    return Scanned(
        classes,
        sum(each.n_samples for each in counts),
        first.n_features,
        sum(each.n_stored for each in counts),
        totals,
        lightest,
        heaviest,
        max(each.max_sqnorm for each in counts),
        float(np.median([each.median_sqnorm for each in counts])),
        first.feature_names,
        None if any(each is None for each in subsamples) else subsamples,
    )


def _setting(key, scanned, executor, settings):
    """The setting of all partitions, and the losses with the largest and the mean penalty."""
    specification, name = settings.specification, str(settings.name)
    weights = class_weights_of(name, scanned.classes, settings.class_weight, scanned.totals)
    by_class = np.ones(len(scanned.classes)) if weights is None else weights
    ends = np.concatenate([by_class * scanned.lightest, by_class * scanned.heaviest])
    specification.penalties(ends[(ends > 0) & (ends < math.inf)])  # raises if one is not allowed
    largest = specification.C * float((by_class * scanned.heaviest).max())
    mean = specification.C * float(by_class @ scanned.totals) / scanned.n_samples
    losses = loss_of(specification.loss, largest), loss_of(specification.loss, mean)
    n_weights = scanned.n_features + (specification.sqrho > 0)
    plan = plan_of_partitions(n_weights, scanned.n_samples, scanned.n_stored)
    # Wider smoothing of samples that are much longer than most: only where there are such.
    median = mean * scanned.n_samples / scanned.totals.sum() * scanned.median_sqnorm
    is_uneven = largest * scanned.max_sqnorm > max_curvature_ratio * median > 0
    setting = Setting(
        key=key,
        name=name,
        n_features=scanned.n_features,
        classes=scanned.classes,
        positive=tuple(positive_codes(len(scanned.classes))),
        C=specification.C,
        class_weights=weights,
        loss=specification.loss,
        sqrho=specification.sqrho,
        has_free_intercept=specification.has_free_intercept,
        median=median if is_uneven else None,
        is_stored=plan.is_stored,
        in_blocks=plan.in_blocks,
        kept_bytes=TUNING.partitions.kept_bytes * executor.n_processes / len(executor.indices),
    )
    return setting, losses


def _starts(setting, scanned, loss, specification):
    """Where the steps of each binary problem start: list of Start."""
    if scanned.subsamples is None or not setting.is_stored:
        return [start_at_zero(setting.n_weights, loss)] * len(setting.positive)
    weights, C = setting.class_weights, specification.C
    subsample = together(scanned.subsamples, scanned.classes, weights, C)
    required = loss.required_gap(specification.eps)
    return [start_of(subsample, positive, setting, required) for positive in setting.positive]
