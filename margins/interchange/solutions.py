"""Models of any library as solutions: what they predict by, and the problem that they say they solve.

A model is read by the name of its class and by its fitted attributes, which scikit-learn,
scikit-learn-intelex and cuML share. None of these libraries is imported for it.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from margins.estimators.base import BaseMarginClassifier
from margins.estimators.fitted import dense_coef
from margins.estimators.margin_classifier import MarginClassifier
from margins.estimators.predictions import check_exportable, selected
from margins.kernels.selection import parameters_of
from margins.parameters import Interval, WrongParameter, check
from margins.training.schemes import fitted_scheme, scheme_of

CALLER = "certify"
LOSSES = ("hinge", "squared_hinge")
# Parameters of MarginClassifier that belong to its problem.
OF_PROBLEM = (
    *("C", "loss", "penalty", "l1_ratio", "class_weight", "penalize_intercept", "intercept_scaling"),
    "multi_class",
)
OF_KERNEL = ("kernel", "gamma", "degree", "coef0")
ALLOWED = (
    "a fitted LinearSVC, SVC, SGDClassifier, OneVsRestClassifier or OneVsOneClassifier of these, a "
    "Pipeline or search that ends with one, a classifier of margins, or a tuple (coef, intercept)"
)


class Solution(NamedTuple):
    """The weights or dual variables of a model, and the classifier of margins for the same problem."""

    optimum: MarginClassifier  # not fitted
    coef: np.ndarray | None  # float64, shape (n_problems, n_features); None: `dual_coef` with a kernel
    intercept: np.ndarray  # float64, shape (n_problems,)
    classes: np.ndarray | None = None  # None: unknown
    # A fitted classifier whose support vectors may be none of the samples, as in a file of LIBSVM.
    classifier: Any = None
    # ndarray, shape (n_dual_rows, n_samples), signed, in the layout of the scheme; None: unknown
    dual_coef: Any = None


class Part(NamedTuple):
    """One binary problem of a model that consists of several, each trained by itself."""

    model: Any  # Solution or fitted estimator of labels 0 and 1
    rows: Any  # its samples: slice, or ndarray of int
    y: np.ndarray  # int: 0 or 1 for each of them
    sample_weight: np.ndarray | None


class TrainingSamples(NamedTuple):
    """The samples that a model is read for: labels and weights; X may be in partitions."""

    y: Any  # ndarray; None: X is in partitions and holds the labels
    weight: np.ndarray | None
    n_samples: Callable[[], int]


def read_model(model: Any, stated: dict[str, Any], samples: TrainingSamples) -> Solution | list[Part]:
    """Return a model, with which `stated` arguments must agree, as a Solution or as binary models."""
    model = selected(model)
    if isinstance(model, tuple):
        return _of_arrays(model, stated, samples)
    if isinstance(model, BaseMarginClassifier):
        return _of_margins(model, stated, samples)
    names = [kind.__name__ for kind in type(model).__mro__]
    reader = next((READERS[name] for name in names if name in READERS), None)
    if reader is None:
        raise TypeError(f"model of {CALLER} must be {ALLOWED}. Got {type(model).__name__}.")
    if not hasattr(model, "classes_"):
        raise ValueError(f"model of {CALLER} must be fitted. Got {model!r}, which has no classes_.")
    return reader(model, stated, samples)


def host_array(array: Any) -> np.ndarray:
    """Return an array of a model as a dense ndarray of float64; cuML's may be on a device."""
    array = _on_host(array)
    return np.asarray(array.toarray() if sparse.issparse(array) else array, dtype=np.float64)


def classes_of(model: Any) -> np.ndarray:
    return np.asarray(_on_host(model.classes_))


def _on_host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array


def _agreed(
    model: Any, stated: dict[str, Any], facts: dict[str, Any], name_of_model: str = ""
) -> dict[str, Any]:
    """Return the facts that a model states; raise WrongParameter if an argument contradicts them."""
    name_of_model = name_of_model or type(model).__name__
    for name, value in stated.items():
        if name not in facts:
            raise WrongParameter(
                f"{name} of {CALLER} must be omitted for {name_of_model}. Got {value!r}."
            )
        fact = facts[name]
        is_close = isinstance(fact, float) and isinstance(value, int | float)
        if not (math.isclose(fact, value, rel_tol=1e-9) if is_close else fact == value):
            raise WrongParameter(
                f"{name} of {CALLER} must be omitted, or {fact!r}, which {name_of_model} states. "
                f"Got {value!r}."
            )
    return facts


def _optimum(facts: dict[str, Any], fit_intercept: bool = True) -> MarginClassifier:
    """Return the classifier of margins whose problem has these facts."""
    parameters = {name: facts[name] for name in (*OF_PROBLEM, *OF_KERNEL) if name in facts}
    if not (fit_intercept and parameters.get("penalize_intercept", True)):
        parameters.pop("intercept_scaling", None)
    optimum = MarginClassifier(fit_intercept=fit_intercept, **parameters)
    vars(optimum)["_display_name"] = _caller  # in messages
    try:
        optimum.check_parameters()
    except ValueError as error:
        raise WrongParameter(str(error)) from error
    return optimum


def _caller(method: str | None = None) -> str:
    """Return the name of the function that users call."""
    return CALLER


def _check(model: Any, name: str, *allowed: Any) -> Any:
    """Return a parameter of a model; raise a ValueError if it has none of the allowed values."""
    value = getattr(model, name, allowed[0])
    if value not in allowed:
        raise ValueError(
            f"{name} of the {type(model).__name__} passed to {CALLER} must be "
            f"{' or '.join(map(repr, allowed))}. Got {value!r}."
        )
    return value


def _weights_by_class(model: Any, samples: TrainingSamples, balances_weights: bool = False) -> Any:
    """Return the factor of C for each class of a fitted estimator, or None."""
    if model.class_weight is None:
        return None
    if samples.y is None:
        raise ValueError(f"class_weight of {type(model).__name__} must be None if X is in chunks.")
    from sklearn.utils.class_weight import compute_class_weight

    arguments: dict[str, Any] = {"classes": classes_of(model), "y": samples.y}
    # "balanced" counts sample weights, since scikit-learn has that.
    if balances_weights and "sample_weight" in inspect.signature(compute_class_weight).parameters:
        arguments["sample_weight"] = samples.weight
    return compute_class_weight(model.class_weight, **arguments)


def _linear(
    model: Any, facts: dict[str, Any], samples: TrainingSamples, balances_weights: bool = False
) -> Solution | list[Part]:
    """Return LinearSVC or SGDClassifier."""
    coef, classes = host_array(model.coef_), classes_of(model)
    intercept = np.broadcast_to(host_array(model.intercept_).ravel(), len(coef))
    fit_intercept = bool(model.fit_intercept)
    weights = _weights_by_class(model, samples, balances_weights)
    facts = {**facts, "class_weight": None}
    if weights is not None and len(classes) == 2:
        facts["class_weight"] = dict(zip(classes.tolist(), weights.tolist(), strict=True))
    if weights is None or len(classes) == 2:
        return Solution(_optimum(facts, fit_intercept), coef, intercept, classes)
    parts = []
    for index, label in enumerate(classes):  # the weight is for the positive class only
        facts["class_weight"] = {0: 1.0, 1: float(weights[index])}
        optimum, one = _optimum(facts, fit_intercept), slice(index, index + 1)
        solution = Solution(optimum, coef[one], intercept[one], np.array([0, 1]))
        parts.append(Part(solution, slice(None), (samples.y == label).astype(int), samples.weight))
    return parts


def _linear_svc(model: Any, stated: dict[str, Any], samples: TrainingSamples) -> Solution | list[Part]:
    _check(model, "multi_class", "ovr")
    facts = {
        "penalty": _check(model, "penalty", "l2", "l1"),
        "C": float(model.C),
        "loss": _check(model, "loss", *LOSSES),
        "penalize_intercept": bool(getattr(model, "penalized_intercept", True)),  # of cuML
        "intercept_scaling": float(getattr(model, "intercept_scaling", 1.0)),
        "class_weight": model.class_weight,
    }
    return _linear(model, _agreed(model, stated, facts), samples, balances_weights=True)


def _sgd(model: Any, stated: dict[str, Any], samples: TrainingSamples) -> Solution | list[Part]:
    """Return SGDClassifier, whose objective alpha r(w) plus the mean loss has C = 1 / (alpha m)."""
    penalty = _check(model, "penalty", "l2", "l1", "elasticnet")
    _check(model, "early_stopping", False)  # it trains on an unknown part of the samples
    if not model.alpha > 0:
        raise ValueError(
            f"alpha of the SGDClassifier passed to {CALLER} must be > 0. Got {model.alpha!r}."
        )
    facts = {
        "alpha": float(model.alpha),
        "C": 1 / (float(model.alpha) * samples.n_samples()),
        "penalty": penalty,
        "l1_ratio": float(model.l1_ratio) if penalty == "elasticnet" else None,
        "loss": _check(model, "loss", *LOSSES),
        "penalize_intercept": False,
        "class_weight": model.class_weight,
    }
    return _linear(model, _agreed(model, stated, facts), samples)


def _svc(model: Any, stated: dict[str, Any], samples: TrainingSamples) -> Solution:
    """Return SVC: the hinge loss, a free intercept, and dual variables in the layout of `OneVsOne`."""
    facts = {
        "C": float(model.C),
        "loss": "hinge",
        "penalize_intercept": False,
        "multi_class": "ovo",
        "class_weight": model.class_weight,
        **{name: getattr(model, name) for name in OF_KERNEL},
    }
    facts = _agreed(model, stated, facts)
    if isinstance(model.gamma, str):  # of all samples, also those of weight 0
        facts["gamma"] = float(getattr(model, "_gamma", 0.0)) or model.gamma
    weights, classes = _weights_by_class(model, samples), classes_of(model)
    if weights is not None:
        facts["class_weight"] = dict(zip(classes.tolist(), weights.tolist(), strict=True))
    dual_coef = _at_support(host_array(model.dual_coef_), model.support_, samples)
    coef = host_array(model.coef_) if model.kernel == "linear" else None
    intercept = host_array(model.intercept_)
    return Solution(_optimum(facts), coef, intercept, classes, dual_coef=dual_coef)


def _at_support(dual_coef: np.ndarray, support: Any, samples: TrainingSamples) -> np.ndarray:
    """Return the dual variables of all samples, given those of the support vectors."""
    support, n_samples = host_array(support).astype(int), samples.n_samples()
    if samples.weight is not None and not samples.weight.all():
        # SVC numbers support vectors among the samples of positive weight.
        kept = np.flatnonzero(samples.weight)
        support = kept[np.minimum(support, len(kept) - 1)]
    if len(support) and support.max() >= n_samples:
        raise ValueError(
            f"X of {CALLER} must be the samples that the model was fitted to, because its dual "
            f"variables belong to them. Got {n_samples} samples, and support vector {support.max()}."
        )
    full = np.zeros((len(dual_coef), n_samples))
    full[:, support] = dual_coef
    return full


def _of_margins(model: Any, stated: dict[str, Any], samples: TrainingSamples) -> Solution:
    """Return a classifier of margins; its specification says which problem it solves."""
    check_exportable(model, CALLER)
    specification = model.specification(np.ones(1))
    facts = {
        "C": float(specification.C),
        "loss": specification.loss,
        "class_weight": model.class_weight,
        "penalize_intercept": not specification.has_free_intercept,
    }
    is_from_file = not hasattr(model, "n_iter_")  # of LIBLINEAR or LIBSVM, which states less
    states_penalty = hasattr(model, "penalty") and not is_from_file
    if states_penalty or specification.regulariser is not None:
        facts |= {"penalty": model.penalty, "l1_ratio": model.l1_ratio}
    if len(model.classes_) > 2:
        facts["multi_class"] = "ovo" if fitted_scheme(model).has_pairs else "ovr"
    if model.fit_intercept and not specification.has_free_intercept:
        square = getattr(model, "sq_intercept_scaling_", specification.sq_intercept_scaling)
        facts["intercept_scaling"] = math.sqrt(square)
    if is_from_file:
        if facts.get("multi_class") == "ovr" and "class_weight" in stated:
            raise WrongParameter(
                f"class_weight of {CALLER} must be omitted for a file with several classes: in "
                "LIBLINEAR it multiplies C of the positive class only. Pass its models one by one."
            )
        free = ["alpha", "class_weight", "penalize_intercept"]
        # A file of LIBSVM says C-SVC whatever the loss that this library fitted.
        free += ["loss"] if facts.get("multi_class") == "ovo" or not hasattr(model, "coef_") else []
        free += [] if "penalty" in facts else ["penalty", "l1_ratio"]  # nor of any penalty but l1
        facts |= {name: stated[name] for name in free if name in stated}
        facts["C"] = _penalty_of(stated, samples)
    facts = _agreed(model, stated, facts, "the file" if is_from_file else "")
    if not hasattr(model, "coef_"):
        is_precomputed = model.kernel_.name == "precomputed"
        facts["kernel"] = "precomputed" if is_precomputed else model.kernel_
    optimum = _optimum(facts, model.fit_intercept)
    if hasattr(model, "coef_"):
        return Solution(optimum, dense_coef(model), model.intercept_, model.classes_)
    if is_from_file and model.kernel != "precomputed":
        return Solution(optimum, None, model.intercept_, model.classes_, classifier=model)
    dual_coef = _at_support(model.dual_coef_, model.support_, samples)
    return Solution(optimum, None, model.intercept_, model.classes_, dual_coef=dual_coef)


def _penalty_of(stated: dict[str, Any], samples: TrainingSamples) -> float:
    """Return C of a model that does not state it."""
    if ("C" in stated) == ("alpha" in stated):
        raise WrongParameter(
            f"Exactly one of C and alpha of {CALLER} must be passed for a model that does not state it."
        )
    name = "C" if "C" in stated else "alpha"
    check(name, CALLER, stated[name], Interval(0, math.inf, "right"))
    return float(stated["C"]) if name == "C" else 1 / (stated["alpha"] * samples.n_samples())


def _of_arrays(model: tuple[Any, ...], stated: dict[str, Any], samples: TrainingSamples) -> Solution:
    """Return a tuple (coef, intercept) or, with a kernel, (dual_coef, intercept)."""
    if len(model) != 2:
        raise ValueError(f"model of {CALLER} must be {ALLOWED}. Got a tuple of {len(model)} elements.")
    facts = {**stated, "C": _penalty_of(stated, samples)}
    has_effect = parameters_of(facts.get("kernel", "linear"))
    has_no_effect = [name for name in OF_KERNEL[1:] if name not in has_effect]
    has_no_effect += ["penalize_intercept", "intercept_scaling"] if model[1] is None else []
    if facts.get("penalize_intercept") is False:
        has_no_effect.append("intercept_scaling")
    for name in has_no_effect:
        if name in stated:
            raise WrongParameter(f"{name} of {CALLER} must be omitted: it has no effect here.")
    values = np.atleast_2d(host_array(model[0]))
    has_intercept = model[1] is not None
    intercept = host_array(model[1] if has_intercept else 0.0).ravel()
    optimum = _optimum(facts, has_intercept)
    if optimum.kernel == "linear":
        n_problems = len(values)
    else:
        n_problems = scheme_of(optimum.multi_class, len(np.unique(samples.y))).n_problems
    if len(intercept) not in (1, n_problems):
        raise ValueError(
            f"intercept of {CALLER} must hold 1 or {n_problems} numbers. Got {len(intercept)}."
        )
    intercept = np.broadcast_to(intercept, n_problems)
    if optimum.kernel == "linear":
        return Solution(optimum, values, intercept)
    return Solution(optimum, None, intercept, dual_coef=values)


def has_pairs(model: Any) -> bool:
    """Return whether a model has an estimator for each pair of several classes."""
    return hasattr(model, "pairwise_indices_") and len(model.classes_) > 2


def _meta(model: Any, stated: dict[str, Any], samples: TrainingSamples) -> list[Part]:
    """Return the binary models of OneVsRestClassifier or OneVsOneClassifier."""
    _agreed(model, stated, {})
    classes, y, weight = classes_of(model), samples.y, samples.weight
    if y is None:
        raise ValueError(f"X of {CALLER} must be in memory for a {type(model).__name__}. Got chunks.")
    is_ovo, parts = has_pairs(model), []
    labels = scheme_of("ovo" if is_ovo else "ovr", len(classes)).labels(classes)
    for estimator, label in zip(model.estimators_, labels, strict=True):
        rows = np.flatnonzero(np.isin(y, label)) if is_ovo else slice(None)
        positive = label[1] if is_ovo else label
        of_part = None if weight is None else weight[rows]
        parts.append(Part(estimator, rows, (y[rows] == positive).astype(int), of_part))
    return parts


READERS: dict[str, Callable[[Any, dict[str, Any], TrainingSamples], Solution | list[Part]]] = {
    "LinearSVC": _linear_svc,
    "SVC": _svc,
    "SGDClassifier": _sgd,
    "OneVsRestClassifier": _meta,
    "OneVsOneClassifier": _meta,
}
