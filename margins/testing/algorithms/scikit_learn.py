"""scikit-learn's checks of an estimator."""

import copy
import math
import warnings

from sklearn.utils.estimator_checks import check_estimator

from margins.testing.algorithms.fits import check
from margins.testing.reports import Violation, error_as_text

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
            raise Violation(
                f"{error_as_text(error)!r} from scikit-learn's {result['check_name']}",
                "no error",
            ) from error
