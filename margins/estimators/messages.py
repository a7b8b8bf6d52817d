"""Names of estimators in messages, errors of rules, and the warning of a fit without a proof."""

import math
from contextlib import contextmanager

from margins.registry import name_of
from margins.rules.errors import RuleError


def short_name(estimator):
    """The registered name of an estimator, or, without one, its class: str."""
    return name_of(type(estimator)) or type(estimator).__name__


def display_name(estimator):
    """The name of an estimator in messages, its registered name and its class: str."""
    name = name_of(type(estimator))
    return f"{name} ({type(estimator).__name__})" if name else type(estimator).__name__


@contextmanager
def rule_errors_named(estimator, kept):
    """Add to a RuleError of the body the algorithm and the index of the sample in X.

    Parameters
    ----------
    estimator : estimator instance
    kept : ndarray of int
        Indices in X of the samples trained on.
    """
    try:
        yield
    except RuleError as error:
        error.algorithm = short_name(estimator)
        error.sample = int(kept[error.sample])
        raise


def not_converged(estimator, run, which=""):
    """The text of the warning that a run has not converged: str.

    Parameters
    ----------
    estimator : estimator instance
    run : margins.solvers.driver.Run
    which : str
        Of several runs, which one.
    """
    certificate = run.certificate
    text = f"{display_name(estimator)} did not converge{which}: {run.message}. "
    text += run.loss.describe(certificate)
    if math.isinf(certificate.primal) and not run.loss.is_finite:
        text += (
            " The classes are not separated; an upper bound that falls towards 0 means that no "
            "hyperplane separates them. A finite C allows for that."
        )
    return text
