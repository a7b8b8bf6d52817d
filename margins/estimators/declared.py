"""Makes the constructor and the docstring of an estimator from its declared parameters."""

import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Self, dataclass_transform

from margins.estimators.names import display_name
from margins.parameters import check, describe_parameters, parameter, with_advice

ATTRIBUTES = """
Attributes
----------
coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
    Weights, scaled to minimise the objective (to functional margin 1 if C = inf), so comparable to the
    weights of LinearSVC. Only with ``kernel="linear"``.
intercept_ : ndarray of float64, shape (1,) or (n_classes,)
classes_ : ndarray, shape (n_classes,)
certificates_ : list of Certificate
    Proven bounds of each binary problem, in the feature space of the kernel. Empty after `partial_fit`,
    which keeps no samples.
upper_bounds_ : list of float
    Only after `partial_fit`: for each binary problem, a bound that no margin of all samples so far
    exceeds, including the samples of a fit before; inf before the first update.
dual_coef_ : ndarray of float64, shape (1, n_samples) or (n_classes, n_samples)
    With ``kernel="linear"``: the dual variables alpha_k >= 0, scaled to be feasible (if C < inf, or if
    the algorithm keeps them). `coef_` is proportional to the sum of alpha_k y_k x_k; after Newton steps,
    only approximately.
    With another kernel: the coefficients of K(support vector, x) in the scores, signed by the labels,
    as in SVC; shape (1, n_support) or (n_classes, n_support).
    Pickles and files of linear models hold them, and `support_`, only with ``warm_start=True``.
support_ : ndarray of int, shape (n_support,)
    Indices of the samples whose dual variable is not 0 in some binary problem; with a kernel ordered by
    class, as in SVC, otherwise sorted. Linear models have it if they have `dual_coef_`.
support_vectors_ : ndarray or CSR matrix, shape (n_support, n_features)
    These samples; empty if the kernel is precomputed. Only with a kernel.
n_support_ : ndarray of int32, shape (n_classes,)
    Number of support vectors of each class. Only with a kernel.
solver_ : str
    Solvers that ran, in order, joined by " + "; "rules" if only the rules of the algorithm ran.
phases_ : list of lists of margins.solvers.base.PhaseRecord
    For each binary problem and phase: solver, epochs, updates, accesses, seconds.
learning_curve_ : list of lists of margins.solvers.driver.Epoch
    For each binary problem and full epoch: epoch, updates so far, mistakes, certificate, accesses so
    far, solver. The certificate is None if it was not computed, because the estimated gap exceeded the
    tolerance or, with ``stop="clean-pass"``, because the pass made updates.
converged_ : bool
    True if every binary problem converged: its accuracy is proven or, for algorithms without an
    accuracy, a full epoch made no updates.
n_iter_ : int
    Number of full epochs, the maximum over the binary problems.
n_updates_ : int
    Number of updates, with multiplicities, summed over the binary problems.
n_accesses_ : int
    Number of sample accesses, with or without an update, summed over the binary problems: a measure of
    work that does not depend on the machine.
n_features_in_ : int
feature_names_in_ : ndarray of str, shape (n_features,)
    Only if X has string column names.
"""

# The section "Examples" of an algorithm that gives only its call of `margins.get` as its EXAMPLE.
EXAMPLE = """Examples
--------
>>> import margins
>>> X, y = [[1, 2], [2, 1], [-1, -1], [-2, 0]], [1, 1, 0, 0]
>>> margins.{}.fit(X, y).converged_
True"""

OF_THE_PAPER = ("", "omit it: the algorithm runs exactly the rules of its paper")
# {parameter: pieces of advice}. Each comes with the parameter that makes it true of a class; "" if it is
# always true. The first true one is given.
SKLEARN_ADVICE: dict[str, tuple[tuple[str, str], ...]] = {
    "alpha": (
        ("loss", "use C=1 / (alpha * n_samples)"),
        ("eps", "use C=1 / (alpha * n_samples)"),
        ("C", "omit it: a finite C gives the 2-norm soft margin"),
    ),
    "average": (
        ("averaging", "use averaging='averaged'"),
        ("solver", "omit it: the fit ends at the optimum"),
    ),
    "break_ties": (("", "if scores or votes are equal, the first class is predicted"),),
    "decision_function_shape": (("", "there is one score for each class, as with 'ovr'"),),
    "dual": (
        ("solver", "omit it: the solver is chosen for the data, and the certificate has both values"),
        OF_THE_PAPER,
    ),
    "early_stopping": (("", "use margins.callbacks.EarlyStopping with held-out samples"),),
    "eta0": (
        ("eta", "use eta"),
        ("aggressiveness", "use aggressiveness with radius=1, as eta0 of learning_rate='pa1' and 'pa2'"),
        ("solver", "omit it: the solvers have no learning rate"),
    ),
    "learning_rate": (
        ("aggressiveness", "omit it: margins.get('pa-i') is 'pa1', and margins.get('pa-ii') is 'pa2'"),
        ("solver", "omit it: the solvers have no learning rate"),
        OF_THE_PAPER,
    ),
    "multi_class": (
        ("", "classes are one-vs-rest; for pairs use MarginClassifier or OneVsOneClassifier"),
    ),
    "n_iter_no_change": (
        ("eps", "omit it: a fit ends when eps is proven"),
        ("max_iter", "omit it: max_iter limits the number of epochs"),
    ),
    "penalty": (("C", "omit it: a finite C gives the 2-norm soft margin"),),
    "probability": (
        ("solver", "use MarginClassifierCV(calibration='sigmoid'), or CalibratedClassifierCV around it"),
        ("", "use sklearn.calibration.CalibratedClassifierCV around it"),
    ),
    "shuffle": (("solver", "omit it: random_state chooses the order of the samples"),),
    "shrinking": (("solver", "omit it: only solver='dcd' shrinks, and it always does"), OF_THE_PAPER),
    "tol": (("eps", "use eps, the accuracy that a fit proves"),),
}

# Class attributes of version 0.3, and their present names.
RENAMED = {"WEIGHTS": "WEIGHTS_MULTIPLY", "KEPT": "STREAM_STATE"}
# Class attributes of version 0.2, and the fields of a specification that replace them.
REPLACED = {
    "_keeps_dual": "keep_dual",
    "_model_scale": "model_scale",
    "_needs_same_samples": "needs_same_samples",
    "_takes_zero_rows": "allows_zero_rows",
}


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class Declared:
    """Base class that makes the constructor and the docstring from declared parameters.

    Messages name an instance by its `_display_name`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, present in RENAMED.items():
            if hasattr(cls, name):  # also of a mixin
                raise TypeError(
                    f"{cls.__name__} has a class attribute {name}, which no longer has an effect: "
                    f"its name is {present}."
                )
        for name in REPLACED.keys() & vars(cls).keys():
            raise TypeError(
                f"{cls.__name__} must set {REPLACED[name]} in its `specification`. "
                f"Got the class attribute {name}, which no longer has an effect."
            )
        _make_defaults(cls)
        dataclass(kw_only=True, repr=False, eq=False)(cls)
        names = [each.name for each in fields(cls)]  # type: ignore[arg-type]  # a dataclass from here on
        type.__setattr__(cls, "__init__", with_advice(cls.__init__, advice_for(names)))
        if cls.__doc__ and not cls.__name__.startswith("_"):
            text = inspect.cleandoc(cls.__doc__)
            # numpydoc's order: See Also and Examples follow the attributes.
            head, tail = (*re.split(r"\n\n(?=(?:See Also|Examples)\n-)", text, maxsplit=1), "")[:2]
            # Algorithms that learn from streams describe the state that streams keep.
            stream_state = getattr(cls, "STREAM_STATE", None)
            if stream_state is not None:
                head += "\n\n" + textwrap.fill(f"**Kept** between chunks and fits: {stream_state}", 100)
            attributes = _attributes_of(getattr(cls, "DOCUMENTED", {}))
            if "EXAMPLE" in vars(cls):
                tail += f"\n\n{EXAMPLE.format(vars(cls)['EXAMPLE'])}"
            sections = [head, describe_parameters(cls), attributes, tail]
            cls.__doc__ = "\n\n".join(filter(None, sections))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # Cache the names: scikit-learn inspects the constructor for each clone, longer than a small fit.
        names: list[str] | None = cls.__dict__.get("_param_names")
        if names is None:
            names = super()._get_param_names()  # type: ignore[misc]
            type.__setattr__(cls, "_param_names", names)
        return names

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of an object such as a `penalty` as penalty__NAME; return the estimator.

        Raises
        ------
        ValueError
            If the estimator, or the object, does not have a parameter.
        """
        nested = [key for key in params if "__" in key]
        known = self.get_params(deep=False) if nested else {}  # type: ignore[attr-defined]
        for key in nested:
            name = key.partition("__")[0]
            value = params.get(name, known.get(name))
            if name in known and (isinstance(value, type) or not hasattr(value, "set_params")):
                raise ValueError(
                    f"Invalid parameter {key!r} of {self._display_name('set_params')}. "
                    f"Valid parameters are: {', '.join(known)}. Got {name}={value!r}."
                )
        return super().set_params(**params)  # type: ignore[misc]

    def _display_name(self, method: str | None = None) -> str:
        """Return the name of the estimator, and the method if there is one, for messages.

        An estimator that works for another estimator has it as its `_owner`, and uses its name.
        """
        return display_name(vars(self).get("_owner", self), method)


def _make_defaults(cls: type[Any]) -> None:
    """Make values that a class assigns to inherited parameters, without a type, their defaults."""
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= getattr(base, "__dataclass_fields__", {})
    annotations = dict(cls.__annotations__)  # assigned below: since Python 3.14 they are made on demand
    for name in inherited.keys() & vars(cls).keys() - annotations.keys():
        value, metadata = vars(cls)[name], inherited[name].metadata
        if "allowed" not in metadata or isinstance(value, Field):
            continue  # dataclasses says that a field lacks a type
        check(name, cls.__name__, value, metadata["allowed"])
        annotations[name] = inherited[name].type
        setattr(cls, name, field(default=value, metadata=metadata))
    cls.__annotations__ = annotations


def _attributes_of(changes: Mapping[str, str | None]) -> str:
    """Return the section "Attributes" of a docstring, with the changes of an algorithm."""
    title, *entries = re.split(r"^(?=\w+ : )", ATTRIBUTES.strip(), flags=re.M)
    texts = {entry.partition(" : ")[0]: entry.partition(" : ")[2].rstrip() for entry in entries}
    described = {name: text for name, text in {**texts, **changes}.items() if text is not None}
    return title + "\n".join(f"{name} : {text}" for name, text in described.items())


def advice_for(names: list[str]) -> dict[str, str]:
    """Return the advice on parameters that a class with the parameters `names` lacks (dict)."""
    advice = {}
    for name, entries in SKLEARN_ADVICE.items():
        true = [text for required, text in entries if required in ("", *names)]
        if true and name not in names:
            advice[name] = true[0]
    return advice
