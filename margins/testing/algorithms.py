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

from margins.estimators.fitted import LEFT_OUT
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.losses import loss_of
from margins.registry import get
from margins.testing import truth
from margins.testing.reports import Violation, check_of, error_as_text, require

NAME = re.compile(r"([\w.-]+:)?[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, np.generic)
SLACK = 1e-9  # relative rounding error in comparisons with exact values
# Classifiers that prove an accuracy `eps`.
PROVING = (MarginClassifier, MaximumMarginClassifier)

check = check_of(lambda algorithm: getattr(algorithm, "__name__", repr(algorithm)))


def parameters_of(algorithm):
    """Return {name: default} of the constructor."""
    signature = inspect.signature(algorithm.__init__)
    return {
        name: parameter.default
        for name, parameter in list(signature.parameters.items())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def make(algorithm, params, **needed):
    """Return an instance with the author's parameters, and a check's parameters if they exist."""
    declared = parameters_of(algorithm)
    return algorithm(**{**params, **{key: needed[key] for key in needed if key in declared}})


def state_of(classifier):
    """Return all fitted attributes, including attributes that the class computes."""
    names = {*vars(classifier), *dir(type(classifier))}
    fitted = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in fitted if hasattr(classifier, name)}


def difference(first, second):
    """Return a description of the first difference of two values, bit by bit, or None."""
    if type(first) is not type(second):
        return f"{type(first).__name__} and {type(second).__name__}"
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return f"{sorted(map(str, first))} and {sorted(map(str, second))}"
        parts = [(f"{key}: ", first[key], second[key]) for key in first]
    elif isinstance(first, list | tuple):
        if len(first) != len(second):
            return f"lengths {len(first)} and {len(second)}"
        parts = [("", *pair) for pair in zip(first, second, strict=True)]
    elif isinstance(first, np.ndarray):
        numeric = first.dtype.kind in "fc"
        if first.dtype == second.dtype and np.array_equal(first, second, equal_nan=numeric):
            return None
        return f"{first!r} and {second!r}"
    elif sparse.issparse(first):
        parts = [("", first.toarray(), second.toarray())]
    else:
        try:
            return None if first is second or bool(first == second) else f"{first!r} and {second!r}"
        except (TypeError, ValueError):
            return None  # objects without equality are not compared
    for label, left, right in parts:
        text = difference(left, right)
        if text:
            return f"{label}{text}"
    return None


def require_same_fit(first, second, when):
    text = difference(state_of(first), state_of(second))
    require(not text, f"{when}: {text}", "two fits that are equal bit by bit")


def require_same(first, second, what):
    """Raise Violation unless two values are equal bit by bit."""
    text = difference(first, second)
    require(not text, f"other {what}: {text}", "the same")


def scores_of(classifier, X):
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(X)
    return classifier.predict(X)


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
        default = constructor[name]
        require(default is not inspect.Parameter.empty, f"no default of {name}", "a default")
        factory = field.default_factory is not dataclasses.MISSING
        is_immutable = isinstance(field.default, IMMUTABLE) or callable(field.default)
        got = f"a mutable default of {name}, {'default_factory' if factory else repr(field.default)}"
        expected = "an immutable default: instances would share it, or have different defaults"
        require(is_immutable and not factory, got, expected)
        allowed = field.metadata.get("allowed")
        has_test = callable(getattr(allowed, "contains", None))
        expected = "a constraint of margins.parameters in metadata['allowed']"
        is_constraint = has_test and type(allowed).__str__ is not object.__str__
        require(is_constraint, f"{allowed!r} as the constraint of {name}", expected)
        text = field.metadata.get("description")
        expected = "a sentence in metadata['description']"
        is_sentence = isinstance(text, str) and text.strip()
        require(is_sentence, f"{text!r} as the description of {name}", expected)


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
                if not hasattr(classifier, method):
                    continue  # not available with such a parameter
                try:
                    getattr(classifier, method)(_Untouchable(), _Untouchable())
                except (ValueError, TypeError) as error:
                    is_named = field.name in str(error) and algorithm.__name__ in str(error)
                    got = f"{type(error).__name__} {str(error)!r} from {attempt}"
                    expected = f"a ValueError that names {field.name} and {algorithm.__name__}"
                    require(is_named and isinstance(error, ValueError), got, expected)
                except Violation as violation:
                    raise Violation(f"{attempt}: {violation}", "the error about the parameter") from None
                else:
                    raise Violation(f"no error from {attempt}", "a ValueError")


@check
def check_pickle(algorithm, params):
    """A classifier is the same after pickling, which may leave out dual variables of linear models."""
    X, y = truth.clouds(n_classes=3)
    classifier = make(algorithm, params, random_state=0, max_iter=20).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    own = classifier.get_params(deep=False)
    require_same(own, again.get_params(deep=False), "parameters after pickling")
    left_out = ("dual_coef_", "support_") if LEFT_OUT in vars(again) else ()
    state = {name: value for name, value in state_of(classifier).items() if name not in left_out}
    text = difference(state_of(again), state)
    require(not text, f"after pickling: {text}", "the same fitted attributes, bit by bit")
    require_same(scores_of(again, X), scores_of(classifier, X), "scores after pickling")


@check
def check_clone(algorithm, params):
    """A clone is untrained, and training it gives the same classifier."""
    X, y = truth.clouds()
    classifier = make(algorithm, params, random_state=5, max_iter=20).fit(X, y)
    again = clone(classifier)
    require(not state_of(again), f"a clone that has {sorted(state_of(again))}", "an untrained one")
    own = classifier.get_params(deep=False)
    require_same(own, again.get_params(deep=False), "parameters of the clone")
    require_same_fit(again.fit(X, y), classifier, "a clone, trained")


@check
def check_random_state(algorithm, params):
    """The same seed gives the same fit, and NumPy's global generator is not used."""
    X, y = truth.clouds(n_classes=3)
    before = np.random.get_state()  # noqa: NPY002
    first = make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    second = make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    require_same_fit(first, second, "random_state=7 twice")
    require_same(before, np.random.get_state(), "global random state of NumPy")  # noqa: NPY002


@check
def check_n_jobs(algorithm, params):
    """The number of threads does not change a bit of the result."""
    X, y = truth.clouds(n_classes=4)
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
    X, y = truth.clouds()
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
    X, y = truth.clouds()
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
    dense, y = truth.clouds(n_classes=3)
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
    X, y = truth.clouds(n_classes=3)
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
        require_same(scores_of(pieces, X), scores_of(whole, X), f"scores from chunks of {size} samples")
        got, ours = getattr(pieces, "n_updates_", None), getattr(whole, "n_updates_", None)
        require(got == ours, f"{got} updates from chunks of {size}", f"{ours}, as in one chunk")


def _fitted(algorithm, params, problem, **needed):
    """Return a fit to a problem with intercept_scaling 1; None if its C is not allowed."""
    needed = {"fit_intercept": True, "intercept_scaling": 1.0, "random_state": 0, **needed}
    if "C" not in params:
        needed["C"] = problem.C
    classifier = make(algorithm, params, **needed)
    try:
        return classifier.fit(problem.X, problem.y)
    except ValueError:
        if math.isinf(problem.C) and "C" not in params:
            return None
        raise


def _rho(classifier):
    """Return the value of the augmenting feature, 0 without a bias."""
    scaling = getattr(classifier, "intercept_scaling", None)
    return (1.0 if scaling is None else scaling) if getattr(classifier, "fit_intercept", True) else 0.0


def _require_true(classifier, problem, certificate):
    """Raise Violation if a certificate contradicts the exact solution."""
    problem = problem._replace(C=getattr(classifier, "C", problem.C))
    loss = getattr(classifier, "loss", "squared_hinge")
    rho = _rho(classifier)
    data = problem.data(rho)
    names = "margin", "upper_bound", "primal", "dual", "fraction", "gap"
    margin, upper_bound, primal, dual, fraction, gap = (getattr(certificate, name) for name in names)
    if loss != "hinge" or math.isinf(problem.C):
        gamma = truth.maximum_margin(problem.data(rho, extended=True))
        optimum = 0.5 / gamma**2 if gamma else math.inf
        above, below = gamma * (1 + SLACK) + SLACK * (not gamma), gamma * (1 - SLACK)
        require(margin <= above, f"margin {margin}", f"at most {gamma}")
        expected = f"at least the maximum margin, {gamma}"
        require(upper_bound >= below, f"upper_bound {upper_bound}", expected)
        lowest, highest = optimum * (1 - SLACK), optimum * (1 + SLACK)
        require(primal >= lowest, f"primal {primal}", f"at least the optimum, {optimum}")
        require(dual <= highest, f"dual {dual}", f"at most the optimum, {optimum}")
        if gamma:
            share = max(margin, 0) / gamma
            expected = f"at most {share}, the stated margin divided by the maximum margin"
            require(fraction <= share * (1 + SLACK), f"fraction {fraction}", expected)
    if upper_bound > 0 and math.isfinite(upper_bound):
        ratio = max(margin, 0) / upper_bound
        expected = f"margin / upper_bound, {ratio}"
        require(abs(fraction - ratio) <= SLACK, f"fraction {fraction}", expected)
    got, expected = f"fraction {fraction} and gap {gap}", "0 <= fraction <= 1 and gap >= 0"
    require(0 <= fraction <= 1 and gap >= 0, got, expected)
    improvement = certificate.improvement
    require(0 <= improvement <= 1, f"improvement {improvement}", "0 <= improvement <= 1")
    if dual > 0:
        ratio = primal / dual - 1
        same = ratio == gap or abs(ratio - gap) <= SLACK * (1 + abs(ratio))
        require(same, f"gap {gap}", f"primal / dual - 1, {ratio}")
    if not hasattr(classifier, "coef_"):
        return
    # The weights must attain the certificate's primal value and margin.
    w, b = classifier.coef_[0], classifier.intercept_[0]
    weights = np.append(w, b / rho if rho else 0.0)
    require(np.isfinite(weights).all(), f"coef_ and intercept_ {weights}", "finite numbers")
    attained = truth.objective(data, weights, problem.C, loss)
    value = f"{attained}, what coef_ and intercept_ attain"
    require(attained <= primal * (1 + SLACK), f"primal {primal}", f"at least {value}")
    best = truth.least_objective(data, weights, problem.C, loss)
    limit = f"{1 / math.sqrt(2 * best)}, the margin at the best multiple of coef_ and intercept_"
    is_attained = best <= certificate.rescaled_primal * (1 + SLACK)
    require(is_attained, f"margin {margin}", f"at most {limit}")
    require(dual <= attained * (1 + SLACK), f"dual {dual}", f"at most {value}")
    if math.isinf(problem.C) and weights.any():
        own = float((data @ weights).min() / np.linalg.norm(weights))
        expected = f"at most {own}, the margin of coef_ and intercept_"
        require(margin <= own + SLACK * (1 + abs(own)), f"margin {margin}", expected)


@check
def check_certificates(algorithm, params):
    """Every certificate is valid, whenever a fit ends, for small problems with known maximum margin."""
    for problem in truth.problems():
        for max_iter in (1, 3, 50):
            classifier = _fitted(algorithm, params, problem, max_iter=max_iter)
            if classifier is None:
                break
            certificates = getattr(classifier, "certificates_", None)
            is_list = isinstance(certificates, list) and len(certificates) == 1
            expected = "a list of one certificate for two classes"
            require(is_list, f"certificates_ = {certificates!r}", expected)
            _require_true(classifier, problem, certificates[0])
            if isinstance(classifier, PROVING) and classifier.converged_:
                expected = f"accuracy eps = {classifier.eps} proven, or converged_ = False"
                _require_proven(classifier, f"converged_ with {certificates[0]!r}", expected)


def _require_proven(classifier, got, expected):
    loss = loss_of(getattr(classifier, "loss", "squared_hinge"), 1.0)
    require(loss.is_proven(classifier.certificates_[0], classifier.eps), got, expected)


@check
def check_termination(algorithm, params):
    """A maximum-margin classifier ends on separable data with its accuracy proven."""
    if not issubclass(algorithm, PROVING):
        return
    for C in (math.inf, 10.0):
        for eps in (0.5, 0.1, 0.02):
            problem = truth.separable_problem(C)
            classifier = _fitted(algorithm, params, problem, eps=eps, max_iter=20_000)
            if classifier is None:
                continue
            (certificate,) = classifier.certificates_
            settings = f"C={classifier.C} and eps={classifier.eps}"
            got, expected = f"converged_ = False with {settings}", "True, because the data are separable"
            require(classifier.converged_, got, expected)
            _require_proven(classifier, f"{certificate!r} with {settings}", "eps proven")
            _require_true(classifier, problem, certificate)


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
