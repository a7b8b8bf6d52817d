"""Continuations: the streams or dual variables of the last fit, from which a warm start begins."""

import joblib
import numpy as np
from scipy import sparse

from margins.data.binary_data import csr_arrays
from margins.estimators.declared import Declared
from margins.estimators.fitted import LEFT_OUT
from margins.kernels import LINEAR
from margins.parameters import BOOLEAN, parameter
from margins.training.schemes import fitted_scheme


class StreamContinuation:
    """Continuation from the state that a fit or a chunk has left."""

    def __init__(self, state, stream_type, classes, n_features):
        self._state, self._stream_type = state, stream_type
        self._classes, self._n_features = classes, n_features
        self.n_seen, self.digest = state.n_seen, None  # the digest of this fit is known after `check`

    @property
    def has_same_samples(self):
        """True if the last fit had the same samples."""
        return self.digest == self._state.digest

    def check(self, name, training_set, specification):
        """Raise a ValueError unless training may continue with these samples."""
        samples = training_set.samples
        n_features = samples.n_features
        if not np.array_equal(samples.classes, self._classes) or n_features != self._n_features:
            raise ValueError(
                f"X and y of {name} must have the features and classes of the last fit if "
                f"warm_start=True: {self._n_features} features, classes {self._classes.tolist()}. "
                f"Got {n_features} features, classes {samples.classes.tolist()}."
            )
        self.digest = digest_of(samples)
        if self.has_same_samples:
            if specification.keep_dual and self._state.problems[0].weights.dual is None:
                raise ValueError(
                    f"The last fit of {name} must have kept dual variables if warm_start=True and "
                    f"C={specification.C}, which needs them. Got a fit with C=inf, which kept none. "
                    "Use warm_start=False."
                )
            return
        is_about_samples = specification.needs_same_samples or specification.keep_dual
        if is_about_samples or specification.eps is not None:
            raise ValueError(
                f"X and y of {name} must be the same as in the last fit if warm_start=True, because "
                "its dual variables or its accuracy are about these samples. Got other samples, or "
                "the same in another format. Use partial_fit or warm_start=False."
            )

    def proven(self, outcome):
        """Return an outcome with what is proven: dual variables of other samples prove no bound."""
        if self.has_same_samples:
            return outcome
        return outcome._replace(certificate=outcome.certificate.without_bound())

    def begin(self, run, index):
        """Make a run start where the last run ended."""
        is_same = self.has_same_samples
        self._state.problems[index].as_stream(self._stream_type, keep_dual=is_same).resume(run)
        if is_same:
            run.weights.recompute(run.data)  # C may have changed


class DualContinuation:
    """Continuation from the dual variables that a fit has left.

    Any dual variables within their bounds are feasible. So every certificate is true, even if penalties,
    the loss, the accuracy, labels, weights or the samples themselves have changed since the last fit.
    """

    n_seen = 0

    def __init__(self, dual, classes, n_features, has_pairs):
        self._dual, self._classes, self._n_features = dual, classes, n_features
        self._has_pairs, self._training_set = has_pairs, None

    def check(self, name, training_set, specification):
        """Raise a ValueError unless there is a dual variable for every sample."""
        samples = training_set.samples
        before = self._dual.shape[1], self._n_features, self._classes.tolist()
        now = samples.n_samples, samples.n_features, samples.classes.tolist()
        if before != now:
            expected, got = (
                f"{n_samples} samples, {n_features} features, classes {classes}"
                for n_samples, n_features, classes in (before, now)
            )
            raise ValueError(
                f"X and y of {name} must have the samples, features and classes of the last fit if "
                f"warm_start=True: {expected}. Got {got}. A clone or warm_start=False starts from zero."
            )
        if training_set.scheme.has_pairs != self._has_pairs:
            raise ValueError(
                f"multi_class of {name} must be the same as in the last fit if warm_start=True: its "
                f"dual variables belong to other problems. Got {training_set.multi_class!r}."
            )
        self._training_set = training_set

    def proven(self, outcome):
        """Return the outcome, whose proof is about its samples."""
        return outcome

    def begin(self, run, index):
        """Make a run start from the dual variables of its samples."""
        samples, scheme = self._training_set.samples, self._training_set.scheme
        dual = scheme.of_problem(self._dual[:, samples.kept], samples.codes, index)
        run.start_from(np.ascontiguousarray(dual))


class DualWarmStartMixin(Declared):
    """Parameter `warm_start` of a classifier that fits dual variables."""

    warm_start: bool = parameter(
        BOOLEAN,
        "True: `fit` starts from the dual variables of the last fit, if there is one; the numbers of "
        "samples and features, and the classes, must be the same. The dual variables are scaled or "
        "clipped to be feasible.",
        default=False,
    )

    @property
    def _is_warm(self):
        """True if the next fit starts from the last fit."""
        if self.warm_start and LEFT_OUT in vars(self):
            raise ValueError(
                f"warm_start of {self._display_name()} must be False: the dual variables of the last "
                "fit were left out when the model was stored. Set warm_start=True before you store it."
            )
        return self.warm_start and hasattr(self, "dual_coef_")

    def _continuation(self):
        if not self._is_warm:
            return None
        dual = self.dual_coef_
        if self.kernel_ != LINEAR:
            dual = np.zeros((len(self.dual_coef_), self._n_samples))
            dual[:, self.support_] = np.abs(self.dual_coef_)
        has_pairs = fitted_scheme(self).has_pairs
        return DualContinuation(dual, self.classes_, self.n_features_in_, has_pairs)


def digest_of(samples):
    """Return a digest that identifies samples and labels (str)."""
    X = samples.X
    arrays = (*csr_arrays(X), X.shape) if sparse.issparse(X) else X
    return joblib.hash((arrays, samples.codes))
