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

import margins
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.maximum_margin import MaximumMarginClassifier
from margins.losses import loss_of
from margins.testing.reports import Violation, check_of, require
from margins.testing.truth import clouds, least_objective, maximum_margin, problems, separable_problem

# Classifiers that prove an accuracy `eps`.
PROVING = (MarginClassifier, MaximumMarginClassifier)

SLACK = 1e-9  # relative rounding error of values that are compared with exact ones
NAME = re.compile(r"([\w.-]+:)?[a-z][a-z0-9]*(-[a-z0-9]+)*")
IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, np.generic)

check = check_of(lambda algorithm: getattr(algorithm, "__name__", repr(algorithm)))


def check_algorithm(
    algorithm: str | type[Any], expected_failures: Mapping[str, str] | None = None, **params: Any
) -> None:
    """Raise AssertionError unless an algorithm passes the checks of every algorithm.

    Parameters
    ----------
    algorithm : str or type
        A name that `margins.get` knows, or a classifier class.
    expected_failures : dict of str, optional
        {name of a check: reason}, of checks that do not apply: of ours, or of scikit-learn's.
    **params
        Given to every instance, unless a check is about that parameter.

    Raises
    ------
    AssertionError
        Naming the class, the check, what it got and what it expected.

    Notes
    -----
    An algorithm that raises a ValueError for C=inf, because it then needs another parameter, is checked
    with finite C only; give ``C=inf`` and that parameter to check it there.
    """
    for one, arguments in algorithm_checks(algorithm, expected_failures, **params):
        one(*arguments)


def algorithm_checks(
    algorithm: str | type[Any], expected_failures: Mapping[str, str] | None = None, **params: Any
) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """The checks of `check_algorithm`, one by one.

    Parameters
    ----------
    algorithm, expected_failures, **params
        As for `check_algorithm`.

    Returns
    -------
    list of (callable, tuple)
        Checks and their arguments: ``check(*arguments)``.
    """
    checks: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    if isinstance(algorithm, str):
        name, algorithm = algorithm, margins.get(algorithm)
        checks.append((check_name, (algorithm, name)))
    if not inspect.isclass(algorithm):
        raise TypeError(f"algorithm must be a class or a registered name. Got {algorithm!r}.")
    expected = dict(expected_failures or {})
    for one in CHECKS:
        if one.__name__ not in expected:
            more = (expected,) if one is check_scikit_learn else ()
            checks.append((one, (algorithm, params, *more)))
    return checks


# ------------------------------------------------------------------------------------------- helpers


def _parameters(algorithm):
    """{name: default} of the constructor."""
    signature = inspect.signature(algorithm.__init__)
    return {
        name: parameter.default
        for name, parameter in list(signature.parameters.items())[1:]
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _make(algorithm, params, **needed):
    """An instance with the author's parameters, and those of a check that the algorithm has."""
    declared = _parameters(algorithm)
    return algorithm(**{**params, **{key: needed[key] for key in needed if key in declared}})


def _state(classifier):
    """All attributes that a fit has set, those included that the class computes."""
    names = {*vars(classifier), *dir(type(classifier))}
    found = sorted(name for name in names if name.endswith("_") and not name.startswith("_"))
    return {name: getattr(classifier, name) for name in found if hasattr(classifier, name)}


def _difference(one, other):
    """Where two values differ, bit by bit: str or None."""
    if type(one) is not type(other):
        return f"{type(one).__name__} and {type(other).__name__}"
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{sorted(map(str, one))} and {sorted(map(str, other))}"
        parts = [(f"{key}: ", one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"lengths {len(one)} and {len(other)}"
        parts = [("", *pair) for pair in zip(one, other, strict=True)]
    elif isinstance(one, np.ndarray):
        numeric = one.dtype.kind in "fc"
        if one.dtype == other.dtype and np.array_equal(one, other, equal_nan=numeric):
            return None
        return f"{one!r} and {other!r}"
    elif sparse.issparse(one):
        parts = [("", one.toarray(), other.toarray())]
    else:
        try:
            return None if one is other or bool(one == other) else f"{one!r} and {other!r}"
        except (TypeError, ValueError):
            return None  # objects without equality are not compared
    for label, left, right in parts:
        found = _difference(left, right)
        if found:
            return f"{label}{found}"
    return None


def _require_same_fit(one, other, when):
    found = _difference(_state(one), _state(other))
    require(not found, f"{when}: {found}", "two fits that are equal bit by bit")


def _scores(classifier, X):
    if hasattr(classifier, "decision_function"):
        return classifier.decision_function(X)
    return classifier.predict(X)


class _Untouchable:
    """Data that raise an error when they are read."""

    def __getattr__(self, name):
        raise Violation(f"an access to the data ({name})", "an error about the parameter before")


# ---------------------------------------------------------------------------------- what is declared


@check
def check_name(algorithm, name):
    """The name is short, in lower case, and `margins.get` returns the class every time."""
    require(NAME.fullmatch(name), f"the name {name!r}", "words in lower case, joined by '-'")
    again = margins.get(name)
    require(again is algorithm, f"another class, {again!r}, from a second call of get", "the same class")


@check
def check_parameters_are_declared(algorithm, params):
    """Every parameter of the constructor is a dataclass field with a constraint and a description."""
    require(dataclasses.is_dataclass(algorithm), "no dataclass", "parameters declared as fields")
    fields = {field.name: field for field in dataclasses.fields(algorithm)}
    constructor = _parameters(algorithm)
    require(
        constructor.keys() == fields.keys(),
        f"constructor parameters {sorted(constructor)}",
        f"those declared, {sorted(fields)}",
    )
    for name, field in fields.items():
        require(
            constructor[name] is not inspect.Parameter.empty,
            f"no default of {name}",
            "a default of every parameter",
        )
        factory = field.default_factory is not dataclasses.MISSING
        require(
            not factory and (isinstance(field.default, IMMUTABLE) or callable(field.default)),
            f"a mutable default of {name}, {'default_factory' if factory else repr(field.default)}",
            "an immutable one: instances would share it, or have different defaults",
        )
        allowed = field.metadata.get("allowed")
        require(
            callable(getattr(allowed, "contains", None)) and type(allowed).__str__ is not object.__str__,
            f"{allowed!r} as the constraint of {name}",
            "a constraint of margins.parameters in metadata['allowed']",
        )
        description = field.metadata.get("description")
        require(
            isinstance(description, str) and description.strip(),
            f"{description!r} as the description of {name}",
            "a sentence in metadata['description']",
        )


@check
def check_defaults_are_allowed(algorithm, params):
    """Every default is within its own range."""
    for field in dataclasses.fields(algorithm):
        allowed = field.metadata["allowed"]
        require(
            allowed.contains(field.default), f"the default {field.name}={field.default!r}", f"{allowed}"
        )


@check
def check_docstring(algorithm, params):
    """The docstring is the class's own; it names its source and every parameter."""
    text = inspect.cleandoc(vars(algorithm).get("__doc__") or "")
    require(text, "no docstring", "one")
    require("**Source**" in text, "a docstring without **Source**", "the paper and its equation")
    for name in _parameters(algorithm):
        require(f"\n{name} : " in text, f"no {name} in the docstring", "every parameter")


@check
def check_constructor_keeps_what_it_is_given(algorithm, params):
    """The constructor takes keywords only, and neither validates, converts nor copies."""
    given = {name: object() for name in _parameters(algorithm)}
    for how, made in (
        ("constructor", algorithm(**given)),
        ("set_params", algorithm().set_params(**given)),
    ):
        for name, value in made.get_params(deep=False).items():
            require(value is given[name], f"{name}={value!r} after {how}", "the object given")
    try:
        algorithm(1.0)
    except TypeError:
        return
    raise Violation("a positional parameter accepted", "keywords only")


def _wrong_values(allowed):
    """Values that a constraint does not allow, those next to its bounds first."""
    candidates = []
    constraints = [allowed]
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
    methods = ["fit"] + ["partial_fit"] * hasattr(_make(algorithm, params), "partial_fit")
    for field in dataclasses.fields(algorithm):
        for value in _wrong_values(field.metadata["allowed"]):
            for method in methods:
                classifier = algorithm(**{**params, field.name: value})
                given = f"{method} with {field.name}={value!r}"
                call = getattr(classifier, method, None)
                if call is None:
                    continue  # not available with such a parameter
                try:
                    call(_Untouchable(), _Untouchable())
                except (ValueError, TypeError) as error:
                    message = str(error)
                    require(
                        isinstance(error, ValueError)
                        and field.name in message
                        and algorithm.__name__ in message,
                        f"{type(error).__name__} {message!r} from {given}",
                        f"a ValueError that names {field.name} and {algorithm.__name__}",
                    )
                except Violation as violation:
                    raise Violation(f"{given}: {violation}", "the error about the parameter") from None
                else:
                    raise Violation(f"no error from {given}", "a ValueError")


# --------------------------------------------------------------------------- copies and random numbers


@check
def check_pickle(algorithm, params):
    """A pickled classifier is the same classifier."""
    X, y = clouds(n_classes=3)
    classifier = _make(algorithm, params, random_state=0, max_iter=20).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    found = _difference(classifier.get_params(deep=False), again.get_params(deep=False))
    require(not found, f"other parameters after pickling: {found}", "the same")
    _require_same_fit(again, classifier, "after pickling")
    found = _difference(_scores(again, X), _scores(classifier, X))
    require(not found, f"other scores after pickling: {found}", "the same")


@check
def check_clone(algorithm, params):
    """A clone is untrained, and trains to the same classifier."""
    X, y = clouds()
    classifier = _make(algorithm, params, random_state=5, max_iter=20).fit(X, y)
    again = clone(classifier)
    require(not _state(again), f"a clone that has {sorted(_state(again))}", "an untrained one")
    found = _difference(classifier.get_params(deep=False), again.get_params(deep=False))
    require(not found, f"other parameters of the clone: {found}", "the same")
    _require_same_fit(again.fit(X, y), classifier, "a clone, trained")


@check
def check_random_state(algorithm, params):
    """The same seed gives the same fit; numpy's global generator is not used."""
    X, y = clouds(n_classes=3)
    before = np.random.get_state()  # noqa: NPY002
    one = _make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    other = _make(algorithm, params, random_state=7, max_iter=20).fit(X, y)
    _require_same_fit(one, other, "random_state=7 twice")
    found = _difference(before, np.random.get_state())  # noqa: NPY002
    require(not found, "numpy's global random state changed", "a generator of the fit's own")


@check
def check_n_jobs(algorithm, params):
    """The number of threads changes not one bit."""
    X, y = clouds(n_classes=4)
    one, two = (
        _make(algorithm, params, n_jobs=n_jobs, random_state=3, max_iter=20).fit(X, y)
        for n_jobs in (1, 2)
    )
    _require_same_fit(one, two, "n_jobs=1 and n_jobs=2")


# ------------------------------------------------------------------------------------------- the data


def _csr(X, dtype, index):
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
    "CSR": lambda X: _csr(X, np.float64, np.int32),
    "CSR array": sparse.csr_array,
    "CSR of float32": lambda X: _csr(X, np.float32, np.int32),
    "CSR with int64 indices": lambda X: _csr(X, np.float64, np.int64),
    "CSR of float32 with int64 indices": lambda X: _csr(X, np.float32, np.int64),
}


@check
def check_layouts(algorithm, params):
    """Dense or CSR, float32 or float64, int32 or int64 indices: the same fit, but for rounding."""
    X, y = clouds()
    X[::3, 1] = 0
    needed = {"random_state": 0, "max_iter": 8}
    expected = _make(algorithm, params, **needed).fit(X, y)
    scores = _scores(expected, X)
    for name, layout in LAYOUTS.items():
        classifier = _make(algorithm, params, **needed).fit(layout(X), y)
        for key in ("n_updates_", "n_iter_"):
            got, ours = getattr(classifier, key, None), getattr(expected, key, None)
            require(got == ours, f"{key} = {got} from X in {name}", f"{ours}, as from float64")
        for what, other in (("fitted to X", X), ("of X", layout(X))):
            own = _scores(classifier, other)
            if scores.dtype.kind == "f":
                close = own.shape == scores.shape and np.allclose(
                    own, scores, rtol=1e-6, atol=1e-6 * np.abs(scores).max()
                )
                worst = np.abs(own - scores).max() if own.shape == scores.shape else own.shape
            else:
                close = worst = np.array_equal(own, scores)
            require(close, f"other scores {what} in {name}: {worst}", "those of dense float64, to 1e-6")


@check
def check_data_are_left_alone(algorithm, params):
    """A fit changes neither X, y nor the parameters, and returns the classifier."""
    dense, y = clouds(n_classes=3)
    for X in (dense, _csr(dense, np.float32, np.int32)):
        copy_X, copy_y = X.copy(), y.copy()
        classifier = _make(algorithm, params, random_state=0, max_iter=8)
        before = dict(classifier.get_params(deep=False))
        require(classifier.fit(X, y) is classifier, "something else from fit", "the classifier")
        classifier.predict(X)
        require(not _difference(X, copy_X), "another X after fit", "X unchanged")
        require(not _difference(y, copy_y), "another y after fit", "y unchanged")
        after = classifier.get_params(deep=False)
        for name, value in before.items():
            require(after[name] is value, f"{name}={after[name]!r} after fit", f"{name}={value!r}")


@check
def check_refit_forgets(algorithm, params):
    """A second fit, to data of another size, equals a first one."""
    X, y = clouds(n_classes=3)
    again = _make(algorithm, params, random_state=0, max_iter=8).fit(X, y)
    if hasattr(again, "partial_fit"):
        again.partial_fit(X, y)
    two = y < 2
    again.fit(X[two, :2], y[two])
    fresh = _make(algorithm, params, random_state=0, max_iter=8).fit(X[two, :2], y[two])
    _require_same_fit(again, fresh, "a second fit and a first one")


@check
def check_partial_fit(algorithm, params):
    """Results do not depend on the sizes of chunks, nor on pickling between them."""
    if not hasattr(_make(algorithm, params), "partial_fit"):
        return
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0, 2.0], size=(40, 6))
    y = np.where(X @ [3, 2, 1, 1, 1, 0.5] + rng.normal(size=40) > 0, 1, 0)
    whole = _make(algorithm, params).partial_fit(X, y, classes=[0, 1])
    for size in (1, 7, 20):
        pieces = _make(algorithm, params)
        for begin in range(0, 40, size):
            pieces.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=[0, 1])
            pieces = pickle.loads(pickle.dumps(pieces)) if size > 1 else pieces
        found = _difference(_scores(pieces, X), _scores(whole, X))
        require(not found, f"other scores from chunks of {size} samples: {found}", "those of one chunk")
        got, ours = getattr(pieces, "n_updates_", None), getattr(whole, "n_updates_", None)
        require(got == ours, f"{got} updates from chunks of {size}", f"{ours}, as in one chunk")


# --------------------------------------------------------------------------------- what is proven


def _fitted(algorithm, params, problem, **needed):
    """A fit to a problem, with intercept_scaling 1; None if the algorithm does not allow its C."""
    needed = {"fit_intercept": True, "intercept_scaling": 1.0, "random_state": 0, **needed}
    if "C" not in params:
        needed["C"] = problem.C
    classifier = _make(algorithm, params, **needed)
    try:
        return classifier.fit(problem.X, problem.y)
    except ValueError:
        if math.isinf(problem.C) and "C" not in params:
            return None
        raise


def _rho(classifier):
    """The value of the augmenting feature: 0 without a bias."""
    scaling = getattr(classifier, "intercept_scaling", None)
    return (1.0 if scaling is None else scaling) if getattr(classifier, "fit_intercept", True) else 0.0


def _require_true(classifier, problem, certificate):
    """Raise Violation if a certificate contradicts the exact solution."""
    problem = problem._replace(C=getattr(classifier, "C", problem.C))
    loss = getattr(classifier, "loss", "squared_hinge")
    rho = _rho(classifier)
    data = problem.data(rho)
    optimum = None  # for the hinge loss there is no oracle
    if loss != "hinge" or math.isinf(problem.C):
        gamma = maximum_margin(problem.data(rho, extended=True))
        optimum = 0.5 / gamma**2 if gamma else math.inf
        above, below = gamma * (1 + SLACK) + SLACK * (not gamma), gamma * (1 - SLACK)
        require(certificate.margin <= above, f"margin {certificate.margin}", f"at most {gamma}")
        require(
            certificate.upper_bound >= below,
            f"upper_bound {certificate.upper_bound}",
            f"at least the maximum margin, {gamma}",
        )
        require(
            certificate.primal >= optimum * (1 - SLACK),
            f"primal {certificate.primal}",
            f"at least the optimum, {optimum}",
        )
        require(
            certificate.dual <= optimum * (1 + SLACK),
            f"dual {certificate.dual}",
            f"at most the optimum, {optimum}",
        )
        if gamma:
            truth = max(certificate.margin, 0) / gamma
            require(
                certificate.fraction <= truth * (1 + SLACK),
                f"fraction {certificate.fraction}",
                f"at most {truth}, what the stated margin is of the maximum",
            )
    if certificate.upper_bound > 0 and math.isfinite(certificate.upper_bound):
        ratio = max(certificate.margin, 0) / certificate.upper_bound
        require(
            abs(certificate.fraction - ratio) <= SLACK,
            f"fraction {certificate.fraction}",
            f"margin / upper_bound, {ratio}",
        )
    require(
        0 <= certificate.fraction <= 1 and certificate.gap >= 0,
        f"fraction {certificate.fraction} and gap {certificate.gap}",
        "0 <= fraction <= 1 and gap >= 0",
    )
    if certificate.dual > 0:
        gap = certificate.primal / certificate.dual - 1
        same = gap == certificate.gap or abs(gap - certificate.gap) <= SLACK * (1 + abs(gap))
        require(same, f"gap {certificate.gap}", f"primal / dual - 1, {gap}")
    if not hasattr(classifier, "coef_"):
        return
    # The weights attain what the certificate states of them.
    w, b = classifier.coef_[0], classifier.intercept_[0]
    weights = np.append(w, b / rho if rho else 0.0)
    require(np.isfinite(weights).all(), f"coef_ and intercept_ {weights}", "finite numbers")
    attained = least_objective(data, weights, problem.C, loss)
    require(
        attained <= certificate.primal * (1 + SLACK),
        f"primal {certificate.primal}",
        f"at least {attained}, what the best multiple of coef_ and intercept_ attains",
    )
    require(
        certificate.dual <= attained * (1 + SLACK),
        f"dual {certificate.dual}",
        f"at most {attained}, what coef_ and intercept_ attain",
    )
    if math.isinf(problem.C) and weights.any():
        margin = float((data @ weights).min() / np.linalg.norm(weights))
        require(
            certificate.margin <= margin + SLACK * (1 + abs(margin)),
            f"margin {certificate.margin}",
            f"at most {margin}, that of coef_ and intercept_",
        )


@check
def check_certificates(algorithm, params):
    """Every certificate is valid, whenever a fit ends: the maximum margin of small problems is known."""
    for problem in problems():
        for max_iter in (1, 3, 50):
            classifier = _fitted(algorithm, params, problem, max_iter=max_iter)
            if classifier is None:
                break
            certificates = getattr(classifier, "certificates_", None)
            require(
                isinstance(certificates, list) and len(certificates) == 1,
                f"certificates_ = {certificates!r}",
                "a list of one certificate for two classes",
            )
            _require_true(classifier, problem, certificates[0])
            if isinstance(classifier, PROVING) and classifier.converged_:
                loss = getattr(classifier, "loss", "squared_hinge")
                require(
                    loss_of(loss, 1.0).is_proven(certificates[0], classifier.eps),
                    f"converged_ with {certificates[0]}",
                    f"accuracy eps = {classifier.eps} proven, or converged_ = False",
                )


@check
def check_termination(algorithm, params):
    """A maximum-margin classifier ends on separable data, with its accuracy proven."""
    if not issubclass(algorithm, PROVING):
        return
    for C in (math.inf, 10.0):
        for eps in (0.5, 0.1, 0.02):
            problem = separable_problem(C)
            classifier = _fitted(algorithm, params, problem, eps=eps, max_iter=20_000)
            if classifier is None:
                continue
            (certificate,) = classifier.certificates_
            given = f"C={classifier.C} and eps={classifier.eps}"
            require(classifier.converged_, f"converged_ = False with {given}", "True: the data separate")
            loss = getattr(classifier, "loss", "squared_hinge")
            require(
                loss_of(loss, 1.0).is_proven(certificate, classifier.eps),
                f"{certificate} with {given}",
                "eps proven",
            )
            _require_true(classifier, problem, certificate)


# ------------------------------------------------------------------------------- scikit-learn's checks

EQUIVALENCE = "Weighted and repeated samples are processed in different orders; results agree to eps."
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": EQUIVALENCE,
    "check_sample_weight_equivalence_on_sparse_data": EQUIVALENCE,
}
NO_PENALTY = "With C = inf there is no penalty that a weight could multiply."


@check
def check_scikit_learn(algorithm, params, expected_failures):
    """scikit-learn's own check_estimator, but for the equivalence of weighted and repeated samples."""
    classifier = algorithm(**params)
    expected = {**EXPECTED_FAILURES, **expected_failures}
    if math.isinf(getattr(classifier, "C", 1)):
        expected["check_class_weight_classifiers"] = NO_PENALTY
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            copy.deepcopy(classifier), expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    for result in results:
        if result["status"] == "failed":
            error = result["exception"]
            raise Violation(
                f"{type(error).__name__} {str(error)!r} from scikit-learn's {result['check_name']}",
                "no error",
            ) from error


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
    check_data_are_left_alone,
    check_refit_forgets,
    check_partial_fit,
    check_certificates,
    check_termination,
    check_scikit_learn,
)
