"""scikit-learn's checks of every registered algorithm."""

import math

import pytest
from algorithm_groups import ALGORITHMS, AVERAGE, NAMES, quiet
from fitted_clouds import make
from samples_of_today import of_today
from sklearn.utils.estimator_checks import parametrize_with_checks

from margins.estimators.maximum_margin import MaximumMarginClassifier

EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
WITHOUT_ACCURACY = (
    "Ends with the first full epoch that changes nothing, or after a given number of them, with weights "
    "that depend on the order of access; m weighted and more repeated samples are not accessed "
    "in one order."
)
ONCE_EACH = "With C = inf a weight says no more than whether a sample is there; each is added once."
TO_ACCURACY = (
    "Objectives agree to eps, so coefficients to about sqrt(2 eps). The check wants 1e-7 of them, that "
    "is eps below 1e-14, less than the rounding of the squared hinge's certificate. With eps=1e-15 mpu, "
    "the fastest, gets to 6e-7. For the hinge loss, which is not flat at its optimum, it passes."
)
NO_PENALTY = "With C = inf there is no penalty that a weight could multiply."
NO_PROMISE = (
    "The check wants 87 % of the test set in the class of weight 1000. An algorithm without an accuracy "
    "to prove, such as the perceptron, stops at any weight vector that makes no mistake on the training "
    "set: over 20 seeds, from 84 % to 100 %."
)
NO_KERNEL = "The matrix of this check has K(x, x) < 0: it belongs to no kernel, and is refused."
NO_SAMPLES = "A stream keeps no samples to evaluate a kernel on: partial_fit refuses all but the linear."
BY_PARTIAL_FIT = (
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_partial_fit_n_features",
)


def expected_failed_checks(classifier):
    if classifier.loss == "hinge" and isinstance(classifier, MaximumMarginClassifier):
        return {}
    reason = TO_ACCURACY if isinstance(classifier, MaximumMarginClassifier) else WITHOUT_ACCURACY
    if isinstance(classifier, ALGORITHMS[AVERAGE]):
        reason = ONCE_EACH
    expected = dict.fromkeys(EQUIVALENCE, reason)
    if math.isinf(classifier.C):
        expected["check_class_weight_classifiers"] = NO_PENALTY
    elif not hasattr(classifier, "eps"):
        expected["check_class_weight_classifiers"] = NO_PROMISE
    if classifier.kernel == "precomputed":
        expected["check_positive_only_tag_during_fit"] = NO_KERNEL
    if classifier.kernel != "linear" and hasattr(classifier, "partial_fit"):
        expected |= dict.fromkeys(BY_PARTIAL_FIT, NO_SAMPLES)
    return expected


# Some of scikit-learn's problems have random labels, for which a fit takes all epochs that it may.
EPOCHS = 100
# At 1 % these two take many seconds for them even so.
SLOW = {"micra": {"eps": 0.1}, "cramma": {"eps": 0.1}}


def each(names):
    return [make(name, max_iter=EPOCHS, **SLOW.get(name, {})) for name in names]


def checks_of(classifiers):
    """Mark a test that is given every check of scikit-learn for these classifiers."""
    return parametrize_with_checks(classifiers, expected_failed_checks=expected_failed_checks)


# One of every class that fits, streams or predicts in a way of its own.
REPRESENTATIVES = [
    "auto",
    "mpu",
    "pdm",
    "perceptron",
    "voted-perceptron",
    "pa",
    AVERAGE,
    "budget-perceptron",
]
OTHERS = [name for name in NAMES if name not in REPRESENTATIVES]
TODAY = of_today(OTHERS, len(OTHERS) // 3)


@quiet
@checks_of(
    each(REPRESENTATIVES)
    + [
        make("perceptron", C=1.0, max_iter=EPOCHS),
        make("mpu", loss="hinge", eps=1e-13),
        make("pdm", stop="clean-pass", eps=0.1, max_iter=EPOCHS),
        make("mpu", kernel="rbf", eps=0.1),
        make("pdm", kernel="precomputed", eps=0.1, max_iter=EPOCHS),
        make("voted-perceptron", kernel="poly"),
        make("averaged-perceptron", kernel="precomputed"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@quiet
@checks_of(each(TODAY))
def test_scikit_learn_contract_of_some_others(estimator, check):
    check(estimator)


@pytest.mark.slow
@quiet
@checks_of(each(name for name in OTHERS if name not in TODAY))
def test_scikit_learn_contract_of_the_others(estimator, check):
    check(estimator)
