"""Checks of algorithms: classifier classes with declared parameters and certificates."""

import copy
import dataclasses
import inspect
import math
import pickle
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from margins.registry import get
from margins.testing.algorithms.certificates import check_certificates, check_termination
from margins.testing.algorithms.fits import (
    check,
    difference,
    make,
    parameters_of,
    require_same_fit,
    scores_of,
    state_of,
)
from margins.testing.reports import Violation, error_as_text, require
from margins.testing.truth import clouds

NAME = re.compile(r"([\w.-]+:)?[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, np.generic)


@check
def check_name(algorithm, name):
    """The name is short and in lower case, and `margins.get` always returns the class."""
    require(NAME.fullmatch(name), f"the name {name!r}", "words in lower case, joined by '-'")
    again = get(name)
    require(again is algorithm, f"another class, {again!r}, from a second call of get", "the same class")


@check
def check_parameters_are_declared(algorithm, params):
    """Every parameter of the constructor is a dataclass field with a constraint and a description."""
    require(dataclasses.is_dataclass(algorithm), "no dataclass", "parameters declared as fields")
    fields = {field.name: field for field in dataclasses.fields(algorithm)}
    constructor = parameters_of(algorithm)
    got = f"constructor parameters {sorted(constructor)}"
    require(constructor.keys() == fields.keys(), got, f"those declared, {sorted(fields)}")
    for name, field in fields.items():
        has_default = constructor[name] is not inspect.Parameter.empty
        require(has_default, f"no default of {name}", "a default of every parameter")
        factory = field.default_factory is not dataclasses.MISSING
        is_immutable = isinstance(field.default, IMMUTABLE) or callable(field.default)
        got = f"a mutable default of {name}, {'default_factory' if factory else repr(field.default)}"
        expected = "an immutable default: instances would share it, or have different defaults"
        require(is_immutable and not factory, got, expected)
        allowed = field.metadata.get("allowed")
        is_constraint = callable(getattr(allowed, "contains", None))
        is_constraint = is_constraint and type(allowed).__str__ is not object.__str__
        expected = "a constraint of margins.parameters in metadata['allowed']"
        require(is_constraint, f"{allowed!r} as the constraint of {name}", expected)
        text = field.metadata.get("description")
        got = f"{text!r} as the description of {name}"
        is_sentence = isinstance(text, str) and text.strip()
        require(is_sentence, got, "a sentence in metadata['description']")


@check
def check_defaults_are_allowed(algorithm, params):
    """Every default is within its range."""
    for field in dataclasses.fields(algorithm):
        allowed, got = field.metadata["allowed"], f"the default {field.name}={field.default!r}"
        require(allowed.contains(field.default), got, f"{allowed}")


@check
def check_docstring(algorithm, params):
    """The class has a docstring, which names its source and every parameter."""
    text = inspect.cleandoc(vars(algorithm).get("__doc__") or "")
    require(text, "no docstring", "one")
    require("**Source**" in text, "a docstring without **Source**", "the paper and its equation")
    for name in parameters_of(algorithm):
        require(f"\n{name} : " in text, f"no {name} in the docstring", "every parameter")


@check
def check_constructor_keeps_what_it_is_given(algorithm, params):
    """The constructor takes only keywords, and does not validate, convert or copy values."""
    objects = {name: object() for name in parameters_of(algorithm)}
    for method, classifier in (
        ("constructor", algorithm(**objects)),
        ("set_params", algorithm().set_params(**objects)),
    ):
        for name, value in classifier.get_params(deep=False).items():
            require(value is objects[name], f"{name}={value!r} after {method}", "the object given")
    try:
        algorithm(1.0)
    except TypeError:
        return
    raise Violation("a positional parameter accepted", "keywords only")


class _Untouchable:
    """Data that raise an error when read."""

    def __getattr__(self, name):
        raise Violation(f"an access to the data ({name})", "an error about the parameter before")


def _wrong_values(allowed):
    """Return values that a constraint does not allow, starting with values next to its bounds."""
    candidates, constraints = [], [allowed]
    while constraints:
        constraint = constraints.pop()
        constraints += getattr(constraint, "constraints", ())
        if hasattr(constraint, "low"):
            low, high = constraint.low, constraint.high
            candidates += [low, high, np.nextafter(low, -math.inf), np.nextafter(high, math.inf)]
            candidates += [float(low) - 1, float(high) + 1]
    candidates += [math.nan, -1, "no such value", [0.5], object()]
    return [value for value in candidates if not allowed.contains(value)][:4]


@check
def check_errors_name_class_and_parameter(algorithm, params):
    """A value that is not allowed raises a ValueError that names it, before any work."""
    methods = ["fit"] + ["partial_fit"] * hasattr(make(algorithm, params), "partial_fit")
    for field in dataclasses.fields(algorithm):
        for value in _wrong_values(field.metadata["allowed"]):
            for method in methods:
                classifier = algorithm(**{**params, field.name: value})
                attempt = f"{method} with {field.name}={value!r}"
                call = getattr(classifier, method, None)
                if call is None:
                    continue  # not available with such a parameter
                try:
                    call(_Untouchable(), _Untouchable())
                except (ValueError, TypeError) as error:
                    names = field.name, algorithm.__name__
                    is_named = all(name in str(error) for name in names)
                    got = f"{type(error).__name__} {str(error)!r} from {attempt}"
                    expected = f"a ValueError that names {names[0]} and {names[1]}"
                    require(is_named and isinstance(error, ValueError), got, expected)
                except Violation as violation:
                    raise Violation(f"{attempt}: {violation}", "the error about the parameter") from None
                else:
                    raise Violation(f"no error from {attempt}", "a ValueError")


@check
def check_pickle(algorithm, params):
    """A classifier is the same after pickling."""
    X, y = clouds(n_classes=3)
    classifier = make(algorithm, params, random_state=0, max_iter=20).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    changed = difference(classifier.get_params(deep=False), again.get_params(deep=False))
    require(not changed, f"other parameters after pickling: {changed}", "the same")
    require_same_fit(again, classifier, "after pickling")
    changed = difference(scores_of(again, X), scores_of(classifier, X))
    require(not changed, f"other scores after pickling: {changed}", "the same")


@check
def check_clone(algorithm, params):
    """A clone is untrained, and training it gives the same classifier."""
    X, y = clouds()
    classifier = make(algorithm, params, random_state=5, max_iter=20).fit(X, y)
    again = clone(classifier)
    require(not state_of(again), f"a clone that has {sorted(state_of(again))}", "an untrained one")
    changed = difference(classifier.get_params(deep=False), again.get_params(deep=False))
    require(not changed, f"other parameters of the clone: {changed}", "the same")
    require_same_fit(again.fit(X, y), classifier, "a clone, trained")


@check
def check_random_state(algorithm, params):
    """The same seed gives the same fit, and NumPy's global generator is not used."""
    X, y = clouds(n_classes=3)
    before = np.random.get_state()  # noqa: NPY002
    first = make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    second = make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    require_same_fit(first, second, "random_state=7 twice")
    changed = difference(before, np.random.get_state())  # noqa: NPY002
    require(not changed, "a change of NumPy's global random state", "a separate generator")


@check
def check_n_jobs(algorithm, params):
    """The number of threads does not change a bit of the result."""
    X, y = clouds(n_classes=4)
    needed = {"random_state": 3, "max_iter": 20}
    one, two = (make(algorithm, params, n_jobs=n, **needed).fit(X, y) for n in (1, 2))
    require_same_fit(one, two, "n_jobs=1 and n_jobs=2")


def csr(X, dtype, index):
    X = sparse.csr_matrix(X.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "read-only": _read_only,
    "CSR": lambda X: csr(X, np.float64, np.int32),
    "CSR array": sparse.csr_array,
    "CSR of float32": lambda X: csr(X, np.float32, np.int32),
    "CSR with int64 indices": lambda X: csr(X, np.float64, np.int64),
    "CSR of float32 with int64 indices": lambda X: csr(X, np.float32, np.int64),
}


@check
def check_layouts(algorithm, params):
    """Dense or CSR, float32 or float64, int32 or int64 indices give the same fit, up to rounding."""
    X, y = clouds()
    X[::3, 1] = 0
    needed = {"random_state": 0, "max_iter": 8}
    expected = make(algorithm, params, **needed).fit(X, y)
    scores = scores_of(expected, X)
    for name, layout in LAYOUTS.items():
        classifier = make(algorithm, params, **needed).fit(layout(X), y)
        for key in ("n_updates_", "n_iter_"):
            got, ours = getattr(classifier, key, None), getattr(expected, key, None)
            require(got == ours, f"{key} = {got} from X in {name}", f"{ours}, as from float64")
        for what, other in (("fitted to X", X), ("of X", layout(X))):
            own = scores_of(classifier, other)
            if scores.dtype.kind != "f" or own.shape != scores.shape:
                close, worst = np.array_equal(own, scores), own.shape
            else:
                close = np.allclose(own, scores, rtol=1e-6, atol=1e-6 * np.abs(scores).max())
                worst = np.abs(own - scores).max()
            require(close, f"other scores {what} in {name}: {worst}", "as from dense float64, to 1e-6")


@check
def check_weights(algorithm, params):
    """Weights of 1 change no bit; different weights change a fit or raise an error."""
    X, y = clouds()
    needed = {"random_state": 0, "max_iter": 8}
    plain = make(algorithm, params, **needed).fit(X, y)
    ones = make(algorithm, params, **needed).fit(X, y, np.ones(len(y)))
    require_same_fit(ones, plain, "weights of 1 and none")
    try:
        weighted = make(algorithm, params, **needed).fit(X, y, np.where(y == 1, 9.0, 1.0))
    except ValueError:
        return
    changed = difference(scores_of(weighted, X), scores_of(plain, X))
    require(changed, "the same scores from weights of 1 and 9", "other scores, or a ValueError")


@check
def check_data_are_left_alone(algorithm, params):
    """A fit changes neither X, y nor the parameters, and returns the classifier."""
    dense, y = clouds(n_classes=3)
    for X in (dense, csr(dense, np.float32, np.int32)):
        copy_X, copy_y = X.copy(), y.copy()
        classifier = make(algorithm, params, random_state=0, max_iter=8)
        before = dict(classifier.get_params(deep=False))
        require(classifier.fit(X, y) is classifier, "something else from fit", "the classifier")
        classifier.predict(X)
        require(not difference(X, copy_X), "another X after fit", "X unchanged")
        require(not difference(y, copy_y), "another y after fit", "y unchanged")
        after = classifier.get_params(deep=False)
        for name, value in before.items():
            require(after[name] is value, f"{name}={after[name]!r} after fit", f"{name}={value!r}")


@check
def check_refit_forgets(algorithm, params):
    """A second fit, to data of a different size, equals a first fit to these data."""
    X, y = clouds(n_classes=3)
    again = make(algorithm, params, random_state=0, max_iter=8).fit(X, y)
    if hasattr(again, "partial_fit"):
        again.partial_fit(X, y)
    two = y < 2
    again.fit(X[two, :2], y[two])
    fresh = make(algorithm, params, random_state=0, max_iter=8).fit(X[two, :2], y[two])
    require_same_fit(again, fresh, "a second fit and a first one")


@check
def check_partial_fit(algorithm, params):
    """Results do not depend on the sizes of chunks, nor on pickling between them."""
    if not hasattr(make(algorithm, params), "partial_fit"):
        return
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0, 2.0], size=(40, 6))
    y = np.where(X @ [3, 2, 1, 1, 1, 0.5] + rng.normal(size=40) > 0, 1, 0)
    whole = make(algorithm, params).partial_fit(X, y, classes=[0, 1])
    for size in (1, 7, 20):
        pieces = make(algorithm, params)
        for begin in range(0, 40, size):
            pieces.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=[0, 1])
            pieces = pickle.loads(pickle.dumps(pieces)) if size > 1 else pieces
        found = difference(scores_of(pieces, X), scores_of(whole, X))
        require(not found, f"other scores from chunks of {size} samples: {found}", "as from one chunk")
        got, ours = getattr(pieces, "n_updates_", None), getattr(whole, "n_updates_", None)
        require(got == ours, f"{got} updates from chunks of {size}", f"{ours}, as in one chunk")


EQUIVALENCE = "Weighted and repeated samples are processed in different orders; results agree to eps."
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": EQUIVALENCE,
    "check_sample_weight_equivalence_on_sparse_data": EQUIVALENCE,
}
NO_PENALTY = "With C = inf there is no penalty on mistakes of a class that a weight could multiply."
HARD_MARGIN = "With C = inf a hard margin does not depend on weights: different weights raise an error."


@check
def check_scikit_learn(algorithm, params, expected_failures):
    """The class passes check_estimator, except that weighted and repeated samples may differ."""
    classifier = algorithm(**params)
    expected = {**EXPECTED_FAILURES, **expected_failures}
    if math.isinf(getattr(classifier, "C", 1)):
        expected["check_class_weight_classifiers"] = NO_PENALTY
        if classifier.WEIGHTS_MULTIPLY == "C":
            expected["check_sample_weights_not_overwritten"] = HARD_MARGIN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            copy.deepcopy(classifier), expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    for result in results:
        if result["status"] == "failed":
            error = result["exception"]
            got = f"{error_as_text(error)!r} from scikit-learn's {result['check_name']}"
            raise Violation(got, "no error") from error


CHECKS = (
    check_parameters_are_declared,
    check_defaults_are_allowed,
    check_docstring,
    check_constructor_keeps_what_it_is_given,
    check_errors_name_class_and_parameter,
    check_pickle,
    check_clone,
    check_random_state,
    check_n_jobs,
    check_layouts,
    check_weights,
    check_data_are_left_alone,
    check_refit_forgets,
    check_partial_fit,
    check_certificates,
    check_termination,
    check_scikit_learn,
)


def check_algorithm(
    algorithm: str | type[Any], expected_failures: Mapping[str, str] | None = None, **params: Any
) -> None:
    """Raise AssertionError unless an algorithm passes the checks of every algorithm."""
    for run, arguments in algorithm_checks(algorithm, expected_failures, **params):
        run(*arguments)


def algorithm_checks(
    algorithm: str | type[Any], expected_failures: Mapping[str, str] | None = None, **params: Any
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """Return the checks of `check_algorithm`, to run them separately."""
    checks: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    if isinstance(algorithm, str):
        name, algorithm = algorithm, get(algorithm)
        checks.append((check_name, (algorithm, name)))
    if not inspect.isclass(algorithm):
        raise TypeError(f"algorithm must be a class or a registered name. Got {algorithm!r}.")
    expected = dict(expected_failures or {})
    for each in CHECKS:
        if each.__name__ not in expected:
            extra = (expected,) if each is check_scikit_learn else ()
            checks.append((each, (algorithm, params, *extra)))
    return checks
