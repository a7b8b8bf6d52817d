"""Fits of samples that are not in memory: dask collections, memory maps, chunks.

`MarginClassifier` computes Newton steps from sums over the partitions. Rule-based algorithms process one
partition at a time, by the fit of `BaseMarginClassifier` over a `StreamedMatrix`.
"""

import math
import time
from typing import Any, NamedTuple

from joblib import effective_n_jobs

from margins.data.chunks import Chunks, check_in_memory, is_in_parts
from margins.data.permutations import seeds_of
from margins.data.validation import Samples, ValidSamples, weighted_samples
from margins.estimators.callbacks import has_callbacks
from margins.estimators.names import MessageName
from margins.kernels import LINEAR
from margins.partitions.fit import FitSettings, PartitionedFit, holds_hessians
from margins.partitions.samples import FoldsOfRows
from margins.partitions.sources import executor_of, is_large_map
from margins.partitions.streamed import scan
from margins.solvers.penalised import Penalty
from margins.training.fit import Fit
from margins.training.schemes import scheme_of

# The reason of algorithms that may need the row of any sample at any time.
IN_MEMORY = ("X", "in memory", None)


class SamplesElsewhere(NamedTuple):
    """Stand-in for a training set that is not in memory, with what fitted attributes need."""

    samples: Samples
    kernel: Any = LINEAR
    is_kernel: bool = False
    centre: Any = None
    columns: Any = None

    @property
    def classes(self):
        return self.samples.classes

    @property
    def scheme(self):
        return scheme_of("ovr", len(self.classes))


def why_not_streamed(estimator):
    """Return why an estimator does not accept partitions, as (parameter, allowed, got), or None."""
    if not estimator._is_linear:
        return "kernel", "'linear'", estimator.kernel
    if getattr(estimator, "warm_start", False):
        return "warm_start", "False", True
    if has_callbacks(estimator):
        return "set_callbacks", "without callbacks", getattr(estimator, "_skl_callbacks", None)
    return None


def is_streamed(estimator, X):
    """Return whether the samples are in partitions."""
    if not is_in_parts(X):
        return False
    why_not = estimator.why_not_in_partitions()
    if why_not is IN_MEMORY:
        check_in_memory(X, f"X of {MessageName(estimator, 'fit')}")
    if why_not is not None:
        name, allowed, got = why_not
        kind = "Chunks" if isinstance(X, Chunks) else "a dask collection"
        raise ValueError(
            f"{name} of {MessageName(estimator, 'fit')} must be {allowed} if X is {kind}, whose "
            f"samples are never all in memory at once. Got {got!r}."
        )
    return True


def read_samples(estimator, X, y, sample_weight):
    """Scan samples in partitions for the first time (Samples, whose X is a StreamedMatrix)."""
    name = MessageName(estimator, "fit")
    first = scan(executor_of(name, X, y, sample_weight, 1), name)
    scanned = first.scanned
    valid = ValidSamples(first.X, None, first.codes, scanned.classes, scanned.feature_names)
    return weighted_samples(name, valid, first.weight, estimator.class_weight)


def takes_partitions(estimator, X):
    """Return whether to fit samples in partitions by Newton steps; see `is_streamed` for errors."""
    if not is_large_map(X):
        return is_streamed(estimator, X)
    if estimator.why_not_in_partitions() is not None:
        return False
    regulariser, n_features = estimator.regulariser(), X.shape[1]
    if regulariser is None:
        return True
    return holds_hessians(n_features + 1) and not Penalty(regulariser, n_features).start.any()


def fit_in_partitions(estimator, X, y, sample_weight):
    """Fit samples in partitions by Newton steps, without changing the estimator (Fit)."""
    with partitioned_fit(estimator, X, y, sample_weight) as partitioned:
        outcomes = partitioned.train(partitioned.problems([estimator.C]))
        return fit_of(partitioned.scanned, outcomes, partitioned.absent())


def partitioned_fit(estimator, X, y, sample_weight, n_folds=None):
    """Scan samples in partitions, and return them ready for Newton steps (PartitionedFit)."""
    name, max_time = MessageName(estimator, "fit"), estimator.max_time
    seed = seeds_of(estimator.random_state, 1)[0]
    settings = FitSettings(
        name=name,
        specification=estimator.specification(None)._replace(keep_dual=False),
        class_weight=estimator.class_weight,
        seed=seed,
        end_of_time=math.inf if max_time is None else time.perf_counter() + max_time,
        folds=None if n_folds is None else FoldsOfRows(n_folds, seed),
    )
    executor = executor_of(name, X, y, sample_weight, effective_n_jobs(estimator.n_jobs))
    return PartitionedFit(executor, settings)


def fit_of(scanned, outcomes, absent):
    """Return the fit of all binary problems, in the form of a fit in memory (Fit).

    `absent` are the classes without samples of positive weight, as in `Samples`.
    """
    shape, names = (scanned.n_samples, scanned.n_features), scanned.feature_names
    samples = Samples(None, None, scanned.classes, None, None, *shape, names, absent)
    return Fit(SamplesElsewhere(samples), outcomes[0].specification, outcomes)
