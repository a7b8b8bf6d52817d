"""Classifiers with scikit-learn's constructors that train by this library: for scikit-learn's own tests.

    LinearSVC, SVC         MarginClassifier
    Perceptron             get("perceptron")
    PassiveAggressive...   get("pa-i"), get("pa-ii")
    SGDClassifier          MarginClassifier, or get("pegasos") for partial_fit: of the hinge losses

A parameter that means nothing here is ignored, such as `dual`; one that would change the model is a
NotThere, so that a failed test says why.
"""

import functools
import inspect
import math

from sklearn import linear_model, svm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

import margins
from margins.data.validation import validate_points


class NotThere(ValueError):
    """A parameter has a value that this library does not have."""


class Adapter(ClassifierMixin, BaseEstimator):
    """A classifier with the constructor of another class, which trains one of this library."""

    used = False  # set by every instance: a test has touched this library

    def _make(self):
        """Return the classifier of this library."""
        raise NotImplementedError

    def fit(self, X, y, sample_weight=None, **others):
        self._inner = self._make()
        self._inner.fit(X, y, sample_weight)
        return self._take_over()

    def _take_over(self):
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        fitted = vars(self._inner).items()
        vars(self).update(
            {name: value for name, value in fitted if name.endswith("_") and name[0] != "_"}
        )
        return self

    def __getattr__(self, name):
        if name.startswith("__") or "_inner" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._inner, name)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags

    def _fitted(self):
        return vars(self).get("_inner") or self._make()

    def predict(self, X):
        return self._fitted().predict(X)

    def decision_function(self, X):
        return self._fitted().decision_function(X)

    def sparsify(self):
        self._inner.sparsify()
        return self._take_over()

    def densify(self):
        self._inner.densify()
        return self._take_over()


class Probable(Adapter):
    """SVC, whose `predict_proba` is there with `probability`, and which shows the scores of pairs."""

    def decision_function(self, X):
        inner = self._fitted()
        decision = inner.decision_function(X)
        if self.decision_function_shape == "ovr" or decision.ndim == 1:
            return decision
        return inner._scores(validate_points(getattr(inner, "estimator_", inner), X))

    @available_if(lambda self: self.probability is True)
    def predict_proba(self, X):
        return self._fitted().predict_proba(X)

    @available_if(lambda self: self.probability is True)
    def predict_log_proba(self, X):
        return self._fitted().predict_log_proba(X)


class Online(Adapter):
    """An adapter whose classifier takes streams."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if "_inner" not in vars(self):
            self._inner = self._make()
        self._inner.partial_fit(X, y, classes=classes, sample_weight=sample_weight)
        return self._take_over()


def refused(params, **allowed):
    """Raise NotThere for a parameter that has none of the values allowed."""
    for name, values in allowed.items():
        if params[name] not in values:
            raise NotThere(f"{name}={params[name]!r} is not there")


def of_linear_svc(params):
    refused(params, penalty=("l2",), multi_class=("ovr",))
    names = (
        "C",
        "loss",
        "fit_intercept",
        "intercept_scaling",
        "class_weight",
        "random_state",
        "max_iter",
    )
    return margins.MarginClassifier(
        eps=min(params["tol"], 1.0), verbose=params["verbose"], **{name: params[name] for name in names}
    )


def of_svc(params):
    refused(params, break_ties=(False,))
    if isinstance(params["kernel"], str):
        refused(params, kernel=("linear", "rbf", "poly", "sigmoid", "precomputed"))
    names = ("C", "kernel", "degree", "gamma", "coef0", "class_weight", "cache_size", "random_state")
    ours = {name: params[name] for name in names} | {
        "loss": "hinge",
        "penalize_intercept": False,
        "multi_class": "ovo",
        "eps": min(params["tol"], 1.0),
        "max_iter": 1000 if params["max_iter"] == -1 else params["max_iter"],
        "verbose": params["verbose"],
    }
    if params["probability"] is True:
        return margins.MarginClassifierCV(Cs=[ours.pop("C")], cv=5, calibration="sigmoid", **ours)
    return margins.MarginClassifier(**ours)


def common_online(params):
    """Return the parameters that a perceptron and a passive-aggressive classifier share."""
    refused(params, early_stopping=(False,), fit_intercept=(True, False))
    names = ("fit_intercept", "max_iter", "tol", "n_iter_no_change", "class_weight", "random_state")
    return {name: params[name] for name in (*names, "n_jobs", "verbose", "warm_start")}


def of_perceptron(params):
    refused(params, penalty=(None,))
    shuffle = "epochs" if params["shuffle"] else "never"
    return margins.get("perceptron")(eta=params["eta0"], shuffle=shuffle, **common_online(params))


def of_passive_aggressive(params):
    refused(params, loss=("hinge", "squared_hinge"))
    return margins.get("pa-i" if params["loss"] == "hinge" else "pa-ii")(
        aggressiveness=params["C"],
        averaging="averaged" if params["average"] else "last",
        shuffle=params["shuffle"],
        min_loss=0.0,
        **common_online(params),
    )


def of_sgd(params, n_samples=None):
    refused(params, loss=("hinge", "squared_hinge"), penalty=("l2",), early_stopping=(False,))
    refused(params, average=(False,), learning_rate=("optimal",))
    if n_samples is None:  # a stream
        return margins.get("pegasos")(
            lam=params["alpha"],
            fit_intercept=params["fit_intercept"],
            random_state=params["random_state"],
        )
    names = ("fit_intercept", "class_weight", "random_state", "n_jobs", "verbose", "warm_start")
    return margins.MarginClassifier(
        C=1 / (params["alpha"] * n_samples) if params["alpha"] > 0 else math.inf,
        loss=params["loss"],
        **{name: params[name] for name in names},
    )


def adapter_of(theirs, translate, base=Adapter):
    """Make a class with the constructor of one of scikit-learn's from a function of its parameters."""
    signature = inspect.signature(theirs.__init__)

    def __init__(self, *args, **kwargs):
        Adapter.used = True
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature

    def _make(self):
        return translate(self.get_params(deep=False))

    body = {"__init__": __init__, "_make": _make, "__doc__": f"{theirs.__name__} by this library."}
    return type(theirs.__name__, (base,), {**body, "__module__": theirs.__module__})


class _Sgd(Online):
    """SGDClassifier knows the number of samples when it is fitted."""

    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        if coef_init is not None or intercept_init is not None:
            raise NotThere("coef_init is not there")
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        self._inner = of_sgd(self.get_params(deep=False), n_samples)
        self._inner.fit(X, y, sample_weight)
        return self._take_over()


@functools.cache
def adapters():
    """Return the adapters: dict of (module, name) to class."""
    online = linear_model
    classes = {
        (svm, "LinearSVC"): adapter_of(svm.LinearSVC, of_linear_svc),
        (svm, "SVC"): adapter_of(svm.SVC, of_svc, Probable),
        (online, "Perceptron"): adapter_of(online.Perceptron, of_perceptron, Online),
        (online, "SGDClassifier"): adapter_of(online.SGDClassifier, of_sgd, _Sgd),
    }
    if hasattr(online, "PassiveAggressiveClassifier"):
        theirs = online.PassiveAggressiveClassifier
        classes[online, "PassiveAggressiveClassifier"] = adapter_of(
            theirs, of_passive_aggressive, Online
        )
    return classes
