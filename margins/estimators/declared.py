"""How declared parameters become the constructor and the docstring of an estimator."""

import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, dataclass_transform

from margins.estimators.migration import advice_for
from margins.estimators.names import display_name
from margins.parameters import describe_parameters, parameter, with_advice

ATTRIBUTES = """
Attributes
----------
coef_ : ndarray of float64, shape (1, n_features) or (n_classes, n_features)
    Weights, scaled to minimise the objective (to functional margin 1 if C = inf): comparable to those
    of LinearSVC. Only with ``kernel="linear"``.
intercept_ : ndarray of float64, shape (1,) or (n_classes,)
classes_ : ndarray, shape (n_classes,)
certificates_ : list of Certificate
    What is proven about each binary problem, in the feature space of the kernel. Empty after
    `partial_fit`, whose samples are not kept.
upper_bounds_ : list of float
    Only after `partial_fit`: for each binary problem, a bound that no margin of all samples so far,
    those of a fit before included, exceeds; inf before the first update.
dual_coef_ : ndarray of float64, shape (1, n_samples) or (n_classes, n_samples)
    With ``kernel="linear"``: the dual variables alpha_k >= 0, scaled to be feasible (with C < inf,
    or where the algorithm keeps them). `coef_` is proportional to the sum of alpha_k y_k x_k, and
    after Newton steps approximately so.
    With another kernel, as SVC's: shape (1, n_support) or (n_classes, n_support), the coefficients
    of K(support vector, x) in the scores, signed by the labels.
support_ : ndarray of int, shape (n_support,)
    Indices of the samples with a dual variable that is not 0 in some binary problem: with a kernel by
    class, as SVC's, else sorted. Linear models have it where they have `dual_coef_`.
support_vectors_ : ndarray or CSR matrix, shape (n_support, n_features)
    Those samples; empty if the kernel is precomputed. Only with a kernel.
n_support_ : ndarray of int32, shape (n_classes,)
    The number of support vectors of each class. Only with a kernel.
solver_ : str
    The solvers that ran, in order, joined by " + "; "rules" where only the algorithm's own rules did.
phases_ : list of lists of margins.solvers.base.PhaseRecord
    For each binary problem and phase that ran: solver, epochs, updates, accesses, seconds.
learning_curve_ : list of lists of margins.solvers.driver.Epoch
    For each binary problem and full epoch: epoch, updates so far, mistakes, certificate, solver. The
    certificate is None if it was not computed, because the estimated gap exceeded the tolerance or, with
    ``stop="clean-pass"``, because the pass made updates.
converged_ : bool
    True if every binary problem converged: with its accuracy proven, or, for algorithms without an
    accuracy, with a full epoch without updates.
n_iter_ : int
    Number of full epochs, the largest of the binary problems.
n_updates_ : int
    Number of updates, with multiplicities, summed over the binary problems.
n_accesses_ : int
    Number of sample accesses, with or without an update, summed over the binary problems: a measure of
    the work that does not depend on the machine.
n_features_in_ : int
feature_names_in_ : ndarray of str, shape (n_features,)
    Only if X has string column names.
"""


# Class attributes of algorithms for version 0.2, and the fields of a specification that replace them.
REPLACED = {
    "_keeps_dual": "keep_dual",
    "_model_scale": "model_scale",
    "_needs_same_samples": "needs_same_samples",
    "_takes_zero_rows": "allows_zero_rows",
}


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class Declared:
    """Makes the constructor and the docstring of every subclass from its declared parameters.

    Messages about an instance name it by `_display_name`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in REPLACED.keys() & vars(cls).keys():
            raise TypeError(
                f"{cls.__name__} must say {REPLACED[name]} in its `specification`. "
                f"Got the class attribute {name}, which has no effect any more."
            )
        dataclass(kw_only=True, repr=False, eq=False)(cls)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # it is one now
        type.__setattr__(cls, "__init__", with_advice(cls.__init__, advice_for(names)))
        if cls.__doc__ and not cls.__name__.startswith("_"):
            text = inspect.cleandoc(cls.__doc__)
            # numpydoc's order: See Also and Examples follow the attributes.
            head, tail = (*re.split(r"\n\n(?=(?:See Also|Examples)\n-)", text, maxsplit=1), "")[:2]
            # Of algorithms with streams: what these keep.
            kept = getattr(cls, "KEPT", None)
            if kept is not None:
                head += "\n\n" + textwrap.fill(f"**Kept** between chunks and fits: {kept}", 100)
            attributes = _attributes_of(getattr(cls, "_documented", {}))
            sections = [head, describe_parameters(cls), attributes, tail]
            cls.__doc__ = "\n\n".join(filter(None, sections))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # scikit-learn inspects the constructor whenever it clones, which takes longer than a small fit.
        names: list[str] | None = cls.__dict__.get("_param_names")
        if names is None:
            names = super()._get_param_names()  # type: ignore[misc]
            type.__setattr__(cls, "_param_names", names)
        return names

    def _display_name(self, method: str | None = None) -> str:
        """The registered name and the class, in messages; of a method, if one is given.

        An estimator that works for another one has that as its `_owner`, and its name.
        """
        return display_name(vars(self).get("_owner", self), method)


def _attributes_of(changes: Mapping[str, str | None]) -> str:
    """The section "Attributes" of a docstring, where an algorithm has others than most.

    Parameters
    ----------
    changes : mapping of str to str or None
        By name: "type", "type\\n    description", or None for an attribute that it does not have.
    """
    title, *entries = re.split(r"^(?=\w+ : )", ATTRIBUTES.strip(), flags=re.M)
    named = {entry.partition(" : ")[0]: entry.partition(" : ")[2].rstrip() for entry in entries}
    described = {name: text for name, text in {**named, **changes}.items() if text is not None}
    return title + "\n".join(f"{name} : {text}" for name, text in described.items())
