"""The fitted attributes of classifiers, made from a fit that has ended."""

import copy

import numpy as np

from margins.data.binary_data import is_sparse
from margins.kernels import LINEAR
from margins.parameters import defaults_of
from margins.solvers.outcome import dual_of
from margins.training.fit import KernelModel, LinearModel, model_of
from margins.training.schemes import fitted_scheme

# Mark of a linear model that was stored without its dual variables, most of what it would take.
LEFT_OUT = "_dual_left_out"
# Attributes that some fits set and others do not.
FITTED = (
    *("coef_", "intercept_", "dual_coef_", "support_", "support_vectors_", "n_support_", "pairs_"),
    *("mistakes_", "votes_", "feature_names_in_", "upper_bounds_", "normalised_upper_bounds_"),
    "first_index_",  # first feature index, 0 or 1, of the svmlight file the command line trained on
    *("_n_samples", LEFT_OUT),
)


def run_attributes(fit):
    """Return the attributes that describe how the problems of a fit ended, and their proofs (dict)."""
    outcomes = fit.outcomes
    return {
        "certificates_": [outcome.certificate for outcome in outcomes],
        "learning_curve_": [outcome.history for outcome in outcomes],
        "phases_": [outcome.phases for outcome in outcomes],
        "n_iter_": max(outcome.n_epochs for outcome in outcomes),
        "n_updates_": sum(outcome.certificate.n_updates for outcome in outcomes),
        "n_accesses_": sum(outcome.n_accesses for outcome in outcomes),
        "converged_": all(outcome.converged for outcome in outcomes),
        # The solver paths of all binary problems, without duplicates.
        "solver_": ", ".join(dict.fromkeys(o.solver_path for o in outcomes if o.phases)),
    }


def sample_attributes(fit):
    """Return the attributes that describe classes, features and units (dict)."""
    samples = fit.training_set.samples
    attributes = {
        "classes_": samples.classes,
        "n_features_in_": samples.n_features,
        "kernel_": fit.training_set.kernel,
        **fit.specification.units,
    }
    scheme = fit.training_set.scheme
    if scheme.has_pairs:
        attributes["pairs_"] = samples.classes[np.array(scheme.pairs)]
    if samples.feature_names is not None:
        attributes["feature_names_in_"] = samples.feature_names
    return attributes


def model_attributes(fit):
    """Return the attributes that predictions use, and the dual variables (dict)."""
    model = fit.model or model_of(fit.outcomes, fit.specification, fit.training_set)
    samples = fit.training_set.samples
    if not isinstance(model, LinearModel):
        codes = samples.codes[np.searchsorted(samples.kept, model.support)]
        return {
            "intercept_": model.intercept,
            "dual_coef_": model.dual_coef,
            "support_": model.support,
            "support_vectors_": model.support_vectors,
            "n_support_": np.bincount(codes, minlength=len(samples.classes)).astype(np.int32),
            "_n_samples": samples.n_samples,  # for a warm start
        }
    attributes = {"intercept_": model.intercept, "coef_": model.coef}
    if fit.specification.keep_dual:
        duals = [dual_of(outcome) for outcome in fit.outcomes]
        dual = fit.training_set.scheme.gathered(duals, samples.codes)
        attributes["dual_coef_"] = _spread_to_all_samples(dual, samples)
    return attributes


class DualOfLinearModel:
    """Descriptor of `support_` and `dual_coef_`, for linear fits, which set only the second, or none."""

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        attributes = vars(estimator)
        if "dual_coef_" in attributes:
            return np.flatnonzero(attributes["dual_coef_"].any(axis=0))
        if LEFT_OUT not in attributes:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        raise AttributeError(
            f"{self._name} of {estimator._display_name()} was left out when the model was stored. To "
            "have it, fit again, or store a model with warm_start=True, if it has this parameter."
        )


class StoredMixin:
    """Mixin of classifiers that are stored without the dual variables of linear models."""

    support_, dual_coef_ = DualOfLinearModel(), DualOfLinearModel()

    def __getstate__(self):
        state = super().__getstate__()
        if getattr(self, "warm_start", False) or not {"coef_", "dual_coef_"} <= state.keys():
            return state
        return {name: value for name, value in state.items() if name != "dual_coef_"} | {LEFT_OUT: True}

    def __setstate__(self, state):
        super().__setstate__(state)
        for name, default in defaults_of(type(self)):  # of parameters that are younger than the model
            vars(self).setdefault(name, default)

    # Copies keep them.

    def __copy__(self):
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __deepcopy__(self, memo):
        twin = memo[id(self)] = copy.copy(self)
        vars(twin).update(copy.deepcopy(vars(self), memo))
        return twin


def fitted_model(classifier):
    """Return the model of a fitted classifier (LinearModel or KernelModel)."""
    if classifier.kernel_ == LINEAR:
        return LinearModel(classifier.coef_, classifier.intercept_)
    scheme, codes = fitted_scheme(classifier), None
    if scheme.has_pairs:
        codes = np.repeat(np.arange(scheme.n_classes), classifier.n_support_)
    vectors, support = classifier.support_vectors_, classifier.support_
    dual_coef, intercept = classifier.dual_coef_, classifier.intercept_
    return KernelModel(classifier.kernel_, vectors, support, codes, dual_coef, intercept, scheme)


def dense_coef(classifier):
    """Return `coef_` of a linear classifier as an array, also after `sparsify` (ndarray of float64)."""
    coef = classifier.coef_
    return coef.toarray() if is_sparse(coef) else coef


def n_features_of(classifier):
    """Return the number of features with a weight that is not 0; None if features have no weights."""
    if not hasattr(classifier, "coef_"):
        return None
    return int(np.count_nonzero(abs(classifier.coef_).sum(axis=0)))


def _spread_to_all_samples(dual, samples):
    """Return dual variables of all samples, 0 for those left out; shape (n_problems, n_samples)."""
    if len(samples.kept) == samples.n_samples:  # indexing would take longer than a Newton step
        return dual
    filled = np.zeros((len(dual), samples.n_samples))
    filled[:, samples.kept] = dual
    return filled
