"""One fit of samples in partitions: the scan, a start, and the steps of all binary problems together."""

import uuid
from typing import Any, NamedTuple

import numpy as np

from margins.data.samples import class_weights_of
from margins.losses import loss_of
from margins.losses._smoothed import max_curvature_ratio
from margins.partitions.newton import NewtonRun
from margins.partitions.partition import Setting
from margins.partitions.samples import Sizes, codes_of, merged_classes
from margins.partitions.start import start_at_zero, start_of, together
from margins.partitions.vectors import finished
from margins.solvers.costs import nonzeros_for_blocks
from margins.tuning import TUNING


class Scanned(NamedTuple):
    """What the first pass has found in all partitions.

    Attributes
    ----------
    classes : ndarray
    n_samples, n_features, n_stored : int
    totals, lightest, heaviest : ndarrays of float64, shape (n_classes,)
        Of the sample weights of each class: the sum, the smallest that is not 0, the largest.
    max_sqnorm, median_sqnorm : float
        The largest |x_k|^2; about the median of |x_k|^2 times the sample weight.
    feature_names : ndarray of str or None
    subsamples : list of Subsample, or None
    """

    classes: np.ndarray
    n_samples: int
    n_features: int
    n_stored: int
    totals: np.ndarray
    lightest: np.ndarray
    heaviest: np.ndarray
    max_sqnorm: float
    median_sqnorm: float
    feature_names: np.ndarray | None
    subsamples: list | None


class Summary(NamedTuple):
    """Sizes of a binary problem that its run reads.

    Attributes
    ----------
    n_samples, n_features : int
    sqrho, max_sqnorm : float
        The second: the largest |x_k|^2 + rho^2.
    loss, mean_loss : margins.losses.Loss
        With the largest penalty, and with the mean one, of all samples.
    """

    n_samples: int
    n_features: int
    sqrho: float
    max_sqnorm: float
    loss: Any
    mean_loss: Any

    @property
    def ordinary_sqnorms(self):
        """As those of samples in memory, as far as messages need them."""
        return np.array([self.max_sqnorm])


class Limits(NamedTuple):
    """When steps end, and what is reported.

    Attributes
    ----------
    eps : float
        Accuracy to prove.
    max_iter : int
    max_time : float or None
    end : float
        In seconds of `time.perf_counter`.
    write : callable or None
        ``write(line)`` reports progress.
    """

    eps: float
    max_iter: int
    max_time: float | None
    end: float
    write: Any

    def report(self, run, n_positive):
        """Report what a pass of a run has proven."""
        if self.write is None:
            return
        certificate = run.certificate
        self.write(
            f"pass {run.n_epochs + 1} (newton), problem {run.problem}: {n_positive} samples with a "
            f"loss, proven fraction {certificate.fraction:.6g}, gap {certificate.gap:.3g}"
        )


class Request(NamedTuple):
    """What a fit is given, beside the samples.

    Attributes
    ----------
    name : str
        The estimator's, for errors.
    C : float
    loss : str or subclass of Loss
    class_weight : mapping, "balanced" or None
    sqrho : float
    seed : int
    limits : Limits
    check_penalties : callable
        ``check_penalties(weights)`` raises ValueError if C times one of the weights is not allowed.
    """

    name: str
    C: float
    loss: Any
    class_weight: Any
    sqrho: float
    seed: int
    limits: Limits
    check_penalties: Any


def fit_partitions(executor, request):
    """Fit samples in partitions.

    Parameters
    ----------
    executor : ChunkExecutor or DaskExecutor
    request : Request

    Returns
    -------
    scanned : Scanned
    runs : list of NewtonRun
        One for each binary problem.
    """
    key = uuid.uuid4().hex
    try:
        sizes = Sizes(request.seed, executor.n_partitions)
        scanned = merged(executor.scan(key, request.name, sizes), request.name)
        setting, losses = _setting(key, scanned, executor, request)
        if request.limits.write is not None:
            request.limits.write(
                f"pass 1: {scanned.n_samples} samples of {scanned.n_features} features in "
                f"{len(executor.indices)} chunks"
            )
        summary = Summary(
            scanned.n_samples,
            scanned.n_features,
            request.sqrho,
            scanned.max_sqnorm + request.sqrho,
            *losses,
        )
        runs = [
            NewtonRun(problem, summary, request.limits, setting.is_stored, start)
            for problem, start in enumerate(_starts(setting, scanned, losses[0], request))
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


def _setting(key, scanned, executor, request):
    """The setting of all partitions, and the losses with the largest and the mean penalty."""
    weights = class_weights_of(request.name, scanned.classes, request.class_weight, scanned.totals)
    by_class = np.ones(len(scanned.classes)) if weights is None else weights
    request.check_penalties(np.concatenate([by_class * scanned.lightest, by_class * scanned.heaviest]))
    largest = request.C * float((by_class * scanned.heaviest).max())
    mean = request.C * float(by_class @ scanned.totals) / scanned.n_samples
    losses = loss_of(request.loss, largest), loss_of(request.loss, mean)
    n_weights = scanned.n_features + (request.sqrho > 0)
    # Wider smoothing of samples that are much longer than most: only where there are such.
    median = mean * scanned.n_samples / scanned.totals.sum() * scanned.median_sqnorm
    is_uneven = largest * scanned.max_sqnorm > max_curvature_ratio * median > 0
    setting = Setting(
        key=key,
        name=request.name,
        n_features=scanned.n_features,
        classes=scanned.classes,
        positive=(1,) if len(scanned.classes) == 2 else tuple(range(len(scanned.classes))),
        C=request.C,
        class_weights=weights,
        loss=request.loss,
        sqrho=request.sqrho,
        median=median if is_uneven else None,
        is_stored=n_weights <= scanned.n_samples and n_weights**2 <= scanned.n_stored,
        in_blocks=scanned.n_stored >= nonzeros_for_blocks(n_weights, scanned.n_samples),
        kept_bytes=TUNING.partitions.kept_bytes * executor.n_processes / len(executor.indices),
    )
    return setting, losses


def _starts(setting, scanned, loss, request):
    """Where the steps of each binary problem start: list of Start."""
    if scanned.subsamples is None or not setting.is_stored:
        return [start_at_zero(setting.n_weights, loss)] * len(setting.positive)
    subsample = together(scanned.subsamples, scanned.classes, setting.class_weights, request.C)
    required = loss.required_gap(request.limits.eps)
    return [start_of(subsample, positive, setting, required) for positive in setting.positive]
